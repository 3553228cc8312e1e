"""An agent that calls a language model once for each run that has ended."""

import time
from collections.abc import Awaitable, Callable, Sequence
from math import isfinite
from uuid import UUID, uuid5

import msgspec

from beamkeep.contexts.decision.decision import AppendInferences, ConfidenceSource, RegisterDecision
from beamkeep.contexts.decision.inference import InferenceEntry
from beamkeep.kernel import Command, Record, replace
from beamkeep.runtime.session import Session
from beamkeep.runtime.store import Envelope
from beamkeep.schemas import Json, JsonObject
from beamkeep.telemetry import Telemetry

from .desk import Desk, ModelAgent, ModelDecision
from .models.budget import (
    MOST_ATTEMPTS,
    PASSING,
    BudgetedModels,
    Called,
    Exhausted,
    ModelCall,
    OverBudget,
    Postponed,
)
from .models.output import clean
from .models.seam import (
    CompletionRequest,
    CompletionResponse,
    LanguageModelBudgetExceededError,
    LanguageModelError,
    LanguageModelOutputInvalidError,
    ModelAnswer,
)
from .models.templates import TEMPLATES
from .resolution import Apart

LOOK_AGAIN_SECONDS = 1.0
EXHAUSTED = "AttemptsExhausted"


class ModelVerdict(Record):
    """What an agent makes of the answer of its model."""

    choice: str
    reasoning: str | None = None
    confidence: float | None = None
    inputs: JsonObject = msgspec.field(default_factory=dict[str, Json])
    failure: str | None = None


class Case(Record):
    """One run that has ended, as the agent asks its model about it."""

    facts: JsonObject
    judge: Callable[[JsonObject], ModelVerdict]
    """Checks the answer of the model. Raises LanguageModelOutputInvalidError."""


class ModelReaction(Record):
    """What tells one kind of agent from another."""

    kind: str
    context: str
    deferred: str
    """The choice when there is no answer."""
    conflicted: str
    """The choice when another agent of the kind holds the lease."""
    commands: tuple[str, ...]
    """The commands of a good answer."""
    case: Callable[[Envelope, Sequence[Envelope], Session, bool], Awaitable[Case]]
    effects: Callable[[ModelAgent, Envelope, UUID, str], Sequence[Command]]
    """What is written with a decision that has a narrative."""


class Turn(Record):
    """One event that an agent answers, and what it read for it."""

    agent: ModelAgent
    trigger: Envelope
    read: Session


class ModelAgentRuntime:
    """Takes one event at a time to a decision."""

    def __init__(
        self,
        reaction: ModelReaction,
        desk: Desk,
        models: BudgetedModels,
        new_id: Callable[[], UUID],
        send_marked: bool = False,
        telemetry: Telemetry | None = None,
    ) -> None:
        self._reaction, self._desk, self._models = reaction, desk, models
        self._new_id, self._send_marked = new_id, send_marked
        self._telemetry = telemetry or Telemetry()

    async def handle(self, agent: ModelAgent, trigger: Envelope) -> float | Apart:
        """Decide about a run; return 0, or the seconds after which to look at it again."""
        reaction, desk, key = self._reaction, self._desk, _key(trigger)
        if await desk.is_decided(agent, key):
            return 0.0
        await desk.permits(agent, trigger, reaction.commands)
        history, template = await desk.history(trigger), TEMPLATES[agent.prompt_template_id]
        read = desk.reader(agent)
        case = await reaction.case(trigger, history, read, self._send_marked)
        turn = Turn(agent, trigger, read)
        request = template.request(agent.model_ref, case.facts)
        holder = await desk.lease_holder(agent, trigger)
        if holder is None:
            try:
                await self._models.require_room(agent.id, agent.budget, request)
            except LanguageModelBudgetExceededError as error:
                return await self._defer(turn, _name(error))
            holder = await desk.take_lease(agent, trigger)
        if holder != agent.id:
            verdict = ModelVerdict(reaction.conflicted, inputs={"winning_agent_id": str(holder)})
            return await self._write(turn, verdict, ())
        since = time.perf_counter()
        called = await self._models.call(agent.id, key, agent.budget, request)
        if isinstance(called, Called):
            self._measure(request, called, time.perf_counter() - since)
        match called:
            case Postponed(seconds, is_open):
                wait = max(seconds, LOOK_AGAIN_SECONDS)
                # The end of a call that was killed says nothing of the next run.
                return Apart(wait) if is_open else wait
            case Exhausted():
                return await self._defer(turn, EXHAUSTED)
            case OverBudget():
                return await self._defer(turn, LanguageModelBudgetExceededError.__name__)
            case Called(call, outcome):
                if isinstance(outcome, LanguageModelError):
                    return await self._fail(turn, request, call, outcome)
                return await self._judge(turn, case, (request, call, outcome))

    def _measure(self, request: CompletionRequest, called: Called, seconds: float) -> None:
        kind, answered = self._reaction.kind, called.outcome.answered
        self._telemetry.time_model_call(kind, seconds)
        if answered:
            used, cost = answered.usage, self._models.prices.cost(request.model_ref, answered.usage)
            tokens = max(used.input_tokens, 0), max(used.output_tokens, 0)
            self._telemetry.count_model_tokens(kind, *tokens, usd=cost)

    async def _judge(
        self,
        turn: Turn,
        case: Case,
        made: tuple[CompletionRequest, ModelCall, CompletionResponse],
    ) -> float:
        request, call, response = made
        try:
            verdict = case.judge(response.output)
        except LanguageModelOutputInvalidError as error:
            failed = LanguageModelOutputInvalidError(str(error), response.answered)
            return await self._fail(turn, request, call, failed)
        entry = self._entry(request, call, response.answered)
        entry = replace(entry, error=verdict.failure)
        messages: JsonObject = {"user": request.user, "output": response.output}
        entries = [replace(entry, messages=messages)]
        return await self._write(turn, verdict, entries, call)

    async def _fail(
        self,
        turn: Turn,
        request: CompletionRequest,
        call: ModelCall,
        error: LanguageModelError,
    ) -> float:
        """Leave the event for another attempt, or record that there is no answer."""
        self._telemetry.refuse_model_call(self._reaction.kind, _name(error))
        if isinstance(error, PASSING):
            if call.attempt < MOST_ATTEMPTS:
                return LOOK_AGAIN_SECONDS
            return await self._defer(turn, EXHAUSTED)
        verdict = ModelVerdict(self._reaction.deferred, failure=_name(error))
        if error.answered is None:
            # An answer that could not be read may be billed: its reserve continues to count.
            billed = isinstance(error, LanguageModelOutputInvalidError)
            return await self._write(turn, verdict, (), None if billed else call)
        entry = replace(self._entry(request, call, error.answered), error=_name(error))
        return await self._write(turn, verdict, [entry], call)

    async def _defer(self, turn: Turn, failure: str) -> float:
        self._telemetry.refuse_model_call(self._reaction.kind, failure)
        verdict = ModelVerdict(self._reaction.deferred, failure=failure)
        return await self._write(turn, verdict, ())

    async def _write(
        self,
        turn: Turn,
        verdict: ModelVerdict,
        entries: Sequence[InferenceEntry],
        call: ModelCall | None = None,
    ) -> float:
        reaction, decision_id = self._reaction, self._new_id()
        agent, trigger = turn.agent, turn.trigger
        following: list[Command] = []
        if entries:
            own = uuid5(decision_id, "inference:0")
            rows = tuple(replace(each, inference_id=own) for each in entries)
            following.append(AppendInferences(decision_id=decision_id, entries=rows))
        if verdict.reasoning and not verdict.failure:
            following += reaction.effects(agent, trigger, decision_id, verdict.reasoning)
        names = reaction.commands if len(following) > 1 else reaction.commands[: 1 + len(following)]
        inputs: JsonObject = {
            "run_id": str(trigger.stream_id),
            "terminal_event_id": str(trigger.event_id),
            "terminal_event_type": trigger.event_type,
            "prompt_template_id": str(agent.prompt_template_id),
            **verdict.inputs,
            **({"failure": verdict.failure} if verdict.failure else {}),
        }
        decision = RegisterDecision(
            context=reaction.context,
            choice=verdict.choice,
            rule=agent.rule,
            reasoning=verdict.reasoning,
            confidence=verdict.confidence,
            confidence_source=(
                None if verdict.confidence is None else ConfidenceSource.SELF_REPORTED
            ),
            inputs=inputs,
            determining_policy_ids=frozenset(await self._desk.permits(agent, trigger, names)),
        )
        decided = ModelDecision(
            _key(trigger),
            decision_id,
            decision=decision,
            following=following,
            call=replace(call, settled=True) if call else None,
            read=turn.read,
        )
        await self._desk.write(agent, trigger, decided)
        return 0.0

    def _entry(
        self, request: CompletionRequest, call: ModelCall, answered: ModelAnswer
    ) -> InferenceEntry:
        cost = self._models.prices.cost(request.model_ref, answered.usage)
        reason = _word(answered.finish_reason, 100)
        return InferenceEntry(
            inference_id=UUID(int=0),
            occurred_at=call.started_at,
            operation_name="chat",
            provider_name=request.model_ref.provider,
            request_model=request.model_ref.requested,
            response_model=_word(answered.response_model, 200),
            response_id=_word(answered.response_id, 200),
            duration_ms=max(answered.duration_ms, 0),
            input_tokens=max(answered.usage.input_tokens, 0),
            output_tokens=max(answered.usage.output_tokens, 0),
            cost_usd=cost if cost is not None and isfinite(cost) and cost >= 0 else None,
            request_max_tokens=request.max_output_tokens,
            finish_reasons=(reason,) if reason else (),
        )


def _key(trigger: Envelope) -> str:
    return f"decision:{trigger.stream_id}:{trigger.event_id}"


def _name(error: LanguageModelError) -> str:
    return type(error).__name__


def _word(text: str | None, most: int) -> str | None:
    """Return a short text of a provider as it may be stored."""
    return clean(text or "").replace("\n", " ").strip()[:most].strip() or None
