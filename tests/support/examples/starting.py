"""Examples of starting a run, and of asking whether it would start."""

from typing import Any

from beamkeep.testing.examples import CallExample, Do
from tests.support.examples.calibration import a_revision
from tests.support.examples.campaign import an_active_campaign
from tests.support.examples.decision import a_decision
from tests.support.examples.enclosure import a_permitted_enclosure
from tests.support.examples.run import a_plan_to_run
from tests.support.examples.subject import a_mounted_subject


async def a_permitted_plan(do: Do) -> str:
    """A plan whose asset stands where work is permitted."""
    plan_id = await a_plan_to_run(do)
    plan = await do("get_plan", {"plan_id": plan_id})
    for asset_id in plan["asset_ids"]:
        place = {"asset_id": asset_id, "located_in_enclosure_id": await a_permitted_enclosure(do)}
        await do("locate_asset", place)
    return plan_id


async def start_run(do: Do) -> dict[str, Any]:
    return {
        "name": "Night 1",
        "plan_id": await a_permitted_plan(do),
        "subject_id": await a_mounted_subject(do),
        "raid": "10.12345/AB12C",
        "external_refs": {"bluesky": "5f0c3f8e"},
        "progress": {"channel_name": "Frames", "of": 1800.0},
        "override_parameters": {"energy": 26.0, "mode": None},
        "pinned_calibration_ids": [await a_revision(do)],
        "campaign_id": await an_active_campaign(do),
        "decided_by_decision_id": await a_decision(do),
    }


async def readiness(do: Do) -> dict[str, Any]:
    return {
        "plan_id": await a_permitted_plan(do),
        "subject_id": await a_mounted_subject(do),
        "pinned_calibration_id": [await a_revision(do)],
    }


EXAMPLES: dict[str, CallExample] = {"start_run": start_run, "get_plan_readiness": readiness}
