"""Stopping: a procedure is held or aborted, and a conduct is cancelled."""

from uuid import UUID

from beamkeep.contexts.decision.decision import DecisionNotFoundError
from beamkeep.contexts.seams.installation import Reader
from beamkeep.contexts.seams.work import WORK_STATES, WORK_STOPS, WorkStop
from beamkeep.kernel import (
    Accepted,
    Call,
    Cannot,
    Fenced,
    NotFound,
    Record,
    SideWrite,
    replace,
)

from .advancing import End
from .conduct import (
    CONDUCTS,
    ConductAdvanced,
    ConductInHand,
    conduct_ended,
    conduct_in_hand,
    end_conduct,
    flags_of,
    pass_ended_with,
    walk_of,
)
from .conducted import ConductOutcome, Phase
from .ending import ended, stopped
from .history import WalkSoFar
from .procedure import (
    STATUS,
    Procedure,
    ProcedureAborted,
    ProcedureCannotAbortError,
    ProcedureCannotHoldError,
    ProcedureCommandWithReason,
    ProcedureConductActiveError,
    ProcedureConductCancelRequested,
    ProcedureConductEnded,
    ProcedureHeld,
    ProcedureIterationEnded,
    evolve,
    procedures,
    require_decision,
    require_idle,
)

type ConductStopped = ProcedureIterationEnded | ProcedureConductEnded | SideWrite | Fenced
"""The end of a conduct that adds no status, because the procedure has one already."""


class ConductNotFoundError(NotFound): ...


class ProcedureCannotCancelConductError(Cannot):
    """Only a conduct that has not ended can be cancelled, and only once while a worker has it."""


class HoldProcedure(ProcedureCommandWithReason):
    decided_by_decision_id: UUID | None = None
    """The recorded decision that led to this command."""


class AbortProcedure(ProcedureCommandWithReason): ...


class CancelProcedureConduct(ProcedureCommandWithReason):
    conduct_id: UUID


class StoppableConduct(Record):
    """The active conduct, and how far it is if no worker has it."""

    in_hand: ConductInHand
    claim: int = 0
    walk: WalkSoFar | None = None
    """None while a worker holds the conduct: it ends the conduct itself."""


async def stoppable(procedure: Procedure, read: Reader) -> StoppableConduct | None:
    """Return the active conduct, if there is one."""
    if procedure.active_conduct is None:
        return None
    found = await read.rows(WORK_STATES, work_id=procedure.active_conduct.conduct_id)
    free = [work for work in found if not work.is_held]
    in_hand = await conduct_in_hand(procedure, read, ends=bool(free))
    if not free:
        return StoppableConduct(in_hand)
    walk = await walk_of(procedure, in_hand.conduct, read)
    return StoppableConduct(in_hand, free[0].claim, walk)


async def to_hold(
    procedure: Procedure, command: HoldProcedure, read: Reader
) -> StoppableConduct | None:
    await require_decision(command.decided_by_decision_id, read)
    return await stoppable(procedure, read)


async def to_abort(
    procedure: Procedure, command: AbortProcedure, read: Reader
) -> StoppableConduct | None:
    return await stoppable(procedure, read)


async def to_cancel(
    procedure: Procedure, command: CancelProcedureConduct, read: Reader
) -> StoppableConduct | None:
    """Return the conduct if it is active. Raise when the procedure has no such conduct."""
    where = {"conduct_id": command.conduct_id, "procedure_id": procedure.id}
    if not await read.rows(CONDUCTS, **where):
        raise ConductNotFoundError(f"There is no conduct {command.conduct_id}.")
    found = await stoppable(procedure, read)
    return found if found and found.in_hand.conduct.conduct_id == command.conduct_id else None


def hold_procedure(
    procedure: Procedure, command: HoldProcedure, given: StoppableConduct | None, call: Call
) -> list[ProcedureHeld | ConductStopped]:
    """Hold a procedure until someone resumes it; the step under way finishes."""
    decision_id = command.decided_by_decision_id
    held = ProcedureHeld(
        call.now, procedure.id, reason=command.reason, decided_by_decision_id=decision_id
    )
    STATUS.allow(procedure.status, held)
    return [held, *_stopped(evolve(procedure, held), given, "hold", call)]


def abort_procedure(
    procedure: Procedure, command: AbortProcedure, given: StoppableConduct | None, call: Call
) -> list[ProcedureAborted | ConductStopped]:
    """Abort a procedure because something is wrong; no closing step is walked."""
    aborted = ProcedureAborted(call.now, procedure.id, command.reason)
    STATUS.allow(procedure.status, aborted)
    return [aborted, *_stopped(evolve(procedure, aborted), given, "abort", call)]


def cancel_conduct(
    procedure: Procedure,
    command: CancelProcedureConduct,
    given: StoppableConduct | None,
    call: Call,
) -> list[ProcedureConductCancelRequested | ConductAdvanced | SideWrite | Fenced | Accepted]:
    """Cancel a conduct: the step under way is interrupted, and the procedure is held."""
    if given is None:
        raise ProcedureCannotCancelConductError("The conduct has ended.")
    if given.in_hand.conduct.cancel_requested:
        if given.walk is None:
            raise ProcedureCannotCancelConductError("A worker is already cancelling the conduct.")
        return [*_ended(procedure, given, given.walk, call), Accepted()]
    requested = ProcedureConductCancelRequested(
        call.now, procedure.id, conduct_id=command.conduct_id, reason=command.reason
    )
    asked = replace(given.in_hand.conduct, cancel_requested=True)
    given = replace(given, in_hand=replace(given.in_hand, conduct=asked))
    procedure = evolve(procedure, requested)
    if given.walk is not None:
        return [requested, *_ended(procedure, given, given.walk, call), Accepted()]
    stop = WORK_STOPS.replace(WorkStop(command.conduct_id, "cancel"))
    return [requested, CONDUCTS.replace(asked), stop, Accepted()]


def _stopped(
    procedure: Procedure, given: StoppableConduct | None, stop: str, call: Call
) -> list[ConductStopped]:
    """Return how the active conduct, if there is one, learns that the procedure stops."""
    if given is None:
        return []
    if procedure.active_conduct and procedure.active_conduct.phase is Phase.CLOSING:
        require_idle(procedure)
    if given.walk is None:
        # Of what was asked for, the strongest stays.
        is_weaker = stop == "hold" and given.in_hand.conduct.cancel_requested
        asked = WorkStop(given.in_hand.conduct.conduct_id, stop)
        return [] if is_weaker else [WORK_STOPS.replace(asked)]
    # The procedure has its status already, so the end of the conduct adds none.
    end, in_hand, claim = _end(procedure, given.walk), given.in_hand, given.claim
    return [
        *pass_ended_with(procedure, end, in_hand, call.now),
        *conduct_ended(procedure, end, in_hand, claim, call.now),
        _fence(given),
    ]


def _ended(
    procedure: Procedure, given: StoppableConduct, walk: WalkSoFar, call: Call
) -> list[ConductAdvanced | SideWrite | Fenced]:
    """Return the end of a conduct that no worker has, unless one claims it meanwhile."""
    end = _end(procedure, walk)
    return [*end_conduct(procedure, end, given.in_hand, given.claim, call.now), _fence(given)]


def _end(procedure: Procedure, walk: WalkSoFar) -> End:
    walk = replace(walk, flags=flags_of(procedure))
    outcome = walk.walk_outcome
    asked = None if outcome else stopped(walk)
    return asked or ended(walk, outcome or ConductOutcome.CANCELLED, walk.walk_failure)


def _fence(given: StoppableConduct) -> Fenced:
    return Fenced(given.in_hand.conduct.conduct_id, given.claim, None, ends=True)


# fmt: off
OPERATIONS = (
    procedures.changes("POST /procedures/{procedure_id}/hold", HoldProcedure, hold_procedure,
        DecisionNotFoundError, ProcedureCannotHoldError, ProcedureConductActiveError,
        given=to_hold),
    procedures.changes("POST /procedures/{procedure_id}/abort", AbortProcedure, abort_procedure,
        ProcedureCannotAbortError, ProcedureConductActiveError, given=to_abort,
        destructive=True),
    procedures.changes("POST /procedures/{procedure_id}/conducts/{conduct_id}/cancel",
        CancelProcedureConduct, cancel_conduct, ConductNotFoundError,
        ProcedureCannotCancelConductError, given=to_cancel),
)
# fmt: on
