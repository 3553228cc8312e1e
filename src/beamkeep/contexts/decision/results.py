"""Results of agents: a row for each decision of an agent, with what was later said about it."""

from datetime import datetime
from uuid import UUID

from beamkeep.kernel import Record, Table


class AgentResult(Record):
    decision_id: UUID
    agent_id: UUID
    decided_at: datetime
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


RESULTS = Table("agent_result", AgentResult, key=("decision_id",))
# Each writes its own column, and no row where the decision is not that of an agent.
RESULT_RATINGS = Table("agent_result", ResultRating, key=("decision_id",))
RESULT_OVERRIDES = Table("agent_result", ResultOverride, key=("decision_id",))
