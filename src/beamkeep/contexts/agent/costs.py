"""Costs: what the calls of models by an agent used and cost, day by day."""

from collections.abc import Sequence
from datetime import date, timedelta
from typing import Annotated
from uuid import UUID

from annotated_types import Ge, Lt
from pydantic import Field

from beamkeep.contexts.seams.agent_records import AgentDay
from beamkeep.contexts.seams.installation import Reader, present
from beamkeep.kernel import Page, listed
from beamkeep.kernel.values import FIRST, LAST

from .agent import agents

LOOKS_BACK = timedelta(days=31)

type CostDay = Annotated[date, Ge(FIRST.date()), Lt(LAST.date())]


class ListAgentCosts(Page):
    """List what the calls of models by an agent used and cost on each day in UTC, newest first."""

    agent_id: UUID
    from_: Annotated[CostDay | None, Field(alias="from")] = None
    """The first day (default: 31 days ago)."""
    to: CostDay | None = None
    """The last day (default: today)."""


async def agent_costs(query: ListAgentCosts, read: Reader) -> Sequence[AgentDay]:
    """Return a page of days."""
    today = read.now.date()
    until = (query.to or today) + timedelta(days=1)
    until = date.fromisoformat(query.cursor) if query.cursor else until
    since = query.from_ or today - LOOKS_BACK
    records = present(read.readers.agent_records)
    return await records.days(query.agent_id, since, until, query.limit + 1)


# fmt: off
QUESTIONS = (
    listed("GET /agents/{agent_id}/costs", ListAgentCosts, agent_costs, AgentDay,
        of=agents, about="agent_id"),
)
# fmt: on
