"""The follower keeps the last events, in order, and says when they are no longer there."""

import json
from collections.abc import Sequence
from uuid import UUID

import pytest
from uuid_utils.compat import uuid7

from beamkeep.adapters.memory.directory import MemoryDirectory
from beamkeep.adapters.memory.log import MemoryEventLog
from beamkeep.adapters.memory.store import MemoryStore
from beamkeep.contexts.catalogue import CATALOGUE
from beamkeep.contexts.trust.zone import ZoneDefined
from beamkeep.feed import follower as follower_module
from beamkeep.feed.directory.entries import Entry
from beamkeep.feed.directory.seam import Directory
from beamkeep.feed.follower import LogFollower
from beamkeep.feed.log import START
from beamkeep.feed.published import PublishedEvent
from beamkeep.feed.reading import log_reader
from beamkeep.testing.appends import CODEC, NOW, append, at, registered, updated

pytestmark = pytest.mark.anyio


def a_follower(
    store: MemoryStore, directory: Directory | None = None, **bounds: int
) -> LogFollower:
    log = MemoryEventLog(store)
    reader = log_reader(
        log,
        CATALOGUE,
        CODEC,
        cursor_key=b"k" * 32,
        base_url="https://lab.test",
        directory=directory,
    )
    return LogFollower(log, reader.events, **bounds)


async def actors(store: MemoryStore, number: int) -> list[UUID]:
    ids = [uuid7() for _ in range(number)]
    for id in ids:
        await store.append(append(at(1, registered(id))))
    return ids


def ids(told: Sequence[PublishedEvent] | None) -> list[UUID]:
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


async def test_only_so_many_events_stay_in_memory():
    store = MemoryStore(CODEC)
    follower = a_follower(store, most_events=3)
    await follower.begin()
    new = await actors(store, 5)
    await follower.read()
    assert follower.after(START, 10) is None
    assert ids(follower.after(follower.floor, 10)) == new[2:]
    assert follower.total_events == 5


async def test_only_so_many_bytes_stay_in_memory():
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


async def test_a_listener_is_given_only_so_many_bytes_at_once(monkeypatch: pytest.MonkeyPatch):
    store = MemoryStore(CODEC)
    follower = a_follower(store)
    await follower.begin()
    new = await actors(store, 5)
    await follower.read()
    for most, number in ((1, 1), (1_500, 2), (1_000_000, 5)):
        monkeypatch.setattr(follower_module, "PART_BYTES", most)
        assert ids(follower.after(START, 10)) == new[:number]


class CountedDirectory(MemoryDirectory):
    """A directory that counts how often it is asked, and for how many objects."""

    def __init__(self, store: MemoryStore) -> None:
        super().__init__(store, CATALOGUE.views, CODEC)
        self.asked: list[int] = []

    async def entries(self, ids: Sequence[UUID]) -> Sequence[Entry]:
        self.asked.append(len(ids))
        return await super().entries(ids)


async def test_the_objects_of_a_page_are_named_by_one_look_up_for_all_listeners():
    store = MemoryStore(CODEC)
    directory = CountedDirectory(store)
    follower = a_follower(store, directory)
    await follower.begin()
    ids = [uuid7() for _ in range(3)]
    for id in ids:
        await store.append(append(at(1, ZoneDefined(NOW, id, f"Hutch {id}"))))
    (person,) = await actors(store, 1)
    await store.append(append(at(2, updated(person))))
    await follower.read()
    assert directory.asked == [4]
    told = [follower.after(START, 10) for _ in range(5)]
    assert directory.asked == [4], "what is kept was named once"
    subjects = [json.loads(each.cloud_event)["subject"] for each in told[0] or ()]
    names = [f"Hutch {id}" for id in ids]
    assert subjects == [*names, str(person), str(person)], "people are not in the directory"
