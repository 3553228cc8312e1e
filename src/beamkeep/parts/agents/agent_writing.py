"""Writing of agents: a decision and the command that follows from it, by one append."""

from collections.abc import Callable
from uuid import UUID

import structlog

from beamkeep.contexts.decision.decision import RegisterDecision
from beamkeep.contexts.decision.results import DECISION_KEYS
from beamkeep.kernel import (
    CLAIMS,
    Allow,
    Command,
    DenialReason,
    Deny,
    Propose,
    Refusal,
    claim,
    claim_key,
)
from beamkeep.runtime import Service
from beamkeep.runtime.admission import Caller
from beamkeep.runtime.dispatch import Basis
from beamkeep.runtime.sending import Creation
from beamkeep.runtime.session import Session
from beamkeep.runtime.store import Envelope
from beamkeep.telemetry import attributed

from .resolution import AgentDecisionTakenError, AgentIdentity, Resolution

log: structlog.stdlib.BoundLogger = structlog.get_logger()

REGISTER = "register_decision"
MOST_POLICIES = 32
"""The policies that a decision can name."""


class AgentDeniedError(Exception):
    """No policy permits the agent to record its decisions."""


class AgentWriter:
    """Writes what agents decide, as these agents."""

    def __init__(self, service: Service, new_id: Callable[[], UUID]) -> None:
        self._service, self.new_id = service, new_id

    async def may_act(self, agent_id: UUID) -> bool:
        """Return whether an agent exists and is not barred, whatever its policies are."""
        verdict = await self._verdict(self._caller(agent_id, None), REGISTER)
        return isinstance(verdict, Allow) or verdict.reason_code is DenialReason.NO_MATCHING_POLICY

    async def write(
        self,
        agent: AgentIdentity,
        resolution: Resolution,
        read: Session,
        caused_by: Envelope | None = None,
    ) -> None:
        """Write a resolution unless it is written already.

        Raise MovedError when a stream that the session folded has changed, AgentDeniedError when
        the agent may not record decisions, and the refusal of the command otherwise.
        """
        caller = self._caller(agent.id, caused_by)
        with attributed(caller.correlation_id):
            try:
                await self._write(agent, resolution, read, caller)
            except AgentDecisionTakenError:
                # The other process that runs this agent was first.
                return

    async def _write(
        self, agent: AgentIdentity, resolution: Resolution, read: Session, caller: Caller
    ) -> None:
        key = claim_key(agent.id, resolution.key)
        if await read.rows(CLAIMS, scope=DECISION_KEYS, key=key):
            return
        verdict = await self._verdict(caller, REGISTER)
        if isinstance(verdict, Deny):
            raise AgentDeniedError(verdict.reason_code)
        following = list[Command | Creation]()
        if command := resolution.command:
            name = self._service.catalogue.by_command[type(command)].name
            verdict = await self._verdict(caller, name)
            if isinstance(verdict, Deny):
                if resolution.denied is None:
                    raise AgentDeniedError(verdict.reason_code)
                deferred = resolution.denied(verdict.reason_code)
                await self._write(agent, deferred, read, caller)
                return
            following = [Creation(command, resolution.new_id) if resolution.new_id else command]
        decision = RegisterDecision(
            context=agent.context,
            choice=resolution.choice,
            parent_id=resolution.parent_id,
            rule=agent.rule,
            inputs=dict(resolution.inputs),
            determining_policy_ids=frozenset(verdict.determining_policies[:MOST_POLICIES]),
        )
        taken = claim(
            DECISION_KEYS,
            agent.id,
            resolution.key,
            holder=resolution.decision_id,
            loser=AgentDecisionTakenError,
        )
        folded = self._service.evidence.folded(read, agent.id, caller.correlation_id)
        basis = Basis(dict(read.versions), [taken, folded])
        commands = [Creation(decision, resolution.decision_id), *following]
        try:
            await self._service.sender.send_judged(commands, caller, basis)
        except Refusal as refusal:
            if (instead := resolution.refused.get(type(refusal))) is None:
                raise
            await self._write(agent, instead, read, caller)
            return
        log.info("agent decided", kind=agent.kind, choice=resolution.choice)

    async def _verdict(self, caller: Caller, name: str) -> Allow | Deny:
        verdict = (await self._service.admission.verdicts(caller, [name]))[name]
        # What an agent decides inside the service is done or left; nobody is asked to approve it.
        return Deny(DenialReason.NO_MATCHING_POLICY) if isinstance(verdict, Propose) else verdict

    def _caller(self, agent_id: UUID, caused_by: Envelope | None) -> Caller:
        return Caller(
            caused_by.correlation_id if caused_by else self.new_id(),
            principal_id=agent_id,
            causation_id=caused_by.event_id if caused_by else None,
            records_denials=False,
        )
