"""Agents that call a model, in a deployment on PostgreSQL, with a provider over HTTP."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any
from uuid import UUID

import pytest
from pydantic import SecretStr
from tests.support.model_agents import GOOD, NARRATIVE, World
from tests.support.provider_server import ProviderServer, Reply, completion, provider_server

from beamkeep.contexts.access.profile import CAUTION_DRAFTER, RUN_DEBRIEFER
from beamkeep.contexts.agent.agent import ModelRef
from beamkeep.deployment.composition import Deployment
from beamkeep.deployment.settings import settings_of
from beamkeep.parts.agents import wiring
from beamkeep.parts.agents.models.budget import Price
from beamkeep.parts.agents.postgres_model_calls import PostgresModelCalls
from beamkeep.testing.database import Database
from beamkeep.testing.installation import FACILITY_CODE
from beamkeep.testing.waiting import until

pytestmark = [pytest.mark.anyio, pytest.mark.postgres]

MODEL = ModelRef("openai_compatible", "local-x")
NO_ACTION = {
    "choice": "NoAction",
    "confidence": 0.9,
    "reasoning": "Nothing in the facts points to a quirk of the equipment.",
    "proposed_caution": None,
}


@asynccontextmanager
async def at_work(
    database: Database, provider: ProviderServer, **switches: Any
) -> AsyncGenerator[tuple[World, Deployment]]:
    """Run a deployment whose agents call this provider, and yield what is done in it."""
    settings = settings_of(
        database_url=SecretStr(database.url()),
        projector_database_url=SecretStr(database.url("bk_projector")),
        require_authenticated_principal=False,
        development=True,
        project_in_serve=True,
        self_facility_code=FACILITY_CODE,
        language_model_provider="openai_compatible",
        language_model_name="local-x",
        language_model_api_key=SecretStr("s3cret"),
        language_model_base_url=f"{provider.url}/v1",
        language_model_prices={"openai_compatible/local-x": Price(1.0, 2.0)},
        **switches,
    )
    deployment = Deployment(settings)
    service = await deployment.service(works=True)
    loops = [deployment.projector(), *wiring.loops(deployment.core(service), settings)]
    world = World(service, deployment.store, PostgresModelCalls(database.connections()))
    await world.furnish()
    running = asyncio.create_task(deployment.supervisor.run(loops))
    try:
        yield world, deployment
    finally:
        deployment.supervisor.stop()
        await running
        await deployment.close()


def decided(database: Database, agent_id: UUID) -> list[dict[str, Any]]:
    """Return the decisions of an agent."""
    rows = database.ask(
        "SELECT payload::text FROM bk.events WHERE event_type = 'DecisionRegistered'"
        f" AND principal_id = '{agent_id}' ORDER BY position"
    )
    return [json.loads(str(payload)) for (payload,) in rows]


@pytest.fixture
async def provider() -> AsyncGenerator[ProviderServer]:
    async with provider_server() as server:
        yield server


async def test_a_run_that_ends_is_debriefed(database: Database, provider: ProviderServer):
    provider.answer_with(Reply(completion(json.dumps(GOOD), input_tokens=5000)))
    async with at_work(database, provider, caution_drafter_enabled=False) as (world, _):
        trigger = await world.ended_run()
        (decision,) = await until(lambda: decided(database, RUN_DEBRIEFER))
        entries = database.ask("SELECT run_id, text, kind, decision_id FROM bk.run_logbook_entry")
        shown = [await world.shown("get_agent", agent_id=str(RUN_DEBRIEFER))]
        database.ask(
            "INSERT INTO bk.model_call VALUES"
            f" ('{RUN_DEBRIEFER}', 1, false, now(), 1000, 0.5, 'swallowed by a crash')"
        )
        shown.append(await world.shown("get_agent", agent_id=str(RUN_DEBRIEFER)))
    assert decision["choice"] == "OperatorAbort"
    assert decision["inputs"]["run_id"] == str(trigger.stream_id)
    told = UUID(decision["decision_id"])
    assert [tuple(row) for row in entries] == [(trigger.stream_id, NARRATIVE, "Debrief", told)]
    (inference,) = database.ask(
        "SELECT decision_id, agent_id, response_model, input_tokens, cost_usd > 0"
        " FROM bk.decision_inference"
    )
    assert tuple(inference) == (told, RUN_DEBRIEFER, "local-model", 5000, True)
    calls = database.ask("SELECT agent_id, attempt, settled FROM bk.model_call WHERE settled")
    assert [tuple(call) for call in calls] == [(RUN_DEBRIEFER, 1, True)]
    assert [(each["tokens_today"], each["enabled"]) for each in shown] == [
        (5050, True),
        (6050, True),
    ]
    assert shown[1]["usd_this_month"] - shown[0]["usd_this_month"] == pytest.approx(0.5)
    (request,) = provider.posts
    assert request.headers["authorization"] == "Bearer s3cret"
    assert str(trigger.stream_id) in json.dumps(request.body)
    assert "Enough data" not in json.dumps(request.body)


async def test_a_drafter_decides_by_itself(database: Database, provider: ProviderServer):
    provider.answer_with(Reply(completion(json.dumps(NO_ACTION), input_tokens=5000)))
    async with at_work(database, provider, run_debriefer_enabled=False) as (world, _):
        await world.ended_run()
        (decision,) = await until(lambda: decided(database, CAUTION_DRAFTER))
    assert (decision["context"], decision["choice"]) == ("CautionProposal", "NoAction")
    assert decided(database, RUN_DEBRIEFER) == []


async def test_a_rival_stands_aside_once_it_is_released(
    database: Database, provider: ProviderServer
):
    provider.answer_with(Reply(completion(json.dumps(GOOD), input_tokens=5000)))
    async with at_work(database, provider, caution_drafter_enabled=False) as (world, _):
        rival = await world.agent("RunDebriefer", model=MODEL)
        trigger = await world.ended_run()
        both = RUN_DEBRIEFER, rival.id
        await until(lambda: all(decided(database, id) for id in both))
    choices = sorted(each["choice"] for id in both for each in decided(database, id))
    assert choices == ["DebriefConflicted", "OperatorAbort"]
    assert len(provider.posts) == 1
    markers = database.ask(
        "SELECT 1 FROM bk.events WHERE event_type = 'DecisionDebriefRequested'"
        f" AND stream_id = '{trigger.stream_id}'"
    )
    assert len(markers) == 1


async def test_an_agent_without_a_policy_passes_over_and_continues(
    database: Database, provider: ProviderServer
):
    provider.answer_with(Reply(completion(json.dumps(GOOD), input_tokens=5000)))
    async with at_work(database, provider, caution_drafter_enabled=False) as (world, deployment):
        rival = await world.agent("RunDebriefer", model=MODEL, permitted=False)
        denied = {"kind": "RunDebriefer", "reason": "denied"}
        counted = deployment.telemetry.registry.get_sample_value
        for runs in (1.0, 2.0):
            await world.ended_run()
            await until(lambda: counted("beamkeep_agent_passed_over_total", denied) == runs)  # noqa: B023
    assert decided(database, rival.id) == []
    assert database.ask("SELECT 1 FROM bk.authorization_denials") == []
