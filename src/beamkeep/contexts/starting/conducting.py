"""Conducting a procedure: the six commands, their checks and their answer."""

from collections.abc import Iterable, Iterator
from typing import Annotated
from uuid import UUID

from annotated_types import Ge, MaxLen
from msgspec import to_builtins
from pydantic import Strict

from beamkeep.contexts.decision.decision import DecisionNotFoundError
from beamkeep.contexts.equipment.asset import AssetNotFoundError
from beamkeep.contexts.operation.conduct import (
    CHANNELS,
    CONDUCTS,
    Conduct,
    ConductChannel,
    loop_of,
    walk_of,
)
from beamkeep.contexts.operation.conducted import ConductKind, ConductOutcome, Phase
from beamkeep.contexts.operation.history import WalkSoFar, boundary, step_history
from beamkeep.contexts.operation.loop import (
    Convergence,
    NamedAdvisor,
    ObjectiveKind,
    Passes,
    Steering,
    SteeringObjective,
    SteeringSpace,
    space_fault,
)
from beamkeep.contexts.operation.procedure import (
    PROCEDURE_STEPS,
    PinnedSteps,
    Procedure,
    ProcedureCommand,
    ProcedureConductActiveError,
    ProcedureConductRequested,
    ProcedureResumed,
    ProcedureStarted,
    ProcedureStatus,
    procedures,
    require_decision,
    require_idle,
    steps_of,
)
from beamkeep.contexts.operation.reports import AcceptedConduct
from beamkeep.contexts.operation.routing import step_findings
from beamkeep.contexts.recipe.recipe import Steps
from beamkeep.contexts.recipe.steps import (
    Criterion,
    RecipeActionStep,
    RecipeComputeStep,
    RecipeRequiresCapabilityParametersSchemaError,
    RecipeSetpointStep,
    RecipeStep,
    Seconds,
    SlotName,
    SteeringRef,
    faults,
    reference,
    references,
)
from beamkeep.contexts.seams.installation import Facts, Reader
from beamkeep.contexts.seams.routes import route_of, write_findings
from beamkeep.kernel import (
    WORK,
    Call,
    Cannot,
    Invalid,
    Record,
    SideWrite,
    Work,
    replace,
)

from .acknowledging import acknowledgement
from .procedure import (
    START_GATES,
    ProcedurePreconditions,
    other_runs,
    procedure_preconditions,
    procedure_start_answers,
    procedure_started,
    require_startable,
)

CONTINUABLE = frozenset(
    {
        ConductOutcome.HELD,
        ConductOutcome.HALTED,
        ConductOutcome.CANCELLED,
        ConductOutcome.INTERRUPTED,
    }
)


class InvalidConductStepsError(Invalid):
    """The steps of the conduct are not valid."""


class InvalidConductCaptureError(Invalid):
    """The criterion or the objective of the conduct does not fit its steps."""


class InvalidConductSpaceError(Invalid):
    """The space that the advisor chooses in does not fit the steps."""


class InvalidConductFromError(Invalid):
    """The procedure cannot be continued in this way."""


class ConductNotExecutableError(Cannot):
    """The deployment cannot execute these steps."""


class ProcedureChannelBusyError(Cannot):
    """Another active conduct writes one of these addresses; wait until it ends, or cancel it."""


class ProcedureCannotConductError(Cannot):
    """Only a Defined procedure can be conducted; continue a Held procedure instead."""


class ProcedureCannotConductOrHoldError(Cannot):
    """Only a Defined procedure can be conducted; continue a Held procedure instead."""


class ProcedureCannotConductUntilConvergedError(Cannot):
    """Only a Defined procedure can be conducted; continue a Held procedure instead."""


class ProcedureCannotConductUntilAdvisedError(Cannot):
    """Only a Defined procedure can be conducted; continue a Held procedure instead."""


class ProcedureCannotConductFromError(Cannot):
    """Only a Held procedure can be continued, and only if its last conduct was not finished."""


class ProcedureCannotConductUntilAdvisedFromError(Cannot):
    """Only a Held procedure can be steered on, and only if its last conduct was not finished."""


type StepIndexes = Annotated[tuple[Annotated[int, Strict(), Ge(0)], ...], MaxLen(500)]


class ConductCommand(ProcedureCommand):
    decided_by_decision_id: UUID | None = None
    """The recorded decision that led to this command."""


class FirstConductCommand(ConductCommand):
    steps: Steps | None = None
    """The steps to walk; leave them out if the procedure follows a recipe."""
    closing_steps: Steps | None = None
    """The steps to walk at the end, also after a failure; leave them out with a recipe."""


class ConductProcedure(FirstConductCommand): ...


class ConductOrHoldProcedure(FirstConductCommand): ...


class ConductProcedureUntilConverged(FirstConductCommand):
    capture_name: SlotName
    """The captured value that the criterion judges."""
    criterion: Criterion
    max_consecutive_unconverged_iterations: Passes | None = None
    """How many passes in a row may miss the criterion (default: the limit of the procedure)."""
    max_iterations: Passes = 100


class ConductProcedureUntilAdvised(FirstConductCommand):
    advisor: NamedAdvisor
    objective: SteeringObjective
    space: SteeringSpace
    max_iterations: Passes = 100
    time_budget: Seconds | None = None
    """How long the passes may take together (default: no limit)."""


class ContinuingCommand(ConductCommand):
    redo_step_indexes: StepIndexes = ()
    """The steps to execute again."""
    skip_step_indexes: StepIndexes = ()
    """The steps to leave out."""
    abandon: bool = False
    """Execute no further step, walk the closing steps, and abort the procedure."""


class ConductFromProcedure(ContinuingCommand):
    from_step_index: Annotated[int, Strict(), Ge(0)] | None = None
    """The step to continue with (default: the first step that is not finished)."""


class ConductProcedureUntilAdvisedFrom(ContinuingCommand):
    max_iterations: Passes | None = None
    """The limit of passes (default: that of the conduct that is continued)."""


class ConductGround(Record):
    """The steps of a conduct, and everything that its request depends on."""

    steps: PinnedSteps
    here: Facts
    channels: tuple[str, ...]
    """The addresses that the steps may write, in order."""
    busy: tuple[ConductChannel, ...]
    """Those of the addresses that another conduct has."""
    start: ProcedurePreconditions
    last: Conduct | None = None
    walk: WalkSoFar | None = None
    """How far the last conduct came."""


async def first_ground(
    procedure: Procedure, command: FirstConductCommand, read: Reader
) -> ConductGround:
    asked = PinnedSteps(procedure.id, command.steps or (), command.closing_steps or ())
    return await _ground(procedure, command, asked, read)


async def continued_ground(
    procedure: Procedure, command: ContinuingCommand, read: Reader
) -> ConductGround:
    none = PinnedSteps(procedure.id, (), ())
    ground = await _ground(procedure, command, none, read, closing_only=command.abandon)
    if procedure.last_conduct is None:
        return ground
    (last,) = await read.rows(CONDUCTS, conduct_id=procedure.last_conduct.conduct_id)
    return replace(ground, last=last, walk=await walk_of(procedure, last, read))


async def _ground(
    procedure: Procedure,
    command: ConductCommand,
    asked: PinnedSteps,
    read: Reader,
    *,
    closing_only: bool = False,
) -> ConductGround:
    await require_decision(command.decided_by_decision_id, read)
    pinned, here = await read.rows(PROCEDURE_STEPS, procedure_id=procedure.id), read.facts
    steps = pinned[0] if pinned else asked
    channels = _channels(replace(steps, steps=()) if closing_only else steps, here)
    return ConductGround(
        steps=steps,
        here=here,
        channels=channels,
        busy=await read.rows(CHANNELS, address=frozenset(channels)),
        start=await _start(procedure, channels, read),
    )


async def require_conductable(
    procedure: Procedure, steps: PinnedSteps, read: Reader, *, is_closing: bool
) -> None:
    """Raise the refusal of the first start gate that a conduct does not pass now."""
    channels = _channels(steps, read.facts)
    start = await _start(procedure, channels, read, is_start=False)
    require_startable(start, is_closing=is_closing)


async def _start(
    procedure: Procedure, channels: Iterable[str], read: Reader, *, is_start: bool = True
) -> ProcedurePreconditions:
    routes = [route_of(read.facts.routes, address) for address in channels]
    moved = {route.asset_id for route in routes if route and route.asset_id}
    return await procedure_preconditions(procedure, moved, read, is_start=is_start)


def _channels(steps: PinnedSteps, here: Facts) -> tuple[str, ...]:
    """Return the addresses that steps may write, in order."""
    every = (*steps.steps, *steps.closing_steps)
    return tuple(sorted({address for step in every for address in _writes(step, here)}))


def _writes(step: RecipeStep, here: Facts) -> tuple[str, ...]:
    match step:
        case RecipeSetpointStep():
            return (step.address,)
        case RecipeActionStep():
            return next((each.writes for each in here.actions if each.name == step.name), ())
        case _:
            return ()


type Conducted = list[
    ProcedureStarted | ProcedureResumed | ProcedureConductRequested | SideWrite | AcceptedConduct
]


def conduct_procedure(
    procedure: Procedure, command: ConductProcedure, given: ConductGround, call: Call
) -> Conducted:
    """Walk the steps of a procedure once; a step that fails aborts it."""
    kind, refusal = ConductKind.ONCE, ProcedureCannotConductError
    return _begun(procedure, command, given, call, kind=kind, refusal=refusal)


def conduct_or_hold_procedure(
    procedure: Procedure, command: ConductOrHoldProcedure, given: ConductGround, call: Call
) -> Conducted:
    """Walk the steps of a procedure once; a failure that can be recovered from holds it."""
    kind, refusal = ConductKind.OR_HOLD, ProcedureCannotConductOrHoldError
    return _begun(procedure, command, given, call, kind=kind, refusal=refusal)


def conduct_until_converged(
    procedure: Procedure, command: ConductProcedureUntilConverged, given: ConductGround, call: Call
) -> Conducted:
    """Walk the steps of a procedure again and again until a captured value meets a criterion."""
    kind, refusal = ConductKind.UNTIL_CONVERGED, ProcedureCannotConductUntilConvergedError
    patience = command.max_consecutive_unconverged_iterations
    loop = Convergence.of(
        command,
        max_consecutive_unconverged_iterations=patience
        or procedure.max_consecutive_unconverged_iterations,
    )
    return _begun(procedure, command, given, call, kind=kind, refusal=refusal, loop=loop)


def conduct_until_advised(
    procedure: Procedure, command: ConductProcedureUntilAdvised, given: ConductGround, call: Call
) -> Conducted:
    """Walk the steps of a procedure at coordinates that an advisor chooses until it says stop."""
    kind, refusal = ConductKind.UNTIL_ADVISED, ProcedureCannotConductUntilAdvisedError
    loop = Steering.of(command)
    return _begun(procedure, command, given, call, kind=kind, refusal=refusal, loop=loop)


def conduct_from_procedure(
    procedure: Procedure, command: ConductFromProcedure, given: ConductGround, call: Call
) -> Conducted:
    """Continue a held procedure from the first step that is not known to be finished."""
    kind, refusal = ConductKind.FROM, ProcedureCannotConductFromError
    begin = command.from_step_index
    return _continued(procedure, command, given, call, kind=kind, refusal=refusal, begin=begin)


def conduct_until_advised_from(
    procedure: Procedure,
    command: ConductProcedureUntilAdvisedFrom,
    given: ConductGround,
    call: Call,
) -> Conducted:
    """Continue a held procedure that an advisor steers, with the advice that is stored."""
    kind, refusal = ConductKind.UNTIL_ADVISED_FROM, ProcedureCannotConductUntilAdvisedFromError
    most = command.max_iterations
    return _continued(procedure, command, given, call, kind=kind, refusal=refusal, most=most)


def _begun(
    procedure: Procedure,
    command: FirstConductCommand,
    given: ConductGround,
    call: Call,
    *,
    kind: ConductKind,
    refusal: type[Cannot],
    loop: Convergence | Steering | None = None,
) -> Conducted:
    require_idle(procedure)
    if procedure.status is not ProcedureStatus.DEFINED:
        raise refusal(f"The status is {procedure.status}.")
    is_inline = procedure.recipe_id is None
    _require_steps(command, given.steps, is_inline=is_inline)
    _require_goal(given.steps, loop)
    _require_space(given.steps, loop)
    require_startable(given.start)
    _require_executable(given, loop, is_inline=is_inline)
    requested = ProcedureConductRequested(
        occurred_at=call.now,
        procedure_id=procedure.id,
        conduct_id=call.new_id,
        conduct_kind=kind,
        root_kind=kind,
        continues_conduct_id=None,
        steps=given.steps.steps if is_inline else None,
        closing_steps=given.steps.closing_steps if is_inline else None,
        from_step_index=None,
        redo_step_indexes=(),
        skip_step_indexes=(),
        abandon=False,
        loop=to_builtins(loop),
        acknowledged_cautions=(),
        decided_by_decision_id=command.decided_by_decision_id,
        moved_asset_ids=_moved(procedure, given),
    )
    started = procedure_started(procedure, given.start, call)
    return [started, *_accepted(procedure, requested, given, call)]


def _continued(
    procedure: Procedure,
    command: ContinuingCommand,
    given: ConductGround,
    call: Call,
    *,
    kind: ConductKind,
    refusal: type[Cannot],
    begin: int | None = None,
    most: int | None = None,
) -> Conducted:
    require_idle(procedure)
    if procedure.status is not ProcedureStatus.HELD:
        raise refusal(f"The status is {procedure.status}.")
    last, walk = given.last, given.walk
    if last is None or walk is None or last.outcome not in CONTINUABLE:
        detail = f"The last conduct ended {last.outcome}." if last else "There was no conduct."
        raise refusal(detail)
    is_steered = last.root_kind is ConductKind.UNTIL_ADVISED
    if is_steered is not (kind is ConductKind.UNTIL_ADVISED_FROM):
        way = "conduct_until_advised_from" if is_steered else "conduct_from_procedure"
        raise refusal(f"The last conduct is continued with {way}.")
    redo, skip = frozenset(command.redo_step_indexes), frozenset(command.skip_step_indexes)
    left = boundary(walk, step_history(walk, Phase.STEPS))
    left = len(walk.steps) if left is None else left
    _require_way(command, redo, skip, begin=begin, left=left, count=len(walk.steps))
    loop = loop_of(last)
    if loop and most is not None:
        loop = replace(loop, max_iterations=most)
    if not command.abandon:
        # What is abandoned walks closing steps only, each of which is judged when its turn comes.
        require_startable(given.start)
        _require_executable(given, loop, is_inline=procedure.recipe_id is None)
    requested = ProcedureConductRequested(
        occurred_at=call.now,
        procedure_id=procedure.id,
        conduct_id=call.new_id,
        conduct_kind=kind,
        root_kind=last.root_kind,
        continues_conduct_id=last.conduct_id,
        steps=None,
        closing_steps=None,
        from_step_index=left if begin is None else begin,
        redo_step_indexes=tuple(sorted(redo)),
        skip_step_indexes=tuple(sorted(skip)),
        abandon=command.abandon,
        loop=to_builtins(loop),
        acknowledged_cautions=tuple(map(acknowledgement, given.start.work.cautions)),
        decided_by_decision_id=command.decided_by_decision_id,
        moved_asset_ids=_moved(procedure, given),
        advisories=other_runs(given.start),
    )
    resumed = ProcedureResumed(call.now, procedure.id, command.decided_by_decision_id)
    return [resumed, *_accepted(procedure, requested, given, call)]


def _moved(procedure: Procedure, given: ConductGround) -> tuple[UUID, ...]:
    """Return the assets that the steps move and that the procedure is not about."""
    ids = (asset.id for asset in given.start.work.assets)
    return tuple(id for id in ids if id not in procedure.target_asset_ids)


def _accepted(
    procedure: Procedure, requested: ProcedureConductRequested, given: ConductGround, call: Call
) -> Conducted:
    """Return the request with its rows: the conduct, its work and its channels."""
    if given.busy:
        busy = ", ".join(f"{each.address} (conduct {each.conduct_id})" for each in given.busy)
        raise ProcedureChannelBusyError(f"{busy}.")
    id, count = requested.conduct_id, procedure.iteration_count
    row = Conduct.of(
        requested,
        requested_by=call.principal_id,
        requested_at=call.now,
        from_step_index=requested.from_step_index or 0,
        actuation_kind=given.last and given.last.actuation_kind,
        first_iteration_index=(procedure.current_iteration_index or count + 1)
        if requested.loop
        else None,
    )
    taken = ProcedureChannelBusyError
    return [
        requested,
        *steps_of(requested),
        CONDUCTS.insert(row),
        WORK.insert(Work(id, kind="conduct", subject_id=procedure.id)),
        *(CHANNELS.insert(ConductChannel(address, id), taken) for address in given.channels),
        AcceptedConduct(id, procedure.id),
    ]


def _require_steps(command: FirstConductCommand, steps: PinnedSteps, *, is_inline: bool) -> None:
    """Raise when steps are given with a recipe, or are missing without, or break a rule."""
    if not is_inline:
        if command.steps is not None or command.closing_steps is not None:
            raise InvalidConductStepsError("The steps are those of the recipe; give none.")
        return
    if command.steps is None:
        raise InvalidConductStepsError("The procedure follows no recipe; give the steps.")
    if fault := next(faults(steps.steps, steps.closing_steps, None), None):
        is_binding = fault.refusal is RecipeRequiresCapabilityParametersSchemaError
        why = "only a recipe can use $binding" if is_binding else fault.why
        raise InvalidConductStepsError(f"{fault.place}: {why}.")


def _require_goal(steps: PinnedSteps, loop: Convergence | Steering | None) -> None:
    """Raise when no step captures the value that decides about the passes."""
    refusal = InvalidConductCaptureError
    match loop:
        case None:
            return
        case Convergence():
            name = loop.capture_name
            if reference(loop.criterion.expected):
                raise refusal("The criterion must have a value, not a reference.")
        case Steering(objective=objective):
            name = objective.capture_name
            if (objective.kind is ObjectiveKind.SATISFY) is (objective.target_value is None):
                raise refusal("Give a target_value for Satisfy, and only for Satisfy.")
    if name not in {getattr(step, "capture_name", None) for step in steps.steps}:
        raise refusal(f"No step captures {name!r}.")


def _require_space(steps: PinnedSteps, loop: Convergence | Steering | None) -> None:
    """Raise when the axes are not exactly those that the steps use."""
    names = (
        found.name
        for step in steps.steps
        for _, found in references(step)
        if isinstance(found, SteeringRef)
    )
    used, space = {*names}, loop.space if isinstance(loop, Steering) else None
    axes = {axis.name for axis in space.axes} if space else set[str]()
    if space and (fault := space_fault(space)):
        raise InvalidConductSpaceError(fault)
    if lacking := used - axes:
        raise InvalidConductSpaceError(f"The space has no axis for: {', '.join(sorted(lacking))}.")
    if unused := axes - used:
        raise InvalidConductSpaceError(f"No step uses the axis: {', '.join(sorted(unused))}.")


def _require_way(
    command: ContinuingCommand,
    redo: frozenset[int],
    skip: frozenset[int],
    *,
    begin: int | None,
    left: int,
    count: int,
) -> None:
    """Raise when the steps that the caller names cannot be gone on with."""
    refusal = InvalidConductFromError
    if command.abandon and (begin is not None or redo or skip):
        raise refusal("A procedure that is abandoned executes no step; name none.")
    if begin is not None and begin > left:
        raise refusal(f"Step {left} is not finished; from_step_index must be {left} or less.")
    if both := redo & skip:
        raise refusal(f"Step {min(both)} cannot be both executed again and left out.")
    if beyond := [index for index in redo | skip if index >= count]:
        raise refusal(f"There is no step {min(beyond)}; the steps are 0 to {count - 1}.")


def _require_executable(
    given: ConductGround, loop: Convergence | Steering | None, *, is_inline: bool
) -> None:
    """Raise with every reason why the deployment cannot execute the steps."""
    steps = given.steps
    found = [
        f"{name}[{number}]: {why}"
        for name, several in (("steps", steps.steps), ("closing_steps", steps.closing_steps))
        for number, step in enumerate(several)
        for why in _findings(step, given.here, is_inline=is_inline)
    ]
    if isinstance(loop, Steering) and loop.advisor.name not in given.here.advisors:
        found.append(f"advisor: No advisor {loop.advisor.name!r} is registered.")
    if found:
        raise ConductNotExecutableError(" ".join(found), findings=found)


def _findings(step: RecipeStep, here: Facts, *, is_inline: bool) -> Iterator[str]:
    match step:
        case RecipeActionStep(name=name):
            entry = next((each for each in here.actions if each.name == name), None)
            kind = "action"
        case RecipeComputeStep(job=name):
            entry = next((each for each in here.jobs if each.name == name), None)
            kind = "job"
        case _:
            yield from (each.message for each in step_findings(here.routes, step, inline=is_inline))
            return
    if entry is None:
        yield f"No {kind} {name!r} is registered."
    elif is_inline and not entry.inline:
        yield f"The {kind} {name!r} is open to steps of recipes only."
    for address in _writes(step, here):
        for finding in write_findings(here.routes, address, inline=is_inline):
            yield finding.message


# fmt: off
FIRST_CHECKS = (DecisionNotFoundError, AssetNotFoundError, ProcedureConductActiveError)
STEP_CHECKS = (InvalidConductStepsError, InvalidConductSpaceError)
LAST_CHECKS = (*START_GATES, ConductNotExecutableError, ProcedureChannelBusyError)
OPERATIONS = (
    procedures.changes("POST /procedures/{procedure_id}/conducts/start", ConductProcedure,
        conduct_procedure, *FIRST_CHECKS, ProcedureCannotConductError, *STEP_CHECKS, *LAST_CHECKS,
        given=first_ground, answered_with=procedure_start_answers),
    procedures.changes("POST /procedures/{procedure_id}/conducts/start-holdable",
        ConductOrHoldProcedure, conduct_or_hold_procedure, *FIRST_CHECKS,
        ProcedureCannotConductOrHoldError, *STEP_CHECKS, *LAST_CHECKS, given=first_ground,
        answered_with=procedure_start_answers,
        title="Conduct a procedure, and hold on a failure"),
    procedures.changes("POST /procedures/{procedure_id}/conducts/continue", ConductFromProcedure,
        conduct_from_procedure, *FIRST_CHECKS, ProcedureCannotConductFromError,
        InvalidConductFromError, *LAST_CHECKS, given=continued_ground,
        answered_with=procedure_start_answers, title="Continue a procedure from a step"),
    procedures.changes("POST /procedures/{procedure_id}/conducts/converge",
        ConductProcedureUntilConverged, conduct_until_converged, *FIRST_CHECKS,
        ProcedureCannotConductUntilConvergedError, *STEP_CHECKS, InvalidConductCaptureError,
        *LAST_CHECKS, given=first_ground, answered_with=procedure_start_answers,
        title="Conduct a procedure until it converges"),
    procedures.changes("POST /procedures/{procedure_id}/conducts/steer",
        ConductProcedureUntilAdvised, conduct_until_advised, *FIRST_CHECKS,
        ProcedureCannotConductUntilAdvisedError, *STEP_CHECKS, InvalidConductCaptureError,
        *LAST_CHECKS, given=first_ground, answered_with=procedure_start_answers,
        title="Conduct a procedure until its advisor stops"),
    procedures.changes("POST /procedures/{procedure_id}/conducts/continue-steering",
        ConductProcedureUntilAdvisedFrom, conduct_until_advised_from, *FIRST_CHECKS,
        ProcedureCannotConductUntilAdvisedFromError, InvalidConductFromError, *LAST_CHECKS,
        given=continued_ground, answered_with=procedure_start_answers,
        title="Continue a procedure until its advisor stops"),
)
# fmt: on
