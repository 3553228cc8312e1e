"""What the runtimes of agents ask of the log, held against each of the two there are."""

from collections.abc import AsyncGenerator
from datetime import timedelta
from typing import NamedTuple
from uuid import UUID

import pytest
from uuid_utils.compat import uuid7

from beamkeep.adapters.memory.store import MemoryStore
from beamkeep.adapters.memory.tail import MemoryTail
from beamkeep.feed.tail import WHOLE_LOG, Tail
from beamkeep.parts.agents.memory_log import MemoryAgentLog
from beamkeep.parts.agents.postgres_log import PostgresAgentLog
from beamkeep.parts.agents.reactions import AgentLog
from beamkeep.runtime.store import EventStore, Position
from beamkeep.testing.appends import CODEC, append, at, registered, updated
from beamkeep.testing.database import Database
from beamkeep.testing.postgres import postgres_service

pytestmark = pytest.mark.anyio


class Logged(NamedTuple):
    """A store, its tail, and its log as agents ask for it."""

    store: EventStore
    tail: Tail
    log: AgentLog

    async def actor(self, *versions: int, by: UUID | None = None) -> UUID:
        """Write an actor and so many updates, as this principal."""
        id, by = uuid7(), by or uuid7()
        await self.store.append(append(at(1, registered(id)), principal_id=by))
        for version in versions:
            await self.store.append(append(at(version, updated(id)), principal_id=by))
        return id

    async def places(self, id: UUID) -> list[Position]:
        """Return where the events of an actor stand, in their order."""
        page = await self.tail.page(WHOLE_LOG, Position(0, 0), 1000)
        return [each.at for each in page.events if each.stream_id == id]


@pytest.fixture
async def logged(place: Database | None) -> AsyncGenerator[Logged]:
    if place is None:
        store = MemoryStore(CODEC)
        yield Logged(store, MemoryTail(store.log), MemoryAgentLog(store))
        return
    connections = place.connections()
    async with postgres_service(place, seeds=False) as deployed:
        yield Logged(deployed.store, deployed.tail, PostgresAgentLog(connections))
    await connections.close()


async def test_the_first_event_of_a_type_has_the_place_that_the_tail_gives_it(logged: Logged):
    await logged.actor(2)
    id = await logged.actor(2, 3)
    registration, first, _ = await logged.places(id)
    assert await logged.log.first(("Actor", id), "ActorProfileUpdated") == first
    assert await logged.log.first(("Actor", id), "ActorRegistered") == registration


async def test_a_type_that_a_stream_does_not_have_has_no_place(logged: Logged):
    id = await logged.actor()
    assert await logged.log.first(("Actor", id), "ActorProfileUpdated") is None
    assert await logged.log.first(("Agent", id), "ActorRegistered") is None


async def test_the_last_write_is_that_of_the_principal_in_any_stream(logged: Logged):
    me = uuid7()
    await logged.actor(2, by=me)
    mine = await logged.actor(by=me)
    await logged.actor(2)
    assert await logged.log.last_write(me) == (await logged.places(mine))[-1]
    assert await logged.log.last_write(uuid7()) is None


async def test_only_events_of_the_principal_and_type_since_the_time_are_counted(logged: Logged):
    me = uuid7()
    before = await logged.log.now()
    await logged.actor(2, 3, by=me)
    await logged.actor(2)
    between = await logged.log.now()
    await logged.actor(2, by=me)
    counted = logged.log.written_since
    assert await counted(me, "ActorProfileUpdated", before) == 3
    assert await counted(me, "ActorProfileUpdated", between) == 1
    assert await counted(me, "ActorRegistered", before) == 2
    assert await counted(me, "ActorRegistered", between + timedelta(hours=1)) == 0


async def test_the_clock_of_the_log_continues(logged: Logged):
    before = await logged.log.now()
    await logged.actor()
    assert await logged.log.now() > before
