"""Writing lists: tables of rows in `proj`, each read through a database view of its name."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from functools import cache
from itertools import batched
from operator import attrgetter
from typing import Any
from uuid import UUID

import asyncpg

from beamkeep.feed.directory.entries import OWN_SITE, Entry
from beamkeep.feed.lists.marks import read_by
from beamkeep.feed.tail import Bookmark
from beamkeep.kernel import View
from beamkeep.runtime.store import Position
from beamkeep.workers.projector import Follower, Generation, RowChange

from .connections import Connections
from .directory import write_entries
from .listing import number
from .statements import Statement
from .tail import BookmarkMovedError, move

LAYOUT, MARKED_LAYOUT = 3, 2
"""Increase it when the rows of all lists change; the lists are then rebuilt. Rows have marks since
the second layout, and a facet of their name since the third."""
BATCH_SIZE = 500
CREATE_TIMEOUT, COMPARE_TIMEOUT = 60.0, 3600.0
"""For creating a table, which may wait for other workers, and for reading a whole table."""

# Each row that is newer than the stored row, with the marks of the stored row.
UPSERT = """
WITH r AS MATERIALIZED (
  SELECT r.id, r.version, r.owner_id, r.facets::text[], r.marks::bigint[], r.row::json,
         t.marks AS had
    FROM unnest(:ids::uuid[], :versions::bigint[], :owner_ids::uuid[], :facets::text[],
                :marks::text[], :rows::text[])
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

# The same for a generation of the first layout, which is in use until its successor has caught up.
UPSERT_WITHOUT_MARKS = """
INSERT INTO proj.{table} AS t (id, version, owner_id, facets, row)
SELECT id, version, owner_id, facets::text[], row::json
  FROM unnest(:ids::uuid[], :versions::bigint[], :owner_ids::uuid[], :facets::text[],
              :rows::text[])
    AS r (id, version, owner_id, facets, row)
ON CONFLICT (id) DO UPDATE
   SET version = EXCLUDED.version, owner_id = EXCLUDED.owner_id,
       facets = EXCLUDED.facets, row = EXCLUDED.row
 WHERE t.version < EXCLUDED.version
"""

_key_of = attrgetter("key")
# The members of some teams, whether or not their membership counts now: marks only find.
MEMBERS = "SELECT team_id, principal_id FROM bk.team_member WHERE team_id = ANY($1::uuid[])"
# All who add marks do so in one order, so that two never wait for each other.
ADD_MARKS = """
INSERT INTO proj.{table}_mark (mark, id)
SELECT * FROM unnest($1::bigint[], $2::uuid[]) ORDER BY 1, 2
    ON CONFLICT DO NOTHING
"""
IS_MEMBER = """
SELECT EXISTS (SELECT FROM bk.team_member WHERE team_id = $1 AND principal_id = $2)
"""
# Also the objects whose rows are still to come: their marks are there before the rows.
MARK_TEAM = """
INSERT INTO proj.{table}_mark (mark, id)
SELECT $1, o.object_id FROM bk.object_team o
 WHERE o.team_id = $2 AND o.stream_type = $3 ORDER BY o.object_id
    ON CONFLICT DO NOTHING
"""
UNMARK_TEAM = """
DELETE FROM proj.{table}_mark m USING bk.object_team o
 WHERE m.mark = $1 AND m.id = o.object_id AND o.team_id = $2 AND o.stream_type = $3
"""

# What two generations are compared by. The marks of readers follow memberships, not the events of
# the rows: a generation may have those of a member who has left or is still to come.
ROWS_DIGEST = "SELECT count(*), sum(hashtextextended(t::text, 0)) FROM proj.{table} AS t"
MARKS_DIGEST = """
SELECT count(*), sum(hashtextextended(m::text, 0)) FROM proj.{table}_mark AS m
 WHERE EXISTS (SELECT FROM proj.{table} AS t WHERE t.id = m.id AND m.mark = ANY (t.marks))
"""

# The generations of one view, the newest first.
GENERATIONS = """
SELECT generation, declared FROM bk.projections WHERE name = $1 ORDER BY generation DESC
"""
# Only one worker at a time creates generations.
LOCK_GENERATIONS = "SELECT pg_advisory_xact_lock(hashtextextended('arrange', 1))"
ADD_GENERATION = Statement("""
INSERT INTO bk.projections (name, generation, declared, live)
VALUES (:name, :generation, :declared, :live)
""")

ENTRIES_MADE = "SELECT name, generation, declared FROM bk.directory_kinds"
KEEP_ENTRIES_MADE = """
INSERT INTO bk.directory_kinds (name, generation, declared) VALUES ($1, $2, $3)
    ON CONFLICT (name) DO UPDATE SET generation = $2, declared = $3
"""
# The rows of a list that is created again: its versions may be lower than those of old entries.
FORGET_ENTRIES = (
    "DELETE FROM bk.directory WHERE kind = $1",
    "DELETE FROM bk.directory_kinds WHERE name = $1",
)

ALL_GENERATIONS = "SELECT name, generation, live, declared FROM bk.projections"

# The bookmarks of lists in other shards than these; those of other followers are left alone.
ELSEWHERE = """b.shard <> ALL($1::smallint[]) AND EXISTS (
  SELECT 1 FROM bk.projections p WHERE (p.name, p.generation) = (b.projection, b.generation))"""

# The age of the oldest event that is not yet projected, for each live projection.
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


class PostgresProjections:
    """Writes the rows of lists, as the projector role."""

    def __init__(self, connections: Connections, site: str = OWN_SITE) -> None:
        self._connections, self._site = connections, site

    async def arrange(self, views: Sequence[View[Any]], shards: Sequence[int]) -> None:
        """Create a table and bookmarks in these shards for every view that lacks them."""
        async with self._connections.connection() as connection, connection.transaction():
            await connection.execute(LOCK_GENERATIONS, timeout=CREATE_TIMEOUT)
            for view in views:
                found = await connection.fetch(GENERATIONS, view.name)
                if not found or found[0]["declared"] != _declared(view):
                    await _create_generation(connection, view, found, shards)
            await _replace_bookmarks(connection, shards)

    async def rebuild(self, view: View[Any], shards: Sequence[int]) -> int:
        """Create a new generation of a view next to the live one, and return its number."""
        async with self._connections.connection() as connection, connection.transaction():
            await connection.execute(LOCK_GENERATIONS, timeout=CREATE_TIMEOUT)
            found = await connection.fetch(GENERATIONS, view.name)
            return await _create_generation(connection, view, found, shards)

    async def generations(self) -> Sequence[Generation]:
        """Return every generation of every list."""
        return [Generation(*row) for row in await self._connections.read(ALL_GENERATIONS)]

    async def stored(
        self, generation: Generation, ids: Sequence[UUID]
    ) -> Mapping[UUID, tuple[int, bytes]]:
        """Return the stored rows with these ids, and their versions."""
        rows = await self._connections.read(
            f"SELECT id, version, row::text FROM proj.{_table(generation.key)} WHERE id = ANY($1)",  # noqa: S608
            list(ids),
        )
        return {id: (version, row.encode()) for id, version, row in rows}

    async def apply(
        self,
        followers: Sequence[Follower],
        reached: Position,
        changes: Mapping[tuple[str, int], Sequence[RowChange]],
    ) -> bool:
        """Move the bookmarks and write the rows; return False if another worker has moved them."""
        bookmarks = [follower.bookmark for follower in followers]
        async with self._connections.connection() as connection:
            try:
                async with connection.transaction():
                    await move(connection, bookmarks, reached)
                    for generation in sorted((each for each, _ in followers), key=_key_of):
                        upsert = _upsert(_table(generation.key), _has_marks(generation))
                        changed = changes.get(generation.key, ())
                        for rows in batched(changed, BATCH_SIZE):
                            await connection.execute(*upsert.bind(_columns(rows)))
                        await _mark_for_members(connection, generation, changed)
                    entries = {
                        key: [each.entry for each in changed if each.entry]
                        for key, changed in changes.items()
                    }
                    await write_entries(connection, entries, self._site)
            except BookmarkMovedError:
                return False
        return True

    async def mark_team(
        self,
        views: Sequence[View[Any]],
        team_id: UUID,
        principal_id: UUID,
        bookmark: Bookmark,
        reached: Position,
    ) -> bool:
        """Let lists find the objects of a team for a principal who is a member, else not.

        Move the bookmark; do nothing and return False if another worker has moved it.
        """
        kinds = {view.name: view.aggregate.name for view in views}
        mark = number(read_by(principal_id))
        async with self._connections.connection() as connection:
            try:
                async with connection.transaction():
                    # The lock of the bookmark is held: no other worker knows of later members.
                    await move(connection, [bookmark], reached)
                    is_member = await connection.fetchval(IS_MEMBER, team_id, principal_id)
                    change = MARK_TEAM if is_member else UNMARK_TEAM
                    rows = await connection.fetch(ALL_GENERATIONS)
                    for each in sorted((Generation(*row) for row in rows), key=_key_of):
                        if (kind := kinds.get(each.name)) and _has_marks(each):
                            statement = change.format(table=_table(each.key))
                            await connection.execute(statement, mark, team_id, kind)
            except BookmarkMovedError:
                return False
        return True

    async def switch(self) -> Sequence[str]:
        """Make each generation that has caught up the live one, and return the names of views."""
        async with self._connections.connection() as connection:
            behind = await connection.fetch(
                "SELECT name, generation FROM bk.projections p WHERE NOT live AND generation ="
                " (SELECT max(generation) FROM bk.projections WHERE name = p.name)"
            )
            switched: list[str] = []
            for name, generation in behind:
                # A list that is being read is switched later.
                with suppress(asyncpg.LockNotAvailableError):
                    if await _switch(connection, name, generation):
                        switched.append(name)
            return switched

    async def outdated(self, declared: Mapping[str, int]) -> Sequence[Generation]:
        """Return the live generations from which the directory's entries are to be rebuilt."""
        made = {row[0]: (row[1], row[2]) for row in await self._connections.read(ENTRIES_MADE)}
        return [
            each
            for each in await self.generations()
            if each.live and each.name in declared
            # A newer declaration is that of another worker, which is newer than this one.
            if (entries := made.get(each.name)) is None
            or entries[0] != each.number
            or entries[1] < declared[each.name]
        ]

    async def rows_after(
        self, generation: Generation, after: UUID
    ) -> Sequence[tuple[UUID, int, bytes]]:
        """Return the next rows of a generation with their ids and versions."""
        rows = await self._connections.read(
            f"SELECT id, version, row::text FROM proj.{_table(generation.key)} WHERE id > $1"  # noqa: S608
            f" ORDER BY id LIMIT {BATCH_SIZE}",
            after,
        )
        return [(id, version, row.encode()) for id, version, row in rows]

    async def remake(
        self, generation: Generation, entries: Sequence[Entry], declared: int | None
    ) -> None:
        """Write entries made from a live generation; `declared` is given with the last of them."""
        async with self._connections.connection() as connection, connection.transaction():
            await write_entries(connection, {generation.key: entries}, self._site)
            if declared is not None:
                await connection.execute(KEEP_ENTRIES_MADE, *generation.key, declared)

    async def lag(self) -> dict[str, float]:
        """Return by how many seconds each list is behind."""
        return {name: seconds or 0.0 for name, seconds in await self._connections.read(LAG)}


async def _mark_for_members(
    connection: asyncpg.Connection, generation: Generation, changed: Sequence[RowChange]
) -> None:
    """Let the members of teams find the new rows of their teams."""
    teams = {row.id: row.new_of_team for row in changed if row.new_of_team}
    if not teams or not _has_marks(generation):
        return
    readers = defaultdict[UUID, list[int]](list)
    for team_id, principal_id in await connection.fetch(MEMBERS, [*{*teams.values()}]):
        readers[team_id].append(number(read_by(principal_id)))
    marks = [(mark, id) for id, team_id in teams.items() for mark in readers[team_id]]
    statement = ADD_MARKS.format(table=_table(generation.key))
    await connection.execute(statement, [m for m, _ in marks], [id for _, id in marks])


async def _create_generation(
    connection: asyncpg.Connection,
    view: View[Any],
    found: Sequence[asyncpg.Record],
    shards: Sequence[int],
) -> int:
    generation = (found[0]["generation"] if found else 0) + 1
    table = _table((view.name, generation))
    # No column that an event changes is indexed, so that updates stay in their page (HOT).
    await connection.execute(
        f"""CREATE TABLE proj.{table} (
              id uuid PRIMARY KEY, version bigint NOT NULL, owner_id uuid NOT NULL,
              facets text[] NOT NULL, marks bigint[] NOT NULL, row json NOT NULL)
              WITH (fillfactor = 85);
            CREATE TABLE proj.{table}_mark (
              mark bigint NOT NULL, id uuid NOT NULL, PRIMARY KEY (mark, id));""",
        timeout=CREATE_TIMEOUT,
    )
    if not found:
        await _point_view_at(connection, view.name, table)
        for statement, kind in zip(FORGET_ENTRIES, (view.aggregate.name, view.name), strict=True):
            await connection.execute(statement, kind, timeout=CREATE_TIMEOUT)
    values = {
        "name": view.name,
        "generation": generation,
        "declared": _declared(view),
        "live": not found,
    }
    await connection.execute(*ADD_GENERATION.bind(values))
    # Fails on a bookmark that an earlier list of this name has left behind.
    await connection.executemany(
        "INSERT INTO bk.bookmarks (projection, generation, shard) VALUES ($1, $2, $3)",
        [(view.name, generation, shard) for shard in shards],
    )
    return generation


async def _replace_bookmarks(connection: asyncpg.Connection, shards: Sequence[int]) -> None:
    """Replace lists' bookmarks of other shards by new ones at the lowest of the old positions."""
    await connection.execute(
        f"""INSERT INTO bk.bookmarks (projection, generation, shard, tx, pos)
           SELECT DISTINCT ON (b.projection, b.generation, s.shard)
                  b.projection, b.generation, s.shard, b.tx, b.pos
             FROM bk.bookmarks b CROSS JOIN unnest($1::smallint[]) AS s (shard)
            WHERE {ELSEWHERE}
            ORDER BY b.projection, b.generation, s.shard, b.tx, b.pos
               ON CONFLICT DO NOTHING""",  # noqa: S608
        list(shards),
    )
    await connection.execute(f"DELETE FROM bk.bookmarks b WHERE {ELSEWHERE}", list(shards))  # noqa: S608


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
        # While this waits for a reader, all later readers wait too.
        await connection.execute("SET LOCAL lock_timeout = '100ms'")
        await _point_view_at(connection, name, tables[1])
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
    """The rebuilt list differs from the live one."""


async def _require_equal(connection: asyncpg.Connection, before: str, after: str) -> None:
    digests = [
        await connection.fetchrow(compared.format(table=table), timeout=COMPARE_TIMEOUT)
        for table in (before, after)
        for compared in (ROWS_DIGEST, MARKS_DIGEST)
    ]
    if digests[:2] != digests[2:]:
        raise RebuiltDifferentlyError(before, after)


async def _point_view_at(connection: asyncpg.Connection, name: str, table: str) -> None:
    # The same order in which a list is read, to avoid deadlocks.
    await connection.execute(
        f"CREATE OR REPLACE VIEW proj.{name}_mark AS SELECT mark, id FROM proj.{table}_mark"  # noqa: S608
    )
    await connection.execute(
        f"CREATE OR REPLACE VIEW proj.{name} AS"  # noqa: S608
        f" SELECT id, version, owner_id, facets, row, marks FROM proj.{table}"
    )


def _declared(view: View[Any]) -> int:
    """Return the version that a generation must have: that of the layout, and of the view."""
    return LAYOUT * 1000 + view.version


def _table(key: tuple[str, int]) -> str:
    return f"{key[0]}_v{key[1]}"


@cache
def _upsert(table: str, has_marks: bool) -> Statement:
    return Statement((UPSERT if has_marks else UPSERT_WITHOUT_MARKS).format(table=table))


def _has_marks(generation: Generation) -> bool:
    return generation.declared >= MARKED_LAYOUT * 1000


def _columns(rows: Sequence[RowChange]) -> dict[str, list[Any]]:
    return {
        "ids": [row.id for row in rows],
        "versions": [row.version for row in rows],
        "owner_ids": [row.owner_id for row in rows],
        "facets": [_array(row.facets) for row in rows],
        "marks": [_numbers(row.marks) for row in rows],
        "rows": [row.row.decode() for row in rows],
    }


def _numbers(marks: Collection[str]) -> str:
    # Sorted, so that equal marks are equal arrays.
    return "{" + ",".join(map(str, sorted(map(number, marks)))) + "}"


def _array(texts: Sequence[str]) -> str:
    """Return an array literal: texts may differ in length, sub-arrays of an array may not."""
    quoted = (text.replace("\\", "\\\\").replace('"', '\\"') for text in texts)
    return "{" + ",".join(f'"{text}"' for text in quoted) + "}"
