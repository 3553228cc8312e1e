"""Enclosure: a volume that a personnel-safety system guards, and what that system reports of it."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from uuid import UUID

from beamkeep.contexts.federation.facility import (
    Facility,
    FacilityCode,
    FacilityNotFoundError,
    FacilityStatus,
    facility_by_code,
)
from beamkeep.contexts.trust.freshness import Reported, reports
from beamkeep.contexts.trust.trigger import (
    MonitorTriggerRequiredError,
    TriggerSource,
    require_monitor,
    trigger,
)
from beamkeep.kernel import (
    Aggregate,
    Axis,
    Call,
    Cannot,
    Command,
    Event,
    Insert,
    Invalid,
    Listing,
    NotFound,
    Reader,
    Record,
    SideWrite,
    Table,
    claim,
    free,
    reads,
    replace,
)
from beamkeep.kernel.values import FreeText, Name, Reason, trimmed

NAMES = "enclosure-name"


class PermitStatus(StrEnum):
    PERMITTED = "Permitted"
    NOT_PERMITTED = "NotPermitted"
    UNKNOWN = "Unknown"


class EnclosureLifecycle(StrEnum):
    ACTIVE = "Active"
    DECOMMISSIONED = "Decommissioned"


class Freshness(Record):
    """When an enclosure's monitor last reported a permit, or that there is none."""

    enclosure_id: UUID
    last_reported_at: datetime | None
    age: timedelta | None = None


FRESHNESS = Table(
    "enclosure_freshness",
    Freshness,
    key=("enclosure_id",),
    stamped=("last_reported_at", "age"),
)


# Events are stored for ever: add a field with a default; never rename or drop one.
class EnclosureEvent(Event):
    enclosure_id: UUID


class EnclosureRegistered(EnclosureEvent):
    name: str
    facility_code: str


class EnclosurePermitObserved(EnclosureEvent):
    from_permit_status: PermitStatus
    to_permit_status: PermitStatus
    trigger: TriggerSource
    monitor_ref: str
    reason: FreeText


class EnclosureDecommissioned(EnclosureEvent):
    reason: FreeText


type EnclosureChanged = EnclosurePermitObserved | EnclosureDecommissioned


class EnclosureNotFoundError(NotFound):
    """The enclosure does not exist."""


class InvalidEnclosureNameError(Invalid):
    """The enclosure's name is not usable."""


class InvalidEnclosureReasonError(Invalid):
    """The reason is not usable."""


class InvalidEnclosureMonitorRefError(Invalid):
    """The name of the sensor or signal is not usable."""


class EnclosureAlreadyExistsError(Cannot):
    """An active enclosure of the facility has this name; decommission it or choose another name."""


class EnclosureCannotRegisterError(Cannot):
    """The enclosure cannot be registered: its facility is decommissioned."""


class EnclosureCannotObserveStatusError(Cannot):
    """Nothing can be observed of the enclosure any more."""


class EnclosureCannotDecommissionError(Cannot):
    """The enclosure cannot be decommissioned."""


L = EnclosureLifecycle
LIFECYCLE: Axis[EnclosureLifecycle, EnclosureChanged] = Axis(
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


def begin(event: EnclosureRegistered) -> Enclosure:
    return Enclosure(event.enclosure_id, event.name, event.facility_code)


def evolve(enclosure: Enclosure, event: EnclosureChanged) -> Enclosure:
    match event:
        case EnclosurePermitObserved():
            return replace(
                enclosure,
                permit_status=event.to_permit_status,
                last_observed_reason=event.reason,
                last_monitor_ref=event.monitor_ref,
            )
        case EnclosureDecommissioned():
            return replace(enclosure, lifecycle=LIFECYCLE.after(event))


def claims_of(enclosure: Enclosure) -> tuple[Insert, ...]:
    """The name it has in its facility while it is in use."""
    if enclosure.lifecycle is EnclosureLifecycle.DECOMMISSIONED:
        return ()
    place, loser = (enclosure.facility_code, enclosure.name), EnclosureAlreadyExistsError
    return (claim(NAMES, *place, holder=enclosure.id, loser=loser),)


class RegisterEnclosure(Command):
    name: Name
    facility_code: FacilityCode
    """The site or area it stands in."""


class ObserveEnclosureStatus(Command):
    enclosure_id: UUID
    permit_status: PermitStatus
    reason: Reason
    monitor_ref: Name
    """The sensor or signal that tells."""


class DecommissionEnclosure(Command):
    enclosure_id: UUID
    reason: Reason


async def facility(command: RegisterEnclosure, read: Reader) -> Facility:
    return await facility_by_code(command.facility_code, read)


def register_enclosure(
    command: RegisterEnclosure, given: Facility, call: Call
) -> list[EnclosureRegistered | SideWrite]:
    """Register an enclosure; its permit is unknown until its monitor reports."""
    name = trimmed(command.name, InvalidEnclosureNameError)
    if given.status is not FacilityStatus.ACTIVE:
        raise EnclosureCannotRegisterError
    registered = EnclosureRegistered(call.now, call.new_id, name, given.code)
    return [
        registered,
        FRESHNESS.insert(Freshness(call.new_id, None)),
        *claims_of(begin(registered)),
    ]


def observe_enclosure_status(
    enclosure: Enclosure, command: ObserveEnclosureStatus, call: Call
) -> list[EnclosurePermitObserved | SideWrite]:
    """Report what an enclosure's safety system says; the same again only keeps it fresh."""
    require_monitor(call)
    reason = trimmed(command.reason, InvalidEnclosureReasonError)
    monitor_ref = trimmed(command.monitor_ref, InvalidEnclosureMonitorRefError)
    LIFECYCLE.require(enclosure.lifecycle, EnclosurePermitObserved)
    before, after = enclosure.permit_status, command.permit_status
    observed = EnclosurePermitObserved(
        call.now, enclosure.id, before, after, trigger(call), monitor_ref, reason
    )
    # Whoever does not know the permit, as the staleness watch, does not keep it fresh.
    known = after is not PermitStatus.UNKNOWN
    return [
        *([observed] if before is not after else []),
        *([FRESHNESS.replace(Freshness(enclosure.id, call.now))] if known else []),
    ]


def decommission_enclosure(
    enclosure: Enclosure, command: DecommissionEnclosure, call: Call
) -> list[EnclosureDecommissioned | SideWrite]:
    """Take an enclosure out of use for good, and give its name back."""
    reason = trimmed(command.reason, InvalidEnclosureReasonError)
    LIFECYCLE.require(enclosure.lifecycle, EnclosureDecommissioned)
    return [
        EnclosureDecommissioned(call.now, enclosure.id, reason),
        FRESHNESS.replace(Freshness(enclosure.id, None)),
        free(NAMES, enclosure.facility_code, enclosure.name),
    ]


enclosures = Aggregate("Enclosure", begin, evolve, EnclosureNotFoundError)

# fmt: off
OPERATIONS = (
    enclosures.creates("POST /enclosures", RegisterEnclosure, register_enclosure,
        FacilityNotFoundError, InvalidEnclosureNameError, EnclosureCannotRegisterError,
        EnclosureAlreadyExistsError, given=facility),
    enclosures.changes("POST /enclosures/{enclosure_id}/observe-status", ObserveEnclosureStatus,
        observe_enclosure_status, MonitorTriggerRequiredError, InvalidEnclosureReasonError,
        InvalidEnclosureMonitorRefError, EnclosureCannotObserveStatusError),
    enclosures.changes("POST /enclosures/{enclosure_id}/decommission", DecommissionEnclosure,
        decommission_enclosure, InvalidEnclosureReasonError, EnclosureCannotDecommissionError),
)
# fmt: on


class ListEnclosures(Listing):
    """List enclosures, by age."""

    facility_code: FacilityCode | None = None
    permit_status: PermitStatus | None = None
    lifecycle: EnclosureLifecycle | None = None


async def reported(ids: Sequence[UUID], read: Reader) -> dict[UUID, Reported]:
    """When each enclosure was last reported of, and whether that still counts."""
    return await reports(ids, FRESHNESS, read)


QUESTIONS = reads(
    "/enclosures",
    enclosures,
    ListEnclosures,
    milestones={
        "last_observed_at": (EnclosurePermitObserved,),
        "decommissioned_at": (EnclosureDecommissioned,),
    },
    shown_with=reported,
    listed_with=reported,
)
