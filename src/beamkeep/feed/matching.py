"""Which events somebody asked for and may see."""

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from uuid import UUID

from beamkeep.contexts.seams.log import ListEvents
from beamkeep.kernel import Sight
from beamkeep.runtime.store import EventStore, Stream

from .facilities import EventFacilities
from .hints import RowHint
from .published import PublishedEvent

MOST_OWNERS = 100_000


class Owners:
    """Whose streams are: their owners, who never change, and their teams."""

    def __init__(self, store: EventStore, self_owned: Iterable[str]) -> None:
        self._store, self._self_owned = store, frozenset(self_owned)
        self._known: OrderedDict[Stream, UUID] = OrderedDict()

    async def own[T: (PublishedEvent, RowHint)](self, events: Sequence[T], sight: Sight) -> list[T]:
        """Return the events or hints of the objects in sight."""
        owner_id = sight.principal_id
        if sight.teams:
            # Who is in a team may change from one event to the next.
            about = sorted({(event.stream_type, event.stream_id) for event in events})
            reached = await self._store.reached(about, sight)
            return [
                event
                for event in events
                if reached.get((event.stream_type, event.stream_id))
                or (event.stream_type in self._self_owned and event.stream_id == owner_id)
            ]
        streams = {(event.stream_type, event.stream_id) for event in events}
        if missing := [stream for stream in streams if stream not in self._known]:
            self._known.update(await self._store.owners(missing))
        found = [event for event in events if self._is_own(event, owner_id)]
        while len(self._known) > MOST_OWNERS:
            self._known.popitem(last=False)
        return found

    def _is_own(self, event: PublishedEvent | RowHint, owner_id: UUID) -> bool:
        if event.stream_type in self._self_owned and event.stream_id == owner_id:
            return True
        return self._known.get((event.stream_type, event.stream_id)) == owner_id


def fits(event: PublishedEvent, query: ListEvents) -> bool:
    """Return whether the filters of a question, except its facility, let an event through."""
    return (
        (query.type is None or event.event_type in query.type)
        and (query.stream_type is None or event.stream_type in query.stream_type)
        and (query.stream_id is None or event.stream_id in query.stream_id)
        and query.principal_id in {None, event.principal_id}
        and query.command_name in {None, event.command_name}
        and (query.since is None or event.recorded_at >= query.since)
    )


async def asked_for(
    events: Sequence[PublishedEvent], query: ListEvents, facilities: EventFacilities
) -> tuple[list[PublishedEvent], Sequence[PublishedEvent]]:
    """Return the events that a question lets through, and those that were looked at.

    These are all, or as many as the directory has followed if the question needs facilities.
    """
    if query.facility_code is None:
        return [event for event in events if fits(event, query)], events
    codes = await facilities.known(events)
    looked = events[: len(codes)]
    return [
        event
        for event, code in zip(looked, codes, strict=True)
        if code == query.facility_code and fits(event, query)
    ], looked


async def hinted_at(
    hints: Sequence[RowHint], query: ListEvents, facilities: EventFacilities
) -> list[RowHint]:
    """Return the hints about objects that a question lets through.

    A question for certain types of events, principals or commands has none.
    """
    if query.type or query.principal_id or query.command_name:
        return []
    found = [
        hint
        for hint in hints
        if (query.stream_type is None or hint.stream_type in query.stream_type)
        and (query.stream_id is None or hint.stream_id in query.stream_id)
    ]
    if query.facility_code is None or not found:
        return found
    codes = await facilities.of(hint.stream_id for hint in found)
    return [hint for hint in found if codes.get(hint.stream_id) == query.facility_code]
