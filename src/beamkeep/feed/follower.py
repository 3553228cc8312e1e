"""The follower: reads each new event of the log once, for every listener of this process."""

import asyncio
from bisect import bisect_right
from collections.abc import Sequence
from contextlib import suppress

from beamkeep.contexts.seams.log import CloudEvent
from beamkeep.runtime.codec import encode
from beamkeep.runtime.store import Envelope

from .events import CloudEvents
from .facilities import EventFacilities
from .hints import RowHints
from .log import START, EventLog, LogPlace, LogQuery, place_of
from .published import PublishedEvent

PAGE_EVENTS = 1_000
RING_EVENTS, RING_BYTES = 10_000, 16 * 1024 * 1024
PART_BYTES = 256 * 1024
"""What is given to a listener at once, because a listener that does not read holds it in memory."""
POLL_SECONDS = 0.25
"""How often the log is read without a notice; a notice that is lost costs no more than this."""


class LogFollower:
    """Follows the log and keeps the last events."""

    def __init__(
        self,
        log: EventLog,
        events: CloudEvents,
        most_events: int = RING_EVENTS,
        most_bytes: int = RING_BYTES,
    ) -> None:
        self._log, self._events = log, events
        self.facilities = EventFacilities(log, events.directory)
        self._most_events, self._most_bytes = most_events, most_bytes
        self._ring: list[PublishedEvent] = []
        self._ring_bytes = 0
        self._news = asyncio.Event()
        self.rows = RowHints(self._wake_listeners)
        self.wake = asyncio.Event()
        """Set it when there may be new events."""
        self.floor = self.head = START
        """The events after the floor, up to the head, are in memory."""
        self.total_events = self.total_bytes = 0
        """What has been published since this follower began."""

    async def begin(self) -> None:
        """Start at the end of the log."""
        self.floor = self.head = await self._log.head() or START

    async def turn(self) -> float:
        """Wait for a notice or a while, then read what is new."""
        with suppress(TimeoutError):
            async with asyncio.timeout(POLL_SECONDS):
                await self.wake.wait()
        # Cleared before reading: a notice that comes meanwhile leads to another turn.
        self.wake.clear()
        while await self.read():
            pass
        return 0

    async def read(self) -> bool:
        """Read one page of new events, and return whether there may be more."""
        page = await self._log.page(LogQuery(PAGE_EVENTS, after=self.head.position))
        if page.events:
            self._keep(await self.published(page.events))
        return page.more

    async def published(self, events: Sequence[Envelope]) -> list[PublishedEvent]:
        """Return events in the form that listeners get."""
        return [
            _published(event, cloud_event)
            for event, cloud_event in zip(events, await self._events.page(events), strict=True)
        ]

    def after(self, place: LogPlace, limit: int) -> Sequence[PublishedEvent] | None:
        """Return the next events after a place; None if some of them are no longer in memory."""
        if place.position < self.floor.position:
            return None
        if place.position >= self.head.position:
            return ()
        first = bisect_right(self._ring, place.position, key=lambda event: event.place.position)
        size = 0
        for end in range(first, min(first + limit, len(self._ring))):
            size += len(self._ring[end].text)
            if size > PART_BYTES:
                return self._ring[first : end + 1]
        return self._ring[first : first + limit]

    async def news(self, seconds: float) -> None:
        """Return when events or hints have come, or after so many seconds."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._news.wait()

    def _keep(self, events: Sequence[PublishedEvent]) -> None:
        size = sum(len(event.text) for event in events)
        self._ring += events
        self._ring_bytes += size
        self.head = events[-1].place
        self.total_events += len(events)
        self.total_bytes += size
        dropped = max(0, len(self._ring) - self._most_events)
        self._ring_bytes -= sum(len(event.text) for event in self._ring[:dropped])
        while self._ring_bytes > self._most_bytes:
            self._ring_bytes -= len(self._ring[dropped].text)
            dropped += 1
        if dropped:
            self.floor = self._ring[dropped - 1].place
            del self._ring[:dropped]
        self._wake_listeners()

    def _wake_listeners(self) -> None:
        self._news.set()
        self._news = asyncio.Event()


def _published(envelope: Envelope, cloud_event: CloudEvent) -> PublishedEvent:
    text = b"id: %b\nevent: event\ndata: %b\n\n"
    return PublishedEvent(
        place=place_of(envelope),
        stream_type=envelope.stream_type,
        stream_id=envelope.stream_id,
        version=envelope.version,
        event_type=envelope.event_type,
        principal_id=envelope.principal_id,
        command_name=envelope.command_name,
        recorded_at=envelope.recorded_at,
        text=text % (cloud_event.cursor.encode(), encode(cloud_event)),
    )
