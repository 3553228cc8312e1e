"""Procedure: one episode of work on equipment that leaves no dataset, such as an alignment."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Annotated, cast
from uuid import UUID

from annotated_types import Ge, MaxLen, MinLen
from msgspec import field, to_builtins
from pydantic import AllowInfNan, Strict, TypeAdapter, ValidationError

from beamkeep.contexts.decision.decision import DecisionNotFoundError, decisions
from beamkeep.contexts.equipment.asset import AssetNotFoundError, assets
from beamkeep.contexts.equipment.declaration import DeclarationStatus
from beamkeep.contexts.recipe.capability import (
    Capability,
    CapabilityNotFoundError,
    ExecutorShape,
    capabilities,
)
from beamkeep.contexts.recipe.recipe import (
    GetRecipeVersion,
    Recipe,
    RecipeNotFoundError,
    RecipeVersionNotFoundError,
    Steps,
    recipe_version,
    recipes,
)
from beamkeep.contexts.recipe.steps import BindingRef, expand, references, reserved_key
from beamkeep.contexts.run.run import (
    AcknowledgedCaution,
    Run,
    RunNotFoundError,
    RunStatus,
    StartAdvisory,
    runs,
)
from beamkeep.contexts.seams.belonging import GivenTeam, OfTeam
from beamkeep.contexts.seams.installation import Reader
from beamkeep.contexts.seams.place import with_all_below
from beamkeep.contexts.trust.belonging import OF_TEAM
from beamkeep.kernel import (
    Aggregate,
    Axis,
    Blank,
    Call,
    Cannot,
    Command,
    DirectoryEntry,
    Event,
    Invalid,
    Listing,
    MayContainPersonalData,
    NotFound,
    Page,
    Record,
    SideWrite,
    Sources,
    Table,
    entries,
    reads,
    replace,
)
from beamkeep.kernel.values import FreeText, Name, Reason, Timestamp, Trimmed
from beamkeep.schemas import Json, JsonObject, carry
from beamkeep.schemas.nodes import closed, properties

from .conducted import ActuationKind, ConductKind, ConductOutcome, Failure, Phase

MOST_TARGETS = 100
STEPS = TypeAdapter[Steps](Steps)


class ProcedureStatus(StrEnum):
    DEFINED = "Defined"
    RUNNING = "Running"
    HELD = "Held"
    COMPLETED = "Completed"
    ABORTED = "Aborted"
    TRUNCATED = "Truncated"


class PinnedSteps(Record):
    """The steps of a procedure; they never change once they are pinned."""

    procedure_id: UUID
    steps: Steps
    closing_steps: Steps


PROCEDURE_STEPS = Table("procedure_steps", PinnedSteps, key=("procedure_id",))


class ProcedureIteration(Record):
    """One pass of a procedure."""

    procedure_id: UUID
    iteration_index: int
    started_at: datetime
    coordinate: JsonObject | None = None
    """The value of each axis of a steered pass."""
    ended_at: datetime | None = None
    converged: bool | None = None
    value: Json = None
    reason: str | None = None
    advised_stop: bool | None = None
    advice: JsonObject | None = None


ITERATIONS = Table(
    "procedure_iteration", ProcedureIteration, key=("procedure_id", "iteration_index")
)


class ActiveConduct(Record):
    """The conduct that is under way."""

    conduct_id: UUID
    conduct_kind: ConductKind
    root_kind: ConductKind
    """The kind of the first conduct in the chain that this one continues."""
    requested_at: datetime
    phase: Phase = Phase.STEPS
    walk_outcome: ConductOutcome | None = None
    cancel_requested: bool = False


class EndedConduct(Record):
    """The conduct that ended last."""

    conduct_id: UUID
    conduct_kind: ConductKind
    root_kind: ConductKind
    outcome: ConductOutcome
    ended_at: datetime
    undecided_step_indexes: tuple[int, ...] = ()
    """The steps that a continuing command must redo or skip."""


# Events are stored for ever: add a field with a default; never rename or drop one.
class ProcedureEvent(Event):
    procedure_id: UUID


class ProcedureRegistered(ProcedureEvent):
    name: FreeText
    kind: str
    target_asset_ids: tuple[UUID, ...]
    parent_run_id: UUID | None
    capability_id: UUID | None
    capability_version_tag: str | None
    max_consecutive_unconverged_iterations: int | None
    recipe_id: UUID | None
    recipe_version_number: int | None
    bindings: JsonObject
    steps: Steps | None
    closing_steps: Steps | None
    team_id: UUID | None = None
    visit_id: UUID | None = None


class ProcedureStarted(ProcedureEvent):
    acknowledged_cautions: tuple[AcknowledgedCaution, ...]
    advisories: tuple[StartAdvisory, ...] = ()


class ProcedureHeld(ProcedureEvent):
    reason: FreeText
    decided_by_decision_id: UUID | None


class ProcedureResumed(ProcedureEvent):
    decided_by_decision_id: UUID | None


class ProcedureCompleted(ProcedureEvent): ...


class ProcedureAborted(ProcedureEvent):
    reason: FreeText


class ProcedureTruncated(ProcedureEvent):
    reason: FreeText
    interrupted_at: datetime | None


class ProcedureIterationStarted(ProcedureEvent):
    iteration_index: int
    coordinate: JsonObject | None = None


class ProcedureIterationEnded(ProcedureEvent):
    iteration_index: int
    converged: bool | None
    reason: FreeText | None
    value: Annotated[Json, MayContainPersonalData()]
    advised_stop: bool | None = None
    advice: Annotated[JsonObject | None, MayContainPersonalData()] = None


class ProcedureConductRequested(ProcedureEvent):
    conduct_id: UUID
    conduct_kind: ConductKind
    root_kind: ConductKind
    continues_conduct_id: UUID | None
    steps: Steps | None
    closing_steps: Steps | None
    from_step_index: int | None
    redo_step_indexes: tuple[int, ...]
    skip_step_indexes: tuple[int, ...]
    abandon: bool
    loop: JsonObject | None
    acknowledged_cautions: tuple[AcknowledgedCaution, ...]
    decided_by_decision_id: UUID | None
    moved_asset_ids: tuple[UUID, ...] = ()
    """The assets that the steps move and that the procedure is not about."""
    advisories: tuple[StartAdvisory, ...] = ()


class ProcedureConductCancelRequested(ProcedureEvent):
    """Conduct: cancel requested."""

    conduct_id: UUID
    reason: FreeText


class ProcedureConductWalked(ProcedureEvent):
    """Conduct advanced."""

    conduct_id: UUID
    walk_outcome: ConductOutcome
    failure: Failure | None


class ProcedureConductEnded(ProcedureEvent):
    conduct_id: UUID
    outcome: ConductOutcome
    succeeded: bool
    completed_count: int
    failure: Failure | None
    closing_failures: tuple[Failure, ...]
    actuation_kind: ActuationKind | None
    claim_count: int
    undecided_step_indexes: tuple[int, ...]


type ProcedureMoved = (
    ProcedureStarted
    | ProcedureHeld
    | ProcedureResumed
    | ProcedureCompleted
    | ProcedureAborted
    | ProcedureTruncated
)
type ProcedureChanged = (
    ProcedureMoved
    | ProcedureIterationStarted
    | ProcedureIterationEnded
    | ProcedureConductRequested
    | ProcedureConductCancelRequested
    | ProcedureConductWalked
    | ProcedureConductEnded
)


class ProcedureNotFoundError(NotFound): ...


class InvalidProcedureNameError(Blank): ...


class InvalidProcedureKindError(Blank): ...


class InvalidProcedureReasonError(Blank): ...


class InvalidProcedureIterationCapError(Invalid):
    """The limit of consecutive unconverged iterations must be 1 or more."""


class InvalidProcedureBindingsError(Invalid):
    """The bindings do not fit the recipe and the parameters schema of its capability."""


class InvalidProcedureInterruptedAtError(Invalid):
    """The time of interruption must not be in the future; leave it out if it is unknown."""


class ProcedureCapabilityMismatchError(Cannot):
    """The recipe realizes another capability; leave out capability_id or use that of the recipe."""


class ProcedureCapabilityExecutorMismatchError(Cannot):
    """A procedure can only realize a capability that has the executor shape PROCEDURE."""


class ProcedureBoundCapabilityDeprecatedError(Cannot):
    """The capability is Deprecated; use a current capability."""


class ProcedureBoundRecipeDeprecatedError(Cannot):
    """The recipe is Deprecated; use a current recipe."""


class ProcedureRecipeStaleError(Cannot):
    """The recipe binds a parameter that its capability no longer declares; version the recipe."""


class ProcedureCannotStartError(Cannot):
    """Only a Defined procedure can be started."""


class ProcedureCannotHoldError(Cannot):
    """Only a Running procedure can be held."""


class ProcedureCannotResumeError(Cannot):
    """Only a Held procedure can be resumed."""


class ProcedureCannotCompleteError(Cannot):
    """Only a Running procedure can be completed; resume a Held procedure first."""


class ProcedureCannotAbortError(Cannot):
    """A procedure that has ended cannot be aborted."""


class ProcedureCannotTruncateError(Cannot):
    """Only a procedure that has started and not ended can be truncated."""


class ProcedureParentRunNotRunningError(Cannot):
    """The run that the procedure is part of must be Running."""


class ProcedureConductActiveError(Cannot):
    """A conduct of this procedure is active; cancel it with cancel_conduct first."""


class ProcedureCannotStartIterationError(Cannot):
    """The next iteration can start only while the procedure is Running and none is open."""


class ProcedureIterationLimitReachedError(Cannot):
    """Too many iterations in a row have not converged; end or abort the procedure."""


class ProcedureCannotEndIterationError(Cannot):
    """Only the open iteration of a Running or Held procedure can be ended."""


P = ProcedureStatus
OPEN = frozenset({P.RUNNING, P.HELD})

STATUS: Axis[ProcedureStatus, ProcedureMoved] = Axis(
    "status",
    # event, allowed from, leads to, refused with
    (ProcedureStarted, {P.DEFINED}, P.RUNNING, ProcedureCannotStartError),
    (ProcedureHeld, {P.RUNNING}, P.HELD, ProcedureCannotHoldError),
    (ProcedureResumed, {P.HELD}, P.RUNNING, ProcedureCannotResumeError),
    (ProcedureCompleted, {P.RUNNING}, P.COMPLETED, ProcedureCannotCompleteError),
    (ProcedureAborted, OPEN | {P.DEFINED}, P.ABORTED, ProcedureCannotAbortError),
    (ProcedureTruncated, OPEN, P.TRUNCATED, ProcedureCannotTruncateError),
)
ENDS = ProcedureCompleted, ProcedureAborted, ProcedureTruncated


class Procedure(Record):
    id: UUID
    name: str
    kind: str
    target_asset_ids: tuple[UUID, ...]
    """The assets that the work is about; none means the whole facility."""
    parent_run_id: UUID | None
    """The run that the procedure is a phase of."""
    capability_id: UUID | None
    recipe_id: UUID | None
    recipe_version_number: int | None
    bindings: JsonObject
    max_consecutive_unconverged_iterations: int | None
    status: ProcedureStatus = ProcedureStatus.DEFINED
    iteration_count: int = 0
    current_iteration_index: int | None = None
    """The open iteration."""
    consecutive_unconverged_iterations: int = 0
    active_conduct: ActiveConduct | None = None
    last_conduct: EndedConduct | None = None
    last_status_reason: str | None = None
    interrupted_at: datetime | None = None
    acknowledged_cautions: tuple[AcknowledgedCaution, ...] = ()
    """The cautions that were shown at the last start."""
    advisories: tuple[StartAdvisory, ...] = ()
    """The open runs on the same assets, as they were shown at the last start."""
    moved_asset_ids: tuple[UUID, ...] = ()
    """The assets that the last conduct moves and that the work is not about."""
    steps_pinned: bool = False
    """Whether the steps are known; they never change afterwards."""
    team_id: UUID | None = None
    visit_id: UUID | None = None

    @property
    def works_on(self) -> tuple[UUID, ...]:
        """The assets that the work is about, and those that its steps move."""
        return (*self.target_asset_ids, *self.moved_asset_ids)


def begin(event: ProcedureRegistered) -> Procedure:
    return Procedure.of(event, id=event.procedure_id, steps_pinned=event.steps is not None)


def evolve(procedure: Procedure, event: ProcedureChanged) -> Procedure:
    match event:
        case ProcedureIterationStarted():
            index = event.iteration_index
            return replace(procedure, iteration_count=index, current_iteration_index=index)
        case ProcedureIterationEnded():
            streak = 0 if event.converged else procedure.consecutive_unconverged_iterations + 1
            return replace(
                procedure, current_iteration_index=None, consecutive_unconverged_iterations=streak
            )
        case ProcedureConductRequested():
            active = ActiveConduct.of(event, requested_at=event.occurred_at)
            if event.conduct_kind is ConductKind.MAKE_SAFE:
                # Only closing steps are walked, so that nothing has to be walked before them.
                phase, outcome = Phase.CLOSING, ConductOutcome.COMPLETED
                active = replace(active, phase=phase, walk_outcome=outcome)
                return replace(procedure, active_conduct=active)
            procedure = replace(
                procedure,
                active_conduct=active,
                steps_pinned=True,
                moved_asset_ids=event.moved_asset_ids,
            )
            if event.continues_conduct_id is None:
                return procedure
            shown = event.acknowledged_cautions
            return replace(procedure, acknowledged_cautions=shown, advisories=event.advisories)
        case ProcedureConductCancelRequested():
            return _conducting(procedure, cancel_requested=True)
        case ProcedureConductWalked():
            return _conducting(procedure, phase=Phase.CLOSING, walk_outcome=event.walk_outcome)
        case ProcedureConductEnded() if _active(procedure).conduct_kind is ConductKind.MAKE_SAFE:
            # The conduct before it can still be continued.
            return replace(procedure, active_conduct=None)
        case ProcedureConductEnded():
            ended = EndedConduct.of(
                event,
                conduct_kind=_active(procedure).conduct_kind,
                root_kind=_active(procedure).root_kind,
                ended_at=event.occurred_at,
            )
            return replace(procedure, active_conduct=None, last_conduct=ended)
        case ProcedureStarted():
            shown = event.acknowledged_cautions
            advisories = event.advisories
            procedure = replace(procedure, acknowledged_cautions=shown, advisories=advisories)
        case ProcedureTruncated():
            procedure = replace(procedure, interrupted_at=event.interrupted_at)
        case _:
            pass
    reason = getattr(event, "reason", procedure.last_status_reason)
    open_index = None if isinstance(event, ENDS) else procedure.current_iteration_index
    return replace(
        procedure,
        status=STATUS.after(event),
        last_status_reason=reason,
        current_iteration_index=open_index,
    )


def _conducting(procedure: Procedure, **changes: object) -> Procedure:
    return replace(procedure, active_conduct=replace(_active(procedure), **changes))


def _active(procedure: Procedure) -> ActiveConduct:
    """Return the active conduct, without which no conduct is cancelled, walked or ended."""
    return cast("ActiveConduct", procedure.active_conduct)


type ProcedureKind = Annotated[str, MinLen(1), MaxLen(50)]
type IterationIndex = Annotated[int, Strict(), Ge(1)]
type IterationValue = (
    Annotated[bool, Strict()]
    | Annotated[float, Strict(), AllowInfNan(False)]
    | Annotated[str, Strict(), MaxLen(1000)]
)


class ProcedureRecipe(Record):
    """The recipe that a procedure follows, and the values of its parameters."""

    recipe_id: UUID
    version_number: IterationIndex | None = None
    """The version of the recipe (default: the current version)."""
    bindings: JsonObject = field(default_factory=dict[str, Json])


class RegisterProcedure(GivenTeam):
    name: Annotated[Name, Trimmed(InvalidProcedureNameError)]
    kind: Annotated[ProcedureKind, Trimmed(InvalidProcedureKindError)]
    """What kind of work it is, for example motor_homing, center_alignment or bakeout."""
    target_asset_ids: Annotated[frozenset[UUID], MaxLen(MOST_TARGETS)] = frozenset()
    """The assets that the work is about (default: the whole facility)."""
    parent_run_id: UUID | None = None
    """The run that the procedure is a phase of."""
    capability_id: UUID | None = None
    """The capability that the procedure realizes (default: that of the recipe)."""
    max_consecutive_unconverged_iterations: int | None = None
    """How many iterations in a row may fail to converge (default: no limit)."""
    recipe: ProcedureRecipe | None = None
    """The recipe to follow; leave it out for work by hand or with inline steps."""


class ProcedureCommand(Command):
    procedure_id: UUID


class ProcedureCommandWithReason(ProcedureCommand):
    reason: Annotated[Reason, Trimmed(InvalidProcedureReasonError)]


class ResumeProcedure(ProcedureCommand):
    decided_by_decision_id: UUID | None = None
    """The recorded decision that led to this command."""


class CompleteProcedure(ProcedureCommand): ...


class TruncateProcedure(ProcedureCommandWithReason):
    interrupted_at: Timestamp | None = None
    """When the procedure was interrupted, if known."""


class StartProcedureIteration(ProcedureCommand):
    iteration_index: IterationIndex
    """The number of the iteration: one more than those already begun."""


class EndProcedureIteration(ProcedureCommand):
    iteration_index: IterationIndex
    converged: bool | None
    """Whether the iteration reached its goal; null if that is unknown."""
    reason: Annotated[Reason, Trimmed(InvalidProcedureReasonError)] | None = None
    value: IterationValue | None = None
    """The measured value that the iteration ended with."""


class FollowedRecipe(Record):
    """A recipe and the steps of the version that a procedure follows."""

    recipe: Recipe
    version_number: int
    steps: Steps
    closing_steps: Steps


class ProcedureGround(Record):
    """The capability and the recipe that a new procedure names."""

    capability: Capability | None
    followed: FollowedRecipe | None


async def ground(command: RegisterProcedure, read: Reader) -> ProcedureGround:
    await read.many(assets, sorted(command.target_asset_ids))
    if command.parent_run_id:
        await read.one(runs, command.parent_run_id)
    followed = await _followed(command.recipe, read) if command.recipe else None
    if command.capability_id:
        capability = await read.one(capabilities, command.capability_id)
    else:
        capability = followed and await read.one(capabilities, followed.recipe.capability_id)
    return ProcedureGround(capability, followed)


async def _followed(asked: ProcedureRecipe, read: Reader) -> FollowedRecipe:
    recipe = await read.one(recipes, asked.recipe_id, to_show=True)
    number = asked.version_number or recipe.version_number
    query = GetRecipeVersion(recipe_id=recipe.id, version_number=number)
    version = await recipe_version(query, read)
    return FollowedRecipe.of(version, recipe=recipe)


async def require_decision(decision_id: UUID | None, read: Reader) -> None:
    """Raise when the named decision does not exist."""
    if decision_id is not None:
        await read.one(decisions, decision_id)


async def parent_run(procedure: Procedure, command: ResumeProcedure, read: Reader) -> Run | None:
    """Return the parent run; raise when the named decision does not exist."""
    await require_decision(command.decided_by_decision_id, read)
    return await read.one(runs, procedure.parent_run_id) if procedure.parent_run_id else None


async def open_iteration(
    procedure: Procedure, command: EndProcedureIteration, read: Reader
) -> ProcedureIteration | None:
    """Return the row of the iteration that the command names."""
    index = command.iteration_index
    rows = await read.rows(ITERATIONS, procedure_id=procedure.id, iteration_index=index)
    return rows[0] if rows else None


def register_procedure(
    command: RegisterProcedure, given: ProcedureGround, call: Call
) -> list[ProcedureRegistered | SideWrite]:
    """Register a procedure; it does nothing until it is started or conducted."""
    cap, followed = command.max_consecutive_unconverged_iterations, given.followed
    if cap is not None and cap < 1:
        raise InvalidProcedureIterationCapError(f"The limit is {cap}.")
    capability = given.capability
    if capability:
        _require_realizable(capability, followed)
    bindings = command.recipe.bindings if command.recipe else {}
    pinned = followed and capability and _expanded(followed, bindings, capability)
    registered = ProcedureRegistered.of(
        command,
        occurred_at=call.now,
        procedure_id=call.new_id,
        target_asset_ids=tuple(sorted(command.target_asset_ids)),
        capability_id=capability and capability.id,
        capability_version_tag=capability and capability.version_tag,
        recipe_id=followed and followed.recipe.id,
        recipe_version_number=followed and followed.version_number,
        bindings=bindings,
        steps=pinned and pinned[0],
        closing_steps=pinned and pinned[1],
    )
    return [registered, *steps_of(registered)]


def steps_of(event: ProcedureRegistered | ProcedureConductRequested) -> tuple[SideWrite, ...]:
    """Return the row of the steps that an event pins, if it pins any."""
    if event.steps is None:
        return ()
    pinned = PinnedSteps(event.procedure_id, event.steps, event.closing_steps or ())
    return (PROCEDURE_STEPS.insert(pinned),)


def _require_realizable(capability: Capability, followed: FollowedRecipe | None) -> None:
    if followed and followed.recipe.capability_id != capability.id:
        raise ProcedureCapabilityMismatchError(
            f"The recipe realizes capability {followed.recipe.capability_id}."
        )
    require_procedure_shape(capability)
    if followed and followed.recipe.status is DeclarationStatus.DEPRECATED:
        raise ProcedureBoundRecipeDeprecatedError(f"It is '{followed.recipe.name}'.")


def require_procedure_shape(capability: Capability) -> None:
    """Raise when no procedure can realize the capability now."""
    if ExecutorShape.PROCEDURE not in capability.executor_shapes:
        raise ProcedureCapabilityExecutorMismatchError(f"{capability.code} has only METHOD.")
    if capability.status is DeclarationStatus.DEPRECATED:
        raise ProcedureBoundCapabilityDeprecatedError(f"It is {capability.code}.")


def _expanded(
    followed: FollowedRecipe, bindings: JsonObject, capability: Capability
) -> tuple[Steps, Steps]:
    """Return the steps with their bindings in place; raise when the bindings do not fit."""
    wrong, schema = InvalidProcedureBindingsError, capability.parameters_schema
    carry(bindings, schema, wrong, f"capability {capability.code}")
    steps = (*followed.steps, *followed.closing_steps)
    names = {r.name for step in steps for _, r in references(step) if isinstance(r, BindingRef)}
    if schema is not None and closed(schema) and (gone := names - properties(schema).keys()):
        raise ProcedureRecipeStaleError(f"Parameters: {', '.join(sorted(gone))}.")
    if missing := names - bindings.keys():
        raise wrong(f"The recipe needs values for: {', '.join(sorted(missing))}.")
    if key := reserved_key(bindings):
        raise wrong(f"The key {key[:100]!r} must not start with $.")
    try:
        expanded = STEPS.validate_python(to_builtins(expand(steps, bindings)))
    except ValidationError as error:
        place = ".".join(map(str, error.errors()[0]["loc"]))
        raise wrong(f"A value does not fit the step at {place}.") from None
    return expanded[: len(followed.steps)], expanded[len(followed.steps) :]


def resume_procedure(
    procedure: Procedure, command: ResumeProcedure, given: Run | None, call: Call
) -> list[ProcedureResumed]:
    """Resume a held procedure by hand; a continuing conduct continues with its steps instead."""
    resumed = ProcedureResumed(call.now, procedure.id, command.decided_by_decision_id)
    STATUS.allow(procedure.status, resumed)
    require_idle(procedure)
    require_parent_running(given)
    return [resumed]


def complete_procedure(
    procedure: Procedure, command: CompleteProcedure, call: Call
) -> list[ProcedureCompleted]:
    """Complete a procedure whose work is done."""
    completed = STATUS.allow(procedure.status, ProcedureCompleted(call.now, procedure.id))
    require_idle(procedure)
    return [completed]


def truncate_procedure(
    procedure: Procedure, command: TruncateProcedure, call: Call
) -> list[ProcedureTruncated]:
    """Close a procedure that ended unnoticed, for example in a power cut."""
    at = command.interrupted_at
    if at is not None and at > call.now:
        detail = f"interrupted_at is {at}; the current time is {call.now}."
        raise InvalidProcedureInterruptedAtError(detail)
    truncated = ProcedureTruncated(call.now, procedure.id, reason=command.reason, interrupted_at=at)
    STATUS.allow(procedure.status, truncated)
    require_idle(procedure)
    return [truncated]


def start_iteration(
    procedure: Procedure, command: StartProcedureIteration, call: Call
) -> list[ProcedureIterationStarted | SideWrite]:
    """Start the next iteration of a running procedure."""
    index, refusal = command.iteration_index, ProcedureCannotStartIterationError
    STATUS.require_in(procedure.status, {ProcedureStatus.RUNNING}, refusal)
    if procedure.current_iteration_index is not None:
        raise refusal(f"Iteration {procedure.current_iteration_index} is open; end it first.")
    require_idle(procedure)
    if index != procedure.iteration_count + 1:
        raise refusal(f"The next iteration is {procedure.iteration_count + 1}, not {index}.")
    limit = procedure.max_consecutive_unconverged_iterations
    if limit is not None and procedure.consecutive_unconverged_iterations >= limit:
        raise ProcedureIterationLimitReachedError(f"The limit is {limit}.")
    return iteration_started(ProcedureIterationStarted(call.now, procedure.id, index))


def iteration_started(
    event: ProcedureIterationStarted,
) -> list[ProcedureIterationStarted | SideWrite]:
    """Return the event with the row of the iteration."""
    row = ProcedureIteration.of(event, started_at=event.occurred_at)
    return [event, ITERATIONS.insert(row)]


def end_iteration(
    procedure: Procedure,
    command: EndProcedureIteration,
    given: ProcedureIteration | None,
    call: Call,
) -> list[ProcedureIterationEnded | SideWrite]:
    """End the open iteration and record its result."""
    index, refusal = command.iteration_index, ProcedureCannotEndIterationError
    STATUS.require_in(procedure.status, OPEN, refusal)
    if given is None or index != procedure.current_iteration_index:
        found = procedure.current_iteration_index
        detail = f"Iteration {found} is open, not {index}." if found else "No iteration is open."
        raise refusal(detail)
    require_idle(procedure)
    event = ProcedureIterationEnded.of(command, occurred_at=call.now, procedure_id=procedure.id)
    return iteration_ended(event, given)


def iteration_ended(
    event: ProcedureIterationEnded, row: ProcedureIteration
) -> list[ProcedureIterationEnded | SideWrite]:
    """Return the event with the row of the iteration as it ended."""
    ended = ProcedureIteration.of(
        event, started_at=row.started_at, coordinate=row.coordinate, ended_at=event.occurred_at
    )
    return [event, ITERATIONS.replace(ended)]


def require_idle(procedure: Procedure) -> None:
    """Raise when a conduct of the procedure is active."""
    if procedure.active_conduct:
        id = procedure.active_conduct.conduct_id
        raise ProcedureConductActiveError(f"The conduct is {id}.", conduct_id=id)


def require_parent_running(run: Run | None) -> None:
    """Raise when the parent run, if there is one, is not Running."""
    if run and run.status is not RunStatus.RUNNING:
        raise ProcedureParentRunNotRunningError(f"Run '{run.name}' is {run.status}.")


procedures = Aggregate(
    "Procedure",
    begin,
    evolve,
    absent=ProcedureNotFoundError,
    axes=(STATUS,),
    team=lambda event: Sources(part_of=(event.parent_run_id,)),
)

# fmt: off
OPERATIONS = (
    procedures.creates("POST /procedures", RegisterProcedure, register_procedure,
        AssetNotFoundError, RunNotFoundError, CapabilityNotFoundError, RecipeNotFoundError,
        RecipeVersionNotFoundError, InvalidProcedureIterationCapError,
        InvalidProcedureBindingsError, ProcedureCapabilityMismatchError,
        ProcedureCapabilityExecutorMismatchError, ProcedureBoundCapabilityDeprecatedError,
        ProcedureBoundRecipeDeprecatedError, ProcedureRecipeStaleError, *OF_TEAM,
        given=ground),
    procedures.changes("POST /procedures/{procedure_id}/resume", ResumeProcedure,
        resume_procedure, DecisionNotFoundError, ProcedureCannotResumeError,
        ProcedureConductActiveError, ProcedureParentRunNotRunningError, given=parent_run),
    procedures.changes("POST /procedures/{procedure_id}/complete", CompleteProcedure,
        complete_procedure, ProcedureCannotCompleteError, ProcedureConductActiveError,
        destructive=True),
    procedures.changes("POST /procedures/{procedure_id}/truncate", TruncateProcedure,
        truncate_procedure, InvalidProcedureInterruptedAtError, ProcedureCannotTruncateError,
        ProcedureConductActiveError, destructive=True),
    procedures.changes("POST /procedures/{procedure_id}/iterations/start",
        StartProcedureIteration, start_iteration, ProcedureCannotStartIterationError,
        ProcedureConductActiveError, ProcedureIterationLimitReachedError),
    procedures.changes("POST /procedures/{procedure_id}/iterations/end", EndProcedureIteration,
        end_iteration, ProcedureCannotEndIterationError, ProcedureConductActiveError,
        given=open_iteration),
)
# fmt: on


class ListProcedures(OfTeam, Listing):
    """List procedures, newest first."""

    status: frozenset[ProcedureStatus] | None = None
    kind: ProcedureKind | None = None
    parent_run_id: UUID | None = None
    target_asset_id: frozenset[UUID] | None = None
    """Procedures about one of these assets."""
    under_asset_id: UUID | None = None
    """Procedures about this asset or an asset below it."""
    asset_id: frozenset[UUID] | None = None
    """Procedures that are about one of these assets or move it."""
    recipe_id: UUID | None = None
    conducting: bool | None = None
    """Only procedures with an active conduct, or only those without one."""
    last_outcome: ConductOutcome | None = None
    """Only procedures whose last conduct ended with this outcome."""


class ListProcedureIterations(Page):
    """List the iterations of one procedure by their index."""


class ProcedureSteps(Record):
    """The pinned steps of a procedure; null until they are pinned."""

    steps: Steps | None = None
    closing_steps: Steps | None = None


async def with_steps(ids: Sequence[UUID], read: Reader) -> Mapping[UUID, ProcedureSteps]:
    rows = await read.rows(PROCEDURE_STEPS, procedure_id=frozenset(ids))
    found = {row.procedure_id: ProcedureSteps(row.steps, row.closing_steps) for row in rows}
    return {id: found.get(id, ProcedureSteps()) for id in ids}


def _scope(procedure: Procedure) -> Sequence[UUID]:
    """Return what decides in which facility the work is done; nothing for the whole facility."""
    run_id = procedure.parent_run_id
    return procedure.target_asset_ids or ((run_id,) if run_id else ())


QUESTIONS = (
    *reads(
        "/procedures",
        procedures,
        ListProcedures,
        directory=DirectoryEntry(
            lambda it: it.name, status=lambda it: it.status, scope=_scope, version=2
        ),
        milestones={
            "started_at": (ProcedureStarted,),
            "held_at": (ProcedureHeld,),
            "ended_at": ENDS,
        },
        facets={
            "target_asset_id": lambda procedure: procedure.target_asset_ids,
            "asset_id": lambda procedure: procedure.works_on,
            "conducting": lambda procedure: [procedure.active_conduct is not None],
            "last_outcome": lambda procedure: [
                ended.outcome for ended in [procedure.last_conduct] if ended
            ],
        },
        expanded={"under_asset_id": with_all_below},
        aliases={"under_asset_id": "target_asset_id"},
        shown_with=with_steps,
        version=2,
    ),
    entries(
        "GET /procedures/{procedure_id}/iterations",
        ListProcedureIterations,
        procedures,
        ITERATIONS,
        by=("iteration_index",),
    ),
)
