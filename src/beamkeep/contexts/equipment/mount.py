"""Mount: a named place in which assets are installed one after another."""

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
    FrameContents,
    FrameInUseError,
    FrameNotFoundError,
    FrameStatus,
    InvalidFrameReasonError,
    ListFrames,
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
    """Slot code must not be blank."""


class InvalidMountPlacementError(Invalid):
    """The placement of a mount must be finite."""


class InvalidMountReasonError(Invalid):
    """Reason must not be blank."""


class MountCannotRegisterError(Cannot):
    """A new mount cannot refer to a decommissioned mount or frame."""


class MountCannotInstallError(Cannot):
    """An asset can be installed only in an active mount."""


class MountAlreadyOccupiedError(Cannot):
    """An asset can be installed only in an empty mount; uninstall the present asset first."""


class AssetNotInstallableError(Cannot):
    """A decommissioned asset cannot be installed."""


class AssetAlreadyInstalledError(Cannot):
    """An asset can be in one mount only; uninstall the asset from its present mount first."""


class MountCannotUninstallError(Cannot):
    """An asset can be uninstalled only from an active mount that holds one."""


class MountCannotUpdatePlacementError(Cannot):
    """Only an active mount can be placed, and only in an active frame."""


class MountCannotDecommissionError(Cannot):
    """A decommissioned mount cannot be decommissioned again."""


class MountHasAssetInstalledError(Cannot):
    """Only an empty mount can be decommissioned; uninstall the asset first."""


class MountHasActiveChildrenError(Cannot):
    """A mount can be decommissioned only after its child mounts."""


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
    id, code, parent_id = event.mount_id, event.slot_code, event.parent_id
    return Mount(id, code, parent_id=parent_id, placement=event.placement)


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
    """The label of the place; it need not be unique."""
    parent_id: UUID | None = None
    """The mount above this one."""
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


class MountReferences(Record):
    """The parent of a new mount, and the frame in which it is placed."""

    parent: Mount | None
    frame: Frame | None


async def references(command: RegisterMount, read: Reader) -> MountReferences:
    parent = await read.one(mounts, command.parent_id) if command.parent_id else None
    placed = command.placement
    return MountReferences(parent, await read.one(frames, placed.frame_id) if placed else None)


async def installed_asset(mount: Mount, command: UninstallMountAsset, read: Reader) -> Asset | None:
    # The rule does not look at the asset, but writes to its stream, whose version must be known.
    id = mount.installed_asset_id
    return await read.one(assets, id) if id else None


async def active_children(
    mount: Mount, command: DecommissionMount, read: Reader
) -> tuple[UUID, ...]:
    listed = await read.matching(ListMounts(parent_id=mount.id, status=MountStatus.ACTIVE))
    return _active(await read.many(mounts, listed))


async def frame_contents(frame: Frame, command: DecommissionFrame, read: Reader) -> FrameContents:
    listed_frames = ListFrames(parent_id=frame.id, status=FrameStatus.ACTIVE)
    listed_mounts = ListMounts(frame_id=frame.id, status=MountStatus.ACTIVE)
    children = await read.many(frames, await read.matching(listed_frames))
    found = await read.many(mounts, await read.matching(listed_mounts))
    return FrameContents(
        tuple(id for id, child in children.items() if child.status is FrameStatus.ACTIVE),
        _active({id: one for id, one in found.items() if frame.id in _frame_ids(one)}),
    )


def register_mount(
    command: RegisterMount, given: MountReferences, call: Call
) -> list[MountRegistered]:
    """Register a place in which an asset can be installed."""
    slot_code = trimmed(command.slot_code, InvalidMountSlotCodeError)
    parent_id, placement = command.parent_id, command.placement
    if placement:
        require_finite(placement, InvalidMountPlacementError)
    if (parent := given.parent) and parent.status is MountStatus.DECOMMISSIONED:
        raise MountCannotRegisterError(
            f"Mount {parent.slot_code} ({parent.id}) is {parent.status}; choose another."
        )
    _require_active(given.frame, MountCannotRegisterError)
    mount = MountRegistered(
        call.now, call.new_id, slot_code=slot_code, parent_id=parent_id, placement=placement
    )
    return [mount]


def install_asset(
    mount: Mount, command: InstallMountAsset, given: Asset, call: Call
) -> list[MountAssetInstalled | AssetInstalledInMount]:
    """Install an asset in an empty mount."""
    STATUS.require(mount.status, MountAssetInstalled)
    if mount.installed_asset_id is not None:
        raise MountAlreadyOccupiedError(f"Asset {mount.installed_asset_id} is installed.")
    if given.lifecycle is AssetLifecycle.DECOMMISSIONED:
        raise AssetNotInstallableError(f"Asset {given.name} ({given.id}) is {given.lifecycle}.")
    if id := given.mount_id:
        raise AssetAlreadyInstalledError(f"The asset is in mount {id}.", mount_id=id)
    return [
        MountAssetInstalled(call.now, mount.id, given.id),
        AssetInstalledInMount(call.now, given.id, mount.id),
    ]


def uninstall_asset(
    mount: Mount, command: UninstallMountAsset, given: Asset | None, call: Call
) -> list[MountAssetUninstalled | AssetUninstalledFromMount]:
    """Uninstall the asset from a mount."""
    reason = trimmed(command.reason, InvalidMountReasonError)
    STATUS.require(mount.status, MountAssetUninstalled)
    if (asset_id := mount.installed_asset_id) is None:
        raise MountCannotUninstallError("The mount is empty.")
    return [
        MountAssetUninstalled(call.now, mount.id, asset_id=asset_id, reason=reason),
        AssetUninstalledFromMount(call.now, asset_id, mount_id=mount.id, reason=reason),
    ]


def update_mount_placement(
    mount: Mount, command: UpdateMountPlacement, given: Frame, call: Call
) -> list[MountPlacementUpdated]:
    """Set the placement of a mount in a frame."""
    require_finite(command.placement, InvalidMountPlacementError)
    STATUS.require(mount.status, MountPlacementUpdated)
    _require_active(given, MountCannotUpdatePlacementError)
    return [MountPlacementUpdated(call.now, mount.id, command.placement)]


def decommission_mount(
    mount: Mount, command: DecommissionMount, given: tuple[UUID, ...], call: Call
) -> list[MountDecommissioned]:
    """Take an empty mount out of service for good."""
    reason = trimmed(command.reason, InvalidMountReasonError)
    STATUS.require(mount.status, MountDecommissioned)
    if mount.installed_asset_id is not None:
        raise MountHasAssetInstalledError(f"Asset {mount.installed_asset_id} is installed.")
    if given:
        told = f"Active child mounts: {len(given)}, for example {given[0]}."
        raise MountHasActiveChildrenError(told)
    return [MountDecommissioned(call.now, mount.id, reason)]


def _require_active(frame: Frame | None, refusal: type[Cannot]) -> None:
    if frame and frame.status is FrameStatus.DECOMMISSIONED:
        raise refusal(f"Frame {frame.name} ({frame.id}) is {frame.status}; choose another.")


def _frame_ids(mount: Mount) -> tuple[UUID, ...]:
    return (mount.placement.frame_id,) if mount.placement else ()


def _active(found: Mapping[UUID, Mount]) -> tuple[UUID, ...]:
    """Return the active mounts by their streams, which are newer than the list that found them."""
    return tuple(id for id, mount in found.items() if mount.status is MountStatus.ACTIVE)


mounts = Aggregate("Mount", begin, evolve, absent=MountNotFoundError)

# fmt: off
OPERATIONS = (
    mounts.creates("POST /mounts", RegisterMount, register_mount, MountNotFoundError,
        FrameNotFoundError, InvalidMountSlotCodeError, InvalidMountPlacementError,
        MountCannotRegisterError, given=references),
    mounts.changes("POST /mounts/{mount_id}/install", InstallMountAsset, install_asset,
        AssetNotFoundError, MountCannotInstallError, MountAlreadyOccupiedError,
        AssetNotInstallableError, AssetAlreadyInstalledError,
        given=lambda _, command, read: read.one(assets, command.asset_id)),
    mounts.changes("POST /mounts/{mount_id}/uninstall", UninstallMountAsset, uninstall_asset,
        InvalidMountReasonError, MountCannotUninstallError, given=installed_asset),
    mounts.changes("POST /mounts/{mount_id}/update-placement", UpdateMountPlacement,
        update_mount_placement, FrameNotFoundError, InvalidMountPlacementError,
        MountCannotUpdatePlacementError,
        given=lambda _, command, read: read.one(frames, command.placement.frame_id)),
    mounts.changes("POST /mounts/{mount_id}/decommission", DecommissionMount, decommission_mount,
        InvalidMountReasonError, MountCannotDecommissionError, MountHasAssetInstalledError,
        MountHasActiveChildrenError, given=active_children, destructive=True),
    frames.changes("POST /frames/{frame_id}/decommission", DecommissionFrame, decommission_frame,
        InvalidFrameReasonError, FrameCannotDecommissionError, FrameInUseError,
        given=frame_contents, destructive=True),
)
# fmt: on


class ListMounts(Listing):
    """List mounts, oldest first."""

    status: MountStatus | None = None
    parent_id: UUID | None = None
    frame_id: UUID | None = None
    """Only mounts placed in this frame."""
    slot_code: Name | None = None
    """Only mounts with exactly this code."""
    installed_asset_id: UUID | None = None


QUESTIONS = reads("/mounts", mounts, ListMounts, facets={"frame_id": _frame_ids})
