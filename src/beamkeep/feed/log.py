"""The log seam: pages of all events with their envelopes."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple, Protocol
from uuid import UUID

from beamkeep.kernel import Record, Sight
from beamkeep.runtime.store import BEGINNING, Envelope, Position

MOST_LOOKED_AT, MOST_LOOKED_AT_FOR_OWNER = 10_000, 5_000
"""The events that one page looks at while a filter has no index, and if it also finds owners or
facilities."""


class LogPlace(NamedTuple):
    """A place in the log, and the event that stands there."""

    position: Position
    event_id: UUID


START = LogPlace(BEGINNING, UUID(int=0))


def place_of(event: Envelope) -> LogPlace:
    """Return where an event is in the log."""
    return LogPlace(Position(event.transaction_id, event.position), event.event_id)


class LogQuery(Record):
    """Which events are read, and in which order."""

    limit: int
    after: Position | None = None
    """Where the page before ended."""
    before: Position | None = None
    """Only events before this position."""
    newest_first: bool = False
    stream_ids: frozenset[UUID] | None = None
    principal_id: UUID | None = None
    since: datetime | None = None
    until: datetime | None = None
    types: frozenset[str] | None = None
    stream_types: frozenset[str] | None = None
    command_name: str | None = None
    facility_code: str | None = None
    """Only events of objects in this facility, as far as the directory has followed."""
    sight: Sight | None = None
    """Only events of the objects in sight."""
    self_owned: frozenset[str] = frozenset()
    """The stream types of objects that are also their own owner."""
    look_at: int | None = None
    """The most events to look at (default: as many as the filters allow)."""

    @property
    def most(self) -> int:
        """The number of events that the page looks at."""
        walks = (self.types, self.stream_types, self.command_name)
        if self.sight is not None or self.facility_code is not None:
            return self.look_at or MOST_LOOKED_AT_FOR_OWNER
        if any(each is not None for each in walks):
            return self.look_at or MOST_LOOKED_AT
        return self.limit + 1


class LogPage(Record):
    """Events in the order asked for."""

    events: Sequence[Envelope]
    reached: LogPlace | None
    """The last event that was looked at; None if there was none."""
    more: bool
    """Whether the page ended before the log did."""


class Followed(NamedTuple):
    """How far the directory has followed the log."""

    before: Position
    """The directory has all events before this position."""
    waits: bool
    """Whether there are events that the directory does not have yet."""


class EventLog(Protocol):
    """Reads events of transactions below which no further event can appear."""

    async def page(self, query: LogQuery) -> LogPage:
        """Return the next events that fit the query."""
        ...

    async def event_id(self, position: Position) -> UUID | None:
        """Return the id of the event at a position, if there is one."""
        ...

    async def head(self) -> LogPlace | None:
        """Return the place of the newest event."""
        ...

    async def followed(self) -> Followed:
        """Return how far the directory has followed."""
        ...
