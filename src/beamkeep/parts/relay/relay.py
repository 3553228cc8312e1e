"""The relay: publishes every event of the log to a message bus, once and in order."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from datetime import datetime
from itertools import batched
from typing import NamedTuple, Protocol
from uuid import UUID

import msgspec

from beamkeep.contexts.seams.log import CloudEvent, InvalidFeedCursorError
from beamkeep.feed.directory.seam import PublishedObject
from beamkeep.feed.events import UNKNOWN
from beamkeep.feed.facilities import ASK_SECONDS
from beamkeep.feed.follower import POLL_SECONDS
from beamkeep.feed.log import START, LogPlace, LogQuery, place_of
from beamkeep.feed.reading import LogReader
from beamkeep.kernel import Record, replace
from beamkeep.runtime.codec import encode
from beamkeep.runtime.parsing import MalformedRequestError
from beamkeep.runtime.store import Envelope
from beamkeep.telemetry import Telemetry
from beamkeep.workers.supervision import PutOffError

PAGE_EVENTS, IN_FLIGHT = 1_000, 100
KEEP_SECONDS = 1.0
"""How often the place is written to the database, and a decision of an operator looked for."""
HEADER_BYTES = 1024
"""More than the headers of a message take of its size."""
UNKNOWN_FACILITY = "-"


class BusUnavailableError(PutOffError):
    """The message bus does not answer."""


class BusConflictError(PutOffError):
    """Another relay has published to the stream. Its last message is read again."""


class BreakDecidedError(PutOffError):
    """An operator has decided where the relay continues."""


class StreamRefusedError(Exception):
    """The stream of the message bus cannot be used."""


class UnknownPlaceError(Exception):
    """The relay cannot continue, because the log does not have the event that it published last."""

    def __init__(self) -> None:
        super().__init__(
            "The last message on the bus is of an event that is not in the log: the database was"
            " restored to an earlier time. Run `beamkeep relay --from now`, or give the cursor"
            " after which the relay continues."
        )


class BusMessage(NamedTuple):
    """An event on its way to the bus."""

    subject: str
    event_id: UUID
    cursor: str
    body: bytes
    follows_break: bool = False
    """Whether the message before it is not that of the event before."""


class LastMessage(NamedTuple):
    """The end of a stream on the bus."""

    sequence: int
    cursor: str | None
    """None if the stream has no message; empty if its last message has no cursor."""


class BusSession(Protocol):
    """A connection to one stream of the bus, which exists."""

    max_payload: int

    async def last(self) -> LastMessage:
        """Return the end of the stream."""
        ...

    async def publish(self, messages: Sequence[BusMessage], after: int) -> None:
        """Publish messages after a sequence. Raise BusConflictError when it is not the last."""
        ...


class MessageBus(Protocol):
    """A message bus with streams that number their messages."""

    def session(self) -> AbstractAsyncContextManager[BusSession]:
        """Connect. Raise StreamRefusedError when the stream cannot be used."""
        ...

    async def try_connection(self) -> None:
        """Connect once, and leave the stream alone. Raise BusUnavailableError without an answer."""
        ...


class RelayPlace(Record):
    """How far the relay has come, or where an operator lets it continue."""

    place: LogPlace
    decided: bool = False
    """Whether an operator has decided where the relay continues."""
    break_sequence: int | None = None
    """The end of the stream before the first message after a decision; None before that."""

    @property
    def is_new_decision(self) -> bool:
        """Whether an operator has decided and no relay has begun to follow the decision."""
        return self.decided and self.break_sequence is None

    def is_followed(self, last: LastMessage) -> bool:
        """Return whether the first message after a decision has been published."""
        return self.break_sequence is not None and last.sequence > self.break_sequence


class RelayPlaces(Protocol):
    """Keeps the place of the relay of one stream."""

    async def read(self) -> RelayPlace | None:
        """Return the place, if there is one."""
        ...

    async def write(self, place: LogPlace) -> None:
        """Keep how far the relay has come, unless a decision waits."""
        ...

    async def decide(self, place: LogPlace) -> None:
        """Let the relay continue at a place."""
        ...

    async def begin_break(self, sequence: int) -> None:
        """Keep the end of the stream at which the relay begins to follow a decision."""
        ...


class Relay:
    """Publishes the log to one stream, which has no other writer."""

    def __init__(
        self,
        reader: LogReader,
        bus: MessageBus,
        places: RelayPlaces,
        clock: Callable[[], datetime],
        telemetry: Telemetry,
        wake: asyncio.Event,
    ) -> None:
        """Set `wake` when there may be new events."""
        self._reader, self._bus, self._places = reader, bus, places
        self._clock, self._telemetry, self._wake = clock, telemetry, wake
        self._reached_at, self._keep_at = clock(), 0.0

    async def run(self) -> None:
        """Publish until cancelled. Raise when the bus is away or cannot be continued."""
        lag = self._telemetry.relay_lag
        lag.set_function(self.lag_seconds)
        try:
            async with self._bus.session() as session:
                last = await session.last()
                await self._publish(session, last.sequence, *await self._begin(last))
        except asyncio.CancelledError:
            # Another process has the lease, and shows its own lag.
            lag.set_function(lambda: 0.0)
            raise

    def lag_seconds(self) -> float:
        """Return for how long there have been events that are not on the bus."""
        return (self._clock() - self._reached_at).total_seconds()

    async def _begin(self, last: LastMessage) -> tuple[LogPlace, bool]:
        """Return after which event the relay continues, and whether that is a break."""
        stored = await self._places.read()
        if stored and stored.decided and not stored.is_followed(last):
            # Kept before the first message, so that a crash after it does not lead to another.
            await self._places.begin_break(last.sequence)
            return await self._require_known(stored.place), True
        if last.cursor is not None:
            return await self._place_of(last.cursor), False
        return (await self._require_known(stored.place) if stored else START), False

    async def _publish(
        self, session: BusSession, sequence: int, place: LogPlace, follows_break: bool
    ) -> None:
        while True:
            read_at = self._clock()
            # Cleared before reading: a notice that comes meanwhile leads to another page.
            self._wake.clear()
            followed = await self._reader.log.followed()
            page = await self._reader.log.page(
                LogQuery(PAGE_EVENTS, after=place.position, before=followed.before)
            )
            objects = await self._reader.events.objects(page.events)
            for events in batched(page.events, IN_FLIGHT):
                messages = [
                    self._message(event, objects.get(event.stream_id, UNKNOWN), session.max_payload)
                    for event in events
                ]
                messages[0] = messages[0]._replace(follows_break=follows_break)
                await session.publish(messages, sequence)
                sequence, follows_break = sequence + len(messages), False
                place, self._reached_at = place_of(events[-1]), events[-1].recorded_at
                await self._keep(place)
            if page.more:
                continue
            if not followed.waits:
                self._reached_at = read_at
            await self._keep(place)
            with suppress(TimeoutError):
                async with asyncio.timeout(ASK_SECONDS if followed.waits else POLL_SECONDS):
                    await self._wake.wait()

    async def _keep(self, place: LogPlace) -> None:
        """Write down the place now and then. Raise BreakDecidedError when a decision waits."""
        now = asyncio.get_running_loop().time()
        if now < self._keep_at:
            return
        stored = await self._places.read()
        if stored and stored.is_new_decision:
            raise BreakDecidedError
        if stored != RelayPlace(place):
            await self._places.write(place)
        self._keep_at = now + KEEP_SECONDS

    async def _place_of(self, cursor: str) -> LogPlace:
        try:
            return await self._reader.place(cursor) or START
        except InvalidFeedCursorError:
            raise UnknownPlaceError from None
        except MalformedRequestError:
            raise StreamRefusedError(
                "The last message of the stream was not published by this deployment."
                " Set NATS_STREAM to the name of another stream, or remove the stream."
            ) from None

    async def _require_known(self, place: LogPlace) -> LogPlace:
        if place != START and await self._reader.log.event_id(place.position) != place.event_id:
            raise UnknownPlaceError
        return place

    def _message(self, event: Envelope, about: PublishedObject, max_payload: int) -> BusMessage:
        sent = self._reader.events.of(event, about)
        body = encode(sent)
        if len(body) + HEADER_BYTES > max_payload:
            body = encode(without_data(sent))
        names = (
            about.facility_code or UNKNOWN_FACILITY,
            sent.streamtype,
            sent.type.removeprefix("beamkeep."),
        )
        return BusMessage(f"beamkeep.{'.'.join(names)}", sent.id, sent.cursor, body=body)


def without_data(event: CloudEvent) -> dict[str, object]:
    """Return an event that is too large for the bus, with the address of its object's history."""
    attributes: dict[str, object] = msgspec.to_builtins(replace(event, data={}))
    del attributes["data"]
    return attributes | {"dataref": f"{event.source}/history"}
