"""Making safe: the closing steps that make safe are walked after any end of a procedure."""

from uuid import UUID

from beamkeep.contexts.decision.decision import DecisionNotFoundError
from beamkeep.contexts.recipe.steps import makes_safe
from beamkeep.contexts.seams.installation import Reader
from beamkeep.kernel import WORK, Call, Cannot, Record, SideWrite, Work

from .conduct import CONDUCTS, Conduct
from .conducted import ActuationKind, ConductKind
from .procedure import (
    PROCEDURE_STEPS,
    PinnedSteps,
    Procedure,
    ProcedureCommand,
    ProcedureConductActiveError,
    ProcedureConductRequested,
    ProcedureStatus,
    procedures,
    require_decision,
    require_idle,
)
from .reports import AcceptedConduct


class ProcedureCannotMakeSafeError(Cannot):
    """Only a procedure that was started and has closing steps that make safe can be made safe."""


class MakeProcedureSafe(ProcedureCommand):
    decided_by_decision_id: UUID | None = None
    """The recorded decision that led to this command."""


class StepsAndTouch(Record):
    """The steps of a procedure, if they are pinned, and what its last conduct touched."""

    pinned: PinnedSteps | None
    actuation_kind: ActuationKind | None


async def steps_and_touch(
    procedure: Procedure, command: MakeProcedureSafe, read: Reader
) -> StepsAndTouch:
    await require_decision(command.decided_by_decision_id, read)
    steps, last = await read.rows(PROCEDURE_STEPS, procedure_id=procedure.id), None
    if procedure.last_conduct:
        (last,) = await read.rows(CONDUCTS, conduct_id=procedure.last_conduct.conduct_id)
    return StepsAndTouch(steps[0] if steps else None, last and last.actuation_kind)


def make_procedure_safe(
    procedure: Procedure, command: MakeProcedureSafe, given: StepsAndTouch, call: Call
) -> list[ProcedureConductRequested | SideWrite | AcceptedConduct]:
    """Walk the closing steps that make safe, in any status after the start and without a gate."""
    require_idle(procedure)
    if procedure.status is ProcedureStatus.DEFINED:
        raise ProcedureCannotMakeSafeError("The status is Defined, so that nothing was moved yet.")
    if not (given.pinned and any(map(makes_safe, given.pinned.closing_steps))):
        raise ProcedureCannotMakeSafeError(
            "No closing step of this procedure is marked makes_safe. Make the equipment safe by"
            " hand, and mark the steps that do so in the recipe for the next procedure."
        )
    requested = ProcedureConductRequested(
        occurred_at=call.now,
        procedure_id=procedure.id,
        conduct_id=call.new_id,
        conduct_kind=ConductKind.MAKE_SAFE,
        root_kind=ConductKind.MAKE_SAFE,
        continues_conduct_id=None,
        steps=None,
        closing_steps=None,
        from_step_index=None,
        redo_step_indexes=(),
        skip_step_indexes=(),
        abandon=False,
        loop=None,
        acknowledged_cautions=(),
        decided_by_decision_id=command.decided_by_decision_id,
    )
    id = requested.conduct_id
    row = Conduct.of(
        requested,
        requested_by=call.principal_id,
        requested_at=call.now,
        from_step_index=0,
        actuation_kind=given.actuation_kind,
    )
    # No address is claimed: a conduct that has one must not keep a shutter open.
    return [
        requested,
        CONDUCTS.insert(row),
        WORK.insert(Work(id, kind="conduct", subject_id=procedure.id)),
        AcceptedConduct(id, procedure.id),
    ]


# fmt: off
OPERATIONS = (
    procedures.changes("POST /procedures/{procedure_id}/conducts/make-safe", MakeProcedureSafe,
        make_procedure_safe, DecisionNotFoundError, ProcedureConductActiveError,
        ProcedureCannotMakeSafeError, given=steps_and_touch),
)
# fmt: on
