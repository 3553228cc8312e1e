"""Supply: one continuous resource of a facility, and how it fares."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Annotated, Literal
from uuid import UUID

from annotated_types import MaxLen, MinLen

from beamkeep.contexts.equipment.asset import Asset, AssetLifecycle, AssetNotFoundError, assets
from beamkeep.contexts.equipment.place import facility_scopes
from beamkeep.contexts.federation.facility import (
    Facility,
    FacilityCode,
    FacilityNotFoundError,
    FacilityStatus,
    facility_by_code,
)
from beamkeep.contexts.trust.freshness import Reported, is_stale, reports
from beamkeep.contexts.trust.trigger import (
    MonitorTriggerNotPermittedError,
    MonitorTriggerRequiredError,
    TriggerSource,
    require_monitor,
    require_no_monitor,
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

NAMES = "supply"


class SupplyStatus(StrEnum):
    UNKNOWN = "Unknown"
    AVAILABLE = "Available"
    DEGRADED = "Degraded"
    UNAVAILABLE = "Unavailable"
    RECOVERING = "Recovering"
    DECOMMISSIONED = "Decommissioned"


class SupplyFreshness(Record):
    """When the observer of a supply last reported; nobody observes a supply without such a row."""

    supply_id: UUID
    last_reported_at: datetime
    age: timedelta | None = None


SUPPLY_FRESHNESS = Table(
    "supply_freshness",
    SupplyFreshness,
    key=("supply_id",),
    stamped=("last_reported_at", "age"),
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


class SupplyMarkedAvailable(SupplyStatusEvent): ...


class SupplyDegraded(SupplyStatusEvent): ...


class SupplyMarkedUnavailable(SupplyStatusEvent): ...


class SupplyMarkedRecovering(SupplyStatusEvent): ...


class SupplyRestored(SupplyStatusEvent): ...


class SupplyDeregistered(SupplyStatusEvent): ...


type SupplyMoved = (
    SupplyMarkedAvailable
    | SupplyDegraded
    | SupplyMarkedUnavailable
    | SupplyMarkedRecovering
    | SupplyRestored
    | SupplyDeregistered
)


class SupplyNotFoundError(NotFound):
    """The supply does not exist."""


class InvalidSupplyKindError(Invalid):
    """The supply's kind is not usable."""


class InvalidSupplyNameError(Invalid):
    """The supply's name is not usable."""


class InvalidSupplyReasonError(Invalid):
    """The reason is not usable."""


class InvalidSupplyMonitorRefError(Invalid):
    """The name of the sensor or signal is not usable."""


class SupplyAlreadyExistsError(Cannot):
    """A supply of this kind and name serves the same place already; use that one."""


class SupplyCannotRegisterError(Cannot):
    """The supply cannot be registered at this place."""


class SupplyCannotMarkAvailableError(Cannot):
    """Only a supply in Unknown, or in Available with a silent observer, can be marked available.

    A lost supply is marked recovering, then restored.
    """


class SupplyCannotDegradeError(Cannot):
    """The supply cannot be marked degraded."""


class SupplyCannotMarkUnavailableError(Cannot):
    """The supply cannot be marked unavailable."""


class SupplyCannotMarkRecoveringError(Cannot):
    """The supply cannot be marked recovering: only one that is unavailable can."""


class SupplyCannotRestoreError(Cannot):
    """The supply cannot be restored: only one that is recovering can."""


class SupplyCannotObserveStatusError(Cannot):
    """The supply's status does not lead to the one observed."""


class SupplyCannotDeregisterError(Cannot):
    """The supply cannot be deregistered: it is already."""


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


def begin(event: SupplyRegistered) -> Supply:
    return Supply(
        event.supply_id, event.kind, event.name, event.facility_code, event.containing_asset_id
    )


def evolve(supply: Supply, event: SupplyMoved) -> Supply:
    return replace(
        supply,
        status=STATUS.after(event),
        last_status_reason=event.reason,
        last_trigger=event.trigger,
    )


def claims_of(supply: Supply) -> tuple[Insert, ...]:
    """The name it has in its place while it is registered."""
    if supply.status is SupplyStatus.DECOMMISSIONED:
        return ()
    place, loser = _name_and_place(supply), SupplyAlreadyExistsError
    return (claim(NAMES, *place, holder=supply.id, loser=loser),)


type SupplyKind = Annotated[str, MinLen(1), MaxLen(50)]


class RegisterSupply(Command):
    kind: SupplyKind
    """Compared exactly with what work needs: photon_beam, cryogen, vacuum, electricity, …"""
    name: Name
    facility_code: FacilityCode
    containing_asset_id: UUID | None = None
    """The asset it serves, with everything below; left out, it serves the whole facility."""


class SupplyCommand(Command):
    supply_id: UUID
    reason: Reason


class MarkSupplyAvailable(SupplyCommand): ...


class DegradeSupply(SupplyCommand): ...


class MarkSupplyUnavailable(SupplyCommand): ...


class MarkSupplyRecovering(SupplyCommand): ...


class RestoreSupply(SupplyCommand): ...


class ObserveSupplyStatus(SupplyCommand):
    status: Literal[SupplyStatus.UNAVAILABLE, SupplyStatus.RECOVERING]
    monitor_ref: Annotated[str, MinLen(1), MaxLen(200)]
    """The sensor or signal that shows it."""
    unchanged: bool = False
    """Whether the signal says what it said in the last report: the supply is kept fresh and moves
    nowhere, so that what a person found since stands."""


class DeregisterSupply(SupplyCommand): ...


class Referred(Record):
    """What a new supply refers to."""

    facility: Facility
    asset: Asset | None = None
    facility_scope: str | None = None
    """The code at the root of the asset's chain."""


async def referred(command: RegisterSupply, read: Reader) -> Referred:
    facility = await facility_by_code(command.facility_code, read)
    if command.containing_asset_id is None:
        return Referred(facility)
    asset = await read.one(assets, command.containing_asset_id)
    scopes = await facility_scopes([asset.id], read)
    return Referred(facility, asset, scopes[asset.id].facility_scope)


def register_supply(
    command: RegisterSupply, given: Referred, call: Call
) -> list[SupplyRegistered | SideWrite]:
    """Register a supply of a facility, or of one asset in it."""
    kind = trimmed(command.kind, InvalidSupplyKindError)
    name = trimmed(command.name, InvalidSupplyNameError)
    code, asset = given.facility.code, given.asset
    if given.facility.status is not FacilityStatus.ACTIVE:
        raise SupplyCannotRegisterError(f"Facility {code} is {given.facility.status}.")
    if asset is not None:
        if asset.lifecycle is AssetLifecycle.DECOMMISSIONED:
            raise SupplyCannotRegisterError(f"Asset {asset.name} is {asset.lifecycle}.")
        if given.facility_scope != code:
            raise SupplyCannotRegisterError(
                f"Asset {asset.name} stands in facility {given.facility_scope}, not {code}."
            )
    registered = SupplyRegistered(
        call.now, call.new_id, kind, name, code, command.containing_asset_id
    )
    return [registered, *claims_of(begin(registered))]


async def silent(supply: Supply, command: MarkSupplyAvailable, read: Reader) -> bool:
    """Whether the supply has an observer that has not reported for too long."""
    rows = await read.rows(SUPPLY_FRESHNESS, supply_id=supply.id)
    return any(is_stale(row.age, read.installation.stale_after) for row in rows)


def mark_supply_available(
    supply: Supply, command: MarkSupplyAvailable, given: bool, call: Call
) -> list[SupplyMarkedAvailable | SideWrite]:
    """Say of a supply not yet known, or whose observer is silent, that it is available."""
    require_no_monitor(call)
    counted = counted_status(supply, stale=given)
    found = _moved(SupplyMarkedAvailable, supply, command, call, counted)
    return [found, SUPPLY_FRESHNESS.delete(supply.id)]


def counted_status(supply: Supply, stale: bool) -> SupplyStatus:
    """The status work can rely on: what nobody confirms any more is not known to be available."""
    unconfirmed = stale and supply.status is SupplyStatus.AVAILABLE
    return SupplyStatus.UNKNOWN if unconfirmed else supply.status


def degrade_supply(supply: Supply, command: DegradeSupply, call: Call) -> list[SupplyDegraded]:
    """Say that a supply is not what it should be; nothing that needs it starts."""
    return [_moved(SupplyDegraded, supply, command, call)]


def mark_supply_unavailable(
    supply: Supply, command: MarkSupplyUnavailable, call: Call
) -> list[SupplyMarkedUnavailable]:
    """Say that a supply is lost."""
    return [_moved(SupplyMarkedUnavailable, supply, command, call)]


def mark_supply_recovering(
    supply: Supply, command: MarkSupplyRecovering, call: Call
) -> list[SupplyMarkedRecovering]:
    """Say that a lost supply is coming back."""
    return [_moved(SupplyMarkedRecovering, supply, command, call)]


def restore_supply(
    supply: Supply, command: RestoreSupply, call: Call
) -> list[SupplyRestored | SideWrite]:
    """Say that a supply has come back and is available."""
    require_no_monitor(call)
    restored = _moved(SupplyRestored, supply, command, call)
    return [restored, SUPPLY_FRESHNESS.delete(supply.id)]


def observe_supply_status(
    supply: Supply, command: ObserveSupplyStatus, call: Call
) -> list[SupplyMarkedUnavailable | SupplyMarkedRecovering | SideWrite]:
    """Report, as a monitor, that a supply is lost or back; what is known only keeps it fresh."""
    require_monitor(call)
    reason = trimmed(command.reason, InvalidSupplyReasonError)
    monitor_ref = trimmed(command.monitor_ref, InvalidSupplyMonitorRefError)
    heard = SUPPLY_FRESHNESS.upsert(SupplyFreshness(supply.id, call.now))
    lost = command.status is SupplyStatus.UNAVAILABLE
    event = SupplyMarkedUnavailable if lost else SupplyMarkedRecovering
    # What was not lost need not come back: the report only confirms that it is there.
    news = lost is not (supply.status is SupplyStatus.UNAVAILABLE) and not command.unchanged
    if not news and supply.status is not SupplyStatus.DECOMMISSIONED:
        return [heard]
    STATUS.require(supply.status, event, told=SupplyCannotObserveStatusError)
    return [event(call.now, supply.id, supply.status, trigger(call), monitor_ref, reason), heard]


def deregister_supply(
    supply: Supply, command: DeregisterSupply, call: Call
) -> list[SupplyDeregistered | SideWrite]:
    """Take a supply out of the register, for good."""
    return [
        _moved(SupplyDeregistered, supply, command, call),
        SUPPLY_FRESHNESS.delete(supply.id),
        free(NAMES, *_name_and_place(supply)),
    ]


def _name_and_place(supply: Supply) -> tuple[object, ...]:
    """What no other registered supply has."""
    return supply.facility_code, supply.containing_asset_id, supply.kind, supply.name


def _moved[E: SupplyMoved](
    event: type[E],
    supply: Supply,
    command: SupplyCommand,
    call: Call,
    counted: SupplyStatus | None = None,
) -> E:
    """The move the caller asks for, if it may happen now from what the status counts as."""
    reason = trimmed(command.reason, InvalidSupplyReasonError)
    STATUS.require(counted or supply.status, event)
    return event(call.now, supply.id, supply.status, trigger(call), None, reason)


supplies = Aggregate("Supply", begin, evolve, SupplyNotFoundError)

# fmt: off
OPERATIONS = (
    supplies.creates("POST /supplies", RegisterSupply, register_supply, FacilityNotFoundError,
        AssetNotFoundError, InvalidSupplyKindError, InvalidSupplyNameError,
        SupplyCannotRegisterError, SupplyAlreadyExistsError, given=referred),
    supplies.changes("POST /supplies/{supply_id}/mark-available", MarkSupplyAvailable,
        mark_supply_available, MonitorTriggerNotPermittedError, InvalidSupplyReasonError,
        SupplyCannotMarkAvailableError, given=silent),
    supplies.changes("POST /supplies/{supply_id}/degrade", DegradeSupply, degrade_supply,
        InvalidSupplyReasonError, SupplyCannotDegradeError),
    supplies.changes("POST /supplies/{supply_id}/mark-unavailable", MarkSupplyUnavailable,
        mark_supply_unavailable, InvalidSupplyReasonError, SupplyCannotMarkUnavailableError),
    supplies.changes("POST /supplies/{supply_id}/mark-recovering", MarkSupplyRecovering,
        mark_supply_recovering, InvalidSupplyReasonError, SupplyCannotMarkRecoveringError),
    supplies.changes("POST /supplies/{supply_id}/restore", RestoreSupply, restore_supply,
        MonitorTriggerNotPermittedError, InvalidSupplyReasonError, SupplyCannotRestoreError),
    supplies.changes("POST /supplies/{supply_id}/observe-status", ObserveSupplyStatus,
        observe_supply_status, MonitorTriggerRequiredError, InvalidSupplyReasonError,
        InvalidSupplyMonitorRefError, SupplyCannotObserveStatusError),
    supplies.changes("POST /supplies/{supply_id}/deregister", DeregisterSupply, deregister_supply,
        InvalidSupplyReasonError, SupplyCannotDeregisterError),
)
# fmt: on


class ListSupplies(Listing):
    """List supplies, by age."""

    facility_code: FacilityCode | None = None
    containing_asset_id: UUID | None = None
    kind: SupplyKind | None = None
    status: SupplyStatus | None = None


async def reported(ids: Sequence[UUID], read: Reader) -> dict[UUID, Reported]:
    """When the observer of each supply last reported, and whether that still counts."""
    return await reports(ids, SUPPLY_FRESHNESS, read)


QUESTIONS = reads(
    "/supplies",
    supplies,
    ListSupplies,
    milestones={"last_status_changed_at": tuple(STATUS.moves)},
    shown_with=reported,
    listed_with=reported,
)
