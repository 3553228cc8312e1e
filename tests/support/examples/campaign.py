"""Examples of campaigns."""

from typing import Any

from beamkeep.testing.examples import CallExample, Do, Make, given
from tests.support.examples.run import started_run
from tests.support.examples.subject import a_subject
from tests.support.examples.trust import an_actor


async def register_campaign(do: Do) -> dict[str, Any]:
    return {
        "name": "Ageing of a cell",
        "intent": "Series",
        "lead_actor_id": await an_actor(do),
        "subject_id": await a_subject(do),
        "description": "The same scan once a week",
        "tags": ["battery", "weekly"],
        "external_refs": {"proposal": "20300131", "cycle": "2"},
    }


def a_campaign_after(*names: str) -> Make:
    """A campaign to which these commands were given."""

    async def make(do: Do) -> str:
        answer = await do("register_campaign", await register_campaign(do))
        for name in names:
            more = {"reason": "No beam"} if name == "hold_campaign" else {}
            await do(name, {"campaign_id": answer["campaign_id"], **more})
        return answer["campaign_id"]

    return make


a_campaign = a_campaign_after()
an_active_campaign = a_campaign_after("start_campaign")
a_held_campaign = a_campaign_after("start_campaign", "hold_campaign")
a_closed_campaign = a_campaign_after("start_campaign", "close_campaign")


async def a_membership(do: Do) -> dict[str, Any]:
    member = {"campaign_id": await an_active_campaign(do), "run_id": await started_run(do)}
    await do("add_run_to_campaign", member)
    return member


async def a_campaign_with_a_run(do: Do) -> str:
    return (await a_membership(do))["campaign_id"]


async def remove_run(do: Do) -> dict[str, Any]:
    return {**await a_membership(do), "reason": "Of another cell"}


EXAMPLES: dict[str, CallExample] = {
    "register_campaign": register_campaign,
    "start_campaign": given(campaign_id=a_campaign),
    "hold_campaign": given(campaign_id=an_active_campaign, reason="No beam"),
    "resume_campaign": given(campaign_id=a_held_campaign),
    "close_campaign": given(campaign_id=an_active_campaign),
    "abandon_campaign": given(campaign_id=a_campaign, reason="No sample"),
    "add_run_to_campaign": given(campaign_id=an_active_campaign, run_id=started_run),
    "remove_run_from_campaign": remove_run,
    "get_campaign": given(campaign_id=a_campaign_with_a_run),
    "get_campaign_history": given(campaign_id=a_held_campaign),
    "list_campaigns": given(status=["Active", "Held"], intent="Series", tag="battery"),
}
