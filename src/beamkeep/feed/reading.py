"""Answers questions about the log."""

from collections.abc import Set

from beamkeep.contexts.seams.log import NOW, EventPage, InvalidFeedCursorError, ListEvents
from beamkeep.feed.directory.seam import Directory
from beamkeep.kernel import Catalogue, Order, Sight, event_types
from beamkeep.runtime.codec import Codec

from .cursors import FeedCursors
from .events import CloudEvents
from .log import START, EventLog, LogPage, LogPlace, LogQuery


class LogReader:
    """Reads the log and tells its events."""

    def __init__(
        self, log: EventLog, events: CloudEvents, cursors: FeedCursors, catalogue: Catalogue
    ) -> None:
        self.log, self.events, self.cursors = log, events, cursors
        each = catalogue.aggregates.values()
        self._self_owned = frozenset(aggregate.name for aggregate in each if aggregate.self_owned)
        self.stream_types: Set[str] = frozenset(aggregate.name for aggregate in each)
        names = (event.__name__ for aggregate in each for event in event_types(aggregate))
        self.event_types: Set[str] = frozenset(names)

    async def page(self, query: ListEvents, sight: Sight | None) -> EventPage:
        """Return a page of events; with `sight`, only of the objects in sight."""
        after = await self.place(query.after)
        found = await self.read(query, sight, after, query.limit)
        return EventPage(
            items=tuple(await self.events.page(found.events)),
            next_cursor=self.cursors.write(found.reached or after or START),
            more=found.more,
        )

    async def read(
        self, query: ListEvents, sight: Sight | None, after: LogPlace | None, limit: int
    ) -> LogPage:
        """Return the events of a page after a place."""
        wanted = LogQuery(
            limit=limit,
            after=after and after.position,
            newest_first=query.order is Order.NEWEST,
            stream_ids=query.stream_id,
            principal_id=query.principal_id,
            since=query.since,
            until=query.until,
            types=query.type,
            stream_types=query.stream_type,
            command_name=query.command_name,
            facility_code=query.facility_code,
            sight=sight,
            self_owned=self._self_owned,
        )
        return await self.log.page(wanted)

    async def place(self, cursor: str | None) -> LogPlace | None:
        """Return the place of a cursor. Raise a refusal when its event is not in the log."""
        if cursor is None:
            return None
        if cursor == NOW:
            return await self.log.head() or START
        named = self.cursors.read(cursor)
        if named.stands_at(START):
            return START
        event_id = await self.log.event_id(named.position)
        place = event_id and LogPlace(named.position, event_id)
        if not place or not named.stands_at(place):
            raise InvalidFeedCursorError
        return place


def log_reader(
    log: EventLog,
    catalogue: Catalogue,
    codec: Codec,
    cursor_key: bytes,
    base_url: str,
    directory: Directory | None = None,
) -> LogReader:
    """Return a reader of a log, which signs cursors with this key and names objects."""
    cursors = FeedCursors(cursor_key)
    events = CloudEvents(catalogue, codec, cursors, base_url=base_url, directory=directory)
    return LogReader(log, events, cursors, catalogue=catalogue)
