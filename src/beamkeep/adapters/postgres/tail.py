"""The tail on PostgreSQL: pages of `bk.events`, and the followers' rows in `bk.bookmarks`."""

from collections.abc import Callable, Iterable, Sequence
from functools import cache, partial
from typing import Any, cast

import asyncpg

from beamkeep.feed.tail import WHOLE_LOG, Bookmark, TailEvent, TailPage
from beamkeep.runtime.store import BEGINNING, Position

from .connections import Connections
from .statements import Statement

TAIL_EVENT: Callable[[Iterable[Any]], TailEvent] = partial(cast("Any", tuple).__new__, TailEvent)
"""Makes an event of a row; `TailEvent._make` counts the columns of each, too."""

# The transaction id after the newest event before which every transaction has ended. No event below
# the watermark can appear later. An id above the watermark may be given again after a crash, also
# if its transaction has ended: PostgreSQL writes an id down only with what its transaction writes.
WATERMARK = """(coalesce((
         SELECT e.transaction_id FROM {events} e
          WHERE e.transaction_id < pg_snapshot_xmin(pg_current_snapshot())
          ORDER BY e.transaction_id DESC LIMIT 1), '0')::text::bigint + 1)"""

# One page of the tail and its watermark, from one snapshot.
PAGE = f"""
WITH b AS (
  SELECT e.transaction_id, e.position, e.stream_type, e.stream_id, e.principal_id, e.version,
         e.event_type, e.schema_version, e.payload
    FROM {{events}} e
   WHERE (e.transaction_id, e.position) > (:after_tx::text::xid8, :after_position::bigint)
     AND e.transaction_id < pg_snapshot_xmin(pg_current_snapshot()){{narrowed}}
   ORDER BY e.transaction_id, e.position LIMIT :limit)
SELECT b.version, b.event_type, b.schema_version, b.payload::text,
       b.transaction_id::text::bigint AS tx, b.position, b.stream_type, b.stream_id,
       b.principal_id, {WATERMARK} AS watermark
  FROM (SELECT 1) AS one LEFT JOIN b ON true
 ORDER BY b.transaction_id, b.position
"""  # noqa: S608
UNTIL = """
     AND e.transaction_id < :until::text::xid8"""
OF_TYPES = """
     AND e.stream_type = ANY(:stream_types::text[])"""

BEGIN = Statement("""
INSERT INTO bk.bookmarks (projection, generation, shard, tx, pos)
SELECT :follower, :generation, unnest(:shards::smallint[]), :tx::text::xid8, :position::bigint
    ON CONFLICT DO NOTHING
""")

BOOKMARKS = """
SELECT projection, generation, shard, tx::text::bigint AS tx, pos FROM bk.bookmarks WHERE shard = $1
"""

# The compare-and-set of the bookmarks: a follower that was overtaken updates none.
MOVE = Statement("""
UPDATE bk.bookmarks AS b SET tx = :to_tx::text::xid8, pos = :to_position, updated_at = now()
  FROM unnest(:followers::text[], :generations::int[], :shards::smallint[], :from_txs::text[],
              :from_positions::bigint[])
    AS f (projection, generation, shard, tx, pos)
 WHERE b.projection = f.projection AND b.generation = f.generation AND b.shard = f.shard
   AND (b.tx, b.pos) = (f.tx::xid8, f.pos)
RETURNING 1
""")

# The transactions that hold back the tail, in any database of the cluster.
BLOCKED_BY = """
SELECT pid, datname, EXTRACT(epoch FROM clock_timestamp() - xact_start)::float8 AS seconds
  FROM pg_stat_activity
 WHERE backend_xid IS NOT NULL AND xact_start < clock_timestamp() - make_interval(secs => $1)
 ORDER BY age(backend_xid) DESC
"""


class PostgresTail:
    """Reads the log in order and keeps the bookmarks, as the projector role."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    async def begin(
        self, follower: str, generation: int, shards: Sequence[int], at: Position = BEGINNING
    ) -> None:
        """Put a bookmark at a position in each shard, unless the follower has one there."""
        values = {
            "follower": follower,
            "generation": generation,
            "shards": list(shards),
            "tx": str(at.tx),
            "position": at.position,
        }
        await self._connections.fetch(*BEGIN.bind(values))

    async def bookmarks(self, shard: int) -> Sequence[Bookmark]:
        """Return the bookmarks of all followers in this shard."""
        rows = await self._connections.read(BOOKMARKS, shard)
        return [Bookmark(*key, reached=Position(tx, pos)) for *key, tx, pos in rows]

    async def page(
        self,
        shard: int,
        after: Position,
        limit: int,
        stream_types: Sequence[str] | None = None,
        until: int | None = None,
    ) -> TailPage:
        """Return the next events after a position, of these stream types or of all."""
        values = {
            "after_tx": str(after.tx),
            "after_position": after.position,
            "limit": limit,
            "until": str(until),
            "stream_types": list(stream_types or ()),
        }
        statement = _page(shard, until is not None, stream_types is not None)
        rows = await self._connections.read(*statement.bind(values))
        events = [] if rows[0]["tx"] is None else [*map(TAIL_EVENT, rows)]
        return TailPage(rows[0]["watermark"], events)

    async def move(self, bookmarks: Sequence[Bookmark], reached: Position) -> bool:
        """Move these bookmarks, or none of them if any has been moved since it was read."""
        async with self._connections.connection() as connection:
            try:
                async with connection.transaction():
                    await move(connection, bookmarks, reached)
            except BookmarkMovedError:
                return False
        return True

    async def blocked_by(self, seconds: float) -> list[tuple[int, str, float]]:
        """Return pid, database and age of older transactions that hold back the tail."""
        return [tuple(row) for row in await self._connections.read(BLOCKED_BY, seconds)]


class BookmarkMovedError(Exception):
    """Another process has moved a bookmark; the transaction must be rolled back."""


async def move(
    connection: asyncpg.Connection, bookmarks: Sequence[Bookmark], reached: Position
) -> None:
    """Move bookmarks in a transaction of the caller's, or raise `BookmarkMovedError`."""
    values = {
        "followers": [bookmark.follower for bookmark in bookmarks],
        "generations": [bookmark.generation for bookmark in bookmarks],
        "shards": [bookmark.shard for bookmark in bookmarks],
        "from_txs": [str(bookmark.reached.tx) for bookmark in bookmarks],
        "from_positions": [bookmark.reached.position for bookmark in bookmarks],
        "to_tx": str(reached.tx),
        "to_position": reached.position,
    }
    moved = await connection.fetch(*MOVE.bind(values))
    if len(moved) != len(bookmarks):
        raise BookmarkMovedError


@cache
def _page(shard: int, is_bounded: bool, is_typed: bool) -> Statement:
    events = "bk.events" if shard == WHOLE_LOG else f"bk.events_p{shard}"
    narrowed = UNTIL * is_bounded + OF_TYPES * is_typed
    return Statement(PAGE.format(events=events, narrowed=narrowed))
