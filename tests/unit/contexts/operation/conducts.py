"""Conducts of a procedure: their events, their rows and their work, in few words."""

from datetime import timedelta
from uuid import UUID

from tests.unit.contexts.operation.procedures import PROCEDURE, a_procedure

from beamkeep.contexts.operation.activity import ACTIVITIES
from beamkeep.contexts.operation.conduct import CHANNELS, CONDUCTS, Conduct, ConductChannel
from beamkeep.contexts.operation.conducted import (
    Activity,
    ActivitySource,
    ConductKind,
    ConductOutcome,
    Phase,
    Stage,
    StepAttempt,
    StepKind,
    activity_id,
)
from beamkeep.contexts.operation.procedure import (
    PROCEDURE_STEPS,
    PinnedSteps,
    ProcedureConductEnded,
    ProcedureConductRequested,
    ProcedureConductWalked,
    ProcedureStarted,
)
from beamkeep.contexts.recipe.steps import (
    Equals,
    RecipeActionStep,
    RecipeCaptureStep,
    RecipeCheckStep,
    RecipeSetpointStep,
    RecipeStep,
)
from beamkeep.contexts.seams.work import WORK_STATES, WorkState
from beamkeep.kernel import Event, Insert, SideWrite, replace
from beamkeep.schemas import Json
from beamkeep.testing.past import ME, NOW

ID, CONDUCT, OWNER = PROCEDURE, UUID(int=901), UUID(int=902)
MOVE = RecipeSetpointStep("bl:x", 1.0)
LOOK = RecipeCheckStep("bl:x.RBV", Equals(1.0))
SEE = RecipeCaptureStep("bl:i", "intensity")
HOME = RecipeActionStep("home")
SHUT = RecipeSetpointStep("bl:shutter", 0)
STEPS: tuple[RecipeStep, ...] = (MOVE, LOOK, SEE, HOME)

registered, started = a_procedure(), ProcedureStarted(NOW, ID, ())
requested = ProcedureConductRequested(
    NOW,
    ID,
    conduct_id=CONDUCT,
    conduct_kind=ConductKind.ONCE,
    root_kind=ConductKind.ONCE,
    continues_conduct_id=None,
    steps=STEPS,
    closing_steps=(SHUT,),
    from_step_index=None,
    redo_step_indexes=(),
    skip_step_indexes=(),
    abandon=False,
    loop=None,
    acknowledged_cautions=(),
    decided_by_decision_id=None,
)
walked = ProcedureConductWalked(NOW, ID, CONDUCT, ConductOutcome.COMPLETED, None)
conduct_ended = ProcedureConductEnded(
    NOW,
    ID,
    conduct_id=CONDUCT,
    outcome=ConductOutcome.HELD,
    succeeded=False,
    completed_count=0,
    failure=None,
    closing_failures=(),
    actuation_kind=None,
    claim_count=1,
    undecided_step_indexes=(),
)
CONDUCT_ROW = Conduct.of(requested, requested_by=ME, requested_at=NOW, from_step_index=0)
CHANNEL = ConductChannel("bl:x", CONDUCT)


def work(claim: int = 1, *, is_held: bool = True, idle_claims: int = 1) -> Insert:
    """The row of work: held by a worker, or left by one; never claimed if the claim is 0."""
    state = WorkState(
        work_id=CONDUCT,
        claim=claim,
        owner=OWNER if claim else None,
        due_at=NOW,
        idle_claims=idle_claims,
        stop=None,
        last_error=None,
        ended_at=None,
        overdue=timedelta(seconds=-20 if is_held else 20),
    )
    return WORK_STATES.insert(state)


def conducting(conduct: Conduct = CONDUCT_ROW) -> tuple[Event | SideWrite, ...]:
    """A procedure whose conduct is active, with the rows of the conduct."""
    kind, loop = conduct.root_kind, conduct.loop
    asked = replace(requested, conduct_kind=kind, root_kind=kind, loop=loop)
    pinned = PROCEDURE_STEPS.insert(PinnedSteps(ID, STEPS, (SHUT,)))
    rows = (pinned, CONDUCTS.insert(conduct), CHANNELS.insert(CHANNEL))
    return (registered, started, asked, *rows)


def did(
    stage: Stage,
    step: int,
    attempt: int = 1,
    *,
    conduct: UUID = CONDUCT,
    phase: Phase = Phase.STEPS,
    of: int | None = None,
    sequence: int = 0,
    **detail: Json,
) -> Insert:
    """A row of the conductor; `of` is the pass."""
    at = StepAttempt(phase, of, step_index=step, attempt=attempt)
    steps = STEPS if phase is Phase.STEPS else (SHUT,)
    row = Activity(
        activity_id=activity_id(conduct, at, stage),
        procedure_id=ID,
        source=ActivitySource.CONDUCTOR,
        step_kind=StepKind(str(steps[step].__struct_config__.tag)),
        stage=stage,
        detail=detail,
        sampled_at=NOW + timedelta(seconds=sequence),
        recorded_at=NOW,
        principal_id=ME,
        surface_id=None,
        correlation_id=None,
        conduct_id=conduct,
        claim=1,
        phase=phase,
        iteration_index=of,
        step_index=step,
        attempt=attempt,
        sequence=sequence,
    )
    return ACTIVITIES.insert(row)


def done(step: int, value: Json = None) -> tuple[Insert, Insert]:
    """Both rows of a step that succeeded."""
    begun = did(Stage.STARTED, step, actuation_kind="Simulated")
    return begun, did(Stage.SUCCEEDED, step, value=value)
