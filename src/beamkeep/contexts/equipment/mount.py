"""Mount: a named place in which assets are installed one after another."""

from enum import StrEnum
from typing import Annotated
from uuid import UUID

from beamkeep.contexts.seams.installation import Reader
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
    NotFound,
    Record,
    reads,
    replace,
)
from beamkeep.kernel.values import FreeText, Name, Reason, Trimmed

from . import asset, frame
from .asset import Asset, AssetLifecycle, AssetNotFoundError, assets
from .frame import DecommissionFrame, Frame, FrameNotFoundError, FrameStatus, ListFrames, frames
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


class MountNotFoundError(NotFound): ...


class InvalidMountSlotCodeError(Blank): ...


class InvalidMountPlacementError(Invalid):
    """The placement of a mount must be finite."""


class InvalidMountReasonError(Blank): ...


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
    """An asset can be uninstalled only from an active mount, and only if an asset is in it."""


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
    return Mount.of(event, id=event.mount_id)


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
    slot_code: Annotated[Name, Trimmed(InvalidMountSlotCodeError)]
    """The label of the place; it need not be unique."""
    parent_id: UUID | None = None
    """The mount above this one."""
    placement: Placement | None = None


class MountCommand(Command):
    mount_id: UUID


class MountCommandWithReason(MountCommand):
    reason: Annotated[Reason, Trimmed(InvalidMountReasonError)]


class InstallMountAsset(MountCommand):
    asset_id: UUID


class UninstallMountAsset(MountCommandWithReason): ...


class UpdateMountPlacement(MountCommand):
    placement: Placement


class DecommissionMount(MountCommandWithReason): ...


async def parent_and_frame(command: RegisterMount, read: Reader) -> list[Mount | Frame]:
    parent = [await read.one(mounts, command.parent_id)] if command.parent_id else []
    placed = command.placement
    return [*parent, *([await read.one(frames, placed.frame_id)] if placed else [])]


async def asset_to_install(mount: Mount, command: InstallMountAsset, read: Reader) -> Asset:
    return await read.one(assets, command.asset_id, to_show=True)


async def installed_asset(mount: Mount, command: UninstallMountAsset, read: Reader) -> Asset | None:
    # The rule does not look at the asset, but writes to its stream, whose version must be known.
    id = mount.installed_asset_id
    return await read.one(assets, id) if id else None


async def active_children(mount: Mount, command: DecommissionMount, read: Reader) -> list[Mount]:
    return await _active(ListMounts(parent_id=mount.id, status=frozenset({A})), read)


async def frame_contents(frame: Frame, command: DecommissionFrame, read: Reader) -> list[str]:
    """Return the active frames and mounts that are placed in a frame."""
    children = await read.matching(
        ListFrames(parent_id=frame.id, status=frozenset({FrameStatus.ACTIVE}))
    )
    found = (await read.many(frames, children)).values()
    placed = await _active(ListMounts(frame_id=frame.id, status=frozenset({A})), read)
    active = [f"frame {it.id}" for it in found if it.status is FrameStatus.ACTIVE]
    return active + [f"mount {it.id}" for it in placed if frame.id in _frame_ids(it)]


def register_mount(
    command: RegisterMount, given: list[Mount | Frame], call: Call
) -> list[MountRegistered]:
    """Register a place in which an asset can be installed."""
    if command.placement:
        require_finite(command.placement, InvalidMountPlacementError)
    _require_active(MountCannotRegisterError, *given)
    return [MountRegistered.of(command, occurred_at=call.now, mount_id=call.new_id)]


def install_asset(
    mount: Mount, command: InstallMountAsset, given: Asset, call: Call
) -> list[MountAssetInstalled | asset.AssetInstalledInMount]:
    """Install an asset in an empty mount."""
    STATUS.require(mount.status, MountAssetInstalled)
    if mount.installed_asset_id is not None:
        raise MountAlreadyOccupiedError(f"Asset {mount.installed_asset_id} is installed.")
    if given.lifecycle is AssetLifecycle.DECOMMISSIONED:
        raise AssetNotInstallableError(f"Asset {given.name} ({given.id}) is {given.lifecycle}.")
    if id := given.mount_id:
        raise AssetAlreadyInstalledError(f"The asset is in mount {id}.", mount_id=id)
    installed = MountAssetInstalled(call.now, mount.id, given.id)
    return [installed, asset.AssetInstalledInMount(call.now, given.id, mount.id)]


def uninstall_asset(
    mount: Mount, command: UninstallMountAsset, given: Asset | None, call: Call
) -> list[MountAssetUninstalled | asset.AssetUninstalledFromMount]:
    """Uninstall the asset from a mount."""
    STATUS.require(mount.status, MountAssetUninstalled)
    if (asset_id := mount.installed_asset_id) is None:
        raise MountCannotUninstallError("The mount is empty.")
    return [
        MountAssetUninstalled.of(command, occurred_at=call.now, asset_id=asset_id),
        asset.AssetUninstalledFromMount.of(command, occurred_at=call.now, asset_id=asset_id),
    ]


def update_mount_placement(
    mount: Mount, command: UpdateMountPlacement, given: Frame, call: Call
) -> list[MountPlacementUpdated]:
    """Set the placement of a mount in a frame."""
    require_finite(command.placement, InvalidMountPlacementError)
    STATUS.require(mount.status, MountPlacementUpdated)
    _require_active(MountCannotUpdatePlacementError, given)
    return [MountPlacementUpdated(call.now, mount.id, command.placement)]


def decommission_mount(
    mount: Mount, command: DecommissionMount, given: list[Mount], call: Call
) -> list[MountDecommissioned]:
    """Take an empty mount out of service for good."""
    STATUS.require(mount.status, MountDecommissioned)
    if mount.installed_asset_id is not None:
        raise MountHasAssetInstalledError(f"Asset {mount.installed_asset_id} is installed.")
    if given:
        detail = f"Active child mounts: {len(given)}, for example {given[0].id}."
        raise MountHasActiveChildrenError(detail)
    return [MountDecommissioned(call.now, mount.id, command.reason)]


def _require_active(refusal: type[Cannot], *places: Mount | Frame) -> None:
    for it in places:
        name = it.slot_code if isinstance(it, Mount) else it.name
        if it.status in (MountStatus.DECOMMISSIONED, FrameStatus.DECOMMISSIONED):
            raise refusal(f"{type(it).__name__} {name} ({it.id}) is {it.status}; choose another.")


def _frame_ids(mount: Mount) -> tuple[UUID, ...]:
    return (mount.placement.frame_id,) if mount.placement else ()


async def _active(listed: Listing, read: Reader) -> list[Mount]:
    """Return the active mounts by their streams, which are newer than the list that found them."""
    found = await read.many(mounts, await read.matching(listed))
    return [mount for mount in found.values() if mount.status is MountStatus.ACTIVE]


mounts = Aggregate("Mount", begin, evolve, absent=MountNotFoundError, axes=(STATUS,))

# fmt: off
OPERATIONS = (
    mounts.creates("POST /mounts", RegisterMount, register_mount, MountNotFoundError,
        FrameNotFoundError, InvalidMountPlacementError, MountCannotRegisterError,
        given=parent_and_frame),
    mounts.changes("POST /mounts/{mount_id}/install", InstallMountAsset, install_asset,
        AssetNotFoundError, MountCannotInstallError, MountAlreadyOccupiedError,
        AssetNotInstallableError, AssetAlreadyInstalledError,
        given=asset_to_install, title="Install an asset in a mount"),
    mounts.changes("POST /mounts/{mount_id}/uninstall", UninstallMountAsset, uninstall_asset,
        MountCannotUninstallError, given=installed_asset, title="Remove an asset from its mount"),
    mounts.changes("POST /mounts/{mount_id}/update-placement", UpdateMountPlacement,
        update_mount_placement, FrameNotFoundError, InvalidMountPlacementError,
        MountCannotUpdatePlacementError,
        given=lambda _, command, read: read.one(frames, command.placement.frame_id)),
    mounts.changes("POST /mounts/{mount_id}/decommission", DecommissionMount, decommission_mount,
        MountCannotDecommissionError, MountHasAssetInstalledError, MountHasActiveChildrenError,
        given=active_children, destructive=True),
    frames.changes("POST /frames/{frame_id}/decommission", DecommissionFrame,
        frame.decommission_frame, frame.FrameCannotDecommissionError, frame.FrameInUseError,
        given=frame_contents, destructive=True),
)
# fmt: on


class ListMounts(Listing):
    """List mounts, newest first."""

    status: frozenset[MountStatus] | None = None
    parent_id: UUID | None = None
    frame_id: UUID | None = None
    """Only mounts placed in this frame."""
    slot_code: Name | None = None
    """Only mounts with exactly this code."""
    installed_asset_id: UUID | None = None


QUESTIONS = reads(
    "/mounts",
    mounts,
    ListMounts,
    facets={"frame_id": _frame_ids},
    directory=DirectoryEntry(
        lambda it: it.slot_code,
        status=lambda it: it.status,
        scope=lambda it: (within,) if (within := it.installed_asset_id or it.parent_id) else None,
        version=2,
    ),
)
