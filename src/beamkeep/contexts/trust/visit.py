"""Visit: one planned session on one surface, with arrival, progress and control of it."""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import Annotated
from uuid import UUID

from annotated_types import MaxLen, MinLen
from pydantic import Field

from beamkeep.kernel import (
    Aggregate,
    Axis,
    Call,
    Cannot,
    Command,
    Event,
    Invalid,
    Listing,
    NotFound,
    Reader,
    Record,
    SideWrite,
    reads,
    replace,
)
from beamkeep.kernel.values import FreeText, Reason, Timestamp, outside_references, trimmed

from .policy import Policy, PolicyNotFoundError, policies
from .surface import SURFACE_CONTROL, SurfaceControl, SurfaceNotFoundError, surfaces


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
    policy_id: UUID
    parent_surface_id: UUID
    type: VisitType
    planned_start_at: datetime
    planned_end_at: datetime
    parent_id: UUID | None
    external_refs: dict[str, str]


class VisitArrived(VisitEvent): ...


class VisitStarted(VisitEvent): ...


class VisitHeld(VisitEvent):
    reason: FreeText


class VisitResumed(VisitEvent): ...


class VisitCompleted(VisitEvent): ...


class VisitCancelled(VisitEvent):
    reason: FreeText


class VisitAborted(VisitEvent):
    reason: FreeText


class VisitVoided(VisitEvent):
    reason: FreeText


class VisitSurfaceControlTaken(VisitEvent):
    surface_id: UUID


class VisitSurfaceControlReleased(VisitEvent):
    surface_id: UUID
    taken_by_visit_id: UUID | None


type VisitMoved = VisitArrived | VisitStarted | VisitResumed | VisitCompleted
type VisitMovedForAReason = VisitHeld | VisitCancelled | VisitAborted | VisitVoided
type VisitControl = VisitSurfaceControlTaken | VisitSurfaceControlReleased
type VisitChanged = VisitMoved | VisitMovedForAReason | VisitControl


class VisitNotFoundError(NotFound):
    """The visit does not exist."""


class InvalidVisitPlannedPeriodError(Invalid):
    """A visit is planned to end after it starts."""


class InvalidVisitExternalRefsError(Invalid):
    """An outside reference has a scheme and a value, and the value does not repeat the scheme."""


class InvalidVisitReasonError(Invalid):
    """The reason is not usable."""


class VisitCannotRegisterError(Cannot):
    """The visit does not fit its policy, its surface or the visit it is part of."""


class VisitCannotRecordArrivalError(Cannot):
    """The arrival cannot be recorded."""


class VisitCannotStartError(Cannot):
    """The visit cannot start."""


class VisitCannotHoldError(Cannot):
    """The visit cannot be put on hold."""


class VisitCannotResumeError(Cannot):
    """The visit cannot be resumed."""


class VisitCannotCompleteError(Cannot):
    """The visit cannot be completed."""


class VisitCannotCancelError(Cannot):
    """The visit cannot be cancelled."""


class VisitCannotAbortError(Cannot):
    """The visit cannot be aborted."""


class VisitCannotVoidError(Cannot):
    """The visit cannot be voided."""


class VisitCannotTakeControlError(Cannot):
    """The visit cannot take control of its surface."""


class VisitCannotReleaseControlError(Cannot):
    """The visit cannot release its surface."""


S = VisitStatus
UNDER_WAY = frozenset({S.IN_PROGRESS, S.ON_HOLD})
PRESENT = UNDER_WAY | {S.ARRIVED}
AHEAD = frozenset({S.PLANNED, S.ARRIVED})

STATUS: Axis[VisitStatus, VisitMoved | VisitMovedForAReason] = Axis(
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
    policy_id: UUID
    parent_surface_id: UUID
    type: VisitType
    planned_start_at: datetime
    planned_end_at: datetime
    parent_id: UUID | None
    external_refs: Mapping[str, str]
    status: VisitStatus = VisitStatus.PLANNED
    controlling: bool = False
    last_status_reason: str | None = None


def begin(event: VisitRegistered) -> Visit:
    return Visit(
        event.visit_id,
        event.policy_id,
        event.parent_surface_id,
        event.type,
        event.planned_start_at,
        event.planned_end_at,
        event.parent_id,
        event.external_refs,
    )


def evolve(visit: Visit, event: VisitChanged) -> Visit:
    match event:
        case VisitArrived() | VisitStarted() | VisitResumed() | VisitCompleted():
            return replace(visit, status=STATUS.after(event))
        case VisitHeld() | VisitCancelled() | VisitAborted() | VisitVoided():
            return replace(visit, status=STATUS.after(event), last_status_reason=event.reason)
        case VisitSurfaceControlTaken() | VisitSurfaceControlReleased():
            return replace(visit, controlling=CONTROLLING.after(event))


type RefName = Annotated[str, MinLen(1), MaxLen(50)]
type RefValue = Annotated[str, MinLen(1), MaxLen(200)]


class RegisterVisit(Command):
    policy_id: UUID
    """The policy whose principals act in this visit."""
    parent_surface_id: UUID
    type: VisitType
    planned_start_at: Timestamp
    planned_end_at: Timestamp
    parent_id: UUID | None = None
    """The visit this one is part of, on the same surface."""
    external_refs: Annotated[dict[RefName, RefValue], MaxLen(20)] = Field(default_factory=dict)
    """What other systems call it: proposal, cycle, …"""


class VisitCommand(Command):
    visit_id: UUID


class VisitCommandWithReason(VisitCommand):
    reason: Reason


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


class Referred(Record):
    """What a new visit refers to."""

    policy: Policy
    parent: Visit | None


class Control(Record):
    """Who may drive the surface, and who does."""

    policy: Policy
    held_by: Visit | None


async def referred(command: RegisterVisit, read: Reader) -> Referred:
    policy = await read.one(policies, command.policy_id)
    await read.one(surfaces, command.parent_surface_id)
    return Referred(
        policy, await read.one(visits, command.parent_id) if command.parent_id else None
    )


async def control(visit: Visit, command: TakeVisitSurfaceControl, read: Reader) -> Control:
    policy = await read.one(policies, visit.policy_id)
    rows = await read.rows(SURFACE_CONTROL, surface_id=visit.parent_surface_id)
    return Control(policy, await read.one(visits, rows[0].visit_id) if rows else None)


def register_visit(command: RegisterVisit, given: Referred, call: Call) -> list[VisitRegistered]:
    """Register a planned session on a surface."""
    if command.planned_end_at <= command.planned_start_at:
        raise InvalidVisitPlannedPeriodError
    refs = outside_references(command.external_refs, InvalidVisitExternalRefsError)
    if given.policy.surface_id != command.parent_surface_id:
        raise VisitCannotRegisterError("The policy is for another surface.")
    if given.parent is not None:
        if given.parent.parent_surface_id != command.parent_surface_id:
            raise VisitCannotRegisterError("The visit it is part of is on another surface.")
        if given.parent.status not in AHEAD | UNDER_WAY:
            raise VisitCannotRegisterError("The visit it is part of is over.")
    return [
        VisitRegistered(
            call.now,
            call.new_id,
            command.policy_id,
            command.parent_surface_id,
            command.type,
            command.planned_start_at,
            command.planned_end_at,
            command.parent_id,
            refs,
        )
    ]


def record_visit_arrival(
    visit: Visit, command: RecordVisitArrival, call: Call
) -> list[VisitArrived]:
    """Record that the visitors are here."""
    STATUS.require(visit.status, VisitArrived)
    return [VisitArrived(call.now, visit.id)]


def start_visit(visit: Visit, command: StartVisit, call: Call) -> list[VisitStarted]:
    """Start the work of a visit."""
    STATUS.require(visit.status, VisitStarted)
    return [VisitStarted(call.now, visit.id)]


def hold_visit(visit: Visit, command: HoldVisit, call: Call) -> list[VisitHeld]:
    """Interrupt a visit until it is resumed."""
    reason = trimmed(command.reason, InvalidVisitReasonError)
    STATUS.require(visit.status, VisitHeld)
    return [VisitHeld(call.now, visit.id, reason)]


def resume_visit(visit: Visit, command: ResumeVisit, call: Call) -> list[VisitResumed]:
    """Go on with a visit that was on hold."""
    STATUS.require(visit.status, VisitResumed)
    return [VisitResumed(call.now, visit.id)]


def complete_visit(
    visit: Visit, command: CompleteVisit, call: Call
) -> list[VisitChanged | SideWrite]:
    """End a visit that did what it came for."""
    STATUS.require(visit.status, VisitCompleted)
    return [*_released(visit, call), VisitCompleted(call.now, visit.id)]


def cancel_visit(visit: Visit, command: CancelVisit, call: Call) -> list[VisitChanged | SideWrite]:
    """Call off a visit that does not happen."""
    reason = trimmed(command.reason, InvalidVisitReasonError)
    STATUS.require(visit.status, VisitCancelled)
    return [*_released(visit, call), VisitCancelled(call.now, visit.id, reason)]


def abort_visit(visit: Visit, command: AbortVisit, call: Call) -> list[VisitChanged | SideWrite]:
    """End a visit early."""
    reason = trimmed(command.reason, InvalidVisitReasonError)
    STATUS.require(visit.status, VisitAborted)
    return [*_released(visit, call), VisitAborted(call.now, visit.id, reason)]


def void_visit(visit: Visit, command: VoidVisit, call: Call) -> list[VisitChanged | SideWrite]:
    """Strike out a visit that should never have been registered."""
    reason = trimmed(command.reason, InvalidVisitReasonError)
    STATUS.require(visit.status, VisitVoided)
    return [*_released(visit, call), VisitVoided(call.now, visit.id, reason)]


def take_visit_surface_control(
    visit: Visit, command: TakeVisitSurfaceControl, given: Control, call: Call
) -> list[VisitControl | SideWrite]:
    """Take control of the visit's surface, from nobody or from the visit it is part of."""
    CONTROLLING.require(visit.controlling, VisitSurfaceControlTaken)
    if visit.status not in PRESENT:
        raise VisitCannotTakeControlError(
            f"The status is {visit.status}; it must be {' or '.join(sorted(PRESENT))}."
        )
    if call.principal_id not in given.policy.permitted_principal_ids:
        raise VisitCannotTakeControlError("The visit's policy does not permit the caller.")
    surface_id, holder = visit.parent_surface_id, given.held_by
    taken = VisitSurfaceControlTaken(call.now, visit.id, surface_id)
    row = SurfaceControl(surface_id, visit.id, call.now)
    if holder is None:
        return [taken, SURFACE_CONTROL.insert(row)]
    if holder.id != visit.parent_id:
        raise VisitCannotTakeControlError(
            f"Visit {holder.id} holds it and must release it first.", held_by_visit_id=holder.id
        )
    released = VisitSurfaceControlReleased(call.now, holder.id, surface_id, visit.id)
    return [released, taken, SURFACE_CONTROL.replace(row)]


def release_visit_surface_control(
    visit: Visit, command: ReleaseVisitSurfaceControl, call: Call
) -> list[VisitControl | SideWrite]:
    """Give up control of the visit's surface."""
    CONTROLLING.require(visit.controlling, VisitSurfaceControlReleased)
    return _released(visit, call)


def _released(visit: Visit, call: Call) -> list[VisitControl | SideWrite]:
    """The release of a surface the visit controls; nothing otherwise."""
    if not visit.controlling:
        return []
    return [
        VisitSurfaceControlReleased(call.now, visit.id, visit.parent_surface_id, None),
        SURFACE_CONTROL.delete(visit.parent_surface_id),
    ]


visits = Aggregate("Visit", begin, evolve, VisitNotFoundError)

# fmt: off
OPERATIONS = (
    visits.creates("POST /visits", RegisterVisit, register_visit, PolicyNotFoundError,
        SurfaceNotFoundError, VisitNotFoundError, InvalidVisitPlannedPeriodError,
        InvalidVisitExternalRefsError, VisitCannotRegisterError, given=referred),
    visits.changes("POST /visits/{visit_id}/record-arrival", RecordVisitArrival,
        record_visit_arrival, VisitCannotRecordArrivalError),
    visits.changes("POST /visits/{visit_id}/start", StartVisit, start_visit, VisitCannotStartError),
    visits.changes("POST /visits/{visit_id}/hold", HoldVisit, hold_visit, InvalidVisitReasonError,
        VisitCannotHoldError),
    visits.changes("POST /visits/{visit_id}/resume", ResumeVisit, resume_visit,
        VisitCannotResumeError),
    visits.changes("POST /visits/{visit_id}/complete", CompleteVisit, complete_visit,
        VisitCannotCompleteError),
    visits.changes("POST /visits/{visit_id}/cancel", CancelVisit, cancel_visit,
        InvalidVisitReasonError, VisitCannotCancelError),
    visits.changes("POST /visits/{visit_id}/abort", AbortVisit, abort_visit,
        InvalidVisitReasonError, VisitCannotAbortError),
    visits.changes("POST /visits/{visit_id}/void", VoidVisit, void_visit, InvalidVisitReasonError,
        VisitCannotVoidError),
    visits.changes("POST /visits/{visit_id}/surface-control/take", TakeVisitSurfaceControl,
        take_visit_surface_control, VisitCannotTakeControlError, given=control),
    visits.changes("POST /visits/{visit_id}/surface-control/release", ReleaseVisitSurfaceControl,
        release_visit_surface_control, VisitCannotReleaseControlError),
)
# fmt: on


class ListVisits(Listing):
    """List visits, by age."""

    status: VisitStatus | None = None
    parent_surface_id: UUID | None = None
    type: VisitType | None = None
    parent_id: UUID | None = None
    policy_id: UUID | None = None


QUESTIONS = reads(
    "/visits",
    visits,
    ListVisits,
    milestones={
        "arrived_at": (VisitArrived,),
        "started_at": (VisitStarted,),
        "ended_at": (VisitCompleted, VisitCancelled, VisitAborted, VisitVoided),
    },
)
