"""What is kept of the work of agents: how it is summed, and how results at risk are found."""

from collections.abc import Collection, Mapping, Sequence
from datetime import date, datetime
from enum import StrEnum
from typing import Protocol
from uuid import UUID

from beamkeep.kernel import Record


class RiskReason(StrEnum):
    """Why a decision of an agent should be looked at again."""

    NOT_REPRODUCIBLE = "NotReproducible"
    RATED_MISLEADING = "RatedMisleading"
    OVERRIDDEN = "Overridden"


class AgentUse(Record):
    """What an agent has used of its budget, by the calls on record."""

    tokens_today: int = 0
    usd_this_month: float = 0.0
    actions_today: int = 0
    """Calls that changed something. They are counted while the budget has a cap on them."""


class AgentDay(Record):
    """The calls of models by one agent on one day in UTC."""

    day: date
    calls: int
    failed_calls: int
    unpriced_calls: int
    """Calls without a price; `cost_usd` does not contain them."""
    input_tokens: int
    output_tokens: int
    cost_usd: float
    duration_ms: int


class AgentPin(Record):
    """An agent whose results are looked for."""

    agent_id: UUID
    snapshot_pin: str | None
    is_over: bool
    """Whether it is suspended or deprecated."""


class ResultFilter(Record):
    """Which decisions of agents are found."""

    agents: tuple[AgentPin, ...]
    since: datetime
    until: datetime
    reason: RiskReason | None = None
    provider: str | None = None
    model: str | None = None
    """With the provider: decisions that used this model, whether or not they are at risk."""


class FoundResult(Record):
    """A decision of an agent."""

    decision_id: UUID
    agent_id: UUID
    decided_at: datetime
    request_model: str | None
    response_model: str | None
    """The models of its last call."""
    reasons: tuple[RiskReason, ...]


class AgentRecords(Protocol):
    """Sums the calls of agents and finds their decisions."""

    async def use(self, agent_ids: Collection[UUID], now: datetime) -> Mapping[UUID, AgentUse]:
        """Return what each agent has used on this day and in this month, in UTC."""
        ...

    async def days(
        self, agent_id: UUID, since: date, until: date, limit: int
    ) -> Sequence[AgentDay]:
        """Return days with calls from `since` until before `until`, the newest first."""
        ...

    async def results(
        self, wanted: ResultFilter, before: UUID | None, limit: int
    ) -> Sequence[FoundResult]:
        """Return decisions with ids before this one, the newest first."""
        ...
