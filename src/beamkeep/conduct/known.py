"""Everything that a worker knows of a conduct: from its rows, from the streams, from its claim."""

from datetime import timedelta
from uuid import UUID

import msgspec

from beamkeep.contexts.operation.conducted import (
    Activity,
    ConductKind,
    ConductOutcome,
    Failure,
    Phase,
)
from beamkeep.contexts.operation.loop import Convergence, Coordinate, Steering, SteeringAdvice
from beamkeep.contexts.recipe.steps import RecipeStep
from beamkeep.contexts.routes import ControlRoute
from beamkeep.kernel import Record
from beamkeep.schemas import Json, JsonObject


class RequestedConduct(Record):
    """What was asked for; a continuing conduct keeps the root kind and the loop of the first."""

    conduct_id: UUID
    root_kind: ConductKind
    from_step_index: int = 0
    redo_step_indexes: frozenset[int] = frozenset()
    skip_step_indexes: frozenset[int] = frozenset()
    abandon: bool = False
    loop: Convergence | Steering | None = None


class Pass(Record):
    """One pass of a loop, from its two events."""

    iteration_index: int
    begun_by: UUID | None = None
    """The conduct that began the pass; None if a person did."""
    coordinate: Coordinate | None = None
    ended: bool = False
    converged: bool | None = None
    value: Json = None
    captures: JsonObject = msgspec.field(default_factory=dict[str, Json])
    """Of an ended pass, for the advisor."""
    advised_stop: bool | None = None
    next_coordinate: Coordinate | None = None
    took: float = 0.0
    """Seconds between the two events, without the time held."""


class Flags(Record):
    """What somebody asked for since the request, folded from the streams."""

    aborted: bool = False
    cancel_requested: bool = False
    held: bool = False
    parent_run_left: bool = False
    """The procedure has a parent run, and that run is not Running."""


class Known(Record):
    """Everything that decides the next action."""

    conduct: RequestedConduct
    steps: tuple[RecipeStep, ...]
    closing_steps: tuple[RecipeStep, ...] = ()
    inline: bool = False
    """The steps came with the request, not from a recipe."""
    routes: tuple[ControlRoute, ...] = ()
    flags: Flags = Flags()
    walk_outcome: ConductOutcome | None = None
    """Set once `ProcedureConductWalked` is written: from then on the closing steps are walked."""
    walk_failure: Failure | None = None
    passes: tuple[Pass, ...] = ()
    """Every pass of the procedure, in order."""
    activities: tuple[Activity, ...] = ()
    """In order of sequence: at least the conductor's rows of the last pass and of `Closing`."""
    silence: timedelta = timedelta()
    """How long nobody was at work before this claim; at the first claim, the age of the request."""
    takeover_window: timedelta = timedelta(seconds=300)
    refusal: Failure | None = None
    """Why authorization or the start gates refuse in this claim; None if they permit."""
    answer: SteeringAdvice | Failure | None = None
    """What the advisor answered after the last pass; None again once that pass is ended."""
    lost_submissions: frozenset[UUID] = frozenset()
    """Submission keys of jobs that this claim did not find, or found Lost."""


def steps_of(known: Known, phase: Phase) -> tuple[RecipeStep, ...]:
    """Return the steps that are walked in a phase."""
    return known.steps if phase is Phase.STEPS else known.closing_steps
