"""What a conduct is known by, in few words: rows of steps, requests and steps."""

from datetime import UTC, datetime
from uuid import UUID

from beamkeep.contexts.operation.conducted import (
    Activity,
    ActivitySource,
    ConductKind,
    Phase,
    Stage,
    StepAttempt,
    StepKind,
    activity_id,
)
from beamkeep.contexts.operation.history import RequestedConduct
from beamkeep.contexts.recipe.steps import (
    Equals,
    RecipeActionStep,
    RecipeCaptureStep,
    RecipeCheckStep,
    RecipeComputeStep,
    RecipeSetpointStep,
    RecipeStep,
)
from beamkeep.contexts.seams.routes import ControlRoute, Substrate
from beamkeep.parts.conducting.conduct.known import Known
from beamkeep.schemas import Json

EARLIER, THIS = UUID(int=1), UUID(int=2)
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
ROUTES = (ControlRoute("bl:", Substrate.IN_MEMORY, simulated=True, writable=True),)
KINDS = {
    "check": RecipeCheckStep("bl:k", Equals(1.0)),
    "capture": RecipeCaptureStep("bl:c", "seen"),
    "setpoint": RecipeSetpointStep("bl:s", 1.0),
    "setpoint once": RecipeSetpointStep("bl:s", 1.0, repeatable=False),
    "action": RecipeActionStep("home", repeatable=True),
    "action once": RecipeActionStep("home"),
    "compute": RecipeComputeStep("fit", repeatable=True),
    "compute once": RecipeComputeStep("fit"),
}
STAGES = {stage.value: stage for stage in Stage}


def at(step: int = 0, attempt: int = 1, phase: Phase = Phase.STEPS, of: int | None = None):
    return StepAttempt(phase, of, step_index=step, attempt=attempt)


def row(
    stage: str,
    step: int = 0,
    attempt: int = 1,
    *,
    conduct: UUID = THIS,
    phase: Phase = Phase.STEPS,
    of: int | None = None,
    **detail: Json,
) -> Activity:
    """One row of the conductor; `of` is the pass."""
    found = STAGES[stage]
    if found is Stage.FAILED:
        detail = {
            "error_class": "ControlTimeoutError",
            "message": "late",
            "in_doubt": True,
        } | detail
    return Activity(
        activity_id=activity_id(conduct, at(step, attempt, phase, of), found),
        procedure_id=UUID(int=9),
        source=ActivitySource.CONDUCTOR,
        step_kind=StepKind.CHECK,
        stage=found,
        detail=detail,
        sampled_at=NOON,
        recorded_at=NOON,
        principal_id=UUID(int=8),
        surface_id=None,
        correlation_id=None,
        conduct_id=conduct,
        claim=1,
        phase=phase,
        iteration_index=of,
        step_index=step,
        attempt=attempt,
    )


def request(root_kind: ConductKind = ConductKind.ONCE, **asked: object) -> RequestedConduct:
    return RequestedConduct(THIS, root_kind, **asked)  # pyright: ignore[reportArgumentType]


def known(
    *steps: RecipeStep,
    rows: tuple[Activity, ...] = (),
    conduct: RequestedConduct | None = None,
    **facts: object,
) -> Known:
    """What is known of a conduct of these steps, with these rows and facts."""
    return Known(
        conduct or request(),
        steps=steps,
        activities=rows,
        **({"routes": ROUTES} | facts),  # pyright: ignore[reportArgumentType]
    )
