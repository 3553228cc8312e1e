"""Starting a procedure: the command, its gates and its answer."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from uuid import UUID

from beamkeep.contexts.operation.procedure import (
    STATUS,
    Procedure,
    ProcedureBoundCapabilityDeprecatedError,
    ProcedureCannotStartError,
    ProcedureCapabilityExecutorMismatchError,
    ProcedureCommand,
    ProcedureParentRunNotRunningError,
    ProcedureStarted,
    ProcedureStatus,
    procedures,
    require_parent_running,
    require_procedure_shape,
)
from beamkeep.contexts.recipe.capability import Capability, capabilities
from beamkeep.contexts.recipe.method import methods
from beamkeep.contexts.run.run import Run, StartAdvisory, runs
from beamkeep.contexts.seams.installation import Reader
from beamkeep.kernel import Call, Cannot, Record, Reply

from . import gates
from .acknowledging import ShownCaution, acknowledgement, shown_again
from .advising import advised
from .gates import Preconditions, StartFact, require_passed
from .others import live_runs_on


class ProcedureAssetDecommissionedError(Cannot):
    """An asset that the procedure works on, or one above it, is Decommissioned."""


class ProcedureRequiresAvailableSupplyError(Cannot):
    """A supply that the method of the parent run needs is not available."""


class ProcedureRequiresPermittedEnclosureError(Cannot):
    """None of the enclosures that the assets stand in is Permitted and Active."""


class ProcedureEnclosureCoverageMismatchError(Cannot):
    """Not all of the enclosures that the assets stand in are Permitted and Active."""


class StartProcedure(ProcedureCommand): ...


class ProcedurePreconditions(Record):
    """Everything that the start of a procedure depends on, as it was read."""

    work: Preconditions
    capability: Capability | None
    parent_run: Run | None
    live_runs: Sequence[Run] = ()
    """The open runs, other than the parent, that use an asset of the work."""


async def procedure_preconditions(
    procedure: Procedure,
    moved_asset_ids: Collection[UUID],
    read: Reader,
    *,
    is_start: bool = True,
) -> ProcedurePreconditions:
    """Return the current preconditions of work on the target assets and the assets it moves.

    Cautions and other runs are shown at a start only.
    """
    parent = await read.one(runs, procedure.parent_run_id) if procedure.parent_run_id else None
    kinds: Iterable[str] = ()
    if parent:
        kinds = (await read.one(methods, parent.method_id)).needed_supplies
    scope = {*procedure.target_asset_ids, *moved_asset_ids}
    work = await gates.preconditions(
        scope, kinds, read, procedure_id=procedure.id, shows_cautions=is_start
    )
    capability_id = procedure.capability_id
    capability = await read.one(capabilities, capability_id) if capability_id else None
    others = await live_runs_on(scope, read) if is_start else ()
    live_runs = [each for each in others if each.id != procedure.parent_run_id]
    return ProcedurePreconditions(
        work, capability=capability, parent_run=parent, live_runs=live_runs
    )


async def hand_start(
    procedure: Procedure, command: StartProcedure, read: Reader
) -> ProcedurePreconditions:
    return await procedure_preconditions(procedure, (), read)


def require_startable(given: ProcedurePreconditions, *, is_closing: bool = False) -> None:
    """Raise the refusal of the first start gate that is not passed.

    Closing steps only need what they move: assets and enclosures.
    """
    work = given.work
    assets = gates.asset_gate(work.ancestry.values(), ProcedureAssetDecommissionedError)
    require_passed({"assets": assets})
    if not is_closing:
        if given.capability:
            require_procedure_shape(given.capability)
        require_parent_running(given.parent_run)
        supply = gates.supply_gate(work.supplies, ProcedureRequiresAvailableSupplyError)
        require_passed({"supply": supply})
    enclosure = gates.enclosure_gate(
        work.enclosures,
        none_permitted=ProcedureRequiresPermittedEnclosureError,
        some_not_permitted=ProcedureEnclosureCoverageMismatchError,
    )
    require_passed({"enclosure": enclosure})


def procedure_started(
    procedure: Procedure, given: ProcedurePreconditions, call: Call
) -> ProcedureStarted:
    """Return the start of a procedure, with what is shown to the caller."""
    cautions = tuple(map(acknowledgement, given.work.cautions))
    return ProcedureStarted(
        call.now, procedure.id, acknowledged_cautions=cautions, advisories=other_runs(given)
    )


def other_runs(given: ProcedurePreconditions) -> tuple[StartAdvisory, ...]:
    """Return the open runs that use an asset of the work, without their names."""
    return tuple(StartAdvisory("Run", each.id, each.status) for each in given.live_runs)


class StartedProcedure(Reply):
    status: ProcedureStatus = ProcedureStatus.RUNNING


def start_procedure(
    procedure: Procedure, command: StartProcedure, given: ProcedurePreconditions, call: Call
) -> list[ProcedureStarted | StartedProcedure]:
    """Start a procedure by hand, if every start gate passes."""
    started = STATUS.allow(procedure.status, procedure_started(procedure, given, call))
    require_startable(given)
    return [started, StartedProcedure()]


class ProcedureStartAnswer(Record):
    acknowledged_cautions: tuple[ShownCaution, ...]
    advisories: tuple[StartFact, ...]
    """The open runs that use an asset of the work."""


async def procedure_start_answers(
    ids: Sequence[UUID], read: Reader
) -> Mapping[UUID, ProcedureStartAnswer]:
    """Return what was shown at the last start of each procedure."""
    answers: dict[UUID, ProcedureStartAnswer] = {}
    for id, started in (await read.many(procedures, ids)).items():
        shown = await shown_again(started.acknowledged_cautions, read)
        facts = await advised(started.advisories, started.works_on, read)
        answers[id] = ProcedureStartAnswer(shown, facts)
    return answers


START_GATES = (
    ProcedureAssetDecommissionedError,
    ProcedureBoundCapabilityDeprecatedError,
    ProcedureCapabilityExecutorMismatchError,
    ProcedureParentRunNotRunningError,
    ProcedureRequiresAvailableSupplyError,
    ProcedureRequiresPermittedEnclosureError,
    ProcedureEnclosureCoverageMismatchError,
)

# fmt: off
OPERATIONS = (
    procedures.changes("POST /procedures/{procedure_id}/start", StartProcedure, start_procedure,
        ProcedureCannotStartError, *START_GATES, given=hand_start,
        answered_with=procedure_start_answers),
)
# fmt: on
