"""Reactions: the loops in which agents answer events and look at things at regular times."""

from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime, timedelta
from typing import Protocol
from uuid import UUID

import structlog

from beamkeep.feed.tail import WHOLE_LOG, Bookmark, Tail, TailEvent
from beamkeep.kernel import AnyAggregate, Cannot, Event, Record, replace
from beamkeep.runtime.admission import UnauthorizedError
from beamkeep.runtime.codec import Codec
from beamkeep.runtime.session import Session
from beamkeep.runtime.store import (
    Envelope,
    EventStore,
    MovedError,
    OutcomeUnknownError,
    Position,
    StoreUnavailableError,
    Stream,
)
from beamkeep.telemetry import Telemetry

from .agent_writing import AgentDeniedError, AgentWriter
from .resolution import AgentIdentity, Apart, Resolution

log: structlog.stdlib.BoundLogger = structlog.get_logger()

RETRY_SECONDS = (1.0, 2.0, 4.0, 8.0, 16.0)
"""The pauses after which an event or item that failed is tried again, before it is passed over."""
PAUSE_SECONDS = 0.5
CLOSED_SECONDS = 5.0
"""How often a closed gate is looked at again."""
PAGE_EVENTS = 200
GENERATION = 1
BEGINS_WITH = "AgentVersioned"
UNREACHABLE = StoreUnavailableError, OutcomeUnknownError


class AgentLog(Protocol):
    """What the runtimes of agents ask of the log, by the database's clock."""

    async def now(self) -> datetime:
        """Return the time of the database."""
        ...

    async def first(self, stream: Stream, event_type: str) -> Position | None:
        """Return the position of the first event of this type in a stream."""
        ...

    async def last_write(self, principal_id: UUID) -> Position | None:
        """Return the position of the last event of a principal."""
        ...

    async def written_since(self, principal_id: UUID, event_type: str, since: datetime) -> int:
        """Return how many events of this type a principal has recorded since a time."""
        ...


class Trigger(Record):
    """An event that an agent answers."""

    at: Position
    envelope: Envelope
    event: Event


class EventReaction(Record):
    """An agent that answers events."""

    agent: AgentIdentity
    aggregate: AnyAggregate
    """The aggregate whose events it answers."""
    wants: Callable[[Event], bool]
    handle: Callable[[Trigger], Awaitable[float | Apart]]
    """Answers an event and returns 0, or returns the seconds after which to look at it again."""


class TickReaction(Record):
    """An agent that looks at things at regular times."""

    agent: AgentIdentity
    seconds: float
    items: Callable[[Session, datetime], Awaitable[Sequence[UUID]]]
    """Returns the things to look at."""
    judge: Callable[[UUID, Session, datetime], Awaitable[Resolution | None]]
    """Returns what to do about one of them. The session holds everything it was judged by."""


class Reactions:
    """What every loop of an agent needs."""

    def __init__(
        self,
        writer: AgentWriter,
        sessions: Callable[[], Session],
        agent_log: AgentLog,
        telemetry: Telemetry,
    ) -> None:
        self.writer, self.sessions = writer, sessions
        self.log, self.telemetry = agent_log, telemetry

    def pass_over(self, agent: AgentIdentity, reason: str, **about: object) -> None:
        """Count and log an event or item that an agent leaves as it is."""
        self.telemetry.count_passed_over(agent.kind, reason)
        log.warning("agent passed over", kind=agent.kind, reason=reason, **about)


class TickLoop:
    """Lets an agent look at all its things once in a turn. Several processes may do so."""

    def __init__(self, reaction: TickReaction, reactions: Reactions) -> None:
        self._reaction, self._reactions = reaction, reactions
        self._failures = Counter[UUID]()

    async def turn(self) -> float:
        """Judge every item; return the seconds until the next turn."""
        reaction, reactions = self._reaction, self._reactions
        if not await reactions.writer.may_act(reaction.agent.id):
            return reaction.seconds
        # Read before everything else: a time that has not come by now is not taken to have come.
        now = await reactions.log.now()
        items = await reaction.items(reactions.sessions(), now)
        return min([reaction.seconds, *[await self._judge(id, now) for id in items]])

    async def _judge(self, id: UUID, now: datetime) -> float:
        """Judge one item; return the seconds until it is tried again."""
        reaction, reactions, read = self._reaction, self._reactions, self._reactions.sessions()
        try:
            resolution = await reaction.judge(id, read, now)
            if resolution:
                await reactions.writer.write(reaction.agent, resolution, read)
        except (MovedError, Cannot, UnauthorizedError) as error:
            # Something has changed meanwhile. Nothing was written; the next tick judges again.
            log.info("agent judges again", kind=reaction.agent.kind, because=type(error).__name__)
        except AgentDeniedError as error:
            reactions.pass_over(reaction.agent, "denied", item=id, reason_code=str(error))
        except UNREACHABLE:
            raise
        except Exception as error:
            failed, self._failures[id] = self._failures[id], self._failures[id] + 1
            if failed < len(RETRY_SECONDS):
                return min(RETRY_SECONDS[failed], reaction.seconds)
            log.error("agent failed", kind=reaction.agent.kind, item=id, exc_info=error)
            reactions.pass_over(reaction.agent, "failed", item=id)
            return reaction.seconds
        self._failures.pop(id, None)
        return reaction.seconds


class EventLoop:
    """Lets an agent answer events, one at a time and at least once. Several processes may do so."""

    def __init__(
        self,
        reaction: EventReaction,
        reactions: Reactions,
        tail: Tail,
        store: EventStore,
        codec: Codec,
        max_age: timedelta,
    ) -> None:
        self._reaction, self._reactions, self._tail = reaction, reactions, tail
        self._store, self._codec, self._max_age = store, codec, max_age
        self._failed: tuple[Position, int] | None = None
        self._apart = set[Position]()
        """Events that wait while those after them are answered; the bookmark stays before them."""
        self._ahead: Position | None = None
        """The last event that was answered after one that waits."""

    async def turn(self) -> float:
        """Answer one page of events; return the seconds until the next turn."""
        if not await self._is_open() or not (bookmark := await self._bookmark()):
            return CLOSED_SECONDS
        # Another process may have answered an event that waited here.
        self._apart = {at for at in self._apart if at > bookmark.reached}
        wait, after = await self._take(bookmark, bookmark.reached)
        while after:
            wait, after = await self._take(bookmark, after)
        return wait

    async def _take(self, bookmark: Bookmark, after: Position) -> tuple[float, Position | None]:
        """Answer one page of events.

        Return the seconds until the next turn, and where the next page begins if it belongs to
        this turn.
        """
        reaction = self._reaction
        page = await self._tail.page(WHOLE_LOG, after, PAGE_EVENTS, (reaction.aggregate.name,))
        is_full = len(page.events) >= PAGE_EVENTS
        for tailed in page.events:
            (event,) = self._codec.decode(reaction.aggregate.name, [tailed])
            if not reaction.wants(event) or self._is_answered(tailed.at):
                continue
            if not await self._is_open():
                return CLOSED_SECONDS, None
            wait = await self._answer(tailed, event)
            if isinstance(wait, Apart):
                self._apart.add(tailed.at)
                continue
            if wait:
                return wait, None
            self._apart.discard(tailed.at)
            if self._apart:
                self._ahead = max(tailed.at, self._ahead or tailed.at)
                continue
            if not await self._tail.move([bookmark], tailed.at):
                # Another process has answered this event.
                return 0.0, None
            bookmark = replace(bookmark, reached=tailed.at)
        if self._apart:
            return CLOSED_SECONDS, page.events[-1].at if is_full else None
        # Nothing more can appear below the watermark, so events of other kinds are skipped.
        reached = page.events[-1].at if is_full else Position(page.watermark, 0)
        if reached > bookmark.reached:
            await self._tail.move([bookmark], reached)
        return 0.0 if is_full else PAUSE_SECONDS, None

    def _is_answered(self, at: Position) -> bool:
        """Return whether an event after one that waits was answered in an earlier turn."""
        return self._ahead is not None and at <= self._ahead and at not in self._apart

    async def _answer(self, tailed: TailEvent, event: Event) -> float | Apart:
        """Answer one event; return the seconds until it is looked at again, or 0 if it is done."""
        reaction, reactions = self._reaction, self._reactions
        stream = tailed.stream_type, tailed.stream_id
        (envelope,) = await self._store.history(stream, tailed.version - 1, 1)
        about = {"event_id": envelope.event_id}
        if envelope.recorded_at < await reactions.log.now() - self._max_age:
            reactions.pass_over(reaction.agent, "age", **about)
            return 0.0
        try:
            return await reaction.handle(Trigger(tailed.at, envelope, event))
        except (AgentDeniedError, UnauthorizedError) as error:
            reactions.pass_over(reaction.agent, "denied", reason_code=str(error), **about)
            return 0.0
        except UNREACHABLE:
            raise
        except Exception as error:
            place, failures = self._failed or (tailed.at, 0)
            failures = failures if place == tailed.at else 0
            if failures < len(RETRY_SECONDS):
                self._failed = tailed.at, failures + 1
                return RETRY_SECONDS[failures]
            log.error("agent failed", kind=reaction.agent.kind, exc_info=error, **about)
            reactions.pass_over(reaction.agent, "failed", **about)
            return 0.0

    async def _is_open(self) -> bool:
        return await self._reactions.writer.may_act(self._reaction.agent.id)

    async def _bookmark(self) -> Bookmark | None:
        """Return the bookmark; without one, make it where the agent was first versioned."""
        agent_id = self._reaction.agent.id
        key = f"agent:{agent_id}", GENERATION
        for _ in range(2):
            found = await self._tail.bookmarks(WHOLE_LOG)
            if mine := next((each for each in found if each.key == key), None):
                return mine
            begun = await self._reactions.log.first(("Agent", agent_id), BEGINS_WITH)
            if begun is None:
                return None
            await self._tail.begin(*key, [WHOLE_LOG], at=begun)
        return None
