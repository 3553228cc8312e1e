"""The agents that call a language model: the seeded ones and their rivals, side by side."""

import asyncio
import time
from collections.abc import Callable, Set
from typing import NamedTuple
from uuid import UUID

import structlog

from beamkeep.contexts.agent.agent import AgentStatus, ListAgents, agents
from beamkeep.contexts.run.run import RunAborted, RunCompleted, RunStopped, RunTruncated, runs
from beamkeep.kernel import Event
from beamkeep.runtime.session import Session

from .desk import ModelAgent
from .model_agent import ModelAgentRuntime, ModelReaction
from .reactions import PAUSE_SECONDS, EventLoop, EventReaction, Trigger
from .resolution import AgentIdentity, Apart

log: structlog.stdlib.BoundLogger = structlog.get_logger()

FIND_SECONDS = 5.0
"""How often new agents are looked for."""


def model_reaction(
    agent_id: UUID,
    reaction: ModelReaction,
    runtime: ModelAgentRuntime,
    sessions: Callable[[], Session],
) -> EventReaction:
    """Return how one agent answers the ends of runs."""

    async def handle(trigger: Trigger) -> float | Apart:
        # Folded for each event: the budget may have changed.
        agent = ModelAgent.found(await sessions().one(agents, agent_id))
        return await runtime.handle(agent, trigger.envelope)

    def wants(event: Event) -> bool:
        return isinstance(event, RunCompleted | RunAborted | RunStopped | RunTruncated)

    identity = AgentIdentity(agent_id, reaction.kind, reaction.context)
    return EventReaction(identity, runs, wants=wants, handle=handle)


class _Member(NamedTuple):
    loop: EventLoop
    due: float
    turn: asyncio.Task[float] | None


class ModelAgentLoops:
    """Lets all released agents of one kind answer events; none waits for the model of another."""

    def __init__(
        self,
        kind: str,
        sessions: Callable[[], Session],
        loop_of: Callable[[UUID], EventLoop],
        providers: Set[str],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._kind, self._sessions, self._loop_of, self._clock = kind, sessions, loop_of, clock
        self._providers, self._idle = providers, set[UUID]()
        self._members: dict[UUID, _Member] = {}
        self._find_at = clock()

    async def turn(self) -> float:
        """Begin the turns that are due, end those that are done; raise what one of them raised."""
        now = self._clock()
        if now >= self._find_at:
            await self._find()
            self._find_at = now + FIND_SECONDS
        for id, (loop, due, turn) in [*self._members.items()]:
            if turn is None and now >= due:
                self._members[id] = _Member(loop, due, asyncio.create_task(loop.turn()))
            elif turn and turn.done():
                self._members[id] = _Member(loop, now, None)
                self._members[id] = _Member(loop, now + turn.result(), None)
        return PAUSE_SECONDS

    async def _find(self) -> None:
        """Add agents that were released; the loop of one that is barred does nothing.

        An agent whose model nobody can call is left out, so that it takes no run from others.
        """
        released = ListAgents(kind=self._kind, status=frozenset({AgentStatus.VERSIONED}))
        read = self._sessions()
        new = {*await read.matching(released)} - self._members.keys() - self._idle
        for id, agent in (await read.many(agents, sorted(new))).items():
            if (provider := agent.model_ref.provider) in self._providers:
                self._members[id] = _Member(self._loop_of(id), 0.0, None)
                continue
            self._idle.add(id)
            why = f"Provider {provider} is not configured."
            log.warning("agent does not work", agent_id=str(id), kind=self._kind, because=why)

    async def close(self) -> None:
        """End the turns that are under way; their calls are made again by the rules of calls."""
        turns = [member.turn for member in self._members.values() if member.turn]
        for turn in turns:
            turn.cancel()
        await asyncio.gather(*turns, return_exceptions=True)
