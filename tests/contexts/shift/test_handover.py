"""Handover: what one shift leaves to the next."""

import json
from datetime import datetime, timedelta
from uuid import UUID

import pytest
from tests.support.examples.run import a_held_run
from tests.support.service import Doing, call, memory_service
from tests.support.spec import NOW, Past, enrol

from beamkeep.contexts.caution.caution import (
    CautionCategory,
    CautionRegistered,
    CautionRetired,
    CautionSeverity,
    RetireReason,
    Target,
    TargetKind,
)
from beamkeep.contexts.equipment.asset import (
    AssetFaulted,
    AssetMaintenanceEntered,
    AssetRegistered,
    AssetTier,
)
from beamkeep.contexts.equipment.place import PLACES, Place
from beamkeep.contexts.federation.facility import (
    FacilityKind,
    FacilityNotFoundError,
    FacilityRegistered,
)
from beamkeep.contexts.run.run import RunCompleted, RunHeld, RunResumed, RunStarted
from beamkeep.contexts.safety.clearance import (
    AssetBinding,
    ClearanceActivated,
    ClearanceApproved,
    ClearanceRegistered,
    ClearanceReviewStarted,
    ClearanceSubmitted,
)
from beamkeep.contexts.shift.handover import (
    GetShiftHandover,
    InvalidShiftPeriodError,
    ShiftHandover,
    handover,
)
from beamkeep.contexts.supply.supply import (
    SupplyMarkedUnavailable,
    SupplyRegistered,
    SupplyStatus,
)
from beamkeep.contexts.trust.trigger import TriggerSource
from beamkeep.kernel import CLAIMS, Beside, Claim, Event, claim_key
from beamkeep.schemas import Json

pytestmark = pytest.mark.anyio

SITE, AREA, OTHER_SITE = UUID(int=1), UUID(int=2), UUID(int=3)
STAGE, OTHER_STAGE, RUN, OTHER_RUN = UUID(int=11), UUID(int=12), UUID(int=21), UUID(int=22)
CAUTION, SUPPLY, CLEARANCE, LATE = UUID(int=31), UUID(int=41), UUID(int=51), UUID(int=52)


def at(hours: float) -> datetime:
    return NOW + timedelta(hours=hours)


def started(run_id: UUID, asset_id: UUID, hours: float) -> RunStarted:
    plan, method, none = UUID(int=91), UUID(int=92), dict[str, Json]()
    what = (plan, None, method, (asset_id,), None, None, none, none, (), (), None)
    return RunStarted(at(hours), run_id, f"Run {run_id.int}", *what)


def clearance(id: UUID, until: float) -> list[Event]:
    bound = (AssetBinding(STAGE),)
    form = ("radiation", "area", f"Form {id.int}", bound, (), None, None, at(until), None)
    return [
        ClearanceRegistered(at(-40), id, *form),
        ClearanceSubmitted(at(-39), id),
        ClearanceReviewStarted(at(-38), id),
        ClearanceApproved(at(-37), id, None, at(until)),
        ClearanceActivated(at(-36), id),
    ]


PAST: list[Event | Beside] = [
    FacilityRegistered(at(-99), SITE, "site", "Site", FacilityKind.SITE, None),
    FacilityRegistered(at(-99), AREA, "area", "Area", FacilityKind.AREA, SITE),
    FacilityRegistered(at(-99), OTHER_SITE, "other", "Other", FacilityKind.SITE, None),
    CLAIMS.insert(Claim("facility-code", claim_key("site"), SITE)),
    CLAIMS.insert(Claim("facility-code", claim_key("other"), OTHER_SITE)),
    AssetRegistered(at(-98), STAGE, "Stage", AssetTier.UNIT, None, "area", (), None, None, ()),
    AssetRegistered(at(-98), OTHER_STAGE, "Far", AssetTier.UNIT, None, "other", (), None, None, ()),
    PLACES.insert(Place(STAGE, None, "area")),
    PLACES.insert(Place(OTHER_STAGE, None, "other")),
    started(RUN, STAGE, -1),
    RunHeld(at(1), RUN, "beam lost", None),
    RunResumed(at(2), RUN, None),
    RunCompleted(at(3), RUN),
    started(OTHER_RUN, OTHER_STAGE, 4),
    AssetFaulted(at(0.5), STAGE, "it stalls"),
    AssetMaintenanceEntered(at(9), STAGE),
    CautionRegistered(
        at(2.5),
        CAUTION,
        Target(TargetKind.ASSET, STAGE),
        CautionCategory.WEAR,
        CautionSeverity.WARNING,
        "Ask Grace",
        "Wait",
        (),
        None,
        False,
        UUID(int=9),
        None,
        None,
    ),
    CautionRetired(at(7), CAUTION, RetireReason.RESOLVED),
    SupplyRegistered(at(-90), SUPPLY, "photon_beam", "Ring", "site", None),
    SupplyMarkedUnavailable(
        at(1), SUPPLY, SupplyStatus.UNKNOWN, TriggerSource.OPERATOR, None, "dump"
    ),
    *clearance(CLEARANCE, until=20),
    *clearance(LATE, until=40),
]


async def told(code: str | None = None, hours: float = 8, since: float = 0) -> ShiftHandover:
    period = {"from": at(since), "to": at(since + hours), "facility_code": code}
    return await handover(GetShiftHandover.model_validate(period), Past(PAST))


async def test_a_shift_tells_what_started_and_what_ended_in_it():
    assert [(line.what, line.name) for line in (await told()).runs] == [
        ("RunCompleted", "Run 21"),
        ("RunStarted", "Run 22"),
    ]


async def test_a_shift_tells_what_was_held_and_why():
    lines = (await told()).holds
    assert [(line.what, line.why, line.link) for line in lines] == [
        ("RunHeld", "beam lost", f"/runs/{RUN}"),
        ("RunResumed", None, f"/runs/{RUN}"),
    ]


async def test_a_shift_tells_of_faults_supplies_and_cautions():
    found = await told()
    assert [(line.what, line.why) for line in found.equipment] == [("AssetFaulted", "it stalls")]
    assert [(line.what, line.name) for line in found.supplies] == [
        ("SupplyMarkedUnavailable", "Ring")
    ]
    assert [(line.what, line.why) for line in found.cautions] == [
        ("CautionRegistered", None),
        ("CautionRetired", "Resolved"),
    ]


async def test_what_a_caution_says_is_not_repeated():
    assert "Grace" not in repr(await told())


async def test_a_shift_tells_which_clearances_run_out_within_a_day_of_it():
    found = await told()
    assert [(line.id, line.at) for line in found.expiring] == [(CLEARANCE, at(20))]
    assert (await told(since=20)).expiring[0].id == LATE


async def test_what_happened_at_the_end_belongs_to_the_next_shift():
    assert [line.what for line in (await told(hours=1)).holds] == []
    assert [line.what for line in (await told(since=1, hours=1)).holds] == ["RunHeld"]


async def test_a_site_is_told_of_its_areas_and_of_nothing_else():
    found = await told("site")
    assert [line.id for line in found.runs] == [RUN]
    assert [line.id for line in found.equipment] == [STAGE]
    assert [line.id for line in found.supplies] == [SUPPLY]
    assert [line.id for line in found.expiring] == [CLEARANCE]
    assert {line.id for line in found.cautions} == {CAUTION}
    other = await told("other")
    assert [line.id for line in other.runs] == [OTHER_RUN]
    assert other.supplies == other.cautions == other.expiring == ()


async def test_an_unknown_facility_is_refused():
    with pytest.raises(FacilityNotFoundError):
        await told("nowhere")


@pytest.mark.parametrize("hours", [0, -1, 7 * 24 + 1])
async def test_a_shift_has_a_length(hours: float):
    with pytest.raises(InvalidShiftPeriodError):
        await told(hours=hours)


async def test_an_unknown_facility_is_told_before_a_bad_length():
    with pytest.raises(FacilityNotFoundError):
        await told("nowhere", hours=-1)


async def test_more_than_can_be_told_is_refused_and_not_cut(monkeypatch: pytest.MonkeyPatch):
    shown = await told()
    events = (*shown.runs, *shown.holds, *shown.equipment, *shown.cautions, *shown.supplies)
    monkeypatch.setattr("beamkeep.contexts.shift.handover.MOST_EVENTS", len(events))
    assert await told() == shown
    monkeypatch.setattr("beamkeep.contexts.shift.handover.MOST_EVENTS", len(events) - 1)
    with pytest.raises(InvalidShiftPeriodError):
        await told()


async def test_whoever_sees_only_their_own_is_told_only_of_their_own():
    service, store = await memory_service()
    run_id = await a_held_run(Doing(service, store))
    await enrol(service, "grace", "get_shift_handover", scope="Own")
    now = store.streams["Run", UUID(run_id)][0].occurred_at
    asked = {
        "from": (now - timedelta(hours=1)).isoformat(),
        "to": (now + timedelta(hours=1)).isoformat(),
    }
    everything = json.loads((await call(service, "get_shift_handover", asked)).body)
    own = json.loads((await call(service, "get_shift_handover", asked, subject="grace")).body)
    assert run_id in {line["id"] for line in everything["holds"]}
    assert own["holds"] == own["runs"] == []
