"""Walks along the edges of provenance, through what the caller may see."""

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Annotated
from uuid import UUID

from annotated_types import Ge, Le

from beamkeep.contexts.calibration.calibration import calibration_ids, calibrations
from beamkeep.contexts.data.dataset import datasets
from beamkeep.contexts.data.edition import editions
from beamkeep.contexts.equipment.asset import assets
from beamkeep.contexts.run.run import runs
from beamkeep.contexts.seams.installation import Reader, present
from beamkeep.contexts.seams.lineage import (
    ENDS,
    ProvenanceKind,
    ProvenanceRelation,
    Walk,
    WalkedEdge,
)
from beamkeep.contexts.subject.subject import subjects
from beamkeep.kernel import AnyAggregate, Record

MOST_NODES, MOST_EDGES, MOST_DEPTH = 500, 1_000, 20
AGGREGATES: Mapping[ProvenanceKind, AnyAggregate] = {
    ProvenanceKind.DATASET: datasets,
    ProvenanceKind.RUN: runs,
    ProvenanceKind.SUBJECT: subjects,
    ProvenanceKind.ASSET: assets,
    ProvenanceKind.EDITION: editions,
}
"""The aggregates of all kinds but revisions, which are parts of calibrations."""

type WalkDepth = Annotated[int, Ge(1), Le(MOST_DEPTH)]


class WalkDirection(StrEnum):
    UPSTREAM = "upstream"
    DOWNSTREAM = "downstream"
    BOTH = "both"


class ShownEdge(Record, rename={"from_id": "from", "to_id": "to"}):
    from_id: UUID
    to_id: UUID
    relation: ProvenanceRelation


class WalkFound(Record):
    """The objects that walks met, nearest first, and the edges between them."""

    kinds: Mapping[UUID, ProvenanceKind]
    depths: Mapping[UUID, int]
    """Negative for what the start came of."""
    edges: tuple[ShownEdge, ...]
    truncated: bool


async def walked(
    start: tuple[UUID, ProvenanceKind],
    direction: WalkDirection,
    depth: int,
    relations: Iterable[ProvenanceRelation],
    read: Reader,
) -> WalkFound:
    """Walk from an object that the caller may see."""
    ways = {WalkDirection.UPSTREAM: (True,), WalkDirection.DOWNSTREAM: (False,)}
    kinds, depths = {start[0]: start[1]}, {start[0]: 0}
    edges: set[ShownEdge] = set()
    truncated = False
    for upstream in ways.get(direction, (True, False)):
        walk = Walk((start[0],), upstream, depth, most=MOST_EDGES, relations=(*relations,))
        found = await _edges_seen(walk, read)
        truncated |= len(found) >= MOST_EDGES
        edges |= {ShownEdge.of(edge) for edge in found}
        for edge in found:
            id, kind = _far_end(edge, upstream)
            kinds[id] = kind
            depths.setdefault(id, -edge.depth if upstream else edge.depth)
    nearest = sorted(depths, key=lambda it: (abs(depths[it]), it))[:MOST_NODES]
    seen = {start[0]} | await _seen({id: kinds[id] for id in nearest}, read)
    return WalkFound(
        {id: kinds[id] for id in nearest if id in seen},
        {id: depths[id] for id in nearest if id in seen},
        edges_in_order(edge for edge in edges if not seen.isdisjoint({edge.from_id, edge.to_id})),
        truncated=truncated or len(depths) > MOST_NODES,
    )


def edges_in_order(edges: Iterable[ShownEdge]) -> tuple[ShownEdge, ...]:
    """Return edges by what they connect."""
    return tuple(sorted(edges, key=lambda it: (it.from_id, it.relation, it.to_id)))


async def _edges_seen(walk: Walk, read: Reader) -> Sequence[WalkedEdge]:
    """Return the edges of a walk through objects that the caller may see."""
    reader = present(read.readers.lineage)
    if read.only is None:
        return await reader.walk(walk)
    # Level by level, because what the caller may not see is not walked through.
    edges: list[WalkedEdge] = []
    frontier, met = frozenset(walk.start_ids), frozenset(walk.start_ids)
    for level in range(1, walk.depth + 1):
        most = walk.most - len(edges)
        if not frontier or most <= 0:
            break
        relations, ids = walk.relations, tuple(sorted(frontier))
        step = Walk(ids, walk.upstream, 1, most=most, relations=relations)
        found = await reader.walk(step)
        edges += [
            WalkedEdge(level, edge.from_id, edge.relation, to_id=edge.to_id) for edge in found
        ]
        further = dict(_far_end(edge, walk.upstream) for edge in found)
        frontier = frozenset(await _seen(further, read)) - met
        met |= frontier
    return edges


async def _seen(kinds: Mapping[UUID, ProvenanceKind], read: Reader) -> set[UUID]:
    """Return those of these objects that the caller may see."""
    if read.only is None:
        return {*kinds}
    seen: set[UUID] = set()
    for kind, aggregate in AGGREGATES.items():
        ids = [id for id, its in kinds.items() if its is kind]
        seen |= await read.visible(aggregate, ids) if ids else set()
    revisions = [id for id, kind in kinds.items() if kind is ProvenanceKind.CALIBRATION_REVISION]
    if revisions:
        of = await calibration_ids(revisions, read)
        shown = await read.visible(calibrations, of.values())
        seen |= {id for id, calibration_id in of.items() if calibration_id in shown}
    return seen


def _far_end(edge: WalkedEdge, upstream: bool) -> tuple[UUID, ProvenanceKind]:
    from_kind, to_kind = ENDS[edge.relation]
    return (edge.to_id, to_kind) if upstream else (edge.from_id, from_kind)
