"""Decision: one consequential choice, by whom, from what and why."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Annotated
from uuid import UUID

from annotated_types import MaxLen, MinLen
from msgspec.structs import asdict
from pydantic import Field, Strict

from beamkeep.contexts.access.actor import Actor, ActorNotFoundError, actors
from beamkeep.contexts.trust.policy import PolicyNotFoundError, policies
from beamkeep.kernel import (
    ActorKind,
    Aggregate,
    Call,
    Cannot,
    Command,
    Event,
    Invalid,
    Listing,
    MayContainPersonalData,
    NotFound,
    Page,
    Reader,
    Record,
    Rows,
    entries,
    reads,
    replace,
)
from beamkeep.kernel.values import FreeText, Timestamp, trimmed, trimmed_or_none
from beamkeep.schemas import Json, JsonObject
from beamkeep.schemas.bounds import require_bounded

from .inference import INFERENCES, DecisionInference, InferenceEntry
from .reserved import RESERVED

MOST_ALTERNATIVES = 32
MOST_INPUTS = 64
MOST_CHILDREN = 100


class OverrideKind(StrEnum):
    CORRECTION = "correction"
    EXCEPTION = "exception"
    APPEAL = "appeal"
    SUPERSESSION = "supersession"
    INVALIDATION = "invalidation"


class ConfidenceSource(StrEnum):
    SELF_REPORTED = "self_reported"
    LOGPROB = "logprob"
    ENSEMBLE = "ensemble"
    HUMAN = "human"


class ConfidenceBand(StrEnum):
    LOW = "Low"
    MEDIUM = "Medium"
    HIGH = "High"
    CERTAIN = "Certain"


class Rating(StrEnum):
    USEFUL = "useful"
    MISLEADING = "misleading"
    IGNORED = "ignored"


# Events are stored for ever: add a field with a default; never rename or drop one.
class DecisionEvent(Event):
    decision_id: UUID


class DecisionRegistered(DecisionEvent):
    actor_id: UUID
    context: str
    choice: FreeText
    parent_id: UUID | None
    override_kind: OverrideKind | None
    rule: FreeText | None
    reasoning: FreeText | None
    confidence: float | None
    confidence_source: ConfidenceSource | None
    alternatives: tuple[FreeText, ...]
    inputs: Annotated[JsonObject | None, MayContainPersonalData()]
    determining_policy_ids: tuple[UUID, ...]


class DecisionRated(DecisionEvent):
    actor_id: UUID
    rating: Rating
    comment: FreeText | None
    confidence_at_rating: float | None


class DecisionNotFoundError(NotFound):
    """The decision does not exist."""


class InvalidDecisionContextError(Invalid):
    """The decision's context is not usable."""


class InvalidDecisionChoiceError(Invalid):
    """The choice is not usable."""


class InvalidDecisionConfidenceError(Invalid):
    """A confidence is a number from 0 to 1 and comes with its source; without one, give neither."""


class InvalidDecisionOverrideKindError(Invalid):
    """Only a decision that follows another overrides it; name that one as its parent."""


class InvalidDecisionInputsError(Invalid):
    """The inputs of the decision are not usable; give ids and numbers, and not too many."""


class InvalidDecisionAlternativesError(Invalid):
    """The alternatives are not usable."""


class InvalidDecisionRuleError(Invalid):
    """The rule is not usable."""


class InvalidDecisionReasoningError(Invalid):
    """The reasoning is not usable."""


class InvalidDecisionCommentError(Invalid):
    """The comment is not usable."""


class InvalidDecisionInferenceError(Invalid):
    """An inference is named twice in the request; send each one once."""


class DecisionCannotRegisterError(Cannot):
    """The decision cannot be recorded under this actor."""


class DecisionCannotRateError(Cannot):
    """The decision cannot be rated so."""


class DecisionCannotAppendInferencesError(Cannot):
    """Only the actor that decided says which inferences led to the decision."""


class DecisionInferenceIdTakenError(Cannot):
    """An inference with this id belongs to another decision; give every inference an id of its own.

    Nothing of the request was kept.
    """


class Rated(Record):
    """What one actor thinks of a decision."""

    rating: Rating
    comment: str | None


class Decision(Record):
    id: UUID
    actor_id: UUID
    context: str
    choice: str
    parent_id: UUID | None
    override_kind: OverrideKind | None
    rule: str | None
    reasoning: str | None
    confidence: float | None
    confidence_source: ConfidenceSource | None
    alternatives: tuple[str, ...]
    inputs: JsonObject | None
    determining_policy_ids: frozenset[UUID]
    confidence_band: ConfidenceBand | None
    created_at: datetime
    ratings: Mapping[UUID, Rated]


def begin(event: DecisionRegistered) -> Decision:
    return Decision(
        event.decision_id,
        event.actor_id,
        event.context,
        event.choice,
        event.parent_id,
        event.override_kind,
        event.rule,
        event.reasoning,
        event.confidence,
        event.confidence_source,
        event.alternatives,
        event.inputs,
        frozenset(event.determining_policy_ids),
        _band(event.confidence),
        event.occurred_at,
        {},
    )


def evolve(decision: Decision, event: DecisionRated) -> Decision:
    latest = {event.actor_id: Rated(event.rating, event.comment)}
    return replace(decision, ratings={**decision.ratings, **latest})


type ContextName = Annotated[str, MinLen(1), MaxLen(100)]
type Choice = Annotated[str, MinLen(1), MaxLen(500)]
type Rule = Annotated[str, MinLen(1), MaxLen(500)]
type InputName = Annotated[str, MinLen(1), MaxLen(100)]


class RegisterDecision(Command):
    actor_id: UUID | None = None
    """Who decided; left out, whoever calls."""
    context: ContextName
    """What it is about, as RunStart, RunHold, RecipeApproval, PolicyGrant, …"""
    choice: Choice
    parent_id: UUID | None = None
    """The decision this one follows or overrides."""
    override_kind: OverrideKind | None = None
    rule: Rule | None = None
    """The rule it rests on."""
    reasoning: Annotated[str, MinLen(1), MaxLen(5000)] | None = None
    confidence: Annotated[float, Strict()] | None = None
    """From 0 to 1."""
    confidence_source: ConfidenceSource | None = None
    alternatives: tuple[Choice, ...] = ()
    """What else was possible, best first; at most 32."""
    inputs: dict[InputName, Json] | None = None
    """What it was decided from: ids and numbers, never names; at most 64, and 64 KiB in all."""
    determining_policy_ids: Annotated[frozenset[UUID], MaxLen(32)] = frozenset()
    """The policies that decided whether the act was permitted."""


class DecisionCommand(Command):
    decision_id: UUID


class RateDecision(DecisionCommand):
    rating: Rating
    comment: Annotated[str, MinLen(1), MaxLen(2000)] | None = None


class AppendInferences(DecisionCommand):
    entries: Annotated[tuple[InferenceEntry, ...], MinLen(1), MaxLen(100)]


async def deciding_actor(command: RegisterDecision, read: Reader) -> Actor | None:
    """Who decided, where it is not the caller; what else is named must be there."""
    actor = await read.one(actors, command.actor_id) if command.actor_id else None
    if command.parent_id:
        await read.one(decisions, command.parent_id)
    await read.many(policies, sorted(command.determining_policy_ids))
    return actor


async def messages_kept(decision: Decision, command: AppendInferences, read: Reader) -> bool:
    return read.installation.store_inference_messages


def register_decision(
    command: RegisterDecision, given: Actor | None, call: Call
) -> list[DecisionRegistered]:
    """Record who chose what, from what and why."""
    context = trimmed(command.context, InvalidDecisionContextError)
    choice = trimmed(command.choice, InvalidDecisionChoiceError)
    reserved = RESERVED.get(context)
    if reserved and choice not in reserved.choices:
        listed = ", ".join(reserved.choices)
        raise InvalidDecisionChoiceError(f"In the context {context} it is one of {listed}.")
    _require_confidence(command.confidence, command.confidence_source)
    if command.override_kind and not command.parent_id:
        raise InvalidDecisionOverrideKindError
    inputs = command.inputs and require_bounded(command.inputs, InvalidDecisionInputsError)
    if len(inputs or ()) > MOST_INPUTS:
        raise InvalidDecisionInputsError(f"There are over {MOST_INPUTS}.")
    alternatives = [
        trimmed(each, InvalidDecisionAlternativesError) for each in command.alternatives
    ]
    if len(alternatives) > MOST_ALTERNATIVES:
        raise InvalidDecisionAlternativesError(f"There are over {MOST_ALTERNATIVES}.")
    rule = trimmed_or_none(command.rule, InvalidDecisionRuleError)
    reasoning = trimmed_or_none(command.reasoning, InvalidDecisionReasoningError)
    if given and given.kind is ActorKind.AGENT and given.id != call.principal_id:
        raise DecisionCannotRegisterError("Nobody records in the name of an agent but itself.")
    if reserved:
        # There are no agents yet, so nobody decides here.
        raise DecisionCannotRegisterError(
            f"In the context {context} only an agent of kind {reserved.agent_kind} decides.",
            agent_kind=reserved.agent_kind,
        )
    return [
        DecisionRegistered(
            call.now,
            call.new_id,
            given.id if given else call.principal_id,
            context,
            choice,
            command.parent_id,
            command.override_kind,
            rule,
            reasoning,
            command.confidence,
            command.confidence_source,
            tuple(alternatives),
            inputs,
            tuple(sorted(command.determining_policy_ids)),
        )
    ]


def rate_decision(decision: Decision, command: RateDecision, call: Call) -> list[DecisionRated]:
    """Say how good a decision was; the latest word of each actor counts."""
    comment = trimmed_or_none(command.comment, InvalidDecisionCommentError)
    me = call.principal_id
    if me == decision.actor_id:
        raise DecisionCannotRateError("Nobody rates a decision of their own.")
    if decision.ratings.get(me) == Rated(command.rating, comment):
        raise DecisionCannotRateError("You have said so already.")
    return [DecisionRated(call.now, decision.id, me, command.rating, comment, decision.confidence)]


def append_inferences(
    decision: Decision, command: AppendInferences, given: bool, call: Call
) -> list[Rows]:
    """Record the calls of models and tools made while deciding; what is known is passed over."""
    ids = [entry.inference_id for entry in command.entries]
    if len(set(ids)) < len(ids):
        raise InvalidDecisionInferenceError
    if call.principal_id != decision.actor_id:
        raise DecisionCannotAppendInferencesError
    rows = [
        DecisionInference(
            **asdict(entry if given else replace(entry, messages=None)),
            decision_id=decision.id,
            agent_id=decision.actor_id if call.principal_kind is ActorKind.AGENT else None,
            principal_id=call.principal_id,
            surface_id=call.surface_id,
            correlation_id=call.correlation_id,
            recorded_at=call.now,
        )
        for entry in command.entries
    ]
    return [INFERENCES.append(rows, under="decision_id", taken=DecisionInferenceIdTakenError)]


def _require_confidence(confidence: float | None, source: ConfidenceSource | None) -> None:
    if confidence is not None and not 0 <= confidence <= 1:
        raise InvalidDecisionConfidenceError("It is outside 0 to 1.")
    if (confidence is None) != (source is None):
        missing = "confidence" if confidence is None else "source"
        raise InvalidDecisionConfidenceError(f"The {missing} is missing.")


def _band(confidence: float | None) -> ConfidenceBand | None:
    if confidence is None:
        return None
    if confidence < 0.3:
        return ConfidenceBand.LOW
    if confidence < 0.7:
        return ConfidenceBand.MEDIUM
    return ConfidenceBand.HIGH if confidence < 0.95 else ConfidenceBand.CERTAIN


decisions = Aggregate("Decision", begin, evolve, DecisionNotFoundError)

# fmt: off
OPERATIONS = (
    decisions.creates("POST /decisions", RegisterDecision, register_decision, ActorNotFoundError,
        DecisionNotFoundError, PolicyNotFoundError, InvalidDecisionContextError,
        InvalidDecisionChoiceError, InvalidDecisionConfidenceError,
        InvalidDecisionOverrideKindError, InvalidDecisionInputsError,
        InvalidDecisionAlternativesError, InvalidDecisionRuleError, InvalidDecisionReasoningError,
        DecisionCannotRegisterError, given=deciding_actor),
    decisions.changes("POST /decisions/{decision_id}/rate", RateDecision, rate_decision,
        InvalidDecisionCommentError, DecisionCannotRateError),
    decisions.changes("POST /decisions/{decision_id}/inferences/append", AppendInferences,
        append_inferences, InvalidDecisionInferenceError, DecisionCannotAppendInferencesError,
        DecisionInferenceIdTakenError, given=messages_kept),
)
# fmt: on


class ListDecisions(Listing):
    """List decisions, by age."""

    actor_id: UUID | None = None
    context: ContextName | None = None
    choice: Choice | None = None
    exclude_choice: frozenset[Choice] | None = None
    """Leave out the decisions with one of these choices."""
    confidence_band: ConfidenceBand | None = None
    rule: Rule | None = None
    parent_id: UUID | None = None
    run_id: UUID | None = None
    """Those with this run among their inputs, as run_id."""
    rating: Rating | None = None
    """Those that somebody last rated so."""
    from_: Annotated[Timestamp | None, Field(alias="from")] = None
    """Those made at this time or later."""
    to: Timestamp | None = None
    """Those made before this time."""


class ListDecisionInferences(Page):
    """List the calls of models and tools made for one decision, as they happened."""

    include_messages: bool = False
    """Show prompts and answers too, where they are kept."""


class ShownChildren(Record):
    child_ids: tuple[UUID, ...]


async def children(ids: Sequence[UUID], read: Reader) -> dict[UUID, ShownChildren]:
    """The decisions that follow or override each one."""
    return {
        id: ShownChildren(
            await read.matching(ListDecisions(parent_id=id), to_show=True, most=MOST_CHILDREN)
        )
        for id in ids
    }


def _run_ids(decision: Decision) -> tuple[UUID, ...]:
    """The run among the inputs, which may hold anything under that name."""
    try:
        return (UUID(str((decision.inputs or {}).get("run_id"))),)
    except ValueError:
        return ()


QUESTIONS = (
    *reads(
        "/decisions",
        decisions,
        ListDecisions,
        facets={
            "run_id": _run_ids,
            "rating": lambda decision: {each.rating for each in decision.ratings.values()},
        },
        excluded={"exclude_choice": "choice"},
        compared={"from_": ("created_at", ">="), "to": ("created_at", "<")},
        shown_with=children,
    ),
    entries(
        "GET /decisions/{decision_id}/inferences",
        ListDecisionInferences,
        decisions,
        INFERENCES,
        by=("occurred_at", "inference_id"),
        hidden={"messages": "include_messages"},
    ),
)
