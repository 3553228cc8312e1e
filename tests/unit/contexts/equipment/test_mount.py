"""Mount: what is installed in it, and where it is."""

from typing import Any
from uuid import UUID

from beamkeep.contexts.equipment import frame
from beamkeep.contexts.equipment.asset import (
    AssetDecommissioned,
    AssetInstalledInMount,
    AssetNotFoundError,
    AssetRegistered,
    AssetTier,
    AssetUninstalledFromMount,
)
from beamkeep.contexts.equipment.asset import begin as begin_asset
from beamkeep.contexts.equipment.mount import (
    OPERATIONS,
    AssetAlreadyInstalledError,
    AssetNotInstallableError,
    DecommissionMount,
    InstallMountAsset,
    InvalidMountPlacementError,
    Mount,
    MountAlreadyOccupiedError,
    MountAssetInstalled,
    MountAssetUninstalled,
    MountCannotDecommissionError,
    MountCannotInstallError,
    MountCannotRegisterError,
    MountCannotUninstallError,
    MountCannotUpdatePlacementError,
    MountDecommissioned,
    MountHasActiveChildrenError,
    MountHasAssetInstalledError,
    MountNotFoundError,
    MountPlacementUpdated,
    MountRegistered,
    MountStatus,
    RegisterMount,
    UninstallMountAsset,
    UpdateMountPlacement,
    begin,
    evolve,
    mounts,
)
from beamkeep.contexts.equipment.placement import Placement
from beamkeep.kernel import Event, replace
from beamkeep.testing.past import ABSENT, NEW, NOW
from beamkeep.testing.scenario import Example, Scenario, matrix, misshapen

ID, TABLE, OLD_TABLE, PART = NEW, UUID(int=2), UUID(int=3), UUID(int=4)
HALL, OLD_HALL = UUID(int=10), UUID(int=11)
CAMERA, OLD_CAMERA, ELSEWHERE = UUID(int=20), UUID(int=21), UUID(int=22)

HERE = Placement(HALL, 1.0, 2.0, 3.0, 0.0, 0.5, -0.5)
THERE = replace(HERE, x=7.0)


def asset(id: UUID) -> AssetRegistered:
    return AssetRegistered(NOW, id, "Camera", AssetTier.DEVICE, None, "site", (), None, None, ())


AROUND = (
    frame.FrameRegistered(NOW, HALL, "Hall", None, None),
    frame.FrameRegistered(NOW, OLD_HALL, "Old hall", None, None),
    frame.FrameDecommissioned(NOW, OLD_HALL, "rebuilt"),
    MountRegistered(NOW, TABLE, "Table", None, None),
    MountRegistered(NOW, OLD_TABLE, "Old table", None, None),
    MountDecommissioned(NOW, OLD_TABLE, "rebuilt"),
    asset(CAMERA),
    asset(OLD_CAMERA),
    AssetDecommissioned(NOW, OLD_CAMERA),
    asset(ELSEWHERE),
    AssetInstalledInMount(NOW, ELSEWHERE, TABLE),
)
registered = MountRegistered(NOW, ID, "Slot 1", None, HERE)
installed = MountAssetInstalled(NOW, ID, CAMERA)
in_mount = AssetInstalledInMount(NOW, CAMERA, ID)
decommissioned = MountDecommissioned(NOW, ID, "rebuilt")
part = MountRegistered(NOW, PART, "Slot 1a", ID, None)


def place(placement: Placement) -> UpdateMountPlacement:
    return UpdateMountPlacement(mount_id=ID, placement=placement)


PLACE = place(THERE)
INSTALL = InstallMountAsset(mount_id=ID, asset_id=CAMERA)
UNINSTALL = UninstallMountAsset(mount_id=ID, reason=" repair ")
DECOMMISSION = DecommissionMount(mount_id=ID, reason=" rebuilt ")
REPAIRED = (
    MountAssetUninstalled(NOW, ID, CAMERA, "repair"),
    AssetUninstalledFromMount(NOW, CAMERA, ID, "repair"),
)


def given(*history: Event) -> Scenario:
    return Scenario(OPERATIONS, [*AROUND, *history])


def register(**changes: Any) -> RegisterMount:
    return RegisterMount(slot_code="Slot 1", **changes)


def install(asset_id: UUID) -> InstallMountAsset:
    return InstallMountAsset(mount_id=ID, asset_id=asset_id)


def test_a_mount_is_registered():
    for changes in ({}, {"parent_id": TABLE, "placement": HERE}):
        given().when(register(**changes)).then(
            replace(MountRegistered(NOW, NEW, "Slot 1", None, None), **changes)
        )


def test_what_a_new_mount_names_is_in_use():
    given().when(register(parent_id=OLD_TABLE)).refused(
        MountCannotRegisterError,
        saying=f"Mount Old table ({OLD_TABLE}) is Decommissioned; choose another.",
    )
    given().when(register(placement=replace(HERE, frame_id=OLD_HALL))).refused(
        MountCannotRegisterError,
        saying=f"Frame Old hall ({OLD_HALL}) is Decommissioned; choose another.",
    )


def test_faults_of_a_registration_are_reported_in_order():
    nowhere = replace(HERE, frame_id=ABSENT, x=float("nan"))
    wrong: dict[str, Any] = {"parent_id": ABSENT, "placement": nowhere}
    for refusal, mended in (
        (MountNotFoundError, {"parent_id": OLD_TABLE}),
        (frame.FrameNotFoundError, {"placement": replace(nowhere, frame_id=HALL)}),
        (InvalidMountPlacementError, {"placement": HERE}),
        (MountCannotRegisterError, {}),
    ):
        given().when(register(**wrong)).refused(refusal)
        wrong |= mended


def test_the_shape_of_a_placement():
    whole = {"frame_id": HALL, "x": 1, "y": 2, "z": 3, "rx": 0, "ry": 0, "rz": 0}
    assert register(placement=whole).placement == Placement(HALL, 1.0, 2.0, 3.0, 0.0, 0.0, 0.0)
    for name in whole:
        partial = {key: value for key, value in whole.items() if key != name}
        misshapen(RegisterMount, "placement", slot_code="x", placement=partial)
        misshapen(RegisterMount, "placement", slot_code="x", placement=whole | {name: None})
    for number in ("1", "NaN", True):
        misshapen(RegisterMount, "placement", slot_code="x", placement=whole | {"x": number})
    misshapen(RegisterMount, "placement", slot_code="x", placement=whole | {"w": 1})


def test_an_asset_is_installed_and_uninstalled_in_one_append_to_both_streams():
    given(registered).when(INSTALL).then(installed, in_mount)
    for last in ((), (AssetDecommissioned(NOW, CAMERA),)):
        given(registered, installed, in_mount, *last).when(UNINSTALL).then(*REPAIRED)


def test_an_asset_is_not_installed_where_it_cannot_be():
    given(registered).when(install(ABSENT)).refused(AssetNotFoundError)
    given(registered, decommissioned).when(INSTALL).refused(
        MountCannotInstallError, saying="The status is Decommissioned; it must be Active."
    )
    given(registered, installed, in_mount).when(install(ELSEWHERE)).refused(
        MountAlreadyOccupiedError, saying=f"Asset {CAMERA} is installed."
    )
    given(registered).when(install(OLD_CAMERA)).refused(
        AssetNotInstallableError, saying=f"Asset Camera ({OLD_CAMERA}) is Decommissioned."
    )
    refusal = (
        given(registered)
        .when(install(ELSEWHERE))
        .refused(AssetAlreadyInstalledError, saying=f"The asset is in mount {TABLE}.")
    )
    assert refusal.facts == {"mount_id": TABLE}


def test_what_hinders_an_installation_is_reported_in_order():
    retired = AssetDecommissioned(NOW, ELSEWHERE)
    full = registered, MountAssetInstalled(NOW, ID, OLD_CAMERA), retired
    given(*full, decommissioned).when(install(ELSEWHERE)).refused(MountCannotInstallError)
    given(*full).when(install(ELSEWHERE)).refused(MountAlreadyOccupiedError)
    given(registered, retired).when(install(ELSEWHERE)).refused(AssetNotInstallableError)


def test_nothing_is_uninstalled_from_an_empty_or_retired_mount():
    given(registered).when(UNINSTALL).refused(
        MountCannotUninstallError, saying="The mount is empty."
    )
    given(registered, decommissioned).when(UNINSTALL).refused(
        MountCannotUninstallError, saying="The status is Decommissioned"
    )


def test_a_mount_is_placed_again():
    given(registered).when(PLACE).then(MountPlacementUpdated(NOW, ID, THERE))
    given(registered, installed).when(PLACE).then(MountPlacementUpdated(NOW, ID, THERE))


def test_a_mount_is_not_placed_where_it_cannot_be():
    given(registered).when(place(replace(HERE, frame_id=ABSENT))).refused(frame.FrameNotFoundError)
    nowhere = place(replace(HERE, rz=float("inf")))
    given(registered, decommissioned).when(nowhere).refused(InvalidMountPlacementError)
    given(registered, decommissioned).when(PLACE).refused(
        MountCannotUpdatePlacementError, saying="The status is Decommissioned"
    )
    given(registered).when(place(replace(HERE, frame_id=OLD_HALL))).refused(
        MountCannotUpdatePlacementError,
        saying=f"Frame Old hall ({OLD_HALL}) is Decommissioned; choose another.",
    )


def test_an_empty_mount_is_decommissioned_once_its_parts_are():
    given(registered).when(DECOMMISSION).then(decommissioned)
    given(registered, part).when(DECOMMISSION).refused(
        MountHasActiveChildrenError, saying=f"Active child mounts: 1, for example {PART}."
    )
    given(registered, part, MountDecommissioned(NOW, PART, "x")).when(DECOMMISSION).then(
        decommissioned
    )


def test_what_keeps_a_mount_in_use_is_reported_in_order():
    given(registered, installed, decommissioned).when(DECOMMISSION).refused(
        MountCannotDecommissionError
    )
    given(registered, installed, part).when(DECOMMISSION).refused(
        MountHasAssetInstalledError, saying=f"Asset {CAMERA} is installed."
    )


def test_an_absent_mount_is_not_found():
    given().when(INSTALL).refused(MountNotFoundError)


def test_a_mount_is_what_its_first_event_says():
    new = Mount(PART, "Slot 1a", parent_id=ID, placement=None, installed_asset_id=None)
    assert begin(part) == replace(new, status=MountStatus.ACTIVE)


def test_each_event_changes_what_it_is_about_and_nothing_else():
    new = begin(registered)
    occupied = evolve(new, installed)
    assert occupied == replace(new, installed_asset_id=CAMERA)
    assert evolve(occupied, REPAIRED[0]) == new
    assert evolve(new, MountPlacementUpdated(NOW, ID, THERE)) == replace(new, placement=THERE)
    assert evolve(new, decommissioned) == replace(new, status=MountStatus.DECOMMISSIONED)


A_FRAME = frame.Frame(HALL, "Hall", None, None)
MOVES = [
    Example(INSTALL, begin_asset(asset(CAMERA))),
    Example(UNINSTALL, begin_asset(asset(CAMERA))),
    Example(PLACE, A_FRAME),
    Example(DECOMMISSION, ()),
]
STATUS_WHEN_EMPTY = """
                install_asset  uninstall_asset  update_mount_placement  decommission_mount
Active          Active         -                Active                  Decommissioned
Decommissioned  -              -                -                       -
"""
STATUS_WHEN_OCCUPIED = """
                install_asset  uninstall_asset  update_mount_placement  decommission_mount
Active          -              Active           Active                  -
Decommissioned  -              -                -                       -
"""
OCCUPIED = """
       install_asset  uninstall_asset
None   CAMERA         -
CAMERA -              None
"""


def test_every_move_from_every_status():
    for asset_id, expected in ((None, STATUS_WHEN_EMPTY), (CAMERA, STATUS_WHEN_OCCUPIED)):
        mount = replace(begin(registered), installed_asset_id=asset_id)
        by_status = {status: replace(mount, status=status) for status in MountStatus}
        matrix(OPERATIONS, by_status, MOVES, by_status.__getitem__, lambda it: it.status, expected)


def test_a_mount_is_filled_and_emptied():
    names = {"None": None, "CAMERA": CAMERA}
    matrix(
        OPERATIONS,
        names,
        MOVES[:2],
        lambda name: replace(begin(registered), installed_asset_id=names[name]),
        lambda mount: {v: k for k, v in names.items()}[mount.installed_asset_id],
        OCCUPIED,
    )


def test_every_command_is_tried_in_some_matrix():
    tried = {type(example.command) for example in MOVES}
    own = [row for row in OPERATIONS if row.aggregate is mounts and not row.genesis]
    assert tried == {row.command for row in own}
