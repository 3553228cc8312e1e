"""Which cautions whoever works on given assets should see, and how a list finds them."""

from datetime import timedelta
from uuid import UUID

import pytest

from beamkeep.contexts.caution.caution import (
    IN_EFFECT,
    QUESTIONS,
    CautionCategory,
    CautionRegistered,
    CautionRetired,
    CautionSeverity,
    CautionSuperseded,
    ListCautions,
    RetireReason,
    Target,
    TargetKind,
    begin,
)
from beamkeep.contexts.caution.coverage import cautions_covering
from beamkeep.contexts.seams.place import PLACES, AssetPlace
from beamkeep.kernel import Event, Many, SideWrite, UnnamedListing, replace
from beamkeep.testing.past import ABSENT, LATER, ME, NOW, Past

pytestmark = pytest.mark.anyio

BEAMLINE, STAGE, LENS, CAMERA = (UUID(int=n) for n in range(30, 34))
ON_LINE, DOWN_FROM_LINE, ON_STAGE, ON_LENS, ON_PROCEDURE = (UUID(int=n) for n in range(50, 55))
OVER, GONE, REPLACED = (UUID(int=n) for n in range(60, 63))
SOMEONE = UUID(int=8)
NOTICE, CAUTION, WARNING = CautionSeverity

# A lens stands on a stage and the stage in a beamline, with a camera beside the stage.
TREE: tuple[Event | SideWrite, ...] = (
    PLACES.insert(AssetPlace(BEAMLINE, None, "ring")),
    PLACES.insert(AssetPlace(STAGE, BEAMLINE, None)),
    PLACES.insert(AssetPlace(LENS, STAGE, None)),
    PLACES.insert(AssetPlace(CAMERA, BEAMLINE, None)),
)


def caution(id: UUID, asset_id: UUID, **changes: object) -> CautionRegistered:
    target, category = Target(TargetKind.ASSET, asset_id), CautionCategory.WEAR
    quirk = CautionRegistered(
        NOW, id, target, category, NOTICE, "It sticks.", "Tap.", (), None, False, ME, None, None
    )
    return replace(quirk, **changes)


CAUTIONS = (
    caution(ON_LINE, BEAMLINE, severity=WARNING, category=CautionCategory.WIRING),
    caution(DOWN_FROM_LINE, BEAMLINE, propagate_to_children=True, tags=("thermal", "slow")),
    caution(ON_STAGE, STAGE, severity=CAUTION, expires_at=LATER, authored_by=SOMEONE),
    caution(ON_LENS, LENS),
    caution(ON_PROCEDURE, STAGE, target=Target(TargetKind.PROCEDURE, ABSENT)),
    caution(OVER, STAGE, expires_at=NOW),
    caution(GONE, STAGE),
    CautionRetired(NOW, GONE, RetireReason.RESOLVED),
    caution(REPLACED, STAGE),
    CautionSuperseded(NOW, REPLACED, ON_STAGE),
)
PAST = Past((*TREE, *CAUTIONS))


async def covering(*asset_ids: UUID) -> list[UUID]:
    return [each.id for each in await cautions_covering(asset_ids, PAST)]


async def test_a_caution_covers_its_asset_and_below_it_only_where_it_reaches_down():
    assert await covering(BEAMLINE) == [ON_LINE, DOWN_FROM_LINE]
    assert await covering(CAMERA) == [DOWN_FROM_LINE]
    assert await covering(LENS) == [DOWN_FROM_LINE, ON_LENS]


async def test_a_caution_does_not_reach_up_or_sideways():
    assert ON_LENS not in await covering(STAGE)
    assert ON_STAGE not in await covering(CAMERA)


async def test_the_gravest_cautions_come_first_and_the_older_of_equals():
    assert await covering(LENS, STAGE, BEAMLINE) == [ON_LINE, ON_STAGE, DOWN_FROM_LINE, ON_LENS]


async def test_a_caution_whose_time_is_over_or_that_has_ended_covers_nothing():
    assert await covering(STAGE) == [ON_STAGE, DOWN_FROM_LINE]


async def test_work_on_nothing_has_no_cautions():
    assert await covering() == []
    assert await covering(ABSENT) == []


async def test_a_caution_moves_with_the_tree():
    moved = PLACES.replace(AssetPlace(CAMERA, STAGE, None))
    reaching = caution(UUID(int=70), STAGE, propagate_to_children=True)
    before, after = Past((*TREE, reaching)), Past((*TREE, reaching, moved))
    assert await cautions_covering([CAMERA], before) == []
    assert await cautions_covering([CAMERA], after) == [begin(reaching)]


class StaleList(Past):
    """A past whose lists have not followed: they find every caution, whatever became of it."""

    async def matching(
        self, query: UnnamedListing, to_show: bool = False, most: int = 0, newest: bool = False
    ) -> tuple[UUID, ...]:
        return ON_STAGE, OVER, GONE, REPLACED


async def test_what_the_list_finds_counts_only_as_its_stream_says():
    found = await cautions_covering([STAGE], StaleList((*TREE, *CAUTIONS)))
    assert [each.id for each in found] == [ON_STAGE]


async def test_a_caution_is_in_effect_until_it_ends():
    quirk, moment = begin(caution(ON_STAGE, STAGE, expires_at=LATER)), timedelta(microseconds=1)
    assert IN_EFFECT.holds_of(quirk, LATER - moment)
    assert not IN_EFFECT.holds_of(quirk, LATER)
    assert IN_EFFECT.holds_of(replace(quirk, expires_at=None), LATER)


async def listed(**filters: object) -> list[UUID]:
    return sorted(await PAST.matching(ListCautions.model_validate(filters)))


async def test_a_list_finds_cautions_by_what_they_are():
    assert await listed(status="Retired") == [GONE]
    assert await listed(category="Wiring") == [ON_LINE]
    assert await listed(tag="thermal") == [DOWN_FROM_LINE]
    assert await listed(authored_by=SOMEONE) == [ON_STAGE]


async def test_a_list_finds_cautions_of_a_severity_or_worse():
    assert await listed(min_severity="Warning") == [ON_LINE]
    assert await listed(min_severity="Caution") == [ON_LINE, ON_STAGE]
    assert len(await listed(min_severity="Notice")) == len(await listed()) == 8


async def test_a_list_finds_cautions_by_what_they_are_about():
    assert await listed(target_kind="Procedure") == [ON_PROCEDURE]
    assert await listed(target_id=[LENS, ABSENT]) == [ON_LENS, ON_PROCEDURE]


async def test_a_list_finds_the_cautions_of_an_asset_with_those_that_reach_it():
    assert await listed(covering_asset_id=BEAMLINE) == [ON_LINE, DOWN_FROM_LINE]
    assert await listed(covering_asset_id=CAMERA) == [DOWN_FROM_LINE]
    assert await listed(covering_asset_id=LENS) == [DOWN_FROM_LINE, ON_LENS]
    assert await listed(covering_asset_id=ABSENT) == []


async def test_a_list_finds_the_cautions_in_effect():
    assert await listed(in_effect=True, target_id=[STAGE]) == [ON_STAGE]
    assert await listed(in_effect=False) == [OVER, GONE, REPLACED]


def test_a_list_shows_when_the_status_last_changed():
    source = QUESTIONS[2].source
    assert isinstance(source, Many)
    milestones = {name: set(events) for name, events in source.view.milestones.items()}
    assert milestones == {"last_status_changed_at": {CautionSuperseded, CautionRetired}}
