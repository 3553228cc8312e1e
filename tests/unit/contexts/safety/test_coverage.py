"""Which clearances say something about given work, and how a list finds them."""

from datetime import timedelta
from uuid import UUID

import pytest

from beamkeep.contexts.safety.clearance import (
    IN_FORCE,
    QUESTIONS,
    AssetBinding,
    Binding,
    BindingKind,
    ClearanceActivated,
    ClearanceApproved,
    ClearanceExpired,
    ClearanceRegistered,
    ClearanceRejected,
    ClearanceReviewStarted,
    ClearanceStatus,
    ClearanceSubmitted,
    ClearanceSuperseded,
    ExternalBinding,
    ListClearances,
    RiskBand,
    RunBinding,
    SubjectBinding,
    begin,
)
from beamkeep.contexts.safety.coverage import clearances_covering
from beamkeep.contexts.seams.place import PLACES, AssetPlace
from beamkeep.kernel import Event, Many, SideWrite, UnnamedListing, replace
from beamkeep.testing.past import ABSENT, LATER, NOW, Past

pytestmark = pytest.mark.anyio

BEAMLINE, STAGE, LENS, OTHER_LINE = (UUID(int=n) for n in range(30, 34))
FOSSIL, SCAN = UUID(int=40), UUID(int=41)
ON_LINE, ON_STAGE, ON_FOSSIL, ON_SCAN, ON_PAPER = (UUID(int=n) for n in range(50, 55))
EARLIER = NOW - timedelta(days=1)

# A lens stands on a stage, the stage in a beamline; another beamline has nothing in it.
TREE: tuple[Event | SideWrite, ...] = (
    PLACES.insert(AssetPlace(BEAMLINE, None, "ring")),
    PLACES.insert(AssetPlace(STAGE, BEAMLINE, None)),
    PLACES.insert(AssetPlace(LENS, STAGE, None)),
    PLACES.insert(AssetPlace(OTHER_LINE, None, "ring")),
)


def clearance(id: UUID, *bindings: Binding, **changes: object) -> ClearanceRegistered:
    paper = ClearanceRegistered(
        NOW, id, "radiation", "ring", "Salts", bindings, (), None, None, None, None
    )
    return replace(paper, **changes)


CLEARANCES = (
    clearance(ON_LINE, AssetBinding(BEAMLINE), valid_until=LATER),
    ClearanceActivated(NOW, ON_LINE),
    clearance(ON_STAGE, AssetBinding(STAGE), SubjectBinding(FOSSIL), risk_band=RiskBand.RED),
    clearance(ON_FOSSIL, SubjectBinding(FOSSIL), kind="biology", valid_until=EARLIER),
    ClearanceExpired(NOW, ON_FOSSIL, "over"),
    clearance(ON_SCAN, RunBinding(SCAN), facility_code="annex"),
    ClearanceSubmitted(NOW, ON_SCAN),
    clearance(ON_PAPER, ExternalBinding("asset", str(BEAMLINE)), parent_id=ON_LINE),
    ClearanceActivated(NOW, ON_PAPER),
)
PAST = Past((*TREE, *CLEARANCES))


async def covering(subject_id: UUID | None, *asset_ids: UUID) -> list[UUID]:
    return sorted(await clearances_covering(subject_id, asset_ids, PAST))


async def test_where_no_clearance_is_in_force_all_bound_clearances_are_named():
    assert await covering(FOSSIL) == [ON_STAGE, ON_FOSSIL]
    assert await covering(None, STAGE) == [ON_STAGE]


async def test_where_one_is_in_force_no_other_is_looked_at():
    assert await covering(FOSSIL, BEAMLINE, STAGE) == [ON_LINE]


class Lagging(Past):
    """A past whose lists have not heard yet that a clearance ended, or began."""

    async def matching(
        self, query: UnnamedListing, to_show: bool = False, most: int = 10_000, newest: bool = False
    ) -> tuple[UUID, ...]:
        if isinstance(query, ListClearances) and query.in_force:
            return (ON_FOSSIL,)
        return await super().matching(query, to_show, most)


async def test_a_list_that_lags_hides_no_clearance_that_is_in_force():
    past = Lagging((*TREE, *CLEARANCES))
    found = await clearances_covering(FOSSIL, (BEAMLINE, STAGE), past)
    assert sorted(found) == [ON_LINE, ON_STAGE, ON_FOSSIL]


async def test_of_very_many_that_are_not_in_force_the_latest_are_named():
    ids = [UUID(int=n) for n in range(5000, 5201)]
    papers = [clearance(id, SubjectBinding(FOSSIL)) for id in ids]
    found = await clearances_covering(FOSSIL, (), Past((*TREE, *papers)))
    assert sorted(found) == ids[1:]


async def test_a_clearance_that_covers_is_shown_as_its_stream_says():
    (found,) = (await clearances_covering(None, [BEAMLINE], PAST)).values()
    assert found == replace(begin(CLEARANCES[0]), status=ClearanceStatus.ACTIVE)


async def test_the_caller_widens_the_assets_not_the_look_up():
    assert await covering(None, LENS) == []


async def test_work_on_nothing_is_covered_by_nothing():
    assert await covering(None) == []


async def test_a_clearance_is_in_force_while_it_is_active_and_its_time_is_not_over():
    form = begin(clearance(ON_LINE, valid_from=NOW, valid_until=LATER))
    paper, moment = replace(form, status=ClearanceStatus.ACTIVE), timedelta(microseconds=1)
    times = {NOW - moment: False, NOW: True, LATER - moment: True, LATER: False}
    for now, expected in times.items():
        assert IN_FORCE.holds_of(paper, now) is expected
    assert IN_FORCE.holds_of(replace(paper, valid_from=None), NOW - moment)
    assert IN_FORCE.holds_of(replace(paper, valid_until=None), LATER)
    for status in {*ClearanceStatus} - {ClearanceStatus.ACTIVE}:
        assert not IN_FORCE.holds_of(replace(paper, status=status), NOW)


async def listed(**filters: object) -> list[UUID]:
    return sorted(await PAST.matching(ListClearances.model_validate(filters)))


async def test_a_list_finds_clearances_by_what_they_are():
    assert await listed(status=["Submitted", "Expired"]) == [ON_FOSSIL, ON_SCAN]
    assert await listed(kind="biology") == [ON_FOSSIL]
    assert await listed(facility_code="annex") == [ON_SCAN]
    assert await listed(risk_band="Red") == [ON_STAGE]
    assert await listed(parent_id=ON_LINE) == [ON_PAPER]


async def test_a_list_finds_clearances_by_what_they_are_bound_to():
    assert await listed(binding_kind="Subject") == [ON_STAGE, ON_FOSSIL]
    assert await listed(binding_kind="External") == [ON_PAPER]
    assert await listed(binding_id=[STAGE, SCAN]) == [ON_STAGE, ON_SCAN]
    assert await listed(binding_kind=BindingKind.ASSET, binding_id=[BEAMLINE]) == [ON_LINE]
    assert await listed(binding_id=[LENS]) == []


async def test_a_list_finds_the_clearances_of_an_asset_and_of_all_it_stands_under():
    assert await listed(covering_asset_id=LENS) == [ON_LINE, ON_STAGE]
    assert await listed(covering_asset_id=BEAMLINE) == [ON_LINE]
    assert await listed(covering_asset_id=OTHER_LINE) == []
    assert await listed(covering_asset_id=ABSENT) == []


async def test_a_list_finds_the_clearances_in_force():
    assert await listed(in_force=True) == [ON_LINE, ON_PAPER]
    assert await listed(in_force=False) == [ON_STAGE, ON_FOSSIL, ON_SCAN]


async def test_a_list_finds_the_clearances_that_end_by_a_time():
    assert await listed(valid_until_before=LATER) == [ON_LINE, ON_FOSSIL]
    assert await listed(valid_until_before=NOW) == [ON_FOSSIL]


def test_a_list_shows_when_the_status_last_changed():
    source = QUESTIONS[2].source
    assert isinstance(source, Many)
    found = {name: {*events} for name, events in source.view.milestones.items()}
    reviewed = {ClearanceSubmitted, ClearanceReviewStarted, ClearanceApproved, ClearanceRejected}
    ended = {ClearanceActivated, ClearanceExpired, ClearanceSuperseded}
    assert found == {"last_status_changed_at": reviewed | ended}
