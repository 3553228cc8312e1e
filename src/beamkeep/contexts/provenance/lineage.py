"""Lineage of a dataset: the datasets it was derived from, and those derived from it."""

from uuid import UUID

from beamkeep.contexts.data.dataset import DatasetStatus, datasets
from beamkeep.contexts.seams.custody_rules import DatasetIntent
from beamkeep.contexts.seams.installation import Reader, present
from beamkeep.contexts.seams.lineage import ProvenanceKind, ProvenanceRelation, Walk
from beamkeep.kernel import Query, Record, answers

from .walking import (
    MOST_EDGES,
    ShownEdge,
    WalkDepth,
    WalkDirection,
    edges_in_order,
    walked,
)

DERIVED = (ProvenanceRelation.DERIVED_FROM,)
AROUND = (
    ProvenanceRelation.PRODUCED_BY,
    ProvenanceRelation.ACQUIRED_BY,
    ProvenanceRelation.ABOUT,
    ProvenanceRelation.USED_CALIBRATION,
)


class GetDatasetLineage(Query):
    """Show from what a dataset was derived, and what was derived from it."""

    dataset_id: UUID
    direction: WalkDirection = WalkDirection.BOTH
    depth: WalkDepth = 3


class LineageNode(Record):
    dataset_id: UUID
    name: str
    depth: int
    """Negative for datasets that it was derived from."""
    status: DatasetStatus
    intent: DatasetIntent


class DatasetLineage(Record):
    dataset_id: UUID
    truncated: bool
    """Whether there is more than is shown."""
    nodes: tuple[LineageNode, ...]
    edges: tuple[ShownEdge, ...]


async def dataset_lineage(query: GetDatasetLineage, read: Reader) -> DatasetLineage:
    """Return the datasets around one, and the run, asset, subject and calibrations of each."""
    start = query.dataset_id, ProvenanceKind.DATASET
    found = await walked(start, query.direction, query.depth, DERIVED, read)
    ids = tuple(found.depths)
    around = await present(read.readers.lineage).walk(
        Walk(ids, upstream=True, depth=1, most=8 * MOST_EDGES, relations=AROUND)
    )
    edges = {*found.edges, *(ShownEdge.of(edge) for edge in around)}
    states = await read.many(datasets, ids)
    nodes = [
        LineageNode.of(states[id], dataset_id=id, depth=found.depths[id])
        for id in sorted(ids, key=lambda it: (found.depths[it], it))
    ]
    return DatasetLineage(
        query.dataset_id, found.truncated, nodes=tuple(nodes), edges=edges_in_order(edges)
    )


OF_LINEAGE = ("Acquisition", "Attestation", "Distribution", "Edition", "Run")
QUESTIONS = (
    answers(
        "GET /datasets/{dataset_id}/lineage",
        GetDatasetLineage,
        dataset_lineage,
        DatasetLineage,
        of=datasets,
        about="dataset_id",
        composed_of=OF_LINEAGE,
    ),
)
