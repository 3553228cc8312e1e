"""Results of agents: a row for each decision of an agent, with what was later said about it."""

from datetime import datetime, timedelta
from uuid import UUID

from beamkeep.kernel import Record, Table


class AgentDecision(Record):
    """When an agent decided, by the clock of the store, and what was later said about it."""

    decision_id: UUID
    agent_id: UUID
    correlation_id: UUID | None
    decided_at: datetime
    """The store fills in its own time."""
    age: timedelta = timedelta()
    rated_misleading: bool = False
    """Whether the latest rating by some actor is misleading."""
    overridden: bool = False
    """Whether a later decision corrects or invalidates this one."""


class ResultRating(Record):
    """The column of a result that ratings write."""

    decision_id: UUID
    rated_misleading: bool


class ResultOverride(Record):
    """The column of a result that later decisions write."""

    decision_id: UUID
    overridden: bool = True


DECISION_KEYS = "agent-decision"
"""The scope of the claims on the keys that agents of the service give their decisions."""
AGENT_DECISIONS = Table(
    "agent_decision", AgentDecision, key=("decision_id",), stamped=("decided_at", "age")
)
# Each writes its own column, and no row where the decision is not that of an agent.
RESULT_RATINGS = Table("agent_decision", ResultRating, key=("decision_id",))
RESULT_OVERRIDES = Table("agent_decision", ResultOverride, key=("decision_id",))
