"""Lineage: which object came of which, as edges written with the events, and how they are asked."""

from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import Protocol
from uuid import UUID

from beamkeep.kernel import Insert, Record, Sight, Table


class ProvenanceKind(StrEnum):
    DATASET = "Dataset"
    RUN = "Run"
    SUBJECT = "Subject"
    ASSET = "Asset"
    CALIBRATION_REVISION = "CalibrationRevision"
    EDITION = "Edition"


class ProvenanceRelation(StrEnum):
    DERIVED_FROM = "derived_from"
    PRODUCED_BY = "produced_by"
    ACQUIRED_BY = "acquired_by"
    ABOUT = "about"
    USED_CALIBRATION = "used_calibration"
    PINNED = "pinned"
    COMPUTED_FROM = "computed_from"
    PART_OF = "part_of"


K, R = ProvenanceKind, ProvenanceRelation
ENDS = {
    # relation, from, to
    R.DERIVED_FROM: (K.DATASET, K.DATASET),
    R.PRODUCED_BY: (K.DATASET, K.RUN),
    R.ACQUIRED_BY: (K.DATASET, K.ASSET),
    R.ABOUT: (K.DATASET, K.SUBJECT),
    R.USED_CALIBRATION: (K.DATASET, K.CALIBRATION_REVISION),
    R.PINNED: (K.RUN, K.CALIBRATION_REVISION),
    R.COMPUTED_FROM: (K.CALIBRATION_REVISION, K.DATASET),
    R.PART_OF: (K.DATASET, K.EDITION),
}


class ProvenanceEdge(Record):
    """One object names another as its origin, its producer or its whole."""

    from_id: UUID
    relation: ProvenanceRelation
    to_id: UUID
    source_id: UUID
    """The aggregate whose events say so: an acquisition says which asset acquired a dataset."""


EDGES = Table("provenance_edge", ProvenanceEdge, key=("from_id", "relation", "to_id", "source_id"))


def edges_from(
    from_id: UUID,
    relation: ProvenanceRelation,
    *to_ids: UUID | None,
    source_id: UUID | None = None,
) -> tuple[ProvenanceEdge, ...]:
    """Return the edges from one object to others; `source_id` is given if another says so."""
    named = sorted({id for id in to_ids if id is not None})
    source = source_id or from_id
    return tuple(ProvenanceEdge(from_id, relation, id, source_id=source) for id in named)


def inserted(edges: Iterable[ProvenanceEdge]) -> tuple[Insert, ...]:
    """Return the writes of these edges."""
    return tuple(EDGES.insert(edge) for edge in edges)


def key_of(edge: ProvenanceEdge) -> tuple[object, ...]:
    """Return the key by which an edge is deleted."""
    return edge.from_id, edge.relation, edge.to_id, edge.source_id


class Walk(Record):
    """Which edges of provenance a walk follows, and how far it goes."""

    start_ids: tuple[UUID, ...]
    upstream: bool
    """From an object to what it came of, or to what came of it."""
    depth: int
    most: int
    """The most edges that are returned, nearest first."""
    relations: tuple[ProvenanceRelation, ...] = tuple(ProvenanceRelation)


class WalkedEdge(Record):
    depth: int
    """The number of edges from the start to the far end of this one."""
    from_id: UUID
    relation: ProvenanceRelation
    to_id: UUID


class LineageReader(Protocol):
    """Walks along the edges of provenance."""

    async def walk(self, walk: Walk) -> Sequence[WalkedEdge]:
        """Return the edges that a walk meets, level by level."""
        ...

    async def uses(
        self, revision_id: UUID, after: UUID | None, limit: int, sight: Sight | None
    ) -> Sequence[WalkedEdge]:
        """Return a page of the runs and datasets that use a calibration revision, oldest first."""
        ...
