"""Examples of decisions."""

from typing import Any
from uuid import uuid4

from beamkeep.testing.examples import CallExample, Do, changed, given, made
from tests.support.examples.trust import a_policy, an_actor


async def a_decision(do: Do) -> str:
    """A decision of the caller."""
    answer = await do("register_decision", {"context": "RunHold", "choice": "Hold"})
    return answer["decision_id"]


async def register_decision(do: Do) -> dict[str, Any]:
    return {
        "actor_id": await an_actor(do),
        "context": "RunHold",
        "choice": "Hold",
        "parent_id": await a_decision(do),
        "override_kind": "correction",
        "rule": "Hold below 150 mA",
        "reasoning": "The current falls faster than it did yesterday",
        "confidence": 0.8,
        "confidence_source": "human",
        "alternatives": ["Wait", "Stop"],
        "inputs": {"run_id": str(uuid4()), "current": 148.5},
        "determining_policy_ids": [await a_policy(do)],
    }


a_decision_of_another = made("register_decision", register_decision, "decision_id")


async def a_rated_decision(do: Do) -> str:
    decision_id = await a_decision_of_another(do)
    await do("rate_decision", {"decision_id": decision_id, "rating": "useful"})
    return decision_id


async def some_inferences(do: Do) -> list[dict[str, Any]]:
    answered = {
        "inference_id": str(uuid4()),
        "occurred_at": "2030-01-31T07:30:00Z",
        "operation_name": "chat",
        "provider_name": "local",
        "request_model": "model-a",
        "response_model": "model-a-2030",
        "response_id": "answer-1",
        "duration_ms": 1200,
        "input_tokens": 500,
        "output_tokens": 80,
        "cost_usd": 0.002,
        "request_temperature": 0.2,
        "request_max_tokens": 1024,
        "finish_reasons": ["stop"],
        "conversation_id": "talk-1",
        "messages": {"prompt": "Hold or continue?", "answer": "Hold."},
    }
    failed = {
        "inference_id": str(uuid4()),
        "occurred_at": "2030-01-31T07:29:00Z",
        "operation_name": "execute_tool",
        "provider_name": "local",
        "request_model": "model-a",
        "tool_name": "read_current",
        "tool_call_id": "call-1",
        "error": "TimeoutError",
    }
    return [answered, failed]


async def one_inference_twice(do: Do) -> list[dict[str, Any]]:
    first, _ = await some_inferences(do)
    return [first, first]


async def a_decision_with_inferences(do: Do) -> str:
    decision_id, entries = await a_decision(do), await some_inferences(do)
    await do("append_inferences", {"decision_id": decision_id, "entries": entries})
    return decision_id


async def append_logbook_entry(do: Do) -> dict[str, Any]:
    text = "We waited for the next fill."
    return {"decision_id": await a_decision(do), "text": text, "entry_id": str(uuid4())}


a_decision_with_a_logbook = changed(
    "append_decision_logbook_entry", append_logbook_entry, "decision_id"
)


EXAMPLES: dict[str, CallExample] = {
    "register_decision": register_decision,
    "rate_decision": given(
        decision_id=a_decision_of_another, rating="useful", comment="It saved the sample"
    ),
    "append_inferences": given(decision_id=a_decision, entries=some_inferences),
    "append_decision_logbook_entry": append_logbook_entry,
    "get_decision": given(decision_id=a_rated_decision),
    "get_decision_history": given(decision_id=a_rated_decision),
    "list_decisions": given(
        context="RunHold",
        choice="Hold",
        rule="beam",
        exclude_choice=["Stop"],
        confidence_band="High",
    ),
    "list_decision_inferences": given(
        decision_id=a_decision_with_inferences, include_messages="true"
    ),
    "list_decision_logbook_entries": given(decision_id=a_decision_with_a_logbook),
    "list_decision_evidence": given(decision_id=a_decision, window_minutes="120"),
    "verify_decision_evidence": given(decision_id=a_decision, window_minutes="120"),
}
