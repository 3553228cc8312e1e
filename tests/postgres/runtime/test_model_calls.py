"""Calls of models on record: in memory and on PostgreSQL, they begin by the same rules."""

import asyncio
from collections.abc import AsyncGenerator

import pytest
from uuid_utils.compat import uuid7

from beamkeep.adapters.memory.store import MemoryStore
from beamkeep.contexts.agent.agent import AgentBudget
from beamkeep.parts.agents.memory_model_calls import MemoryModelCalls
from beamkeep.parts.agents.models.budget import (
    ModelCall,
    ModelCalls,
    OverBudget,
    Postponed,
    Reserve,
    Spending,
    Spent,
)
from beamkeep.parts.agents.postgres_model_calls import PostgresModelCalls
from beamkeep.testing.appends import CODEC
from beamkeep.testing.database import Database

pytestmark = pytest.mark.anyio


@pytest.fixture(params=["memory", pytest.param("postgres", marks=pytest.mark.postgres)])
def kept_in(request: pytest.FixtureRequest) -> Database | None:
    return request.getfixturevalue("database") if request.param == "postgres" else None


@pytest.fixture
async def calls(kept_in: Database | None) -> AsyncGenerator[ModelCalls]:
    if kept_in is None:
        yield MemoryModelCalls(MemoryStore(CODEC))
        return
    # Those that begin at once wait for one another, on a slow machine for long.
    connections = kept_in.connections(lock_timeout="60000", statement_timeout="60000")
    yield PostgresModelCalls(connections)
    await connections.close()


def spending(budget: AgentBudget | None = None, usd: float | None = 0.5) -> Spending:
    return Spending(uuid7(), budget, Reserve(100, usd))


async def test_a_call_is_recorded_once_and_counts_until_it_is_settled(calls: ModelCalls):
    wanted = spending()
    call = await calls.begin("a", wanted)
    assert isinstance(call, ModelCall)
    assert (call.attempt, call.settled) == (1, False)
    again = await calls.begin("a", wanted)
    assert isinstance(again, Postponed)
    assert 290 < again.seconds <= 300
    assert await calls.spent(wanted.agent_id) == Spent(100, 0.5)
    await calls.settle(call)
    assert await calls.spent(wanted.agent_id) == Spent(0, 0.0)


@pytest.mark.parametrize(
    ("budget", "usd", "fit"),
    [
        (None, None, 12),
        (AgentBudget(None, 1000), 0.5, 10),
        (AgentBudget(2.0, None), 0.5, 4),
        (AgentBudget(2.0, 300), 0.5, 3),
        (AgentBudget(2.0, None), None, 0),
        (AgentBudget(0.0, None), 0.0, 0),
        (AgentBudget(None, 0), 0.5, 0),
        (AgentBudget(None, 99), 0.5, 0),
    ],
)
async def test_calls_that_begin_at_once_never_exceed_the_caps(
    calls: ModelCalls, budget: AgentBudget | None, usd: float | None, fit: int
):
    wanted = spending(budget, usd)
    begun = await asyncio.gather(*(calls.begin(str(n), wanted) for n in range(12)))
    assert sum(isinstance(each, ModelCall) for each in begun) == fit
    assert sum(isinstance(each, OverBudget) for each in begun) == 12 - fit


async def test_the_budget_of_one_agent_is_not_that_of_another(calls: ModelCalls):
    cap = AgentBudget(None, 100)
    assert isinstance(await calls.begin("a", spending(cap)), ModelCall)
    assert isinstance(await calls.begin("a", spending(cap)), ModelCall)
