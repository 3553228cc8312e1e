"""Observations: what was read during a run, and when nothing more is."""

import math
from datetime import datetime
from typing import Any
from uuid import UUID

from tests.contexts.run.test_run import ENDS, ID, held, started
from tests.support.spec import CALL, LATER, NOW, Scenario, misshapen

from beamkeep.contexts.run.observation import (
    OBSERVATIONS,
    OPERATIONS,
    QUESTIONS,
    AppendObservations,
    InvalidRunObservationError,
    ListRunObservations,
    Observation,
    Reading,
    RunCannotAppendObservationsError,
    RunObservationIdTakenError,
    UnitAnnotation,
)
from beamkeep.contexts.run.run import RunNotFoundError
from beamkeep.kernel import Entries, Event, Rows, replace

FIRST, SECOND, OTHER_RUN = UUID(int=60), UUID(int=61), UUID(int=2)
SURFACE, CORRELATION = UUID(int=70), UUID(int=71)
CALLED = replace(CALL, surface_id=SURFACE, correlation_id=CORRELATION)
KEV = UnitAnnotation("udunits", "keV", "kiloelectronvolt")
SAMPLED = datetime.fromisoformat("2029-12-31T23:00:00Z")

ENERGY = Reading(FIRST, " energy ", 25.0, "baseline", SAMPLED, KEV)
CURRENT = Reading(SECOND, "current", 0.0, "monitor", LATER, None, True)
energy = Observation(
    *(FIRST, ID, "energy", 25.0, KEV, "baseline", SAMPLED, False),
    *(NOW, CALL.principal_id, SURFACE, CORRELATION),
)
current = Observation(
    *(SECOND, ID, "current", 0.0, None, "monitor", LATER, True),
    *(NOW, CALL.principal_id, SURFACE, CORRELATION),
)


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


def test_readings_are_added_to_a_run_that_is_not_over():
    for past in (started,), (started, held):
        given(*past).when(append(ENERGY, CURRENT), call=CALLED).then(rows(energy, current))


def test_the_same_readings_may_be_sent_again():
    given(started, rows(energy)).when(append(ENERGY, CURRENT), call=CALLED).then(
        rows(energy, current)
    )


def test_a_reading_is_not_taken_from_another_run():
    elsewhere = rows(replace(energy, run_id=OTHER_RUN))
    given(started, elsewhere).when(append(CURRENT, ENERGY)).refused(RunObservationIdTakenError)


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


def test_a_channel_with_a_blank_name_is_refused():
    given(started).when(append(CURRENT, replace(ENERGY, channel_name=" "))).refused(
        InvalidRunObservationError, saying="Enter at least one"
    )


def test_what_makes_no_sense_is_told_before_the_status():
    blank = append(replace(ENERGY, channel_name=" "))
    for command in (append(ENERGY, ENERGY), blank):
        given(started, *ENDS[:1]).when(command).refused(InvalidRunObservationError)


def test_that_a_run_has_ended_is_told_before_that_an_id_is_taken():
    elsewhere = rows(replace(energy, run_id=OTHER_RUN))
    given(started, *ENDS[:1], elsewhere).when(append(ENERGY)).refused(
        RunCannotAppendObservationsError
    )


def test_a_batch_has_1_to_500_readings():
    many = [told(observation_id=str(UUID(int=number))) for number in range(501)]
    AppendObservations.model_validate({"run_id": ID, "entries": many[:500]})
    for wrong in ([], many, None, told()):
        misshapen(AppendObservations, "entries", run_id=ID, entries=wrong)


def test_a_value_is_a_finite_number():
    for value in (0, -1.5, 1e308):
        assert accepted(value=value).value == value
    for wrong in (math.nan, math.inf, -math.inf, None, "high", "12", True):
        refused_by_shape(value=wrong)


def test_a_reading_is_simulated_or_not_and_nothing_that_could_mean_so():
    for simulated in (True, False):
        assert accepted(simulated=simulated).simulated is simulated
    for wrong in ("yes", "true", 1, 0, None):
        refused_by_shape(simulated=wrong)


def test_the_words_of_a_query_say_whether_readings_are_simulated():
    asked = ListRunObservations.model_validate({"simulated": "true"})
    assert asked.simulated is True


def test_the_time_of_a_reading_has_a_zone():
    assert accepted(sampled_at="2030-01-01T01:00:00+01:00").sampled_at == NOW
    for wrong in ("2030-01-01T00:00:00", "2030-01-01", 1893456000, None):
        refused_by_shape(sampled_at=wrong)


def test_a_reading_may_be_older_or_newer_than_now():
    for sampled_at in (SAMPLED, LATER):
        given(started).when(append(replace(ENERGY, sampled_at=sampled_at)), call=CALLED).then(
            rows(replace(energy, sampled_at=sampled_at))
        )


def test_a_unit_is_one_its_system_knows():
    for system, code in (
        ("udunits", "keV"),
        ("ucum", "mm"),
        ("qudt", "KiloEV"),
        ("iec61360", "0112/2///62720#UAA726"),
    ):
        assert accepted(unit={"system": system, "code": code}).unit == UnitAnnotation(system, code)  # type: ignore[arg-type]


def test_a_unit_that_no_system_knows_is_kept_as_the_device_calls_it():
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
    refused_by_shape(unit={"system": "udunits", "code": "smoot" * 11})


def test_a_unit_of_the_wrong_shape_is_refused():
    for wrong in (
        {"system": "udunits", "code": " keV"},
        {"system": "udunits", "code": "keV\n"},
        {"system": None, "code": "pho\0tons"},
        {"system": None, "code": " "},
        {"system": None, "code": "m" * 51},
        {"code": "pixel"},
        {"system": "si", "code": "m"},
        {"system": "udunits"},
        {"system": "udunits", "code": ""},
        {"system": "udunits", "code": "m" * 101},
        {"system": "udunits", "code": "m", "label": ""},
        {"system": "udunits", "code": "m", "label": "x" * 101},
        {"system": "udunits", "code": "m", "colour": "red"},
        "keV",
    ):
        refused_by_shape(unit=wrong)


def test_a_reading_needs_no_unit_and_is_real_unless_it_is_said_not_to_be():
    assert accepted(unit=None) == accepted()
    assert (accepted().unit, accepted().simulated) == (None, False)
    assert accepted(simulated=True).simulated is True


def test_a_channel_has_1_to_255_characters():
    accepted(channel_name="x" * 255)
    for wrong in ("", "x" * 256, None):
        refused_by_shape(channel_name=wrong)


def test_a_reading_is_a_baseline_or_a_monitor_and_nothing_besides_what_it_may_say():
    assert accepted(sampling_procedure="monitor").sampling_procedure == "monitor"
    for wrong in ("Baseline", "scan", None):
        refused_by_shape(sampling_procedure=wrong)
    refused_by_shape(run_id=str(ID))
    refused_by_shape(observation_id="first")


def test_observations_are_listed_by_the_time_they_were_sampled():
    source = QUESTIONS[0].source
    assert isinstance(source, Entries)
    assert source.by == ("sampled_at", "observation_id")
    assert source.compared == {
        "sampled_from": ("sampled_at", ">="),
        "sampled_to": ("sampled_at", "<"),
    }
