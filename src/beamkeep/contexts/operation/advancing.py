"""Advances: what the conductor appends to the stream of a procedure."""

from enum import StrEnum

from beamkeep.kernel import Record
from beamkeep.schemas import Json

from .conducted import ConductOutcome, Failure
from .loop import Coordinate, SteeringAdvice


class StatusEvent(StrEnum):
    """The event that changes the status of the procedure when a conduct ends."""

    COMPLETED = "ProcedureCompleted"
    ABORTED = "ProcedureAborted"
    HELD = "ProcedureHeld"


class BeginPass(Record):
    """Begin the next pass of a loop."""

    iteration_index: int
    coordinate: Coordinate | None = None


class EndPass(Record):
    """End the open pass with its result."""

    iteration_index: int
    converged: bool | None = None
    value: Json = None
    reason: str | None = None
    advised_stop: bool | None = None
    advice: SteeringAdvice | None = None


class Walked(Record):
    """Fix the result of the steps; the closing steps follow."""

    walk_outcome: ConductOutcome
    failure: Failure | None = None


class End(Record):
    """End the conduct, in one append with the row of work and the channels."""

    outcome: ConductOutcome
    succeeded: bool
    completed_count: int
    """How many steps are finished in the last pass."""
    failure: Failure | None = None
    closing_failures: tuple[Failure, ...] = ()
    undecided_step_indexes: tuple[int, ...] = ()
    """The steps that a continuing command must redo or skip."""
    end_pass: EndPass | None = None
    """Written before the status event."""
    status_event: StatusEvent | None = None
    """None if the procedure has that status already."""
    reason: str | None = None
    """The reason of the status event; a completed procedure needs none."""
