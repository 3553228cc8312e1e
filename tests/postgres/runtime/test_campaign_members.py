"""A run and its campaign agree about each other, however many ask at once."""

import asyncio
from uuid import UUID

import pytest
from tests.postgres.runtime.conftest import Hosted
from tests.support.examples.campaign import an_active_campaign
from uuid_utils.compat import uuid7

from beamkeep.contexts.campaign.campaign import RunAlreadyAssignedToCampaignError
from beamkeep.contexts.run.run import RunStarted
from beamkeep.runtime.dispatch import ConcurrencyError
from beamkeep.schemas import JsonObject
from beamkeep.testing.appends import NOW, append, at

pytestmark = pytest.mark.anyio

NONE: JsonObject = {}


async def a_run(hosted: Hosted) -> str:
    run_id, plan_id, method_id = UUID(str(uuid7())), UUID(int=1), UUID(int=2)
    started = RunStarted(
        *(NOW, run_id, "Week 1", plan_id, None, method_id, (), None, None, NONE, NONE),
        *((), (), None),
    )
    await hosted.store.append(append(at(1, started)))
    return str(run_id)


async def test_a_run_joins_and_leaves_on_both_sides(hosted: Hosted):
    run_id, campaign_id = await a_run(hosted), await an_active_campaign(hosted.do)
    member = {"campaign_id": campaign_id, "run_id": run_id}
    await hosted.do("add_run_to_campaign", member)
    run = await hosted.do("get_run", {"run_id": run_id})
    campaign = await hosted.do("get_campaign", {"campaign_id": campaign_id})
    assert (run["campaign_id"], campaign["run_ids"]) == (campaign_id, [run_id])
    await hosted.do("remove_run_from_campaign", {**member, "reason": "Of another cell"})
    run = await hosted.do("get_run", {"run_id": run_id})
    campaign = await hosted.do("get_campaign", {"campaign_id": campaign_id})
    assert (run["campaign_id"], campaign["run_ids"]) == (None, [])


async def test_of_many_campaigns_that_want_a_run_at_once_one_gets_it(hosted: Hosted):
    run_id, ids = await a_run(hosted), [await an_active_campaign(hosted.do) for _ in range(5)]
    asked = [hosted.do("add_run_to_campaign", {"campaign_id": id, "run_id": run_id}) for id in ids]
    answers = await asyncio.gather(*asked, return_exceptions=True)
    refused = [each for each in answers if each is not None]
    assert {type(each) for each in refused} <= {RunAlreadyAssignedToCampaignError, ConcurrencyError}
    campaigns = [await hosted.do("get_campaign", {"campaign_id": id}) for id in ids]
    (winner,) = (each["campaign_id"] for each in campaigns if each["run_ids"] == [run_id])
    assert (await hosted.do("get_run", {"run_id": run_id}))["campaign_id"] == winner
