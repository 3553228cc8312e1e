"""The calls of an agent that change something, counted for each day."""

from datetime import date, timedelta
from uuid import UUID

import pytest

from beamkeep.contexts.agent.actions import (
    ACTIONS,
    AgentAction,
    AgentActionCapReachedError,
    counted,
    explained,
)
from beamkeep.contexts.agent.agent import AgentBudget, AgentDefined, ModelRef
from beamkeep.kernel import ActorKind, DenialReason, Deny, Insert, SideWrite, Standing, replace
from beamkeep.testing.past import CALL, NOW, Past

pytestmark = pytest.mark.anyio

ID, SURFACE = UUID(int=7), UUID(int=8)
CALLING = replace(CALL, principal_id=ID, agent_kind="Scheduler", surface_id=SURFACE)
TODAY = NOW.date()


def an_agent(budget: AgentBudget | None) -> AgentDefined:
    return AgentDefined(
        NOW,
        ID,
        kind="Scheduler",
        name="Night",
        version="1",
        description=None,
        model_ref=ModelRef("local", "model-a"),
        prompt_template_id=None,
        capabilities=(),
        tools=(),
        budget=budget,
    )


def made(number: int, day: date = TODAY) -> Insert:
    return ACTIONS.insert(AgentAction(ID, day, number))


def capped(most: int, *history: SideWrite) -> Past:
    return Past([an_agent(AgentBudget(daily_action_cap=most)), *history])


async def test_each_call_takes_the_next_number_of_the_day():
    gone = ACTIONS.delete(ID)
    assert await counted(CALLING, capped(3)) == (gone, made(1))
    assert await counted(CALLING, capped(3, made(2))) == (gone, made(3))
    assert await counted(CALLING, capped(3, made(3, TODAY - timedelta(days=1)))) == (gone, made(1))


@pytest.mark.parametrize(("most", "history"), [(0, ()), (1, (made(1),)), (2, (made(5),))])
async def test_nothing_is_let_through_beyond_the_cap(most: int, history: tuple[SideWrite, ...]):
    with pytest.raises(AgentActionCapReachedError, match=f"The cap is {most} a day") as refused:
        await counted(CALLING, capped(most, *history))
    assert refused.value.status == 429


async def test_only_calls_of_agents_with_a_cap_count():
    for budget in (None, AgentBudget(0.0, 0)):
        assert await counted(CALLING, Past([an_agent(budget)])) == ()
    inside, person = replace(CALLING, surface_id=None), replace(CALLING, agent_kind=None)
    for call in (inside, person):
        assert await counted(call, capped(0)) == ()


def test_an_agent_learns_what_it_lacks_and_a_person_does_not():
    agent, person = (Standing(ID, kind) for kind in (ActorKind.AGENT, ActorKind.HUMAN))
    told = [explained(agent, Deny(code)) for code in DenialReason if "unknown" not in code]
    assert told == [
        "The actor of this agent is deactivated. ",
        "This agent is suspended or deprecated. ",
        "No policy grants this agent the call on this surface. ",
        "This agent does not have the call among its tools. ",
    ]
    for standing in (person, None):
        assert explained(standing, Deny(DenialReason.NO_MATCHING_POLICY)) == ""
