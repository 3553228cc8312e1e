"""Frame: a named coordinate frame in which mounts and other frames are placed."""

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


class FrameNotFoundError(NotFound): ...


class InvalidFrameNameError(Blank): ...


class InvalidFramePlacementError(Invalid):
    """A frame needs a finite placement in its parent; a root frame has none."""


class InvalidFrameReasonError(Blank): ...


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
    return Frame.of(event, id=event.frame_id)


def evolve(frame: Frame, event: FrameChanged) -> Frame:
    match event:
        case FramePlacementUpdated():
            return replace(frame, placement=event.placement)
        case FrameDecommissioned():
            return replace(frame, status=STATUS.after(event))


class RegisterFrame(Command):
    name: Annotated[Name, Trimmed(InvalidFrameNameError)]
    parent_id: UUID | None = None
    """The frame in which this frame is placed; leave out for a root."""
    placement: Placement | None = None
    """The placement in the parent frame; leave out for a root."""


class UpdateFramePlacement(Command):
    frame_id: UUID
    placement: Placement


class DecommissionFrame(Command):
    frame_id: UUID
    reason: Annotated[Reason, Trimmed(InvalidFrameReasonError)]


async def parent_frame(command: RegisterFrame, read: Reader) -> Frame | None:
    named = [command.parent_id, command.placement and command.placement.frame_id]
    found = await read.many(frames, [id for id in named if id])
    return found[command.parent_id] if command.parent_id else None


def register_frame(
    command: RegisterFrame, given: Frame | None, call: Call
) -> list[FrameRegistered]:
    """Register a coordinate frame, as a root or placed in another frame."""
    parent_id, placement = command.parent_id, command.placement
    if (placement is None) != (parent_id is None):
        raise InvalidFramePlacementError("Send both parent_id and placement, or neither.")
    if placement:
        _require_within(parent_id, placement)
    if given and given.status is FrameStatus.DECOMMISSIONED:
        raise FrameCannotRegisterError(f"Frame {given.name} ({given.id}) is {given.status}.")
    return [FrameRegistered.of(command, occurred_at=call.now, frame_id=call.new_id)]


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
    frame: Frame, command: DecommissionFrame, given: list[str], call: Call
) -> list[FrameDecommissioned]:
    """Take a frame out of service for good; no active frame or mount may be placed in it."""
    STATUS.require(frame.status, FrameDecommissioned)
    if given:
        more = f" and {len(given) - 5} more" if len(given) > 5 else ""
        raise FrameInUseError(f"Move or decommission {', '.join(given[:5])}{more} first.")
    return [FrameDecommissioned(call.now, frame.id, command.reason)]


def _require_within(parent_id: UUID | None, placement: Placement) -> None:
    if parent_id and placement.frame_id != parent_id:
        raise InvalidFramePlacementError(f"The parent is frame {parent_id}.")
    require_finite(placement, InvalidFramePlacementError)


frames = Aggregate("Frame", begin, evolve, absent=FrameNotFoundError, axes=(STATUS,))

# `decommission_frame` is declared with the mounts, because mounts can be placed in a frame.
# fmt: off
OPERATIONS = (
    frames.creates("POST /frames", RegisterFrame, register_frame, FrameNotFoundError,
        InvalidFramePlacementError, FrameCannotRegisterError, given=parent_frame),
    frames.changes("POST /frames/{frame_id}/update-placement", UpdateFramePlacement,
        update_frame_placement, InvalidFramePlacementError, FrameCannotUpdatePlacementError),
)
# fmt: on


class ListFrames(Listing):
    """List frames, newest first."""

    status: frozenset[FrameStatus] | None = None
    parent_id: UUID | None = None


QUESTIONS = reads(
    "/frames",
    frames,
    ListFrames,
    directory=DirectoryEntry(lambda it: it.name, status=lambda it: it.status),
)
