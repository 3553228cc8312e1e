"""The lists on PostgreSQL: tables of rows in `proj`, each read through a view of its name."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from typing import Any
from uuid import UUID

import asyncpg

from beamkeep.kernel import ListFilter, Record, View, replace
from beamkeep.runtime import marks
from beamkeep.runtime.store import Position, StoreUnavailableError, TailEvent
from beamkeep.workers.projector import Change, Follower, TailPage

from .connections import Connections
from .listing import Wanted, marked, merging, number, shape_of, walking

WHOLE_LOG = -1
PARTITIONS = 16
LAYOUT = 2
"""Raised when the tables of all lists change, so that they are built anew beside the old ones."""
WRITTEN_AT_ONCE = 500
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

# Each row that is newer than the stored one, with the marks that one had.
UPSERT = """
WITH r AS MATERIALIZED (
  SELECT r.id, r.version, r.owner_id, r.facets::text[], r.marks::bigint[], r.row::json,
         t.marks AS had
    FROM unnest($1::uuid[], $2::bigint[], $3::uuid[], $4::text[], $5::text[], $6::text[])
      AS r (id, version, owner_id, facets, marks, row)
    LEFT JOIN proj.{table} t ON t.id = r.id
   WHERE t.id IS NULL OR t.version < r.version),
lost AS (
  DELETE FROM proj.{table}_mark m
   USING (SELECT id, mark FROM r, unnest(had) AS mark WHERE had <> marks AND mark <> ALL (marks))
      AS l
   WHERE m.mark = l.mark AND m.id = l.id),
gained AS (
  INSERT INTO proj.{table}_mark (mark, id)
  SELECT mark, id FROM r, unnest(marks) AS mark
   WHERE had IS NULL OR had <> marks AND mark <> ALL (had)
      ON CONFLICT DO NOTHING)
INSERT INTO proj.{table} AS t (id, version, owner_id, facets, marks, row)
SELECT id, version, owner_id, facets, marks, row FROM r
ON CONFLICT (id) DO UPDATE
   SET version = EXCLUDED.version, owner_id = EXCLUDED.owner_id,
       facets = EXCLUDED.facets, marks = EXCLUDED.marks, row = EXCLUDED.row
 WHERE t.version < EXCLUDED.version
"""

# The same for a generation of the first layout, which is read until its successor has caught up.
UPSERT_WITHOUT_MARKS = """
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
SELECT p.name, p.generation, p.live, p.declared, b.tx::text::bigint AS tx, b.pos
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


type _Found = tuple[UUID, bytes]


class PostgresLists:
    """Reads the lists that projections keep."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    async def listing(
        self,
        view: View[Any],
        list_filter: ListFilter,
        owner_id: UUID | None,
        after: UUID | None,
        limit: int,
    ) -> Sequence[tuple[UUID, bytes]]:
        """Rows by id, as JSON, each with its id; only the owner's where one is named."""
        wanted = Wanted(
            every=bool(list_filter.every),
            groups=len(list_filter.groups),
            none=bool(list_filter.none),
            compared=tuple((field, how) for field, how, _ in list_filter.compared),
            period=list_filter.period and list_filter.period[0],
            tree=view.tree,
            along=tuple(list_filter.along),
            owner=owner_id is not None,
            self_owned=view.aggregate.self_owned,
            after=after is not None,
        )
        given = [
            *([list_filter.every] if list_filter.every else []),
            *list_filter.groups,
            *([list_filter.none] if list_filter.none else []),
            *(time for _, _, time in list_filter.compared),
            *((list_filter.now, list_filter.period[1]) if list_filter.period else ()),
            *list_filter.along.values(),
            *([owner_id] if owner_id else []),
        ]
        asked = _Asked(view.name, wanted, given, after, limit)
        ways = sorted(marks.ways(view, list_filter, owner_id), key=lambda way: len(way) != 1)
        try:
            # Few stand above one row: they need not be looked for otherwise.
            if ways and "above" not in list_filter.along:
                return await self._marked(asked, ways)
            return await self._walked(asked)
        except asyncpg.UndefinedTableError:
            raise StoreUnavailableError("No worker has made the lists yet.") from None
        except asyncpg.LockNotAvailableError:
            raise StoreUnavailableError("The list is locked.") from None

    async def _marked(self, asked: "_Asked", ways: Sequence[Sequence[str]]) -> list[_Found]:
        shape, numbers = (
            shape_of(ways, asked.wanted),
            [[number(mark) for mark in way] for way in ways],
        )
        try:
            statement = marked(asked.name, asked.wanted, shape)
            rows = await self._connections.read(statement, *asked.arguments, *numbers)
        except asyncpg.UndefinedTableError:
            # The list has not been built anew since rows have marks.
            return await self._walked(asked)
        found = [(row[0], row[1].encode()) for row in rows if row[0]]
        if not shape.ends or len(found) == asked.limit or rows[0][2] is None:
            return found
        rest = replace(
            asked,
            wanted=replace(asked.wanted, after=True),
            after=rows[0][2],
            limit=asked.limit - len(found),
        )
        statement = merging(rest.name, rest.wanted, shape)
        rows = await self._connections.read(statement, *rest.arguments, *numbers[: shape.single])
        return found + [(id, row.encode()) for id, row in rows]

    async def _walked(self, asked: "_Asked") -> list[_Found]:
        statement = walking(asked.name, asked.wanted)
        rows = await self._connections.read(statement, *asked.arguments)
        return [(id, row.encode()) for id, row in rows]

    async def follows(self, view: View[Any], position: Position) -> bool:
        """Whether the view shows everything up to a position."""
        rows = await self._connections.read(FOLLOWS, view.name, str(position.tx), position.position)
        return rows[0][0]


class _Asked(Record):
    """One page of a list, as it is asked for."""

    name: str
    wanted: Wanted
    given: Sequence[object]
    after: UUID | None
    limit: int

    @property
    def arguments(self) -> list[object]:
        """Return the arguments of the statement, without the marks."""
        return [*self.given, *([self.after] if self.after else []), self.limit]


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
                if not found or found[0]["declared"] != _declared(view):
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
        return [
            Follower(name, generation, live, Position(tx, pos), declared)
            for name, generation, live, declared, tx, pos in rows
        ]

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
        events = [] if rows[0]["tx"] is None else [TailEvent._make(row) for row in rows]
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
                    for follower in followers:
                        for rows in _pieces(changes.get(follower.key, ())):
                            await connection.execute(_upsert(follower), *_columns(follower, rows))
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
    # Nothing that changes with an event is indexed, so that a row is replaced within its page.
    await connection.execute(
        f"""CREATE TABLE proj.{table} (
              id uuid PRIMARY KEY, version bigint NOT NULL, owner_id uuid NOT NULL,
              facets text[] NOT NULL, marks bigint[] NOT NULL, row json NOT NULL)
              WITH (fillfactor = 85);
            CREATE TABLE proj.{table}_mark (
              mark bigint NOT NULL, id uuid NOT NULL, PRIMARY KEY (mark, id));""",
        timeout=MINUTE,
    )
    if not found:
        await _read_through(connection, view.name, table)
    await connection.execute(
        "INSERT INTO bk.projections (name, generation, declared, live) VALUES ($1, $2, $3, $4)",
        view.name,
        generation,
        _declared(view),
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
        await _read_through(connection, name, tables[1])
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
            f"SELECT count(*), sum(hashtextextended(t::text, 0)) FROM proj.{table}{part} AS t",  # noqa: S608
            timeout=HOUR,
        )
        for table in (before, after)
        for part in ("", "_mark")
    ]
    if digests[:2] != digests[2:]:
        raise RebuiltDifferentlyError(before, after)


async def _read_through(connection: asyncpg.Connection, name: str, table: str) -> None:
    # In the order in which a list is read, so that neither waits for the other.
    await connection.execute(
        f"CREATE OR REPLACE VIEW proj.{name}_mark AS SELECT mark, id FROM proj.{table}_mark"  # noqa: S608
    )
    await connection.execute(
        f"CREATE OR REPLACE VIEW proj.{name} AS"  # noqa: S608
        f" SELECT id, version, owner_id, facets, row, marks FROM proj.{table}"
    )


def _declared(view: View[Any]) -> int:
    """What a generation must have been made for: the view as it is, in the layout as it is."""
    return LAYOUT * 1000 + view.version


def _table(key: tuple[str, int]) -> str:
    return f"{key[0]}_v{key[1]}"


@cache
def _page(shard: int, narrowed: bool) -> str:
    events = "bk.events" if shard == WHOLE_LOG else f"bk.events_p{shard}"
    return PAGE.format(events=events, narrowed=NARROWED if narrowed else "")


def _upsert(follower: Follower) -> str:
    upsert = UPSERT if _has_marks(follower) else UPSERT_WITHOUT_MARKS
    return upsert.format(table=_table(follower.key))


def _has_marks(follower: Follower) -> bool:
    return follower.declared >= LAYOUT * 1000


def _pieces(rows: Sequence[Change]) -> Iterator[Sequence[Change]]:
    """As many at a time as one statement writes in a short time."""
    return (rows[first : first + WRITTEN_AT_ONCE] for first in range(0, len(rows), WRITTEN_AT_ONCE))


def _columns(follower: Follower, rows: Sequence[Change]) -> list[list[Any]]:
    marks = [[_numbers(row.marks) for row in rows]] if _has_marks(follower) else []
    return [
        [row.id for row in rows],
        [row.version for row in rows],
        [row.owner_id for row in rows],
        [_array(row.facets) for row in rows],
        *marks,
        [row.row.decode() for row in rows],
    ]


def _numbers(marks: Collection[str]) -> str:
    # In one order, so that the same marks are the same array.
    return "{" + ",".join(map(str, sorted(map(number, marks)))) + "}"


def _array(texts: Sequence[str]) -> str:
    """An array as PostgreSQL writes it: arrays of arrays must be of one length, texts need not."""
    quoted = (text.replace("\\", "\\\\").replace('"', '\\"') for text in texts)
    return "{" + ",".join(f'"{text}"' for text in quoted) + "}"
