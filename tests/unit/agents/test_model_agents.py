"""RunDebriefer and CautionDrafter: what they ask, and what is written with their decisions."""

import json
from datetime import timedelta
from typing import Any

import msgspec
import pytest
from tests.support.model_agents import GOOD, NARRATIVE, MemoryWorld, memory_world, scripted

from beamkeep.contexts.agent.agent import AgentBudget
from beamkeep.parts.agents.desk import ModelAgent
from beamkeep.parts.agents.model_agent import LOOK_AGAIN_SECONDS
from beamkeep.parts.agents.models.scripted import ScriptedReply
from beamkeep.parts.agents.models.seam import (
    LanguageModelRefusedError,
    LanguageModelTimeoutError,
    LanguageModelUnavailableError,
)
from beamkeep.parts.agents.resolution import Apart
from beamkeep.runtime.admission import UnauthorizedError
from beamkeep.runtime.store import Envelope

pytestmark = pytest.mark.anyio


@pytest.fixture
async def world() -> MemoryWorld:
    return await memory_world()


def decisions(world: MemoryWorld) -> list[dict[str, Any]]:
    return [msgspec.json.decode(each.payload) for each in world.events("Decision")]


GOOD_REPLY = json.dumps(GOOD)


async def handled(
    world: MemoryWorld, agent: ModelAgent, trigger: Envelope, reply: ScriptedReply = GOOD_REPLY
) -> tuple[float | Apart, list[Any]]:
    model = scripted(lambda _: reply)
    return await world.runtime(agent, model).handle(agent, trigger), model.requests


async def test_a_debrief_is_a_decision_an_inference_a_logbook_entry_and_a_settled_call(
    world: MemoryWorld,
):
    agent, trigger = await world.agent("RunDebriefer"), await world.ended_run()
    assert (await handled(world, agent, trigger))[0] == 0.0
    (decision,) = decisions(world)
    assert decision["choice"] == "OperatorAbort"
    assert decision["context"] == "RunDebrief"
    assert decision["rule"] == "agent:RunDebriefer:v1"
    assert decision["confidence_source"] == "self_reported"
    assert decision["inputs"]["run_id"] == str(trigger.stream_id)
    assert len(decision["determining_policy_ids"]) == 1
    (entry,) = world.rows("run_logbook_entry")
    assert (entry.text, entry.kind, str(entry.decision_id)) == (
        NARRATIVE,
        "Debrief",
        decision["decision_id"],
    )
    (inference,) = world.rows("decision_inference")
    assert inference.agent_id == agent.id
    assert inference.cost_usd > 0
    (call,) = world.rows("model_call")
    assert call.settled
    (made,) = world.events("Decision")
    assert (made.correlation_id, made.causation_id) == (trigger.correlation_id, trigger.event_id)
    assert made.surface_id is None
    (marker,) = [e for e in world.events("Run") if e.event_type == "DecisionDebriefRequested"]
    assert (marker.principal_id, marker.command_name) == (agent.id, "register_decision")


async def test_what_an_agent_read_is_evidence_of_its_decision(world: MemoryWorld):
    agent, trigger = await world.agent("RunDebriefer"), await world.ended_run()
    await handled(world, agent, trigger)
    (evidence,) = world.rows("evidence")
    assert evidence.agent_id == agent.id
    assert {each.stream_type for each in evidence.seen} == {"Run", "Asset", "Method"}
    (decision,) = decisions(world)
    listed = await world.shown("list_decision_evidence", decision_id=decision["decision_id"])
    assert [each["evidence_id"] for each in listed["items"]] == [str(evidence.evidence_id)]


async def test_an_event_that_comes_again_is_done(world: MemoryWorld):
    agent, trigger = await world.agent("RunDebriefer"), await world.ended_run()
    await handled(world, agent, trigger)
    seconds, requests = await handled(world, agent, trigger)
    assert (seconds, requests) == (0.0, [])
    assert len(decisions(world)) == len(world.rows("run_logbook_entry")) == 1


async def test_a_rival_says_that_it_stood_aside_and_calls_no_model(world: MemoryWorld):
    first, second = await world.agent("RunDebriefer"), await world.agent("RunDebriefer")
    trigger = await world.ended_run()
    await handled(world, first, trigger)
    assert (await handled(world, second, trigger))[1] == []
    conflicted = decisions(world)[1]
    assert conflicted["choice"] == "DebriefConflicted"
    assert conflicted["inputs"]["winning_agent_id"] == str(first.id)
    assert len(world.rows("run_logbook_entry")) == 1


async def test_agents_of_different_kinds_do_not_stand_in_each_others_way(world: MemoryWorld):
    trigger = await world.ended_run()
    await handled(world, await world.agent("RunDebriefer"), trigger)
    reply = {
        "choice": "NoAction",
        "confidence": 0.9,
        "reasoning": "Nothing in the facts points to a quirk.",
        "proposed_caution": None,
    }
    await handled(world, await world.agent("CautionDrafter"), trigger, json.dumps(reply))
    assert [each["choice"] for each in decisions(world)] == ["OperatorAbort", "NoAction"]


@pytest.mark.parametrize(
    "budget", [AgentBudget(0.0), AgentBudget(None, 0), AgentBudget(None, 100), AgentBudget(1e-6)]
)
async def test_without_budget_no_call_is_made_and_no_lease_taken(
    world: MemoryWorld, budget: AgentBudget
):
    agent, trigger = await world.agent("RunDebriefer", budget), await world.ended_run()
    assert (await handled(world, agent, trigger))[1] == []
    (decision,) = decisions(world)
    assert decision["choice"] == "DebriefDeferred"
    assert decision["inputs"]["failure"] == "LanguageModelBudgetExceededError"
    assert len(world.events("Run")) == 2
    assert world.rows("model_call") == []


async def test_an_outage_is_tried_three_times_five_minutes_apart(world: MemoryWorld):
    agent, trigger = await world.agent("RunDebriefer"), await world.ended_run()
    begun, now = world.store.clock, world.store.clock()
    for attempt in range(3):
        world.store.clock = lambda at=now + attempt * timedelta(minutes=5, seconds=1): at
        seconds, requests = await handled(world, agent, trigger, LanguageModelTimeoutError())
        assert len(requests) == 1
        if attempt < 2:
            assert seconds == LOOK_AGAIN_SECONDS
            waits, requests = await handled(world, agent, trigger)
            assert requests == [], "another attempt is not due yet"
            assert isinstance(waits, Apart)
            assert 250 < waits.seconds <= 300
    world.store.clock = begun
    (decision,) = decisions(world)
    assert decision["inputs"]["failure"] == "AttemptsExhausted"
    # A call that timed out may be billed.
    calls = world.rows("model_call")
    assert [call.settled for call in calls] == [False] * 3
    shown = await world.shown("get_agent", agent_id=str(agent.id))
    assert shown["tokens_today"] == sum(call.reserved_tokens for call in calls) > 0


async def test_a_provider_that_is_down_costs_nothing(world: MemoryWorld):
    agent, trigger = await world.agent("RunDebriefer"), await world.ended_run()
    await handled(world, agent, trigger, LanguageModelUnavailableError())
    # Calls about other runs would fail too, so they wait.
    assert isinstance((await handled(world, agent, trigger))[0], float)
    assert [call.settled for call in world.rows("model_call")] == [True]
    assert decisions(world) == []


async def test_a_refusal_is_recorded_without_a_logbook_entry(world: MemoryWorld):
    agent, trigger = await world.agent("RunDebriefer"), await world.ended_run()
    await handled(world, agent, trigger, LanguageModelRefusedError())
    (decision,) = decisions(world)
    assert decision["inputs"]["failure"] == "LanguageModelRefusedError"
    assert decision["confidence"] is None
    assert world.rows("run_logbook_entry") == []


async def test_an_agent_without_a_policy_calls_no_model_and_leaves_no_denial(world: MemoryWorld):
    agent, trigger = await world.agent("RunDebriefer"), await world.ended_run()
    world.store.tables["policy_grant"].clear()
    model = scripted(lambda _: GOOD)
    with pytest.raises(UnauthorizedError):
        await world.runtime(agent, model).handle(agent, trigger)
    assert model.requests == []
    assert world.rows("authorization_denials") == []


@pytest.mark.parametrize("kind", ["RunDebriefer", "CautionDrafter"])
async def test_texts_that_may_name_people_are_withheld_unless_they_are_allowed(
    world: MemoryWorld, kind: str
):
    await world.caution("Ask Grace about the encoder")
    agent = await world.agent(kind)
    for send, seen in ((False, 0), (True, 1)):
        trigger = await world.ended_run(reason="Grace fell ill")
        model = scripted(lambda _: "{}")
        await world.runtime(agent, model, send_marked=send).handle(agent, trigger)
        (request,) = model.requests
        assert request.user.count("Grace fell ill") == seen
        assert ("Grace about" in request.user) == (send and kind == "CautionDrafter")
        assert ("<withheld>" in request.user) == (not send)


async def test_a_prompt_is_bounded_and_says_what_was_cut(world: MemoryWorld):
    agent = await world.agent("RunDebriefer")
    trigger = await world.ended_run(parameters={"note": "x" * 40_000})
    _, (request,) = await handled(world, agent, trigger)
    assert len(request.user.encode()) < 33 * 1024
    assert json.loads(request.user.split("\n", 1)[1])["cut"] == ["effective_parameters"]
