"""Asset: one physical thing in the tree of assets: a beamline, a sub-system or a device."""

from collections.abc import Iterable, Mapping, Sequence, Set
from datetime import datetime
from enum import StrEnum
from typing import Annotated
from uuid import UUID

from annotated_types import MaxLen

from beamkeep.contexts.enclosure.enclosure import Enclosure, EnclosureNotFoundError, enclosures
from beamkeep.contexts.federation import facility
from beamkeep.contexts.federation.facility import Facility, FacilityCode, FacilityNotFoundError
from beamkeep.contexts.seams.installation import Reader
from beamkeep.contexts.seams.outside import Identifier
from beamkeep.contexts.seams.place import (
    ASSET_TREE,
    FORMER_PLACES,
    PLACES,
    AssetPlace,
    FacilityScope,
    FormerPlace,
    facility_scopes,
    upwards,
)
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
    Lock,
    NotFound,
    Record,
    SideWrite,
    reads,
    replace,
)
from beamkeep.kernel.values import FreeText, Name, Reason, Trimmed
from beamkeep.schemas import JsonObject, UnitChange, carry_settings, merge_patch, untouched

from .declaration import DeclarationStatus
from .family import Family, FamilyNotFoundError, families
from .model import Model, ModelNotFoundError, models
from .setting_units import (
    FamilyVersion,
    SettingFamilies,
    setting_families,
    setting_units_changed,
)

MOST_IDENTIFIERS = 50
MOST_FAMILIES = 100
SCHEMES = ("doi:", "hdl:", "http:", "https:")


class AssetTier(StrEnum):
    UNIT = "Unit"
    COMPONENT = "Component"
    DEVICE = "Device"


class AssetLifecycle(StrEnum):
    """Whether an asset is in service."""

    COMMISSIONED = "Commissioned"
    ACTIVE = "Active"
    MAINTENANCE = "Maintenance"
    DECOMMISSIONED = "Decommissioned"


class AssetCondition(StrEnum):
    """How well an asset works."""

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


class InvalidAssetAlternateIdentifierError(Invalid):
    """An asset can have at most 50 alternate identifiers, none of them blank."""


class AlternateIdentifier(Record, order=True):
    """The identifier of an asset in another system."""

    kind: AlternateIdentifierKind
    value: Annotated[Name, Identifier(InvalidAssetAlternateIdentifierError)]


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


class AssetLifecycleEvent(AssetEvent): ...


class AssetActivated(AssetLifecycleEvent): ...


class AssetMaintenanceEntered(AssetLifecycleEvent):
    reason: FreeText | None = None


class AssetMaintenanceExited(AssetLifecycleEvent): ...


class AssetDecommissioned(AssetLifecycleEvent): ...


class AssetConditionEvent(AssetEvent):
    reason: FreeText


class AssetDegraded(AssetConditionEvent): ...


class AssetFaulted(AssetConditionEvent): ...


class AssetRestored(AssetConditionEvent): ...


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
    family_versions: tuple[FamilyVersion, ...] | None = None


class AssetIdentifierEvent(AssetEvent):
    kind: AlternateIdentifierKind
    value: str


class AssetAlternateIdentifierAdded(AssetIdentifierEvent): ...


class AssetAlternateIdentifierRemoved(AssetIdentifierEvent): ...


class AssetExternalIdAssigned(AssetEvent):
    external_id_namespace: ExternalIdNamespace
    external_id: str


class AssetInstalledInMount(AssetEvent):
    """Installed in a mount."""

    mount_id: UUID


class AssetUninstalledFromMount(AssetEvent):
    """Removed from its mount."""

    mount_id: UUID
    reason: FreeText


# fmt: off
type AssetChanged = (
    AssetActivated | AssetMaintenanceEntered | AssetMaintenanceExited | AssetDecommissioned
    | AssetDegraded | AssetFaulted | AssetRestored | AssetRelocated | AssetLocated
    | AssetInstalledInMount | AssetUninstalledFromMount | AssetRenamed
    | AssetAlternateIdentifierAdded | AssetAlternateIdentifierRemoved | AssetExternalIdAssigned
    | AssetFamilyAdded | AssetFamilyRemoved | AssetSettingsUpdated
)
# fmt: on


class AssetNotFoundError(NotFound): ...


class InvalidAssetNameError(Blank): ...


class InvalidAssetFamilyIdsError(Invalid):
    """An asset must belong to at least one family."""


class InvalidAssetParentError(Invalid):
    """An asset must have either a parent or, as a root, a facility."""


class InvalidAssetReasonError(Blank): ...


class InvalidAssetSettingsError(Invalid):
    """Settings must fit the settings schemas of the asset's families."""


class InvalidAssetExternalIdError(Invalid):
    """External identifier must not be blank or start with doi:, hdl:, http: or https:."""


class AssetCannotRegisterError(Cannot):
    """A new asset cannot refer to anything that is decommissioned or deprecated."""


class AssetModelMismatchError(Cannot):
    """An asset can only join families that its model declares."""


class AssetCannotRenameError(Cannot):
    """Only an asset that is not decommissioned can be renamed, and only to another name."""


class AssetCannotActivateError(Cannot):
    """Only a commissioned asset can be activated."""


class AssetCannotEnterMaintenanceError(Cannot):
    """Only an active asset can enter maintenance."""


class AssetCannotExitMaintenanceError(Cannot):
    """Only an asset in maintenance can exit maintenance."""


class AssetCannotDecommissionError(Cannot):
    """A decommissioned asset cannot be decommissioned again."""


class AssetIsInstalledError(Cannot):
    """An installed asset cannot be decommissioned; uninstall the asset first."""


class AssetCannotDegradeError(Cannot):
    """A degraded asset cannot be degraded again."""


class AssetCannotFaultError(Cannot):
    """A faulted asset cannot be faulted again."""


class AssetCannotRestoreError(Cannot):
    """Only a degraded or faulted asset can be restored."""


class AssetCannotRelocateError(Cannot):
    """The asset cannot be moved under that parent."""


class AssetCannotLocateError(Cannot):
    """The location of the asset cannot be changed."""


class AssetCannotAddFamilyError(Cannot):
    """The asset cannot join the family."""


class AssetCannotRemoveFamilyError(Cannot):
    """An asset in use can leave a family that it is a member of, if another is left."""


class AssetCannotUpdateSettingsError(Cannot):
    """The settings of a decommissioned asset cannot be changed."""


class AssetSettingUnitsChangedError(Cannot):
    """A family has changed the unit of a setting that the patch does not name."""


class AssetCannotAddAlternateIdentifierError(Cannot):
    """The alternate identifier cannot be added."""


class AssetCannotRemoveAlternateIdentifierError(Cannot):
    """Only an alternate identifier that an asset in use has can be removed."""


class AssetCannotAssignExternalIdError(Cannot):
    """The external identifier of an asset cannot be changed once it is assigned."""


L, C = AssetLifecycle, AssetCondition
IN_SERVICE = frozenset({L.COMMISSIONED, L.ACTIVE, L.MAINTENANCE})
RETIRED = frozenset({L.DECOMMISSIONED, DeclarationStatus.DEPRECATED})

LIFECYCLE: Axis[AssetLifecycle, AssetLifecycleEvent] = Axis(
    "lifecycle",
    # event, allowed from, leads to, refused with
    (AssetActivated, {L.COMMISSIONED}, L.ACTIVE, AssetCannotActivateError),
    (AssetMaintenanceEntered, {L.ACTIVE}, L.MAINTENANCE, AssetCannotEnterMaintenanceError),
    (AssetMaintenanceExited, {L.MAINTENANCE}, L.ACTIVE, AssetCannotExitMaintenanceError),
    (AssetDecommissioned, IN_SERVICE, L.DECOMMISSIONED, AssetCannotDecommissionError),
)
CONDITION: Axis[AssetCondition, AssetConditionEvent] = Axis(
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
    """The reason of the maintenance, if one was given."""
    condition_since: datetime | None = None
    condition_reason: str | None = None
    """The reason of the last change of condition; null if the condition never changed."""
    settings_family_versions: tuple[FamilyVersion, ...] | None = None
    """The versions of the families when the settings were last written."""


def begin(event: AssetRegistered) -> Asset:
    return Asset.of(
        event,
        id=event.asset_id,
        family_ids=frozenset(event.family_ids),
        alternate_identifiers=frozenset(event.alternate_identifiers),
        settings={},
        commissioned_at=event.occurred_at,
        lifecycle_since=event.occurred_at,
        condition_since=event.occurred_at,
    )


def evolve(asset: Asset, event: AssetChanged) -> Asset:
    match event:
        case AssetLifecycleEvent():
            reason = event.reason if isinstance(event, AssetMaintenanceEntered) else None
            ended = event.occurred_at if isinstance(event, AssetDecommissioned) else None
            asset = replace(asset, lifecycle_reason=reason, decommissioned_at=ended)
            lifecycle, since = LIFECYCLE.after(event), event.occurred_at
            return replace(asset, lifecycle=lifecycle, lifecycle_since=since)
        case AssetConditionEvent():
            asset = replace(asset, condition=CONDITION.after(event))
            since, reason = event.occurred_at, event.reason
            return replace(asset, condition_since=since, condition_reason=reason)
        case AssetRelocated():
            return replace(asset, parent_id=event.to_parent_id)
        case AssetLocated():
            return replace(asset, located_in_enclosure_id=event.located_in_enclosure_id)
        case AssetInstalledInMount():
            return replace(asset, mount_id=event.mount_id)
        case AssetUninstalledFromMount():
            return replace(asset, mount_id=None)
        case AssetFamilyAdded():
            return replace(asset, family_ids=asset.family_ids | {event.family_id})
        case AssetFamilyRemoved():
            return replace(asset, family_ids=asset.family_ids - {event.family_id})
        case AssetIdentifierEvent():
            one, held = {AlternateIdentifier(event.kind, event.value)}, asset.alternate_identifiers
            added = isinstance(event, AssetAlternateIdentifierAdded)
            return replace(asset, alternate_identifiers=held | one if added else held - one)
        case AssetRenamed():
            return replace(asset, name=event.name)
        case AssetExternalIdAssigned():
            namespace = event.external_id_namespace
            return replace(asset, external_id=event.external_id, external_id_namespace=namespace)
        case AssetSettingsUpdated():
            versions = event.family_versions
            return replace(asset, settings=event.settings, settings_family_versions=versions)


class ShownAsset(FacilityScope):
    setting_units_changed: tuple[UnitChange, ...] | None
    """Settings whose unit a family has changed since they were written; null for an earlier
    state."""


class RegisterAsset(Command):
    name: Annotated[Name, Trimmed(InvalidAssetNameError)]
    """The role of the asset, in one word if possible; vendor and identifiers go elsewhere."""
    tier: AssetTier
    parent_id: UUID | None = None
    """The asset above this one; leave out for a root."""
    facility_code: FacilityCode | None = None
    """The facility of a root; leave out for any other asset."""
    family_ids: Annotated[frozenset[UUID], MaxLen(MOST_FAMILIES)]
    """What kind of device it is: at least one family."""
    model_id: UUID | None = None
    located_in_enclosure_id: UUID | None = None
    alternate_identifiers: frozenset[AlternateIdentifier] = frozenset()
    """At most 50."""


class AssetCommand(Command):
    asset_id: UUID


class AssetCommandWithReason(AssetCommand):
    reason: Annotated[Reason, Trimmed(InvalidAssetReasonError)]


class AssetFamilyCommand(AssetCommand):
    family_id: UUID


class AssetIdentifierCommand(AssetCommand):
    kind: AlternateIdentifierKind
    value: Annotated[Name, Identifier(InvalidAssetAlternateIdentifierError)]


class RenameAsset(AssetCommand):
    name: Annotated[Name, Trimmed(InvalidAssetNameError)]


class ActivateAsset(AssetCommand): ...


class EnterAssetMaintenance(AssetCommand):
    reason: Annotated[Reason, Trimmed(InvalidAssetReasonError)] | None = None
    """The work that is done; the shift handover shows it."""


class ExitAssetMaintenance(AssetCommand): ...


class DecommissionAsset(AssetCommand): ...


class DegradeAsset(AssetCommandWithReason): ...


class FaultAsset(AssetCommandWithReason): ...


class RestoreAsset(AssetCommandWithReason): ...


class RelocateAsset(AssetCommandWithReason):
    to_parent_id: UUID


class LocateAsset(AssetCommand):
    located_in_enclosure_id: UUID | None
    """The enclosure; null if the asset is in none."""


class AddAssetFamily(AssetFamilyCommand): ...


class RemoveAssetFamily(AssetFamilyCommand): ...


class UpdateAssetSettings(AssetCommand):
    settings_patch: JsonObject
    """A JSON merge patch (RFC 7396): a value sets a setting, null removes it."""


class AddAssetAlternateIdentifier(AssetIdentifierCommand): ...


class RemoveAssetAlternateIdentifier(AssetIdentifierCommand): ...


class AssignAssetExternalId(AssetCommand):
    external_id_namespace: ExternalIdNamespace
    external_id: Annotated[Name, Identifier(InvalidAssetExternalIdError)]
    """The value without a prefix, for example 10.5281/zenodo.42 for a DOI."""


class AssetReferences(Record):
    """What an asset is to refer to."""

    parent: Asset | None = None
    facility: Facility | None = None
    families: Mapping[UUID, Family] = {}
    model: Model | None = None
    enclosure: Enclosure | None = None


async def references(command: RegisterAsset, read: Reader) -> AssetReferences:
    code, enclosure_id = command.facility_code, command.located_in_enclosure_id
    return AssetReferences(
        await read.one(assets, command.parent_id) if command.parent_id else None,
        await facility.facility_by_code(code, read) if code else None,
        families=await read.many(families, sorted(command.family_ids)),
        model=await read.one(models, command.model_id) if command.model_id else None,
        enclosure=await read.one(enclosures, enclosure_id) if enclosure_id else None,
    )


async def lineage(asset: Asset, command: RelocateAsset, read: Reader) -> list[Asset]:
    """Return the new parent and all assets above it."""
    known = await with_all_above([command.to_parent_id], read)
    return upwards(command.to_parent_id, {**known, asset.id: asset})


async def with_all_above(ids: Iterable[UUID], read: Reader) -> Mapping[UUID, Asset]:
    """Return assets and all assets above them, folded, so that none of them moves unnoticed."""
    wanted = set(ids)
    known = {**await read.many(assets, sorted(wanted | {*await read.above(PLACES, wanted)}))}
    # The rows may be a moment older than the streams; the streams count.
    while above := {each.parent_id for each in known.values() if each.parent_id} - known.keys():
        known |= await read.many(assets, sorted(above))
    return known


async def enclosure(asset: Asset, command: LocateAsset, read: Reader) -> Enclosure | None:
    id = command.located_in_enclosure_id
    return await read.one(enclosures, id) if id else None


async def family_and_model(asset: Asset, command: AddAssetFamily, read: Reader) -> AssetReferences:
    joined = await read.many(families, [command.family_id])
    model = await read.one(models, asset.model_id) if asset.model_id else None
    return AssetReferences(families=joined, model=model)


async def _setting_families(asset: Asset, read: Reader) -> SettingFamilies:
    written_for = asset.settings_family_versions
    return await setting_families(asset.family_ids, asset.settings, written_for, read)


def register_asset(
    command: RegisterAsset, given: AssetReferences, call: Call
) -> list[AssetRegistered | SideWrite]:
    """Register a physical asset, as a root at a facility or below another asset."""
    if (command.parent_id is None) == (command.facility_code is None):
        raise InvalidAssetParentError("Send exactly one of parent_id and facility_code.")
    if not command.family_ids:
        raise InvalidAssetFamilyIdsError
    if len(identifiers := command.alternate_identifiers) > MOST_IDENTIFIERS:
        raise InvalidAssetAlternateIdentifierError(f"There are {len(identifiers)}.")
    referred = given.parent, given.facility, given.enclosure, given.model
    _require_in_use(AssetCannotRegisterError, *referred, *given.families.values())
    _require_declared(command.family_ids, given.model)
    registered = AssetRegistered.of(
        command,
        occurred_at=call.now,
        asset_id=call.new_id,
        family_ids=tuple(sorted(command.family_ids)),
        alternate_identifiers=tuple(sorted(identifiers)),
    )
    return [registered, PLACES.insert(AssetPlace.of(registered))]


def rename_asset(asset: Asset, command: RenameAsset, call: Call) -> list[AssetRenamed]:
    """Rename an asset."""
    _require_in_use(AssetCannotRenameError, asset)
    if command.name == asset.name:
        raise AssetCannotRenameError(f"The name is {command.name} already.")
    return [AssetRenamed(call.now, asset.id, command.name)]


def activate_asset(asset: Asset, command: ActivateAsset, call: Call) -> list[AssetActivated]:
    """Put a commissioned asset into service."""
    return [LIFECYCLE.allow(asset.lifecycle, AssetActivated(call.now, asset.id))]


def enter_asset_maintenance(
    asset: Asset, command: EnterAssetMaintenance, call: Call
) -> list[AssetMaintenanceEntered]:
    """Take an active asset out of service for maintenance."""
    entered = AssetMaintenanceEntered(call.now, asset.id, command.reason)
    return [LIFECYCLE.allow(asset.lifecycle, entered)]


def exit_asset_maintenance(
    asset: Asset, command: ExitAssetMaintenance, call: Call
) -> list[AssetMaintenanceExited]:
    """Put an asset back into service after maintenance."""
    return [LIFECYCLE.allow(asset.lifecycle, AssetMaintenanceExited(call.now, asset.id))]


def decommission_asset(
    asset: Asset, command: DecommissionAsset, call: Call
) -> list[AssetDecommissioned]:
    """Take an asset out of service for good; the assets below it are not changed."""
    LIFECYCLE.require(asset.lifecycle, AssetDecommissioned)
    if id := asset.mount_id:
        raise AssetIsInstalledError(f"The asset is installed in mount {id}.", mount_id=id)
    return [AssetDecommissioned(call.now, asset.id)]


def degrade_asset(asset: Asset, command: DegradeAsset, call: Call) -> list[AssetDegraded]:
    """Report that an asset works worse than it should."""
    return [CONDITION.allow(asset.condition, AssetDegraded(call.now, asset.id, command.reason))]


def fault_asset(asset: Asset, command: FaultAsset, call: Call) -> list[AssetFaulted]:
    """Report that an asset does not work."""
    return [CONDITION.allow(asset.condition, AssetFaulted(call.now, asset.id, command.reason))]


def restore_asset(asset: Asset, command: RestoreAsset, call: Call) -> list[AssetRestored]:
    """Report that an asset works as it should again."""
    return [CONDITION.allow(asset.condition, AssetRestored(call.now, asset.id, command.reason))]


def relocate_asset(
    asset: Asset, command: RelocateAsset, given: list[Asset], call: Call
) -> list[AssetRelocated | SideWrite]:
    """Move an asset, with all assets below it, under another parent."""
    if asset.parent_id is None:
        raise AssetCannotRelocateError("The asset is a root and stays at its facility.")
    _require_in_use(AssetCannotRelocateError, asset)
    parent = given[0]
    if parent.id == asset.id:
        raise AssetCannotRelocateError("An asset cannot be its own parent.")
    if parent.id == asset.parent_id:
        raise AssetCannotRelocateError(f"Asset {parent.id} is the parent already.")
    if any(each.id == asset.id for each in given):
        raise AssetCannotRelocateError(f"Asset {parent.id} is below this asset.")
    _require_in_use(AssetCannotRelocateError, parent)
    moved = AssetRelocated.of(command, occurred_at=call.now, from_parent_id=asset.parent_id)
    place = PLACES.replace(AssetPlace(asset.id, parent.id, None))
    former = FORMER_PLACES.upsert(FormerPlace(asset.parent_id, asset.id, call.now))
    return [moved, place, former, Lock(ASSET_TREE)]


def locate_asset(
    asset: Asset, command: LocateAsset, given: Enclosure | None, call: Call
) -> list[AssetLocated]:
    """Set the enclosure that an asset is in."""
    _require_in_use(AssetCannotLocateError, asset)
    if command.located_in_enclosure_id == asset.located_in_enclosure_id:
        raise AssetCannotLocateError("The location is the same as before.")
    _require_in_use(AssetCannotLocateError, given)
    return [AssetLocated(call.now, asset.id, command.located_in_enclosure_id)]


def add_asset_family(
    asset: Asset, command: AddAssetFamily, given: AssetReferences, call: Call
) -> list[AssetFamilyAdded]:
    """Add an asset to a family."""
    _require_in_use(AssetCannotAddFamilyError, asset)
    if command.family_id in asset.family_ids:
        raise AssetCannotAddFamilyError("The asset is a member already.")
    _require_in_use(AssetCannotAddFamilyError, *given.families.values())
    _require_declared({command.family_id}, given.model)
    return [AssetFamilyAdded(call.now, asset.id, command.family_id)]


def remove_asset_family(
    asset: Asset, command: RemoveAssetFamily, call: Call
) -> list[AssetFamilyRemoved]:
    """Remove an asset from a family; its settings stay until they are next changed."""
    _require_in_use(AssetCannotRemoveFamilyError, asset)
    if command.family_id not in asset.family_ids:
        raise AssetCannotRemoveFamilyError("The asset is not a member.")
    if len(asset.family_ids) == 1:
        raise AssetCannotRemoveFamilyError("It is the only family. Add another one first.")
    return [AssetFamilyRemoved(call.now, asset.id, command.family_id)]


def update_asset_settings(
    asset: Asset, command: UpdateAssetSettings, given: SettingFamilies, call: Call
) -> list[AssetSettingsUpdated]:
    """Change some settings of an asset; the result must fit the schemas of its families."""
    patch, families = command.settings_patch, given.families.values()
    merged = merge_patch(asset.settings, patch)
    schemas = {f"{each.name} ({each.id})": each.settings_schema for each in families}
    settings = carry_settings(merged, schemas, InvalidAssetSettingsError)
    _require_in_use(AssetCannotUpdateSettingsError, asset)
    # A number that the patch does not name would silently be taken for one in the new unit.
    if unnamed := setting_units_changed(untouched(asset.settings, patch), given):
        detail = " ".join(f"{each.path}: {each}." for each in unnamed)
        remedy = "Name these settings in the patch, in the new units."
        raise AssetSettingUnitsChangedError(f"{detail} {remedy}", settings=unnamed)
    return [AssetSettingsUpdated(call.now, asset.id, settings, family_versions=given.versions)]


def add_asset_alternate_identifier(
    asset: Asset, command: AddAssetAlternateIdentifier, call: Call
) -> list[AssetAlternateIdentifierAdded]:
    """Add an identifier that another system uses for an asset."""
    one, refusal = AlternateIdentifier.of(command), AssetCannotAddAlternateIdentifierError
    _require_in_use(refusal, asset)
    if one in asset.alternate_identifiers:
        raise refusal(f"The asset has {one.kind} {one.value} already.")
    if len(asset.alternate_identifiers) >= MOST_IDENTIFIERS:
        raise refusal(f"The asset has {MOST_IDENTIFIERS} of them, the maximum; remove one first.")
    return [AssetAlternateIdentifierAdded.of(command, occurred_at=call.now)]


def remove_asset_alternate_identifier(
    asset: Asset, command: RemoveAssetAlternateIdentifier, call: Call
) -> list[AssetAlternateIdentifierRemoved]:
    """Remove an identifier that another system uses for an asset."""
    one, refusal = AlternateIdentifier.of(command), AssetCannotRemoveAlternateIdentifierError
    _require_in_use(refusal, asset)
    if one not in asset.alternate_identifiers:
        raise refusal(f"The asset has no {one.kind} {one.value}.")
    return [AssetAlternateIdentifierRemoved.of(command, occurred_at=call.now)]


def assign_asset_external_id(
    asset: Asset, command: AssignAssetExternalId, call: Call
) -> list[AssetExternalIdAssigned]:
    """Assign the persistent identifier that was minted for an asset; it cannot be changed later."""
    if command.external_id.lower().startswith(SCHEMES):
        raise InvalidAssetExternalIdError(f"The value is {command.external_id}.")
    if asset.external_id is not None:
        raise AssetCannotAssignExternalIdError(f"The identifier is {asset.external_id}.")
    return [AssetExternalIdAssigned.of(command, occurred_at=call.now)]


def _require_in_use(
    refusal: type[Cannot], *things: Asset | Enclosure | Facility | Family | Model | None
) -> None:
    """Refuse what is decommissioned or deprecated."""
    held = [each for each in things if each]
    found = [(it, it.lifecycle if isinstance(it, Asset | Enclosure) else it.status) for it in held]
    if retired := [(it, status) for it, status in found if status in RETIRED]:
        lines = (f"{type(it).__name__} {it.name} ({it.id}) is {status}." for it, status in retired)
        raise refusal(" ".join(lines))


def _require_declared(family_ids: Set[UUID], model: Model | None) -> None:
    """Refuse families that the asset's model does not declare."""
    if model and (other := family_ids - model.declared_family_ids):
        named = ", ".join(map(str, sorted(other)))
        detail = f"Model {model.name} does not declare {named}; choose others or version the model."
        raise AssetModelMismatchError(detail)


assets = Aggregate("Asset", begin, evolve, absent=AssetNotFoundError, axes=(LIFECYCLE, CONDITION))

# fmt: off
OPERATIONS = (
    assets.creates("POST /assets", RegisterAsset, register_asset, AssetNotFoundError,
        FacilityNotFoundError, FamilyNotFoundError, ModelNotFoundError, EnclosureNotFoundError,
        InvalidAssetParentError, InvalidAssetFamilyIdsError, AssetCannotRegisterError,
        AssetModelMismatchError, given=references),
    assets.changes("POST /assets/{asset_id}/rename", RenameAsset, rename_asset,
        AssetCannotRenameError),
    assets.changes("POST /assets/{asset_id}/activate", ActivateAsset, activate_asset,
        AssetCannotActivateError),
    assets.changes("POST /assets/{asset_id}/enter-maintenance", EnterAssetMaintenance,
        enter_asset_maintenance, AssetCannotEnterMaintenanceError,
        title="Put an asset into maintenance"),
    assets.changes("POST /assets/{asset_id}/exit-maintenance", ExitAssetMaintenance,
        exit_asset_maintenance, AssetCannotExitMaintenanceError,
        title="Take an asset out of maintenance"),
    assets.changes("POST /assets/{asset_id}/decommission", DecommissionAsset, decommission_asset,
        AssetCannotDecommissionError, AssetIsInstalledError, destructive=True),
    assets.changes("POST /assets/{asset_id}/degrade", DegradeAsset, degrade_asset,
        AssetCannotDegradeError),
    assets.changes("POST /assets/{asset_id}/fault", FaultAsset, fault_asset, AssetCannotFaultError),
    assets.changes("POST /assets/{asset_id}/restore", RestoreAsset, restore_asset,
        AssetCannotRestoreError),
    assets.changes("POST /assets/{asset_id}/relocate", RelocateAsset, relocate_asset,
        AssetCannotRelocateError, given=lineage),
    assets.changes("POST /assets/{asset_id}/locate", LocateAsset, locate_asset,
        EnclosureNotFoundError, AssetCannotLocateError, given=enclosure),
    assets.changes("POST /assets/{asset_id}/add-family", AddAssetFamily, add_asset_family,
        FamilyNotFoundError, AssetCannotAddFamilyError, AssetModelMismatchError,
        given=family_and_model),
    assets.changes("POST /assets/{asset_id}/remove-family", RemoveAssetFamily, remove_asset_family,
        AssetCannotRemoveFamilyError),
    assets.changes("POST /assets/{asset_id}/update-settings", UpdateAssetSettings,
        update_asset_settings, InvalidAssetSettingsError, AssetCannotUpdateSettingsError,
        AssetSettingUnitsChangedError, given=lambda asset, _, read: _setting_families(asset, read)),
    assets.changes("POST /assets/{asset_id}/add-alternate-identifier", AddAssetAlternateIdentifier,
        add_asset_alternate_identifier, AssetCannotAddAlternateIdentifierError),
    assets.changes("POST /assets/{asset_id}/remove-alternate-identifier",
        RemoveAssetAlternateIdentifier, remove_asset_alternate_identifier,
        AssetCannotRemoveAlternateIdentifierError),
    assets.changes("POST /assets/{asset_id}/assign-external-id", AssignAssetExternalId,
        assign_asset_external_id, AssetCannotAssignExternalIdError),
)
# fmt: on


class ListAssets(Listing):
    """List assets, newest first."""

    tier: AssetTier | None = None
    lifecycle: AssetLifecycle | None = None
    condition: AssetCondition | None = None
    parent_id: UUID | None = None
    """Only assets directly below this one."""
    below: UUID | None = None
    """Only assets below this one at any depth, without the asset itself."""
    above: UUID | None = None
    """Only assets above this one up to the root, without the asset itself."""
    family_id: UUID | None = None
    facility_code: FacilityCode | None = None
    """Only roots at this facility."""
    located_in_enclosure_id: frozenset[UUID] | None = None
    """Only assets whose own location is one of these enclosures."""
    model_id: UUID | None = None


async def shown_assets(ids: Sequence[UUID], read: Reader) -> Mapping[UUID, ShownAsset]:
    """Return the facility of each asset, and which of its settings are in units of the past."""
    scopes, found = await facility_scopes(ids, read), dict[UUID, tuple[UnitChange, ...]]()
    if not read.shows_past:
        for asset in (await read.many(assets, ids)).values():
            given = await _setting_families(asset, read)
            found[asset.id] = tuple(setting_units_changed(asset.settings, given))
    return {id: ShownAsset(it.facility_scope, found.get(id)) for id, it in scopes.items()}


# fmt: off
QUESTIONS = reads("/assets", assets, ListAssets, version=3, tree=PLACES, shown_with=shown_assets,
    composed_of=("Family",),
    facets={"family_id": lambda asset: asset.family_ids},
    directory=DirectoryEntry(lambda it: it.name, status=lambda it: it.lifecycle,
        keywords=lambda it: (it.external_id, *(each.value for each in it.alternate_identifiers)),
        scope=lambda it: it.facility_code if it.parent_id is None else (it.parent_id,), version=2))
