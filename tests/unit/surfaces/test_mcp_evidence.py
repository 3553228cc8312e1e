"""What an agent reads over MCP is kept as evidence of what it decides there."""

import json
from typing import Any
from uuid import UUID

import pytest
from tests.support.examples.agent import MODEL
from tests.unit.surfaces.test_mcp import app, body_of, client, serving

from beamkeep.adapters.memory.store import MemoryStore
from beamkeep.contexts.trust import seeded
from beamkeep.kernel import SurfaceKind
from beamkeep.runtime import Service
from beamkeep.runtime.answers import EVIDENCE, AnswerEvidence
from beamkeep.surfaces.tools.selection import CALL_OPERATION
from beamkeep.testing.installation import ISSUER
from beamkeep.testing.service import call, memory_service, permit

pytestmark = pytest.mark.anyio

MCP = SurfaceKind.MCP_STREAMABLE_HTTP
TOOLS = ["get_zone", "list_zones", "register_decision"]


async def an_agent(service: Service) -> UUID:
    """Define an agent that logs in as bob and may call everything that is among its tools."""
    told = {"kind": "Scheduler", "name": "Night", "version": "1", "model_ref": MODEL}
    agent_id = (await call(service, "define_agent", {**told, "tools": TOOLS})).id
    login = {"issuer": ISSUER, "subject": "bob", "actor_id": str(agent_id)}
    await call(service, "bind_actor_identity", login)
    await permit(service, agent_id, "*", on=MCP)
    return agent_id


async def asked(store: MemoryStore) -> list[AnswerEvidence]:
    return sorted(await store.rows(EVIDENCE, {}), key=lambda row: row.evidence_id)


async def told(service: Service, name: str, **arguments: Any) -> list[dict[str, Any]]:
    return json.loads((await call(service, name, arguments)).body)["items"]


async def test_what_tools_answered_an_agent_is_the_evidence_of_its_decision():
    service, store = await memory_service()
    agent_id = await an_agent(service)
    zone = {"zone_id": str((await call(service, "define_zone", {"name": "Hall"})).id)}
    async with serving(app(service)) as url, client(url, "bob") as bob, client(url) as ada:
        await ada.call_tool("get_zone", zone)
        await bob.call_tool("get_zone", zone)
        await bob.call_tool(CALL_OPERATION.name, {"name": "list_zones", "arguments": {}})
        decision = {"context": "RunHold", "choice": "Hold"}
        made = body_of(await bob.call_tool("register_decision", decision))
    rows = await asked(store)
    assert [(row.agent_id, row.question) for row in rows] == [
        (agent_id, "get_zone"),
        (agent_id, "list_zones"),
    ]
    assert {row.surface_id for row in rows} == {seeded.SURFACES[MCP]}
    assert rows[0].arguments == zone
    listed = await told(service, "list_decision_evidence", **made)
    assert [each["question"] for each in listed] == ["list_zones", "get_zone"]
    verified = await told(service, "verify_decision_evidence", **made)
    assert [each["verdict"] for each in verified] == ["not_replayable", "same"]


async def test_a_tool_that_refused_leaves_no_evidence():
    service, store = await memory_service()
    await an_agent(service)
    async with serving(app(service)) as url, client(url, "bob") as bob:
        unknown = await bob.call_tool("get_zone", {"zone_id": str(UUID(int=404))})
        ungranted = await bob.call_tool("list_runs", {})
    assert unknown.is_error
    assert ungranted.is_error
    assert await asked(store) == []
