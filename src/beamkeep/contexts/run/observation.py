"""Observations: readings taken during a run, as rows next to its stream."""

from collections import Counter
from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from annotated_types import MaxLen, MinLen
from pydantic import AfterValidator, AllowInfNan, Strict

from beamkeep.contexts.seams.observed import ChannelName, UnitAnnotation
from beamkeep.kernel import Call, Cannot, Invalid, Page, Record, Rows, Table, entries
from beamkeep.kernel.values import Timestamp, Trimmed
from beamkeep.schemas.units import is_code

from .run import Run, RunCommand, require_open, runs

type SamplingProcedure = Literal["baseline", "monitor"]

LONGEST_OPAQUE_UNIT = 50


def _checked(unit: UnitAnnotation) -> UnitAnnotation:
    # No schema declares a channel, so a short code is the device's word and is not looked up.
    code = unit.code
    if not code.isprintable() or code != code.strip():
        raise ValueError("the code must be printable and have no blanks around it")
    if len(code) > LONGEST_OPAQUE_UNIT and not (unit.system and is_code(unit.system, code)):
        text = f"a code of more than {LONGEST_OPAQUE_UNIT} characters must be a unit of its system"
        raise ValueError(text)
    return unit


type Unit = Annotated[UnitAnnotation, AfterValidator(_checked)]


class InvalidRunObservationError(Invalid):
    """Each observation needs its own observation_id and a channel name that is not blank."""


class RunCannotAppendObservationsError(Cannot):
    """Observations cannot be added to a run that has ended."""


class RunObservationIdTakenError(Cannot):
    """An observation with this observation_id belongs to another run; use a new one."""


class Reading(Record):
    """A reading as its producer reports it."""

    observation_id: UUID
    """A UUIDv7 chosen by the producer: a reading sent twice is stored once."""
    channel_name: Annotated[ChannelName, Trimmed(InvalidRunObservationError)]
    """The name that operators use for the channel, not its address."""
    value: Annotated[float, Strict(), AllowInfNan(False)]
    sampling_procedure: SamplingProcedure
    sampled_at: Timestamp
    unit: Unit | None = None
    simulated: Annotated[bool, Strict()] = False


class Observation(Reading, kw_only=True):
    unit: UnitAnnotation | None = None
    run_id: UUID
    recorded_at: datetime
    principal_id: UUID
    surface_id: UUID | None
    correlation_id: UUID | None


OBSERVATIONS = Table("run_observation", Observation, key=("observation_id",))


class AppendObservations(RunCommand):
    entries: Annotated[tuple[Reading, ...], MinLen(1), MaxLen(500)]


def append_observations(run: Run, command: AppendObservations, call: Call) -> list[Rows]:
    """Add readings to a run; readings that the run already has are skipped."""
    ids = [reading.observation_id for reading in command.entries]
    if len({*ids}) < len(ids):
        twice = [id for id, times in Counter(ids).items() if times > 1]
        detail = f"The batch contains {twice[0]} more than once."
        raise InvalidRunObservationError(detail, observation_ids=twice)
    require_open(run, RunCannotAppendObservationsError)
    rows = [_row(reading, run.id, call) for reading in command.entries]
    return [OBSERVATIONS.append(rows, under="run_id", taken=RunObservationIdTakenError)]


def _row(reading: Reading, run_id: UUID, call: Call) -> Observation:
    # Written out: `Observation.of` takes ten times as long, and runs send thousands a second.
    return Observation(
        reading.observation_id,
        reading.channel_name,
        value=reading.value,
        unit=reading.unit,
        sampling_procedure=reading.sampling_procedure,
        sampled_at=reading.sampled_at,
        simulated=reading.simulated,
        run_id=run_id,
        recorded_at=call.now,
        principal_id=call.principal_id,
        surface_id=call.surface_id,
        correlation_id=call.correlation_id,
    )


class ListRunObservations(Page):
    """List the observations of one run by the time at which they were sampled."""

    channel_name: ChannelName | None = None
    sampling_procedure: SamplingProcedure | None = None
    simulated: bool | None = None
    sampled_from: Timestamp | None = None
    sampled_to: Timestamp | None = None


# fmt: off
OPERATIONS = (
    runs.changes("POST /runs/{run_id}/observations/append", AppendObservations,
        append_observations, RunCannotAppendObservationsError, RunObservationIdTakenError,
        title="Record observations of a run"),
)
# fmt: on

BY_TIME = "sampled_at", "observation_id"
PERIOD = {"sampled_from": ("sampled_at", ">="), "sampled_to": ("sampled_at", "<")}
ROUTE = "GET /runs/{run_id}/observations"
QUESTIONS = (entries(ROUTE, ListRunObservations, runs, OBSERVATIONS, by=BY_TIME, compared=PERIOD),)
