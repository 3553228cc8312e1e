"""Conducts: their rows next to the stream of a procedure, and what the conductor appends to it."""

from collections.abc import Iterable
from datetime import datetime
from operator import attrgetter
from typing import cast
from uuid import UUID

import msgspec

from beamkeep.contexts.seams.installation import Reader
from beamkeep.kernel import (
    INTERNAL,
    Call,
    Cannot,
    Fenced,
    Record,
    SideWrite,
    Table,
    replace,
)
from beamkeep.schemas import Json, JsonObject

from .activity import ACTIVITIES
from .advancing import BeginPass, End, EndPass, StatusEvent, Walked
from .conducted import (
    Activity,
    ActuationKind,
    ConductKind,
    ConductOutcome,
    Failure,
    Phase,
    Stage,
    joined,
)
from .history import Flags, Pass, RequestedConduct, WalkSoFar
from .loop import Convergence, Steering
from .procedure import (
    ITERATIONS,
    PROCEDURE_STEPS,
    ActiveConduct,
    Procedure,
    ProcedureAborted,
    ProcedureCommand,
    ProcedureCompleted,
    ProcedureConductEnded,
    ProcedureConductWalked,
    ProcedureHeld,
    ProcedureIteration,
    ProcedureIterationEnded,
    ProcedureIterationStarted,
    ProcedureStatus,
    iteration_ended,
    iteration_started,
    procedures,
)


class Conduct(Record):
    """One conduct of a procedure, from its request to its end."""

    conduct_id: UUID
    procedure_id: UUID
    conduct_kind: ConductKind
    root_kind: ConductKind
    continues_conduct_id: UUID | None
    requested_by: UUID
    requested_at: datetime
    from_step_index: int = 0
    redo_step_indexes: tuple[int, ...] = ()
    loop: JsonObject | None = None
    first_iteration_index: int | None = None
    """The pass that a loop begins or continues."""
    cancel_requested: bool = False
    outcome: ConductOutcome | None = None
    succeeded: bool | None = None
    completed_count: int = 0
    failure: Failure | None = None
    closing_failures: tuple[Failure, ...] = ()
    actuation_kind: ActuationKind | None = None
    claim_count: int = 0
    undecided_step_indexes: tuple[int, ...] = ()
    ended_at: datetime | None = None


class ConductChannel(Record):
    """An address that only one active conduct writes."""

    address: str
    conduct_id: UUID


CONDUCTS = Table("conduct", Conduct, key=("conduct_id",))
CHANNELS = Table("conduct_channel", ConductChannel, key=("address",))


TOUCHING = frozenset({Stage.STARTED, Stage.WRITING, Stage.SUCCEEDED})
"""The stages of rows that say what a step touched."""


class ProcedureConductNotActiveError(Cannot):
    """This conduct is not the active conduct of the procedure."""


class ProcedureCannotAdvanceConductError(Cannot):
    """The procedure has changed; read it again, then decide how the conduct continues."""


class ConductInHand(Record):
    """The active conduct, and the rows that its end changes."""

    conduct: Conduct
    open_pass: ProcedureIteration | None = None
    channels: tuple[ConductChannel, ...] = ()
    actuation_kind: ActuationKind | None = None


async def conduct_in_hand(
    procedure: Procedure, read: Reader, *, ends: bool, ends_pass: bool = False
) -> ConductInHand:
    """Return the active conduct; what only an end needs is read if the conduct or a pass ends."""
    id, index = active_conduct(procedure).conduct_id, procedure.current_iteration_index
    (conduct,) = await read.rows(CONDUCTS, conduct_id=id)
    where = {"procedure_id": procedure.id, "iteration_index": index}
    rows = await read.rows(ITERATIONS, **where) if index is not None else ()
    found = ConductInHand(conduct, next(iter(rows), None))
    if ends or ends_pass:
        found = replace(found, actuation_kind=await _touched(procedure, conduct, read))
    if ends:
        found = replace(found, channels=await read.rows(CHANNELS, conduct_id=conduct.conduct_id))
    return found


async def _touched(procedure: Procedure, conduct: Conduct, read: Reader) -> ActuationKind | None:
    """Return what the procedure has touched; passes that ended are known by the conduct."""
    rows = await rows_so_far(procedure, read, in_passes=in_passes(conduct), stage=TOUCHING)
    return actuation_of(rows, conduct.actuation_kind)


def in_passes(conduct: Conduct) -> bool:
    """Return whether only the rows of the last pass and of the closing steps matter."""
    return conduct.loop is not None or conduct.conduct_kind is ConductKind.MAKE_SAFE


async def rows_so_far(
    procedure: Procedure, read: Reader, *, in_passes: bool, **where: object
) -> tuple[Activity, ...]:
    """Return the conductor's rows of the steps, in the last pass of a loop, and of the closing."""
    if not in_passes:
        both = frozenset({Phase.STEPS, Phase.CLOSING})
        rows = await read.rows(ACTIVITIES, procedure_id=procedure.id, phase=both, **where)
    else:
        where |= {"procedure_id": procedure.id}
        rows = await read.rows(ACTIVITIES, phase=Phase.CLOSING, **where)
        if last := procedure.iteration_count:
            steps = {"phase": Phase.STEPS, "iteration_index": last}
            rows = (*await read.rows(ACTIVITIES, **steps, **where), *rows)
    return tuple(sorted(rows, key=attrgetter("sequence")))


def actuation_of(
    activities: Iterable[Activity], before: ActuationKind | None = None
) -> ActuationKind | None:
    """Return what the steps of these rows have touched, with what was touched before."""
    kinds = {ActuationKind(str(kind)) for row in activities if (kind := _actuation(row))}
    return joined(kinds | ({before} if before else set()))


def _actuation(row: Activity) -> Json:
    return row.detail.get("actuation_kind")


def active_conduct(procedure: Procedure) -> ActiveConduct:
    """Return the active conduct. Raise ProcedureConductNotActiveError when there is none."""
    if procedure.active_conduct is None:
        raise ProcedureConductNotActiveError("No conduct is active.")
    return procedure.active_conduct


def flags_of(procedure: Procedure) -> Flags:
    """Return what somebody asked of the active conduct, as the stream says."""
    active, status = procedure.active_conduct, procedure.status
    return Flags(
        aborted=status is ProcedureStatus.ABORTED,
        cancel_requested=active is not None and active.cancel_requested,
        held=status is ProcedureStatus.HELD,
    )


async def walk_of(procedure: Procedure, conduct: Conduct, read: Reader) -> WalkSoFar:
    """Return a conduct with its steps and the rows of the last pass and of the closing steps."""
    (pinned,) = await read.rows(PROCEDURE_STEPS, procedure_id=procedure.id)
    passes, last = (), procedure.iteration_count
    if conduct.loop and last:
        passes = (Pass(last, ended=procedure.current_iteration_index is None),)
    redone = frozenset(conduct.redo_step_indexes)
    asked = RequestedConduct.of(conduct, redo_step_indexes=redone, loop=loop_of(conduct))
    return WalkSoFar(
        conduct=asked,
        steps=pinned.steps,
        closing_steps=pinned.closing_steps,
        flags=flags_of(procedure),
        walk_outcome=procedure.active_conduct and procedure.active_conduct.walk_outcome,
        walk_failure=conduct.failure,
        passes=passes,
        activities=await rows_so_far(procedure, read, in_passes=in_passes(conduct)),
    )


def loop_of(conduct: Conduct) -> Convergence | Steering | None:
    """Return the loop of a conduct; None if it walks its steps once."""
    return msgspec.convert(conduct.loop, Convergence | Steering | None)


type ConductAdvanced = (
    ProcedureIterationStarted
    | ProcedureIterationEnded
    | ProcedureConductWalked
    | ProcedureCompleted
    | ProcedureAborted
    | ProcedureHeld
    | ProcedureConductEnded
)


def end_conduct(
    procedure: Procedure, end: End, given: ConductInHand, claim: int, now: datetime
) -> list[ConductAdvanced | SideWrite]:
    """Return the last append of a conduct: an open pass, the status and the end, with rows."""
    parts = list[ConductAdvanced | SideWrite](pass_ended_with(procedure, end, given, now))
    keeps_status = given.conduct.conduct_kind is ConductKind.MAKE_SAFE
    if procedure.status is ProcedureStatus.RUNNING and not keeps_status:
        parts.append(_status_event(procedure, end, now))
    return [*parts, *conduct_ended(procedure, end, given, claim, now)]


def pass_ended_with(
    procedure: Procedure, end: End, given: ConductInHand, now: datetime
) -> list[ProcedureIterationEnded | SideWrite]:
    """Return the end of the pass that is open when a conduct ends."""
    if not (end.end_pass and given.open_pass):
        return []
    return iteration_ended(_pass_ended(procedure, end.end_pass, now), given.open_pass)


def conduct_ended(
    procedure: Procedure, end: End, given: ConductInHand, claim: int, now: datetime
) -> list[ProcedureConductEnded | SideWrite]:
    """Return the end of a conduct with its rows, without a status of the procedure."""
    ended = ProcedureConductEnded.of(
        end,
        occurred_at=now,
        procedure_id=procedure.id,
        conduct_id=given.conduct.conduct_id,
        actuation_kind=given.actuation_kind,
        claim_count=claim,
    )
    row = replace(
        given.conduct,
        outcome=ended.outcome,
        succeeded=ended.succeeded,
        completed_count=ended.completed_count,
        failure=ended.failure,
        closing_failures=ended.closing_failures,
        actuation_kind=ended.actuation_kind,
        claim_count=ended.claim_count,
        undecided_step_indexes=ended.undecided_step_indexes,
        ended_at=now,
    )
    freed = [CHANNELS.delete(channel.address) for channel in given.channels]
    return [ended, CONDUCTS.replace(row), *freed]


def _pass_ended(procedure: Procedure, end: EndPass, now: datetime) -> ProcedureIterationEnded:
    advice = msgspec.to_builtins(end.advice) if end.advice else None
    return ProcedureIterationEnded.of(
        end, occurred_at=now, procedure_id=procedure.id, advice=advice
    )


def _status_event(
    procedure: Procedure, end: End, now: datetime
) -> ProcedureCompleted | ProcedureAborted | ProcedureHeld:
    reason = end.reason or str(end.outcome)
    match end.status_event:
        case StatusEvent.COMPLETED:
            return ProcedureCompleted(now, procedure.id)
        case StatusEvent.ABORTED:
            return ProcedureAborted(now, procedure.id, reason)
        case _:
            return ProcedureHeld(now, procedure.id, reason=reason, decided_by_decision_id=None)


class AdvanceProcedureConduct(ProcedureCommand):
    conduct_id: UUID
    claim: int
    owner: UUID
    """The worker process that holds the claim."""
    advance: BeginPass | EndPass | Walked | End


async def advanced(
    procedure: Procedure, command: AdvanceProcedureConduct, read: Reader
) -> ConductInHand:
    ends, ends_pass = (isinstance(command.advance, each) for each in (End, EndPass))
    return await conduct_in_hand(procedure, read, ends=ends, ends_pass=ends_pass)


def advance_conduct(
    procedure: Procedure, command: AdvanceProcedureConduct, given: ConductInHand, call: Call
) -> list[ConductAdvanced | SideWrite | Fenced]:
    """Append what the conductor decided, while its claim on the conduct holds."""
    active, advance, now = active_conduct(procedure), command.advance, call.now
    if active.conduct_id != command.conduct_id:
        raise ProcedureConductNotActiveError(f"The conduct {active.conduct_id} is active.")
    _require_current(procedure, active, advance)
    ends = isinstance(advance, End)
    fence = Fenced(active.conduct_id, command.claim, command.owner, ends=ends)
    match advance:
        case BeginPass():
            coordinate = None if advance.coordinate is None else {**advance.coordinate}
            index = advance.iteration_index
            begun = ProcedureIterationStarted(now, procedure.id, index, coordinate=coordinate)
            return [*iteration_started(begun), fence]
        case EndPass():
            row = cast("ProcedureIteration", given.open_pass)
            touched = replace(given.conduct, actuation_kind=given.actuation_kind)
            ended = iteration_ended(_pass_ended(procedure, advance, now), row)
            return [*ended, CONDUCTS.replace(touched), fence]
        case Walked():
            walked = ProcedureConductWalked.of(
                advance, occurred_at=now, procedure_id=procedure.id, conduct_id=active.conduct_id
            )
            failed = replace(given.conduct, failure=advance.failure)
            return [walked, CONDUCTS.replace(failed), fence]
        case End():
            return [*end_conduct(procedure, advance, given, command.claim, now), fence]


def _require_current(
    procedure: Procedure, active: ActiveConduct, advance: BeginPass | EndPass | Walked | End
) -> None:
    """Raise when the advance does not follow from the procedure as it is now."""
    flags, open_index = flags_of(procedure), procedure.current_iteration_index
    is_walking = active.phase is Phase.STEPS and flags == Flags()
    match advance:
        case BeginPass():
            follows = is_walking and open_index is None
            follows = follows and advance.iteration_index == procedure.iteration_count + 1
        case EndPass():
            follows = is_walking and advance.iteration_index == open_index
        case Walked():
            follows = is_walking
        case End(outcome=outcome):
            if active.phase is Phase.CLOSING:
                follows = outcome is active.walk_outcome
            elif flags.aborted or flags.cancel_requested:
                follows = outcome is ConductOutcome.CANCELLED
            elif flags.held:
                follows = outcome is ConductOutcome.HELD
            else:
                follows = outcome is not ConductOutcome.CANCELLED
    if not follows:
        raise ProcedureCannotAdvanceConductError(f"The status is {procedure.status}.")


# fmt: off
OPERATIONS = (
    procedures.changes(INTERNAL, AdvanceProcedureConduct, advance_conduct,
        ProcedureConductNotActiveError, ProcedureCannotAdvanceConductError, given=advanced),
)
# fmt: on
