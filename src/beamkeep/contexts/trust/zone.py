"""Zone: a group of principals and assets that are trusted alike."""

from uuid import UUID

from beamkeep.kernel import (
    Aggregate,
    Call,
    Command,
    Event,
    Invalid,
    Listing,
    NotFound,
    Record,
    reads,
    unchanging,
)
from beamkeep.kernel.values import Name, trimmed


# Events are stored for ever: add a field with a default; never rename or drop one.
class ZoneDefined(Event):
    zone_id: UUID
    name: str


class ZoneNotFoundError(NotFound):
    """The zone does not exist."""


class InvalidZoneNameError(Invalid):
    """Zone name must not be blank."""


class Zone(Record):
    id: UUID
    name: str


def begin(event: ZoneDefined) -> Zone:
    return Zone(event.zone_id, event.name)


class DefineZone(Command):
    name: Name


def define_zone(command: DefineZone, call: Call) -> list[ZoneDefined]:
    """Define a zone."""
    return [ZoneDefined(call.now, call.new_id, trimmed(command.name, InvalidZoneNameError))]


zones = Aggregate("Zone", begin, unchanging, absent=ZoneNotFoundError)

OPERATIONS = (zones.creates("POST /zones", DefineZone, define_zone, InvalidZoneNameError),)


class ListZones(Listing):
    """List zones, oldest first."""


QUESTIONS = reads("/zones", zones, ListZones)
