"""What the owner and the auditors of a record do with its trees: anchors, redactions, a look."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from datetime import datetime

import asyncpg

from beamkeep.adapters.postgres.statements import Statement

from .postgres import READING, TABLES, PostgresWitness, moved
from .trees.leaves import Leaf, StoredAnchor, Tree, TreeState
from .trees.tree import Frontier, leaf_hash

INSERT_ANCHOR = Statement("""
INSERT INTO bk.witness_anchor (tree, number, floor, reason, leaf)
SELECT :tree, :number, coalesce(max(transaction_id::text::bigint), 0), :reason, :leaf
  FROM (SELECT transaction_id FROM bk.events ORDER BY transaction_id DESC LIMIT 1) AS e
""").text
ANCHORS = """
SELECT number, floor, reason, at, leaf FROM bk.witness_anchor WHERE tree = $1 ORDER BY at
"""
UNREDACTED = {"redactions", "decided_evidence", "profile_digest"}
"""Tables of the tree that contain hashes and ids only."""
REDACT = """
INSERT INTO bk.redactions (table_name, key, row_transaction_id, hash, reason)
SELECT $1, $2, transaction_id, sha256(convert_to({text}, 'UTF8')), $3
  FROM bk.{table} WHERE {key} = $2 FOR UPDATE
RETURNING 1
"""
TILE_COUNT = """
SELECT count(*) FROM bk.witness_tile
 WHERE tree = $1 AND (number >= $2 OR number < 1) OR tree NOT IN ('events', 'rows')
"""
REDACTIONS = """
SELECT concat(table_name, '/', key), redacted_at, reason
  FROM bk.redactions ORDER BY redacted_at, key
"""
# The first event after a transaction. A row has no time of its own.
WAITING = """
SELECT e.recorded_at FROM bk.events e WHERE e.transaction_id > $1::bigint::text::xid8
 ORDER BY e.transaction_id, e.position LIMIT 1
"""
# The newest events above the floor that were not written by the transaction that they name.
REWRITTEN = """
SELECT concat_ws(' ', e.stream_type, e.stream_id, 'version', e.version)
  FROM (SELECT e.xmin, e.transaction_id, e.stream_type, e.stream_id, e.version FROM bk.events e
         WHERE e.transaction_id > (SELECT coalesce(max(floor), 0)::text::xid8
                                     FROM bk.witness_anchor)
         ORDER BY e.transaction_id DESC, e.position DESC LIMIT 1000000) AS e
 WHERE e.xmin::text::bigint <> e.transaction_id::text::bigint % 4294967296
 LIMIT 10
"""


class PostgresProving(PostgresWitness):
    """Reads whole trees, and begins new ones after a restore."""

    async def every_leaf(
        self, tree: Tree, number: int, ahead: int = 1
    ) -> AsyncGenerator[Sequence[Leaf]]:
        """Yield all leaves of a tree, page by page."""
        if (first := await self.anchored(tree, number)) is not None:
            yield [Leaf(0, 0, name="the anchor", hash=leaf_hash(first.encode()))]
        async for _, leaves, _ in self.pages(tree, 0, ahead):
            yield leaves

    async def anchor(self, before: TreeState, reason: str, leaf: str | None, number: int) -> None:
        """Write down a restore; with a leaf, begin a new tree with it."""
        async with self.connections.connection() as connection, connection.transaction():
            await connection.execute(INSERT_ANCHOR, before.tree, number, reason, leaf)
            if leaf is not None:
                frontier = Frontier()
                frontier.add([leaf_hash(leaf.encode())])
                await connection.fetch(*moved(before, number, frontier, tx=0))

    async def tile_count(self, tree: Tree, number: int) -> int:
        """Return how many tiles are kept of a tree, and of trees that have not begun."""
        return (await self.connections.read(TILE_COUNT, tree, number))[0][0]

    async def anchors(self, tree: Tree) -> Sequence[StoredAnchor]:
        """Return what operators said after restores, oldest first."""
        return [StoredAnchor(*row) for row in await self.connections.read(ANCHORS, tree)]

    async def redactions(self) -> Sequence[tuple[str, datetime, str]]:
        """Return what was redacted: its name, when, and why."""
        return [(*row,) for row in await self.connections.read(REDACTIONS)]

    async def waiting_since(self, tree: Tree) -> datetime | None:
        """Return since when a checkpoint of a tree is due, if one is known to be."""
        state = await self.state(tree)
        if state.signed_at and state.frontier.size > state.signed_size:
            return state.signed_at
        after = state.tx if tree is Tree.EVENTS else await self._row_after(state.tx)
        rows = await self.connections.read(WAITING, after) if after is not None else []
        return rows[0][0] if rows else None

    async def _row_after(self, tx: int) -> int | None:
        """Return the transaction before the next that has rows of the tree, if there is one."""
        async with aclosing(self.pages(Tree.ROWS, tx)) as pages:
            async for page in pages:
                if page.leaves:
                    return page.leaves[0].tx - 1
        return None

    async def rewritten(self) -> Sequence[str]:
        """Return the names of events that were changed by hand, as far as a cheap look shows."""
        return [name for (name,) in await self.connections.read(REWRITTEN)]


async def redact(url: str, table: str, key: str, reason: str) -> bool:
    """Remove a row as the owner, and keep its hash; return whether there was such a row."""
    connection = await asyncpg.connect(url, server_settings=READING)
    try:
        tables = {name: rest for name, *rest in await connection.fetch(TABLES)}
        if table not in tables or table in UNREDACTED:
            others = ", ".join(sorted({*tables} - UNREDACTED))
            raise ValueError(f"{table} is not one of {others}.")
        key_of, text = tables[table]
        async with connection.transaction():
            await connection.execute("SET LOCAL ROLE bk_owner")
            statement = REDACT.format(table=table, key=key_of, text=text)
            if not await connection.fetch(statement, table, key, reason):
                return False
            await connection.execute(f"DELETE FROM bk.{table} WHERE {key_of} = $1", key)  # noqa: S608
        return True
    finally:
        await connection.close()
