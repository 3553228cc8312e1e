"""Answers questions about the log."""

from uuid import UUID

from beamkeep.contexts.log import NOW, EventPage, InvalidFeedCursorError, ListEvents, Order
from beamkeep.kernel import Catalogue

from .cursors import FeedCursors
from .events import CloudEvents
from .log import START, EventLog, LogPlace, LogQuery


class LogReader:
    """Reads the log and tells its events."""

    def __init__(
        self, log: EventLog, events: CloudEvents, cursors: FeedCursors, catalogue: Catalogue
    ) -> None:
        self._log, self._events, self._cursors = log, events, cursors
        each = catalogue.aggregates.values()
        self._self_owned = frozenset(aggregate.name for aggregate in each if aggregate.self_owned)

    async def page(self, query: ListEvents, owner_id: UUID | None) -> EventPage:
        """Return a page of events; with `owner_id`, only of this owner's objects."""
        after = await self.place(query.after)
        wanted = LogQuery(
            limit=query.limit,
            after=after and after.position,
            newest_first=query.order is Order.NEWEST,
            stream_ids=query.stream_id,
            principal_id=query.principal_id,
            since=query.since,
            until=query.until,
            types=query.type,
            stream_types=query.stream_type,
            command_name=query.command_name,
            owner_id=owner_id,
            self_owned=self._self_owned,
        )
        found = await self._log.page(wanted)
        return EventPage(
            items=tuple(self._events.of(event) for event in found.events),
            next_cursor=self._cursors.write(found.reached or after or START),
            more=found.more,
        )

    async def place(self, cursor: str | None) -> LogPlace | None:
        """Return the place of a cursor. Raise a refusal when its event is not in the log."""
        if cursor is None:
            return None
        if cursor == NOW:
            return await self._log.head() or START
        named = self._cursors.read(cursor)
        if named.stands_at(START):
            return START
        event_id = await self._log.event_id(named.position)
        place = event_id and LogPlace(named.position, event_id)
        if not place or not named.stands_at(place):
            raise InvalidFeedCursorError
        return place
