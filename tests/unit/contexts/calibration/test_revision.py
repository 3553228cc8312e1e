"""A revision is found by its own id, which is all that runs and datasets hold."""

from datetime import datetime
from uuid import UUID

import pytest

from beamkeep.contexts.calibration.calibration import (
    AssertedSource,
    CalibrationDefined,
    CalibrationRevisionAppended,
    CalibrationRevisionNotFoundError,
    RevisionStatus,
    calibration_ids,
)
from beamkeep.contexts.calibration.quantity import Quantity
from beamkeep.contexts.calibration.revision import (
    GetCalibrationRevision,
    RevisionShown,
    calibration_id,
    revision,
)
from beamkeep.contexts.run.run import RunStarted
from beamkeep.kernel import CLAIMS, Claim, Event, SideWrite
from beamkeep.testing.past import ABSENT, LATER, ME, NOW, Past

A, B, FIRST, SECOND, OTHER = (UUID(int=number) for number in range(1, 6))
CAMERA, AXIS = UUID(int=30), {"axis": "x"}
RUN_1, RUN_2 = UUID(int=61), UUID(int=62)


def appended(
    calibration_id: UUID, id: UUID, offset: float, supersedes: UUID | None = None
) -> tuple[Event | SideWrite, ...]:
    verified, asserted = RevisionStatus.VERIFIED, AssertedSource(ME)
    return (
        CalibrationRevisionAppended(
            LATER, calibration_id, id, {"offset": offset}, verified, asserted, NOW, supersedes, None
        ),
        CLAIMS.insert(Claim("calibration-revision", f'["{id}"]', calibration_id)),
    )


def run(id: UUID, *pinned: UUID, at: datetime = NOW) -> RunStarted:
    names = ("Scan", UUID(int=70), None, UUID(int=71), (CAMERA,), None, None)
    return RunStarted(at, id, *names, {}, {}, pinned, (), None)


PAST = Past(
    (
        run(RUN_2, FIRST, OTHER, at=LATER),
        run(RUN_1, FIRST),
        run(UUID(int=63), OTHER),
        run(UUID(int=64)),
        CalibrationDefined(NOW, A, CAMERA, Quantity.LINEAR_ENCODER_OFFSET, {**AXIS}, None),
        CalibrationDefined(NOW, B, CAMERA, Quantity.ROTARY_ENCODER_OFFSET, {**AXIS}, None),
        *appended(A, FIRST, 3.5),
        *appended(B, OTHER, 0.25),
        *appended(A, SECOND, 3.75, supersedes=FIRST),
        # A claim of another kind with the same key.
        CLAIMS.insert(Claim("calibration", f'["{ABSENT}"]', A)),
    )
)

pytestmark = pytest.mark.anyio


async def test_a_revision_is_shown_with_what_it_is_a_value_of():
    assert await revision(GetCalibrationRevision(revision_id=FIRST), PAST) == RevisionShown(
        revision_id=FIRST,
        value={"offset": 3.5},
        status=RevisionStatus.VERIFIED,
        source=AssertedSource(ME),
        established_at=NOW,
        supersedes_revision_id=None,
        decided_by_decision_id=None,
        superseded_by_revision_id=SECOND,
        calibration_id=A,
        asset_id=CAMERA,
        quantity=Quantity.LINEAR_ENCODER_OFFSET,
        operating_point={"axis": "x"},
    )


async def test_a_revision_that_does_not_exist_is_not_shown():
    with pytest.raises(CalibrationRevisionNotFoundError):
        await revision(GetCalibrationRevision(revision_id=ABSENT), PAST)


async def test_the_calibration_of_a_revision_is_found():
    assert await calibration_id(OTHER, PAST) == B


async def test_what_is_said_of_a_missing_revision_fits_a_hidden_one():
    with pytest.raises(CalibrationRevisionNotFoundError) as missing:
        await calibration_id(ABSENT, PAST)
    assert str(missing.value) == str(CalibrationRevisionNotFoundError())


async def test_the_calibrations_of_several_revisions_are_found():
    found = await calibration_ids([OTHER, FIRST, SECOND, FIRST], PAST)
    assert found == {OTHER: B, FIRST: A, SECOND: A}


async def test_the_first_revision_that_does_not_exist_is_named():
    with pytest.raises(CalibrationRevisionNotFoundError, match=str(ABSENT)):
        await calibration_ids([FIRST, ABSENT, A], PAST)


async def test_of_no_revisions_there_are_no_calibrations():
    assert await calibration_ids([], PAST) == {}
