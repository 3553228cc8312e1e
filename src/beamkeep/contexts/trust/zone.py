"""Zone: a group of principals and assets that are trusted alike."""

from typing import Annotated
from uuid import UUID

from beamkeep.kernel import (
    Aggregate,
    Blank,
    Call,
    Command,
    DirectoryEntry,
    Event,
    Listing,
    NotFound,
    Record,
    reads,
    unchanging,
)
from beamkeep.kernel.values import Name, Trimmed


# Events are stored for ever: add a field with a default; never rename or drop one.
class ZoneDefined(Event):
    zone_id: UUID
    name: str


class ZoneNotFoundError(NotFound): ...


class InvalidZoneNameError(Blank): ...


class Zone(Record):
    id: UUID
    name: str


def begin(event: ZoneDefined) -> Zone:
    return Zone(event.zone_id, event.name)


class DefineZone(Command):
    name: Annotated[Name, Trimmed(InvalidZoneNameError)]


def define_zone(command: DefineZone, call: Call) -> list[ZoneDefined]:
    """Define a zone."""
    return [ZoneDefined(call.now, call.new_id, command.name)]


zones = Aggregate("Zone", begin, unchanging, absent=ZoneNotFoundError)

OPERATIONS = (zones.creates("POST /zones", DefineZone, define_zone),)


class ListZones(Listing):
    """List zones, newest first."""


QUESTIONS = reads("/zones", zones, ListZones, directory=DirectoryEntry(lambda it: it.name))
