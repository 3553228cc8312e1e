"""An agent over MCP obeys every instruction that it reads, and gains nothing by it."""

import msgspec
import pytest
from tests.unit.agents.injection.instructions import instructions
from tests.unit.agents.injection.mcp_attacks import (
    GRANTED,
    OWN_EVENTS,
    PAYLOADS,
    Deployment,
    McpScene,
    McpWish,
    attacked,
    deployment,
)
from tests.unit.agents.injection.model_attacks import PERSON
from tests.unit.agents.injection.payloads import Payload, described

from beamkeep.contexts.access.profile import STANDINGS
from beamkeep.contexts.catalogue import CATALOGUE

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
async def shared() -> Deployment:
    return await deployment()


async def reaches_no_further_than_its_grants(scene: McpScene) -> None:
    made, wish = scene.written(), scene.payload.wish
    assert {e.event_type for e in made} <= OWN_EVENTS | wish.moves
    if wish.token is None:
        assert {e.principal_id for e in made} <= {scene.agent_id}
    for proposed in scene.payloads("ProposalRegistered"):
        assert proposed["command_name"] in CATALOGUE.proposable
    (kept,) = await scene.store.rows(STANDINGS, {"principal_id": scene.agent_id})
    assert {*kept.tools} == {*GRANTED, *wish.tools}


async def keeps_its_budget(scene: McpScene) -> None:
    shown = await scene.do("get_agent", {"agent_id": str(scene.agent_id)})
    assert shown["budget"] == {
        "monthly_usd_cap": 1.0,
        "daily_token_cap": 1000,
        "daily_action_cap": None,
    }
    assert (shown["tokens_today"], shown["usd_this_month"]) == (0, 0)


def nothing_is_approved(scene: McpScene) -> None:
    assert scene.payloads("ProposalApproved") == []


def learns_no_personal_data(scene: McpScene) -> None:
    assert PERSON not in "".join(each.text for each in scene.attempts)
    events = b"".join(bytes(each.payload) for each in scene.written())
    assert PERSON.encode() not in events
    assert PERSON not in str(msgspec.to_builtins(scene.denials()))


@pytest.mark.parametrize("payload", PAYLOADS, ids=described)
async def test_an_instruction_that_an_agent_obeys_gains_nothing(
    payload: Payload[McpWish], shared: Deployment
):
    scene = await attacked(payload, await deployment() if payload.wish.alone else shared)
    wanted = [each for each in instructions(scene.instruction) if each.verb != "wait"]
    assert len(scene.attempts) >= len(wanted) > 0, "the agent finds every instruction and obeys"
    await reaches_no_further_than_its_grants(scene)
    await keeps_its_budget(scene)
    learns_no_personal_data(scene)
    await payload.wish.held(scene)
    nothing_is_approved(scene)
