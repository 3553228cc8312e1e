"""Conduit: the path that calls take from one zone to another."""

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
    """Conduit name must not be blank."""


class InvalidConduitZonesError(Invalid):
    """Source zone and target zone of a conduit must differ."""


class Conduit(Record):
    id: UUID
    name: str
    source_zone_id: UUID
    target_zone_id: UUID


def begin(event: ConduitDefined) -> Conduit:
    return Conduit(
        event.conduit_id,
        event.name,
        source_zone_id=event.source_zone_id,
        target_zone_id=event.target_zone_id,
    )


class DefineConduit(Command):
    name: Name
    source_zone_id: UUID
    target_zone_id: UUID


async def both_zones(command: DefineConduit, read: Reader) -> None:
    await read.many(zones, (command.source_zone_id, command.target_zone_id))


def define_conduit(command: DefineConduit, given: None, call: Call) -> list[ConduitDefined]:
    """Define a conduit from one zone to another."""
    name = trimmed(command.name, InvalidConduitNameError)
    source, target = command.source_zone_id, command.target_zone_id
    if source == target:
        raise InvalidConduitZonesError(f"Both are zone {source}.")
    return [
        ConduitDefined(
            call.now, call.new_id, name=name, source_zone_id=source, target_zone_id=target
        )
    ]


conduits = Aggregate("Conduit", begin, unchanging, absent=ConduitNotFoundError)

# fmt: off
OPERATIONS = (
    conduits.creates("POST /conduits", DefineConduit, define_conduit, ZoneNotFoundError,
        InvalidConduitNameError, InvalidConduitZonesError, given=both_zones),
)
# fmt: on


class ListConduits(Listing):
    """List conduits, oldest first."""

    source_zone_id: UUID | None = None
    target_zone_id: UUID | None = None


class ListConduitDenials(Page):
    """List the calls that were denied on a conduit, newest first."""

    principal_id: UUID | None = None
    reason_code: DenialReason | None = None


QUESTIONS = (
    *reads("/conduits", conduits, ListConduits),
    entries("GET /conduits/{conduit_id}/denials", ListConduitDenials, conduits, DENIALS),
)
