"""Visit: a planned session on a surface, from arrival to end, with control of the surface."""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import Annotated
from uuid import UUID

from annotated_types import MaxLen
from pydantic import Field

from beamkeep.contexts.seams.belonging import OBJECT_TEAMS, ObjectTeam
from beamkeep.contexts.seams.installation import Reader
from beamkeep.contexts.seams.outside import outside_references
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
    NotFound,
    Record,
    SideWrite,
    reads,
    replace,
)
from beamkeep.kernel.values import (
    FreeText,
    Reason,
    References,
    Timestamp,
    Trimmed,
)

from .policy import Policy, PolicyNotFoundError, policies
from .surface import SURFACE_CONTROL, SurfaceControl, SurfaceNotFoundError, surfaces
from .team import Team, TeamNotFoundError, current_members, teams


class VisitType(StrEnum):
    USER = "user"
    COMMISSIONING = "commissioning"
    MAINTENANCE = "maintenance"
    CALIBRATION = "calibration"
    STAFF = "staff"


class VisitStatus(StrEnum):
    PLANNED = "Planned"
    ARRIVED = "Arrived"
    IN_PROGRESS = "InProgress"
    ON_HOLD = "OnHold"
    COMPLETED = "Completed"
    CANCELLED = "Cancelled"
    ABORTED = "Aborted"
    VOIDED = "Voided"


# Events are stored for ever: add a field with a default; never rename or drop one.
class VisitEvent(Event):
    visit_id: UUID


class VisitRegistered(VisitEvent):
    policy_id: UUID | None
    parent_surface_id: UUID
    type: VisitType
    planned_start_at: datetime
    planned_end_at: datetime
    parent_id: UUID | None
    external_refs: dict[str, str]
    team_id: UUID | None = None


class VisitEventWithReason(VisitEvent):
    reason: FreeText


class VisitArrived(VisitEvent): ...


class VisitStarted(VisitEvent): ...


class VisitHeld(VisitEventWithReason): ...


class VisitResumed(VisitEvent): ...


class VisitCompleted(VisitEvent): ...


class VisitCancelled(VisitEventWithReason): ...


class VisitAborted(VisitEventWithReason): ...


class VisitVoided(VisitEventWithReason): ...


class VisitSurfaceControlTaken(VisitEvent):
    """Control taken."""

    surface_id: UUID


class VisitSurfaceControlReleased(VisitEvent):
    """Control released."""

    surface_id: UUID
    taken_by_visit_id: UUID | None


type VisitMoved = VisitArrived | VisitStarted | VisitResumed | VisitCompleted
type VisitMovedWithReason = VisitHeld | VisitCancelled | VisitAborted | VisitVoided
type VisitControl = VisitSurfaceControlTaken | VisitSurfaceControlReleased
type VisitChanged = VisitMoved | VisitMovedWithReason | VisitControl
type Released = VisitSurfaceControlReleased | SideWrite


class VisitNotFoundError(NotFound): ...


class InvalidVisitPeopleError(Invalid):
    """A visit names a team or a policy, and not both."""


class InvalidVisitPlannedPeriodError(Invalid):
    """Planned end of a visit must be after its planned start."""


class InvalidVisitExternalRefsError(Invalid):
    """Each outside reference must have a scheme, and a value without the scheme as prefix."""


class InvalidVisitReasonError(Blank): ...


class VisitCannotRegisterError(Cannot):
    """Policy and parent must be on the visit's surface; team and parent must not have ended."""


class VisitCannotRecordArrivalError(Cannot):
    """Only the arrival of a planned visit can be recorded."""


class VisitCannotStartError(Cannot):
    """Only a visit that has arrived can be started."""


class VisitCannotHoldError(Cannot):
    """Only a visit in progress can be held."""


class VisitCannotResumeError(Cannot):
    """Only a visit on hold can be resumed."""


class VisitCannotCompleteError(Cannot):
    """Only a visit that has started can be completed."""


class VisitCannotCancelError(Cannot):
    """Only a visit that has not started can be cancelled."""


class VisitCannotAbortError(Cannot):
    """Only a visit that has started can be aborted."""


class VisitCannotVoidError(Cannot):
    """Only a visit that has not ended can be voided."""


class VisitCannotTakeControlError(Cannot):
    """Only a visit that has arrived can take control, when no visit but its parent has control."""


class VisitCannotReleaseControlError(Cannot):
    """Only the visit that controls a surface can release control."""


S = VisitStatus
UNDER_WAY = frozenset({S.IN_PROGRESS, S.ON_HOLD})
PRESENT = UNDER_WAY | {S.ARRIVED}
AHEAD = frozenset({S.PLANNED, S.ARRIVED})

STATUS: Axis[VisitStatus, VisitMoved | VisitMovedWithReason] = Axis(
    "status",
    # event, allowed from, leads to, refused with
    (VisitArrived, {S.PLANNED}, S.ARRIVED, VisitCannotRecordArrivalError),
    (VisitStarted, {S.ARRIVED}, S.IN_PROGRESS, VisitCannotStartError),
    (VisitHeld, {S.IN_PROGRESS}, S.ON_HOLD, VisitCannotHoldError),
    (VisitResumed, {S.ON_HOLD}, S.IN_PROGRESS, VisitCannotResumeError),
    (VisitCompleted, UNDER_WAY, S.COMPLETED, VisitCannotCompleteError),
    (VisitCancelled, AHEAD, S.CANCELLED, VisitCannotCancelError),
    (VisitAborted, UNDER_WAY, S.ABORTED, VisitCannotAbortError),
    (VisitVoided, AHEAD | UNDER_WAY, S.VOIDED, VisitCannotVoidError),
)
CONTROLLING: Axis[bool, VisitControl] = Axis(
    "controlling",
    (VisitSurfaceControlTaken, {False}, True, VisitCannotTakeControlError),
    (VisitSurfaceControlReleased, {True}, False, VisitCannotReleaseControlError),
)


class Visit(Record):
    id: UUID
    policy_id: UUID | None
    parent_surface_id: UUID
    type: VisitType
    planned_start_at: datetime
    planned_end_at: datetime
    parent_id: UUID | None
    external_refs: Mapping[str, str]
    status: VisitStatus = VisitStatus.PLANNED
    controlling: bool = False
    last_status_reason: str | None = None
    team_id: UUID | None = None


def begin(event: VisitRegistered) -> Visit:
    return Visit.of(event, id=event.visit_id)


def evolve(visit: Visit, event: VisitChanged) -> Visit:
    match event:
        case VisitArrived() | VisitStarted() | VisitResumed() | VisitCompleted():
            return replace(visit, status=STATUS.after(event))
        case VisitHeld() | VisitCancelled() | VisitAborted() | VisitVoided():
            return replace(visit, status=STATUS.after(event), last_status_reason=event.reason)
        case VisitSurfaceControlTaken() | VisitSurfaceControlReleased():
            return replace(visit, controlling=CONTROLLING.after(event))


type VisitExternalRefs = Annotated[References, MaxLen(20)]


class RegisterVisit(Command):
    team_id: UUID | None = None
    """Team whose current members are the people of this visit, unless a policy is named."""
    policy_id: UUID | None = None
    """Policy whose principals are the people of this visit, unless a team is named."""
    parent_surface_id: UUID
    type: VisitType
    planned_start_at: Timestamp
    planned_end_at: Timestamp
    parent_id: UUID | None = None
    """Parent visit on the same surface, when this visit is part of another."""
    external_refs: VisitExternalRefs = Field(default_factory=dict)
    """References to the visit in other systems, by scheme, for example proposal."""


class VisitCommand(Command):
    visit_id: UUID


class VisitCommandWithReason(VisitCommand):
    reason: Annotated[Reason, Trimmed(InvalidVisitReasonError)]


class RecordVisitArrival(VisitCommand): ...


class StartVisit(VisitCommand): ...


class HoldVisit(VisitCommandWithReason): ...


class ResumeVisit(VisitCommand): ...


class CompleteVisit(VisitCommand): ...


class CancelVisit(VisitCommandWithReason): ...


class AbortVisit(VisitCommandWithReason): ...


class VoidVisit(VisitCommandWithReason): ...


class TakeVisitSurfaceControl(VisitCommand): ...


class ReleaseVisitSurfaceControl(VisitCommand): ...


class VisitReferences(Record):
    """The people of a visit, and another visit."""

    policy: Policy | None
    team: Team | None
    other: Visit | None
    """The parent of a new visit, or the visit that controls the surface now."""


async def visit_references(command: RegisterVisit, read: Reader) -> VisitReferences:
    team, policy = await _people(command, read)
    await read.one(surfaces, command.parent_surface_id)
    parent = await read.one(visits, command.parent_id) if command.parent_id else None
    return VisitReferences(policy, team, other=parent)


async def control_references(
    visit: Visit, command: TakeVisitSurfaceControl, read: Reader
) -> VisitReferences:
    team, policy = await _people(visit, read)
    rows = await read.rows(SURFACE_CONTROL, surface_id=visit.parent_surface_id)
    holder = await read.one(visits, rows[0].visit_id) if rows else None
    # A visit that has released the surface since its row was read holds nothing.
    other = holder if holder and holder.controlling else None
    return VisitReferences(policy, team, other=other)


async def _people(of: RegisterVisit | Visit, read: Reader) -> tuple[Team | None, Policy | None]:
    """Return the team and the policy that are named."""
    # Nobody brings a visit to a team that is absent for them.
    is_new = isinstance(of, RegisterVisit)
    team = await read.one(teams, of.team_id, to_show=is_new) if of.team_id else None
    return team, await read.one(policies, of.policy_id) if of.policy_id else None


def register_visit(
    command: RegisterVisit, given: VisitReferences, call: Call
) -> list[VisitRegistered | SideWrite]:
    """Register a planned visit of a team, or of a policy, on a surface."""
    if (given.team is None) == (given.policy is None):
        raise InvalidVisitPeopleError(f"This visit names {'both' if given.team else 'neither'}.")
    start, end = command.planned_start_at, command.planned_end_at
    if end <= start:
        raise InvalidVisitPlannedPeriodError(f"Start is {start}, end is {end}.")
    refs = outside_references(command.external_refs, InvalidVisitExternalRefsError)
    if given.team and given.team.closed:
        detail = f"Team '{given.team.title}' is closed; reopen the team first."
        raise VisitCannotRegisterError(detail, team_id=given.team.id)
    if given.policy and given.policy.surface_id != command.parent_surface_id:
        surface_id = given.policy.surface_id
        place = f"surface {surface_id}" if surface_id else "no surface"
        raise VisitCannotRegisterError(f"The policy is for {place}.")
    if given.other:
        _require_fitting(given.other, command)
    now, id, team_id = call.now, call.new_id, command.team_id
    registered = VisitRegistered.of(command, occurred_at=now, visit_id=id, external_refs=refs)
    if team_id is None:
        return [registered]
    row = ObjectTeam(id, visits.name, team_id=team_id, visit_id=id)
    return [registered, OBJECT_TEAMS.insert(row)]


def _require_fitting(parent: Visit, command: RegisterVisit) -> None:
    """Raise VisitCannotRegisterError unless the visit can be a part of this parent."""
    if parent.parent_surface_id != command.parent_surface_id:
        place = f"surface {parent.parent_surface_id}"
        raise VisitCannotRegisterError(f"The parent visit is on {place}.")
    if command.team_id and parent.team_id not in {None, command.team_id}:
        detail = f"The parent visit is of team {parent.team_id}; name that team or a policy."
        raise VisitCannotRegisterError(detail)
    if parent.status not in AHEAD | UNDER_WAY:
        raise VisitCannotRegisterError(f"The parent visit is {parent.status} and has ended.")


def record_visit_arrival(
    visit: Visit, command: RecordVisitArrival, call: Call
) -> list[VisitArrived]:
    """Record that the visitors have arrived."""
    return [STATUS.allow(visit.status, VisitArrived(call.now, visit.id))]


def start_visit(visit: Visit, command: StartVisit, call: Call) -> list[VisitStarted]:
    """Start a visit."""
    return [STATUS.allow(visit.status, VisitStarted(call.now, visit.id))]


def hold_visit(visit: Visit, command: HoldVisit, call: Call) -> list[VisitHeld]:
    """Hold a visit until it is resumed."""
    return [STATUS.allow(visit.status, VisitHeld(call.now, visit.id, command.reason))]


def resume_visit(visit: Visit, command: ResumeVisit, call: Call) -> list[VisitResumed]:
    """Resume a visit that is on hold."""
    return [STATUS.allow(visit.status, VisitResumed(call.now, visit.id))]


def complete_visit(
    visit: Visit, command: CompleteVisit, call: Call
) -> list[VisitCompleted | Released]:
    """Complete a visit; its work is done."""
    return _with_release(visit, VisitCompleted(call.now, visit.id))


def cancel_visit(visit: Visit, command: CancelVisit, call: Call) -> list[VisitCancelled | Released]:
    """Cancel a visit that will not take place."""
    return _with_release(visit, VisitCancelled(call.now, visit.id, command.reason))


def abort_visit(visit: Visit, command: AbortVisit, call: Call) -> list[VisitAborted | Released]:
    """Abort a visit before its work is done."""
    return _with_release(visit, VisitAborted(call.now, visit.id, command.reason))


def void_visit(visit: Visit, command: VoidVisit, call: Call) -> list[VisitVoided | Released]:
    """Void a visit that should not have been registered."""
    return _with_release(visit, VisitVoided(call.now, visit.id, command.reason))


def take_visit_surface_control(
    visit: Visit, command: TakeVisitSurfaceControl, given: VisitReferences, call: Call
) -> list[VisitControl | SideWrite]:
    """Take control of the visit's surface when it is free or the parent visit controls it."""
    CONTROLLING.require(visit.controlling, VisitSurfaceControlTaken)
    STATUS.require_in(visit.status, PRESENT, VisitCannotTakeControlError)
    if given.team and call.principal_id not in current_members(given.team, call.now):
        detail = f"The caller is not a current member of team {visit.team_id}."
        raise VisitCannotTakeControlError(detail)
    permitted = given.policy.permitted_principal_ids if given.policy else ()
    if not given.team and call.principal_id not in permitted:
        raise VisitCannotTakeControlError(f"Policy {visit.policy_id} does not permit the caller.")
    holder = given.other
    taken = VisitSurfaceControlTaken(call.now, visit.id, visit.parent_surface_id)
    row = SurfaceControl(visit.parent_surface_id, visit.id, call.now)
    if holder is None:
        return [taken, SURFACE_CONTROL.insert(row)]
    if holder.id != visit.parent_id:
        detail = f"Visit {holder.id} controls the surface and must release control first."
        raise VisitCannotTakeControlError(detail, held_by_visit_id=holder.id)
    return [_release(holder, call.now, visit.id), taken, SURFACE_CONTROL.replace(row)]


def release_visit_surface_control(
    visit: Visit, command: ReleaseVisitSurfaceControl, call: Call
) -> list[VisitSurfaceControlReleased | SideWrite]:
    """Release control of the visit's surface."""
    released = CONTROLLING.allow(visit.controlling, _release(visit, call.now))
    return [released, SURFACE_CONTROL.delete(visit.parent_surface_id)]


def _release(visit: Visit, now: datetime, to: UUID | None = None) -> VisitSurfaceControlReleased:
    id, place = visit.id, visit.parent_surface_id
    return VisitSurfaceControlReleased(now, id, surface_id=place, taken_by_visit_id=to)


def _with_release[E: VisitMoved | VisitMovedWithReason](
    visit: Visit, event: E
) -> list[E | Released]:
    """Return the event, after the release of the surface when the visit controls it."""
    moved = STATUS.allow(visit.status, event)
    if not visit.controlling:
        return [moved]
    released = _release(visit, event.occurred_at)
    return [released, SURFACE_CONTROL.delete(visit.parent_surface_id), moved]


visits = Aggregate("Visit", begin, evolve, absent=VisitNotFoundError, axes=(STATUS, CONTROLLING))

# fmt: off
OPERATIONS = (
    visits.creates("POST /visits", RegisterVisit, register_visit, TeamNotFoundError,
        PolicyNotFoundError, SurfaceNotFoundError, VisitNotFoundError, InvalidVisitPeopleError,
        InvalidVisitPlannedPeriodError, InvalidVisitExternalRefsError, VisitCannotRegisterError,
        given=visit_references),
    visits.changes("POST /visits/{visit_id}/record-arrival", RecordVisitArrival,
        record_visit_arrival, VisitCannotRecordArrivalError),
    visits.changes("POST /visits/{visit_id}/start", StartVisit, start_visit, VisitCannotStartError),
    visits.changes("POST /visits/{visit_id}/hold", HoldVisit, hold_visit, VisitCannotHoldError),
    visits.changes("POST /visits/{visit_id}/resume", ResumeVisit, resume_visit,
        VisitCannotResumeError),
    visits.changes("POST /visits/{visit_id}/complete", CompleteVisit, complete_visit,
        VisitCannotCompleteError, destructive=True),
    visits.changes("POST /visits/{visit_id}/cancel", CancelVisit, cancel_visit,
        VisitCannotCancelError, destructive=True),
    visits.changes("POST /visits/{visit_id}/abort", AbortVisit, abort_visit,
        VisitCannotAbortError, destructive=True),
    visits.changes("POST /visits/{visit_id}/void", VoidVisit, void_visit, VisitCannotVoidError,
        destructive=True),
    visits.changes("POST /visits/{visit_id}/surface-control/take", TakeVisitSurfaceControl,
        take_visit_surface_control, VisitCannotTakeControlError, given=control_references,
        title="Take control of a surface"),
    visits.changes("POST /visits/{visit_id}/surface-control/release", ReleaseVisitSurfaceControl,
        release_visit_surface_control, VisitCannotReleaseControlError,
        title="Release control of a surface"),
)
# fmt: on


class ListVisits(Listing):
    """List visits, newest first."""

    status: frozenset[VisitStatus] | None = None
    parent_surface_id: UUID | None = None
    type: VisitType | None = None
    parent_id: UUID | None = None
    policy_id: UUID | None = None
    team_id: UUID | None = None


ENDS = VisitCompleted, VisitCancelled, VisitAborted, VisitVoided
TIMES = {"arrived_at": (VisitArrived,), "started_at": (VisitStarted,), "ended_at": ENDS}
QUESTIONS = reads(
    "/visits",
    visits,
    ListVisits,
    milestones=TIMES,
    version=2,
    directory=DirectoryEntry(
        lambda it: f"{it.type} {it.planned_start_at:%Y-%m-%d}",
        status=lambda it: it.status,
        keywords=lambda it: it.external_refs.values(),
        scope=lambda it: (it.parent_surface_id,),
        version=2,
    ),
)
