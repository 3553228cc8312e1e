"""Checkpoints and proofs, as the role of the service reads them."""

from base64 import b64encode
from collections.abc import Sequence

from beamkeep.adapters.postgres.connections import Connections
from beamkeep.adapters.postgres.statements import Statement
from beamkeep.contexts.seams.witnessed import (
    EventDiffersError,
    EventNotFoundError,
    EventNotWitnessedError,
    EventProof,
    GetEventProof,
    ListCheckpoints,
    SignedCheckpoint,
    WitnessedTree,
)

from .postgres import EVENT_LINES, NOTE, PostgresWitness
from .trees.leaves import Tree
from .trees.tree import (
    TILE,
    InvalidProofError,
    inclusion,
    leaf_hash,
    root_by_inclusion,
)

# Of one event, its place and its leaf.
EVENT = f"""
SELECT e.transaction_id::text::bigint, e.position, concat_ws(E'\\n', {EVENT_LINES})
  FROM bk.events e WHERE e.stream_type = $1 AND e.stream_id = $2 AND e.version = $3
"""  # noqa: S608
# The tile of leaves before the one that has, or will have, a place.
TILE_BEFORE = """
SELECT index, last_tx, last_pos FROM bk.witness_tile
 WHERE tree = 'events' AND number = $1 AND level = 0 AND (last_tx, last_pos) < ($2, $3)
 ORDER BY last_tx DESC, last_pos DESC LIMIT 1
"""
EVENTS_BETWEEN = Statement("""
SELECT count(*) FROM bk.events e
 WHERE (e.transaction_id, e.position) > (:after_tx::text::xid8, :after_pos::bigint)
   AND (e.transaction_id, e.position) < (:tx::text::xid8, :pos::bigint)
""").text
LISTED = Statement(f"""
SELECT c.tree, c.number, c.size, c.root, {NOTE}, c.at
  FROM bk.witness_checkpoint c
 WHERE (:tree::text IS NULL OR c.tree = :tree) AND (:since::timestamptz IS NULL OR c.at >= :since)
   AND (:after::text IS NULL OR (c.at, c.tree, c.number, c.size) < (
         SELECT a.at, a.tree, a.number, a.size FROM bk.witness_checkpoint a
          WHERE concat(a.tree, '-', a.number, '-', a.size) = :after
            AND a.tree = split_part(:after, '-', 1)))
 ORDER BY c.at DESC, c.tree DESC, c.number DESC, c.size DESC LIMIT :limit
""")  # noqa: S608


class PostgresWitnessReader:
    """Reads what the witness has written, and nothing else writes."""

    def __init__(self, connections: Connections) -> None:
        self._connections, self._store = connections, PostgresWitness(connections)

    async def proof(self, query: GetEventProof) -> EventProof:
        """Return the proof of one event. Raise a refusal when there is none."""
        key = query.stream_type, query.stream_id, query.version
        if not (rows := await self._connections.read(EVENT, *key)):
            raise EventNotFoundError
        tx, pos, leaf = rows[0]
        state = await self._store.state(Tree.EVENTS)
        if tx > state.tx or not state.signed_size:
            raise EventNotWitnessedError
        after = state.number, state.signed_size - 1
        (signed, *_) = await self._store.checkpoints(Tree.EVENTS, after, 1)
        index = await self._index(state.number, tx, pos)
        if index >= signed.size:
            raise EventNotWitnessedError
        ranges = inclusion(index, signed.size)
        try:
            path = await self._store.proof(Tree.EVENTS, state.number, ranges)
            root = root_by_inclusion(leaf_hash(leaf.encode()), index, signed.size, path)
        except (KeyError, IndexError, InvalidProofError):
            raise EventDiffersError from None
        if root != signed.root:
            raise EventDiffersError
        return EventProof(
            stream_type=query.stream_type,
            stream_id=query.stream_id,
            version=query.version,
            leaf=leaf,
            leaf_index=index,
            tree_size=signed.size,
            proof=tuple(b64encode(each).decode() for each in path),
            checkpoint=signed.note,
        )

    async def _index(self, number: int, tx: int, pos: int) -> int:
        """Return which leaf of the tree an event is."""
        rows = await self._connections.read(TILE_BEFORE, number, tx, pos)
        tile, last_tx, last_pos = rows[0] if rows else (-1, 0, 0)
        between = str(last_tx), last_pos, str(tx), pos
        ((count,),) = await self._connections.read(EVENTS_BETWEEN, *between)
        # The first leaf of a tree that replaced another is no event.
        return (tile + 1) * TILE + count + (number > 1 and tile < 0)

    async def checkpoints(self, query: ListCheckpoints) -> Sequence[SignedCheckpoint]:
        """Return a page of checkpoints and one more."""
        values = {
            "tree": query.tree,
            "since": query.since,
            "after": query.cursor,
            "limit": query.limit + 1,
        }
        return [
            SignedCheckpoint(
                checkpoint_id=f"{tree}-{number}-{size}",
                tree=WitnessedTree(tree),
                size=size,
                root=b64encode(root).decode(),
                note=note,
                signed_at=at,
            )
            for tree, number, size, root, note, at in await self._connections.read(
                *LISTED.bind(values)
            )
        ]
