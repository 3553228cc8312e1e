"""A process that has written events wakes the followers of all processes."""

import asyncio

import pytest

from beamkeep.adapters.postgres.log_notices import PostgresLogNotices
from beamkeep.testing.database import Database
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
        notices.on_notice = lambda name=name: received.append(name)
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
    notices.on_notice = lambda: received.append(1)
    await notices.turn()
    await notices.close()
    notices.appended()
    await notices.turn()
    await until(lambda: received)
    await notices.close()
