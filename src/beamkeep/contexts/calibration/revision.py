"""Revision: one value of a constant, read by the id that runs and datasets hold."""

from uuid import UUID

from msgspec.structs import asdict

from beamkeep.kernel import Query, Reader, answers
from beamkeep.schemas import JsonObject

from .calibration import (
    CalibrationRevisionNotFoundError,
    Revision,
    calibration_ids,
    calibrations,
    revision_of,
)
from .quantity import Quantity


class GetCalibrationRevision(Query):
    """Show one revision, and the constant it is a value of."""

    revision_id: UUID


class RevisionShown(Revision, kw_only=True):
    calibration_id: UUID
    asset_id: UUID
    quantity: Quantity
    operating_point: JsonObject


async def calibration_id(revision_id: UUID, read: Reader) -> UUID:
    """The calibration a revision is of."""
    try:
        return (await calibration_ids([revision_id], read))[revision_id]
    except CalibrationRevisionNotFoundError:
        # In the same words as for a revision that the caller may not see.
        raise CalibrationRevisionNotFoundError from None


async def revision(query: GetCalibrationRevision, read: Reader) -> RevisionShown:
    """The revision with what it is a value of."""
    calibration = await read.one(calibrations, await calibration_id(query.revision_id, read))
    return RevisionShown(
        **asdict(revision_of(calibration, query.revision_id)),
        calibration_id=calibration.id,
        asset_id=calibration.asset_id,
        quantity=calibration.quantity,
        operating_point=calibration.operating_point,
    )


QUESTIONS = (
    answers(
        "GET /calibration-revisions/{revision_id}",
        GetCalibrationRevision,
        revision,
        RevisionShown,
        CalibrationRevisionNotFoundError,
        of=calibrations,
        about="revision_id",
        located=calibration_id,
    ),
)
