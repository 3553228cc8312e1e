"""The lists on PostgreSQL: tables of rows in `proj`, each read through a view of its name."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from typing import Any
from uuid import UUID

import asyncpg

from beamkeep.kernel import Period, Sought, Table, View
from beamkeep.runtime.store import Position, StoreUnavailableError, Tailed
from beamkeep.workers.projector import Change, Follower, TailPage

from .connections import Connections

WHOLE_LOG = -1
PARTITIONS = 16
MINUTE, HOUR = 60.0, 3600.0
"""What making a table, or waiting for others to make theirs, may take, and reading a whole one."""

# One page of the tail and its watermark, in one statement and so in one snapshot: nothing below
# the watermark can appear later.
PAGE = """
WITH b AS (
  SELECT e.transaction_id, e.position, e.stream_type, e.stream_id, e.principal_id, e.version,
         e.event_type, e.schema_version, e.payload
    FROM {events} e
   WHERE (e.transaction_id, e.position) > ($1::text::xid8, $2::bigint)
     AND e.transaction_id < pg_snapshot_xmin(pg_current_snapshot()){narrowed}
   ORDER BY e.transaction_id, e.position LIMIT $3)
SELECT b.version, b.event_type, b.schema_version, b.payload::text,
       b.transaction_id::text::bigint AS tx, b.position, b.stream_type, b.stream_id,
       b.principal_id, pg_snapshot_xmin(pg_current_snapshot())::text::bigint AS watermark
  FROM (SELECT 1) AS one LEFT JOIN b ON true
 ORDER BY b.transaction_id, b.position
"""
NARROWED = """
     AND e.transaction_id < $4::text::xid8 AND e.stream_type = ANY($5::text[])"""

# The bookmark's compare-and-set: whoever finds it moved writes nothing.
MOVE = """
UPDATE bk.bookmarks AS b SET tx = $5::text::xid8, pos = $6, updated_at = now()
  FROM unnest($1::text[], $2::int[]) AS f (projection, generation)
 WHERE b.projection = f.projection AND b.generation = f.generation AND b.shard = $3
   AND (b.tx, b.pos) = ($4::text::xid8, $7::bigint)
RETURNING 1
"""

UPSERT = """
INSERT INTO proj.{table} AS t (id, version, owner_id, facets, row)
SELECT id, version, owner_id, facets::text[], row::json
  FROM unnest($1::uuid[], $2::bigint[], $3::uuid[], $4::text[], $5::text[])
    AS r (id, version, owner_id, facets, row)
ON CONFLICT (id) DO UPDATE
   SET version = EXCLUDED.version, owner_id = EXCLUDED.owner_id,
       facets = EXCLUDED.facets, row = EXCLUDED.row
 WHERE t.version < EXCLUDED.version
"""

# The generations of one view, the newest first; whoever makes one takes turns with all others.
GENERATIONS = """
SELECT generation, declared FROM bk.projections WHERE name = $1 ORDER BY generation DESC
"""
ARRANGING = "SELECT pg_advisory_xact_lock(hashtextextended('arrange', 1))"

FOLLOWERS = """
SELECT p.name, p.generation, p.live, b.tx::text::bigint AS tx, b.pos
  FROM bk.projections p
  JOIN bk.bookmarks b ON b.projection = p.name AND b.generation = p.generation
 WHERE b.shard = $1
"""

# Whether no event up to a position still waits for the view, in any of its shards.
FOLLOWS = """
SELECT NOT EXISTS (
  SELECT 1 FROM bk.projections p
    JOIN bk.bookmarks b ON b.projection = p.name AND b.generation = p.generation
    JOIN bk.events e ON (e.transaction_id, e.position) > (b.tx, b.pos)
     AND (e.transaction_id, e.position) <= ($2::text::xid8, $3::bigint)
     AND (b.shard = -1 OR e.tableoid = format('bk.events_p%s', b.shard)::regclass)
   WHERE p.name = $1 AND p.live)
"""

# How long the oldest event not yet followed has waited, for each live projection.
LAG = """
SELECT b.projection, max(EXTRACT(epoch FROM clock_timestamp() - e.recorded_at))::float8 AS seconds
  FROM bk.bookmarks b
  JOIN bk.projections p ON p.name = b.projection AND p.generation = b.generation AND p.live
  LEFT JOIN LATERAL (
    SELECT recorded_at FROM bk.events e
     WHERE (e.transaction_id, e.position) > (b.tx, b.pos)
       AND (b.shard = -1 OR e.tableoid = format('bk.events_p%s', b.shard)::regclass)
     ORDER BY e.transaction_id, e.position LIMIT 1) AS e ON true
 GROUP BY b.projection
"""

# The transactions that hold the tail back, in any database of the cluster.
BLOCKED_BY = """
SELECT pid, datname, EXTRACT(epoch FROM clock_timestamp() - xact_start)::float8 AS seconds
  FROM pg_stat_activity
 WHERE backend_xid IS NOT NULL AND xact_start < clock_timestamp() - make_interval(secs => $1)
 ORDER BY age(backend_xid) DESC
"""


class PostgresLists:
    """Reads the lists that projections keep."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    async def listing(
        self,
        view: View[Any],
        sought: Sought,
        owner_id: UUID | None,
        after: UUID | None,
        limit: int,
    ) -> Sequence[tuple[UUID, bytes]]:
        """Rows by id, as JSON, each with its id; only the owner's where one is named."""
        statement = _listing(
            view.name,
            bool(sought.every),
            len(sought.groups),
            bool(sought.none),
            tuple((field, how) for field, how, _ in sought.compared),
            sought.period and sought.period[0],
            tuple(_standing(view.tree, way) for way in sought.along),
            owner_id is not None,
            view.aggregate.self_owned,
            after is not None,
        )
        given = [
            sought.every or None,
            *sought.groups,
            sought.none or None,
            *(wanted for _, _, wanted in sought.compared),
            *((sought.now, sought.period[1]) if sought.period else ()),
            *sought.along.values(),
            owner_id,
            after,
            limit,
        ]
        try:
            rows = await self._connections.read(statement, *(g for g in given if g is not None))
        except asyncpg.UndefinedTableError:
            raise StoreUnavailableError("No worker has made the lists yet.") from None
        except asyncpg.LockNotAvailableError:
            raise StoreUnavailableError("The list is locked.") from None
        return [(id, row.encode()) for id, row in rows]

    async def follows(self, view: View[Any], position: Position) -> bool:
        """Whether the view shows everything up to a position."""
        rows = await self._connections.read(FOLLOWS, view.name, str(position.tx), position.position)
        return rows[0][0]


class PostgresProjections:
    """Tails the log and keeps the rows, as the projector role."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    async def arrange(self, views: Sequence[View[Any]], shards: Sequence[int]) -> None:
        """Make a table and bookmarks for every view that lacks them, in the shards followed."""
        async with self._connections.connection() as connection, connection.transaction():
            await connection.execute(ARRANGING, timeout=MINUTE)
            for view in views:
                found = await connection.fetch(GENERATIONS, view.name)
                if not found or found[0]["declared"] != view.version:
                    await _begin(connection, view, found, shards)
            await _follow(connection, shards)

    async def rebuild(self, view: View[Any], shards: Sequence[int]) -> int:
        """Begin a new generation of a view's rows beside the one that is read."""
        async with self._connections.connection() as connection, connection.transaction():
            await connection.execute(ARRANGING, timeout=MINUTE)
            found = await connection.fetch(GENERATIONS, view.name)
            return await _begin(connection, view, found, shards)

    async def followers(self, shard: int) -> Sequence[Follower]:
        """Every generation of every view, with its bookmark in this shard."""
        rows = await self._connections.read(FOLLOWERS, shard)
        return [Follower(name, gen, live, Position(tx, pos)) for name, gen, live, tx, pos in rows]

    async def page(
        self,
        shard: int,
        after: Position,
        limit: int,
        names: Sequence[str] | None,
        until: int | None,
    ) -> TailPage:
        """The next events after a position, of these streams or of all, and the watermark."""
        narrow = [] if names is None else [str(until or 2**63 - 1), list(names)]
        rows = await self._connections.read(
            _page(shard, names is not None), str(after.tx), after.position, limit, *narrow
        )
        events = [] if rows[0]["tx"] is None else [Tailed._make(row) for row in rows]
        return TailPage(rows[0]["watermark"], events)

    async def stored(
        self, follower: Follower, ids: Sequence[UUID]
    ) -> Mapping[UUID, tuple[int, bytes]]:
        """The rows a follower has for these ids, with their versions."""
        rows = await self._connections.read(
            f"SELECT id, version, row::text FROM proj.{_table(follower.key)} WHERE id = ANY($1)",  # noqa: S608
            list(ids),
        )
        return {id: (version, row.encode()) for id, version, row in rows}

    async def apply(
        self,
        shard: int,
        followers: Sequence[Follower],
        reached: Position,
        changes: Mapping[tuple[str, int], Sequence[Change]],
    ) -> bool:
        """Move the bookmarks and write the rows, unless another worker has moved them."""
        before = followers[0].reached
        names, generations = [f.name for f in followers], [f.generation for f in followers]
        async with self._connections.connection() as connection:
            try:
                async with connection.transaction():
                    moved = await connection.fetch(
                        MOVE,
                        names,
                        generations,
                        shard,
                        str(before.tx),
                        str(reached.tx),
                        reached.position,
                        before.position,
                    )
                    if len(moved) != len(followers):
                        raise _MovedByAnotherError
                    for key, rows in changes.items():
                        if rows:
                            await connection.execute(_upsert(_table(key)), *_columns(rows))
            except _MovedByAnotherError:
                return False
        return True

    async def switch(self) -> Sequence[str]:
        """Make each generation that has caught up the one that is read, and say which."""
        async with self._connections.connection() as connection:
            behind = await connection.fetch(
                "SELECT name, generation FROM bk.projections p WHERE NOT live AND generation ="
                " (SELECT max(generation) FROM bk.projections WHERE name = p.name)"
            )
            switched: list[str] = []
            for name, generation in behind:
                # A list that somebody reads for long is switched later.
                with suppress(asyncpg.LockNotAvailableError):
                    if await _switch(connection, name, generation):
                        switched.append(name)
            return switched

    async def lag(self) -> dict[str, float]:
        """How many seconds each list is behind."""
        return {name: seconds or 0.0 for name, seconds in await self._connections.read(LAG)}

    async def blocked_by(self, seconds: float) -> list[tuple[int, str, float]]:
        """The transactions older than this that hold the tail back: pid, database, age."""
        return [tuple(row) for row in await self._connections.read(BLOCKED_BY, seconds)]


class _MovedByAnotherError(Exception):
    """Another worker has applied the page."""


def shards(number: int) -> tuple[int, ...]:
    """The shards of a log followed whole, or by its partitions."""
    return (WHOLE_LOG,) if number == 1 else tuple(range(PARTITIONS))


async def _begin(
    connection: asyncpg.Connection,
    view: View[Any],
    found: Sequence[asyncpg.Record],
    shards: Sequence[int],
) -> int:
    generation = (found[0]["generation"] if found else 0) + 1
    table = _table((view.name, generation))
    await connection.execute(
        f"""CREATE TABLE proj.{table} (
              id uuid PRIMARY KEY, version bigint NOT NULL, owner_id uuid NOT NULL,
              facets text[] NOT NULL, row json NOT NULL) WITH (fillfactor = 85);
            CREATE INDEX {table}_owner ON proj.{table} (owner_id, id);""",
        timeout=MINUTE,
    )
    if view.filters:
        await connection.execute(f"CREATE INDEX {table}_facets ON proj.{table} USING gin (facets)")
    if not found:
        await connection.execute(_read_through(view.name, table))
    await connection.execute(
        "INSERT INTO bk.projections (name, generation, declared, live) VALUES ($1, $2, $3, $4)",
        view.name,
        generation,
        view.version,
        not found,
    )
    await connection.executemany(
        "INSERT INTO bk.bookmarks (projection, generation, shard) VALUES ($1, $2, $3)",
        [(view.name, generation, shard) for shard in shards],
    )
    return generation


async def _follow(connection: asyncpg.Connection, shards: Sequence[int]) -> None:
    """Carry bookmarks kept for other shards over: each new one starts at the furthest behind."""
    await connection.execute(
        """INSERT INTO bk.bookmarks (projection, generation, shard, tx, pos)
           SELECT DISTINCT ON (b.projection, b.generation, s.shard)
                  b.projection, b.generation, s.shard, b.tx, b.pos
             FROM bk.bookmarks b CROSS JOIN unnest($1::smallint[]) AS s (shard)
            WHERE b.shard <> ALL($1::smallint[])
            ORDER BY b.projection, b.generation, s.shard, b.tx, b.pos
               ON CONFLICT DO NOTHING""",
        list(shards),
    )
    await connection.execute(
        "DELETE FROM bk.bookmarks WHERE shard <> ALL($1::smallint[])", list(shards)
    )


async def _switch(connection: asyncpg.Connection, name: str, generation: int) -> bool:
    async with connection.transaction():
        await connection.execute("SET LOCAL lock_timeout = '2s'")
        rows = await connection.fetch(
            """SELECT b.generation, b.shard, b.tx::text, b.pos, p.declared
                 FROM bk.bookmarks b
                 JOIN bk.projections p ON p.name = b.projection AND p.generation = b.generation
                WHERE b.projection = $1 AND (p.live OR p.generation = $2)
                FOR UPDATE OF b""",
            name,
            generation,
        )
        new = {row["shard"]: (row["tx"], row["pos"]) for row in rows if row[0] == generation}
        old = {row["shard"]: (row["tx"], row["pos"]) for row in rows if row[0] != generation}
        if new != old:
            return False
        before = next(row["generation"] for row in rows if row["generation"] != generation)
        tables = _table((name, before)), _table((name, generation))
        if len({row["declared"] for row in rows}) == 1:
            await _require_equal(connection, *tables)
        # While this waits for one reader, all later ones wait behind it.
        await connection.execute("SET LOCAL lock_timeout = '100ms'")
        await connection.execute(_read_through(name, tables[1]))
        await connection.execute(
            "UPDATE bk.projections SET live = false WHERE name = $1 AND live", name
        )
        await connection.execute(
            "UPDATE bk.projections SET live = true WHERE name = $1 AND generation = $2",
            name,
            generation,
        )
        await connection.execute(
            "DELETE FROM bk.bookmarks WHERE projection = $1 AND generation <> $2", name, generation
        )
    return True


class RebuiltDifferentlyError(Exception):
    """A list built anew from the events does not equal the one that was read until now."""


async def _require_equal(connection: asyncpg.Connection, before: str, after: str) -> None:
    digests = [
        await connection.fetchrow(
            f"SELECT count(*), sum(hashtextextended(t::text, 0)) FROM proj.{table} AS t",  # noqa: S608
            timeout=HOUR,
        )
        for table in (before, after)
    ]
    if digests[0] != digests[1]:
        raise RebuiltDifferentlyError(before, after)


def _read_through(name: str, table: str) -> str:
    return (
        f"CREATE OR REPLACE VIEW proj.{name} AS"  # noqa: S608
        f" SELECT id, version, owner_id, facets, row FROM proj.{table}"
    )


def _table(key: tuple[str, int]) -> str:
    return f"{key[0]}_v{key[1]}"


@cache
def _page(shard: int, narrowed: bool) -> str:
    events = "bk.events" if shard == WHOLE_LOG else f"bk.events_p{shard}"
    return PAGE.format(events=events, narrowed=NARROWED if narrowed else "")


@cache
def _upsert(table: str) -> str:
    return UPSERT.format(table=table)


@cache
def _listing(
    name: str,
    every: bool,
    groups: int,
    none: bool,
    compared: tuple[tuple[str, str], ...],
    period: Period | None,
    along: tuple[str, ...],
    owner: bool,
    self_owned: bool,
    after: bool,
) -> str:
    conditions, n = ["true"], 0
    if every:
        conditions.append(f"facets @> ${(n := n + 1)}::text[]")
    conditions += [f"facets && ${(n := n + 1)}::text[]" for _ in range(groups)]
    if none:
        conditions.append(f"NOT facets && ${(n := n + 1)}::text[]")
    for field, how in compared:
        conditions.append(f"{_time(field)} {how} ${(n := n + 1)}::timestamptz")
    if period:
        now, n = f"${n + 1}::timestamptz", n + 2
        since = f" AND COALESCE({_time(period.since)} <= {now}, true)" if period.since else ""
        until = f" AND COALESCE({_time(period.until)} > {now}, true)"
        conditions.append(f"(row->>'status' = '{period.status}'{since}{until}) = ${n}::bool")
    for standing in along:
        conditions += [f"id IN ({standing.format(n := n + 1)})"]
    if owner:
        owned = f"owner_id = ${(n := n + 1)}::uuid"
        conditions.append(f"({owned} OR id = ${n}::uuid)" if self_owned else owned)
    if after:
        conditions.append(f"id > ${(n := n + 1)}::uuid")
    return (
        f"SELECT id, row::text FROM proj.{name} WHERE {' AND '.join(conditions)}"  # noqa: S608
        f" ORDER BY id LIMIT ${n + 1}"
    )


def _time(field: str) -> str:
    return f"(row->>'{field}')::timestamptz"


@cache
def _standing(tree: Table[Any] | None, way: str) -> str:
    """What stands below or above one row of a tree. A set: it ends even where the tree does not."""
    assert tree is not None, "only a tree is filtered so"  # noqa: S101
    key, parent = (tree.key[0], tree.parent) if way == "below" else (tree.parent, tree.key[0])
    return (
        f"WITH RECURSIVE t AS (SELECT {key} AS id FROM bk.{tree.name} WHERE {parent} = ${{}}::uuid"  # noqa: S608
        f" UNION SELECT r.{key} FROM t JOIN bk.{tree.name} r ON r.{parent} = t.id)"
        " SELECT id FROM t"
    )


def _columns(rows: Sequence[Change]) -> list[list[Any]]:
    return [
        [row.id for row in rows],
        [row.version for row in rows],
        [row.owner_id for row in rows],
        [_array(row.facets) for row in rows],
        [row.row.decode() for row in rows],
    ]


def _array(texts: Sequence[str]) -> str:
    """An array as PostgreSQL writes it: arrays of arrays must be of one length, texts need not."""
    quoted = (text.replace("\\", "\\\\").replace('"', '\\"') for text in texts)
    return "{" + ",".join(f'"{text}"' for text in quoted) + "}"
