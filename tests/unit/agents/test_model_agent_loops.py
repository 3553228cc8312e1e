"""The loops of agents that call a model: a call that was killed, and a provider nobody has."""

import asyncio
import json
from datetime import timedelta
from typing import Any
from uuid import UUID

import msgspec
import pytest
from structlog.testing import capture_logs
from tests.support.agents import reactions
from tests.support.model_agents import GOOD, REACTIONS, MemoryWorld, memory_world, scripted

from beamkeep.adapters.memory.tail import MemoryTail
from beamkeep.contexts.agent.agent import ModelRef
from beamkeep.parts.agents.desk import ModelAgent
from beamkeep.parts.agents.model_agents import ModelAgentLoops, model_reaction
from beamkeep.parts.agents.models.seam import CompletionRequest, CompletionResponse, LanguageModel
from beamkeep.parts.agents.reactions import CLOSED_SECONDS, PAUSE_SECONDS, EventLoop
from beamkeep.telemetry import Telemetry
from beamkeep.testing.appends import CODEC

pytestmark = pytest.mark.anyio

MODEL = scripted(lambda _: json.dumps(GOOD))


class Killed:
    """A model whose caller is killed while it thinks."""

    async def complete(self, request: CompletionRequest) -> CompletionResponse:
        raise asyncio.CancelledError


@pytest.fixture
async def world() -> MemoryWorld:
    return await memory_world()


def loop(
    world: MemoryWorld, agent: ModelAgent, model: LanguageModel, tail: MemoryTail
) -> EventLoop:
    runtime = world.runtime(agent, model)
    reaction = model_reaction(agent.id, REACTIONS[agent.kind], runtime, world.service.sessions)
    around, age = reactions(world.service, world.store, Telemetry()), timedelta(hours=24)
    return EventLoop(reaction, around, tail, store=world.store, codec=CODEC, max_age=age)


def debriefed(world: MemoryWorld) -> list[Any]:
    told = [msgspec.json.decode(each.payload) for each in world.events("Decision")]
    return [each["inputs"]["run_id"] for each in told]


async def test_a_kill_during_a_call_blocks_that_run_alone(world: MemoryWorld):
    agent, tail = await world.agent("RunDebriefer"), MemoryTail(world.store.log)
    first = await world.ended_run()
    with pytest.raises(asyncio.CancelledError):
        await loop(world, agent, Killed(), tail).turn()
    others = [str((await world.ended_run()).stream_id) for _ in range(2)]
    begun_again = loop(world, agent, MODEL, tail)
    assert await begun_again.turn() == CLOSED_SECONDS
    assert debriefed(world) == others
    others.append(str((await world.ended_run()).stream_id))
    await begun_again.turn()
    assert debriefed(world) == others
    begin = world.store.clock
    later = begin() + timedelta(minutes=6)
    world.store.clock = lambda: later
    assert await begun_again.turn() == PAUSE_SECONDS
    assert debriefed(world) == [*others, str(first.stream_id)]
    assert await loop(world, agent, Killed(), tail).turn() == PAUSE_SECONDS


async def test_an_agent_whose_provider_nobody_has_leaves_every_run_to_others(
    world: MemoryWorld,
):
    idle = await world.agent("RunDebriefer", model=ModelRef("elsewhere", "large"))
    able = await world.agent("RunDebriefer")
    await world.ended_run()
    tail, begun = MemoryTail(world.store.log), list[UUID]()

    def loop_of(agent_id: UUID) -> EventLoop:
        begun.append(agent_id)
        return loop(world, able if agent_id == able.id else idle, MODEL, tail)

    sessions, times = world.service.sessions, iter(range(0, 100, 10))
    kind = "RunDebriefer"
    loops = ModelAgentLoops(
        kind, sessions, loop_of, providers=frozenset({"scripted"}), clock=lambda: next(times)
    )
    with capture_logs() as lines:
        for _ in range(3):
            await loops.turn()
        await loops.close()
    assert begun == [able.id]
    (told,) = [line for line in lines if line["event"] == "agent does not work"]
    assert told["agent_id"] == str(idle.id)
    assert told["because"] == "Provider elsewhere is not configured."
