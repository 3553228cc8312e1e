"""Asset: what it is, where it stands, whether it may be used and whether it works."""

from typing import Any
from uuid import UUID

import pytest

from beamkeep.contexts.enclosure.enclosure import (
    EnclosureDecommissioned,
    EnclosureNotFoundError,
    EnclosureRegistered,
)
from beamkeep.contexts.equipment.asset import (
    MOST_IDENTIFIERS,
    OPERATIONS,
    ActivateAsset,
    AddAssetAlternateIdentifier,
    AddAssetFamily,
    AlternateIdentifier,
    AlternateIdentifierKind,
    Asset,
    AssetActivated,
    AssetAlternateIdentifierAdded,
    AssetAlternateIdentifierRemoved,
    AssetCannotActivateError,
    AssetCannotAddAlternateIdentifierError,
    AssetCannotAddFamilyError,
    AssetCannotAssignExternalIdError,
    AssetCannotDecommissionError,
    AssetCannotDegradeError,
    AssetCannotEnterMaintenanceError,
    AssetCannotExitMaintenanceError,
    AssetCannotFaultError,
    AssetCannotLocateError,
    AssetCannotRegisterError,
    AssetCannotRelocateError,
    AssetCannotRemoveAlternateIdentifierError,
    AssetCannotRemoveFamilyError,
    AssetCannotRenameError,
    AssetCannotRestoreError,
    AssetCannotUpdateSettingsError,
    AssetCommand,
    AssetCondition,
    AssetDecommissioned,
    AssetDegraded,
    AssetEvent,
    AssetExternalIdAssigned,
    AssetFamilyAdded,
    AssetFamilyRemoved,
    AssetFaulted,
    AssetInstalledInMount,
    AssetIsInstalledError,
    AssetLifecycle,
    AssetLocated,
    AssetMaintenanceEntered,
    AssetMaintenanceExited,
    AssetModelMismatchError,
    AssetNotFoundError,
    AssetReferences,
    AssetRegistered,
    AssetRelocated,
    AssetRenamed,
    AssetRestored,
    AssetSettingsUpdated,
    AssetSettingUnitsChangedError,
    AssetTier,
    AssetUninstalledFromMount,
    AssignAssetExternalId,
    DecommissionAsset,
    DegradeAsset,
    EnterAssetMaintenance,
    ExitAssetMaintenance,
    ExternalIdNamespace,
    FaultAsset,
    InvalidAssetAlternateIdentifierError,
    InvalidAssetExternalIdError,
    InvalidAssetFamilyIdsError,
    InvalidAssetParentError,
    InvalidAssetSettingsError,
    LocateAsset,
    RegisterAsset,
    RelocateAsset,
    RemoveAssetAlternateIdentifier,
    RemoveAssetFamily,
    RenameAsset,
    RestoreAsset,
    ShownAsset,
    UpdateAssetSettings,
    begin,
    evolve,
    lineage,
    shown_assets,
)
from beamkeep.contexts.equipment.family import (
    Affordance,
    Family,
    FamilyDefined,
    FamilyDeprecated,
    FamilyNotFoundError,
    FamilyVersioned,
)
from beamkeep.contexts.equipment.model import (
    Manufacturer,
    ModelDefined,
    ModelDeprecated,
    ModelNotFoundError,
)
from beamkeep.contexts.equipment.setting_units import FamilyVersion, SettingFamilies
from beamkeep.contexts.federation.facility import (
    FacilityDecommissioned,
    FacilityKind,
    FacilityNotFoundError,
    FacilityRegistered,
)
from beamkeep.contexts.seams.place import (
    ASSET_TREE,
    FORMER_PLACES,
    PLACES,
    AssetPlace,
    DamagedTreeError,
    FacilityScope,
    FormerPlace,
    facility_scopes,
    upwards,
)
from beamkeep.kernel import Cannot, Command, Event, Lock, Refusal, SideWrite, claim, replace
from beamkeep.schemas import JsonObject, JsonSchema, UnitChange
from beamkeep.testing.past import ABSENT, LATER, NEW, NOW, Past
from beamkeep.testing.scenario import Example, Scenario, matrix

ID, ROOT, SHELF, OTHER_ROOT = NEW, UUID(int=2), UUID(int=3), UUID(int=4)
SITE, CLOSED_SITE = UUID(int=20), UUID(int=21)
CAMERA, STAGE, OLD = UUID(int=30), UUID(int=31), UUID(int=32)
PIXEL, OLD_MODEL = UUID(int=40), UUID(int=41)
HUTCH, OLD_HUTCH = UUID(int=50), UUID(int=51)
MOUNT, OLD_SHELF = UUID(int=60), UUID(int=61)

PV, INVENTORY = AlternateIdentifierKind.EPICS_PV, AlternateIdentifierKind.INVENTORY_NUMBER
DOI = ExternalIdNamespace.DOI
SERIAL = AlternateIdentifier(INVENTORY, "42")
SIGNAL = AlternateIdentifier(PV, "BL01:CAM")


def schema(**properties: Any) -> JsonSchema:
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": properties,
        "additionalProperties": False,
    }


GAIN = schema(gain={"type": "integer"}, serial_number={"type": "string"})
SPEED = schema(speed={"type": "number"}, serial_number={"type": "string"})


def family(id: UUID, name: str, settings_schema: JsonSchema | None) -> FamilyDefined:
    return FamilyDefined(
        NOW, id, name=name, affordances=(Affordance.IMAGEABLE,), settings_schema=settings_schema
    )


def facility(id: UUID, code: str) -> tuple[Event | SideWrite, ...]:
    held = claim("facility-code", code, holder=id, loser=Cannot)
    return FacilityRegistered(NOW, id, code, "Ring", FacilityKind.SITE, None), held


def registration(
    id: UUID,
    parent_id: UUID | None,
    *family_ids: UUID,
    model_id: UUID | None = None,
    enclosure_id: UUID | None = None,
    identifiers: tuple[AlternateIdentifier, ...] = (),
    name: str = "Camera",
) -> AssetRegistered:
    code = None if parent_id else "site"
    tier = AssetTier.DEVICE if parent_id else AssetTier.UNIT
    return AssetRegistered(
        NOW, id, name, tier, parent_id, code, family_ids, model_id, enclosure_id, identifiers
    )


def placed(event: AssetRegistered) -> tuple[Event | SideWrite, ...]:
    """A registration as it is written: with its row in the tree."""
    return event, PLACES.insert(AssetPlace(event.asset_id, event.parent_id, event.facility_code))


AROUND = (
    *facility(SITE, "site"),
    *facility(CLOSED_SITE, "closed"),
    FacilityDecommissioned(NOW, CLOSED_SITE, "sold"),
    family(CAMERA, "Camera", GAIN),
    family(STAGE, "Stage", SPEED),
    family(OLD, "Plate", None),
    FamilyDeprecated(NOW, OLD),
    ModelDefined(NOW, PIXEL, "Pixel", Manufacturer("Acme"), "P-1", (CAMERA, OLD)),
    ModelDefined(NOW, OLD_MODEL, "Plate", Manufacturer("Acme"), "P-0", (CAMERA,)),
    ModelDeprecated(NOW, OLD_MODEL, "no longer made"),
    EnclosureRegistered(NOW, HUTCH, "Hutch", "site"),
    EnclosureRegistered(NOW, OLD_HUTCH, "Old hutch", "site"),
    EnclosureDecommissioned(NOW, OLD_HUTCH, "rebuilt"),
    *placed(registration(ROOT, None)),
    *placed(registration(SHELF, ROOT)),
    *placed(registration(OTHER_ROOT, None)),
    *placed(registration(OLD_SHELF, ROOT)),
    AssetDecommissioned(NOW, OLD_SHELF),
)
registered = registration(ID, ROOT)
activated = AssetActivated(NOW, ID)
in_maintenance = AssetMaintenanceEntered(NOW, ID)
decommissioned = AssetDecommissioned(NOW, ID)
degraded = AssetDegraded(NOW, ID, "it drifts")
faulted = AssetFaulted(NOW, ID, "it does not move")
installed = AssetInstalledInMount(NOW, ID, MOUNT)
member = AssetFamilyAdded(NOW, ID, CAMERA)
moving = AssetFamilyAdded(NOW, ID, STAGE)
identified = AssetAlternateIdentifierAdded(NOW, ID, PV, "BL01:CAM")
unidentified = AssetAlternateIdentifierRemoved(NOW, ID, PV, "BL01:CAM")
published = AssetExternalIdAssigned(NOW, ID, DOI, "10.5281/42")
RETIRED = (*placed(registered), decommissioned)


def rename(name: str) -> RenameAsset:
    return RenameAsset(asset_id=ID, name=name)


def locate(enclosure_id: UUID | None) -> LocateAsset:
    return LocateAsset(asset_id=ID, located_in_enclosure_id=enclosure_id)


def join(family_id: UUID) -> AddAssetFamily:
    return AddAssetFamily(asset_id=ID, family_id=family_id)


RENAME, LOCATE, JOIN = rename("Detector"), locate(HUTCH), join(CAMERA)
ACTIVATE = ActivateAsset(asset_id=ID)
ENTER = EnterAssetMaintenance(asset_id=ID)
SERVICE = EnterAssetMaintenance(asset_id=ID, reason="new bearing")
EXIT = ExitAssetMaintenance(asset_id=ID)
DECOMMISSION = DecommissionAsset(asset_id=ID)
DEGRADE = DegradeAsset(asset_id=ID, reason=" it drifts ")
FAULT = FaultAsset(asset_id=ID, reason=" it does not move ")
RESTORE = RestoreAsset(asset_id=ID, reason=" new belt ")
RELOCATE = RelocateAsset(asset_id=ID, to_parent_id=SHELF, reason=" rebuilt ")
LEAVE = RemoveAssetFamily(asset_id=ID, family_id=CAMERA)
SETTLE = UpdateAssetSettings(asset_id=ID, settings_patch={"gain": 2})
IDENTIFY = AddAssetAlternateIdentifier(asset_id=ID, kind=PV, value=" BL01:CAM ")
STRIKE_OUT = RemoveAssetAlternateIdentifier(asset_id=ID, kind=PV, value=" BL01:CAM ")
ASSIGN = AssignAssetExternalId(asset_id=ID, external_id_namespace=DOI, external_id=" 10.5281/42 ")


def given(*history: Event | SideWrite) -> Scenario:
    return Scenario(OPERATIONS, [*AROUND, *history])


def register(**changes: Any) -> RegisterAsset:
    known: dict[str, Any] = {"name": "Camera", "tier": AssetTier.DEVICE, "parent_id": ROOT}
    known |= {"family_ids": [CAMERA]}
    return RegisterAsset(**(known | changes))


def a_root(**changes: Any) -> RegisterAsset:
    known: dict[str, Any] = {"parent_id": None, "facility_code": "site"}
    return register(**(known | changes))


# Registration


def test_a_root_is_registered_at_its_facility():
    given().when(a_root(name=" Beamline ", tier=AssetTier.UNIT)).then(
        AssetRegistered(
            NOW, NEW, "Beamline", AssetTier.UNIT, None, "site", (CAMERA,), None, None, ()
        ),
        PLACES.insert(AssetPlace(NEW, None, "site")),
    )


def test_a_part_is_registered_with_all_that_is_known_of_it_in_order():
    command = register(
        family_ids=[CAMERA],
        model_id=PIXEL,
        located_in_enclosure_id=HUTCH,
        alternate_identifiers=[
            {"kind": "InventoryNumber", "value": " 42 "},
            {"kind": "EPICS_PV", "value": "BL01:CAM"},
            {"kind": "InventoryNumber", "value": "42"},
        ],
    )
    given().when(command).then(
        *placed(
            registration(
                NEW, ROOT, CAMERA, model_id=PIXEL, enclosure_id=HUTCH, identifiers=(SIGNAL, SERIAL)
            )
        )
    )


def test_families_are_stored_in_one_order():
    given().when(register(family_ids=[STAGE, CAMERA])).then(
        *placed(registration(NEW, ROOT, CAMERA, STAGE))
    )


def test_a_new_asset_belongs_to_a_family():
    given().when(register(family_ids=[])).refused(InvalidAssetFamilyIdsError)


def test_an_asset_keeps_its_last_family():
    history = (*placed(registration(ID, ROOT, CAMERA)), moving)
    given(*history).when(LEAVE).then(AssetFamilyRemoved(NOW, ID, CAMERA))
    left = RemoveAssetFamily(asset_id=ID, family_id=STAGE)
    given(*history, AssetFamilyRemoved(NOW, ID, CAMERA)).when(left).refused(
        AssetCannotRemoveFamilyError, saying="Add another one first."
    )


def test_a_new_asset_stands_at_a_facility_or_under_an_asset():
    given().when(register(parent_id=None)).refused(InvalidAssetParentError)


def test_nothing_a_new_asset_names_may_be_retired():
    in_old_hutch = {"located_in_enclosure_id": OLD_HUTCH}
    retired: list[tuple[str, RegisterAsset]] = [
        (f"Facility Ring ({CLOSED_SITE}) is Decommissioned.", a_root(facility_code="closed")),
        (f"Enclosure Old hutch ({OLD_HUTCH}) is Decommissioned.", register(**in_old_hutch)),
        (f"Family Plate ({OLD}) is Deprecated.", register(family_ids=[CAMERA, OLD])),
        (f"Model Plate ({OLD_MODEL}) is Deprecated.", register(model_id=OLD_MODEL)),
        (f"Asset Camera ({OLD_SHELF}) is Decommissioned.", register(parent_id=OLD_SHELF)),
    ]
    for saying, command in retired:
        given().when(command).refused(AssetCannotRegisterError, saying)


def test_the_families_of_a_new_asset_are_declared_by_its_model():
    given().when(register(family_ids=[CAMERA, STAGE], model_id=PIXEL)).refused(
        AssetModelMismatchError, saying=f"Model Pixel does not declare {STAGE};"
    )


def numbered(count: int) -> list[dict[str, str]]:
    return [{"kind": "Other", "value": str(n)} for n in range(count)]


def test_a_new_asset_has_at_most_50_alternate_identifiers_repeats_not_counted():
    given().when(register(alternate_identifiers=numbered(51))).refused(
        InvalidAssetAlternateIdentifierError
    )
    repeated = [*numbered(50), {"kind": "Other", "value": " 0 "}]
    other = AlternateIdentifierKind.OTHER
    identifiers = tuple(sorted(AlternateIdentifier(other, str(n)) for n in range(50)))
    given().when(register(alternate_identifiers=repeated)).then(
        *placed(registration(NEW, ROOT, CAMERA, identifiers=identifiers))
    )


def test_faults_of_a_registration_are_reported_in_order():
    wrong: dict[str, Any] = {"parent_id": ABSENT, "facility_code": "nowhere"}
    wrong |= {"family_ids": [ABSENT], "model_id": ABSENT, "located_in_enclosure_id": ABSENT}
    wrong |= {"alternate_identifiers": numbered(51)}
    steps: list[tuple[type[Refusal], dict[str, Any]]] = [
        (AssetNotFoundError, {"parent_id": ROOT}),
        (FacilityNotFoundError, {"facility_code": "site"}),
        (FamilyNotFoundError, {"family_ids": [OLD, STAGE]}),
        (ModelNotFoundError, {"model_id": PIXEL}),
        (EnclosureNotFoundError, {"located_in_enclosure_id": None}),
        (InvalidAssetParentError, {"facility_code": None}),
        (InvalidAssetAlternateIdentifierError, {"alternate_identifiers": []}),
        (AssetCannotRegisterError, {"family_ids": [STAGE]}),
        (AssetModelMismatchError, {}),
    ]
    for refusal, mended in steps:
        given().when(register(**wrong)).refused(refusal)
        wrong |= mended


# Lifecycle and condition


def test_a_change_is_named_by_its_event():
    part, out_of_use = registration(UUID(int=5), ID), FamilyDeprecated(NOW, CAMERA)
    modelled, there = registration(ID, ROOT, model_id=PIXEL), AssetLocated(NOW, ID, HUTCH)
    left = AssetFamilyRemoved(NOW, ID, CAMERA)
    changes: list[tuple[tuple[Event | SideWrite, ...], AssetCommand, AssetEvent]] = [
        ((registered,), ACTIVATE, activated),
        ((registered, activated), ENTER, in_maintenance),
        ((registered, activated), SERVICE, AssetMaintenanceEntered(NOW, ID, "new bearing")),
        ((registered, activated, in_maintenance), EXIT, AssetMaintenanceExited(NOW, ID)),
        ((registered, activated), DECOMMISSION, decommissioned),
        ((registered, *placed(part)), DECOMMISSION, decommissioned),
        ((registered,), DEGRADE, degraded),
        ((registered,), FAULT, faulted),
        ((registered, faulted), DEGRADE, degraded),
        ((registered, faulted), RESTORE, AssetRestored(NOW, ID, "new belt")),
        ((registered,), RENAME, AssetRenamed(NOW, ID, "Detector")),
        ((registered,), LOCATE, there),
        ((registered, there), locate(None), AssetLocated(NOW, ID, None)),
        ((registered,), JOIN, member),
        ((modelled,), JOIN, member),
        ((registered, member, moving), LEAVE, left),
        ((registered, member, moving, out_of_use), LEAVE, left),
        ((registered,), IDENTIFY, identified),
        ((registered, identified), STRIKE_OUT, unidentified),
        ((registered,), ASSIGN, published),
        (RETIRED, ASSIGN, published),
    ]
    for history, command, event in changes:
        given(*history).when(command).then(event)


def test_a_change_that_is_not_possible_is_refused_with_the_cause():
    at_work, there = (registered, activated), (registered, AssetLocated(NOW, ID, HUTCH))
    modelled = registration(ID, ROOT, model_id=PIXEL)
    other_kind, no_pv = replace(identified, kind=INVENTORY), "The asset has no EPICS_PV BL01:CAM."
    gone, same = f"Asset Camera ({ID}) is Decommissioned.", "The location is the same as before."
    refusals: list[tuple[tuple[Event | SideWrite, ...], AssetCommand, type[Refusal], str]] = [
        (at_work, ACTIVATE, AssetCannotActivateError, "Active; it must be Commissioned."),
        ((registered,), ENTER, AssetCannotEnterMaintenanceError, "Commissioned"),
        (at_work, EXIT, AssetCannotExitMaintenanceError, "Active"),
        (RETIRED, DECOMMISSION, AssetCannotDecommissionError, "Decommissioned"),
        ((registered, degraded), DEGRADE, AssetCannotDegradeError, "must be Faulted or Nominal."),
        ((registered, faulted), FAULT, AssetCannotFaultError, "Faulted"),
        ((registered,), RESTORE, AssetCannotRestoreError, "Nominal"),
        (RETIRED, RENAME, AssetCannotRenameError, gone),
        ((registered,), rename("Camera"), AssetCannotRenameError, "The name is Camera already."),
        (RETIRED, locate(ABSENT), EnclosureNotFoundError, ""),
        (RETIRED, LOCATE, AssetCannotLocateError, gone),
        ((registered,), locate(None), AssetCannotLocateError, same),
        (there, LOCATE, AssetCannotLocateError, same),
        ((registered,), locate(OLD_HUTCH), AssetCannotLocateError, "Enclosure Old hutch ("),
        (RETIRED, join(ABSENT), FamilyNotFoundError, ""),
        (RETIRED, JOIN, AssetCannotAddFamilyError, gone),
        ((registered, member), JOIN, AssetCannotAddFamilyError, "member already"),
        ((registered,), join(OLD), AssetCannotAddFamilyError, f"Plate ({OLD}) is Deprecated."),
        ((modelled, decommissioned), join(STAGE), AssetCannotAddFamilyError, gone),
        ((modelled,), join(STAGE), AssetModelMismatchError, ""),
        ((registered,), LEAVE, AssetCannotRemoveFamilyError, "not a member"),
        (RETIRED, LEAVE, AssetCannotRemoveFamilyError, gone),
        (RETIRED, IDENTIFY, AssetCannotAddAlternateIdentifierError, gone),
        ((registered, identified), IDENTIFY, AssetCannotAddAlternateIdentifierError, "already."),
        (RETIRED, STRIKE_OUT, AssetCannotRemoveAlternateIdentifierError, gone),
        ((registered, other_kind), STRIKE_OUT, AssetCannotRemoveAlternateIdentifierError, no_pv),
        ((registered, published), ASSIGN, AssetCannotAssignExternalIdError, "is 10.5281/42."),
        ((), ACTIVATE, AssetNotFoundError, ""),
    ]
    for history, command, refusal, saying in refusals:
        given(*history).when(command).refused(refusal, saying)


def test_an_installed_asset_is_not_decommissioned_and_its_mount_is_named():
    refusal = (
        given(registered, installed)
        .when(DECOMMISSION)
        .refused(AssetIsInstalledError, saying=f"The asset is installed in mount {MOUNT}.")
    )
    assert refusal.facts == {"mount_id": MOUNT}
    out = AssetUninstalledFromMount(NOW, ID, MOUNT, "repair")
    given(registered, installed, out).when(DECOMMISSION).then(decommissioned)


# The tree


def under(*chain: UUID) -> tuple[Event | SideWrite, ...]:
    """Assets, each under the one before, the first under the asset itself."""
    above = (ID, *chain)
    return tuple(
        part
        for parent_id, id in zip(above, chain, strict=False)
        for part in placed(registration(id, parent_id))
    )


def relocate(to_parent_id: UUID) -> RelocateAsset:
    return RelocateAsset(asset_id=ID, to_parent_id=to_parent_id, reason="rebuilt")


def test_an_asset_is_put_under_another_parent_while_nobody_else_changes_the_tree():
    given(*placed(registered)).when(RELOCATE).then(
        AssetRelocated(NOW, ID, ROOT, SHELF, "rebuilt"),
        PLACES.replace(AssetPlace(ID, SHELF, None)),
        FORMER_PLACES.upsert(FormerPlace(ROOT, ID, NOW)),
        Lock("asset-tree"),
    )
    assert ASSET_TREE == "asset-tree"


def test_an_asset_moves_to_the_tree_of_another_facility_in_any_lifecycle_but_the_last():
    given(*placed(registered), activated, in_maintenance).when(relocate(OTHER_ROOT)).then(
        AssetRelocated(NOW, ID, ROOT, OTHER_ROOT, "rebuilt"),
        PLACES.replace(AssetPlace(ID, OTHER_ROOT, None)),
        FORMER_PLACES.upsert(FormerPlace(ROOT, ID, NOW)),
        Lock(ASSET_TREE),
    )


def test_an_asset_is_not_put_where_it_cannot_stand():
    part, deep = UUID(int=5), UUID(int=6)

    def saying(words: str, to: UUID, *history: Event | SideWrite) -> None:
        given(*history).when(relocate(to)).refused(AssetCannotRelocateError, saying=words)

    here = placed(registered)
    saying("The asset is a root", SHELF, *placed(registration(ID, None)))
    saying(f"Asset Camera ({ID}) is Decommissioned.", SHELF, *RETIRED)
    saying("An asset cannot be its own parent.", ID, *here)
    saying(f"Asset {ROOT} is the parent already.", ROOT, *here)
    saying(f"Asset {part} is below this asset.", part, *here, *under(part))
    saying(f"Asset {deep} is below this asset.", deep, *here, *under(part, deep))
    saying(f"Asset Camera ({OLD_SHELF}) is Decommissioned.", OLD_SHELF, *here)
    given(*here).when(relocate(ABSENT)).refused(AssetNotFoundError)


def test_the_streams_are_believed_where_the_rows_lag_behind():
    moved = AssetRelocated(NOW, SHELF, ROOT, ID, "meanwhile")
    given(*placed(registered), moved).when(RELOCATE).refused(
        AssetCannotRelocateError, saying=f"Asset {SHELF} is below this asset."
    )
    far = UUID(int=5)
    away = AssetRelocated(NOW, SHELF, ROOT, far, "meanwhile")
    history = *placed(registered), *placed(registration(far, OTHER_ROOT)), away
    chain = lineage(begin(registered), RELOCATE, Past([*AROUND, *history]))
    with pytest.raises(StopIteration) as found:
        chain.send(None)
    assert [asset.id for asset in found.value.value] == [SHELF, far, OTHER_ROOT]


def test_a_circle_in_the_tree_is_damage_and_no_refusal():
    one, two = UUID(int=5), UUID(int=6)
    circle = *placed(registration(one, two)), *placed(registration(two, one))
    with pytest.raises(DamagedTreeError, match="above itself"):
        given(*placed(registered), *circle).when(relocate(one)).then()


def test_all_above_one_is_found_as_far_as_it_is_known():
    places = {n: AssetPlace(n, above, None) for n, above in ((ID, SHELF), (SHELF, ROOT))}
    assert upwards(ID, places) == [places[ID], places[SHELF]]
    assert upwards(ROOT, places) == []


def test_the_facility_of_an_asset_is_that_of_its_root():
    past = Past([*AROUND, *placed(registered)])
    reading: Any = facility_scopes([ID, OTHER_ROOT], past)
    with pytest.raises(StopIteration) as found:
        reading.send(None)
    assert found.value.value == {ID: FacilityScope("site"), OTHER_ROOT: FacilityScope("site")}


# Where it is, what it is, what it is called


def settled(settings: JsonObject, **versions: int) -> AssetSettingsUpdated:
    """The settings of a camera, or of what else is named, written for these versions."""
    ids = {"camera": CAMERA, "stage": STAGE}
    of = [FamilyVersion(ids[name], version) for name, version in versions.items()]
    return AssetSettingsUpdated(NOW, ID, settings, family_versions=tuple(of))


def settle(**patch: Any) -> UpdateAssetSettings:
    return UpdateAssetSettings(asset_id=ID, settings_patch=patch)


def test_settings_are_merged_and_the_whole_is_recorded():
    before = AssetSettingsUpdated(NOW, ID, {"gain": 1, "serial_number": "A1"})
    history = registered, member, before
    wanted: list[tuple[UpdateAssetSettings, JsonObject]] = [
        (SETTLE, {"gain": 2, "serial_number": "A1"}),
        (settle(gain=None), {"serial_number": "A1"}),
        (settle(), before.settings),
    ]
    for command, settings in wanted:
        given(*history).when(command).then(settled(settings, camera=1))


def test_settings_follow_every_family_as_it_is_now():
    history = registered, member, AssetFamilyAdded(NOW, ID, STAGE)
    both: JsonObject = {"gain": 2, "speed": 1.5}
    given(*history).when(settle(**both)).then(settled(both, camera=1, stage=1))
    given(*history).when(settle(gain="high")).refused(
        InvalidAssetSettingsError,
        saying=f"the value does not satisfy `type` (family Camera ({CAMERA})).",
    )
    given(*history).when(settle(colour="red")).refused(
        InvalidAssetSettingsError, saying="no family declares `colour`"
    )
    words = schema(gain={"type": "string"})
    newer = FamilyVersioned(
        NOW, CAMERA, version_tag="2", affordances=(Affordance.IMAGEABLE,), settings_schema=words
    )
    given(*history, newer).when(SETTLE).refused(InvalidAssetSettingsError)
    given(*history, newer).when(settle(gain="high")).then(
        settled({"gain": "high"}, camera=2, stage=1)
    )


def in_unit(code: str) -> JsonSchema:
    unit: JsonObject = {"system": "udunits", "code": code}
    return schema(gain={"type": "number"}, pitch={"type": "number", "unit": unit})


def versioned(tag: str, code: str) -> FamilyVersioned:
    able = (Affordance.IMAGEABLE,)
    return FamilyVersioned(NOW, CAMERA, able, in_unit(code), version_tag=tag)


MEASURED = settled({"pitch": 6.5, "gain": 1}, camera=2)
IN_MM = registered, member, versioned("2", "um"), MEASURED, versioned("3", "mm")


def test_a_setting_whose_unit_has_changed_is_named_to_be_confirmed_changed_or_removed():
    for pitch, settings in (
        (0.0065, {"pitch": 0.0065, "gain": 1}),
        (6.5, {"pitch": 6.5, "gain": 1}),
        (None, {"gain": 1}),
    ):
        given(*IN_MM).when(settle(pitch=pitch)).then(settled({**settings}, camera=3))


def test_a_setting_whose_unit_has_changed_is_not_taken_for_one_in_the_new_unit_unnamed():
    told = "$.pitch: 6.5 was written in um (udunits); the unit is now mm (udunits)."
    for patch in ({}, {"gain": 2}):
        refusal = given(*IN_MM).when(settle(**patch)).refused(AssetSettingUnitsChangedError, told)
        change = UnitChange("$.pitch", 6.5, "um (udunits)", "mm (udunits)")
        assert refusal.facts == {"settings": [change]}
    given(*IN_MM, decommissioned).when(settle()).refused(AssetCannotUpdateSettingsError)
    given(*IN_MM[:-1], versioned("3", "um")).when(settle()).then(
        settled(MEASURED.settings, camera=3)
    )


@pytest.mark.anyio
async def test_an_asset_shows_which_settings_are_in_units_of_the_past():
    change = UnitChange("$.pitch", 6.5, "um (udunits)", "mm (udunits)")
    for history, changed in ((IN_MM[:-1], ()), (IN_MM, (change,))):
        past = Past([*AROUND, *placed(registered), *history[1:]])
        assert await shown_assets([ID], past) == {ID: ShownAsset("site", changed)}
    past.shows_past = True
    assert await shown_assets([ID], past) == {ID: ShownAsset("site", None)}


def test_settings_that_do_not_say_when_they_were_written_count_as_the_familys_first_version():
    # The family begins without a unit.
    of_old = replace(MEASURED, family_versions=None)
    given(*IN_MM[:-2], of_old).when(settle()).refused(AssetSettingUnitsChangedError)


def test_two_families_of_one_name_are_both_heard():
    twin = UUID(int=33)
    history = registered, member, family(twin, "Camera", SPEED), AssetFamilyAdded(NOW, ID, twin)
    given(*history).when(settle(gain="high")).refused(InvalidAssetSettingsError)
    given(*history).when(settle(speed="high")).refused(InvalidAssetSettingsError)


def test_an_asset_without_a_family_has_no_settings():
    given(registered).when(SETTLE).refused(InvalidAssetSettingsError, saying="no schema")
    given(registered).when(settle()).then(settled({}))


def test_the_settings_of_a_retired_asset_stay_and_bad_ones_are_reported_first():
    retired = registered, member, decommissioned
    given(*retired).when(SETTLE).refused(AssetCannotUpdateSettingsError)
    given(*retired).when(settle(gain="high")).refused(InvalidAssetSettingsError)


def test_an_asset_has_at_most_50_alternate_identifiers():
    held = [replace(identified, kind=INVENTORY, value=str(n)) for n in range(MOST_IDENTIFIERS)]
    given(registered, *held[:49]).when(IDENTIFY).then(identified)
    given(registered, *held).when(IDENTIFY).refused(
        AssetCannotAddAlternateIdentifierError,
        saying="The asset has 50 of them, the maximum; remove one first.",
    )


def test_an_external_identifier_is_bare_and_that_is_reported_first():
    for value in ("doi:10.1/2", "DOI:10.1/2", "hdl:1/2", "http://x", " HTTPS://doi.org/10.1/2"):
        wrong = ASSIGN.model_copy(update={"external_id": value})
        given(registered, published).when(wrong).refused(InvalidAssetExternalIdError)


# The fold


def fold(*events: AssetEvent) -> Asset:
    first, *rest = events
    assert isinstance(first, AssetRegistered)
    asset = begin(first)
    for event in rest:
        asset = evolve(asset, event)  # pyright: ignore[reportArgumentType]
    return asset


def test_an_asset_is_what_its_first_event_says():
    event = registration(
        ID, ROOT, CAMERA, model_id=PIXEL, enclosure_id=HUTCH, identifiers=(SIGNAL, SERIAL)
    )
    assert begin(event) == Asset(
        id=ID,
        name="Camera",
        tier=AssetTier.DEVICE,
        parent_id=ROOT,
        facility_code=None,
        family_ids=frozenset({CAMERA}),
        model_id=PIXEL,
        located_in_enclosure_id=HUTCH,
        alternate_identifiers=frozenset({SIGNAL, SERIAL}),
        settings={},
        commissioned_at=NOW,
        lifecycle=AssetLifecycle.COMMISSIONED,
        condition=AssetCondition.NOMINAL,
        lifecycle_since=NOW,
        condition_since=NOW,
    )


def test_each_event_changes_what_it_is_about_and_nothing_else():
    new = fold(registered)
    _, active, service, retired = AssetLifecycle
    ended = {"lifecycle": retired, "decommissioned_at": LATER}
    since = {"condition_since": LATER, "condition_reason": "why"}
    changes: list[tuple[AssetEvent, dict[str, Any]]] = [
        (AssetRenamed(LATER, ID, "Eye"), {"name": "Eye"}),
        (AssetActivated(LATER, ID), {"lifecycle": active, "lifecycle_since": LATER}),
        (AssetMaintenanceEntered(LATER, ID), {"lifecycle": service, "lifecycle_since": LATER}),
        (AssetMaintenanceExited(LATER, ID), {"lifecycle": active, "lifecycle_since": LATER}),
        (AssetDecommissioned(LATER, ID), ended | {"lifecycle_since": LATER}),
        (AssetDegraded(LATER, ID, "why"), {"condition": AssetCondition.DEGRADED} | since),
        (AssetFaulted(LATER, ID, "why"), {"condition": AssetCondition.FAULTED} | since),
        (AssetRestored(LATER, ID, "why"), {"condition": AssetCondition.NOMINAL} | since),
        (AssetRelocated(NOW, ID, ROOT, SHELF, "x"), {"parent_id": SHELF}),
        (AssetLocated(NOW, ID, HUTCH), {"located_in_enclosure_id": HUTCH}),
        (member, {"family_ids": frozenset({CAMERA})}),
        (
            settled({"gain": 2}, camera=1),
            {
                "settings": {"gain": 2},
                "settings_family_versions": (FamilyVersion(CAMERA, 1),),
            },
        ),
        (identified, {"alternate_identifiers": frozenset({SIGNAL})}),
        (published, {"external_id": "10.5281/42", "external_id_namespace": DOI}),
        (installed, {"mount_id": MOUNT}),
    ]
    for event, changed in changes:
        assert fold(registered, event) == replace(new, **changed), type(event).__name__
    assert fold(registered, member, AssetFamilyRemoved(NOW, ID, CAMERA)) == new
    assert fold(registered, identified, unidentified) == new
    out = AssetUninstalledFromMount(NOW, ID, MOUNT, "repair")
    assert fold(registered, installed, out) == new


def test_an_asset_shows_why_it_is_in_maintenance_and_not_once_it_is_back():
    serviced = AssetMaintenanceEntered(LATER, ID, "new bearing")
    asset = fold(registered, AssetActivated(NOW, ID), serviced)
    assert (asset.lifecycle_reason, asset.lifecycle_since) == ("new bearing", LATER)
    assert evolve(asset, AssetMaintenanceExited(LATER, ID)).lifecycle_reason is None


# The axes

A_CAMERA, A_STAGE = (
    Family(id, "Family", affordances=frozenset({Affordance.IMAGEABLE}), settings_schema=rules)
    for id, rules in ((CAMERA, GAIN), (STAGE, SPEED))
)
LIFECYCLE_MOVES = [Example(command) for command in (ACTIVATE, ENTER, EXIT, DECOMMISSION)]
CONDITION_MOVES = [Example(command) for command in (DEGRADE, FAULT, RESTORE)]
WHILE_IN_SERVICE = [
    Example(RENAME),
    Example(RELOCATE, [fold(registration(SHELF, None))]),
    Example(LOCATE),
    Example(join(STAGE), AssetReferences(families={STAGE: A_STAGE})),
    Example(LEAVE),
    Example(SETTLE, SettingFamilies({CAMERA: A_CAMERA}, (FamilyVersion(CAMERA, 1),), {})),
    Example(AddAssetAlternateIdentifier(asset_id=ID, kind=INVENTORY, value="42")),
    Example(STRIKE_OUT),
    Example(ASSIGN),
]

LIFECYCLE = """
                activate_asset  enter_asset_maintenance  exit_asset_maintenance  decommission_asset
Commissioned    Active          -                        -                       Decommissioned
Active          -               Maintenance              -                       Decommissioned
Maintenance     -               -                        Active                  Decommissioned
Decommissioned  -               -                        -                       -
"""
CONDITION = """
          degrade_asset  fault_asset  restore_asset
Nominal   Degraded       Faulted      -
Degraded  -              Faulted      Nominal
Faulted   Degraded       -            Nominal
"""
LIFECYCLE_AFTER_A_CONDITION = """
                degrade_asset   fault_asset
Commissioned    Commissioned    Commissioned
Active          Active          Active
Maintenance     Maintenance     Maintenance
Decommissioned  Decommissioned  Decommissioned
"""
CONDITION_AFTER_A_LIFECYCLE = """
          activate_asset  decommission_asset
Nominal   Nominal         Nominal
Degraded  Degraded        Degraded
Faulted   Faulted         Faulted
"""
IN_SERVICE = """
                rename_asset    relocate_asset  locate_asset    add_asset_family  remove_asset_family  update_asset_settings  add_asset_alternate_identifier  remove_asset_alternate_identifier  assign_asset_external_id
Commissioned    Commissioned    Commissioned    Commissioned    Commissioned      Commissioned         Commissioned           Commissioned                    Commissioned                       Commissioned
Active          Active          Active          Active          Active            Active               Active                 Active                          Active                             Active
Maintenance     Maintenance     Maintenance     Maintenance     Maintenance       Maintenance          Maintenance            Maintenance                     Maintenance                        Maintenance
Decommissioned  -               -               -               -                 -                    -                      -                               -                                  Decommissioned
"""  # noqa: E501


def in_lifecycle(lifecycle: AssetLifecycle) -> Asset:
    another = AssetFamilyAdded(NOW, ID, OLD)
    return replace(fold(registered, member, another, identified), lifecycle=lifecycle)


def in_condition(condition: AssetCondition) -> Asset:
    return replace(fold(registered), condition=condition)


def test_every_move_from_every_lifecycle():
    for moves, expected in (
        (LIFECYCLE_MOVES, LIFECYCLE),
        (CONDITION_MOVES[:2], LIFECYCLE_AFTER_A_CONDITION),
        (WHILE_IN_SERVICE, IN_SERVICE),
    ):
        matrix(OPERATIONS, AssetLifecycle, moves, in_lifecycle, lambda it: it.lifecycle, expected)


def test_every_move_from_every_condition():
    for moves, expected in (
        (CONDITION_MOVES, CONDITION),
        ([LIFECYCLE_MOVES[0], LIFECYCLE_MOVES[3]], CONDITION_AFTER_A_LIFECYCLE),
    ):
        matrix(OPERATIONS, AssetCondition, moves, in_condition, lambda it: it.condition, expected)


def test_every_command_is_tried_in_some_matrix():
    examples = (*LIFECYCLE_MOVES, *CONDITION_MOVES, *WHILE_IN_SERVICE)
    tried: set[type[Command]] = {type(example.command) for example in examples}
    assert tried == {operation.command for operation in OPERATIONS if not operation.genesis}
