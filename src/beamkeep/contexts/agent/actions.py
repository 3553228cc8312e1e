"""The calls of agents that change something: how many a budget allows, and why one is denied."""

from collections.abc import Mapping, Sequence
from datetime import UTC, date
from uuid import UUID

from beamkeep.contexts.seams.installation import Reader
from beamkeep.kernel import (
    ActorKind,
    Call,
    DenialReason,
    Deny,
    Record,
    Refusal,
    SideWrite,
    Standing,
    Table,
)

from .agent import agents


class AgentActionCapReachedError(Refusal, status=429):
    """The budget of this agent allows no further call that changes something today."""


class AgentAction(Record):
    """The last counted call of an agent on its last day with calls."""

    agent_id: UUID
    day: date
    number: int


ACTIONS = Table("agent_action", AgentAction, key=("agent_id", "day", "number"))

LACKING: Mapping[DenialReason, str] = {
    DenialReason.INACTIVE_PRINCIPAL: "The actor of this agent is deactivated.",
    DenialReason.SUSPENDED_AGENT: "This agent is suspended or deprecated.",
    DenialReason.TOOL_NOT_GRANTED: "This agent does not have the call among its tools.",
    DenialReason.NO_MATCHING_POLICY: "No policy grants this agent the call on this surface.",
}


async def counted(call: Call, read: Reader) -> Sequence[SideWrite]:
    """Return the rows by which a call of an agent counts, or raise if its budget is used up."""
    if call.agent_kind is None or call.surface_id is None:
        return ()
    budget = (await read.one(agents, call.principal_id)).budget
    if budget is None or (cap := budget.daily_action_cap) is None:
        return ()
    today, last = (
        call.now.astimezone(UTC).date(),
        await read.rows(ACTIONS, agent_id=call.principal_id),
    )
    number = last[0].number if last and last[0].day == today else 0
    if number >= cap:
        detail = f"The cap is {cap} a day in UTC. Wait, or ask for another budget."
        raise AgentActionCapReachedError(detail, daily_action_cap=cap)
    # Of two calls at once, both take the same number, and the loser counts again.
    taken = AgentAction(call.principal_id, today, number + 1)
    return ACTIONS.delete(call.principal_id), ACTIONS.insert(taken)


def explained(standing: Standing | None, verdict: Deny) -> str:
    """Return what an agent lacks for a call that is denied; nothing for other principals."""
    if standing is None or standing.kind is not ActorKind.AGENT:
        return ""
    return f"{LACKING[verdict.reason_code]} "
