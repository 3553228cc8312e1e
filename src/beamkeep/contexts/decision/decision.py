"""Decision: a recorded choice, with the actor, the inputs and the reasons."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Annotated
from uuid import UUID

from annotated_types import MaxLen, MinLen
from msgspec.structs import asdict
from pydantic import Field, Strict

from beamkeep.contexts.access.actor import Actor, ActorNotFoundError, actors
from beamkeep.contexts.seams.belonging import GivenTeam, OfTeam
from beamkeep.contexts.seams.installation import Reader
from beamkeep.contexts.trust.belonging import OF_TEAM
from beamkeep.contexts.trust.policy import PolicyNotFoundError, policies
from beamkeep.kernel import (
    ActorKind,
    Aggregate,
    Blank,
    Call,
    Cannot,
    Command,
    DirectoryEntry,
    Event,
    Invalid,
    Listing,
    MayContainPersonalData,
    NotFound,
    Page,
    Record,
    Rows,
    SideWrite,
    Sources,
    entries,
    reads,
    replace,
)
from beamkeep.kernel.values import FreeText, Timestamp, Trimmed
from beamkeep.schemas import Json, JsonObject
from beamkeep.schemas.bounds import require_bounded

from .inference import INFERENCES, DecisionInference, InferenceEntry
from .reserved import RESERVED
from .results import (
    AGENT_DECISIONS,
    RESULT_OVERRIDES,
    RESULT_RATINGS,
    AgentDecision,
    ResultOverride,
    ResultRating,
)

MOST_ALTERNATIVES = 32
MOST_INPUTS = 64
MOST_CHILDREN = 100


class OverrideKind(StrEnum):
    CORRECTION = "correction"
    EXCEPTION = "exception"
    APPEAL = "appeal"
    SUPERSESSION = "supersession"
    INVALIDATION = "invalidation"


REVERSING = frozenset({OverrideKind.CORRECTION, OverrideKind.INVALIDATION})
"""The kinds of override that say that the decision before was wrong."""


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


BANDS = ((0.3, ConfidenceBand.LOW), (0.7, ConfidenceBand.MEDIUM), (0.95, ConfidenceBand.HIGH))
"""The bands below each limit."""


class Rating(StrEnum):
    USEFUL = "useful"
    MISLEADING = "misleading"
    IGNORED = "ignored"


# Events are stored for ever: add a field with a default; never rename or drop one.
class DecisionEvent(Event):
    decision_id: UUID


class DecisionRegistered(DecisionEvent):
    """Recorded."""

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
    team_id: UUID | None = None
    visit_id: UUID | None = None


class DecisionRated(DecisionEvent):
    actor_id: UUID
    rating: Rating
    comment: FreeText | None
    confidence_at_rating: float | None


class DecisionPromoted(DecisionEvent):
    """Promoted to a caution."""

    caution_id: UUID


class DecisionNotFoundError(NotFound): ...


class InvalidDecisionContextError(Blank): ...


class InvalidDecisionChoiceError(Invalid):
    """Choice must not be blank and must be one that the context allows."""


class InvalidDecisionConfidenceError(Invalid):
    """Confidence must be a number from 0 to 1 and must come with its source."""


class InvalidDecisionOverrideKindError(Invalid):
    """Override kind requires the overridden decision as parent."""


class InvalidDecisionInputsError(Invalid):
    """Inputs must be a JSON object with at most 64 entries and 64 KiB."""


class InvalidDecisionAlternativesError(Invalid):
    """Decision must have at most 32 alternatives, none of them blank."""


class InvalidDecisionRuleError(Blank): ...


class InvalidDecisionReasoningError(Blank): ...


class InvalidDecisionCommentError(Blank): ...


class InvalidDecisionInferenceError(Invalid):
    """Each inference in a request must have a different id."""


class DecisionCannotRegisterError(Cannot):
    """A decision can be recorded only for an actor that may decide in its context."""


class DecisionCannotRateError(Cannot):
    """A decision can be rated only by another actor, and only with a new rating or comment."""


class DecisionCannotAppendInferencesError(Cannot):
    """Only the actor who decided can append inferences to the decision."""


class DecisionInferenceIdTakenError(Cannot):
    """An inference id of this request belongs to another decision; send new ids."""


class DecisionRating(Record):
    """The latest rating of a decision by one actor."""

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
    ratings: Mapping[UUID, DecisionRating]
    promoted_caution_id: UUID | None = None
    """The caution that was registered from the decision."""
    team_id: UUID | None = None
    visit_id: UUID | None = None


def begin(event: DecisionRegistered) -> Decision:
    return Decision.of(
        event,
        id=event.decision_id,
        determining_policy_ids=frozenset(event.determining_policy_ids),
        confidence_band=_band(event.confidence),
        created_at=event.occurred_at,
        ratings={},
    )


def evolve(decision: Decision, event: DecisionRated | DecisionPromoted) -> Decision:
    if isinstance(event, DecisionPromoted):
        return replace(decision, promoted_caution_id=event.caution_id)
    latest = {event.actor_id: DecisionRating(event.rating, event.comment)}
    return replace(decision, ratings={**decision.ratings, **latest})


type ContextName = Annotated[str, MinLen(1), MaxLen(100)]
type Choice = Annotated[str, MinLen(1), MaxLen(500)]
type Rule = Annotated[str, MinLen(1), MaxLen(500)]
type InputName = Annotated[str, MinLen(1), MaxLen(100)]
type Reasoning = Annotated[str, MinLen(1), MaxLen(5000)]
type Comment = Annotated[str, MinLen(1), MaxLen(2000)]


class RegisterDecision(GivenTeam):
    actor_id: UUID | None = None
    """Actor who decided (default: the caller)."""
    context: Annotated[ContextName, Trimmed(InvalidDecisionContextError)]
    """Kind of decision, for example RunStart, RunHold, RecipeApproval or PolicyGrant."""
    choice: Annotated[Choice, Trimmed(InvalidDecisionChoiceError)]
    parent_id: UUID | None = None
    """Decision that this one follows or overrides."""
    override_kind: OverrideKind | None = None
    rule: Annotated[Rule, Trimmed(InvalidDecisionRuleError)] | None = None
    """Rule that the decision is based on."""
    reasoning: Annotated[Reasoning, Trimmed(InvalidDecisionReasoningError)] | None = None
    confidence: Annotated[float, Strict()] | None = None
    """Number from 0 to 1; requires confidence_source."""
    confidence_source: ConfidenceSource | None = None
    alternatives: tuple[Annotated[Choice, Trimmed(InvalidDecisionAlternativesError)], ...] = ()
    """Other possible choices, best first; at most 32."""
    inputs: dict[InputName, Json] | None = None
    """Ids and numbers that the decision is based on, never names; at most 64 and 64 KiB."""
    determining_policy_ids: Annotated[frozenset[UUID], MaxLen(32)] = frozenset()
    """Policies that permitted or denied the action."""


class DecisionCommand(Command):
    decision_id: UUID


class RateDecision(DecisionCommand):
    rating: Rating
    comment: Annotated[Comment, Trimmed(InvalidDecisionCommentError)] | None = None


class AppendInferences(DecisionCommand):
    entries: Annotated[tuple[InferenceEntry, ...], MinLen(1), MaxLen(100)]


async def deciding_actor(command: RegisterDecision, read: Reader) -> Actor | None:
    """Return the actor that the command names; raise when a named object does not exist."""
    actor = await read.one(actors, command.actor_id) if command.actor_id else None
    if command.parent_id:
        await read.one(decisions, command.parent_id)
    await read.many(policies, sorted(command.determining_policy_ids))
    return actor


async def messages_stored(decision: Decision, command: AppendInferences, read: Reader) -> bool:
    return read.facts.store_inference_messages


def register_decision(
    command: RegisterDecision, given: Actor | None, call: Call
) -> list[DecisionRegistered | SideWrite]:
    """Record a decision with its actor, choice, inputs and reasons."""
    reserved = RESERVED.get(command.context)
    if reserved and command.choice not in reserved.choices:
        listed = ", ".join(reserved.choices)
        raise InvalidDecisionChoiceError(f"Context {command.context} allows {listed}.")
    _require_confidence(command.confidence, command.confidence_source)
    if command.override_kind and not command.parent_id:
        raise InvalidDecisionOverrideKindError
    inputs = command.inputs and require_bounded(command.inputs, InvalidDecisionInputsError)
    if len(inputs or ()) > MOST_INPUTS:
        raise InvalidDecisionInputsError(f"There are {len(command.inputs or ())} entries.")
    if len(command.alternatives) > MOST_ALTERNATIVES:
        detail = f"There are {len(command.alternatives)} alternatives."
        raise InvalidDecisionAlternativesError(detail)
    if given and given.kind is ActorKind.AGENT and given.id != call.principal_id:
        raise DecisionCannotRegisterError("Only the agent itself can record its decisions.")
    is_own = given is None or given.id == call.principal_id
    if reserved and not (is_own and call.agent_kind == reserved.agent_kind):
        kind = reserved.agent_kind
        detail = f"Only an agent of kind {kind} can record a {reserved.record}."
        raise DecisionCannotRegisterError(detail, agent_kind=kind)
    registered = DecisionRegistered.of(
        command,
        occurred_at=call.now,
        decision_id=call.new_id,
        actor_id=given.id if given else call.principal_id,
        inputs=inputs,
        determining_policy_ids=tuple(sorted(command.determining_policy_ids)),
    )
    rows: list[SideWrite] = []
    if is_own and call.principal_kind is ActorKind.AGENT:
        agent_id, correlation_id = call.principal_id, call.correlation_id
        row = AgentDecision(call.new_id, agent_id, correlation_id, decided_at=call.now)
        rows.append(AGENT_DECISIONS.insert(row))
    if command.parent_id and command.override_kind in REVERSING:
        rows.append(RESULT_OVERRIDES.replace(ResultOverride(command.parent_id)))
    return [registered, *rows]


def rate_decision(
    decision: Decision, command: RateDecision, call: Call
) -> list[DecisionRated | SideWrite]:
    """Rate a decision; the latest rating of each actor counts."""
    me = call.principal_id
    if me == decision.actor_id:
        raise DecisionCannotRateError("The caller made this decision.")
    if decision.ratings.get(me) == DecisionRating(command.rating, command.comment):
        raise DecisionCannotRateError("The caller already gave this rating with this comment.")
    at, confidence = call.now, decision.confidence
    rated = DecisionRated.of(command, occurred_at=at, actor_id=me, confidence_at_rating=confidence)
    misleading = Rating.MISLEADING in _ratings(evolve(decision, rated))
    return [rated, RESULT_RATINGS.replace(ResultRating(decision.id, misleading))]


def append_inferences(
    decision: Decision, command: AppendInferences, given: bool, call: Call
) -> list[Rows]:
    """Append calls of models and tools to a decision; calls that are stored already are skipped."""
    ids = [entry.inference_id for entry in command.entries]
    if repeated := [id for id in ids if ids.count(id) > 1]:
        raise InvalidDecisionInferenceError(f"Id {repeated[0]} occurs more than once.")
    if call.principal_id != decision.actor_id:
        raise DecisionCannotAppendInferencesError
    agent_id = decision.actor_id if call.principal_kind is ActorKind.AGENT else None
    whose = {"decision_id": decision.id, "agent_id": agent_id, "recorded_at": call.now}
    stored = (entry if given else replace(entry, messages=None) for entry in command.entries)
    rows = [DecisionInference.of(call, **asdict(entry), **whose) for entry in stored]
    return [INFERENCES.append(rows, under="decision_id", taken=DecisionInferenceIdTakenError)]


def _require_confidence(confidence: float | None, source: ConfidenceSource | None) -> None:
    if confidence is not None and not 0 <= confidence <= 1:
        raise InvalidDecisionConfidenceError(f"The confidence is {confidence}.")
    if (confidence is None) != (source is None):
        missing = "confidence" if confidence is None else "confidence_source"
        raise InvalidDecisionConfidenceError(f"{missing} is missing; give both or neither.")


def _band(confidence: float | None) -> ConfidenceBand | None:
    if confidence is None:
        return None
    return next((band for limit, band in BANDS if confidence < limit), ConfidenceBand.CERTAIN)


def input_id(inputs: JsonObject | None, name: str) -> UUID | None:
    """Return an input when it is a UUID; inputs may have any value under any name."""
    try:
        return UUID(str((inputs or {}).get(name)))
    except ValueError:
        return None


BASED_ON = (
    *("run_id", "procedure_id", "subject_id", "campaign_id"),
    *("dataset_id", "clearance_id", "proposal_id"),
)
"""The inputs that name an object of a team."""


def team_of(event: DecisionRegistered) -> Sources:
    based_on = (input_id(event.inputs, name) for name in BASED_ON)
    return Sources(part_of=(event.parent_id, *based_on), several=True)


decisions = Aggregate("Decision", begin, evolve, absent=DecisionNotFoundError, team=team_of)

# fmt: off
OPERATIONS = (
    decisions.creates("POST /decisions", RegisterDecision, register_decision, ActorNotFoundError,
        DecisionNotFoundError, PolicyNotFoundError, InvalidDecisionConfidenceError,
        InvalidDecisionOverrideKindError, InvalidDecisionInputsError, DecisionCannotRegisterError,
        *OF_TEAM, given=deciding_actor, first_hand=True),
    decisions.changes("POST /decisions/{decision_id}/rate", RateDecision, rate_decision,
        DecisionCannotRateError, first_hand=True),
    decisions.changes("POST /decisions/{decision_id}/inferences/append", AppendInferences,
        append_inferences, InvalidDecisionInferenceError, DecisionCannotAppendInferencesError,
        DecisionInferenceIdTakenError, given=messages_stored,
        title="Record inferences of a decision"),
)
# fmt: on


class ListDecisions(OfTeam, Listing):
    """List decisions, newest first."""

    actor_id: UUID | None = None
    context: ContextName | None = None
    choice: Choice | None = None
    exclude_choice: frozenset[Choice] | None = None
    """Exclude decisions with one of these choices."""
    confidence_band: ConfidenceBand | None = None
    rule: Rule | None = None
    parent_id: UUID | None = None
    run_id: UUID | None = None
    """Only decisions with this run as input run_id."""
    rating: Rating | None = None
    """Only decisions that an actor last rated so."""
    promoted: bool | None = None
    """Only decisions from which a caution was registered, or only others."""
    from_: Annotated[Timestamp | None, Field(alias="from")] = None
    """Only decisions made at or after this time."""
    to: Timestamp | None = None
    """Only decisions made before this time."""


class ListDecisionInferences(Page):
    """List the calls of models and tools of a decision, oldest first."""

    include_messages: bool = False
    """Include prompts and answers, if they are stored."""


class ShownChildren(Record):
    child_ids: tuple[UUID, ...]


async def children(ids: Sequence[UUID], read: Reader) -> dict[UUID, ShownChildren]:
    """Return the decisions that follow or override each decision."""
    found: dict[UUID, ShownChildren] = {}
    for id in ids:
        query = ListDecisions(parent_id=id)
        found[id] = ShownChildren(await read.matching(query, to_show=True, most=MOST_CHILDREN))
    return found


def run_ids(decision: Decision) -> tuple[UUID, ...]:
    """Return the input run_id when it is a UUID."""
    id = input_id(decision.inputs, "run_id")
    return (id,) if id else ()


def _ratings(decision: Decision) -> set[Rating]:
    return {each.rating for each in decision.ratings.values()}


# fmt: off
QUESTIONS = (
    *reads("/decisions", decisions, ListDecisions, shown_with=children,
        composed_of=("Caution", "Proposal", "Run"),
        directory=DirectoryEntry(
            lambda it: f"{it.context}: {it.choice}", keywords=lambda it: (it.rule,)),
        facets={"run_id": run_ids, "rating": _ratings,
            "promoted": lambda it: (it.promoted_caution_id is not None,)},
        excluded={"exclude_choice": "choice"}, version=3,
        compared={"from_": ("created_at", ">="), "to": ("created_at", "<")}),
    entries("GET /decisions/{decision_id}/inferences", ListDecisionInferences, decisions,
        INFERENCES, by=("occurred_at", "inference_id"), hidden={"messages": "include_messages"}),
)
# fmt: on
