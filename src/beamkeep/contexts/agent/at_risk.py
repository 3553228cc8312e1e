"""At risk: decisions of agents that cannot be repeated, were misleading, or were overridden."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Annotated, Self
from uuid import UUID

from annotated_types import MaxLen, MinLen
from pydantic import Field, model_validator

from beamkeep.contexts.caution.promotion import PROMOTIONS
from beamkeep.contexts.decision.decision import Decision, decisions, run_ids
from beamkeep.contexts.seams.agent_records import AgentPin, FoundResult, ResultFilter, RiskReason
from beamkeep.contexts.seams.installation import Reader, present
from beamkeep.kernel import CLAIMS, Page, Record, claim_key, listed
from beamkeep.kernel.values import Timestamp

from .agent import (
    Agent,
    AgentNotFoundError,
    AgentStatus,
    AgentText,
    ListAgents,
    ModelName,
    agents,
    standing_of,
)

LOOKS_BACK = timedelta(days=90)


class ListAtRiskResults(Page):
    """List decisions of agents that should be looked at again, newest first.

    With a provider and a model, list all decisions that used that model.
    """

    agent_id: UUID | None = None
    kind: AgentText | None = None
    reason: RiskReason | None = None
    provider: Annotated[str, MinLen(1), MaxLen(100)] | None = None
    model: ModelName | None = None
    """Name of a model, as it was asked for or as it answered; dated snapshots are included."""
    from_: Annotated[Timestamp | None, Field(alias="from")] = None
    """Only decisions made at or after this time (default: 90 days ago)."""
    to: Timestamp | None = None
    """Only decisions made before this time."""

    @model_validator(mode="after")
    def _both_or_neither(self) -> Self:
        if (self.provider is None) != (self.model is None):
            raise ValueError("provider and model must be given together")
        return self


class AtRiskResult(Record):
    decision_id: UUID
    agent_id: UUID
    kind: str
    agent_status: AgentStatus
    context: str
    choice: str
    occurred_at: datetime
    request_model: str | None
    response_model: str | None
    """The models of the last call of the decision."""
    reasons: tuple[RiskReason, ...]
    run_id: UUID | None
    caution_id: UUID | None
    """The caution that was registered from the decision."""


async def at_risk_results(query: ListAtRiskResults, read: Reader) -> Sequence[AtRiskResult]:
    """Return a page of decisions with what is known of their agents now."""
    known = await _agents(query, read)
    wanted = ResultFilter.of(
        query,
        agents=tuple(map(_pin, known.values())),
        since=query.from_ or read.now - LOOKS_BACK,
        until=query.to or read.now + timedelta(days=1),
    )
    before = UUID(query.cursor) if query.cursor else None
    found = await present(read.readers.agent_records).results(wanted, before, query.limit + 1)
    decided = await read.many(decisions, [each.decision_id for each in found])
    keys = {claim_key(each.decision_id): each.decision_id for each in found}
    claims = await read.rows(CLAIMS, scope=PROMOTIONS, key=list(keys)) if keys else ()
    cautions = {keys[claim.key]: claim.holder for claim in claims}
    return [
        _result(
            each, known[each.agent_id], decided[each.decision_id], cautions.get(each.decision_id)
        )
        for each in found
    ]


async def _agents(query: ListAtRiskResults, read: Reader) -> dict[UUID, Agent]:
    """Return the agents whose decisions the caller asks for and may see."""
    if query.agent_id:
        ids = [(await read.one(agents, query.agent_id, to_show=True)).id]
    else:
        ids = await read.matching(ListAgents(kind=query.kind))
    # An agent owns its decisions, because nobody else can record them.
    seen = [id for id in ids if read.only in {None, id}]
    found = await read.many(agents, seen)
    return {id: each for id, each in found.items() if query.kind in {None, each.kind}}


def _pin(agent: Agent) -> AgentPin:
    is_over = standing_of(agent).agent_barred is not None
    return AgentPin(agent.id, agent.model_ref.snapshot_pin, is_over)


def _result(
    found: FoundResult, agent: Agent, decision: Decision, caution_id: UUID | None
) -> AtRiskResult:
    return AtRiskResult.of(
        found,
        kind=agent.kind,
        agent_status=agent.status,
        context=decision.context,
        choice=decision.choice,
        occurred_at=found.decided_at,
        run_id=next(iter(run_ids(decision)), None),
        caution_id=caution_id,
    )


# fmt: off
QUESTIONS = (
    listed("GET /agents/at-risk-results", ListAtRiskResults, at_risk_results, AtRiskResult,
        AgentNotFoundError, of=agents, about=None, title="List results at risk",
        composed_of=("Decision", "Proposal")),
)
# fmt: on
