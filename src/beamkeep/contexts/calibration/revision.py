"""Revision: a value of a constant, shown by the id that runs and datasets store."""

from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from msgspec.structs import asdict

from beamkeep.contexts.data.dataset import datasets
from beamkeep.contexts.run.run import runs
from beamkeep.contexts.seams.installation import Reader, present
from beamkeep.contexts.seams.lineage import ENDS, ProvenanceKind
from beamkeep.kernel import Page, Query, Record, answers, listed
from beamkeep.schemas import JsonObject

from . import calibration
from .calibration import CalibrationRevisionNotFoundError, Revision, calibrations
from .quantity import Quantity


class UseKind(StrEnum):
    RUN = "Run"
    DATASET = "Dataset"


class GetCalibrationRevision(Query):
    """Show one calibration revision, with its calibration."""

    revision_id: UUID


class RevisionShown(Revision, kw_only=True):
    calibration_id: UUID
    asset_id: UUID
    quantity: Quantity
    operating_point: JsonObject


class ListCalibrationUses(Page):
    """List the runs and datasets that use a calibration revision, oldest first."""

    revision_id: UUID


class CalibrationUse(Record):
    id: UUID
    kind: UseKind
    created_at: datetime
    name: str
    state: str


async def calibration_id(revision_id: UUID, read: Reader) -> UUID:
    """Return the calibration of a revision."""
    try:
        return (await calibration.calibration_ids([revision_id], read))[revision_id]
    except CalibrationRevisionNotFoundError:
        # The answer is the same as for a revision that the caller may not see.
        raise CalibrationRevisionNotFoundError from None


async def revision(query: GetCalibrationRevision, read: Reader) -> RevisionShown:
    """Return the revision with its calibration."""
    of = await read.one(calibrations, await calibration_id(query.revision_id, read))
    found = calibration.revision_of(of, query.revision_id)
    return RevisionShown.of(of, **asdict(found), calibration_id=of.id)


async def uses(query: ListCalibrationUses, read: Reader) -> Sequence[CalibrationUse]:
    """Return a page of what used the revision, also after another revision supersedes it."""
    after = UUID(query.cursor) if query.cursor else None
    # One more than is shown tells whether another page follows.
    lineage, most = present(read.readers.lineage), query.limit + 1
    edges = await lineage.uses(query.revision_id, after, most, read.sight)
    users = {edge.from_id: ENDS[edge.relation][0] for edge in edges}
    used_by_runs = [id for id, kind in users.items() if kind is ProvenanceKind.RUN]
    made_with = [id for id, kind in users.items() if kind is ProvenanceKind.DATASET]
    found = {**await read.many(runs, used_by_runs), **await read.many(datasets, made_with)}
    return [
        CalibrationUse.of(found[id], kind=UseKind(kind), state=found[id].status)
        for id, kind in users.items()
    ]


# fmt: off
QUESTIONS = (
    answers("GET /calibration-revisions/{revision_id}", GetCalibrationRevision, revision,
        RevisionShown, CalibrationRevisionNotFoundError, of=calibrations, about="revision_id",
        parent_of=calibration_id),
    listed("GET /calibration-revisions/{revision_id}/uses", ListCalibrationUses, uses,
        CalibrationUse, CalibrationRevisionNotFoundError, of=calibrations, about="revision_id",
        parent_of=calibration_id, composed_of=("Dataset", "Run")),
)
# fmt: on
