"""Agents as principals: what they may call, over which surface, and what is kept of them."""

import json
from functools import partial
from typing import Any
from uuid import UUID, uuid4

import pytest
from tests.support.examples.agent import MODEL

from beamkeep.adapters.memory.store import MemoryStore
from beamkeep.contexts.access.profile import AGENTS, RUN_SUPERVISOR, STANDINGS
from beamkeep.contexts.agent.agent import ModelRef, agents
from beamkeep.contexts.agent.seeded import SEEDED_AGENTS, seeds
from beamkeep.contexts.seams.agent_records import RiskReason
from beamkeep.deployment.seeding import prepare
from beamkeep.feed.tail import WHOLE_LOG
from beamkeep.kernel import DENIALS, Refusal, SurfaceKind
from beamkeep.runtime import Service
from beamkeep.runtime.admission import Request, UnauthorizedError
from beamkeep.testing.installation import FACTS, ISSUER
from beamkeep.testing.postgres import Deployed
from beamkeep.testing.service import ADMIN, by, call, enrol, memory_service, permit

pytestmark = pytest.mark.anyio

MCP = SurfaceKind.MCP_STREAMABLE_HTTP
TOOLS = ["register_decision", "append_inferences", "list_agents"]


async def an_agent(service: Service, kind: str = "Scheduler", **changes: Any) -> UUID:
    """Define an agent with a login of its own, which a policy permits everything everywhere."""
    told = {"kind": kind, "name": "Night", "version": "1", "model_ref": MODEL, "tools": TOOLS}
    agent_id = (await call(service, "define_agent", told | changes)).id
    login = {"issuer": ISSUER, "subject": "robot", "actor_id": str(agent_id)}
    await call(service, "bind_actor_identity", login)
    for surface in SurfaceKind:
        await permit(service, agent_id, "*", on=surface)
    return agent_id


async def ask(service: Service, name: str, arguments: dict[str, Any], over: SurfaceKind) -> Any:
    row, request = service.catalogue.named[name], Request(by("robot", over), arguments)
    if name.startswith(("get_", "list_")):
        return await service.queries.ask(row, request)  # pyright: ignore
    return await service.dispatcher.execute(row, request)  # pyright: ignore


async def denied(store: MemoryStore) -> list[tuple[str, str]]:
    return [(row.command_name, row.reason_code) for row in await store.rows(DENIALS, {})]


async def test_over_mcp_an_agent_may_call_only_its_tools():
    service, store = await memory_service()
    agent_id = await an_agent(service)
    permitted = await service.admission.permitted(by("robot", MCP), service.catalogue)
    assert permitted == {*TOOLS}
    await ask(service, "list_agents", {}, MCP)
    with pytest.raises(UnauthorizedError):
        await ask(service, "list_runs", {}, MCP)
    assert await denied(store) == [("list_runs", "tool_not_granted")]
    # A policy alone decides over HTTP.
    await ask(service, "list_runs", {}, SurfaceKind.HTTP)
    granted = {"agent_id": str(agent_id), "tool_name": "list_runs"}
    await call(service, "grant_agent_tool", granted)
    await ask(service, "list_runs", {}, MCP)
    await call(service, "revoke_agent_tool", granted)
    with pytest.raises(UnauthorizedError):
        await ask(service, "list_runs", {}, MCP)


async def test_a_suspended_agent_is_denied_until_it_is_resumed():
    service, store = await memory_service()
    id = {"agent_id": str(await an_agent(service))}
    await call(service, "version_agent", id)
    await call(service, "suspend_agent", id | {"reason": "It repeats itself"})
    with pytest.raises(UnauthorizedError):
        await ask(service, "list_runs", {}, SurfaceKind.HTTP)
    assert await denied(store) == [("list_runs", "suspended_agent")]
    await call(service, "resume_agent", id)
    await ask(service, "list_runs", {}, SurfaceKind.HTTP)


async def test_an_inactive_actor_stays_barred_whatever_its_agent_does():
    service, store = await memory_service()
    agent_id = await an_agent(service)
    id = {"agent_id": str(agent_id)}
    await call(service, "version_agent", id)
    await call(service, "suspend_agent", id | {"reason": "It repeats itself"})
    await call(service, "deactivate_actor", {"actor_id": str(agent_id)})
    await call(service, "grant_agent_tool", id | {"tool_name": "get_run"})
    with pytest.raises(Refusal):
        await call(service, "resume_agent", id)
    with pytest.raises(UnauthorizedError):
        await ask(service, "list_runs", {}, SurfaceKind.HTTP)
    assert await denied(store) == [("list_runs", "inactive_principal")]
    (row,) = await store.rows(STANDINGS, {"principal_id": agent_id})
    assert "get_run" in row.tools


async def test_no_login_is_bound_to_a_seeded_agent():
    service, store = await memory_service()
    model = ModelRef("local", "model-a")
    await prepare(
        store,
        store,
        ADMIN,
        False,
        facts=FACTS,
        seeds_of=[partial(seeds, model=model)],
    )
    for agent_id in AGENTS:
        login = {"issuer": ISSUER, "subject": "x", "actor_id": str(agent_id)}
        with pytest.raises(Refusal) as refused:
            await call(service, "bind_actor_identity", login)
        assert type(refused.value).__name__ == "ActorCannotBindIdentityError"


async def test_agents_with_a_model_are_seeded_at_the_first_start_that_names_one():
    service, store = await memory_service()
    assert (agents.name, RUN_SUPERVISOR) in store.streams
    assert (agents.name, AGENTS[0]) not in store.streams
    for name in ("model-a", "model-b"):
        model = ModelRef("local", name)
        await prepare(
            store,
            store,
            ADMIN,
            False,
            facts=FACTS,
            seeds_of=[partial(seeds, model=model)],
        )
    session = service.sessions()
    for seeded in SEEDED_AGENTS:
        found = await session.one(agents, seeded.id)
        assert (found.status, found.kind, found.tools) == (
            *("Versioned", seeded.kind),
            frozenset(seeded.tools),
        )
        uses_model = seeded.id in AGENTS[:2]
        assert found.model_ref.model == ("model-a" if uses_model else f"agent:{seeded.kind}:v1")


async def decided(service: Service, *, answered_by: str | None) -> str:
    made = await ask(
        service, "register_decision", {"context": "RunHold", "choice": "Hold"}, SurfaceKind.HTTP
    )
    told = {
        "inference_id": str(uuid4()),
        "occurred_at": "2030-01-31T07:30:00Z",
        "operation_name": "chat",
        "provider_name": "local",
        "request_model": "model-a",
        "response_model": answered_by,
        "input_tokens": 100,
        "output_tokens": 11,
        "cost_usd": 0.25,
    }
    arguments = {"decision_id": str(made.id), "entries": [told]}
    await ask(service, "append_inferences", arguments, SurfaceKind.HTTP)
    return str(made.id)


async def at_risk(
    service: Service, asking: str | None = None, **asked: Any
) -> dict[str, list[str]]:
    answer = await call(service, "list_at_risk_results", asked, asking)
    return {row["decision_id"]: row["reasons"] for row in json.loads(answer.body)["items"]}


async def results_are_found_by_reason(service: Service, catch_up: Any) -> None:
    agent_id = str(await an_agent(service))
    pinned = await decided(service, answered_by="model-a-20300131")
    other = await decided(service, answered_by="model-b")
    misled = await decided(service, answered_by=None)
    await catch_up()
    assert await at_risk(service) == {}
    await call(service, "rate_decision", {"decision_id": misled, "rating": "misleading"})
    correction = {"context": "RunHold", "choice": "Wait", "parent_id": pinned}
    await call(service, "register_decision", correction | {"override_kind": "correction"})
    expected = {misled: [RiskReason.RATED_MISLEADING], pinned: [RiskReason.OVERRIDDEN]}
    assert await at_risk(service) == expected
    id = {"agent_id": agent_id}
    await call(service, "version_agent", id)
    await call(service, "suspend_agent", id | {"reason": "It repeats itself"})
    await catch_up()
    assert list(await at_risk(service)) == [misled, other, pinned]
    assert await at_risk(service, reason="NotReproducible") == {other: ["NotReproducible"]}
    of_model = {"provider": "local", "model": "model-b"}
    assert await at_risk(service, **of_model) == {other: ["NotReproducible"]}
    everything = await at_risk(service, provider="local", model="model-a")
    assert everything == {misled: ["RatedMisleading"], other: ["NotReproducible"]} | {
        pinned: ["Overridden"]
    }
    assert await at_risk(service, provider="local", model="model-a", reason="Overridden") == {
        pinned: ["Overridden"]
    }
    assert await at_risk(service, agent_id=agent_id, to="2026-01-01T00:00:00Z") == {}
    with pytest.raises(Refusal) as refused:
        await at_risk(service, provider="local")
    assert refused.value.status == 422
    # Rated otherwise, the result is no longer at risk for that.
    await call(service, "rate_decision", {"decision_id": misled, "rating": "useful"})
    assert misled not in await at_risk(service)


async def costs_are_summed_by_day(service: Service) -> None:
    (agent,) = json.loads((await call(service, "list_agents", {"kind": "Scheduler"})).body)["items"]
    id = {"agent_id": agent["agent_id"]}
    (day,) = json.loads((await call(service, "list_agent_costs", id)).body)["items"]
    assert (day["calls"], day["input_tokens"], day["cost_usd"]) == (3, 300, 0.75)
    found = json.loads((await call(service, "get_agent", id)).body)
    assert (found["tokens_today"], found["usd_this_month"]) == (333, 0.75)


async def test_who_sees_only_what_is_own_sees_no_results_of_agents():
    service, _ = await memory_service()
    await results_are_found_by_reason(service, nothing)
    otto = await enrol(service, "otto")
    await permit(service, otto, "list_at_risk_results", scope="Own")
    assert await at_risk(service)
    assert await at_risk(service, "otto") == {}


async def nothing() -> None: ...


async def test_results_are_found_by_reason_and_costs_by_day():
    service, _ = await memory_service()
    await results_are_found_by_reason(service, nothing)
    await costs_are_summed_by_day(service)


@pytest.mark.postgres
async def test_results_are_found_by_reason_and_costs_by_day_on_postgresql(deployed: Deployed):
    async def catch_up() -> None:
        await deployed.projector.catch_up([WHOLE_LOG])

    await results_are_found_by_reason(deployed.service, catch_up)
    await costs_are_summed_by_day(deployed.service)
