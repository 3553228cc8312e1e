"""Provenance of any object: what it came of, and what came of it."""

from collections.abc import Callable, Mapping
from datetime import datetime
from uuid import UUID

from beamkeep.contexts.calibration.calibration import (
    CalibrationRevisionNotFoundError,
    calibration_ids,
    calibrations,
    revision_of,
)
from beamkeep.contexts.data.dataset import Dataset, DatasetNotFoundError, datasets
from beamkeep.contexts.data.edition import Edition, EditionNotFoundError
from beamkeep.contexts.equipment.asset import Asset, AssetNotFoundError
from beamkeep.contexts.run.run import Run, RunNotFoundError
from beamkeep.contexts.seams.installation import Reader
from beamkeep.contexts.seams.lineage import ProvenanceKind, ProvenanceRelation
from beamkeep.contexts.subject.subject import Subject, SubjectNotFoundError
from beamkeep.kernel import Query, Record, answers

from .lineage import OF_LINEAGE
from .walking import AGGREGATES, ShownEdge, WalkDepth, WalkDirection, walked

type NodeLabel = tuple[str, str, datetime | None]
"""Name, state and time of an object."""


class GetProvenance(Query):
    """Show what an object came of, and what came of it."""

    kind: ProvenanceKind
    id: UUID
    direction: WalkDirection = WalkDirection.BOTH
    depth: WalkDepth = 3


class ProvenanceNode(Record):
    kind: ProvenanceKind
    id: UUID
    name: str
    state: str
    at: datetime | None
    """When it was made, if that is known."""
    depth: int
    """Negative for what the object came of."""


class ProvenanceGraph(Record):
    kind: ProvenanceKind
    id: UUID
    truncated: bool
    """Whether there is more than is shown."""
    nodes: tuple[ProvenanceNode, ...]
    edges: tuple[ShownEdge, ...]


def _dataset(it: Dataset) -> NodeLabel:
    return it.name, it.status, it.created_at


def _run(it: Run) -> NodeLabel:
    return it.name, it.status, it.created_at


def _subject(it: Subject) -> NodeLabel:
    return it.name, it.status, None


def _asset(it: Asset) -> NodeLabel:
    return it.name, it.lifecycle, None


def _edition(it: Edition) -> NodeLabel:
    return it.title, it.status, it.created_at


NAMED: Mapping[ProvenanceKind, Callable[..., NodeLabel]] = {
    ProvenanceKind.DATASET: _dataset,
    ProvenanceKind.RUN: _run,
    ProvenanceKind.SUBJECT: _subject,
    ProvenanceKind.ASSET: _asset,
    ProvenanceKind.EDITION: _edition,
}


async def provenance(query: GetProvenance, read: Reader) -> ProvenanceGraph:
    """Return the objects around one that the caller may see."""
    start = query.id, query.kind
    await _require_seen(*start, read)
    found = await walked(start, query.direction, query.depth, ProvenanceRelation, read)
    named = await _named(found.kinds, read)
    nodes = [
        ProvenanceNode(found.kinds[id], id, *named[id], depth=found.depths[id])
        for id in sorted(named, key=lambda it: (found.depths[it], it))
    ]
    return ProvenanceGraph(
        query.kind, query.id, found.truncated, nodes=tuple(nodes), edges=found.edges
    )


async def _require_seen(id: UUID, kind: ProvenanceKind, read: Reader) -> None:
    if (aggregate := AGGREGATES.get(kind)) is not None:
        await read.one(aggregate, id, to_show=True)
        return
    calibration_id = (await calibration_ids([id], read))[id]
    if calibration_id not in await read.visible(calibrations, [calibration_id]):
        raise CalibrationRevisionNotFoundError(f"There is no calibration revision {id}.")


async def _named(kinds: Mapping[UUID, ProvenanceKind], read: Reader) -> Mapping[UUID, NodeLabel]:
    named: dict[UUID, NodeLabel] = {}
    for kind, aggregate in AGGREGATES.items():
        ids = [id for id, its in kinds.items() if its is kind]
        found = await read.many(aggregate, ids)
        named |= {id: NAMED[kind](state) for id, state in found.items()}
    revisions = [id for id, kind in kinds.items() if kind is ProvenanceKind.CALIBRATION_REVISION]
    if revisions:
        of = await calibration_ids(revisions, read)
        states = await read.many(calibrations, sorted({*of.values()}))
        for id in revisions:
            state = states[of[id]]
            revision = revision_of(state, id)
            named[id] = str(state.quantity), str(revision.status), revision.established_at
    return named


QUESTIONS = (
    answers(
        "GET /provenance",
        GetProvenance,
        provenance,
        ProvenanceGraph,
        DatasetNotFoundError,
        RunNotFoundError,
        SubjectNotFoundError,
        AssetNotFoundError,
        EditionNotFoundError,
        CalibrationRevisionNotFoundError,
        of=datasets,
        about=None,
        title="Show provenance",
        composed_of=(*OF_LINEAGE, "Asset", "Calibration", "Subject"),
    ),
)
