"""Two PostgreSQL drivers side by side on the two statements that make up one command."""

import asyncio
import os
import statistics
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib import import_module
from typing import Any, LiteralString, cast
from uuid import UUID, uuid4

import psycopg
import uvloop
from psycopg import AsyncConnection, AsyncRawCursor
from psycopg.abc import Buffer
from psycopg.adapt import Loader
from psycopg.types.string import ByteaBinaryLoader
from psycopg_pool import AsyncConnectionPool

from beamkeep.testing.cluster import Cluster

asyncpg: Any = import_module("asyncpg")  # it carries no types

SLICE, WARM_UP, QUADS, CONNECTIONS, LONGEST_STREAM = 0.5, 0.1, 2, (1, 4, 16), 10
PRINCIPAL, SURFACE, NOW = uuid4(), uuid4(), datetime.now(UTC)
PAYLOAD = '{"name": "Slit 4", "owner": "beamline 7", "serial": "' + "x" * 120 + '"}'
HEADING = (
    f"conns  {'':<38} commands/s    min    max   bare/s  ratio  µs/comm.  least  µs/bare  least"
)
PLAN = "force_generic_plan"

LOG: LiteralString = """
CREATE SCHEMA {0}; CREATE SEQUENCE {0}.event_position CACHE 1;
CREATE TABLE {0}.events (
  position bigint NOT NULL DEFAULT nextval('{0}.event_position'),
  transaction_id xid8 NOT NULL DEFAULT pg_current_xact_id(),
  version bigint NOT NULL CHECK (version >= 1), stream_id uuid NOT NULL, event_id uuid NOT NULL,
  principal_id uuid NOT NULL, surface_id uuid, correlation_id uuid NOT NULL, causation_id uuid,
  occurred_at timestamptz NOT NULL, recorded_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  schema_version smallint NOT NULL, stream_type text COLLATE "C" NOT NULL,
  event_type text COLLATE "C" NOT NULL, command_name text COLLATE "C" NOT NULL,
  payload json NOT NULL,
  UNIQUE (stream_type, stream_id, version), UNIQUE (stream_id, event_id)
) PARTITION BY HASH (stream_id);
DO $$ BEGIN FOR i IN 0..15 LOOP EXECUTE format('CREATE TABLE {0}.events_p%s
  PARTITION OF {0}.events FOR VALUES WITH (MODULUS 16, REMAINDER %s)', i, i); END LOOP; END $$;
CREATE INDEX ON {0}.events (transaction_id, position) WITH (fillfactor = 100);
INSERT INTO {0}.events (stream_type, stream_id, version, event_id, event_type, schema_version,
  payload, command_name, principal_id, surface_id, correlation_id, occurred_at)
SELECT 'asset', stream, version, gen_random_uuid(), 'AssetRenamed', 1, '{{}}', 'rename_asset',
  stream, stream, stream, now()
FROM (SELECT gen_random_uuid() AS stream FROM generate_series(1, 10000)) s,
  generate_series(1, 10) version;"""
IDEMPOTENCY: LiteralString = """
CREATE TABLE bk.idempotency (principal_id uuid, surface_id uuid, key text COLLATE "C",
  fingerprint bytea NOT NULL, status smallint NOT NULL, result json NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(), PRIMARY KEY (principal_id, surface_id, key));
INSERT INTO bk.idempotency SELECT gen_random_uuid(), gen_random_uuid(), 'key', '', 200, '{}'
FROM generate_series(1, 100000)"""
COLUMNS: LiteralString = """stream_type, stream_id, version, event_id, event_type, schema_version,
  payload, command_name, principal_id, surface_id, correlation_id, causation_id, occurred_at"""
READ: LiteralString = """
SELECT NULL::bigint AS version, NULL::text AS event_type, NULL::smallint AS schema_version,
  result AS payload, fingerprint, status
FROM bk.idempotency WHERE principal_id = $1 AND surface_id = $2 AND key = $3
UNION ALL (SELECT version, event_type, schema_version, payload, NULL, NULL FROM bk.events
  WHERE stream_type = $4 AND stream_id = $5 ORDER BY version)"""
APPEND: LiteralString = f"""
WITH n AS MATERIALIZED (
  SELECT * FROM unnest($1::text[], $2::uuid[], $3::bigint[], $4::uuid[], $5::text[],
    $6::smallint[], $7::json[]) WITH ORDINALITY
    AS t(stream_type, stream_id, version, event_id, event_type, schema_version, payload, ord)),
h AS MATERIALIZED (SELECT stream_type, stream_id, min(version) AS first FROM n GROUP BY 1, 2),
stale AS MATERIALIZED (SELECT 1 FROM h WHERE h.first > 1 AND (
  SELECT p.transaction_id < pg_current_xact_id() FROM bk.events p WHERE p.stream_id = h.stream_id
    AND p.stream_type = h.stream_type AND p.version = h.first - 1 LIMIT 1) IS NOT TRUE),
ins AS (INSERT INTO bk.events ({COLUMNS})
  SELECT n.stream_type, n.stream_id, n.version, n.event_id, n.event_type, n.schema_version,
    n.payload, $8, $9, $10, $11, $12, $13
  FROM n WHERE NOT EXISTS (SELECT 1 FROM stale) ORDER BY n.ord RETURNING position, transaction_id),
idem AS (
  INSERT INTO bk.idempotency (principal_id, surface_id, key, fingerprint, status, result)
  SELECT $9, $10, $14::text, $15::bytea, $16::smallint, $17::json
  WHERE $14::text IS NOT NULL AND EXISTS (SELECT 1 FROM ins))
SELECT count(*) AS n, max(position) AS position, max(transaction_id)::text AS tx FROM ins"""
INSERT: LiteralString = f"""INSERT INTO bare.events ({COLUMNS})
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13) RETURNING position"""

type Fetch = Callable[[LiteralString, tuple[object, ...]], Awaitable[Sequence[Any]]]
type CallLookup = Callable[[str, int], AbstractAsyncContextManager[list[Fetch]]]


@dataclass
class Stream:
    """The stream one worker extends, replaced by a new one when it is long enough."""

    id: UUID = field(default_factory=uuid4)
    version: int = 0

    def extend(self) -> None:
        """Count one more event."""
        self.version += 1
        if self.version == LONGEST_STREAM:
            self.id, self.version = uuid4(), 0


async def command(fetch: Fetch, stream: Stream) -> None:
    """Read the key and the stream, then append one event and keep the answer."""
    key = str(uuid4())
    rows = await fetch(READ, (PRINCIPAL, SURFACE, key, "asset", stream.id))
    assert len(rows) == stream.version
    event = (["asset"], [stream.id], [stream.version + 1], [uuid4()], ["AssetRenamed"], [1])
    about = ("rename_asset", PRINCIPAL, SURFACE, uuid4(), None, NOW, key, b"f" * 32, 200, "{}")
    assert (await fetch(APPEND, (*event, [PAYLOAD], *about)))[0][0] == 1


async def bare(fetch: Fetch, stream: Stream) -> None:
    """Insert the same row into an identical table."""
    event = ("asset", stream.id, stream.version + 1, uuid4(), "AssetRenamed", 1, PAYLOAD)
    about = ("rename_asset", PRINCIPAL, SURFACE, uuid4(), None, NOW)
    assert len(await fetch(INSERT, (*event, *about))) == 1


class RawJson(Loader):
    """Hand JSON over as the bytes it arrived in."""

    def load(self, data: Buffer) -> bytes:
        """Copy the bytes out of the result."""
        return bytes(data)


async def configure(connection: AsyncConnection) -> None:
    """Prepare from the first use, and leave JSON alone."""
    connection.prepare_threshold = 0
    connection.adapters.register_loader("json", RawJson)
    connection.adapters.register_loader("json", ByteaBinaryLoader)


def array_literal(values: list[object]) -> str:
    """Write an array as PostgreSQL reads it, which spares psycopg's array dumpers."""
    quoted = (str(each).replace("\\", "\\\\").replace('"', '\\"') for each in values)
    return '{"' + '","'.join(quoted) + '"}'


def through_psycopg(connection: AsyncConnection, binary: bool, literals: bool) -> Fetch:
    """Run each statement on a psycopg connection."""

    async def fetch(statement: LiteralString, arguments: tuple[object, ...]) -> Sequence[Any]:
        if literals:
            arguments = tuple(
                array_literal(cast("list[object]", each)) if isinstance(each, list) else each
                for each in arguments
            )
        cursor = AsyncRawCursor(connection)
        await cursor.execute(statement, arguments, binary=binary)
        return await cursor.fetchall()

    return fetch


def psycopg_opening(binary: bool, literals: bool) -> CallLookup:
    """Open dedicated psycopg connections."""

    @asynccontextmanager
    async def opening(url: str, count: int) -> AsyncGenerator[list[Fetch]]:
        async with AsyncExitStack() as stack:
            fetches: list[Fetch] = []
            for _ in range(count):
                connection = await AsyncConnection.connect(
                    url, autocommit=True, options=f"-c plan_cache_mode={PLAN}"
                )
                await stack.enter_async_context(connection)
                await configure(connection)
                fetches.append(through_psycopg(connection, binary, literals))
            yield fetches

    return opening


@asynccontextmanager
async def asyncpg_opening(url: str, count: int) -> AsyncGenerator[list[Fetch]]:
    """Open dedicated asyncpg connections."""
    async with AsyncExitStack() as stack:
        fetches: list[Fetch] = []
        for _ in range(count):
            link = await asyncpg.connect(url, server_settings={"plan_cache_mode": PLAN})
            stack.push_async_callback(link.close)

            async def fetch(
                statement: LiteralString, arguments: tuple[object, ...], link: Any = link
            ) -> Sequence[Any]:
                return await link.fetch(statement, *arguments)

            fetches.append(fetch)
        yield fetches


@asynccontextmanager
async def pool_opening(url: str, count: int) -> AsyncGenerator[list[Fetch]]:
    """Take a connection from psycopg_pool for each statement."""
    kwargs: dict[str, Any] = {"autocommit": True, "options": f"-c plan_cache_mode={PLAN}"}
    pool = AsyncConnectionPool(
        url, min_size=count, max_size=count, kwargs=kwargs, configure=configure, open=False
    )
    async with pool:

        async def fetch(statement: LiteralString, arguments: tuple[object, ...]) -> Sequence[Any]:
            async with pool.connection() as connection:
                return await through_psycopg(connection, True, True)(statement, arguments)

        yield [fetch] * count


@asynccontextmanager
async def list_opening(url: str, count: int) -> AsyncGenerator[list[Fetch]]:
    """Take a connection from a plain last-in-first-out list for each statement."""
    async with psycopg_opening(True, True)(url, count) as dedicated:
        free: asyncio.LifoQueue[Fetch] = asyncio.LifoQueue()
        for each in dedicated:
            free.put_nowait(each)

        async def fetch(statement: LiteralString, arguments: tuple[object, ...]) -> Sequence[Any]:
            link = await free.get()
            try:
                return await link(statement, arguments)
            finally:
                free.put_nowait(link)

        yield [fetch] * count


OPENINGS: dict[str, CallLookup] = {
    "asyncpg": asyncpg_opening,
    "psycopg text": psycopg_opening(False, False),
    "psycopg binary": psycopg_opening(True, False),
    "psycopg binary literals": psycopg_opening(True, True),
    "  and psycopg_pool": pool_opening,
    "  and a free list": list_opening,
}
LOOPS = {"asyncio": asyncio.new_event_loop, "uvloop": uvloop.new_event_loop}


@dataclass
class Contestant:
    """One driver on one event loop with its connections, and what was measured of it."""

    name: str
    loop: asyncio.AbstractEventLoop
    fetches: list[Fetch]
    rates: dict[str, list[float]] = field(default_factory=dict[str, list[float]])
    costs: dict[str, list[float]] = field(default_factory=dict[str, list[float]])

    def measure(self, work: Callable[[Fetch, Stream], Awaitable[None]], label: str) -> None:
        """Run one slice and note its rate and the client's processor time."""
        self.loop.run_until_complete(self._slice(work, WARM_UP))
        wall, cpu = time.perf_counter(), time.process_time()
        done = self.loop.run_until_complete(self._slice(work, SLICE))
        spent, elapsed = time.process_time() - cpu, time.perf_counter() - wall
        self.rates.setdefault(label, []).append(done / elapsed)
        self.costs.setdefault(label, []).append(1e6 * spent / done)

    def row(self) -> str:
        """The medians of what was measured, and the range of the command's rate."""
        rates, middle = self.rates["command"], statistics.median
        ratios = [one / other for one, other in zip(rates, self.rates["bare"], strict=True)]
        figures = f"{middle(rates):10.0f} {min(rates):6.0f} {max(rates):6.0f}"
        figures += f" {middle(self.rates['bare']):8.0f} {middle(ratios):6.2f}"
        # Other work on the machine only ever adds, so the cheapest slice is worth showing too.
        command, bare = self.costs["command"], self.costs["bare"]
        costs = f"{middle(command):9.0f} {min(command):6.0f} {middle(bare):8.0f} {min(bare):6.0f}"
        return f"{self.name:<38} {figures} {costs}"

    async def _slice(self, work: Callable[[Fetch, Stream], Awaitable[None]], seconds: float) -> int:
        end = time.perf_counter() + seconds

        async def worker(fetch: Fetch) -> int:
            done, stream = 0, Stream()
            while time.perf_counter() < end:
                await work(fetch, stream)
                stream.extend()
                done += 1
            return done

        return sum(await asyncio.gather(*map(worker, self.fetches)))


def compare(url: str, loops: dict[str, asyncio.AbstractEventLoop], count: int) -> None:
    """Open every contestant, run them forwards and backwards in turn, and print their rows."""
    contexts: list[tuple[asyncio.AbstractEventLoop, AbstractAsyncContextManager[list[Fetch]]]] = []
    contestants: list[Contestant] = []
    for driver, opening in OPENINGS.items():
        for name, loop in loops.items():
            contexts.append((loop, opening(url, count)))
            fetches = loop.run_until_complete(contexts[-1][1].__aenter__())
            contestants.append(Contestant(f"{driver}, {name}", loop, fetches))
    for _ in range(QUADS):
        for order in (contestants, contestants[::-1]):
            for each in order:
                each.measure(bare, "bare")
                each.measure(command, "command")
    for each in contestants:
        print(f"{count:>5}  {each.row()}", flush=True)
    for loop, context in contexts:
        loop.run_until_complete(context.__aexit__(None, None, None))


def main() -> None:
    """Fill two identical logs and compare the contestants at each number of connections."""
    with Cluster.start(
        shared_buffers="2GB",
        max_wal_size="8GB",
        checkpoint_timeout="15min",
        max_connections="300",
    ) as cluster:
        url = cluster.create_database("drivers")
        with psycopg.connect(url, autocommit=True) as connection:
            for statement in (LOG.format("bk"), LOG.format("bare"), IDEMPOTENCY):
                connection.execute(statement)
            connection.execute("VACUUM (FREEZE, ANALYZE)")
            connection.execute("CHECKPOINT")
        loops = {name: make() for name, make in LOOPS.items()}
        print(f"{QUADS} quads of {SLICE} s slices, load before {os.getloadavg()[0]:.2f}")
        print(HEADING)
        for count in CONNECTIONS:
            compare(url, loops, count)
        for loop in loops.values():
            loop.close()
        print(f"load after {os.getloadavg()[0]:.2f}")


if __name__ == "__main__":
    main()
