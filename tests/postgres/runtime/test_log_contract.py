"""What the feed asks of the log, held against each of the two there are."""

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import NamedTuple
from uuid import UUID, uuid4

import pytest
from uuid_utils.compat import uuid7

from beamkeep.adapters.memory.log import MemoryEventLog
from beamkeep.adapters.memory.store import MemoryStore
from beamkeep.adapters.postgres import event_log
from beamkeep.contexts.trust.zone import ZoneDefined
from beamkeep.feed import log
from beamkeep.feed.log import EventLog, LogQuery, place_of
from beamkeep.kernel import Sight, replace
from beamkeep.runtime.store import BEGINNING, Envelope, EventStore, Position
from beamkeep.testing.appends import CODEC, ME, NOW, append, at, registered, updated
from beamkeep.testing.database import Database
from beamkeep.testing.postgres import connected, postgres_service

pytestmark = pytest.mark.anyio

OTHER = UUID(int=10)
HOUR = timedelta(hours=1)


class Logged(NamedTuple):
    """A store, its log, and a transaction that is open and holds back the log."""

    store: EventStore
    log: EventLog
    open_transaction: Callable[[], AbstractAsyncContextManager[None]]


@pytest.fixture
async def logged(place: Database | None) -> AsyncGenerator[Logged]:
    if place is None:
        store = MemoryStore(CODEC)
        memory = MemoryEventLog(store)

        @asynccontextmanager
        async def held() -> AsyncGenerator[None]:
            store.position = Position(store.position.tx + 1, store.position.position)
            memory.open_transactions.add(store.position.tx)
            yield
            memory.open_transactions.clear()

        yield Logged(store, memory, held)
        return
    async with postgres_service(place, seeds=False) as deployed:

        @asynccontextmanager
        async def opened() -> AsyncGenerator[None]:
            async with connected(place) as connection, connection.transaction():
                await connection.execute("SELECT pg_current_xact_id()")
                yield

        yield Logged(deployed.store, deployed.event_log, opened)


@pytest.fixture
def store(logged: Logged) -> EventStore:
    return logged.store


@pytest.fixture
def events(logged: Logged) -> EventLog:
    return logged.log


async def an_actor(store: EventStore, versions: int = 1, by: UUID = ME) -> UUID:
    id = uuid7()
    await store.append(append(at(1, registered(id)), principal_id=by))
    for version in range(2, versions + 1):
        await store.append(append(at(version, updated(id)), principal_id=by))
    return id


async def a_zone(store: EventStore, by: UUID = ME) -> UUID:
    id = uuid7()
    await store.append(append(at(1, ZoneDefined(NOW, id, "Hutch")), principal_id=by))
    return id


def named(events: Sequence[Envelope]) -> list[tuple[UUID, int]]:
    return [(each.stream_id, each.version) for each in events]


async def found(events: EventLog, query: LogQuery) -> list[tuple[UUID, int]]:
    """Everything that a query finds, page by page."""
    all_events: list[Envelope] = []
    more = True
    while more:
        page = await events.page(query)
        all_events += page.events
        more = page.more
        query = replace(query, after=page.reached.position if page.reached else query.after)
    return named(all_events)


async def test_events_come_in_order_with_everything_that_was_stored(
    store: EventStore, events: EventLog
):
    id = await an_actor(store, 3)
    page = await events.page(LogQuery(10))
    assert named(page.events) == [(id, 1), (id, 2), (id, 3)]
    history = await store.history(("Actor", id), 0, 10)
    assert [*page.events] == history
    assert sorted(place_of(each).position for each in page.events) == [
        place_of(each).position for each in page.events
    ]


async def test_an_empty_log_has_no_page_and_no_head(events: EventLog):
    page = await events.page(LogQuery(10))
    assert (list(page.events), page.reached, page.more) == ([], None, False)
    assert await events.head() is None


@pytest.mark.parametrize("newest_first", [False, True])
async def test_pages_follow_one_another_without_a_gap_in_both_orders(
    store: EventStore, events: EventLog, newest_first: bool
):
    first, second = await an_actor(store, 3), await an_actor(store, 2)
    expected = [(first, 1), (first, 2), (first, 3), (second, 1), (second, 2)]
    for limit in (1, 2, 4, 5, 6):
        query = LogQuery(limit, newest_first=newest_first)
        assert await found(events, query) == expected[:: -1 if newest_first else 1]


async def test_a_page_says_whether_it_reached_the_end(store: EventStore, events: EventLog):
    await an_actor(store, 2)
    assert (await events.page(LogQuery(1))).more
    assert not (await events.page(LogQuery(2))).more
    last = (await events.page(LogQuery(2))).reached
    assert last == await events.head()


async def test_an_event_behind_an_open_transaction_is_not_published_yet(
    logged: Logged, store: EventStore, events: EventLog
):
    before = await an_actor(store)
    async with logged.open_transaction():
        after = await an_actor(store)
        assert await found(events, LogQuery(10)) == [(before, 1)]
        assert await found(events, LogQuery(10, newest_first=True)) == [(before, 1)]
        head = await events.head()
        assert head
        assert head == (await events.page(LogQuery(10))).reached
    assert await found(events, LogQuery(10)) == [(before, 1), (after, 1)]


async def test_an_event_is_found_by_its_position(store: EventStore, events: EventLog):
    await an_actor(store, 2)
    for each in (await events.page(LogQuery(10))).events:
        assert await events.event_id(place_of(each).position) == each.event_id
        beyond = Position(each.transaction_id, place_of(each).position.position + 100)
        assert await events.event_id(beyond) is None
    assert await events.event_id(BEGINNING) is None


async def test_streams_principals_and_times_are_filtered(store: EventStore, events: EventLog):
    mine, theirs = await an_actor(store, 2), await an_actor(store, 2, by=OTHER)
    hall = await a_zone(store)
    now = datetime.now(UTC)
    everything = [(mine, 1), (mine, 2), (theirs, 1), (theirs, 2), (hall, 1)]
    for query, expected in (
        (LogQuery(10, stream_ids=frozenset({mine, hall})), [(mine, 1), (mine, 2), (hall, 1)]),
        (LogQuery(10, stream_ids=frozenset({uuid4()})), []),
        (LogQuery(10, stream_ids=frozenset()), []),
        (LogQuery(10, principal_id=OTHER), [(theirs, 1), (theirs, 2)]),
        (LogQuery(10, principal_id=uuid4()), []),
        (LogQuery(10, since=now - HOUR), everything),
        (LogQuery(10, since=now + HOUR), []),
        (LogQuery(10, until=now - HOUR), []),
        (LogQuery(10, until=now + HOUR), everything),
        (LogQuery(10, since=now - HOUR, until=now + HOUR, newest_first=True), everything[::-1]),
    ):
        assert await found(events, query) == expected, query
        assert await found(events, replace(query, limit=1)) == expected, query


async def test_a_time_is_compared_exactly(store: EventStore, events: EventLog):
    id = await an_actor(store, 4)
    third = (await events.page(LogQuery(10))).events[2].recorded_at
    assert await found(events, LogQuery(10, since=third)) == [(id, 3), (id, 4)]
    assert await found(events, LogQuery(10, until=third)) == [(id, 1), (id, 2)]


async def test_kinds_commands_and_owners_are_filtered(store: EventStore, events: EventLog):
    mine, theirs = await an_actor(store, 2), await an_actor(store, 1, by=OTHER)
    hall = await a_zone(store, by=OTHER)
    await store.append(append(at(2, updated(theirs)), principal_id=ME))
    updates = [(mine, 2), (theirs, 2)]
    for query, expected in (
        (LogQuery(10, types=frozenset({"ActorProfileUpdated"})), updates),
        (
            LogQuery(10, types=frozenset({"ActorProfileUpdated", "ZoneDefined"})),
            [(mine, 2), (hall, 1), (theirs, 2)],
        ),
        (LogQuery(10, types=frozenset()), []),
        (LogQuery(10, stream_types=frozenset({"Zone"})), [(hall, 1)]),
        (LogQuery(10, command_name="try_it", stream_types=frozenset({"Zone"})), [(hall, 1)]),
        (LogQuery(10, command_name="hold_run"), []),
        (LogQuery(10, sight=Sight(OTHER)), [(theirs, 1), (hall, 1), (theirs, 2)]),
        (LogQuery(10, sight=Sight(mine)), []),
        (LogQuery(10, sight=Sight(mine), self_owned=frozenset({"Actor"})), [(mine, 1), (mine, 2)]),
        (LogQuery(10, sight=Sight(mine), self_owned=frozenset({"Zone"})), []),
    ):
        assert await found(events, query) == expected, query
        assert await found(events, replace(query, limit=1)) == expected, query
        backwards = replace(query, limit=1, newest_first=True)
        assert await found(events, backwards) == expected[::-1], query


async def test_a_filter_without_an_index_looks_at_a_bounded_number_of_events(
    store: EventStore, events: EventLog
):
    first = await an_actor(store, 4)
    hall = await a_zone(store)
    zones = LogQuery(10, stream_types=frozenset({"Zone"}), look_at=3)
    page = await events.page(zones)
    assert (list(page.events), page.more) == ([], True)
    assert page.reached
    looked = await events.page(LogQuery(3))
    assert named(looked.events) == [(first, 1), (first, 2), (first, 3)]
    assert page.reached == looked.reached
    page = await events.page(replace(zones, after=page.reached.position))
    assert (named(page.events), page.more) == ([(hall, 1)], False)


def test_the_bounds_are_those_of_the_page_of_the_feed():
    assert LogQuery(100).most == 101
    assert LogQuery(100, principal_id=ME, stream_ids=frozenset(), since=NOW).most == 101
    assert LogQuery(100, types=frozenset()).most == log.MOST_LOOKED_AT == 10_000
    assert LogQuery(100, sight=Sight(ME)).most == log.MOST_LOOKED_AT_FOR_OWNER == 5_000


@pytest.mark.postgres
@pytest.mark.parametrize("statement", [event_log.HEAD, event_log.RECORDED])
async def test_a_place_is_found_by_the_index_of_the_order(unseeded: Database, statement: str):
    connections = unseeded.connections()
    plan = await connections.read(f"EXPLAIN {statement.replace('$1', "'7'")}")
    await connections.close()
    assert [line for (line,) in plan if "->  Sort" in line or "Scan" in line] == [
        line for (line,) in plan if "using events_p" in line and "_transaction_id_position" in line
    ]
    assert len(plan) > 16
