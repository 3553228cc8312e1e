"""The follower keeps the last events, in order, and says when they are no longer there."""

from collections.abc import Sequence
from uuid import UUID

import pytest
from uuid_utils.compat import uuid7

from beamkeep.adapters.memory_log import MemoryEventLog
from beamkeep.adapters.memory_store import MemoryStore
from beamkeep.contexts import CATALOGUE
from beamkeep.feed.follower import LogFollower, ToldEvent
from beamkeep.feed.log import START
from beamkeep.feed.reading import log_reader
from beamkeep.testing.appends import CODEC, append, at, registered

pytestmark = pytest.mark.anyio


def a_follower(store: MemoryStore, **bounds: int) -> LogFollower:
    log = MemoryEventLog(store)
    reader = log_reader(log, CATALOGUE, CODEC, cursor_key=b"k" * 32, base_url="https://lab.test")
    return LogFollower(log, reader.events, **bounds)


async def actors(store: MemoryStore, number: int) -> list[UUID]:
    ids = [uuid7() for _ in range(number)]
    for id in ids:
        await store.append(append(at(1, registered(id))))
    return ids


def ids(told: Sequence[ToldEvent] | None) -> list[UUID]:
    assert told is not None
    return [event.stream_id for event in told]


async def test_a_follower_begins_at_the_end_of_the_log():
    store = MemoryStore(CODEC)
    await actors(store, 2)
    follower = a_follower(store)
    await follower.begin()
    start = follower.head
    new = await actors(store, 3)
    assert not await follower.read()
    assert ids(follower.after(start, 10)) == new
    assert ids(follower.after(start, 2)) == new[:2]
    assert follower.after(follower.head, 10) == ()
    assert follower.after(START, 10) is None


async def test_a_follower_of_an_empty_log_has_everything():
    store = MemoryStore(CODEC)
    follower = a_follower(store)
    await follower.begin()
    new = await actors(store, 2)
    await follower.read()
    assert ids(follower.after(START, 10)) == new


async def test_only_so_many_events_are_kept():
    store = MemoryStore(CODEC)
    follower = a_follower(store, most_events=3)
    await follower.begin()
    new = await actors(store, 5)
    await follower.read()
    assert follower.after(START, 10) is None
    assert ids(follower.after(follower.floor, 10)) == new[2:]
    assert follower.total_events == 5


async def test_only_so_many_bytes_are_kept():
    store = MemoryStore(CODEC)
    follower = a_follower(store, most_bytes=2_500)
    await follower.begin()
    new = await actors(store, 10)
    await follower.read()
    kept = follower.after(follower.floor, 10)
    assert kept
    assert 1 < len(kept) < 10
    assert sum(len(event.text) for event in kept) <= 2_500
    assert ids(kept) == new[-len(kept) :]
