"""Examples of agents."""

from typing import Any

from beamkeep.testing.examples import CallExample, Do, changed, given, made

MODEL = {"provider": "local", "model": "model-a", "snapshot_pin": "model-a-20300131"}


async def define_agent(do: Do) -> dict[str, Any]:
    return {
        "kind": "Scheduler",
        "name": "Night scheduler",
        "version": "2.1",
        "description": "Plans the night",
        "model_ref": MODEL,
        "capabilities": ["plans"],
        "tools": ["get_status", "list_runs"],
        "budget": {"monthly_usd_cap": 20.5, "daily_token_cap": 100000, "daily_action_cap": 50},
    }


an_agent = made("define_agent", define_agent, "agent_id")
versioned = given(agent_id=an_agent)
a_versioned_agent = changed("version_agent", versioned, "agent_id")
suspend = given(agent_id=a_versioned_agent, reason="It repeats itself")
a_suspended_agent = changed("suspend_agent", suspend, "agent_id")


async def update_budget(do: Do) -> dict[str, Any]:
    return {"agent_id": await an_agent(do), "monthly_usd_cap": None, "daily_token_cap": 5000}


EXAMPLES: dict[str, CallExample] = {
    "define_agent": define_agent,
    "version_agent": versioned,
    "suspend_agent": suspend,
    "resume_agent": given(agent_id=a_suspended_agent),
    "deprecate_agent": given(agent_id=an_agent, reason="Replaced"),
    "grant_agent_tool": given(agent_id=an_agent, tool_name="get_run"),
    "revoke_agent_tool": given(agent_id=an_agent, tool_name="list_runs"),
    "update_agent_budget": update_budget,
    "get_agent": given(agent_id=an_agent),
    "get_agent_history": given(agent_id=an_agent),
    "list_agents": given(kind="Scheduler", status=["Defined"]),
    "list_agent_costs": given(agent_id=an_agent),
    "list_at_risk_results": given(
        kind="Scheduler", reason="Overridden", provider="local", model="model-a"
    ),
}
