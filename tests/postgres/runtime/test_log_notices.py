"""A process that has written events wakes the followers of all processes."""

import asyncio
from uuid import UUID

import pytest
from tests.support.examples import EXAMPLES

from beamkeep.adapters.postgres.event_store import PostgresEventStore
from beamkeep.adapters.postgres.log_notices import PostgresLogNotices
from beamkeep.contexts.catalogue import CATALOGUE
from beamkeep.deployment.service import compose
from beamkeep.feed.hints import RowHint, RowTables
from beamkeep.runtime.store import Append
from beamkeep.testing.appends import NOW
from beamkeep.testing.database import Database
from beamkeep.testing.installation import FACTS
from beamkeep.testing.postgres import postgres_service
from beamkeep.testing.service import AdminClient
from beamkeep.testing.waiting import until

pytestmark = [pytest.mark.anyio, pytest.mark.postgres]


async def turns(notices: PostgresLogNotices) -> None:
    while True:
        await asyncio.sleep(await notices.turn())


async def test_a_notice_reaches_every_listening_process(unseeded: Database):
    received: list[str] = []
    sender = PostgresLogNotices(unseeded.url())
    listeners = {name: PostgresLogNotices(unseeded.url()) for name in ("a", "b")}
    for name, notices in listeners.items():
        notices.on_notice.append(lambda name=name: received.append(name))
        await notices.turn()
    tasks = [asyncio.create_task(turns(each)) for each in (sender, *listeners.values())]
    try:
        sender.appended()
        await until(lambda: {*received} == {"a", "b"})
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        for each in (sender, *listeners.values()):
            await each.close()


async def test_a_connection_that_was_lost_is_made_again(unseeded: Database):
    notices = PostgresLogNotices(unseeded.url())
    received: list[int] = []
    notices.on_notice.append(lambda: received.append(1))
    await notices.turn()
    await notices.close()
    notices.appended()
    await notices.turn()
    await until(lambda: received)
    await notices.close()


def hint(id: UUID, count: int = 1) -> RowHint:
    return RowHint("run_observation", "Run", id, count=count, last_at=NOW)


async def test_hints_reach_every_listening_process_together(unseeded: Database):
    heard: list[RowHint] = []
    sender, listener = (PostgresLogNotices(unseeded.url()) for _ in range(2))
    listener.on_rows.append(heard.extend)
    await listener.turn()
    ids = [UUID(int=number) for number in range(100)]
    for _ in range(3):
        sender.appended(hint(id, 2) for id in ids)
    try:
        await sender.turn()
        await until(lambda: len(heard) == 100)
        assert heard == [hint(id, 6) for id in ids]
        sender.appended([hint(ids[0])])
        await sender.turn()
        assert len(heard) == 100, "the next ones wait half a second"
    finally:
        await sender.close()
        await listener.close()


async def test_a_notice_that_is_no_hint_is_ignored(unseeded: Database):
    heard: list[RowHint] = []
    notices = PostgresLogNotices(unseeded.url())
    notices.on_rows.append(heard.extend)
    await notices.turn()
    for payload in ("", "[1]", '[{"table": "x"}]'):
        unseeded.ask("SELECT pg_notify('bk_rows', %s)", payload)
    notices.appended([hint(UUID(int=1))])
    try:
        await notices.turn()
        await until(lambda: heard)
        assert heard == [hint(UUID(int=1))]
    finally:
        await notices.close()


async def test_rows_that_are_added_to_an_object_are_hinted_at(unseeded: Database):
    tables, found = RowTables(CATALOGUE), list[RowHint]()

    def appended(append: Append) -> None:
        found.extend(tables.hints(append))

    async with postgres_service(unseeded) as deployed:
        connections = unseeded.connections()
        store = PostgresEventStore(connections, unseeded.url(), appended)
        service = compose(store, deployed.lists, await store.cursor_key(), facts=FACTS)
        do = AdminClient(service, store)
        for name in ("append_observations", "append_run_logbook_entry", "append_activities"):
            arguments = await EXAMPLES[name](do)
            found.clear()
            await do(name, arguments)
            (only,) = found
            (id,) = [arguments[key] for key in ("run_id", "procedure_id") if key in arguments]
            assert str(only.stream_id) == id
            assert only.count == len(arguments.get("entries", [1]))
        assert {only.stream_type, only.table} == {"Procedure", "procedure_activity"}
        found.clear()
        await do("define_zone", {"name": "A"})
        assert found == []
        await connections.close()
