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
from beamkeep.contexts.run.run import Run, runs
from beamkeep.kernel import Call, Cannot, Reader, Record, Reply

from . import gates
from .acknowledging import ShownCaution, acknowledgement, shown_again
from .gates import Preconditions, require_passed


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


async def procedure_preconditions(
    procedure: Procedure, moved_asset_ids: Collection[UUID], read: Reader
) -> ProcedurePreconditions:
    """Return the current preconditions of work on the target assets and the assets it moves."""
    run = await read.one(runs, procedure.parent_run_id) if procedure.parent_run_id else None
    kinds: Iterable[str] = ()
    if run:
        kinds = (await read.one(methods, run.method_id)).needed_supplies
    scope = {*procedure.target_asset_ids, *moved_asset_ids}
    work = await gates.preconditions(scope, kinds, read, procedure_id=procedure.id)
    capability_id = procedure.capability_id
    capability = await read.one(capabilities, capability_id) if capability_id else None
    return ProcedurePreconditions(work, capability, run)


async def hand_start(
    procedure: Procedure, command: StartProcedure, read: Reader
) -> ProcedurePreconditions:
    return await procedure_preconditions(procedure, (), read)


def require_startable(given: ProcedurePreconditions, *, is_abandoned: bool = False) -> None:
    """Raise the refusal of the first start gate that is not passed.

    A procedure that is abandoned only needs what its closing steps move: assets and enclosures.
    """
    work = given.work
    assets = gates.asset_gate(work.ancestry.values(), ProcedureAssetDecommissionedError)
    require_passed({"assets": assets})
    if not is_abandoned:
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


class StartedProcedure(Reply):
    status: ProcedureStatus = ProcedureStatus.RUNNING


def start_procedure(
    procedure: Procedure, command: StartProcedure, given: ProcedurePreconditions, call: Call
) -> list[ProcedureStarted | StartedProcedure]:
    """Start a procedure by hand, if every start gate passes."""
    cautions = tuple(map(acknowledgement, given.work.cautions))
    started = STATUS.allow(procedure.status, ProcedureStarted(call.now, procedure.id, cautions))
    require_startable(given)
    return [started, StartedProcedure()]


class ProcedureStartAnswer(Record):
    acknowledged_cautions: tuple[ShownCaution, ...]


async def procedure_start_answers(
    ids: Sequence[UUID], read: Reader
) -> Mapping[UUID, ProcedureStartAnswer]:
    """Return the cautions that were shown at the last start of each procedure."""
    return {
        id: ProcedureStartAnswer(await shown_again(procedure.acknowledged_cautions, read))
        for id, procedure in (await read.many(procedures, ids)).items()
    }


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
