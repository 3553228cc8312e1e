"""Mount: a named place where an asset can be installed; it outlives the assets in it."""

from collections.abc import Mapping
from enum import StrEnum
from uuid import UUID

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
    reads,
    replace,
)
from beamkeep.kernel.values import FreeText, Name, Reason, trimmed

from .asset import (
    Asset,
    AssetInstalledInMount,
    AssetLifecycle,
    AssetNotFoundError,
    AssetUninstalledFromMount,
    assets,
)
from .frame import (
    DecommissionFrame,
    Frame,
    FrameCannotDecommissionError,
    FrameInUseError,
    FrameNotFoundError,
    FrameStatus,
    InvalidFrameReasonError,
    ListFrames,
    Users,
    decommission_frame,
    frames,
)
from .placement import Placement, require_finite


class MountStatus(StrEnum):
    ACTIVE = "Active"
    DECOMMISSIONED = "Decommissioned"


# Events are stored for ever: add a field with a default; never rename or drop one.
class MountEvent(Event):
    mount_id: UUID


class MountRegistered(MountEvent):
    slot_code: str
    parent_id: UUID | None
    placement: Placement | None


class MountAssetInstalled(MountEvent):
    asset_id: UUID


class MountAssetUninstalled(MountEvent):
    asset_id: UUID
    reason: FreeText


class MountPlacementUpdated(MountEvent):
    placement: Placement


class MountDecommissioned(MountEvent):
    reason: FreeText


type MountChanged = (
    MountAssetInstalled | MountAssetUninstalled | MountPlacementUpdated | MountDecommissioned
)


class MountNotFoundError(NotFound):
    """The mount does not exist."""


class InvalidMountSlotCodeError(Invalid):
    """The slot code is not usable."""


class InvalidMountPlacementError(Invalid):
    """The placement is not usable."""


class InvalidMountReasonError(Invalid):
    """The reason is not usable."""


class MountCannotRegisterError(Cannot):
    """The mount cannot be registered: it names something that is no longer in use."""


class MountCannotInstallError(Cannot):
    """Nothing can be installed in the mount."""


class MountAlreadyOccupiedError(Cannot):
    """An asset is installed in the mount; uninstall it first."""


class AssetNotInstallableError(Cannot):
    """The asset is no longer in use and is not installed anywhere; name another."""


class AssetAlreadyInstalledError(Cannot):
    """The asset is installed in another mount; uninstall it there first."""


class MountCannotUninstallError(Cannot):
    """Nothing can be uninstalled from the mount."""


class MountCannotUpdatePlacementError(Cannot):
    """The mount cannot be placed there."""


class MountCannotDecommissionError(Cannot):
    """The mount cannot be decommissioned."""


class MountHasAssetInstalledError(Cannot):
    """An asset is installed in the mount; uninstall it first."""


class MountHasActiveChildrenError(Cannot):
    """The mount has parts that are in use; decommission them first."""


A, D = MountStatus.ACTIVE, MountStatus.DECOMMISSIONED
STATUS: Axis[MountStatus, MountChanged] = Axis(
    "status",
    # event, allowed from, leads to, refused with
    (MountAssetInstalled, {A}, A, MountCannotInstallError),
    (MountAssetUninstalled, {A}, A, MountCannotUninstallError),
    (MountPlacementUpdated, {A}, A, MountCannotUpdatePlacementError),
    (MountDecommissioned, {A}, D, MountCannotDecommissionError),
)


class Mount(Record):
    id: UUID
    slot_code: str
    parent_id: UUID | None
    placement: Placement | None
    installed_asset_id: UUID | None = None
    status: MountStatus = MountStatus.ACTIVE


def begin(event: MountRegistered) -> Mount:
    return Mount(event.mount_id, event.slot_code, event.parent_id, event.placement)


def evolve(mount: Mount, event: MountChanged) -> Mount:
    match event:
        case MountAssetInstalled():
            return replace(mount, installed_asset_id=event.asset_id)
        case MountAssetUninstalled():
            return replace(mount, installed_asset_id=None)
        case MountPlacementUpdated():
            return replace(mount, placement=event.placement)
        case MountDecommissioned():
            return replace(mount, status=STATUS.after(event))


class RegisterMount(Command):
    slot_code: Name
    """What it is called on the floor; need not be unique."""
    parent_id: UUID | None = None
    """The mount it is part of."""
    placement: Placement | None = None


class MountCommand(Command):
    mount_id: UUID


class InstallMountAsset(MountCommand):
    asset_id: UUID


class UninstallMountAsset(MountCommand):
    reason: Reason


class UpdateMountPlacement(MountCommand):
    placement: Placement


class DecommissionMount(MountCommand):
    reason: Reason


class Referred(Record):
    """What a new mount refers to."""

    parent: Mount | None
    frame: Frame | None


async def referred(command: RegisterMount, read: Reader) -> Referred:
    parent = await read.one(mounts, command.parent_id) if command.parent_id else None
    placed = command.placement
    return Referred(parent, await read.one(frames, placed.frame_id) if placed else None)


async def asset_to_install(mount: Mount, command: InstallMountAsset, read: Reader) -> Asset:
    return await read.one(assets, command.asset_id)


async def installed_asset(mount: Mount, command: UninstallMountAsset, read: Reader) -> Asset | None:
    """Read so that the version of its stream, which is written too, is known."""
    id = mount.installed_asset_id
    return await read.one(assets, id) if id else None


async def frame_placed_in(mount: Mount, command: UpdateMountPlacement, read: Reader) -> Frame:
    return await read.one(frames, command.placement.frame_id)


async def active_parts(mount: Mount, command: DecommissionMount, read: Reader) -> tuple[UUID, ...]:
    listed = await read.matching(ListMounts(parent_id=mount.id, status=MountStatus.ACTIVE))
    return _active(await read.many(mounts, listed))


async def users(frame: Frame, command: DecommissionFrame, read: Reader) -> Users:
    in_use = ListFrames(parent_id=frame.id, status=FrameStatus.ACTIVE)
    placed = ListMounts(frame_id=frame.id, status=MountStatus.ACTIVE)
    parts = await read.many(frames, await read.matching(in_use))
    found = await read.many(mounts, await read.matching(placed))
    return Users(
        tuple(id for id, part in parts.items() if part.status is FrameStatus.ACTIVE),
        _active({id: one for id, one in found.items() if frame.id in _frame_ids(one)}),
    )


def register_mount(command: RegisterMount, given: Referred, call: Call) -> list[MountRegistered]:
    """Register a place where an asset can be installed."""
    slot_code = trimmed(command.slot_code, InvalidMountSlotCodeError)
    if command.placement:
        require_finite(command.placement, InvalidMountPlacementError)
    if given.parent and given.parent.status is MountStatus.DECOMMISSIONED:
        raise MountCannotRegisterError(f"Its parent {given.parent.id} is {given.parent.status}.")
    if given.frame:
        _require_in_use(given.frame, MountCannotRegisterError)
    return [MountRegistered(call.now, call.new_id, slot_code, command.parent_id, command.placement)]


def install_asset(
    mount: Mount, command: InstallMountAsset, given: Asset, call: Call
) -> list[MountAssetInstalled | AssetInstalledInMount]:
    """Install an asset in an empty mount."""
    STATUS.require(mount.status, MountAssetInstalled)
    if mount.installed_asset_id is not None:
        raise MountAlreadyOccupiedError(f"It is asset {mount.installed_asset_id}.")
    if given.lifecycle is AssetLifecycle.DECOMMISSIONED:
        raise AssetNotInstallableError(f"Asset {given.id} is {given.lifecycle}.")
    if given.mount_id is not None:
        raise AssetAlreadyInstalledError(f"It is mount {given.mount_id}.", mount_id=given.mount_id)
    return [
        MountAssetInstalled(call.now, mount.id, given.id),
        AssetInstalledInMount(call.now, given.id, mount.id),
    ]


def uninstall_asset(
    mount: Mount, command: UninstallMountAsset, given: Asset | None, call: Call
) -> list[MountAssetUninstalled | AssetUninstalledFromMount]:
    """Take the installed asset out of a mount."""
    reason = trimmed(command.reason, InvalidMountReasonError)
    STATUS.require(mount.status, MountAssetUninstalled)
    if (asset_id := mount.installed_asset_id) is None:
        raise MountCannotUninstallError("It is empty.")
    return [
        MountAssetUninstalled(call.now, mount.id, asset_id, reason),
        AssetUninstalledFromMount(call.now, asset_id, mount.id, reason),
    ]


def update_mount_placement(
    mount: Mount, command: UpdateMountPlacement, given: Frame, call: Call
) -> list[MountPlacementUpdated]:
    """Say anew where a mount is."""
    require_finite(command.placement, InvalidMountPlacementError)
    STATUS.require(mount.status, MountPlacementUpdated)
    _require_in_use(given, MountCannotUpdatePlacementError)
    return [MountPlacementUpdated(call.now, mount.id, command.placement)]


def decommission_mount(
    mount: Mount, command: DecommissionMount, given: tuple[UUID, ...], call: Call
) -> list[MountDecommissioned]:
    """Take an empty mount out of use for good."""
    reason = trimmed(command.reason, InvalidMountReasonError)
    STATUS.require(mount.status, MountDecommissioned)
    if mount.installed_asset_id is not None:
        raise MountHasAssetInstalledError(f"It is asset {mount.installed_asset_id}.")
    if given:
        raise MountHasActiveChildrenError(f"One of {len(given)} is mount {given[0]}.")
    return [MountDecommissioned(call.now, mount.id, reason)]


def _require_in_use(frame: Frame, refusal: type[Cannot]) -> None:
    if frame.status is FrameStatus.DECOMMISSIONED:
        raise refusal(f"Frame {frame.id} is {frame.status}; name another.")


def _frame_ids(mount: Mount) -> tuple[UUID, ...]:
    return (mount.placement.frame_id,) if mount.placement else ()


def _active(found: Mapping[UUID, Mount]) -> tuple[UUID, ...]:
    """Those in use: a list may be a moment late, a stream never is."""
    return tuple(id for id, mount in found.items() if mount.status is MountStatus.ACTIVE)


mounts = Aggregate("Mount", begin, evolve, MountNotFoundError)

# fmt: off
OPERATIONS = (
    mounts.creates("POST /mounts", RegisterMount, register_mount, MountNotFoundError,
        FrameNotFoundError, InvalidMountSlotCodeError, InvalidMountPlacementError,
        MountCannotRegisterError, given=referred),
    mounts.changes("POST /mounts/{mount_id}/install", InstallMountAsset, install_asset,
        AssetNotFoundError, MountCannotInstallError, MountAlreadyOccupiedError,
        AssetNotInstallableError, AssetAlreadyInstalledError, given=asset_to_install),
    mounts.changes("POST /mounts/{mount_id}/uninstall", UninstallMountAsset, uninstall_asset,
        InvalidMountReasonError, MountCannotUninstallError, given=installed_asset),
    mounts.changes("POST /mounts/{mount_id}/update-placement", UpdateMountPlacement,
        update_mount_placement, FrameNotFoundError, InvalidMountPlacementError,
        MountCannotUpdatePlacementError, given=frame_placed_in),
    mounts.changes("POST /mounts/{mount_id}/decommission", DecommissionMount, decommission_mount,
        InvalidMountReasonError, MountCannotDecommissionError, MountHasAssetInstalledError,
        MountHasActiveChildrenError, given=active_parts),
    frames.changes("POST /frames/{frame_id}/decommission", DecommissionFrame, decommission_frame,
        InvalidFrameReasonError, FrameCannotDecommissionError, FrameInUseError, given=users),
)
# fmt: on


class ListMounts(Listing):
    """List mounts, by age."""

    status: MountStatus | None = None
    parent_id: UUID | None = None
    frame_id: UUID | None = None
    """Those placed in this frame."""
    slot_code: Name | None = None
    """Exactly this code."""
    installed_asset_id: UUID | None = None


QUESTIONS = reads("/mounts", mounts, ListMounts, facets={"frame_id": _frame_ids})
