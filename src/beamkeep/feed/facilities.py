"""In which facility the objects of events are, once the directory has followed the events."""

import asyncio
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from math import inf
from uuid import UUID

from beamkeep.feed.directory.seam import Directory
from beamkeep.runtime.store import BEGINNING

from .log import EventLog, LogPlace
from .published import PublishedEvent

ASK_SECONDS = 0.025
"""How often it is asked how far the directory has followed, for all listeners together."""
MOST_KNOWN = 10_000


class EventFacilities:
    """Finds the facility of each event once, for every listener of this process."""

    def __init__(self, log: EventLog, directory: Directory | None) -> None:
        self._log, self._directory = log, directory
        self._before, self._ask_at = BEGINNING, -inf
        self._known: OrderedDict[LogPlace, str | None] = OrderedDict()
        self._asking = asyncio.Lock()

    async def known(self, events: Sequence[PublishedEvent]) -> list[str | None]:
        """Return the facilities of the first of these events, as far as the directory has them."""
        async with self._asking:
            if events and events[-1].place.position >= self._before:
                await self._ask()
            followed = [event for event in events if event.place.position < self._before]
            new = [event for event in followed if event.place not in self._known]
            if new:
                codes = await self.of(each.stream_id for each in new)
                self._known.update((each.place, codes.get(each.stream_id)) for each in new)
            found = [self._known.get(event.place) for event in followed]
            while len(self._known) > MOST_KNOWN:
                self._known.popitem(last=False)
        return found

    async def of(self, ids: Iterable[UUID]) -> Mapping[UUID, str | None]:
        """Return the facilities of objects, as the directory has them now."""
        entries = await self._directory.entries(sorted({*ids})) if self._directory else ()
        return {entry.id: entry.facility_code for entry in entries}

    async def _ask(self) -> None:
        now = asyncio.get_running_loop().time
        if now() >= self._ask_at:
            self._before, _ = await self._log.followed()
            self._ask_at = now() + ASK_SECONDS
