"""Conducts in words: kinds, phases, outcomes and the activity rows that a conductor writes."""

from collections.abc import Collection
from datetime import datetime
from enum import StrEnum
from uuid import UUID, uuid5

from beamkeep.kernel import Record
from beamkeep.schemas import JsonObject


class ConductKind(StrEnum):
    ONCE = "Once"
    OR_HOLD = "OrHold"
    FROM = "From"
    UNTIL_CONVERGED = "UntilConverged"
    UNTIL_ADVISED = "UntilAdvised"
    UNTIL_ADVISED_FROM = "UntilAdvisedFrom"
    MAKE_SAFE = "MakeSafe"


class Phase(StrEnum):
    STEPS = "Steps"
    CLOSING = "Closing"


class ConductOutcome(StrEnum):
    COMPLETED = "Completed"
    ABORTED = "Aborted"
    HELD = "Held"
    HALTED = "Halted"
    CANCELLED = "Cancelled"
    INTERRUPTED = "Interrupted"


class ActivitySource(StrEnum):
    MANUAL = "Manual"
    CONDUCTOR = "Conductor"


class StepKind(StrEnum):
    SETPOINT = "setpoint"
    ACTION = "action"
    CHECK = "check"
    CAPTURE = "capture"
    COMPUTE = "compute"


class Stage(StrEnum):
    STARTED = "Started"
    SUBMITTED = "Submitted"
    READING = "Reading"
    WRITING = "Writing"
    """The body of an action is about to write a value."""
    WRITTEN = "Written"
    """What came of a value that the body of an action wrote."""
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"
    SKIPPED = "Skipped"


class ActuationKind(StrEnum):
    PHYSICAL = "Physical"
    SIMULATED = "Simulated"
    HYBRID = "Hybrid"


def joined(kinds: Collection[ActuationKind]) -> ActuationKind | None:
    """Return what several things touched together; None if they touched nothing."""
    return ActuationKind.HYBRID if len(kinds) > 1 else next(iter(kinds), None)


class FailureSource(StrEnum):
    """What failed: a step of this kind, or the loop, the advisor or the lifecycle."""

    SETPOINT = "setpoint"
    ACTION = "action"
    CHECK = "check"
    CAPTURE = "capture"
    COMPUTE = "compute"
    LOOP = "loop"
    ADVISOR = "advisor"
    LIFECYCLE = "lifecycle"


class Failure(Record):
    """Why a walk or a closing step failed."""

    phase: Phase
    source_kind: FailureSource
    error_class: str
    message: str
    target: str | None = None
    """The address, action, job, advisor or gate."""
    step_index: int | None = None
    iteration_index: int | None = None


class Activity(Record):
    """One thing that was done during a procedure."""

    activity_id: UUID
    procedure_id: UUID
    source: ActivitySource
    step_kind: StepKind
    stage: Stage
    detail: JsonObject
    sampled_at: datetime
    """When it happened."""
    recorded_at: datetime
    principal_id: UUID
    surface_id: UUID | None
    correlation_id: UUID | None
    conduct_id: UUID | None = None
    claim: int | None = None
    """The turn of the worker that wrote the row."""
    phase: Phase | None = None
    iteration_index: int | None = None
    step_index: int | None = None
    attempt: int | None = None
    sequence: int = 0
    """The order in which rows were committed, given by the database."""


class StepAttempt(Record):
    """One attempt of one step; a pass of a loop counts its own attempts."""

    phase: Phase
    iteration_index: int | None
    step_index: int
    attempt: int


OUTCOMES = frozenset({Stage.SUCCEEDED, Stage.FAILED, Stage.SKIPPED})


def submission_key(conduct_id: UUID, at: StepAttempt) -> UUID:
    """Return the key that a compute job of this attempt is submitted under."""
    return uuid5(conduct_id, _path(at))


def activity_id(conduct_id: UUID, at: StepAttempt, stage: Stage, ordinal: int = 0) -> UUID:
    """Return the id of a row: an attempt has one outcome, and a repeated insert adds nothing."""
    name = "Outcome" if stage in OUTCOMES else stage
    return uuid5(conduct_id, f"{_path(at)}:{name}:{ordinal}")


def _path(at: StepAttempt) -> str:
    iteration = "-" if at.iteration_index is None else at.iteration_index
    return f"{at.phase}:{iteration}:{at.step_index}:{at.attempt}"
