"""Conduit: the governed path between two zones that calls take."""

from uuid import UUID

from beamkeep.kernel import (
    DENIALS,
    Aggregate,
    Call,
    Command,
    DenialReason,
    Event,
    Invalid,
    Listing,
    NotFound,
    Page,
    Reader,
    Record,
    entries,
    reads,
    unchanging,
)
from beamkeep.kernel.values import Name, trimmed

from .zone import ZoneNotFoundError, zones


# Events are stored for ever: add a field with a default; never rename or drop one.
class ConduitDefined(Event):
    conduit_id: UUID
    name: str
    source_zone_id: UUID
    target_zone_id: UUID


class ConduitNotFoundError(NotFound):
    """The conduit does not exist."""


class InvalidConduitNameError(Invalid):
    """The conduit's name is not usable."""


class InvalidConduitZonesError(Invalid):
    """A conduit leads from one zone to another; name two different zones."""


class Conduit(Record):
    id: UUID
    name: str
    source_zone_id: UUID
    target_zone_id: UUID


def begin(event: ConduitDefined) -> Conduit:
    return Conduit(event.conduit_id, event.name, event.source_zone_id, event.target_zone_id)


class DefineConduit(Command):
    name: Name
    source_zone_id: UUID
    target_zone_id: UUID


async def both_zones(command: DefineConduit, read: Reader) -> None:
    await read.many(zones, (command.source_zone_id, command.target_zone_id))


def define_conduit(command: DefineConduit, given: None, call: Call) -> list[ConduitDefined]:
    """Define a conduit between two zones."""
    name = trimmed(command.name, InvalidConduitNameError)
    if command.source_zone_id == command.target_zone_id:
        raise InvalidConduitZonesError
    return [
        ConduitDefined(call.now, call.new_id, name, command.source_zone_id, command.target_zone_id)
    ]


conduits = Aggregate("Conduit", begin, unchanging, ConduitNotFoundError)

# fmt: off
OPERATIONS = (
    conduits.creates("POST /conduits", DefineConduit, define_conduit, ZoneNotFoundError,
        InvalidConduitNameError, InvalidConduitZonesError, given=both_zones),
)
# fmt: on


class ListConduits(Listing):
    """List conduits, by age."""

    source_zone_id: UUID | None = None
    target_zone_id: UUID | None = None


class ListConduitDenials(Page):
    """List the calls that were turned away on a conduit, newest first."""

    principal_id: UUID | None = None
    reason_code: DenialReason | None = None


QUESTIONS = (
    *reads("/conduits", conduits, ListConduits),
    entries("GET /conduits/{conduit_id}/denials", ListConduitDenials, conduits, DENIALS),
)
