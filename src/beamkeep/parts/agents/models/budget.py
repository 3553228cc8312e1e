"""The budget of an agent: every call of a model has a row before it is made, and is counted."""

import asyncio
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Protocol
from uuid import UUID

from beamkeep.contexts.agent.agent import AgentBudget, ModelRef, UsdCap
from beamkeep.kernel import Record, Table, replace

from .seam import (
    CompletionRequest,
    CompletionResponse,
    LanguageModelBudgetExceededError,
    LanguageModelError,
    LanguageModelRateLimitedError,
    LanguageModels,
    LanguageModelTimeoutError,
    LanguageModelUnavailableError,
    Usage,
)

MOST_ATTEMPTS = 3
ATTEMPT_EVERY = timedelta(minutes=5)
CALL_SECONDS = 270.0
"""A call with all its tries is given up before the next attempt may begin."""
PASSING = (
    LanguageModelTimeoutError,
    LanguageModelRateLimitedError,
    LanguageModelUnavailableError,
)
"""Failures after which another attempt is made."""


class ModelCall(Record):
    """A call that was begun; until it is settled, its reserve counts in the budget."""

    agent_id: UUID
    key: str
    attempt: int
    started_at: datetime
    reserved_tokens: int
    reserved_usd: float | None
    settled: bool = False


MODEL_CALLS = Table("model_call", ModelCall, key=("agent_id", "key", "attempt"))


class Price(Record):
    """What a model costs."""

    input_usd_per_million: UsdCap
    output_usd_per_million: UsdCap

    def total(self, usage: Usage) -> float:
        """Return what these tokens cost in USD."""
        dear = usage.input_tokens * self.input_usd_per_million
        return (dear + usage.output_tokens * self.output_usd_per_million) / 1_000_000


class Reserve(Record):
    """The most that one call is expected to use."""

    tokens: int
    usd: float | None
    """None if the model has no price."""


class Prices:
    """The prices of models, by `<provider>/<model>`."""

    def __init__(self, prices: Mapping[str, Price]) -> None:
        self._prices = prices

    def cost(self, model: ModelRef, usage: Usage) -> float | None:
        """Return what these tokens of a model cost in USD, if its price is known."""
        price = self._prices.get(f"{model.provider}/{model.model}")
        return price.total(usage) if price else None

    def reserve(self, request: CompletionRequest) -> Reserve:
        """Return the most that a request is expected to use."""
        most = Usage(request.input_reserve, request.max_output_tokens)
        tokens = most.input_tokens + most.output_tokens
        return Reserve(tokens, self.cost(request.model_ref, most))


class Spending(Record):
    """What an agent wants to spend, and what it may."""

    agent_id: UUID
    budget: AgentBudget | None
    reserve: Reserve

    @property
    def is_hopeless(self) -> bool:
        """Whether the budget allows no such call, whatever has been spent."""
        budget = self.budget or AgentBudget()
        unpriced = budget.monthly_usd_cap is not None and self.reserve.usd is None
        return unpriced or 0 in {budget.monthly_usd_cap, budget.daily_token_cap}


class Spent(Record):
    """What an agent has spent, reserves of unsettled calls included."""

    tokens_today: int
    usd_this_month: float

    def leaves_room(self, spending: Spending) -> bool:
        """Return whether the budget covers one more call."""
        if spending.is_hopeless:
            return False
        budget, reserve = spending.budget or AgentBudget(), spending.reserve
        tokens, usd = budget.daily_token_cap, budget.monthly_usd_cap
        if tokens is not None and self.tokens_today + reserve.tokens > tokens:
            return False
        return usd is None or self.usd_this_month + (reserve.usd or 0.0) <= usd


class Postponed(Record):
    """Another attempt is under way, or was begun too lately."""

    seconds: float
    is_open: bool = False
    """Whether it is not known how the last attempt ended: it is under way, was killed or timed out.
    Then other calls may succeed meanwhile."""


class Exhausted(Record):
    """All attempts were made."""


class OverBudget(Record):
    """The budget does not cover the call."""


type Begun = ModelCall | Postponed | Exhausted | OverBudget


class ModelCalls(Protocol):
    """The calls of models on record."""

    async def begin(self, key: str, spending: Spending) -> Begun:
        """Record a call if it is due and the budget covers it, alone among calls of the agent."""
        ...

    async def spent(self, agent_id: UUID) -> Spent:
        """Return what an agent has spent on this day and in this month, in UTC."""
        ...

    async def settle(self, call: ModelCall) -> None:
        """Let the reserve of a call no longer count: it cost nothing."""
        ...


class Called(Record):
    """A call that was made, and what came of it."""

    call: ModelCall
    outcome: CompletionResponse | LanguageModelError

    @property
    def settled(self) -> ModelCall:
        """The row of the call as the append of the decision writes it."""
        return replace(self.call, settled=True)


class BudgetedModels:
    """Calls models for agents, each call recorded before it is made."""

    def __init__(self, calls: ModelCalls, models: LanguageModels, prices: Prices) -> None:
        self._calls, self._models, self.prices = calls, models, prices

    async def require_room(
        self, agent_id: UUID, budget: AgentBudget | None, request: CompletionRequest
    ) -> None:
        """Raise when the budget does not cover a request at present."""
        spending = Spending(agent_id, budget, self.prices.reserve(request))
        if not (await self._calls.spent(agent_id)).leaves_room(spending):
            raise LanguageModelBudgetExceededError

    async def call(
        self, agent_id: UUID, key: str, budget: AgentBudget | None, request: CompletionRequest
    ) -> Called | Postponed | Exhausted | OverBudget:
        """Make the next attempt at a call, if one is due and the budget covers it."""
        model = self._models.get(request.model_ref.provider)
        spending = Spending(agent_id, budget, self.prices.reserve(request))
        call = await self._calls.begin(key, spending)
        if not isinstance(call, ModelCall):
            return call
        try:
            if model is None:
                detail = f"Provider {request.model_ref.provider} is not configured."
                raise LanguageModelUnavailableError(detail, passing=False)
            async with asyncio.timeout(CALL_SECONDS):
                return Called(call, await model.complete(request))
        except TimeoutError:
            return Called(call, LanguageModelTimeoutError("The call was given up."))
        except LanguageModelError as error:
            free = isinstance(error, LanguageModelRateLimitedError | LanguageModelUnavailableError)
            if free:
                # A call that timed out may be billed, so its reserve continues to count.
                await self._calls.settle(call)
            return Called(call, error)
