"""What the owner and the auditors of a record do with its trees: anchors, redactions, a look."""

from collections.abc import AsyncGenerator, Sequence
from datetime import datetime

import asyncpg

from beamkeep.witness.leaves import Leaf, Tree, TreeState
from beamkeep.witness.tree import Frontier, leaf_hash

from .statements import Statement
from .witness import READING, TABLES, PostgresWitness, moved

INSERT_ANCHOR = Statement("""
INSERT INTO bk.witness_anchor (tree, number, floor, reason, leaf)
SELECT :tree, :number, coalesce(max(transaction_id::text::bigint), 0), :reason, :leaf
  FROM (SELECT transaction_id FROM bk.events ORDER BY transaction_id DESC LIMIT 1) AS e
""").text
ANCHORED = """
SELECT leaf FROM bk.witness_anchor WHERE tree = $1 AND number = $2 AND leaf IS NOT NULL
 ORDER BY at DESC LIMIT 1
"""
REDACT = """
INSERT INTO bk.redactions (table_name, key, row_transaction_id, hash, reason)
SELECT $1, $2, transaction_id, sha256(convert_to({text}, 'UTF8')), $3
  FROM bk.{table} WHERE {key} = $2 FOR UPDATE
RETURNING 1
"""
REDACTIONS = """
SELECT format('%s %s was redacted at %s: %s', table_name, key, redacted_at, reason)
  FROM bk.redactions ORDER BY redacted_at, key
"""
# The first event that the tree of events has not reached.
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

    async def anchored(self, tree: Tree, number: int) -> str | None:
        """Return the first leaf of a tree that replaced another."""
        rows = await self.connections.read(ANCHORED, tree, number)
        return rows[0][0] if rows else None

    async def redactions(self) -> Sequence[str]:
        """Return what was redacted, in words."""
        return [told for (told,) in await self.connections.read(REDACTIONS)]

    async def waiting_since(self) -> datetime | None:
        """Return since when a checkpoint of the events is due, if one is."""
        state = await self.state(Tree.EVENTS)
        if state.signed_at and state.frontier.size > state.signed_size:
            return state.signed_at
        rows = await self.connections.read(WAITING, state.tx)
        return rows[0][0] if rows else None

    async def rewritten(self) -> Sequence[str]:
        """Return the names of events that were changed by hand, as far as a cheap look shows."""
        return [name for (name,) in await self.connections.read(REWRITTEN)]


async def redact(url: str, table: str, key: str, reason: str) -> bool:
    """Remove a row as the owner, and keep its hash; return whether there was such a row."""
    connection = await asyncpg.connect(url, server_settings=READING)
    try:
        tables = {name: rest for name, *rest in await connection.fetch(TABLES)}
        if table not in tables or table == "redactions":
            others = ", ".join(sorted({*tables} - {"redactions"}))
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
