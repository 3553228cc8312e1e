"""The witness on PostgreSQL: leaves of the log and of the rows next to it, tiles, checkpoints."""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from typing import Any

from beamkeep.adapters.postgres.connections import Connections
from beamkeep.adapters.postgres.statements import Statement

from .trees.leaves import (
    FullTile,
    Leaf,
    LeafPage,
    StoredCheckpoint,
    Tree,
    TreeState,
)
from .trees.tree import (
    HASH_BYTES,
    TILE,
    Frontier,
    Range,
    TileKey,
    proof,
    split,
    subtrees,
)

PAGE = 5_000
# How many transactions are looked at for the next page: more while they have little.
FEWEST_TRANSACTIONS, MOST_TRANSACTIONS = 64, 4_096
# Text of numbers, arrays and bytes depends on these; a function of the same name must not be found.
READING = {
    "search_path": "pg_catalog",
    "timezone": "UTC",
    "datestyle": "ISO, MDY",
    "extra_float_digits": "1",
    "bytea_output": "hex",
    # One page, or one transaction that is larger than a page.
    "statement_timeout": "120000",
}

LEAF_HASH = "sha256('\\x00'::bytea || convert_to(concat_ws(E'\\n', {}), 'UTF8'))"
MICROSECONDS = "trunc(extract(epoch FROM {}) * 1000000)::text"
# The lines of an event's leaf. Only functions of PostgreSQL itself: another could be replaced.
EVENT_LINES = f"""'beamkeep/event/v1', e.transaction_id::text, e.position::text,
       e.stream_type, e.stream_id::text, e.version::text, e.event_id::text, e.event_type,
       e.schema_version::text, e.principal_id::text, coalesce(e.surface_id::text, '-'),
       e.correlation_id::text, coalesce(e.causation_id::text, '-'), e.command_name,
       {MICROSECONDS.format("e.occurred_at")}, {MICROSECONDS.format("e.recorded_at")},
       e.payload::text"""
EVENTS_OF = """bk.events e
 WHERE e.transaction_id > $1::bigint::text::xid8 AND e.transaction_id <= $2::bigint::text::xid8
 ORDER BY e.transaction_id"""
EVENTS = f"""
SELECT e.transaction_id::text::bigint, e.position,
       concat_ws(' ', e.stream_type, e.stream_id, 'version', e.version),
       {LEAF_HASH.format(EVENT_LINES)}
  FROM {EVENTS_OF}, e.position
"""  # noqa: S608
# The transaction with which a page is full, or the last of those that are looked at.
BOUND = f"""
SELECT CASE count(*) WHEN {PAGE} THEN max(p.tx) ELSE $2::bigint END
  FROM ({{transactions}} LIMIT {PAGE}) AS p (tx)
"""  # noqa: S608
EVENT_TRANSACTIONS = f"SELECT e.transaction_id::text::bigint FROM {EVENTS_OF}"  # noqa: S608

# Of every table in the tree: the expressions for the key of a row, and for the text that is
# hashed: without nulls, so that columns may be added, and without the mark that a worker sets.
TABLES = f"""
SELECT c.relname::text,
       format('concat_ws(''/'', %s)', string_agg(e.value, ', ' ORDER BY e.key_place)
              FILTER (WHERE e.key_place IS NOT NULL)) AS key,
       format('jsonb_strip_nulls(jsonb_build_object(%s))::text',
              string_agg(format('%L, %s', a.attname, e.value), ', ' ORDER BY a.attname)) AS text
  FROM pg_class c
  JOIN pg_attribute t ON t.attrelid = c.oid AND t.attname = 'transaction_id'
   AND t.atttypid = 'bigint'::regtype AND t.attnotnull
  JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
   AND a.attnum <> t.attnum AND (c.relname, a.attname) <> ('evidence', 'kept')
  JOIN pg_index i ON i.indrelid = c.oid AND i.indisprimary
 CROSS JOIN LATERAL (
       SELECT CASE a.atttypid WHEN 'timestamptz'::regtype
              THEN format('{MICROSECONDS.format("%I")}', a.attname)
              ELSE format('%I::text', a.attname) END,
              array_position(i.indkey::int2[], a.attnum)) AS e (value, key_place)
 WHERE c.relnamespace = 'bk'::regnamespace AND c.relkind = 'r'
 GROUP BY c.relname ORDER BY c.relname
"""  # noqa: S608
ROWS_OF = """SELECT transaction_id, '{table}', {key}, sha256(convert_to({text}, 'UTF8'))
  FROM bk.{table} WHERE transaction_id > $1 AND transaction_id <= $2"""
ROW_TRANSACTIONS = "SELECT r.tx FROM ({parts}) AS r (tx, name, key, hash) ORDER BY r.tx"
REDACTED = """SELECT row_transaction_id, table_name, key, hash
  FROM bk.redactions WHERE row_transaction_id > $1 AND row_transaction_id <= $2"""
EXPIRED = """SELECT row_transaction_id, table_name, key, hash
  FROM bk.expired_rows WHERE row_transaction_id > $1 AND row_transaction_id <= $2"""
ROWS_LINES = """'beamkeep/rows/v1', r.name, r.tx::text, count(*)::text,
       string_agg(encode(r.hash, 'hex'), E'\\n' ORDER BY r.key COLLATE "C")"""
ROWS = f"""
SELECT r.tx, 0, concat(r.name, ' of transaction ', r.tx), {LEAF_HASH.format(ROWS_LINES)}
  FROM ({{parts}}) AS r (tx, name, key, hash)
 GROUP BY r.tx, r.name ORDER BY r.tx, r.name COLLATE "C"
"""  # noqa: S608
# Every transaction up to this one has ended.
HORIZON = "SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint - 1"

STATE = """
SELECT t.number, t.size, t.frontier, t.tx, c.size, c.at
  FROM bk.witness_tree t
  LEFT JOIN LATERAL (SELECT size, at FROM bk.witness_checkpoint c
                      WHERE c.tree = t.tree AND c.number = t.number
                      ORDER BY size DESC LIMIT 1) AS c ON true
 WHERE t.tree = $1
"""
# The compare-and-set of a tree: a witness that was overtaken writes nothing. Two trees may have one
# size if the database was taken back between the read and the write, but not one frontier.
MOVE = Statement("""
INSERT INTO bk.witness_tree AS t (tree, number, size, tx, frontier)
SELECT :tree, :number::int, :size::bigint, :tx::bigint, :frontier::bytea
 WHERE :old_size = 0 OR EXISTS (SELECT FROM bk.witness_tree WHERE tree = :tree)
ON CONFLICT (tree) DO UPDATE
   SET number = excluded.number, size = excluded.size, tx = excluded.tx,
       frontier = excluded.frontier
 WHERE (t.number, t.size, t.frontier) = (:old_number::int, :old_size::bigint, :old_frontier::bytea)
RETURNING 1
""")
INSERT_TILE = Statement("""
INSERT INTO bk.witness_tile (tree, number, level, index, hashes, last_tx, last_pos)
VALUES (:tree, :number, :level, :index, :hashes, :last_tx, :last_pos)
""").text
INSERT_CHECKPOINT = Statement("""
INSERT INTO bk.witness_checkpoint (tree, number, size, root, note)
VALUES (:tree, :number, :size, :root, :note) ON CONFLICT DO NOTHING
""").text
TILES = Statement("""
SELECT w.level, w.index, w.hashes
  FROM bk.witness_tile w JOIN unnest(:levels::int[], :indexes::bigint[]) AS k (level, index)
    ON w.level = k.level AND w.index = k.index
 WHERE w.tree = :tree AND w.number = :number
""").text
NOTE = """c.note || coalesce((
         SELECT string_agg(s.line, '' ORDER BY s.at, s.line) FROM bk.witness_cosignature s
          WHERE (s.tree, s.number, s.size) = (c.tree, c.number, c.size)), '')"""
CHECKPOINTS = Statement(f"""
SELECT c.number, c.size, c.root, c.at, {NOTE} FROM bk.witness_checkpoint c
 WHERE c.tree = :tree AND (c.number, c.size) > (:number, :size)
 ORDER BY c.number, c.size LIMIT :limit
""").text  # noqa: S608
ANCHORED = """
SELECT leaf FROM bk.witness_anchor WHERE tree = $1 AND number = $2 AND leaf IS NOT NULL
 ORDER BY at DESC LIMIT 1
"""
INSERT_COSIGNATURE = Statement("""
INSERT INTO bk.witness_cosignature (tree, number, size, line)
VALUES (:tree, :number, :size, :line) ON CONFLICT DO NOTHING
""").text
INSERT_KEY = "INSERT INTO bk.witness_key (key) VALUES ($1) ON CONFLICT DO NOTHING"


class PostgresWitness:
    """Reads leaves, and writes trees as the role of the witness."""

    def __init__(self, connections: Connections) -> None:
        self.connections = connections
        self._window = dict.fromkeys(Tree, MOST_TRANSACTIONS)

    async def pages(self, tree: Tree, after: int, ahead: int = 1) -> AsyncGenerator[LeafPage]:
        """Yield the leaves of the transactions after one, some transactions at a time.

        `ahead` is how many pages the database computes at the same time.
        """
        ((end,),) = await self.connections.read(HORIZON)
        # After the horizon: a table that is created later has rows of later transactions only.
        leaves, bound = await self._statements_of(tree)
        reads, window = deque[tuple[int, asyncio.Task[Any]]](), self._window
        try:
            while reads or after < end:
                while after < end and len(reads) < ahead:
                    first, last = after, min(after + window[tree], end)
                    ((after,),) = await self.connections.read(bound, first, last)
                    is_full = after < last
                    wider = min(2 * window[tree], MOST_TRANSACTIONS)
                    window[tree] = FEWEST_TRANSACTIONS if is_full else wider
                    read = self.connections.read(leaves, first, after)
                    reads.append((after, asyncio.create_task(read)))
                upto, task = reads.popleft()
                yield LeafPage(upto, [Leaf(*row) for row in await task], is_last=upto == end)
        finally:
            for _, task in reads:
                task.cancel()

    async def _statements_of(self, tree: Tree) -> tuple[str, str]:
        """Return the statements that read leaves, and where a page of them ends."""
        if tree is Tree.EVENTS:
            return EVENTS, BOUND.format(transactions=EVENT_TRANSACTIONS)
        tables = await self.connections.read(TABLES)
        parts = [ROWS_OF.format(table=table, key=key, text=text) for table, key, text in tables]
        rows = "\nUNION ALL ".join([*parts, REDACTED, EXPIRED])
        bound = BOUND.format(transactions=ROW_TRANSACTIONS.format(parts=rows))
        return ROWS.format(parts=rows), bound

    async def state(self, tree: Tree) -> TreeState:
        """Return how far a tree has come."""
        rows = await self.connections.read(STATE, tree)
        number, size, frontier, tx, signed_size, signed_at = (
            rows[0] if rows else (1, 0, b"", 0, None, None)
        )
        end = Frontier(size, frontier)
        return TreeState(
            tree=tree,
            number=number,
            frontier=end,
            tx=tx,
            signed_size=signed_size or 0,
            signed_at=signed_at,
        )

    async def grow(
        self,
        before: TreeState,
        after: Frontier,
        tx: int,
        *,
        full: Iterable[FullTile] = (),
        note: str | None = None,
    ) -> bool:
        """Write what a tree became, or nothing if another witness was faster."""
        key = before.tree, before.number
        async with self.connections.connection() as connection, connection.transaction():
            if not await connection.fetch(*moved(before, before.number, after, tx=tx)):
                return False
            tiles = [(*key, *tile.key, *tile[1:]) for tile in full]
            await connection.executemany(INSERT_TILE, tiles)
            if note is not None:
                await connection.execute(INSERT_CHECKPOINT, *key, after.size, after.root, note)
        return True

    async def tiles(
        self, tree: Tree, number: int, keys: Iterable[TileKey]
    ) -> Mapping[TileKey, Sequence[bytes]]:
        """Return those of these tiles that are full."""
        if not (wanted := [*keys]):
            return {}
        levels, indexes = zip(*wanted, strict=True)
        rows = await self.connections.read(TILES, levels, indexes, tree, number)
        # A tile of another length is none.
        return {
            TileKey(level, index): split(hashes)
            for level, index, hashes in rows
            if len(hashes) == TILE * HASH_BYTES
        }

    async def proof(
        self,
        tree: Tree,
        number: int,
        ranges: Sequence[Range],
        new: Mapping[TileKey, Sequence[bytes]] | None = None,
    ) -> list[bytes]:
        """Return the roots of ranges of a tree. Raise KeyError or IndexError if tiles are missing.

        `new` are the tiles that are not written yet.
        """
        if new is None:
            state = await self.state(tree)
            new = state.frontier.tiles if state.number == number else {}
        wanted = {each.tile for leaves in ranges for each in subtrees(leaves)}
        return proof(ranges, {**await self.tiles(tree, number, wanted), **new})

    async def checkpoints(
        self, tree: Tree, after: tuple[int, int] = (0, -1), most: int | None = None
    ) -> Sequence[StoredCheckpoint]:
        """Return the checkpoints of a tree after a number and a size, oldest first."""
        rows = await self.connections.read(CHECKPOINTS, tree, *after, most)
        return [StoredCheckpoint(tree, *row) for row in rows]

    async def anchored(self, tree: Tree, number: int) -> str | None:
        """Return the first leaf of a tree that replaced another."""
        rows = await self.connections.read(ANCHORED, tree, number)
        return rows[0][0] if rows else None

    async def cosigned(self, checkpoint: StoredCheckpoint, lines: Iterable[str]) -> None:
        """Keep the signatures of other witnesses."""
        for line in lines:
            await self.connections.fetch(INSERT_COSIGNATURE, *checkpoint[:3], line)

    async def publish(self, keys: Iterable[str]) -> None:
        """Add keys to the list of those that have signed."""
        for key in keys:
            await self.connections.fetch(INSERT_KEY, key)


def moved(before: TreeState, number: int, after: Frontier, *, tx: int) -> tuple[Any, ...]:
    """Return the statement that moves a tree to another end, with its arguments."""
    values = {"tree": before.tree, "number": number, "size": after.size, "tx": tx}
    old = {"old_number": before.number, "old_size": before.frontier.size}
    frontiers = {"frontier": after.hashes, "old_frontier": before.frontier.hashes}
    return MOVE.bind(values | old | frontiers)
