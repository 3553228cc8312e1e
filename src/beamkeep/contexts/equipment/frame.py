"""Frame: a named coordinate frame, in which mounts and other frames are placed."""

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
    """The frame's name is not usable."""


class InvalidFramePlacementError(Invalid):
    """A frame is placed in the frame it is part of, and a root frame nowhere."""


class InvalidFrameReasonError(Invalid):
    """The reason is not usable."""


class FrameCannotRegisterError(Cannot):
    """The frame it is to be part of is no longer in use; name another."""


class FrameCannotUpdatePlacementError(Cannot):
    """The frame cannot be placed anew."""


class FrameCannotDecommissionError(Cannot):
    """The frame cannot be decommissioned."""


class FrameInUseError(Cannot):
    """Something in use is placed in the frame; place it elsewhere or decommission it first."""


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
    return Frame(event.frame_id, event.name, event.parent_id, event.placement)


def evolve(frame: Frame, event: FrameChanged) -> Frame:
    match event:
        case FramePlacementUpdated():
            return replace(frame, placement=event.placement)
        case FrameDecommissioned():
            return replace(frame, status=STATUS.after(event))


class RegisterFrame(Command):
    name: Name
    parent_id: UUID | None = None
    """The frame it is part of; left out for a root."""
    placement: Placement | None = None
    """Where it is in that frame; left out for a root."""


class UpdateFramePlacement(Command):
    frame_id: UUID
    placement: Placement


class DecommissionFrame(Command):
    frame_id: UUID
    reason: Reason


class Users(Record):
    """What is in use and placed in a frame."""

    frame_ids: tuple[UUID, ...]
    mount_ids: tuple[UUID, ...]


async def parent_frame(command: RegisterFrame, read: Reader) -> Frame | None:
    named = [command.parent_id, command.placement and command.placement.frame_id]
    found = await read.many(frames, [id for id in named if id])
    return found[command.parent_id] if command.parent_id else None


def register_frame(
    command: RegisterFrame, given: Frame | None, call: Call
) -> list[FrameRegistered]:
    """Register a coordinate frame, by itself or placed in another."""
    name = trimmed(command.name, InvalidFrameNameError)
    if (command.placement is None) != (command.parent_id is None):
        raise InvalidFramePlacementError("Give parent_id and placement together, or neither.")
    if command.placement:
        _require_within(command.parent_id, command.placement)
    if given and given.status is FrameStatus.DECOMMISSIONED:
        raise FrameCannotRegisterError(f"Frame {given.id} is {given.status}.")
    return [FrameRegistered(call.now, call.new_id, name, command.parent_id, command.placement)]


def update_frame_placement(
    frame: Frame, command: UpdateFramePlacement, call: Call
) -> list[FramePlacementUpdated]:
    """Say anew where a frame is in the one it is part of."""
    _require_within(frame.parent_id, command.placement)
    STATUS.require(frame.status, FramePlacementUpdated)
    if frame.parent_id is None:
        raise FrameCannotUpdatePlacementError("It is a root, and so is placed nowhere.")
    return [FramePlacementUpdated(call.now, frame.id, command.placement)]


def decommission_frame(
    frame: Frame, command: DecommissionFrame, given: Users, call: Call
) -> list[FrameDecommissioned]:
    """Take a frame out of use for good, once nothing in use is placed in it."""
    reason = trimmed(command.reason, InvalidFrameReasonError)
    STATUS.require(frame.status, FrameDecommissioned)
    users = [f"frame {id}" for id in given.frame_ids] + [f"mount {id}" for id in given.mount_ids]
    if users:
        more = f" and {len(users) - 5} more" if len(users) > 5 else ""
        raise FrameInUseError(f"In it are {', '.join(users[:5])}{more}.")
    return [FrameDecommissioned(call.now, frame.id, reason)]


def _require_within(parent_id: UUID | None, placement: Placement) -> None:
    if parent_id and placement.frame_id != parent_id:
        raise InvalidFramePlacementError(f"It is part of frame {parent_id}.")
    require_finite(placement, InvalidFramePlacementError)


frames = Aggregate("Frame", begin, evolve, FrameNotFoundError)

# To decommission a frame is declared with the mounts: only there is known what is placed in it.
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
    """List frames, by age."""

    status: FrameStatus | None = None
    parent_id: UUID | None = None


QUESTIONS = reads("/frames", frames, ListFrames)
