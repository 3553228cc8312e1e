"""Inference: a call of a language model or a tool during a decision."""

from datetime import datetime
from typing import Annotated
from uuid import UUID

from annotated_types import Ge, MaxLen, MinLen
from pydantic import AllowInfNan, Field, Strict

from beamkeep.kernel import Record, Table
from beamkeep.kernel.values import Timestamp
from beamkeep.schemas import JsonObject

VISIBLE = Field(pattern=r"\S")

type ShortWord = Annotated[str, MinLen(1), MaxLen(100), VISIBLE]
type LongWord = Annotated[str, MinLen(1), MaxLen(200), VISIBLE]
type Count = Annotated[int, Strict(), Ge(0)]


class InferenceEntry(Record):
    """A call as its producer reports it; texts are stored unchanged."""

    inference_id: UUID
    occurred_at: Timestamp
    operation_name: ShortWord
    provider_name: ShortWord
    request_model: LongWord
    response_model: LongWord | None = None
    response_id: LongWord | None = None
    duration_ms: Count | None = None
    input_tokens: Count | None = None
    output_tokens: Count | None = None
    cost_usd: Annotated[float, Strict(), Ge(0), AllowInfNan(False)] | None = None
    request_temperature: Annotated[float, Strict(), AllowInfNan(False)] | None = None
    request_max_tokens: Annotated[int, Strict()] | None = None
    finish_reasons: Annotated[tuple[ShortWord, ...], MaxLen(16)] = ()
    conversation_id: LongWord | None = None
    tool_name: LongWord | None = None
    tool_call_id: LongWord | None = None
    error: ShortWord | None = None
    messages: JsonObject | None = None


class DecisionInference(InferenceEntry, kw_only=True):
    decision_id: UUID
    agent_id: UUID | None
    """The actor who decided, when that actor is an agent."""
    principal_id: UUID
    surface_id: UUID | None
    correlation_id: UUID | None
    recorded_at: datetime


INFERENCES = Table("decision_inference", DecisionInference, key=("inference_id",))
