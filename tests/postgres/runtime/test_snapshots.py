"""Snapshots: a stream of any length is read as cheaply as a short one, and as exactly."""

import asyncio
import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any
from uuid import UUID, uuid4

import pytest
from tests.corpus import FOLDER, read
from tests.postgres.runtime.conftest import Hosted

from beamkeep.adapters.memory.store import MemoryStore
from beamkeep.contexts.access.actor import actors
from beamkeep.contexts.catalogue import CATALOGUE
from beamkeep.kernel import Operation
from beamkeep.runtime import Service, session
from beamkeep.runtime.admission import Request, UnauthorizedError
from beamkeep.runtime.codec import BrokenStreamError, Codec
from beamkeep.runtime.folds import fingerprint
from beamkeep.runtime.session import SNAPSHOT_BYTES, SNAPSHOT_EVERY, Folded
from beamkeep.runtime.store import (
    READ_AT_ONCE,
    EventStore,
    LoadedStream,
    MovedError,
    NewSnapshot,
    Snapshot,
    Stream,
)
from beamkeep.testing.appends import append, at, updated
from beamkeep.testing.service import by, call, enrol, memory_service
from beamkeep.workers.refolding import SnapshotKeeper

pytestmark = pytest.mark.anyio
CODEC = Codec(CATALOGUE.aggregates.values())
OTHER_FOLD = uuid4()


async def an_actor(service: Service) -> UUID:
    return (await call(service, "register_actor", {"name": "Grace"})).id


async def change(service: Service, id: UUID, times: int, **options: Any) -> Any:
    answered = None
    for number in range(times):
        told = {"actor_id": str(id), "phone": str(number)}
        answered = await call(service, "update_actor_profile", told, **options)
    return answered


async def lengthen(store: EventStore, id: UUID, to: int) -> None:
    """Bring a stream to a length without the service, as before there were snapshots."""
    after = len(await store.history(("Actor", id), 0, READ_AT_ONCE))
    new = [at(version, updated(id)) for version in range(after + 1, to + 1)]
    for begin in range(0, len(new), READ_AT_ONCE):
        await store.append(append(*new[begin : begin + READ_AT_ONCE]))


async def snapshot_of(store: EventStore, stream: Stream) -> Snapshot | None:
    return (await store.load([stream], CODEC.folds))[stream].snapshot


async def test_a_command_keeps_a_snapshot_with_the_event_that_makes_it_due(hosted: Hosted):
    service, store = hosted
    stream = "Actor", await an_actor(service)
    await change(service, stream[1], SNAPSHOT_EVERY - 2)
    assert await snapshot_of(store, stream) is None
    answered = await change(service, stream[1], 1)
    snapshot = await snapshot_of(store, stream)
    assert snapshot is not None
    assert snapshot.version == answered.version == SNAPSHOT_EVERY
    events = (await store.load([stream]))[stream].events
    assert CODEC.restore(actors, snapshot) == CODEC.fold(actors, events)
    assert (await change(service, stream[1], 1)).version == SNAPSHOT_EVERY + 1
    assert await snapshot_of(store, stream) == snapshot


async def test_versions_and_preconditions_count_the_events_under_a_snapshot(hosted: Hosted):
    service, _ = hosted
    id = await an_actor(service)
    await change(service, id, SNAPSHOT_EVERY)
    found = await call(service, "get_actor", {"actor_id": str(id)})
    assert found.version == SNAPSHOT_EVERY + 1
    again = await change(service, id, 1, if_match=f'"{found.version}"')
    assert again.version == found.version + 1


async def test_an_earlier_state_is_shown_exactly_under_a_snapshot(hosted: Hosted):
    service, _ = hosted
    id = await an_actor(service)
    await change(service, id, SNAPSHOT_EVERY + 3)
    await call(service, "deactivate_actor", {"actor_id": str(id)})
    last = SNAPSHOT_EVERY + 5

    async def as_of(version: object) -> tuple[int, bool]:
        found = await call(service, "get_actor", {"actor_id": str(id), "as_of": version})
        return found.version, json.loads(found.body)["active"]

    for version in (1, 2, SNAPSHOT_EVERY, last - 1):
        assert await as_of(version) == (version, True)
    assert await as_of(last) == (last, False)
    with pytest.raises(actors.absent):
        await as_of(last + 1)
    history = await call(service, "get_actor_history", {"actor_id": str(id), "limit": 100})
    assert [each["version"] for each in json.loads(history.body)["items"]] == [*range(1, last + 1)]
    then = json.loads(history.body)["items"][9]["occurred_at"]
    assert await as_of(then) == (10, True)


async def test_a_long_stream_without_a_snapshot_is_read_in_pages_and_then_has_one(hosted: Hosted):
    service, store = hosted
    stream = "Actor", await an_actor(service)
    await lengthen(store, stream[1], 2 * READ_AT_ONCE + 5)
    found = await call(service, "get_actor", {"actor_id": str(stream[1])})
    assert found.version == 2 * READ_AT_ONCE + 5
    snapshot = await snapshot_of(store, stream)
    assert snapshot is not None
    assert snapshot.version == found.version
    assert (await change(service, stream[1], 1)).version == found.version + 1


async def test_what_a_cut_off_reading_folded_is_not_folded_again(monkeypatch: pytest.MonkeyPatch):
    service, store = await memory_service()
    stream = "Actor", await an_actor(service)
    await lengthen(store, stream[1], 4 * READ_AT_ONCE)
    monkeypatch.setattr(session, "STORED_EVERY", 2)
    later = store.later

    async def cut_off(stream: Stream, after: int, limit: int) -> Any:
        if after == 3 * READ_AT_ONCE:
            raise TimeoutError
        return await later(stream, after, limit)

    monkeypatch.setattr(store, "later", cut_off)
    with pytest.raises(TimeoutError):
        await call(service, "get_actor", {"actor_id": str(stream[1])})
    snapshot = await snapshot_of(store, stream)
    assert snapshot is not None
    assert snapshot.version == 2 * READ_AT_ONCE


async def test_a_snapshot_of_another_fold_is_never_used(hosted: Hosted):
    service, store = hosted
    stream = "Actor", await an_actor(service)
    await change(service, stream[1], 3)
    await store.keep_snapshots([NewSnapshot(stream, OTHER_FOLD, Snapshot(3, b'{"wrong":true}'))])
    found = await call(service, "get_actor", {"actor_id": str(stream[1])})
    assert found.version == 4
    assert (await change(service, stream[1], 1)).version == 5


async def test_streams_with_a_snapshot_of_another_fold_get_one_of_the_present_fold(hosted: Hosted):
    service, store = hosted
    one, two = ("Actor", await an_actor(service)), ("Actor", await an_actor(service))
    await change(service, one[1], 2)
    unknown = "Gone", uuid4()
    outdated = [NewSnapshot(stream, OTHER_FOLD, Snapshot(1, b"{}")) for stream in (one, two)]
    await store.keep_snapshots(outdated)
    if isinstance(store, MemoryStore):
        store.snapshots[OTHER_FOLD, unknown] = Snapshot(1, b"{}")
    await SnapshotKeeper(store, service.sessions, CATALOGUE, CODEC).look()
    for stream, version in ((one, 3), (two, 1)):
        snapshot = await snapshot_of(store, stream)
        assert snapshot is not None
        assert snapshot.version == version
        events = (await store.load([stream]))[stream].events
        assert CODEC.restore(actors, snapshot) == CODEC.fold(actors, events)
    # A process of the version before may still read its own.
    assert (await store.load([one], {"Actor": OTHER_FOLD}))[one].snapshot is not None


async def test_a_stream_that_cannot_be_folded_keeps_no_other_from_its_snapshot():
    service, store = await memory_service()
    broken, sound = ("Actor", await an_actor(service)), ("Actor", await an_actor(service))
    del store.streams[broken][0]
    await change(service, sound[1], 1)
    for stream in (broken, sound):
        await store.keep_snapshots([NewSnapshot(stream, OTHER_FOLD, Snapshot(1, b"{}"))])
    store.streams[broken] = store.streams[sound][1:]
    await SnapshotKeeper(store, service.sessions, CATALOGUE, CODEC).look()
    assert await snapshot_of(store, sound) is not None
    assert await snapshot_of(store, broken) is None


def test_every_state_of_the_corpus_is_restored_from_its_snapshot_and_folds_on_from_it():
    streams = [(of, each) for of in CATALOGUE.aggregates.values() for each in read(FOLDER, of)]
    assert {of.name for of, _ in streams} == CATALOGUE.aggregates.keys()
    for of, lines in streams:
        events = [line.recorded for line in lines]
        for version in range(1, len(events) + 1):
            state = CODEC.fold(of, events[:version])
            restored = CODEC.restore(of, CODEC.snapshot(state, version))
            assert restored == state
            assert CODEC.fold(of, events[version:], restored, version) == CODEC.fold(of, events)


def test_a_snapshot_that_nobody_can_read_is_named():
    with pytest.raises(BrokenStreamError, match="delete it"):
        CODEC.restore(actors, Snapshot(1, b'{"id":7}'))


async def test_a_large_snapshot_is_made_less_often():
    service, _ = await memory_service()
    reading = service.sessions()

    def due(size: int) -> int:
        folded = Folded(None, 0, 0, size)
        return next(n for n in range(10_000) if reading.is_due(folded, n))

    assert due(0) == due(SNAPSHOT_BYTES - 1) == SNAPSHOT_EVERY
    assert due(3 * SNAPSHOT_BYTES) == 4 * SNAPSHOT_EVERY


FOLD = """
from beamkeep.kernel import Aggregate, NotFound
class Absent(NotFound): ...
def begin(event): return 1
def evolve(state, event): return state + {step}
counts = Aggregate("Count", begin, evolve, Absent)
"""


def load(path: Path, text: str, name: str) -> ModuleType:
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_fold_whose_code_changed_has_another_fingerprint(tmp_path: Path):
    one = load(tmp_path / "one.py", FOLD.format(step=1), "counting_one")
    same = load(tmp_path / "same.py", FOLD.format(step=1), "counting_same")
    other = load(tmp_path / "other.py", FOLD.format(step=2), "counting_other")
    assert fingerprint(one.counts) == fingerprint(same.counts) != fingerprint(other.counts)
    assert len({*CODEC.folds.values()}) == len(CODEC.folds)


async def test_a_caller_without_permission_does_not_wait_in_the_queue_of_those_with_it():
    service, store = await memory_service()
    id = await an_actor(service)
    stream = "Actor", id
    await enrol(service, "eve")
    assert not store.is_contended(stream)
    with pytest.raises(MovedError):
        async with store.wait_turn(stream):
            raise MovedError
    assert store.is_contended(stream)
    operation = service.catalogue.named["update_actor_profile"]
    assert isinstance(operation, Operation)
    told = {"actor_id": str(id), "phone": "1"}
    async with store.wait_turn(stream):
        with pytest.raises(UnauthorizedError):
            await service.dispatcher.execute(operation, Request(by("eve"), told))
        waiting = service.dispatcher.execute(operation, Request(by("ada"), told))
        permitted = asyncio.create_task(waiting)
        await asyncio.sleep(0)
        assert not permitted.done()
    assert (await permitted).version == 2


async def test_a_session_refuses_what_has_no_events():
    service, _ = await memory_service()
    with pytest.raises(actors.absent):
        await service.sessions().adopt(actors, uuid4(), LoadedStream())
