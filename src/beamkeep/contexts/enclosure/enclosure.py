"""Enclosure: a volume that a personnel-safety system guards, and the permit it reports."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Annotated
from uuid import UUID

from beamkeep.contexts.access.actor import ActorNotFoundError, AdministratorRequiredError
from beamkeep.contexts.federation import facility
from beamkeep.contexts.federation.facility import Facility, FacilityCode, FacilityNotFoundError
from beamkeep.contexts.seams.installation import Reader
from beamkeep.contexts.seams.protecting import WHOLE
from beamkeep.contexts.trust import monitors, trigger
from beamkeep.contexts.trust.freshness import Reported, reports
from beamkeep.contexts.trust.grants import GrantRequiresConfirmedLoginError
from beamkeep.contexts.trust.monitors import NewMonitor
from beamkeep.contexts.trust.trigger import TriggerSource
from beamkeep.kernel import (
    Aggregate,
    Axis,
    Blank,
    Call,
    Cannot,
    Command,
    DirectoryEntry,
    Event,
    Insert,
    Listing,
    NotFound,
    Record,
    SideWrite,
    Table,
    claim,
    free,
    reads,
    replace,
)
from beamkeep.kernel.values import FreeText, Name, Reason, Trimmed

NAMES = "enclosure-name"


class PermitStatus(StrEnum):
    PERMITTED = "Permitted"
    NOT_PERMITTED = "NotPermitted"
    UNKNOWN = "Unknown"


class EnclosureLifecycle(StrEnum):
    ACTIVE = "Active"
    DECOMMISSIONED = "Decommissioned"


class Freshness(Record):
    """The time of the last report about an enclosure whose permit was not Unknown."""

    enclosure_id: UUID
    last_reported_at: datetime | None
    age: timedelta | None = None


FRESHNESS = Table(
    "enclosure_freshness", Freshness, key=("enclosure_id",), stamped=("last_reported_at", "age")
)


# Events are stored for ever: add a field with a default; never rename or drop one.
class EnclosureEvent(Event):
    enclosure_id: UUID


class EnclosureRegistered(EnclosureEvent):
    name: str
    facility_code: str


class EnclosurePermitObserved(EnclosureEvent):
    """Permit reported."""

    from_permit_status: PermitStatus
    to_permit_status: PermitStatus
    trigger: TriggerSource
    monitor_ref: str
    reason: FreeText


class EnclosureMonitorEvent(EnclosureEvent):
    monitor_id: UUID


class EnclosureMonitorBound(EnclosureMonitorEvent): ...


class EnclosureMonitorUnbound(EnclosureMonitorEvent): ...


class EnclosureDecommissioned(EnclosureEvent):
    reason: FreeText


type EnclosureMonitorsChanged = EnclosureMonitorBound | EnclosureMonitorUnbound
type EnclosureMoved = EnclosurePermitObserved | EnclosureDecommissioned
type EnclosureChanged = EnclosureMoved | EnclosureMonitorsChanged


class EnclosureNotFoundError(NotFound): ...


class InvalidEnclosureNameError(Blank): ...


class InvalidEnclosureReasonError(Blank): ...


class InvalidEnclosureMonitorRefError(Blank):
    """Monitor reference must not be blank."""


class EnclosureAlreadyExistsError(Cannot):
    """An active enclosure of this facility already has this name; choose another name."""


class EnclosureCannotRegisterError(Cannot):
    """An enclosure can be registered only in an Active facility."""


class EnclosureCannotObserveStatusError(Cannot):
    """The permit of a Decommissioned enclosure cannot be observed."""


class EnclosureCannotBindMonitorError(Cannot):
    """Only an active service account can be bound once, to an enclosure that is Active."""


class EnclosureCannotUnbindMonitorError(Cannot):
    """Only an account that is bound to this enclosure can be unbound."""


class EnclosureCannotDecommissionError(Cannot):
    """The enclosure is already decommissioned."""


L = EnclosureLifecycle
LIFECYCLE: Axis[EnclosureLifecycle, EnclosureMoved] = Axis(
    "lifecycle",
    # event, allowed from, leads to, refused with
    (EnclosurePermitObserved, {L.ACTIVE}, L.ACTIVE, EnclosureCannotObserveStatusError),
    (EnclosureDecommissioned, {L.ACTIVE}, L.DECOMMISSIONED, EnclosureCannotDecommissionError),
)


class Enclosure(Record):
    id: UUID
    name: str
    facility_code: str
    permit_status: PermitStatus = PermitStatus.UNKNOWN
    lifecycle: EnclosureLifecycle = EnclosureLifecycle.ACTIVE
    last_observed_reason: str | None = None
    last_monitor_ref: str | None = None
    monitor_ids: frozenset[UUID] = frozenset()
    """The accounts that may report, in addition to the service itself."""


def begin(event: EnclosureRegistered) -> Enclosure:
    return Enclosure.of(event, id=event.enclosure_id)


def evolve(enclosure: Enclosure, event: EnclosureChanged) -> Enclosure:
    match event:
        case EnclosurePermitObserved():
            enclosure = replace(enclosure, permit_status=event.to_permit_status)
            reason, ref = event.reason, event.monitor_ref
            return replace(enclosure, last_observed_reason=reason, last_monitor_ref=ref)
        case EnclosureMonitorBound(monitor_id=id):
            return replace(enclosure, monitor_ids=enclosure.monitor_ids | {id})
        case EnclosureMonitorUnbound(monitor_id=id):
            return replace(enclosure, monitor_ids=enclosure.monitor_ids - {id})
        case EnclosureDecommissioned():
            return replace(enclosure, lifecycle=LIFECYCLE.after(event))


def claims_of(enclosure: Enclosure) -> tuple[Insert, ...]:
    """Return the claim on the name that an active enclosure has in its facility."""
    if enclosure.lifecycle is EnclosureLifecycle.DECOMMISSIONED:
        return ()
    place, loser = (enclosure.facility_code, enclosure.name), EnclosureAlreadyExistsError
    return (claim(NAMES, *place, holder=enclosure.id, loser=loser),)


class RegisterEnclosure(Command):
    name: Annotated[Name, Trimmed(InvalidEnclosureNameError)]
    facility_code: FacilityCode
    """The Site or Area in which the enclosure stands."""


class EnclosureCommand(Command):
    enclosure_id: UUID
    reason: Annotated[Reason, Trimmed(InvalidEnclosureReasonError)]


class DecommissionEnclosure(EnclosureCommand): ...


class EnclosureMonitorCommand(Command):
    enclosure_id: UUID
    monitor_id: UUID
    """The actor id of the service account that reports."""


class BindEnclosureMonitor(EnclosureMonitorCommand): ...


class UnbindEnclosureMonitor(EnclosureMonitorCommand): ...


class ObserveEnclosureStatus(EnclosureCommand):
    permit_status: PermitStatus
    monitor_ref: Annotated[Name, Trimmed(InvalidEnclosureMonitorRefError)]
    """The sensor or signal that shows the permit."""


def register_enclosure(
    command: RegisterEnclosure, given: Facility, call: Call
) -> list[EnclosureRegistered | SideWrite]:
    """Register an enclosure; its permit is Unknown until its monitor reports."""
    if given.status is not facility.FacilityStatus.ACTIVE:
        raise EnclosureCannotRegisterError(f"Facility {given.code} is {given.status}.")
    made = EnclosureRegistered.of(command, occurred_at=call.now, enclosure_id=call.new_id)
    return [made, FRESHNESS.insert(Freshness(call.new_id, None)), *claims_of(begin(made))]


def observe_enclosure_status(
    enclosure: Enclosure, command: ObserveEnclosureStatus, call: Call
) -> list[EnclosurePermitObserved | SideWrite]:
    """Report, as a monitor, the permit of an enclosure; a repetition keeps the permit fresh."""
    monitors.require_bound(enclosure.monitor_ids, "bind_enclosure_monitor", call)
    before, after = enclosure.permit_status, command.permit_status
    LIFECYCLE.require(enclosure.lifecycle, EnclosurePermitObserved)
    change = {"from_permit_status": before, "to_permit_status": after}
    made = {"occurred_at": call.now, "trigger": trigger.source_of(call)}
    observed = EnclosurePermitObserved.of(command, **change, **made)
    news = [observed] if before is not after else []
    # A report of Unknown, for example by the staleness watch, does not keep the permit fresh.
    if after is PermitStatus.UNKNOWN:
        return [*news]
    return [*news, FRESHNESS.replace(Freshness(enclosure.id, call.now))]


def bind_enclosure_monitor(
    enclosure: Enclosure, command: BindEnclosureMonitor, given: NewMonitor, call: Call
) -> list[EnclosureMonitorBound]:
    """Let a service account report the permit of an enclosure, as an administrator."""
    refusal = EnclosureCannotBindMonitorError
    monitors.require_bindable(given, enclosure.monitor_ids, refusal, call)
    if enclosure.lifecycle is not L.ACTIVE:
        raise refusal(f"The enclosure is {enclosure.lifecycle}.")
    return [EnclosureMonitorBound(call.now, enclosure.id, command.monitor_id)]


def unbind_enclosure_monitor(
    enclosure: Enclosure, command: UnbindEnclosureMonitor, call: Call
) -> list[EnclosureMonitorUnbound]:
    """Let a service account no longer report the permit of an enclosure."""
    if command.monitor_id not in enclosure.monitor_ids:
        raise EnclosureCannotUnbindMonitorError
    return [EnclosureMonitorUnbound(call.now, enclosure.id, command.monitor_id)]


def decommission_enclosure(
    enclosure: Enclosure, command: DecommissionEnclosure, call: Call
) -> list[EnclosureDecommissioned | SideWrite]:
    """Decommission an enclosure permanently and free its name."""
    ended = EnclosureDecommissioned(call.now, enclosure.id, command.reason)
    return [
        LIFECYCLE.allow(enclosure.lifecycle, ended),
        FRESHNESS.replace(Freshness(enclosure.id, None)),
        free(NAMES, enclosure.facility_code, enclosure.name),
    ]


enclosures = Aggregate(
    "Enclosure",
    begin,
    evolve=evolve,
    absent=EnclosureNotFoundError,
    axes=(LIFECYCLE,),
    snapshots_from=WHOLE,
)

# fmt: off
OPERATIONS = (
    enclosures.creates("POST /enclosures", RegisterEnclosure, register_enclosure,
        FacilityNotFoundError, EnclosureCannotRegisterError, EnclosureAlreadyExistsError,
        given=lambda command, read: facility.facility_by_code(command.facility_code, read)),
    enclosures.changes("POST /enclosures/{enclosure_id}/observe-status", ObserveEnclosureStatus,
        observe_enclosure_status, trigger.MonitorTriggerRequiredError,
        monitors.MonitorTriggerNotBoundError, EnclosureCannotObserveStatusError, first_hand=True,
        title="Report the permit of an enclosure"),
    enclosures.changes("POST /enclosures/{enclosure_id}/monitors/bind", BindEnclosureMonitor,
        bind_enclosure_monitor, ActorNotFoundError, AdministratorRequiredError,
        EnclosureCannotBindMonitorError, GrantRequiresConfirmedLoginError, first_hand=True,
        given=lambda _, command, read: monitors.new_monitor(command.monitor_id, read)),
    enclosures.changes("POST /enclosures/{enclosure_id}/monitors/unbind", UnbindEnclosureMonitor,
        unbind_enclosure_monitor, EnclosureCannotUnbindMonitorError, first_hand=True),
    enclosures.changes("POST /enclosures/{enclosure_id}/decommission", DecommissionEnclosure,
        decommission_enclosure, EnclosureCannotDecommissionError, destructive=True),
)
# fmt: on


class ListEnclosures(Listing):
    """List enclosures, newest first."""

    facility_code: FacilityCode | None = None
    permit_status: frozenset[PermitStatus] | None = None
    lifecycle: EnclosureLifecycle | None = None


async def reported(ids: Sequence[UUID], read: Reader) -> dict[UUID, Reported]:
    """Return when each enclosure was last reported on, and whether that report is stale."""
    return await reports(ids, FRESHNESS, read)


OBSERVED, ENDED = (EnclosurePermitObserved,), (EnclosureDecommissioned,)
TIMES = {"last_observed_at": OBSERVED, "decommissioned_at": ENDED}
QUESTIONS = reads(
    "/enclosures",
    enclosures,
    ListEnclosures,
    version=2,
    milestones=TIMES,
    directory=DirectoryEntry(
        lambda it: it.name,
        status=lambda it: it.permit_status,
        scope=lambda it: it.facility_code,
        version=2,
    ),
    shown_with=reported,
    listed_with=reported,
)
