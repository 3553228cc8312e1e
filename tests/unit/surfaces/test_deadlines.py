"""Requests end when their time is over, and one timer watches them all."""

import asyncio
from contextlib import suppress

import pytest

from beamkeep.surfaces.http.deadlines import Deadlines

pytestmark = pytest.mark.anyio


async def test_a_request_that_takes_too_long_ends():
    with pytest.raises(TimeoutError), Deadlines(0.01).limit() as deadline:
        await asyncio.Event().wait()
    assert deadline.expired()
    task = asyncio.current_task()
    assert task
    assert task.cancelling() == 0


async def test_each_request_has_the_whole_time_for_itself():
    deadlines, clock = Deadlines(0.05), asyncio.get_running_loop().time

    async def late() -> float:
        began = clock()
        with pytest.raises(TimeoutError), deadlines.limit():
            await asyncio.Event().wait()
        return clock() - began

    first = asyncio.create_task(late())
    with deadlines.limit():
        await asyncio.sleep(0)
    second = asyncio.create_task(late())
    # The loop rounds to its clock's resolution.
    assert min(await asyncio.gather(first, second)) > 0.049


async def test_a_time_that_begins_again_ends_later_than_one_that_does_not():
    deadlines, ended = Deadlines(0.05), list[str]()
    going = asyncio.Event()

    async def restarted() -> None:
        with suppress(TimeoutError), deadlines.limit() as deadline:
            await going.wait()
            deadline.restart()
            await asyncio.Event().wait()
        ended.append("restarted")

    async def plain() -> None:
        with suppress(TimeoutError), deadlines.limit():
            going.set()
            await asyncio.Event().wait()
        ended.append("plain")

    await asyncio.gather(restarted(), plain())
    assert ended == ["plain", "restarted"]


async def test_what_is_cancelled_from_outside_stays_cancelled():
    async def answered() -> None:
        with Deadlines(100).limit():
            await asyncio.Event().wait()

    task = asyncio.create_task(answered())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


def test_requests_of_a_later_event_loop_are_watched_too():
    deadlines = Deadlines(0.01)

    async def in_time() -> None:
        with deadlines.limit():
            pass

    async def late() -> bool:
        deadline = deadlines.limit()
        with suppress(TimeoutError):
            async with asyncio.timeout(5):
                with deadline:
                    await asyncio.Event().wait()
        return deadline.expired()

    asyncio.run(in_time())
    assert asyncio.run(late())
