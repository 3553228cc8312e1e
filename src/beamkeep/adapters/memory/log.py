"""The log in memory: the twin for fast tests."""

from collections.abc import Mapping, Sequence
from uuid import UUID

from beamkeep.feed.directory.seam import Directory
from beamkeep.feed.log import Followed, LogPage, LogPlace, LogQuery, place_of
from beamkeep.kernel import replace
from beamkeep.runtime.store import Envelope, Position

from .store import MemoryStore


class MemoryEventLog:
    """Reads the log of a store in memory."""

    def __init__(self, store: MemoryStore, directory: Directory | None = None) -> None:
        self._store, self._directory = store, directory
        self.open_transactions: set[int] = set()
        """Ids of transactions that may still write; the store itself never leaves one open."""
        self.unfollowed: Position | None = None
        """The first event that the directory does not have; in memory it has all of them."""

    async def page(self, query: LogQuery) -> LogPage:
        """Return the next events that fit the query."""
        ordered = self._events()[:: -1 if query.newest_first else 1]
        if query.facility_code is not None and query.before is None:
            query = replace(query, before=(await self.followed()).before)
        indexed = [event for event in ordered if _is_indexed(event, query)]
        looked = indexed[: query.most]
        codes = await self._codes(looked if query.facility_code else ())
        found = [
            event
            for event in looked
            if self._fits(event, query)
            and query.facility_code in {None, codes.get(event.stream_id)}
        ][: query.limit]
        if not looked:
            return LogPage((), None, more=False)
        if len(found) == query.limit:
            return LogPage(found, place_of(found[-1]), more=found[-1] is not looked[-1])
        return LogPage(found, place_of(looked[-1]), more=len(looked) == query.most)

    async def event_id(self, position: Position) -> UUID | None:
        """Return the id of the event at a position, if there is one."""
        places = (place_of(event) for event in self._events())
        return next((id for place, id in places if place == position), None)

    async def head(self) -> LogPlace | None:
        """Return the place of the newest event."""
        events = self._events()
        return place_of(events[-1]) if events else None

    async def followed(self) -> Followed:
        """Return how far the directory has followed."""
        end = Position(self._store.position.tx + 1, 0)
        return Followed(self.unfollowed or end, waits=self.unfollowed is not None)

    async def _codes(self, events: Sequence[Envelope]) -> Mapping[UUID, str | None]:
        ids = sorted({event.stream_id for event in events})
        found = await self._directory.entries(ids) if self._directory and ids else ()
        return {entry.id: entry.facility_code for entry in found}

    def _events(self) -> list[Envelope]:
        horizon, streams = min(self.open_transactions, default=None), self._store.streams
        return [
            streams[each.stream_type, each.stream_id][each.version - 1]
            for each in sorted(self._store.log, key=lambda each: each.at)
            if horizon is None or each.tx < horizon
        ]

    def _fits(self, envelope: Envelope, query: LogQuery) -> bool:
        stream = envelope.stream_type, envelope.stream_id
        owners = {self._store.streams[stream][0].principal_id}
        if envelope.stream_type in query.self_owned:
            owners.add(envelope.stream_id)
        return (
            (query.types is None or envelope.event_type in query.types)
            and (query.stream_types is None or envelope.stream_type in query.stream_types)
            and query.command_name in {None, envelope.command_name}
            and (
                query.sight is None
                or query.sight.principal_id in owners
                or self._store.is_of_team(envelope.stream_id, query.sight)
            )
        )


def _is_indexed(envelope: Envelope, query: LogQuery) -> bool:
    place, after = place_of(envelope).position, query.after
    return (
        (after is None or (place < after if query.newest_first else place > after))
        and (query.before is None or place < query.before)
        and (query.stream_ids is None or envelope.stream_id in query.stream_ids)
        and query.principal_id in {None, envelope.principal_id}
        and (query.since is None or envelope.recorded_at >= query.since)
        and (query.until is None or envelope.recorded_at < query.until)
    )
