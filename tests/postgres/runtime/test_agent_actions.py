"""The budget of an agent bounds its calls, in memory and on PostgreSQL."""

import asyncio
import json
from collections.abc import Mapping
from typing import Any

import pytest
from tests.postgres.runtime.conftest import Hosted
from tests.support.examples.agent import MODEL

from beamkeep.contexts.agent.actions import ACTIONS, AgentActionCapReachedError
from beamkeep.kernel import Operation, Question, Refusal, SurfaceKind
from beamkeep.runtime.admission import Request, UnauthorizedError
from beamkeep.testing.installation import ISSUER
from beamkeep.testing.service import by, permit

pytestmark = pytest.mark.anyio

MCP = SurfaceKind.MCP_STREAMABLE_HTTP
TOOLS = ["define_zone", "list_zones", "get_agent"]


async def an_agent(hosted: Hosted, **budget: int | float | None) -> str:
    """An agent that may define and list zones over MCP."""
    told = {"kind": "Scheduler", "name": "Night", "version": "1", "model_ref": MODEL}
    more = {"tools": TOOLS, "budget": budget} if budget else {"tools": TOOLS}
    agent_id = (await hosted.do("define_agent", told | more))["agent_id"]
    login = {"issuer": ISSUER, "subject": "robot", "actor_id": agent_id}
    await hosted.do("bind_actor_identity", login)
    await permit(hosted.service, agent_id, *TOOLS, "hold_run", on=MCP)
    return agent_id


async def ask(hosted: Hosted, name: str, arguments: Mapping[str, Any] = {}, **more: Any) -> Any:
    """Make a call of the agent over MCP."""
    row, request = (
        hosted.service.catalogue.named[name],
        Request(by("robot", MCP), arguments, **more),
    )
    match row:
        case Operation():
            return await hosted.service.dispatcher.execute(row, request)
        case Question():
            return await hosted.service.queries.ask(row, request)


async def a_zone(hosted: Hosted, **more: Any) -> Any:
    return await ask(hosted, "define_zone", {"name": "Hall"}, **more)


async def actions_of(hosted: Hosted, agent_id: str) -> int:
    return (await hosted.do("get_agent", {"agent_id": agent_id}))["actions_today"]


async def test_a_cap_lets_through_that_many_calls_that_change_something(hosted: Hosted):
    agent_id = await an_agent(hosted, daily_action_cap=2)
    await a_zone(hosted, dry_run=True)
    with pytest.raises(Refusal, match="blank"):
        await ask(hosted, "define_zone", {"name": " "})
    await a_zone(hosted, idempotency_key="k")
    await a_zone(hosted, idempotency_key="k")
    assert await actions_of(hosted, agent_id) == 1
    await a_zone(hosted)
    for dry_run in (False, True):
        with pytest.raises(AgentActionCapReachedError):
            await a_zone(hosted, dry_run=dry_run)
    assert (await a_zone(hosted, idempotency_key="k")).replayed
    assert "items" in json.loads((await ask(hosted, "list_zones")).body)
    assert await actions_of(hosted, agent_id) == 2
    await hosted.do("update_agent_budget", {"agent_id": agent_id, "daily_action_cap": 3})
    await a_zone(hosted)
    assert len(await hosted.store.rows(ACTIONS, {})) == 1


async def test_a_cap_of_zero_lets_nothing_through(hosted: Hosted):
    agent_id = await an_agent(hosted, daily_action_cap=0)
    with pytest.raises(AgentActionCapReachedError):
        await a_zone(hosted)
    assert await actions_of(hosted, agent_id) == 0


async def test_calls_at_once_do_not_exceed_the_cap(hosted: Hosted):
    agent_id = await an_agent(hosted, daily_action_cap=2)
    outcomes = await asyncio.gather(*(a_zone(hosted) for _ in range(4)), return_exceptions=True)
    made = [each for each in outcomes if not isinstance(each, BaseException)]
    assert len(made) <= 2
    assert await actions_of(hosted, agent_id) == len(made)
    for each in outcomes:
        assert each in made or isinstance(each, Refusal)


async def test_other_budgets_and_other_callers_are_not_counted(hosted: Hosted):
    agent_id = await an_agent(hosted, daily_token_cap=0, monthly_usd_cap=0)
    await a_zone(hosted)
    await hosted.do("define_zone", {"name": "Hutch"})
    assert await actions_of(hosted, agent_id) == 0


async def test_a_denied_agent_learns_whether_tool_grant_or_suspension_is_the_reason(hosted: Hosted):
    agent_id = await an_agent(hosted)
    run = {"run_id": agent_id, "reason": "Beam lost"}
    with pytest.raises(UnauthorizedError, match="does not have the call among its tools"):
        await ask(hosted, "hold_run", run)
    one = {"agent_id": agent_id}
    await hosted.do("grant_agent_tool", {**one, "tool_name": "define_conduit"})
    with pytest.raises(UnauthorizedError, match="No policy grants this agent the call"):
        await ask(hosted, "define_conduit", {"name": "Link"})
    await hosted.do("version_agent", one)
    await hosted.do("suspend_agent", {**one, "reason": "It repeats itself"})
    with pytest.raises(UnauthorizedError, match="This agent is suspended"):
        await a_zone(hosted)
