"""Asset: one physical thing, be it a beamline, a sub-system or a device, in a tree of its like."""

from collections.abc import Iterable, Mapping, Set
from datetime import datetime
from enum import StrEnum
from typing import Annotated
from uuid import UUID

from annotated_types import MaxLen, MinLen

from beamkeep.contexts.enclosure.enclosure import (
    Enclosure,
    EnclosureLifecycle,
    EnclosureNotFoundError,
    enclosures,
)
from beamkeep.contexts.federation.facility import (
    Facility,
    FacilityCode,
    FacilityNotFoundError,
    FacilityStatus,
    facility_by_code,
)
from beamkeep.kernel import (
    Aggregate,
    Axis,
    Call,
    Cannot,
    Command,
    Event,
    Invalid,
    Listing,
    Lock,
    NotFound,
    Reader,
    Record,
    SideWrite,
    reads,
    replace,
)
from beamkeep.kernel.values import FreeText, Name, Reason, trimmed, trimmed_or_none
from beamkeep.schemas import JsonObject, carry_settings, merge_patch

from .family import Family, FamilyNotFoundError, FamilyStatus, families
from .model import Model, ModelNotFoundError, models
from .place import ASSET_TREE, PLACES, Place, facility_scopes, upwards

MOST_IDENTIFIERS = 50
MOST_FAMILIES = 100
SCHEMES = ("doi:", "hdl:", "http:", "https:")
RETIRED = frozenset({FacilityStatus.DECOMMISSIONED, FamilyStatus.DEPRECATED})
"""Whatever a retired thing is called, its status is one of these two words."""


class AssetTier(StrEnum):
    UNIT = "Unit"
    COMPONENT = "Component"
    DEVICE = "Device"


class AssetLifecycle(StrEnum):
    """May it be assigned?"""

    COMMISSIONED = "Commissioned"
    ACTIVE = "Active"
    MAINTENANCE = "Maintenance"
    DECOMMISSIONED = "Decommissioned"


class AssetCondition(StrEnum):
    """Does it work?"""

    NOMINAL = "Nominal"
    DEGRADED = "Degraded"
    FAULTED = "Faulted"


class AlternateIdentifierKind(StrEnum):
    INVENTORY_NUMBER = "InventoryNumber"
    EPICS_PV = "EPICS_PV"
    TANGO_ATTRIBUTE = "TANGO_ATTRIBUTE"
    CONTROLSYS_PV = "CONTROLSYS_PV"
    OTHER = "Other"


class ExternalIdNamespace(StrEnum):
    DOI = "doi"
    HANDLE = "handle"


type ShortText = Annotated[str, MinLen(1), MaxLen(200)]


class AlternateIdentifier(Record, order=True):
    """What another system calls an asset."""

    kind: AlternateIdentifierKind
    value: ShortText


# Events are stored for ever: add a field with a default; never rename or drop one.
class AssetEvent(Event):
    asset_id: UUID


class AssetRegistered(AssetEvent):
    name: str
    tier: AssetTier
    parent_id: UUID | None
    facility_code: str | None
    family_ids: tuple[UUID, ...]
    model_id: UUID | None
    located_in_enclosure_id: UUID | None
    alternate_identifiers: tuple[AlternateIdentifier, ...]


class AssetRenamed(AssetEvent):
    name: str


class AssetActivated(AssetEvent): ...


class AssetMaintenanceEntered(AssetEvent):
    reason: FreeText | None = None


class AssetMaintenanceExited(AssetEvent): ...


class AssetDecommissioned(AssetEvent): ...


class AssetDegraded(AssetEvent):
    reason: FreeText


class AssetFaulted(AssetEvent):
    reason: FreeText


class AssetRestored(AssetEvent):
    reason: FreeText


class AssetRelocated(AssetEvent):
    from_parent_id: UUID
    to_parent_id: UUID
    reason: FreeText


class AssetLocated(AssetEvent):
    located_in_enclosure_id: UUID | None


class AssetFamilyAdded(AssetEvent):
    family_id: UUID


class AssetFamilyRemoved(AssetEvent):
    family_id: UUID


class AssetSettingsUpdated(AssetEvent):
    settings: JsonObject


class AssetAlternateIdentifierAdded(AssetEvent):
    kind: AlternateIdentifierKind
    value: str


class AssetAlternateIdentifierRemoved(AssetEvent):
    kind: AlternateIdentifierKind
    value: str


class AssetExternalIdAssigned(AssetEvent):
    external_id_namespace: ExternalIdNamespace
    external_id: str


class AssetInstalledInMount(AssetEvent):
    mount_id: UUID


class AssetUninstalledFromMount(AssetEvent):
    mount_id: UUID
    reason: FreeText


type AssetReady = AssetActivated | AssetMaintenanceEntered | AssetMaintenanceExited
type AssetJudged = AssetDegraded | AssetFaulted | AssetRestored
type AssetPlaced = AssetRelocated | AssetLocated | AssetInstalledInMount | AssetUninstalledFromMount
type AssetNamed = (
    AssetRenamed
    | AssetAlternateIdentifierAdded
    | AssetAlternateIdentifierRemoved
    | AssetExternalIdAssigned
)
type AssetConfigured = AssetFamilyAdded | AssetFamilyRemoved | AssetSettingsUpdated
type AssetChanged = (
    AssetReady | AssetDecommissioned | AssetJudged | AssetPlaced | AssetNamed | AssetConfigured
)


class AssetNotFoundError(NotFound):
    """The asset does not exist."""


class InvalidAssetNameError(Invalid):
    """The asset's name is not usable."""


class InvalidAssetParentError(Invalid):
    """An asset stands either under another asset or, as a root, at a facility; name one of them."""


class InvalidAssetAlternateIdentifierError(Invalid):
    """The alternate identifiers are not usable."""


class InvalidAssetReasonError(Invalid):
    """The reason is not usable."""


class InvalidAssetSettingsError(Invalid):
    """The settings do not follow the schemas of the asset's families."""


class InvalidAssetExternalIdError(Invalid):
    """An external identifier is the bare value; leave out doi:, hdl:, http: or https:."""


class AssetCannotRegisterError(Cannot):
    """The asset cannot be registered: it names something that is no longer in use."""


class AssetModelMismatchError(Cannot):
    """The asset's model does not declare the family; choose another or version the model."""


class AssetCannotRenameError(Cannot):
    """The asset cannot be renamed."""


class AssetCannotActivateError(Cannot):
    """The asset cannot be activated."""


class AssetCannotEnterMaintenanceError(Cannot):
    """The asset cannot enter maintenance."""


class AssetCannotExitMaintenanceError(Cannot):
    """The asset cannot exit maintenance."""


class AssetCannotDecommissionError(Cannot):
    """The asset cannot be decommissioned."""


class AssetIsInstalledError(Cannot):
    """The asset is installed in a mount; uninstall it first."""


class AssetCannotDegradeError(Cannot):
    """The asset cannot be marked degraded."""


class AssetCannotFaultError(Cannot):
    """The asset cannot be marked faulted."""


class AssetCannotRestoreError(Cannot):
    """The asset cannot be restored."""


class AssetCannotRelocateError(Cannot):
    """The asset cannot be put under that parent."""


class AssetCannotLocateError(Cannot):
    """The asset cannot be located there."""


class AssetCannotAddFamilyError(Cannot):
    """The asset cannot join the family."""


class AssetCannotRemoveFamilyError(Cannot):
    """The asset cannot leave the family."""


class AssetCannotUpdateSettingsError(Cannot):
    """The asset's settings cannot be changed."""


class AssetCannotAddAlternateIdentifierError(Cannot):
    """The alternate identifier cannot be added."""


class AssetCannotRemoveAlternateIdentifierError(Cannot):
    """The alternate identifier cannot be removed."""


class AssetCannotAssignExternalIdError(Cannot):
    """The asset has its external identifier; a published one is never changed."""


L, C = AssetLifecycle, AssetCondition

LIFECYCLE: Axis[AssetLifecycle, AssetReady | AssetDecommissioned] = Axis(
    "lifecycle",
    # event, allowed from, leads to, refused with
    (AssetActivated, {L.COMMISSIONED}, L.ACTIVE, AssetCannotActivateError),
    (AssetMaintenanceEntered, {L.ACTIVE}, L.MAINTENANCE, AssetCannotEnterMaintenanceError),
    (AssetMaintenanceExited, {L.MAINTENANCE}, L.ACTIVE, AssetCannotExitMaintenanceError),
    (
        AssetDecommissioned,
        {L.COMMISSIONED, L.ACTIVE, L.MAINTENANCE},
        L.DECOMMISSIONED,
        AssetCannotDecommissionError,
    ),
)
CONDITION: Axis[AssetCondition, AssetJudged] = Axis(
    "condition",
    (AssetDegraded, {C.NOMINAL, C.FAULTED}, C.DEGRADED, AssetCannotDegradeError),
    (AssetFaulted, {C.NOMINAL, C.DEGRADED}, C.FAULTED, AssetCannotFaultError),
    (AssetRestored, {C.DEGRADED, C.FAULTED}, C.NOMINAL, AssetCannotRestoreError),
)


class Asset(Record):
    id: UUID
    name: str
    tier: AssetTier
    parent_id: UUID | None
    facility_code: str | None
    family_ids: frozenset[UUID]
    model_id: UUID | None
    located_in_enclosure_id: UUID | None
    alternate_identifiers: frozenset[AlternateIdentifier]
    settings: JsonObject
    commissioned_at: datetime
    decommissioned_at: datetime | None = None
    lifecycle: AssetLifecycle = AssetLifecycle.COMMISSIONED
    condition: AssetCondition = AssetCondition.NOMINAL
    mount_id: UUID | None = None
    external_id: str | None = None
    external_id_namespace: ExternalIdNamespace | None = None
    lifecycle_since: datetime | None = None
    lifecycle_reason: str | None = None
    """Why it is in maintenance, where that was said."""
    condition_since: datetime | None = None
    condition_reason: str | None = None
    """Why its condition is what it is; none of one that was never anything but nominal."""


def begin(event: AssetRegistered) -> Asset:
    return Asset(
        event.asset_id,
        event.name,
        event.tier,
        event.parent_id,
        event.facility_code,
        frozenset(event.family_ids),
        event.model_id,
        event.located_in_enclosure_id,
        frozenset(event.alternate_identifiers),
        {},
        event.occurred_at,
        lifecycle_since=event.occurred_at,
        condition_since=event.occurred_at,
    )


def evolve(asset: Asset, event: AssetChanged) -> Asset:
    match event:
        case AssetActivated() | AssetMaintenanceEntered() | AssetMaintenanceExited():
            return _in_lifecycle(asset, event)
        case AssetDecommissioned():
            return replace(_in_lifecycle(asset, event), decommissioned_at=event.occurred_at)
        case AssetDegraded() | AssetFaulted() | AssetRestored():
            return replace(
                asset,
                condition=CONDITION.after(event),
                condition_since=event.occurred_at,
                condition_reason=event.reason,
            )
        case AssetRelocated():
            return replace(asset, parent_id=event.to_parent_id)
        case AssetLocated():
            return replace(asset, located_in_enclosure_id=event.located_in_enclosure_id)
        case AssetInstalledInMount():
            return replace(asset, mount_id=event.mount_id)
        case AssetUninstalledFromMount():
            return replace(asset, mount_id=None)
        case AssetRenamed():
            return replace(asset, name=event.name)
        case AssetAlternateIdentifierAdded() | AssetAlternateIdentifierRemoved():
            one = {AlternateIdentifier(event.kind, event.value)}
            added = isinstance(event, AssetAlternateIdentifierAdded)
            held = asset.alternate_identifiers
            return replace(asset, alternate_identifiers=held | one if added else held - one)
        case AssetExternalIdAssigned():
            namespace = event.external_id_namespace
            return replace(asset, external_id=event.external_id, external_id_namespace=namespace)
        case AssetFamilyAdded():
            return replace(asset, family_ids=asset.family_ids | {event.family_id})
        case AssetFamilyRemoved():
            return replace(asset, family_ids=asset.family_ids - {event.family_id})
        case AssetSettingsUpdated():
            return replace(asset, settings=event.settings)


def _in_lifecycle(asset: Asset, event: AssetReady | AssetDecommissioned) -> Asset:
    return replace(
        asset,
        lifecycle=LIFECYCLE.after(event),
        lifecycle_since=event.occurred_at,
        lifecycle_reason=event.reason if isinstance(event, AssetMaintenanceEntered) else None,
    )


class RegisterAsset(Command):
    name: Name
    """Its role, in one word where that is enough; what it is made by and called goes elsewhere."""
    tier: AssetTier
    parent_id: UUID | None = None
    """The asset it stands under; left out for a root."""
    facility_code: FacilityCode | None = None
    """The facility a root stands at; left out for every other asset."""
    family_ids: Annotated[frozenset[UUID], MaxLen(MOST_FAMILIES)] = frozenset()
    model_id: UUID | None = None
    located_in_enclosure_id: UUID | None = None
    alternate_identifiers: frozenset[AlternateIdentifier] = frozenset()
    """At most 50."""


class AssetCommand(Command):
    asset_id: UUID


class AssetCommandWithReason(AssetCommand):
    reason: Reason


class AssetFamilyCommand(AssetCommand):
    family_id: UUID


class AssetIdentifierCommand(AssetCommand):
    kind: AlternateIdentifierKind
    value: ShortText


class RenameAsset(AssetCommand):
    name: Name


class ActivateAsset(AssetCommand): ...


class EnterAssetMaintenance(AssetCommand):
    reason: Reason | None = None
    """What is done; those who come after read it in the handover."""


class ExitAssetMaintenance(AssetCommand): ...


class DecommissionAsset(AssetCommand): ...


class DegradeAsset(AssetCommandWithReason): ...


class FaultAsset(AssetCommandWithReason): ...


class RestoreAsset(AssetCommandWithReason): ...


class RelocateAsset(AssetCommandWithReason):
    to_parent_id: UUID


class LocateAsset(AssetCommand):
    located_in_enclosure_id: UUID | None
    """Null when it is in no enclosure any more."""


class AddAssetFamily(AssetFamilyCommand): ...


class RemoveAssetFamily(AssetFamilyCommand): ...


class UpdateAssetSettings(AssetCommand):
    settings_patch: JsonObject
    """A merge patch (RFC 7396): what it names is set, null removes, all else stays."""


class AddAssetAlternateIdentifier(AssetIdentifierCommand): ...


class RemoveAssetAlternateIdentifier(AssetIdentifierCommand): ...


class AssignAssetExternalId(AssetCommand):
    external_id_namespace: ExternalIdNamespace
    external_id: ShortText
    """The bare value, as 10.5281/zenodo.42 for a DOI."""


class Referred(Record):
    """What a new asset refers to."""

    parent: Asset | None
    facility: Facility | None
    families: Mapping[UUID, Family]
    model: Model | None
    enclosure: Enclosure | None


class Membership(Record):
    """The family an asset is to join, and the model that says which it may."""

    family: Family
    model: Model | None


async def referred(command: RegisterAsset, read: Reader) -> Referred:
    code, enclosure_id = command.facility_code, command.located_in_enclosure_id
    return Referred(
        await read.one(assets, command.parent_id) if command.parent_id else None,
        await facility_by_code(code, read) if code else None,
        await read.many(families, sorted(command.family_ids)),
        await read.one(models, command.model_id) if command.model_id else None,
        await read.one(enclosures, enclosure_id) if enclosure_id else None,
    )


async def lineage(asset: Asset, command: RelocateAsset, read: Reader) -> list[Asset]:
    """The parent to be and all above it."""
    known = await with_all_above([command.to_parent_id], read)
    return upwards(command.to_parent_id, {**known, asset.id: asset})


async def with_all_above(ids: Iterable[UUID], read: Reader) -> Mapping[UUID, Asset]:
    """Assets and all that they stand under, folded, so that none of them moves unnoticed."""
    wanted = set(ids)
    known = {**await read.many(assets, sorted(wanted | {*await read.above(PLACES, wanted)}))}
    # The rows may be a moment older than the streams; what these say counts.
    while above := {each.parent_id for each in known.values() if each.parent_id} - known.keys():
        known |= await read.many(assets, sorted(above))
    return known


async def enclosure(asset: Asset, command: LocateAsset, read: Reader) -> Enclosure | None:
    id = command.located_in_enclosure_id
    return await read.one(enclosures, id) if id else None


async def membership(asset: Asset, command: AddAssetFamily, read: Reader) -> Membership:
    family = await read.one(families, command.family_id)
    return Membership(family, await read.one(models, asset.model_id) if asset.model_id else None)


async def own_families(
    asset: Asset, command: UpdateAssetSettings, read: Reader
) -> Mapping[UUID, Family]:
    return await read.many(families, sorted(asset.family_ids))


def register_asset(
    command: RegisterAsset, given: Referred, call: Call
) -> list[AssetRegistered | SideWrite]:
    """Register one physical thing, as a root at a facility or as a part of another asset."""
    name = trimmed(command.name, InvalidAssetNameError)
    if (command.parent_id is None) == (command.facility_code is None):
        raise InvalidAssetParentError
    identifiers = {_identifier(each.kind, each.value) for each in command.alternate_identifiers}
    if len(identifiers) > MOST_IDENTIFIERS:
        raise InvalidAssetAlternateIdentifierError(f"There are over {MOST_IDENTIFIERS}.")
    if retired := _retired(given):
        raise AssetCannotRegisterError(f"Namely, {', '.join(retired)}.")
    _require_declared(command.family_ids, given.model)
    code = given.facility.code if given.facility else None
    return [
        AssetRegistered(
            call.now,
            call.new_id,
            name,
            command.tier,
            command.parent_id,
            code,
            tuple(sorted(command.family_ids)),
            command.model_id,
            command.located_in_enclosure_id,
            tuple(sorted(identifiers)),
        ),
        PLACES.insert(Place(call.new_id, command.parent_id, code)),
    ]


def rename_asset(asset: Asset, command: RenameAsset, call: Call) -> list[AssetRenamed]:
    """Give an asset another name."""
    name = trimmed(command.name, InvalidAssetNameError)
    _require_in_service(asset, AssetCannotRenameError)
    if name == asset.name:
        raise AssetCannotRenameError("That is the name it has.")
    return [AssetRenamed(call.now, asset.id, name)]


def activate_asset(asset: Asset, command: ActivateAsset, call: Call) -> list[AssetActivated]:
    """Take an asset into use."""
    LIFECYCLE.require(asset.lifecycle, AssetActivated)
    return [AssetActivated(call.now, asset.id)]


def enter_asset_maintenance(
    asset: Asset, command: EnterAssetMaintenance, call: Call
) -> list[AssetMaintenanceEntered]:
    """Take an asset out of use for a while."""
    reason = trimmed_or_none(command.reason, InvalidAssetReasonError)
    LIFECYCLE.require(asset.lifecycle, AssetMaintenanceEntered)
    return [AssetMaintenanceEntered(call.now, asset.id, reason)]


def exit_asset_maintenance(
    asset: Asset, command: ExitAssetMaintenance, call: Call
) -> list[AssetMaintenanceExited]:
    """Take an asset back into use."""
    LIFECYCLE.require(asset.lifecycle, AssetMaintenanceExited)
    return [AssetMaintenanceExited(call.now, asset.id)]


def decommission_asset(
    asset: Asset, command: DecommissionAsset, call: Call
) -> list[AssetDecommissioned]:
    """Take an asset out of use for good; what stands under it stays as it is."""
    LIFECYCLE.require(asset.lifecycle, AssetDecommissioned)
    if asset.mount_id is not None:
        raise AssetIsInstalledError(f"It is in mount {asset.mount_id}.", mount_id=asset.mount_id)
    return [AssetDecommissioned(call.now, asset.id)]


def degrade_asset(asset: Asset, command: DegradeAsset, call: Call) -> list[AssetDegraded]:
    """Say that an asset works, but not as well as it should."""
    reason = trimmed(command.reason, InvalidAssetReasonError)
    CONDITION.require(asset.condition, AssetDegraded)
    return [AssetDegraded(call.now, asset.id, reason)]


def fault_asset(asset: Asset, command: FaultAsset, call: Call) -> list[AssetFaulted]:
    """Say that an asset does not work."""
    reason = trimmed(command.reason, InvalidAssetReasonError)
    CONDITION.require(asset.condition, AssetFaulted)
    return [AssetFaulted(call.now, asset.id, reason)]


def restore_asset(asset: Asset, command: RestoreAsset, call: Call) -> list[AssetRestored]:
    """Say that an asset works as it should again."""
    reason = trimmed(command.reason, InvalidAssetReasonError)
    CONDITION.require(asset.condition, AssetRestored)
    return [AssetRestored(call.now, asset.id, reason)]


def relocate_asset(
    asset: Asset, command: RelocateAsset, given: list[Asset], call: Call
) -> list[AssetRelocated | SideWrite]:
    """Put an asset, with all that stands under it, under another parent."""
    reason = trimmed(command.reason, InvalidAssetReasonError)
    if asset.parent_id is None:
        raise AssetCannotRelocateError("It is a root and stays at its facility.")
    _require_in_service(asset, AssetCannotRelocateError)
    parent = given[0]
    if parent.id == asset.id:
        raise AssetCannotRelocateError("Nothing stands under itself.")
    if parent.id == asset.parent_id:
        raise AssetCannotRelocateError("It stands there already.")
    if any(each.id == asset.id for each in given):
        raise AssetCannotRelocateError(f"Asset {parent.id} stands under it; move that one first.")
    if parent.lifecycle is AssetLifecycle.DECOMMISSIONED:
        raise AssetCannotRelocateError(f"Asset {parent.id} is {parent.lifecycle}.")
    return [
        AssetRelocated(call.now, asset.id, asset.parent_id, parent.id, reason),
        PLACES.replace(Place(asset.id, parent.id, None)),
        Lock(ASSET_TREE),
    ]


def locate_asset(
    asset: Asset, command: LocateAsset, given: Enclosure | None, call: Call
) -> list[AssetLocated]:
    """Say which enclosure an asset is in."""
    _require_in_service(asset, AssetCannotLocateError)
    if command.located_in_enclosure_id == asset.located_in_enclosure_id:
        raise AssetCannotLocateError("It is there already.")
    if given and given.lifecycle is EnclosureLifecycle.DECOMMISSIONED:
        raise AssetCannotLocateError(f"Enclosure {given.name} is {given.lifecycle}.")
    return [AssetLocated(call.now, asset.id, command.located_in_enclosure_id)]


def add_asset_family(
    asset: Asset, command: AddAssetFamily, given: Membership, call: Call
) -> list[AssetFamilyAdded]:
    """Make an asset a member of a family."""
    _require_in_service(asset, AssetCannotAddFamilyError)
    if command.family_id in asset.family_ids:
        raise AssetCannotAddFamilyError("It is a member already.")
    if given.family.status is FamilyStatus.DEPRECATED:
        raise AssetCannotAddFamilyError(f"Family {given.family.name} is {given.family.status}.")
    _require_declared({command.family_id}, given.model)
    return [AssetFamilyAdded(call.now, asset.id, command.family_id)]


def remove_asset_family(
    asset: Asset, command: RemoveAssetFamily, call: Call
) -> list[AssetFamilyRemoved]:
    """End an asset's membership of a family; its settings stay until they are next changed."""
    _require_in_service(asset, AssetCannotRemoveFamilyError)
    if command.family_id not in asset.family_ids:
        raise AssetCannotRemoveFamilyError("It is not a member.")
    return [AssetFamilyRemoved(call.now, asset.id, command.family_id)]


def update_asset_settings(
    asset: Asset, command: UpdateAssetSettings, given: Mapping[UUID, Family], call: Call
) -> list[AssetSettingsUpdated]:
    """Change some of an asset's settings; the whole must follow its families' schemas."""
    merged = merge_patch(asset.settings, command.settings_patch)
    schemas = {f"{each.name} ({each.id})": each.settings_schema for each in given.values()}
    settings = carry_settings(merged, schemas, InvalidAssetSettingsError)
    _require_in_service(asset, AssetCannotUpdateSettingsError)
    return [AssetSettingsUpdated(call.now, asset.id, settings)]


def add_asset_alternate_identifier(
    asset: Asset, command: AddAssetAlternateIdentifier, call: Call
) -> list[AssetAlternateIdentifierAdded]:
    """Record what another system calls an asset."""
    one = _identifier(command.kind, command.value)
    _require_in_service(asset, AssetCannotAddAlternateIdentifierError)
    if one in asset.alternate_identifiers:
        raise AssetCannotAddAlternateIdentifierError("It has it already.")
    if len(asset.alternate_identifiers) >= MOST_IDENTIFIERS:
        raise AssetCannotAddAlternateIdentifierError(
            f"It has {MOST_IDENTIFIERS}; remove one first."
        )
    return [AssetAlternateIdentifierAdded(call.now, asset.id, one.kind, one.value)]


def remove_asset_alternate_identifier(
    asset: Asset, command: RemoveAssetAlternateIdentifier, call: Call
) -> list[AssetAlternateIdentifierRemoved]:
    """Strike out what another system calls an asset."""
    one = _identifier(command.kind, command.value)
    _require_in_service(asset, AssetCannotRemoveAlternateIdentifierError)
    if one not in asset.alternate_identifiers:
        raise AssetCannotRemoveAlternateIdentifierError("It does not have it.")
    return [AssetAlternateIdentifierRemoved(call.now, asset.id, one.kind, one.value)]


def assign_asset_external_id(
    asset: Asset, command: AssignAssetExternalId, call: Call
) -> list[AssetExternalIdAssigned]:
    """Record the persistent identifier that was minted for an asset outside, once and for all."""
    external_id = trimmed(command.external_id, InvalidAssetExternalIdError)
    if external_id.lower().startswith(SCHEMES):
        raise InvalidAssetExternalIdError
    if asset.external_id is not None:
        raise AssetCannotAssignExternalIdError(f"It is {asset.external_id}.")
    return [AssetExternalIdAssigned(call.now, asset.id, command.external_id_namespace, external_id)]


def _require_in_service(asset: Asset, refusal: type[Cannot]) -> None:
    if asset.lifecycle is AssetLifecycle.DECOMMISSIONED:
        raise refusal(f"It is {asset.lifecycle}, for good.")


def _require_declared(family_ids: Set[UUID], model: Model | None) -> None:
    """Refuse families that a bound model does not declare."""
    if model and (other := family_ids - model.declared_family_ids):
        named = ", ".join(map(str, sorted(other)))
        raise AssetModelMismatchError(f"Model {model.name} does not declare {named}.")


def _identifier(kind: AlternateIdentifierKind, value: str) -> AlternateIdentifier:
    return AlternateIdentifier(kind, trimmed(value, InvalidAssetAlternateIdentifierError))


def _retired(given: Referred) -> list[str]:
    """What a new asset refers to and is no longer in use."""
    found = [
        ("its parent", given.parent and given.parent.lifecycle),
        ("its facility", given.facility and given.facility.status),
        ("its enclosure", given.enclosure and given.enclosure.lifecycle),
        *((f"family {family.name}", family.status) for family in given.families.values()),
        ("its model", given.model and given.model.status),
    ]
    return [f"{what} is {status}" for what, status in found if status in RETIRED]


assets = Aggregate("Asset", begin, evolve, AssetNotFoundError)

# fmt: off
OPERATIONS = (
    assets.creates("POST /assets", RegisterAsset, register_asset, AssetNotFoundError,
        FacilityNotFoundError, FamilyNotFoundError, ModelNotFoundError, EnclosureNotFoundError,
        InvalidAssetNameError, InvalidAssetParentError, InvalidAssetAlternateIdentifierError,
        AssetCannotRegisterError, AssetModelMismatchError, given=referred),
    assets.changes("POST /assets/{asset_id}/rename", RenameAsset, rename_asset,
        InvalidAssetNameError, AssetCannotRenameError),
    assets.changes("POST /assets/{asset_id}/activate", ActivateAsset, activate_asset,
        AssetCannotActivateError),
    assets.changes("POST /assets/{asset_id}/enter-maintenance", EnterAssetMaintenance,
        enter_asset_maintenance, InvalidAssetReasonError, AssetCannotEnterMaintenanceError),
    assets.changes("POST /assets/{asset_id}/exit-maintenance", ExitAssetMaintenance,
        exit_asset_maintenance, AssetCannotExitMaintenanceError),
    assets.changes("POST /assets/{asset_id}/decommission", DecommissionAsset, decommission_asset,
        AssetCannotDecommissionError, AssetIsInstalledError),
    assets.changes("POST /assets/{asset_id}/degrade", DegradeAsset, degrade_asset,
        InvalidAssetReasonError, AssetCannotDegradeError),
    assets.changes("POST /assets/{asset_id}/fault", FaultAsset, fault_asset,
        InvalidAssetReasonError, AssetCannotFaultError),
    assets.changes("POST /assets/{asset_id}/restore", RestoreAsset, restore_asset,
        InvalidAssetReasonError, AssetCannotRestoreError),
    assets.changes("POST /assets/{asset_id}/relocate", RelocateAsset, relocate_asset,
        InvalidAssetReasonError, AssetCannotRelocateError, given=lineage),
    assets.changes("POST /assets/{asset_id}/locate", LocateAsset, locate_asset,
        EnclosureNotFoundError, AssetCannotLocateError, given=enclosure),
    assets.changes("POST /assets/{asset_id}/add-family", AddAssetFamily, add_asset_family,
        FamilyNotFoundError, AssetCannotAddFamilyError, AssetModelMismatchError, given=membership),
    assets.changes("POST /assets/{asset_id}/remove-family", RemoveAssetFamily, remove_asset_family,
        AssetCannotRemoveFamilyError),
    assets.changes("POST /assets/{asset_id}/update-settings", UpdateAssetSettings,
        update_asset_settings, InvalidAssetSettingsError, AssetCannotUpdateSettingsError,
        given=own_families),
    assets.changes("POST /assets/{asset_id}/add-alternate-identifier", AddAssetAlternateIdentifier,
        add_asset_alternate_identifier, InvalidAssetAlternateIdentifierError,
        AssetCannotAddAlternateIdentifierError),
    assets.changes("POST /assets/{asset_id}/remove-alternate-identifier",
        RemoveAssetAlternateIdentifier, remove_asset_alternate_identifier,
        InvalidAssetAlternateIdentifierError, AssetCannotRemoveAlternateIdentifierError),
    assets.changes("POST /assets/{asset_id}/assign-external-id", AssignAssetExternalId,
        assign_asset_external_id, InvalidAssetExternalIdError, AssetCannotAssignExternalIdError),
)
# fmt: on


class ListAssets(Listing):
    """List assets, by age."""

    tier: AssetTier | None = None
    lifecycle: AssetLifecycle | None = None
    condition: AssetCondition | None = None
    parent_id: UUID | None = None
    """Those directly under this asset."""
    below: UUID | None = None
    """Everything that stands under this asset, however deep; the asset itself is left out."""
    above: UUID | None = None
    """Everything this asset stands under, up to the root; the asset itself is left out."""
    family_id: UUID | None = None
    facility_code: FacilityCode | None = None
    """The roots at this facility."""
    located_in_enclosure_id: UUID | None = None
    """What is said to be in this enclosure itself; parts of such an asset have their own say."""
    model_id: UUID | None = None


QUESTIONS = reads(
    "/assets",
    assets,
    ListAssets,
    facets={"family_id": lambda asset: asset.family_ids},
    shown_with=facility_scopes,
    tree=PLACES,
    version=2,
)
