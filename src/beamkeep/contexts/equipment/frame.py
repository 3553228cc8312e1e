"""Frame: a named coordinate frame in which mounts and other frames are placed."""

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

from .placement import Placement, require_finite


class FrameStatus(StrEnum):
    ACTIVE = "Active"
    DECOMMISSIONED = "Decommissioned"


# Events are stored for ever: add a field with a default; never rename or drop one.
class FrameEvent(Event):
    frame_id: UUID


class FrameRegistered(FrameEvent):
    name: str
    parent_id: UUID | None
    placement: Placement | None


class FramePlacementUpdated(FrameEvent):
    placement: Placement


class FrameDecommissioned(FrameEvent):
    reason: FreeText


type FrameChanged = FramePlacementUpdated | FrameDecommissioned


class FrameNotFoundError(NotFound):
    """The frame does not exist."""


class InvalidFrameNameError(Invalid):
    """Frame name must not be blank."""


class InvalidFramePlacementError(Invalid):
    """A frame needs a finite placement in its parent; a root frame has none."""


class InvalidFrameReasonError(Invalid):
    """Reason must not be blank."""


class FrameCannotRegisterError(Cannot):
    """A new frame cannot have a decommissioned parent."""


class FrameCannotUpdatePlacementError(Cannot):
    """Only an active frame that has a parent can be placed."""


class FrameCannotDecommissionError(Cannot):
    """A decommissioned frame cannot be decommissioned again."""


class FrameInUseError(Cannot):
    """A frame cannot be decommissioned while an active frame or mount is placed in it."""


A, D = FrameStatus.ACTIVE, FrameStatus.DECOMMISSIONED
STATUS: Axis[FrameStatus, FrameChanged] = Axis(
    "status",
    # event, allowed from, leads to, refused with
    (FramePlacementUpdated, {A}, A, FrameCannotUpdatePlacementError),
    (FrameDecommissioned, {A}, D, FrameCannotDecommissionError),
)


class Frame(Record):
    id: UUID
    name: str
    parent_id: UUID | None
    placement: Placement | None
    status: FrameStatus = FrameStatus.ACTIVE


def begin(event: FrameRegistered) -> Frame:
    id, name, parent_id = event.frame_id, event.name, event.parent_id
    return Frame(id, name, parent_id=parent_id, placement=event.placement)


def evolve(frame: Frame, event: FrameChanged) -> Frame:
    match event:
        case FramePlacementUpdated():
            return replace(frame, placement=event.placement)
        case FrameDecommissioned():
            return replace(frame, status=STATUS.after(event))


class RegisterFrame(Command):
    name: Name
    parent_id: UUID | None = None
    """The frame in which this frame is placed; leave out for a root."""
    placement: Placement | None = None
    """The placement in the parent frame; leave out for a root."""


class UpdateFramePlacement(Command):
    frame_id: UUID
    placement: Placement


class DecommissionFrame(Command):
    frame_id: UUID
    reason: Reason


class FrameContents(Record):
    """The active frames and mounts that are placed in a frame."""

    frame_ids: tuple[UUID, ...]
    mount_ids: tuple[UUID, ...]


async def parent_frame(command: RegisterFrame, read: Reader) -> Frame | None:
    named = [command.parent_id, command.placement and command.placement.frame_id]
    found = await read.many(frames, [id for id in named if id])
    return found[command.parent_id] if command.parent_id else None


def register_frame(
    command: RegisterFrame, given: Frame | None, call: Call
) -> list[FrameRegistered]:
    """Register a coordinate frame, as a root or placed in another frame."""
    name = trimmed(command.name, InvalidFrameNameError)
    parent_id, placement = command.parent_id, command.placement
    if (placement is None) != (parent_id is None):
        raise InvalidFramePlacementError("Send both parent_id and placement, or neither.")
    if placement:
        _require_within(parent_id, placement)
    if given and given.status is FrameStatus.DECOMMISSIONED:
        raise FrameCannotRegisterError(f"Frame {given.name} ({given.id}) is {given.status}.")
    frame = FrameRegistered(
        call.now, call.new_id, name=name, parent_id=parent_id, placement=placement
    )
    return [frame]


def update_frame_placement(
    frame: Frame, command: UpdateFramePlacement, call: Call
) -> list[FramePlacementUpdated]:
    """Set the placement of a frame in its parent."""
    _require_within(frame.parent_id, command.placement)
    STATUS.require(frame.status, FramePlacementUpdated)
    if frame.parent_id is None:
        raise FrameCannotUpdatePlacementError("The frame is a root.")
    return [FramePlacementUpdated(call.now, frame.id, command.placement)]


def decommission_frame(
    frame: Frame, command: DecommissionFrame, given: FrameContents, call: Call
) -> list[FrameDecommissioned]:
    """Take a frame out of service for good; no active frame or mount may be placed in it."""
    reason = trimmed(command.reason, InvalidFrameReasonError)
    STATUS.require(frame.status, FrameDecommissioned)
    users = [f"frame {id}" for id in given.frame_ids] + [f"mount {id}" for id in given.mount_ids]
    if users:
        more = f" and {len(users) - 5} more" if len(users) > 5 else ""
        told = f"Move or decommission {', '.join(users[:5])}{more} first."
        raise FrameInUseError(told)
    return [FrameDecommissioned(call.now, frame.id, reason)]


def _require_within(parent_id: UUID | None, placement: Placement) -> None:
    if parent_id and placement.frame_id != parent_id:
        raise InvalidFramePlacementError(f"The parent is frame {parent_id}.")
    require_finite(placement, InvalidFramePlacementError)


frames = Aggregate("Frame", begin, evolve, absent=FrameNotFoundError)

# `decommission_frame` is declared with the mounts, because mounts can be placed in a frame.
# fmt: off
OPERATIONS = (
    frames.creates("POST /frames", RegisterFrame, register_frame, FrameNotFoundError,
        InvalidFrameNameError, InvalidFramePlacementError, FrameCannotRegisterError,
        given=parent_frame),
    frames.changes("POST /frames/{frame_id}/update-placement", UpdateFramePlacement,
        update_frame_placement, InvalidFramePlacementError, FrameCannotUpdatePlacementError),
)
# fmt: on


class ListFrames(Listing):
    """List frames, oldest first."""

    status: FrameStatus | None = None
    parent_id: UUID | None = None


QUESTIONS = reads("/frames", frames, ListFrames)
