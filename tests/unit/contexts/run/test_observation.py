"""Observations: what was read during a run, and when nothing more is."""

import math
from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from msgspec.structs import asdict
from tests.unit.contexts.run.test_run import ENDS, ID, held, started

from beamkeep.contexts.run.observation import (
    OBSERVATIONS,
    OPERATIONS,
    QUESTIONS,
    AppendObservations,
    InvalidRunObservationError,
    Observation,
    Reading,
    RunCannotAppendObservationsError,
    RunObservationIdTakenError,
    UnitAnnotation,
)
from beamkeep.contexts.run.run import RunNotFoundError
from beamkeep.kernel import Entries, Event, Rows, replace
from beamkeep.testing.past import CALL, LATER, NOW
from beamkeep.testing.scenario import Scenario, misshapen

FIRST, SECOND, OTHER_RUN = UUID(int=60), UUID(int=61), UUID(int=2)
SURFACE, CORRELATION = UUID(int=70), UUID(int=71)
CALLED = replace(CALL, surface_id=SURFACE, correlation_id=CORRELATION)
KEV = UnitAnnotation("udunits", "keV", "kiloelectronvolt")
SAMPLED = datetime.fromisoformat("2029-12-31T23:00:00Z")

ENERGY = Reading(FIRST, " energy ", 25.0, "baseline", SAMPLED, KEV)
CURRENT = Reading(SECOND, "current", 0.0, "monitor", LATER, None, True)
energy = Observation(
    *(FIRST, "energy", 25.0, "baseline", SAMPLED),
    unit=KEV,
    run_id=ID,
    recorded_at=NOW,
    principal_id=CALL.principal_id,
    surface_id=SURFACE,
    correlation_id=CORRELATION,
)
current = replace(energy, **asdict(CURRENT))


def append(*readings: Reading) -> AppendObservations:
    return AppendObservations.model_construct(run_id=ID, entries=readings)


def rows(*observations: Observation) -> Rows:
    return OBSERVATIONS.append([*observations], under="run_id", taken=RunObservationIdTakenError)


def given(*history: Event | Rows) -> Scenario:
    return Scenario(OPERATIONS, history)


def told(**changes: Any) -> dict[str, Any]:
    """One reading, as it is sent."""
    return {
        "observation_id": str(FIRST),
        "channel_name": "energy",
        "value": 25.0,
        "sampling_procedure": "baseline",
        "sampled_at": "2030-01-01T00:00:00Z",
        **changes,
    }


def accepted(**changes: Any) -> Reading:
    sent = {"run_id": ID, "entries": [told(**changes)]}
    (reading,) = AppendObservations.model_validate(sent).entries
    return reading


def refused_by_shape(**changes: Any) -> None:
    misshapen(AppendObservations, "entries", run_id=ID, entries=[told(**changes)])


def test_readings_are_added_to_a_run_that_is_not_over_and_may_be_sent_again():
    for past in (started,), (started, held), (started, rows(energy)):
        given(*past).when(append(ENERGY, CURRENT), call=CALLED).then(rows(energy, current))


def test_a_reading_is_not_taken_from_another_run():
    elsewhere = rows(replace(energy, run_id=OTHER_RUN))
    given(started, elsewhere).when(append(CURRENT, ENERGY)).refused(RunObservationIdTakenError)


def test_faults_of_a_batch_are_reported_in_order():
    elsewhere = rows(replace(energy, run_id=OTHER_RUN))
    past = given(started, *ENDS[:1], elsewhere)
    past.when(append(ENERGY, ENERGY)).refused(InvalidRunObservationError)
    past.when(append(ENERGY)).refused(RunCannotAppendObservationsError)


def test_a_run_that_has_ended_gets_no_more():
    for end, status in zip(ENDS, ("Completed", "Stopped", "Aborted", "Truncated"), strict=True):
        given(started, end).when(append(ENERGY)).refused(
            RunCannotAppendObservationsError,
            saying=f"The status is {status}; it must be Held or Running.",
        )


def test_nothing_is_observed_in_a_run_that_does_not_exist():
    given().when(append(ENERGY)).refused(RunNotFoundError)


def test_a_reading_given_twice_in_one_batch_is_refused():
    twice = append(ENERGY, CURRENT, replace(ENERGY, value=26.0))
    found = (
        given(started)
        .when(twice)
        .refused(InvalidRunObservationError, saying=f"The batch contains {FIRST} more than once.")
    )
    assert found.facts == {"observation_ids": [FIRST]}


def test_a_reading_may_be_older_or_newer_than_now():
    for sampled_at in (SAMPLED, LATER):
        given(started).when(append(replace(ENERGY, sampled_at=sampled_at)), call=CALLED).then(
            rows(replace(energy, sampled_at=sampled_at))
        )


# A field of a reading, with what it may hold and what it may not.
BOUNDS: list[tuple[str, Sequence[object], Sequence[object]]] = [
    ("value", [0, -1.5, 1e308], [math.nan, math.inf, -math.inf, None, "high", "12", True]),
    ("sampled_at", ["2030-01-01T01:00:00+01:00"], ["2030-01-01T00:00:00", 1893456000, None]),
    ("simulated", [True, False], ["yes", "true", 1, 0, None]),
    ("unit", [None], ["keV", {"code": "pixel"}, {"system": "udunits"}]),
    ("run_id", [], [str(ID)]),
]
WRONG_UNITS: list[dict[str, object]] = [
    *({"code": code} for code in (" keV", "keV\n", "pho\0tons", " ", "", "smoot" * 11, "m" * 101)),
    *({"system": None, "code": "m" * 51}, {"system": "si"}),
    *({"label": ""}, {"label": "x" * 101}, {"colour": "red"}),
]


def test_a_reading_has_a_shape():
    for field, rights, wrongs in BOUNDS:
        for right in rights:
            accepted(**{field: right})
        for wrong in wrongs:
            refused_by_shape(**{field: wrong})
    for wrong in WRONG_UNITS:
        refused_by_shape(unit={"system": "udunits", "code": "m"} | wrong)


def test_a_unit_that_no_system_knows_is_stored_as_the_device_calls_it():
    for code in ("photons/s", "pixel", "steps", "counts/5ms", "°", "m" * 50):
        for system in (None, "udunits", "ucum", "qudt", "iec61360"):
            unit = accepted(unit={"system": system, "code": code}).unit
            assert unit == UnitAnnotation(system, code)  # type: ignore[arg-type]


def test_a_longer_unit_is_one_its_system_knows():
    long = "m" + ".m" * 30
    for system in ("udunits", "ucum"):
        assert accepted(unit={"system": system, "code": long}).unit == UnitAnnotation(system, long)
    for system in (None, "qudt", "iec61360"):
        refused_by_shape(unit={"system": system, "code": long})


def test_a_reading_needs_no_unit_and_is_real_unless_it_is_said_not_to_be():
    assert accepted(unit=None) == accepted()
    assert (accepted().unit, accepted().simulated) == (None, False)
    assert accepted(simulated=True).simulated is True


def test_observations_are_listed_by_the_time_they_were_sampled():
    source = QUESTIONS[0].source
    assert isinstance(source, Entries)
    assert source.by == ("sampled_at", "observation_id")
    assert source.compared == {
        "sampled_from": ("sampled_at", ">="),
        "sampled_to": ("sampled_at", "<"),
    }
