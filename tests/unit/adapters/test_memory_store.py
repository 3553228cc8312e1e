"""A store in memory can be put back to what it held before."""

import asyncio
from collections import Counter
from typing import Any
from uuid import UUID, uuid4

import pytest
from tests.support.examples import EXAMPLES

from beamkeep.adapters.memory.store import MemoryBackup, MemoryStore
from beamkeep.contexts.trust.zone import ZoneNotFoundError
from beamkeep.runtime import Service
from beamkeep.runtime.store import NewSnapshot, Snapshot
from beamkeep.testing.appends import CODEC
from beamkeep.testing.service import AdminClient, call, memory_service

pytestmark = pytest.mark.anyio

ONE = UUID(int=1)
PARTS = MemoryBackup.__struct_fields__


def shape(backup: MemoryBackup) -> dict[str, Any]:
    """Return what is alike in two deployments, whose ids and times differ."""
    return {
        "streams": Counter(
            (stream[0], tuple(event.event_type for event in events))
            for stream, events in backup.streams.items()
        ),
        "log": [(event.tx, event.position, event.event_type) for event in backup.log],
        "tables": {name: len(rows) for name, rows in backup.tables.items()},
        "answers": len(backup.answers),
        "snapshots": len(backup.snapshots),
        "position": backup.position,
        "numbers": backup.numbers,
    }


async def write_everything(service: Service, store: MemoryStore) -> None:
    """Write something into every part of a store."""
    do = AdminClient(service, store)
    for name in ("append_activities", "conduct_procedure", "start_run", "register_subscription"):
        await call(service, name, await EXAMPLES[name](do), idempotency_key=str(uuid4()))
    await store.keep_snapshots([NewSnapshot(("Zone", ONE), ONE, Snapshot(1, b"{}"))])


async def test_a_restored_store_equals_a_freshly_prepared_one():
    service, store = await memory_service()
    before = store.backup()
    await write_everything(service, store)
    written = store.backup()
    assert [part for part in PARTS if getattr(written, part) == getattr(before, part)] == []
    store.restore(before)
    assert store.backup() == before
    _, fresh = await memory_service()
    assert shape(store.backup()) == shape(fresh.backup())


async def test_a_write_changes_neither_a_backup_nor_another_store_restored_from_it():
    service, store = await memory_service()
    await write_everything(service, store)
    backup, other = store.backup(), MemoryStore(CODEC)
    other.restore(backup)
    before = shape(backup)
    await write_everything(service, store)
    assert shape(backup) == before
    assert other.backup() == backup != store.backup()


async def test_numbers_and_positions_continue_from_the_backup():
    service, store = await memory_service()
    await write_everything(service, store)
    before = store.backup()
    await write_everything(service, store)
    once = shape(store.backup())
    store.restore(before)
    await write_everything(service, store)
    assert shape(store.backup()) == once


async def test_an_object_that_was_made_after_the_backup_is_not_found():
    service, store = await memory_service()
    before = store.backup()
    made = await call(service, "define_zone", {"name": "Hutch"}, idempotency_key="once")
    store.restore(before)
    with pytest.raises(ZoneNotFoundError):
        await call(service, "get_zone", {"zone_id": str(made.id)})
    again = await call(service, "define_zone", {"name": "Hutch"}, idempotency_key="once")
    assert again.id != made.id


async def test_a_lock_that_was_held_is_free_after_a_restore():
    store = MemoryStore(CODEC)
    async with store.alone("one"):
        store.restore(store.backup())
        async with asyncio.timeout(1), store.alone("one"):
            pass
