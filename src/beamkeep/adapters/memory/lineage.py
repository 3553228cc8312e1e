"""Edges of provenance in memory, for fast tests."""

from collections.abc import Sequence
from uuid import UUID

from beamkeep.contexts.seams.lineage import (
    EDGES,
    ENDS,
    ProvenanceEdge,
    ProvenanceRelation,
    Walk,
    WalkedEdge,
)
from beamkeep.kernel import Sight

from .store import MemoryStore

USES = frozenset({ProvenanceRelation.PINNED, ProvenanceRelation.USED_CALIBRATION})


class MemoryLineage:
    """Walks along the edges by looking at every one."""

    def __init__(self, store: MemoryStore) -> None:
        self._store = store

    async def walk(self, walk: Walk) -> Sequence[WalkedEdge]:
        """Return the edges that a walk meets, level by level."""
        found: dict[WalkedEdge, None] = {}
        frontier, met = {*walk.start_ids}, {*walk.start_ids}
        for depth in range(1, walk.depth + 1):
            further: set[UUID] = set()
            for edge in await self._edges():
                near, far = edge.from_id, edge.to_id
                near, far = (near, far) if walk.upstream else (far, near)
                if near in frontier and edge.relation in walk.relations:
                    found[WalkedEdge.of(edge, depth=depth)] = None
                    further.add(far)
            frontier = further - met
            met |= frontier
        return list(found)[: walk.most]

    async def uses(
        self, revision_id: UUID, after: UUID | None, limit: int, sight: Sight | None
    ) -> Sequence[WalkedEdge]:
        """Return a page of the runs and datasets that use a calibration revision, oldest first."""
        found = [
            WalkedEdge.of(edge, depth=1)
            for edge in sorted(await self._edges(), key=lambda edge: edge.from_id)
            if edge.to_id == revision_id and edge.relation in USES
            if after is None or edge.from_id > after
            if sight is None or self._is_seen(edge, sight)
        ]
        return found[:limit]

    async def _edges(self) -> Sequence[ProvenanceEdge]:
        rows = await self._store.rows(EDGES, {})
        return sorted(rows, key=lambda edge: (edge.to_id, edge.from_id, edge.relation))

    def _is_seen(self, edge: ProvenanceEdge, sight: Sight) -> bool:
        return self._store.is_in_sight((ENDS[edge.relation][0].value, edge.from_id), sight)
