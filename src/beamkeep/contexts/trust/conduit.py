"""Conduit: the path that calls take from one zone to another."""

from typing import Annotated
from uuid import UUID

from beamkeep.contexts.seams.installation import Reader
from beamkeep.kernel import (
    DENIALS,
    Aggregate,
    Blank,
    Call,
    Command,
    DenialReason,
    DirectoryEntry,
    Event,
    Invalid,
    Listing,
    NotFound,
    Page,
    Record,
    entries,
    reads,
    unchanging,
)
from beamkeep.kernel.values import Name, Trimmed

from .zone import ZoneNotFoundError, zones


# Events are stored for ever: add a field with a default; never rename or drop one.
class ConduitDefined(Event):
    conduit_id: UUID
    name: str
    source_zone_id: UUID
    target_zone_id: UUID


class ConduitNotFoundError(NotFound): ...


class InvalidConduitNameError(Blank): ...


class InvalidConduitZonesError(Invalid):
    """Source zone and target zone of a conduit must differ."""


class Conduit(Record):
    id: UUID
    name: str
    source_zone_id: UUID
    target_zone_id: UUID


def begin(event: ConduitDefined) -> Conduit:
    return Conduit.of(event, id=event.conduit_id)


class DefineConduit(Command):
    name: Annotated[Name, Trimmed(InvalidConduitNameError)]
    source_zone_id: UUID
    target_zone_id: UUID


async def both_zones(command: DefineConduit, read: Reader) -> None:
    await read.many(zones, (command.source_zone_id, command.target_zone_id))


def define_conduit(command: DefineConduit, given: None, call: Call) -> list[ConduitDefined]:
    """Define a conduit from one zone to another."""
    if command.source_zone_id == command.target_zone_id:
        raise InvalidConduitZonesError(f"Both are zone {command.source_zone_id}.")
    return [ConduitDefined.of(command, occurred_at=call.now, conduit_id=call.new_id)]


conduits = Aggregate("Conduit", begin, unchanging, absent=ConduitNotFoundError)

# fmt: off
OPERATIONS = (
    conduits.creates("POST /conduits", DefineConduit, define_conduit, ZoneNotFoundError,
        InvalidConduitZonesError, given=both_zones),
)
# fmt: on


class ListConduits(Listing):
    """List conduits, newest first."""

    source_zone_id: UUID | None = None
    target_zone_id: UUID | None = None


class ListConduitDenials(Page):
    """List the calls that were denied on a conduit, newest first."""

    principal_id: UUID | None = None
    reason_code: DenialReason | None = None


QUESTIONS = (
    *reads("/conduits", conduits, ListConduits, directory=DirectoryEntry(lambda it: it.name)),
    entries("GET /conduits/{conduit_id}/denials", ListConduitDenials, conduits, DENIALS),
)
