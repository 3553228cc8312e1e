"""Desk: what an agent that calls a model reads, and how its decisions are written."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Protocol
from uuid import UUID, uuid5

import msgspec

from beamkeep.contexts.agent.agent import Agent, AgentBudget, ModelRef
from beamkeep.contexts.decision.decision import RegisterDecision
from beamkeep.contexts.decision.results import DECISION_KEYS
from beamkeep.contexts.run.run import DecisionDebriefRequested
from beamkeep.kernel import CLAIMS, Allow, Command, ObjectScope, Record, SideWrite, claim, claim_key
from beamkeep.runtime import Service
from beamkeep.runtime.admission import Caller, UnauthorizedError
from beamkeep.runtime.codec import Codec
from beamkeep.runtime.dispatch import Basis, ConcurrencyError
from beamkeep.runtime.sending import Creation
from beamkeep.runtime.session import Session
from beamkeep.runtime.store import (
    READ_AT_ONCE,
    Append,
    DuplicateEventError,
    Envelope,
    EventStore,
    MovedError,
)

from .models.budget import MODEL_CALLS, ModelCall
from .resolution import AgentDecisionTakenError

LEASE_ROUNDS = 5


class ModelAgent(Record):
    """An agent that calls a language model."""

    id: UUID
    kind: str
    model_ref: ModelRef
    prompt_template_id: UUID
    budget: AgentBudget | None = None

    @classmethod
    def found(cls, agent: Agent) -> "ModelAgent":
        """Return the agent as its runtime needs it. Raise ValueError if it has no template."""
        if agent.prompt_template_id is None:
            raise ValueError(f"Agent {agent.id} has no prompt template.")
        return cls.of(agent, prompt_template_id=agent.prompt_template_id)

    @property
    def rule(self) -> str:
        """The rule that its decisions name."""
        return f"agent:{self.kind}:v1"


class ModelDecision(Record):
    """A decision of an agent, and everything that is written with it."""

    key: str
    decision_id: UUID
    decision: RegisterDecision
    following: Sequence[Command] = ()
    call: ModelCall | None = None
    """The call to settle."""
    read: Session | None = None
    """What the agent read; all that it folded is kept as evidence."""


class Desk(Protocol):
    """What an agent that calls a model needs of the service."""

    def reader(self, agent: ModelAgent) -> Session:
        """Return what reads for the agent."""
        ...

    async def permits(
        self, agent: ModelAgent, trigger: Envelope, commands: Sequence[str]
    ) -> tuple[UUID, ...]:
        """Return the policies that permit the last command. Raise when one is not permitted."""
        ...

    async def is_decided(self, agent: ModelAgent, key: str) -> bool:
        """Return whether the agent has made the decision of this key."""
        ...

    async def history(self, trigger: Envelope) -> Sequence[Envelope]:
        """Return all events of the stream of an event."""
        ...

    async def lease_holder(self, agent: ModelAgent, trigger: Envelope) -> UUID | None:
        """Return which agent of the same kind may call its model about an event."""
        ...

    async def take_lease(self, agent: ModelAgent, trigger: Envelope) -> UUID:
        """Take the lease unless it is taken, and return who holds it."""
        ...

    async def write(self, agent: ModelAgent, trigger: Envelope, decided: ModelDecision) -> None:
        """Write a decision and what follows from it by one append, unless it is on record."""
        ...


class ServiceDesk:
    """The desk on a service and its store."""

    def __init__(
        self,
        service: Service,
        store: EventStore,
        codec: Codec,
        clock: Callable[[], datetime],
    ) -> None:
        self._service, self._store, self._codec, self._clock = service, store, codec, clock

    def reader(self, agent: ModelAgent) -> Session:
        """Return what reads for the agent; it may look at everything to decide."""
        return self._service.sessions().read_for(agent.id, ObjectScope.ALL)

    async def permits(
        self, agent: ModelAgent, trigger: Envelope, commands: Sequence[str]
    ) -> tuple[UUID, ...]:
        """Return the policies that permit the last command. Raise when one is not permitted."""
        caller = _caller(agent, trigger)
        verdicts = await self._service.admission.verdicts(caller, commands)
        policies: tuple[UUID, ...] = ()
        for name in commands:
            verdict = verdicts[name]
            if not isinstance(verdict, Allow):
                raise UnauthorizedError(f"Call: {name}. Surface: inside the service.")
            policies = verdict.determining_policies
        return policies

    async def is_decided(self, agent: ModelAgent, key: str) -> bool:
        """Return whether the agent has made the decision of this key."""
        where = {"scope": DECISION_KEYS, "key": claim_key(agent.id, key)}
        return bool(await self._store.rows(CLAIMS, where))

    async def history(self, trigger: Envelope) -> Sequence[Envelope]:
        """Return all events of the stream of an event."""
        stream, found = (trigger.stream_type, trigger.stream_id), list[Envelope]()
        while page := await self._store.history(stream, len(found), READ_AT_ONCE):
            found += page
        return found

    async def lease_holder(self, agent: ModelAgent, trigger: Envelope) -> UUID | None:
        """Return which agent of the same kind may call its model about an event."""
        return _holder(await self.history(trigger), agent, trigger)

    async def take_lease(self, agent: ModelAgent, trigger: Envelope) -> UUID:
        """Take the lease unless it is taken, and return who holds it."""
        for _ in range(LEASE_ROUNDS):
            events = await self.history(trigger)
            if holder := _holder(events, agent, trigger):
                return holder
            try:
                await self._store.append(self._marker(agent, trigger, len(events)))
            except (MovedError, DuplicateEventError):
                continue
            return agent.id
        raise ConcurrencyError

    def _marker(self, agent: ModelAgent, trigger: Envelope, version: int) -> Append:
        """Return the append of the event by which an agent reserves the debrief of a run."""
        now, caller = self._clock(), _caller(agent, trigger)
        marker = DecisionDebriefRequested(
            now,
            trigger.stream_id,
            debriefer_agent_id=agent.id,
            debriefer_kind=agent.kind,
            terminal_event_id=trigger.event_id,
        )
        event_id = uuid5(trigger.stream_id, f"lease:{trigger.event_id}:{agent.id}")
        return Append(
            events=[self._codec.encode(marker, version + 1, event_id)],
            read={},
            side_writes=(),
            answer=None,
            command_name="register_decision",
            principal_id=agent.id,
            surface_id=None,
            correlation_id=caller.correlation_id,
            causation_id=caller.causation_id,
            occurred_at=now,
        )

    async def write(self, agent: ModelAgent, trigger: Envelope, decided: ModelDecision) -> None:
        """Write a decision and what follows from it by one append, unless it is on record."""
        parts = agent.id, decided.key
        taken = AgentDecisionTakenError
        rows: list[SideWrite] = [
            claim(DECISION_KEYS, *parts, holder=decided.decision_id, loser=taken)
        ]
        if decided.call:
            rows.append(MODEL_CALLS.replace(decided.call))
        if decided.read:
            evidence = self._service.evidence
            rows.append(evidence.folded(decided.read, agent.id, trigger.correlation_id))
        commands = [Creation(decided.decision, decided.decision_id), *decided.following]
        # No version is held: the run has ended, and what was around it may continue to change while
        # the model answers.
        basis = Basis({}, rows)
        try:
            await self._service.sender.send_judged(commands, _caller(agent, trigger), basis)
        except AgentDecisionTakenError:
            # Another process of this agent was first.
            return


def _caller(agent: ModelAgent, trigger: Envelope) -> Caller:
    return Caller(
        trigger.correlation_id,
        principal_id=agent.id,
        causation_id=trigger.event_id,
        records_denials=False,
    )


def _holder(events: Sequence[Envelope], agent: ModelAgent, trigger: Envelope) -> UUID | None:
    """Return the agent of the first marker about this event by an agent of the same kind."""
    for each in events:
        if each.event_type == DecisionDebriefRequested.__name__:
            marker = msgspec.json.decode(each.payload, type=_Marker)
            if (marker.terminal_event_id, marker.debriefer_kind) == (trigger.event_id, agent.kind):
                return marker.debriefer_agent_id
    return None


class _Marker(Record):
    debriefer_agent_id: UUID
    debriefer_kind: str
    terminal_event_id: UUID
