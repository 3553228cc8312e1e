"""Turns among processes, each of which is a store with connections of its own."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial

import asyncpg
import pytest
from uuid_utils.compat import uuid7

from beamkeep.adapters import stream_queues
from beamkeep.adapters.postgres import connections
from beamkeep.adapters.postgres.connections import ACQUIRE_LOCK
from beamkeep.adapters.postgres.event_store import PostgresEventStore
from beamkeep.runtime.store import MovedError, Stream
from beamkeep.testing.database import Database
from beamkeep.testing.postgres import connected
from beamkeep.testing.waiting import until

pytestmark = [pytest.mark.postgres, pytest.mark.anyio]

HELD = """
SELECT count(*) FILTER (WHERE granted), count(*) FILTER (WHERE NOT granted)
  FROM pg_locks l JOIN pg_database d ON d.oid = l.database
 WHERE locktype = 'advisory' AND datname = current_database()
"""

TERMINATE = "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory'"

type Process = Callable[..., PostgresEventStore]


@pytest.fixture(autouse=True)
def unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is forgotten or given up within a test, unless it is about that."""
    monkeypatch.setattr(stream_queues, "CONTENTION_SECONDS", 60.0)
    monkeypatch.setattr(stream_queues, "WAIT_TIMEOUT", 60.0)
    give_up_holders_after(monkeypatch, "60000")


def give_up_holders_after(monkeypatch: pytest.MonkeyPatch, milliseconds: str) -> None:
    assert "'2000'" in ACQUIRE_LOCK
    monkeypatch.setattr(connections, "ACQUIRE_LOCK", ACQUIRE_LOCK.replace("2000", milliseconds))


@pytest.fixture
async def process(unseeded: Database) -> AsyncGenerator[Process]:
    async with AsyncExitStack() as stack:

        def start(most: int = 8, **settings: str) -> PostgresEventStore:
            pool = unseeded.connections(most, **({"statement_timeout": "60000"} | settings))
            stack.push_async_callback(pool.close)
            return PostgresEventStore(pool, unseeded.url())

        yield start


@pytest.fixture
async def watch(unseeded: Database) -> AsyncGenerator[asyncpg.Connection]:
    async with connected(unseeded, "postgres") as connection:
        yield connection


async def held(watch: asyncpg.Connection) -> tuple[int, int]:
    """How many names are held, and how many connections wait for one."""
    row = await watch.fetchrow(HELD)
    assert row is not None
    return tuple(row)


async def reached(watch: asyncpg.Connection, wanted: tuple[int, int]) -> bool:
    return await held(watch) == wanted


async def fight(stream: Stream, *stores: PostgresEventStore) -> Stream:
    """Somebody loses on the stream in each of the stores."""
    for store in stores:
        with pytest.raises(MovedError):
            async with store.wait_turn(stream):
                raise MovedError
    return stream


@asynccontextmanager
async def queueing(store: PostgresEventStore, stream: Stream, count: int) -> AsyncGenerator[None]:
    async def come() -> None:
        async with store.wait_turn(stream):
            pass

    async with asyncio.TaskGroup() as tasks:
        for _ in range(count):
            tasks.create_task(come())
        yield


async def test_one_process_at_a_time_has_its_turn_and_one_connection_of_each_waits(
    process: Process, watch: asyncpg.Connection
):
    one, other = process(), process()
    stream = await fight(("Actor", uuid7()), one, other)
    async with AsyncExitStack() as queues, one.wait_turn(stream):
        await queues.enter_async_context(queueing(other, stream, 5))
        await queues.enter_async_context(queueing(one, stream, 5))
        await until(partial(reached, watch, (1, 1)))
    assert await held(watch) == (0, 0)


async def test_a_stream_nobody_fights_over_in_another_process_is_not_waited_for(
    process: Process, watch: asyncpg.Connection
):
    one, other = process(), process()
    stream = await fight(("Actor", uuid7()), one)
    async with one.wait_turn(stream), other.wait_turn(stream):
        assert await held(watch) == (1, 0)


async def test_a_writer_that_waits_too_long_for_another_process_continues_without(
    process: Process, watch: asyncpg.Connection
):
    one, other = process(), process(statement_timeout="50")
    stream = await fight(("Actor", uuid7()), one, other)
    async with one.wait_turn(stream), other.wait_turn(stream):
        await until(partial(reached, watch, (1, 0)))
    await until(partial(reached, watch, (0, 0)))


async def test_a_process_that_is_stopped_in_its_turn_does_not_keep_it(
    process: Process, watch: asyncpg.Connection, monkeypatch: pytest.MonkeyPatch
):
    one = process()
    stream = await fight(("Actor", uuid7()), one)
    with monkeypatch.context() as hurried:
        give_up_holders_after(hurried, "50")
        async with one.wait_turn(stream):
            await until(partial(reached, watch, (0, 0)))
    async with one.wait_turn(stream):
        assert await held(watch) == (1, 0)


async def test_a_turn_whose_connection_is_ended_is_gone_on_with(
    process: Process, watch: asyncpg.Connection
):
    one = process()
    stream = await fight(("Actor", uuid7()), one)
    async with one.wait_turn(stream):
        await watch.fetch(TERMINATE)
        await until(partial(reached, watch, (0, 0)))
    async with one.wait_turn(stream):
        assert await held(watch) == (1, 0)


async def test_no_more_than_a_third_of_the_connections_hold_a_name(
    process: Process, watch: asyncpg.Connection
):
    one = process(6)
    async with AsyncExitStack() as held_turns:
        for _ in range(6):
            stream = await fight(("Actor", uuid7()), one)
            await held_turns.enter_async_context(one.wait_turn(stream))
        assert await held(watch) == (2, 0)
        assert await one.cursor_key()


async def test_a_connection_that_held_a_name_is_as_it_was(process: Process):
    one = process(3)
    stream = await fight(("Actor", uuid7()), one)
    async with one.wait_turn(stream):
        pass
    pool = one._connections  # pyright: ignore[reportPrivateUsage]
    for name, value in (("lock_timeout", "500ms"), ("idle_session_timeout", "0")):
        assert (await pool.read(f"SHOW {name}"))[0][0] == value
