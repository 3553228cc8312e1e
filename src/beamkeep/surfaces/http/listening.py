"""Events as they happen: `GET /events` as server-sent events."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import nullcontext, suppress
from datetime import datetime

import structlog

from beamkeep.contexts.seams.log import ListEvents, require_known
from beamkeep.feed.follower import LogFollower
from beamkeep.feed.log import START, LogPlace
from beamkeep.feed.matching import Owners, asked_for, hinted_at
from beamkeep.feed.published import PublishedEvent
from beamkeep.feed.reading import LogReader
from beamkeep.kernel import ActorKind, Question, Record
from beamkeep.runtime import Service
from beamkeep.runtime.admission import Admitted, Caller, UnauthorizedError
from beamkeep.runtime.answers import MOST_SEEN
from beamkeep.runtime.codec import encode
from beamkeep.runtime.parsing import MalformedRequestError, parse
from beamkeep.runtime.session import sight_of
from beamkeep.runtime.store import EventStore, StoreUnavailableError
from beamkeep.runtime.tokens import IdentityProviderUnavailableError, TokenRefusal, TokenVerifier
from beamkeep.surfaces.http.limits import ConcurrencyLimit
from beamkeep.surfaces.http.messages import Headers, HttpRequest, HttpResponse, StreamResponse
from beamkeep.surfaces.http.rest import question_arguments, question_route, repeatable_fields
from beamkeep.surfaces.http.routes import HttpRoute

log: structlog.stdlib.BoundLogger = structlog.get_logger()

NAME = "list_events"
SSE: Headers = {
    b"content-type": b"text/event-stream",
    b"cache-control": b"no-store, no-transform",
    b"x-accel-buffering": b"no",
}
MEDIA_TYPE = b"text/event-stream"
RETRY = b"retry: 2000\n\n"
AT_ONCE, PAGE_EVENTS, CATCHING_UP = 500, 500, 4
SLOW_EVENTS, SLOW_BYTES = 1_000, 1024 * 1024
PER_PRINCIPAL = 8
NOT_FOLLOWED = frozenset({"until", "order", "limit", "names"})
"""The parameters of a page that a stream does not have."""
NAMING = frozenset({"Policy", "Actor", "Agent"})
"""The streams whose events may change what a principal is permitted."""


class StreamTimes(Record):
    """Seconds between the parts of a stream."""

    beat: float = 10
    admission: float = 60
    evidence: float = 60
    """For how long the events that an agent was shown are gathered as one row of evidence."""
    gather: float = 0.025
    """Events are written together that come within this time."""


class EndedError(Exception):
    """A listener is not served any longer, for this reason."""


class EventStreams:
    """Serves the listeners of this process."""

    def __init__(
        self,
        service: Service,
        store: EventStore,
        reader: LogReader,
        follower: LogFollower,
        verifier: TokenVerifier | None,
        clock: Callable[[], datetime],
        most: int = 500,
        times: StreamTimes | None = None,
    ) -> None:
        self.service, self.reader, self.follower = service, reader, follower
        self.cursors, self.clock, self.times = reader.cursors, clock, times or StreamTimes()
        aggregates = service.catalogue.aggregates.values()
        self.owners = Owners(store, (each.name for each in aggregates if each.self_owned))
        self.catching_up = asyncio.Semaphore(CATCHING_UP)
        self._verifier = verifier
        self._listeners, self._of_principal = (
            ConcurrencyLimit(most),
            ConcurrencyLimit(PER_PRINCIPAL),
        )

    @property
    def listeners(self) -> int:
        """Return the number of open streams."""
        return self._listeners.taken(None)

    def route(self) -> HttpRoute:
        """Return the route of `/events`, which answers a page or a stream."""
        question = self.service.catalogue.named[NAME]
        assert isinstance(question, Question), "events are asked for"  # noqa: S101
        paged = question_route(self.service, question)
        repeatable = repeatable_fields(question.query)

        async def answer(request: HttpRequest) -> HttpResponse | StreamResponse:
            if MEDIA_TYPE in request.headers.get(b"accept", b""):
                return await self._stream(request, repeatable)
            return await paged.answer(request)

        return HttpRoute(NAME, paged.route, answer)

    async def _stream(self, request: HttpRequest, repeatable: frozenset[str]) -> StreamResponse:
        admitted = await self.service.admission.admit(NAME, request.caller)
        query = _query(request, repeatable)
        require_known(self.reader, query.type, query.stream_type)
        # A listener has a slot of its own: it does not count as a call under way.
        request.slots.release()
        request.slots.hold(self._of_principal, admitted.standing.principal_id)
        request.slots.hold(self._listeners, None)
        place = await self.reader.place(query.after)
        credentials = request.text(b"authorization")
        token = credentials.split()[-1] if credentials else None
        listener = Listener(
            self, query, request.caller, admitted=admitted, place=place, token=token
        )
        return StreamResponse(200, SSE, listener.parts(), at_shutdown=ended("restart"))

    async def readmit(self, caller: Caller, token: str | None) -> Admitted | None:
        """Return what the caller may see now; None if that cannot be found out at present."""
        try:
            if token and self._verifier:
                await self._verifier.verify(token, nullcontext)
            return await self.service.admission.admit(NAME, caller)
        except TokenRefusal:
            raise EndedError("token") from None
        except UnauthorizedError:
            raise EndedError("permission") from None
        except (IdentityProviderUnavailableError, StoreUnavailableError):
            return None


class Listener:
    """One open stream."""

    def __init__(
        self,
        streams: EventStreams,
        query: ListEvents,
        caller: Caller,
        admitted: Admitted,
        place: LogPlace | None,
        token: str | None,
    ) -> None:
        self._streams, self._query, self._caller, self._token = streams, query, caller, token
        self._follower, self._times = streams.follower, streams.times
        self._place = place or (START if query.since else streams.follower.head)
        self._heard = streams.follower.rows.number
        self._unrecorded: list[PublishedEvent] = []
        """Events that an agent was shown and that are not on record yet."""
        self._waits = False
        """Whether the next events are sent only when the directory has followed them."""
        self._admit(admitted)

    async def parts(self) -> AsyncGenerator[bytes]:
        """Yield the stream until it ends."""
        yield RETRY + self._beat()
        clock, follower, times = asyncio.get_running_loop().time, self._follower, self._times
        beat_at, admit_at = clock() + times.beat, clock() + times.admission
        keep_at = clock() + times.evidence
        try:
            while True:
                events = follower.after(self._place, AT_ONCE)
                part = await (self._catch_up() if events is None else self._fitting(events))
                part += await self._hints()
                written_at = clock()
                if part:
                    total_events, total_bytes = follower.total_events, follower.total_bytes
                    yield part
                    # The socket took the part only now: this is what has come since.
                    _require_quick(follower.total_events - total_events, SLOW_EVENTS)
                    _require_quick(follower.total_bytes - total_bytes, SLOW_BYTES)
                if clock() >= keep_at or len(self._unrecorded) >= MOST_SEEN:
                    await self._keep()
                    keep_at = clock() + times.evidence
                if clock() >= admit_at:
                    await self._readmit()
                    admit_at = clock() + times.admission
                if clock() >= beat_at:
                    yield self._beat()
                    beat_at = clock() + times.beat
                if self._waits:
                    await asyncio.sleep(times.gather)
                elif follower.head.position <= self._place.position:
                    await follower.news(min(beat_at, admit_at, keep_at) - clock())
                    await asyncio.sleep(written_at + times.gather - clock())
        except EndedError as error:
            yield ended(str(error))
        finally:
            with suppress(EndedError):
                await self._keep()

    async def _catch_up(self) -> bytes:
        """Return a page of events that are no longer in memory."""
        # What ended the permission may be an event that nobody asked for.
        await self._readmit()
        head = self._follower.head
        async with self._streams.catching_up:
            page = await self._streams.reader.read(
                self._query, self._sight, self._place, PAGE_EVENTS
            )
        # A page that reached the end has looked at everything up to the head there was before it,
        # unless it ended where the directory does.
        is_whole = not page.more and self._query.facility_code is None
        self._waits = not page.more and not is_whole
        ends: list[LogPlace] = [head] if is_whole else []
        self._place = max([page.reached or self._place, *ends])
        return self._text(await self._follower.published(page.events))

    async def _fitting(self, events: Sequence[PublishedEvent]) -> bytes:
        """Return those of these events that were asked for and may be seen."""
        fitting, looked = await asked_for(events, self._query, self._follower.facilities)
        self._waits = len(looked) < len(events)
        me = str(self._caller_id).encode()
        if any(event.stream_type in NAMING and me in event.text for event in looked):
            await self._readmit()
        if self._sight and fitting:
            fitting = await self._streams.owners.own(fitting, self._sight)
        if looked:
            self._place = looked[-1].place
        return self._text(fitting)

    def _text(self, events: Sequence[PublishedEvent]) -> bytes:
        """Return events as they are sent, and remember what an agent is shown."""
        if self._is_agent:
            self._unrecorded += events
        return b"".join([event.text for event in events])

    async def _hints(self) -> bytes:
        """Return the hints that rows were added to objects that may be seen."""
        self._heard, hints = self._follower.rows.after(self._heard)
        if not hints:
            return b""
        fitting = await hinted_at(hints, self._query, self._follower.facilities)
        if self._sight and fitting:
            fitting = await self._streams.owners.own(fitting, self._sight)
        return b"".join([hint.text for hint in fitting])

    async def _keep(self) -> None:
        """Store what an agent was shown since this was done last. Raise EndedError if it fails."""
        events, self._unrecorded = self._unrecorded, []
        if not events:
            return
        try:
            await self._streams.service.evidence.keep(
                NAME,
                b"".join([event.text for event in events]),
                [(event.stream_type, event.stream_id, event.version) for event in events],
                agent_id=self._caller_id,
                surface_id=self._surface_id,
                correlation_id=self._caller.correlation_id,
                arguments=self._query.model_dump(mode="json", exclude_unset=True),
            )
        except StoreUnavailableError:
            log.error("evidence of an event stream lost", agent_id=str(self._caller_id))
            raise EndedError("evidence") from None

    async def _readmit(self) -> None:
        admitted = await self._streams.readmit(self._caller, self._token)
        if admitted:
            self._admit(admitted)

    def _admit(self, admitted: Admitted) -> None:
        self._caller_id, self._surface_id = (
            admitted.standing.principal_id,
            admitted.place.surface_id,
        )
        self._is_agent = admitted.standing.kind is ActorKind.AGENT
        self._sight = sight_of(self._caller_id, admitted.scope)

    def _beat(self) -> bytes:
        cursors = self._streams.cursors
        now, head = self._streams.clock(), cursors.write(self._follower.head)
        data = encode({"now": now, "head": head})
        return b"id: %b\nevent: beat\ndata: %b\n\n" % (cursors.write(self._place).encode(), data)


def ended(reason: str) -> bytes:
    """Return the last event of a stream."""
    return b"event: end\ndata: %b\n\n" % encode({"reason": reason})


def _require_quick(missed: int, most: int) -> None:
    if missed > most:
        raise EndedError("slow")


def _query(request: HttpRequest, repeatable: frozenset[str]) -> ListEvents:
    """Return what a listener asks for. Raise MalformedRequestError when it cannot be followed."""
    arguments = question_arguments(request, repeatable)
    if isinstance(arguments, MalformedRequestError):
        raise arguments
    if unfit := [name for name in arguments if name in NOT_FOLLOWED]:
        raise MalformedRequestError(f"{unfit[0]}: it cannot be given for a stream.")
    last = request.text(b"last-event-id")
    return parse(ListEvents, {**arguments, "after": last} if last else arguments)
