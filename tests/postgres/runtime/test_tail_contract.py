"""What every follower asks of the tail, held against each of the two there are."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import NamedTuple
from uuid import UUID, uuid4

import pytest
from uuid_utils.compat import uuid7

from beamkeep.adapters.memory.store import MemoryStore
from beamkeep.adapters.memory.tail import MemoryTail
from beamkeep.contexts.trust.zone import ZoneDefined
from beamkeep.feed.tail import WHOLE_LOG, Bookmark, Tail, TailEvent, shards
from beamkeep.kernel import replace
from beamkeep.runtime.store import BEGINNING, EventStore, NewEvent, Position
from beamkeep.testing.appends import CODEC, ME, NOW, append, at, registered, updated
from beamkeep.testing.database import Database
from beamkeep.testing.postgres import connected, postgres_service

pytestmark = pytest.mark.anyio

PARTITIONS = shards(16)
INSERT = """
INSERT INTO bk.events (version, stream_id, event_id, principal_id, correlation_id, occurred_at,
       schema_version, stream_type, event_type, command_name, payload)
VALUES ($1, $2, gen_random_uuid(), $3, gen_random_uuid(), now(), $4, 'Actor', $5, 'test', $6)
"""

type Stored = tuple[str, UUID, int]
"""Stream type, stream id and version."""


class Followed(NamedTuple):
    """A store, the tail of its log, and transactions that write an event and stay open."""

    store: EventStore
    tail: Tail
    writing: Callable[[NewEvent], AbstractAsyncContextManager[None]]


@pytest.fixture
async def followed(place: Database | None) -> AsyncGenerator[Followed]:
    if place is None:
        store = MemoryStore(CODEC)
        tail = MemoryTail(store.log)

        @asynccontextmanager
        async def held(event: NewEvent) -> AsyncGenerator[None]:
            tx = store.position.tx + 1
            store.position = Position(tx, store.position.position + 1)
            tail.open_transactions.add(tx)
            written = TailEvent(
                *(event.version, event.event_type, event.schema_version, event.payload),
                tx=tx,
                position=store.position.position,
                stream_type=event.stream[0],
                stream_id=event.stream[1],
                principal_id=ME,
                watermark=0,
            )
            yield
            store.log.append(written)
            tail.open_transactions.remove(tx)

        yield Followed(store, tail, held)
        return
    async with postgres_service(place, seeds=False) as deployed:

        @asynccontextmanager
        async def inserted(event: NewEvent) -> AsyncGenerator[None]:
            async with connected(place) as connection, connection.transaction():
                about = event.schema_version, event.event_type, event.payload.decode()
                await connection.execute(INSERT, event.version, event.stream[1], ME, *about)
                yield

        yield Followed(deployed.store, deployed.tail, inserted)


@pytest.fixture
def store(followed: Followed) -> EventStore:
    return followed.store


@pytest.fixture
def tail(followed: Followed) -> Tail:
    return followed.tail


async def an_actor(store: EventStore, versions: int = 1) -> list[Stored]:
    id = uuid7()
    await store.append(append(at(1, registered(id))))
    for version in range(2, versions + 1):
        await store.append(append(at(version, updated(id))))
    return [("Actor", id, version) for version in range(1, versions + 1)]


async def a_zone(store: EventStore) -> list[Stored]:
    id = uuid7()
    await store.append(append(at(1, ZoneDefined(NOW, id, "Hutch"))))
    return [("Zone", id, 1)]


def stored(events: Sequence[TailEvent]) -> list[Stored]:
    return [(event.stream_type, event.stream_id, event.version) for event in events]


async def read(
    tail: Tail,
    shard: int = WHOLE_LOG,
    after: Position = BEGINNING,
    stream_types: Sequence[str] | None = None,
    limit: int = 100,
) -> list[TailEvent]:
    """Everything after a position, page by page."""
    found: list[TailEvent] = []
    while events := (await tail.page(shard, after, limit, stream_types)).events:
        found += events
        after = events[-1].at
    return found


async def begun(tail: Tail, shard: int = WHOLE_LOG) -> Bookmark:
    """The bookmark of a new follower."""
    name = f"follower-{uuid4()}"
    await tail.begin(name, 1, [shard])
    return await bookmark_of(tail, name, shard)


async def bookmark_of(tail: Tail, name: str, shard: int = WHOLE_LOG) -> Bookmark:
    (found,) = [each for each in await tail.bookmarks(shard) if each.follower == name]
    return found


# Pages


async def test_events_come_in_the_order_they_were_written_with_all_that_was_written(
    store: EventStore, tail: Tail
):
    one, two = await an_actor(store, 3), await an_actor(store)
    page = await tail.page(WHOLE_LOG, BEGINNING, 100)
    assert stored(page.events) == [*one, *two]
    assert [event.at for event in page.events] == sorted(event.at for event in page.events)
    first = page.events[0]
    assert (first.event_type, first.schema_version, first.principal_id) == (
        "ActorRegistered",
        1,
        ME,
    )
    assert CODEC.decode("Actor", [first]) == [registered(one[0][1])]


async def test_a_page_holds_no_more_than_its_limit_and_the_next_continues_after_it(
    store: EventStore, tail: Tail
):
    written = await an_actor(store, 5)
    assert len((await tail.page(WHOLE_LOG, BEGINNING, 2)).events) == 2
    assert stored(await read(tail, limit=2)) == written


async def test_events_of_one_transaction_may_be_on_two_pages(store: EventStore, tail: Tail):
    id = uuid7()
    await store.append(append(at(1, registered(id)), at(2, updated(id)), at(3, updated(id))))
    events = await read(tail, limit=2)
    assert [event.version for event in events] == [1, 2, 3]
    assert len({event.tx for event in events}) == 1


async def test_every_event_stands_below_the_watermark_and_later_ones_do_not(
    store: EventStore, tail: Tail
):
    await an_actor(store)
    page = await tail.page(WHOLE_LOG, BEGINNING, 100)
    assert all(event.tx < page.watermark for event in page.events)
    later = await an_actor(store)
    after = await tail.page(WHOLE_LOG, Position(page.watermark, 0), 100)
    assert stored(after.events) == later


async def test_an_empty_log_has_a_watermark(tail: Tail):
    page = await tail.page(WHOLE_LOG, BEGINNING, 100)
    assert page.events == []
    assert page.watermark > 0


async def test_a_page_may_end_at_a_transaction(store: EventStore, tail: Tail):
    written = await an_actor(store, 3)
    _, _, last = await read(tail)
    for stream_types in (None, ["Actor"]):
        page = await tail.page(WHOLE_LOG, BEGINNING, 100, stream_types, until=last.tx)
        assert stored(page.events) == written[:2]


async def test_a_page_may_hold_events_of_some_stream_types_only(store: EventStore, tail: Tail):
    zones: list[Stored] = []
    for _ in range(3):
        await an_actor(store)
        zones += await a_zone(store)
    assert stored(await read(tail, stream_types=["Zone"], limit=2)) == zones
    assert len(await read(tail, stream_types=["Zone", "Actor"])) == 6
    assert await read(tail, stream_types=["Visit"]) == []


async def test_each_event_is_in_one_partition_and_those_of_a_stream_are_in_the_same(
    store: EventStore, tail: Tail
):
    written = [event for _ in range(20) for event in await an_actor(store, 2)]
    found = [stored(await read(tail, shard)) for shard in PARTITIONS]
    assert sorted(event for shard in found for event in shard) == sorted(written)
    for shard in found:
        assert [v for _, _, v in sorted(shard)] == [1, 2] * (len(shard) // 2)
    assert len([shard for shard in found if shard]) > 1


# Open transactions


async def test_nothing_passes_a_transaction_that_is_still_open(
    followed: Followed, store: EventStore, tail: Tail
):
    before = await an_actor(store)
    slow = CODEC.encode(registered(uuid7()), 1, uuid7())
    async with followed.writing(slow):
        later = await an_actor(store)
        page = await tail.page(WHOLE_LOG, BEGINNING, 100)
        assert stored(page.events) == before
    after = await tail.page(WHOLE_LOG, Position(page.watermark, 0), 100)
    assert stored(after.events) == [(*slow.stream, 1), *later]


# Bookmarks


async def test_a_follower_begins_at_the_beginning_of_each_of_its_shards(tail: Tail):
    name = f"follower-{uuid4()}"
    await tail.begin(name, 1, PARTITIONS)
    for shard in PARTITIONS:
        assert (await bookmark_of(tail, name, shard)).reached == BEGINNING
    assert name not in {each.follower for each in await tail.bookmarks(WHOLE_LOG)}


async def test_a_follower_may_begin_behind_an_event_and_sees_only_what_follows(
    store: EventStore, tail: Tail
):
    first, then = await an_actor(store), await an_actor(store)
    place = (await read(tail))[0].at
    await tail.begin("late", 1, [WHOLE_LOG], at=place)
    # Whoever has a bookmark goes on there.
    await tail.begin("late", 1, [WHOLE_LOG])
    bookmark = await bookmark_of(tail, "late")
    assert bookmark.reached == place
    assert stored(await read(tail, after=bookmark.reached)) == then != first


async def test_a_follower_that_starts_again_continues_at_its_bookmark(
    store: EventStore, tail: Tail
):
    await an_actor(store)
    bookmark, (seen,) = await begun(tail), await read(tail)
    assert await tail.move([bookmark], seen.at)
    await tail.begin(bookmark.follower, 1, [WHOLE_LOG])
    again = await bookmark_of(tail, bookmark.follower)
    assert again.reached == seen.at
    later = await an_actor(store)
    assert stored(await read(tail, after=again.reached)) == later


async def test_a_follower_that_ended_before_it_moved_its_bookmark_sees_the_page_again(
    store: EventStore, tail: Tail
):
    written = await an_actor(store, 2)
    bookmark = await begun(tail)
    assert stored(await read(tail, after=bookmark.reached)) == written
    again = await bookmark_of(tail, bookmark.follower)
    assert stored(await read(tail, after=again.reached)) == written


async def test_a_stale_move_is_refused_and_changes_nothing(tail: Tail):
    stale = await begun(tail)
    assert await tail.move([stale], Position(5, 1))
    assert not await tail.move([stale], Position(4, 1))
    assert not await tail.move([stale], Position(9, 1))
    assert await bookmark_of(tail, stale.follower) == replace(stale, reached=Position(5, 1))


async def test_of_followers_that_move_at_once_only_one_succeeds(tail: Tail):
    bookmark = await begun(tail)
    moves = [tail.move([bookmark], Position(tx, 0)) for tx in range(1, 5)]
    assert sorted(await asyncio.gather(*moves)) == [False, False, False, True]


async def test_bookmarks_are_moved_together_or_not_at_all(tail: Tail):
    fresh, stale = await begun(tail), await begun(tail)
    assert await tail.move([stale], Position(5, 1))
    assert not await tail.move([fresh, stale], Position(6, 1))
    assert await bookmark_of(tail, fresh.follower) == fresh
    moved = await bookmark_of(tail, stale.follower)
    assert await tail.move([fresh, moved], Position(7, 1))
    for each in (fresh, stale):
        assert (await bookmark_of(tail, each.follower)).reached == Position(7, 1)


async def test_each_shard_of_a_follower_has_a_bookmark_of_its_own(tail: Tail):
    name = f"follower-{uuid4()}"
    await tail.begin(name, 1, (0, 1))
    assert await tail.move([await bookmark_of(tail, name, 0)], Position(3, 1))
    assert (await bookmark_of(tail, name, 1)).reached == BEGINNING


async def test_a_bookmark_that_was_never_put_is_not_moved(tail: Tail):
    unknown = Bookmark(f"follower-{uuid4()}", 1, WHOLE_LOG, reached=BEGINNING)
    assert not await tail.move([unknown], Position(1, 1))
    assert unknown.key not in {each.key for each in await tail.bookmarks(WHOLE_LOG)}
