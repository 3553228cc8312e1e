"""What the metrics tell of calls of models, by kind of agent."""

import json

import pytest
from tests.support.model_agents import (
    GOOD,
    PRICES,
    REACTIONS,
    MemoryWorld,
    memory_world,
    scripted,
)
from uuid_utils.compat import uuid7

from beamkeep.contexts.agent.agent import AgentBudget
from beamkeep.parts.agents.desk import ModelAgent, ServiceDesk
from beamkeep.parts.agents.model_agent import ModelAgentRuntime
from beamkeep.parts.agents.models.budget import BudgetedModels
from beamkeep.parts.agents.models.scripted import ScriptedReply
from beamkeep.parts.agents.models.seam import LanguageModelRefusedError, Usage
from beamkeep.runtime.clock import now
from beamkeep.telemetry import Telemetry
from beamkeep.testing.appends import CODEC

pytestmark = pytest.mark.anyio
KIND = {"kind": "RunDebriefer"}


async def measured(world: MemoryWorld, agent: ModelAgent, reply: ScriptedReply) -> Telemetry:
    """Let an agent answer the end of a run, and return what was counted."""
    telemetry, model = Telemetry(), scripted(lambda _: reply)
    runtime = ModelAgentRuntime(
        REACTIONS[agent.kind],
        ServiceDesk(world.service, world.store, CODEC, now),
        BudgetedModels(world.calls, {"scripted": model}, PRICES),
        new_id=uuid7,
        telemetry=telemetry,
    )
    assert await runtime.handle(agent, await world.ended_run()) == 0.0
    return telemetry


async def test_an_answer_counts_its_tokens_its_money_and_its_time():
    world = await memory_world()
    agent = await world.agent("RunDebriefer")
    counted = (await measured(world, agent, json.dumps(GOOD))).registry.get_sample_value
    (inference,) = world.rows("decision_inference")
    used = Usage(inference.input_tokens, inference.output_tokens)
    tokens = [
        counted("beamkeep_model_tokens_total", {**KIND, "direction": direction})
        for direction in ("input", "output")
    ]
    assert tokens == [used.input_tokens, used.output_tokens]
    assert counted("beamkeep_model_usd_total", KIND) == inference.cost_usd > 0
    assert counted("beamkeep_model_call_seconds_count", KIND) == 1
    refused = {**KIND, "error": "LanguageModelRefusedError"}
    assert counted("beamkeep_model_refusals_total", refused) is None


async def test_a_refused_call_counts_as_a_refusal_and_its_time():
    world = await memory_world()
    agent = await world.agent("RunDebriefer")
    counted = (await measured(world, agent, LanguageModelRefusedError())).registry.get_sample_value
    refused = {**KIND, "error": "LanguageModelRefusedError"}
    assert counted("beamkeep_model_refusals_total", refused) == 1
    assert counted("beamkeep_model_call_seconds_count", KIND) == 1


async def test_a_call_over_budget_counts_as_a_refusal_and_takes_no_time():
    world = await memory_world()
    agent = await world.agent("RunDebriefer", budget=AgentBudget(daily_token_cap=0))
    counted = (await measured(world, agent, json.dumps(GOOD))).registry.get_sample_value
    over = {**KIND, "error": "LanguageModelBudgetExceededError"}
    assert counted("beamkeep_model_refusals_total", over) == 1
    assert counted("beamkeep_model_call_seconds_count", KIND) is None
