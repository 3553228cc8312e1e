"""Board: how one beamline stands, as far as the caller may see."""

import json
from typing import Any

import pytest
from tests.support.examples.assets import BEAMLINE, a_part, a_registered_asset
from tests.support.examples.board import a_beamline_in_use
from tests.support.examples.enclosure import a_permitted_enclosure, an_enclosure
from tests.support.examples.run import SAMPLED, some_readings
from tests.support.examples.trust import ENTRY, policy_for, the_caller

from beamkeep.contexts.board.board import MOST, AssetHasNoBoardError
from beamkeep.contexts.federation.facility import FacilityNotFoundError
from beamkeep.testing.service import AdminClient, call, enrol, memory_service, permit

pytestmark = pytest.mark.anyio

PARTS = {
    "plans": "get_plan_readiness",
    "supplies": "list_supplies",
    "enclosures": "list_enclosures",
    "clearances": "list_clearances",
    "cautions": "list_cautions",
    "surfaces": "list_surfaces",
    "runs": "list_runs",
    "procedures": "list_procedures",
    "assets": "list_assets",
}


class Beamline:
    """A service with a beamline on which a run is held."""

    def __init__(self, do: AdminClient, asset_id: str) -> None:
        self.do, self.asset_id = do, asset_id

    async def registers(self, asset: dict[str, Any]) -> dict[str, str]:
        """Register an asset of a new family."""
        return {"asset_id": await a_registered_asset(self.do, **asset)}

    async def board(self, **more: Any) -> dict[str, Any]:
        return await self.do("get_board", {"asset_id": self.asset_id, **more})


@pytest.fixture
async def beamline() -> Beamline:
    do = AdminClient(*await memory_service())
    return Beamline(do, await a_beamline_in_use(do))


async def test_a_board_shows_the_held_run_with_its_reason_and_last_reading(beamline: Beamline):
    (run,) = (await beamline.board())["runs"]
    assert (run["name"], run["status"], run["reason"]) == ("Night 1", "Held", "Beam lost")
    assert run["last_observation"] is None
    await beamline.do("resume_run", {"run_id": run["id"]})
    readings = await some_readings(beamline.do)
    await beamline.do("append_observations", {"run_id": run["id"], "entries": readings})
    (resumed,) = (await beamline.board())["runs"]
    assert (resumed["status"], resumed["reason"]) == ("Running", None)
    assert resumed["since"] > run["since"]
    assert resumed["last_observation"]["channel_name"] == "Photon energy", "the newest"


async def test_a_board_shows_how_far_a_run_has_come(beamline: Beamline):
    (held,) = (await beamline.board())["runs"]
    assert held["progress"] is None
    await beamline.do("stop_run", {"run_id": held["id"], "reason": "Enough"})
    counted = {"progress": {"channel_name": "Shutter", "of": 4.0}}
    told = {"name": "Night 2", "plan_id": held["plan_id"]}
    started = await beamline.do("start_run", told | counted)
    (run,) = (await beamline.board())["runs"]
    assert run["progress"] == {"channel_name": "Shutter", "value": None, "of": 4.0}
    readings = await some_readings(beamline.do)
    readings += await some_readings(beamline.do)
    readings[-1] |= {"value": 3.0, "sampled_at": "2030-01-31T07:29:30Z"}
    await beamline.do("append_observations", {"run_id": started["run_id"], "entries": readings})
    (run,) = (await beamline.board())["runs"]
    assert run["progress"] == {"channel_name": "Shutter", "value": 3.0, "of": 4.0}


async def test_a_run_that_ended_is_not_on_the_board(beamline: Beamline):
    (run,) = (await beamline.board())["runs"]
    await beamline.do("stop_run", {"run_id": run["id"], "reason": "Enough"})
    assert (await beamline.board())["runs"] == []


async def test_a_board_shows_the_readiness_of_the_plan_of_the_run(beamline: Beamline):
    board = await beamline.board()
    (shown,) = board["plans"]
    assert shown["plan_id"] == board["runs"][0]["plan_id"]
    asked = await beamline.do("get_plan_readiness", {"plan_id": shown["plan_id"]})
    assert shown == asked
    assert board["ready"] is shown["ready"] is True


async def test_without_a_run_the_board_shows_the_plan_that_ran_last(beamline: Beamline):
    (run,) = (await beamline.board())["runs"]
    await beamline.do("stop_run", {"run_id": run["id"], "reason": "Enough"})
    assert [each["plan_id"] for each in (await beamline.board())["plans"]] == [run["plan_id"]]


async def test_a_beamline_that_never_ran_has_no_verdict(beamline: Beamline):
    new = await beamline.registers(BEAMLINE | {"name": "New"})
    board = await beamline.do("get_board", new)
    assert (board["ready"], board["plans"], board["runs"]) == (None, [], [])


async def test_a_board_shows_equipment_that_fails_or_is_in_maintenance(beamline: Beamline):
    part = {"name": "Camera", "tier": "Device", "parent_id": beamline.asset_id}
    camera = await beamline.registers(part)
    assert (await beamline.board())["assets"] == []
    await beamline.do("degrade_asset", {**camera, "reason": "Hot pixels"})
    (shown,) = (await beamline.board())["assets"]
    assert (shown["name"], shown["condition"]) == ("Camera", "Degraded")
    assert shown["condition_reason"] == "Hot pixels"


async def test_a_board_shows_the_hutch_in_which_its_assets_stand(beamline: Beamline):
    hutch = await a_permitted_enclosure(beamline.do)
    await a_permitted_enclosure(beamline.do)
    part = {"name": "Camera", "tier": "Device", "parent_id": beamline.asset_id}
    await beamline.registers(part | {"located_in_enclosure_id": hutch})
    (shown,) = (await beamline.board())["enclosures"]
    assert (shown["id"], shown["permit_status"], shown["stale"]) == (hutch, "Permitted", False)
    assert shown["since"]


async def test_a_board_shows_supplies_of_the_site_and_of_this_beamline_only(beamline: Beamline):
    asset = await beamline.do("get_asset", {"asset_id": beamline.asset_id})
    other = await beamline.registers(BEAMLINE | {"name": "Other"})
    beam = {"name": "Ring", "kind": "photon_beam", "facility_code": asset["facility_code"]}
    await beamline.do("register_supply", beam)
    await beamline.do(
        "register_supply", beam | {"name": "Own", "containing_asset_id": beamline.asset_id}
    )
    far = {"name": "Far", "containing_asset_id": other["asset_id"]}
    await beamline.do("register_supply", beam | far)
    shown = {each["name"]: each["status"] for each in (await beamline.board())["supplies"]}
    assert shown == {"Own": "Unknown", "Ring": "Unknown"}


async def test_a_board_shows_cautions_on_the_beamline_and_below(beamline: Beamline):
    part = {"name": "Camera", "tier": "Device", "parent_id": beamline.asset_id}
    camera = await beamline.registers(part)
    far = await beamline.registers(BEAMLINE | {"name": "Far"})
    for id, severity in ((camera["asset_id"], "Caution"), (far["asset_id"], "Warning")):
        told = {"text": "Do not touch", "workaround": "Wait", "category": "Wear"}
        target = {"kind": "Asset", "id": id}
        await beamline.do("register_caution", {**told, "target": target, "severity": severity})
    (shown,) = (await beamline.board())["cautions"]
    assert (shown["severity"], shown["target"]["id"]) == ("Caution", camera["asset_id"])


async def test_a_board_shows_who_controls_its_surface(beamline: Beamline):
    assert (await beamline.board())["surfaces"] == []
    here = {"name": "Console", "kind": "HTTP", "conduit_id": ENTRY}
    surface = await beamline.do("define_surface", here | {"unit_asset_id": beamline.asset_id})
    (free,) = (await beamline.board())["surfaces"]
    assert (free["name"], free["controlling_visit_id"], free["visit"]) == ("Console", None, None)
    me = await the_caller(beamline.do)
    policy_id = await policy_for(beamline.do, me, surface["surface_id"])
    stay = {"planned_start_at": SAMPLED, "planned_end_at": "2030-02-01T07:30:00Z", "type": "user"}
    place = {"policy_id": policy_id, "parent_surface_id": surface["surface_id"]}
    told = stay | place | {"external_refs": {"proposal": "20300131"}}
    visit = await beamline.do("register_visit", told)
    await beamline.do("record_visit_arrival", visit)
    await beamline.do("take_visit_surface_control", visit)
    (taken,) = (await beamline.board())["surfaces"]
    assert taken["controlling_visit_id"] == visit["visit_id"]
    assert taken["visit"]["external_refs"] == {"proposal": "20300131"}


async def test_a_board_shows_a_procedure_until_it_has_ended(beamline: Beamline):
    work = {"name": "Align", "kind": "alignment", "target_asset_ids": [beamline.asset_id]}
    made = await beamline.do("register_procedure", work)
    assert (await beamline.board())["procedures"] == [], "it has not started"
    await beamline.do("start_procedure", made)
    (shown,) = (await beamline.board())["procedures"]
    assert (shown["name"], shown["status"], shown["conduct_id"]) == ("Align", "Running", None)
    await beamline.do("complete_procedure", made)
    assert (await beamline.board())["procedures"] == []


async def test_what_ended_is_not_on_the_board_while_its_list_lags_behind(
    monkeypatch: pytest.MonkeyPatch,
):
    service, store = await memory_service()
    do = AdminClient(service, store)
    beamline = Beamline(do, await a_beamline_in_use(do))
    work = {"name": "Align", "kind": "alignment", "target_asset_ids": [beamline.asset_id]}
    made = await do("register_procedure", work)
    await do("start_procedure", made)
    listing, before = store.listing, dict[object, Any]()

    async def lagging(view: Any, list_filter: Any, *more: Any) -> Any:
        found = await listing(view, list_filter, *more)
        return before.setdefault((view.name, list_filter.every, list_filter.groups), found)

    monkeypatch.setattr(store, "listing", lagging)
    assert len((await beamline.board())["procedures"]) == 1
    await do("complete_procedure", made)
    assert (await beamline.board())["procedures"] == []


async def test_each_part_has_at_most_fifty_objects(beamline: Beamline):
    asset = await beamline.do("get_asset", {"asset_id": beamline.asset_id})
    gas = {"kind": "helium", "facility_code": asset["facility_code"]}
    for number in range(MOST + 1):
        await beamline.do("register_supply", gas | {"name": f"Bottle {number:02}"})
    board = await beamline.board()
    assert len(board["supplies"]) == MOST
    assert board["more"] == ["supplies"]


async def test_the_cursor_of_a_board_stands_before_every_later_event(beamline: Beamline):
    board = await beamline.board()
    await beamline.do("resume_run", {"run_id": board["runs"][0]["id"]})
    later = await beamline.do("list_events", {"after": board["cursor"]})
    assert [each["type"] for each in later["items"]] == ["beamkeep.RunResumed"]


async def test_a_part_of_a_beamline_has_no_board(beamline: Beamline):
    with pytest.raises(AssetHasNoBoardError):
        await beamline.do("get_board", {"asset_id": await a_part(beamline.do)})


@pytest.mark.parametrize(("part", "question"), PARTS.items())
async def test_a_part_is_null_for_who_may_not_ask_for_it_elsewhere(part: str, question: str):
    service, store = await memory_service()
    do = AdminClient(service, store)
    asked = {"asset_id": await a_beamline_in_use(do)}
    others = sorted({*PARTS.values()} - {question})
    await enrol(service, "grace", "get_board", *others)
    body = json.loads((await call(service, "get_board", asked, subject="grace")).body)
    assert [name for name in PARTS if body[name] is None] == [part]


async def test_who_may_list_own_runs_only_sees_no_others_on_the_board():
    service, store = await memory_service()
    do = AdminClient(service, store)
    asked = {"asset_id": await a_beamline_in_use(do)}
    grace = await enrol(service, "grace", "get_board", "list_supplies")
    await permit(service, grace, "list_runs", "get_plan_readiness", scope="Own")
    everything = await do("get_board", asked)
    own = json.loads((await call(service, "get_board", asked, subject="grace")).body)
    assert len(everything["runs"]) == 1
    assert own["runs"] == []
    assert own["plans"] is None, "readiness names objects of others"
    assert own["supplies"] == everything["supplies"]


async def test_a_status_has_one_line_for_each_beamline(beamline: Beamline):
    await beamline.registers(BEAMLINE | {"name": "Another"})
    status = await beamline.do("get_status", {})
    lines = {line["name"]: line for line in status["items"]}
    used = lines["Beamline"]
    assert (used["state"], used["reason"]) == ("Held", "Night 1 is held: Beam lost")
    assert (used["runs"], lines["Another"]["runs"]) == (1, 0)
    assert (lines["Another"]["state"], lines["Another"]["reason"]) == ("Idle", None)
    assert list(lines) == sorted(lines)


async def test_a_status_counts_what_is_abnormal_at_its_own_beamline(beamline: Beamline):
    asset = await beamline.do("get_asset", {"asset_id": beamline.asset_id})
    hutch = await an_enclosure(beamline.do)
    part = {"name": "Camera", "tier": "Device", "parent_id": beamline.asset_id}
    camera = await beamline.registers(part | {"located_in_enclosure_id": hutch})
    await beamline.do("fault_asset", {**camera, "reason": "No image"})
    beam = {"name": "Ring", "kind": "photon_beam", "facility_code": asset["facility_code"]}
    await beamline.do("register_supply", beam)
    inside = {"name": "Own", "containing_asset_id": beamline.asset_id}
    await beamline.do("register_supply", beam | inside)
    await beamline.registers(BEAMLINE | {"name": "Another"})
    lines = {line["name"]: line for line in (await beamline.do("get_status", {}))["items"]}
    counts = {
        name: tuple(line[part] for part in ("supplies", "enclosures", "assets"))
        for name, line in lines.items()
    }
    assert counts == {"Another": (1, 0, 0), "Beamline": (2, 1, 1)}
    assert lines["Another"]["reason"] == "Ring is Unknown"


async def test_a_number_is_null_for_who_may_not_list_what_it_counts():
    service, store = await memory_service()
    await a_beamline_in_use(AdminClient(service, store))
    await enrol(service, "grace", "get_status", "list_supplies")
    (line,) = json.loads((await call(service, "get_status", {}, subject="grace")).body)["items"]
    assert (line["state"], line["runs"], line["supplies"]) == (None, None, 0)


async def test_who_sees_own_beamlines_only_gets_no_line_of_others():
    service, store = await memory_service()
    await a_beamline_in_use(AdminClient(service, store))
    await enrol(service, "grace", "*", scope="Own")
    assert json.loads((await call(service, "get_status", {}, subject="grace")).body)["items"] == []


async def test_a_status_is_of_one_facility_if_it_is_named(beamline: Beamline):
    asset = await beamline.do("get_asset", {"asset_id": beamline.asset_id})
    here = await beamline.do("get_status", {"facility_code": asset["facility_code"]})
    assert [line["name"] for line in here["items"]] == ["Beamline"]
    with pytest.raises(FacilityNotFoundError):
        await beamline.do("get_status", {"facility_code": "nowhere"})
