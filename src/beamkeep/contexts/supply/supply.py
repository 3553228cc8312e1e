"""Supply: one continuous resource of a facility, and its status."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Annotated, Literal
from uuid import UUID

from annotated_types import MaxLen, MinLen
from pydantic import Field

from beamkeep.contexts.access.actor import ActorNotFoundError, AdministratorRequiredError
from beamkeep.contexts.equipment.asset import Asset, AssetLifecycle, AssetNotFoundError, assets
from beamkeep.contexts.federation import facility
from beamkeep.contexts.federation.facility import Facility, FacilityCode, FacilityNotFoundError
from beamkeep.contexts.seams.installation import Reader
from beamkeep.contexts.seams.place import facility_scopes
from beamkeep.contexts.seams.protecting import WHOLE
from beamkeep.contexts.trust import monitors, trigger
from beamkeep.contexts.trust.freshness import Reported, is_stale, reports
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

NAMES = "supply"


class SupplyStatus(StrEnum):
    UNKNOWN = "Unknown"
    AVAILABLE = "Available"
    DEGRADED = "Degraded"
    UNAVAILABLE = "Unavailable"
    RECOVERING = "Recovering"
    DECOMMISSIONED = "Decommissioned"


IN_USE = frozenset(SupplyStatus) - {SupplyStatus.DECOMMISSIONED}


class SupplyFreshness(Record):
    """The time of the last report about a supply; a supply without a row has no observer."""

    supply_id: UUID
    last_reported_at: datetime
    age: timedelta | None = None


SUPPLY_FRESHNESS = Table(
    "supply_freshness", SupplyFreshness, key=("supply_id",), stamped=("last_reported_at", "age")
)


# Events are stored for ever: add a field with a default; never rename or drop one.
class SupplyEvent(Event):
    supply_id: UUID


class SupplyRegistered(SupplyEvent):
    kind: str
    name: str
    facility_code: str
    containing_asset_id: UUID | None


class SupplyStatusEvent(SupplyEvent):
    from_status: SupplyStatus
    trigger: TriggerSource
    monitor_ref: str | None
    reason: FreeText


class SupplyMarkedAvailable(SupplyStatusEvent):
    """Available."""


class SupplyDegraded(SupplyStatusEvent): ...


class SupplyMarkedUnavailable(SupplyStatusEvent):
    """Unavailable."""


class SupplyMarkedRecovering(SupplyStatusEvent):
    """Recovering."""


class SupplyRestored(SupplyStatusEvent):
    """Restored, available again."""


class SupplyDeregistered(SupplyStatusEvent): ...


class SupplyMonitorEvent(SupplyEvent):
    monitor_id: UUID


class SupplyMonitorBound(SupplyMonitorEvent): ...


class SupplyMonitorUnbound(SupplyMonitorEvent): ...


type SupplyMarked = SupplyMarkedAvailable | SupplyMarkedUnavailable | SupplyMarkedRecovering
type SupplyMoved = SupplyMarked | SupplyDegraded | SupplyRestored | SupplyDeregistered
type SupplyChanged = SupplyMoved | SupplyMonitorBound | SupplyMonitorUnbound


class SupplyNotFoundError(NotFound): ...


class InvalidSupplyKindError(Blank): ...


class InvalidSupplyNameError(Blank): ...


class InvalidSupplyReasonError(Blank): ...


class InvalidSupplyMonitorRefError(Blank):
    """Monitor reference must not be blank."""


class SupplyAlreadyExistsError(Cannot):
    """A supply of this kind and name already serves this place; use that supply."""


class SupplyCannotRegisterError(Cannot):
    """The supply cannot be registered at this place."""


class SupplyCannotMarkAvailableError(Cannot):
    """Only an Unknown or stale supply can be marked available; restore a lost supply instead."""


class SupplyCannotDegradeError(Cannot):
    """The supply cannot be degraded in its current status."""


class SupplyCannotMarkUnavailableError(Cannot):
    """The supply cannot be marked unavailable in its current status."""


class SupplyCannotMarkRecoveringError(Cannot):
    """Only an Unavailable supply can be marked recovering."""


class SupplyCannotRestoreError(Cannot):
    """Only a Recovering supply can be restored; mark an Unavailable supply recovering first."""


class SupplyCannotObserveStatusError(Cannot):
    """The status of a Decommissioned supply cannot be observed."""


class SupplyCannotBindMonitorError(Cannot):
    """Only an active service account can be bound once, to a supply that is registered."""


class SupplyCannotUnbindMonitorError(Cannot):
    """Only an account that is bound to this supply can be unbound."""


class SupplyCannotDeregisterError(Cannot):
    """The supply is already deregistered."""


S = SupplyStatus
SERVING = frozenset({S.UNKNOWN, S.AVAILABLE, S.DEGRADED, S.RECOVERING})

STATUS: Axis[SupplyStatus, SupplyMoved] = Axis(
    "status",
    # event, allowed from, leads to, refused with
    (SupplyMarkedAvailable, {S.UNKNOWN}, S.AVAILABLE, SupplyCannotMarkAvailableError),
    (SupplyDegraded, SERVING - {S.DEGRADED}, S.DEGRADED, SupplyCannotDegradeError),
    (SupplyMarkedUnavailable, SERVING, S.UNAVAILABLE, SupplyCannotMarkUnavailableError),
    (SupplyMarkedRecovering, {S.UNAVAILABLE}, S.RECOVERING, SupplyCannotMarkRecoveringError),
    (SupplyRestored, {S.RECOVERING}, S.AVAILABLE, SupplyCannotRestoreError),
    (SupplyDeregistered, SERVING | {S.UNAVAILABLE}, S.DECOMMISSIONED, SupplyCannotDeregisterError),
)


class Supply(Record):
    id: UUID
    kind: str
    name: str
    facility_code: str
    containing_asset_id: UUID | None
    status: SupplyStatus = SupplyStatus.UNKNOWN
    last_status_reason: str | None = None
    last_trigger: TriggerSource | None = None
    monitor_ids: frozenset[UUID] = frozenset()
    """The accounts that may report, in addition to the service itself."""


def begin(event: SupplyRegistered) -> Supply:
    return Supply.of(event, id=event.supply_id)


def evolve(supply: Supply, event: SupplyChanged) -> Supply:
    if isinstance(event, SupplyMonitorBound):
        return replace(supply, monitor_ids=supply.monitor_ids | {event.monitor_id})
    if isinstance(event, SupplyMonitorUnbound):
        return replace(supply, monitor_ids=supply.monitor_ids - {event.monitor_id})
    status, reason = STATUS.after(event), event.reason
    return replace(supply, status=status, last_status_reason=reason, last_trigger=event.trigger)


def claims_of(supply: Supply) -> tuple[Insert, ...]:
    """Return the claim on the name that a registered supply has in its place."""
    if supply.status is SupplyStatus.DECOMMISSIONED:
        return ()
    loser = SupplyAlreadyExistsError
    return (claim(NAMES, *_name_and_place(supply), holder=supply.id, loser=loser),)


KINDS = (
    "photon_beam",
    "cryogen",
    "vacuum",
    "electricity",
    "compressed_air",
    "process_gas",
    "neutron_flux",
    "FELPulses",
    "ComputePool",
)
"""The words that forms and completion offer first; any other word is accepted too."""

type SupplyKind = Annotated[str, MinLen(1), MaxLen(50), Field(examples=[*KINDS])]


class RegisterSupply(Command):
    kind: Annotated[SupplyKind, Trimmed(InvalidSupplyKindError)]
    """Compared exactly with the needed supplies of a method: photon_beam, cryogen, vacuum, …"""
    name: Annotated[Name, Trimmed(InvalidSupplyNameError)]
    facility_code: FacilityCode
    containing_asset_id: UUID | None = None
    """The asset that the supply serves, with everything below (default: the whole facility)."""


class SupplyCommand(Command):
    supply_id: UUID
    reason: Annotated[Reason, Trimmed(InvalidSupplyReasonError)]


class MarkSupplyAvailable(SupplyCommand): ...


class DegradeSupply(SupplyCommand): ...


class MarkSupplyUnavailable(SupplyCommand): ...


class MarkSupplyRecovering(SupplyCommand): ...


class RestoreSupply(SupplyCommand): ...


class ObserveSupplyStatus(SupplyCommand):
    status: Literal[SupplyStatus.UNAVAILABLE, SupplyStatus.RECOVERING]
    monitor_ref: Annotated[Name, Trimmed(InvalidSupplyMonitorRefError)]
    """The sensor or signal that shows the status."""
    unchanged: bool = False
    """Whether the signal has not changed since the last report: the report keeps the supply fresh
    and does not change a status that a person has set since."""


class DeregisterSupply(SupplyCommand): ...


class SupplyMonitorCommand(Command):
    supply_id: UUID
    monitor_id: UUID
    """The actor id of the service account that reports."""


class BindSupplyMonitor(SupplyMonitorCommand): ...


class UnbindSupplyMonitor(SupplyMonitorCommand): ...


class SupplyPlace(Record):
    """The facility, and the asset if there is one, that a new supply serves."""

    facility: Facility
    asset: Asset | None = None
    asset_facility_code: str | None = None
    """The facility of the asset's root."""


async def supply_place(command: RegisterSupply, read: Reader) -> SupplyPlace:
    place = await facility.facility_by_code(command.facility_code, read)
    if command.containing_asset_id is None:
        return SupplyPlace(place)
    asset = await read.one(assets, command.containing_asset_id)
    scopes = await facility_scopes([asset.id], read)
    return SupplyPlace(place, asset, scopes[asset.id].facility_scope)


def register_supply(
    command: RegisterSupply, given: SupplyPlace, call: Call
) -> list[SupplyRegistered | SideWrite]:
    """Register a supply of a facility or of one asset; its status is Unknown at first."""
    code, status, asset = given.facility.code, given.facility.status, given.asset
    if status is not facility.FacilityStatus.ACTIVE:
        raise SupplyCannotRegisterError(f"Facility {code} is {status}; it must be Active.")
    if asset is not None:
        if asset.lifecycle is AssetLifecycle.DECOMMISSIONED:
            raise SupplyCannotRegisterError(f"Asset '{asset.name}' is {asset.lifecycle}.")
        if (stands_in := given.asset_facility_code) != code:
            detail = f"Asset '{asset.name}' stands in facility {stands_in}, not in {code}."
            raise SupplyCannotRegisterError(detail)
    registered = SupplyRegistered.of(command, occurred_at=call.now, supply_id=call.new_id)
    return [registered, *claims_of(begin(registered))]


async def silent(supply: Supply, command: MarkSupplyAvailable, read: Reader) -> bool:
    """Return whether the last report of the supply's observer is stale."""
    rows = await read.rows(SUPPLY_FRESHNESS, supply_id=supply.id)
    return any(is_stale(row.age, read.facts.stale_after) for row in rows)


def mark_supply_available(
    supply: Supply, command: MarkSupplyAvailable, given: bool, call: Call
) -> list[SupplyMarkedAvailable | SideWrite]:
    """Mark an Unknown supply available, or an Available one whose observer is silent."""
    trigger.require_no_monitor(call)
    marked = _moved(SupplyMarkedAvailable, supply, command, call, stale=given)
    return [marked, SUPPLY_FRESHNESS.delete(supply.id)]


def counted_status(supply: Supply, stale: bool) -> SupplyStatus:
    """Return the status that counts: an Available supply with a stale report is Unknown."""
    unconfirmed = stale and supply.status is SupplyStatus.AVAILABLE
    return SupplyStatus.UNKNOWN if unconfirmed else supply.status


def degrade_supply(supply: Supply, command: DegradeSupply, call: Call) -> list[SupplyDegraded]:
    """Mark a supply degraded; work that needs the supply cannot start."""
    return [_moved(SupplyDegraded, supply, command, call)]


def mark_supply_unavailable(
    supply: Supply, command: MarkSupplyUnavailable, call: Call
) -> list[SupplyMarkedUnavailable]:
    """Mark a supply unavailable."""
    return [_moved(SupplyMarkedUnavailable, supply, command, call)]


def mark_supply_recovering(
    supply: Supply, command: MarkSupplyRecovering, call: Call
) -> list[SupplyMarkedRecovering]:
    """Mark an unavailable supply recovering."""
    return [_moved(SupplyMarkedRecovering, supply, command, call)]


def restore_supply(
    supply: Supply, command: RestoreSupply, call: Call
) -> list[SupplyRestored | SideWrite]:
    """Mark a recovering supply available again."""
    trigger.require_no_monitor(call)
    restored = _moved(SupplyRestored, supply, command, call)
    return [restored, SUPPLY_FRESHNESS.delete(supply.id)]


def observe_supply_status(
    supply: Supply, command: ObserveSupplyStatus, call: Call
) -> list[SupplyMarkedUnavailable | SupplyMarkedRecovering | SideWrite]:
    """Report, as a monitor, whether a supply is lost or back; a repetition keeps it fresh."""
    monitors.require_bound(supply.monitor_ids, "bind_supply_monitor", call)
    heard = SUPPLY_FRESHNESS.upsert(SupplyFreshness(supply.id, call.now))
    lost = command.status is SupplyStatus.UNAVAILABLE
    event = SupplyMarkedUnavailable if lost else SupplyMarkedRecovering
    # A supply that was not lost stays as it is: the report only confirms it.
    news = lost is not (supply.status is SupplyStatus.UNAVAILABLE) and not command.unchanged
    if not news and supply.status is not SupplyStatus.DECOMMISSIONED:
        return [heard]
    STATUS.require(supply.status, event, refusal=SupplyCannotObserveStatusError)
    return [_moved(event, supply, command, call), heard]


def bind_supply_monitor(
    supply: Supply, command: BindSupplyMonitor, given: NewMonitor, call: Call
) -> list[SupplyMonitorBound]:
    """Let a service account report the status of a supply, as an administrator."""
    refusal = SupplyCannotBindMonitorError
    monitors.require_bindable(given, supply.monitor_ids, refusal, call)
    if supply.status is SupplyStatus.DECOMMISSIONED:
        raise refusal(f"The supply is {supply.status}.")
    return [SupplyMonitorBound(call.now, supply.id, command.monitor_id)]


def unbind_supply_monitor(
    supply: Supply, command: UnbindSupplyMonitor, call: Call
) -> list[SupplyMonitorUnbound]:
    """Let a service account no longer report the status of a supply."""
    if command.monitor_id not in supply.monitor_ids:
        raise SupplyCannotUnbindMonitorError
    return [SupplyMonitorUnbound(call.now, supply.id, command.monitor_id)]


def deregister_supply(
    supply: Supply, command: DeregisterSupply, call: Call
) -> list[SupplyDeregistered | SideWrite]:
    """Deregister a supply permanently."""
    deregistered, freed = _moved(SupplyDeregistered, supply, command, call), _name_and_place(supply)
    return [deregistered, SUPPLY_FRESHNESS.delete(supply.id), free(NAMES, *freed)]


def _name_and_place(supply: Supply) -> tuple[object, ...]:
    """Return the values that are unique among registered supplies."""
    return supply.facility_code, supply.containing_asset_id, supply.kind, supply.name


def _moved[E: SupplyMoved](
    event: type[E], supply: Supply, command: SupplyCommand, call: Call, stale: bool = False
) -> E:
    """Return the event, or raise its refusal when the status that counts does not allow it."""
    STATUS.require(counted_status(supply, stale), event)
    ref = command.monitor_ref if isinstance(command, ObserveSupplyStatus) else None
    fields = {"from_status": supply.status, "trigger": trigger.source_of(call), "monitor_ref": ref}
    return event.of(command, occurred_at=call.now, **fields)


supplies = Aggregate(
    "Supply",
    begin,
    evolve=evolve,
    absent=SupplyNotFoundError,
    axes=(STATUS,),
    snapshots_from=WHOLE,
)

# fmt: off
OPERATIONS = (
    supplies.creates("POST /supplies", RegisterSupply, register_supply, FacilityNotFoundError,
        AssetNotFoundError, SupplyCannotRegisterError, SupplyAlreadyExistsError,
        given=supply_place),
    supplies.changes("POST /supplies/{supply_id}/mark-available", MarkSupplyAvailable,
        mark_supply_available, trigger.MonitorTriggerNotPermittedError,
        SupplyCannotMarkAvailableError, given=silent),
    supplies.changes("POST /supplies/{supply_id}/degrade", DegradeSupply, degrade_supply,
        SupplyCannotDegradeError),
    supplies.changes("POST /supplies/{supply_id}/mark-unavailable", MarkSupplyUnavailable,
        mark_supply_unavailable, SupplyCannotMarkUnavailableError),
    supplies.changes("POST /supplies/{supply_id}/mark-recovering", MarkSupplyRecovering,
        mark_supply_recovering, SupplyCannotMarkRecoveringError),
    supplies.changes("POST /supplies/{supply_id}/restore", RestoreSupply, restore_supply,
        trigger.MonitorTriggerNotPermittedError, SupplyCannotRestoreError),
    supplies.changes("POST /supplies/{supply_id}/observe-status", ObserveSupplyStatus,
        observe_supply_status, trigger.MonitorTriggerRequiredError,
        monitors.MonitorTriggerNotBoundError, SupplyCannotObserveStatusError, first_hand=True,
        title="Report the status of a supply"),
    supplies.changes("POST /supplies/{supply_id}/monitors/bind", BindSupplyMonitor,
        bind_supply_monitor, ActorNotFoundError, AdministratorRequiredError,
        SupplyCannotBindMonitorError, GrantRequiresConfirmedLoginError, first_hand=True,
        given=lambda _, command, read: monitors.new_monitor(command.monitor_id, read)),
    supplies.changes("POST /supplies/{supply_id}/monitors/unbind", UnbindSupplyMonitor,
        unbind_supply_monitor, SupplyCannotUnbindMonitorError, first_hand=True),
    supplies.changes("POST /supplies/{supply_id}/deregister", DeregisterSupply, deregister_supply,
        SupplyCannotDeregisterError, destructive=True),
)
# fmt: on


class ListSupplies(Listing):
    """List supplies, newest first."""

    facility_code: FacilityCode | None = None
    containing_asset_id: UUID | None = None
    kind: SupplyKind | None = None
    status: frozenset[SupplyStatus] | None = None


async def reported(ids: Sequence[UUID], read: Reader) -> dict[UUID, Reported]:
    """Return when each supply was last reported on, and whether that report is stale."""
    return await reports(ids, SUPPLY_FRESHNESS, read)


TIMES = {"last_status_changed_at": tuple(STATUS.moves)}
QUESTIONS = reads(
    "/supplies",
    supplies,
    ListSupplies,
    version=2,
    milestones=TIMES,
    shown_with=reported,
    listed_with=reported,
    directory=DirectoryEntry(
        lambda it: it.name,
        status=lambda it: it.status,
        keywords=lambda it: (it.kind,),
        scope=lambda it: it.facility_code,
        version=2,
    ),
)
