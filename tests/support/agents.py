"""The deterministic agents in a service of a test, with a run that needs beam."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from uuid_utils.compat import uuid7

from beamkeep.adapters.memory_agent_log import MemoryAgentLog
from beamkeep.adapters.memory_store import MemoryStore
from beamkeep.agents.caution_promoter import PROMOTER, PromotionRules
from beamkeep.agents.clearance_expirer import EXPIRER
from beamkeep.agents.histories import Histories
from beamkeep.agents.resolution import AgentIdentity
from beamkeep.agents.run_supervisor import SUPERVISOR, SupervisionRules
from beamkeep.contexts import CATALOGUE
from beamkeep.contexts.access.profile import STANDINGS, SYSTEM
from beamkeep.contexts.run.run import RunStarted
from beamkeep.contexts.trust import seeded
from beamkeep.contexts.trust.policy import DefinePolicy, PolicyReferences, define_policy
from beamkeep.kernel import ActorKind, Call, ObjectScope, Standing
from beamkeep.runtime import Service
from beamkeep.runtime.codec import Codec
from beamkeep.runtime.store import BEGINNING, EventStore, Position, Stream
from beamkeep.seeding import Seed, write_seeds
from beamkeep.telemetry import Telemetry
from beamkeep.workers.agent_writing import AgentWriter
from beamkeep.workers.reactions import Reactions, TickLoop
from beamkeep.workers.seeded_agents import clearance_expiry, run_supervision
from tests.support.examples.federation import OWN_SITE
from tests.support.examples.making import Do
from tests.support.examples.recipe import a_method

CODEC = Codec(CATALOGUE.aggregates.values())
PERMITTED = {
    SUPERVISOR: {"register_decision", "hold_run", "stop_run"},
    EXPIRER: {"register_decision", "expire_clearance"},
    PROMOTER: {"register_decision", "promote_caution_proposal"},
}
RULES = SupervisionRules(settle=timedelta(seconds=10), stop_after=timedelta(hours=4))
PROMOTION = PromotionRules(min_confidence=0.7, daily_most=2)


async def let_agents_in(
    store: EventStore, without: Iterable[str] = (), agents: Iterable[AgentIdentity] = PERMITTED
) -> None:
    """Give agents a standing and a policy on the Internal conduit, if they have none yet."""
    for agent in agents:
        if await store.rows(STANDINGS, {"principal_id": agent.id}):
            continue
        commands = frozenset(PERMITTED[agent] - {*without})
        command = DefinePolicy(
            name=agent.kind,
            conduit_id=seeded.INTERNAL,
            surface_id=None,
            permitted_principal_ids=frozenset({agent.id}),
            permitted_commands=commands or frozenset({"get_self"}),
            object_scope=ObjectScope.ALL,
        )
        call = Call(
            principal_id=SYSTEM,
            principal_kind=ActorKind.SERVICE_ACCOUNT,
            now=datetime.now(UTC),
            new_id=uuid7(),
        )
        references = PolicyReferences(None, commands, own=None)
        standing = STANDINGS.insert(Standing(agent.id, ActorKind.AGENT))
        outcome = [*define_policy(command, references, call), standing]
        await write_seeds([Seed(f"test-{agent.kind}", outcome)], store, CODEC, SYSTEM, uuid7)


async def a_running_run(do: Do, method_id: UUID | None = None) -> UUID:
    """Put a run on record that needs beam, in the scope of the own Site."""
    method_id = method_id or UUID(await a_method(do))
    run_id = uuid7()
    await do.put(
        RunStarted(
            datetime.now(UTC),
            run_id,
            name="Night 1",
            plan_id=uuid7(),
            plan_version_tag=None,
            method_id=method_id,
            asset_ids=(),
            subject_id=None,
            raid=None,
            override_parameters={},
            effective_parameters={},
            pinned_calibration_ids=(),
            acknowledged_cautions=(),
            decided_by_decision_id=None,
        )
    )
    return run_id


async def a_beam(do: Do) -> dict[str, Any]:
    """Register an available supply of beam for the own Site; return the arguments that name it."""
    made = {"kind": "photon_beam", "name": f"Beam {uuid7()}", "facility_code": OWN_SITE}
    told = {"supply_id": (await do("register_supply", made))["supply_id"], "reason": "Seen"}
    await do("mark_supply_available", told)
    return told


class FromTheBeginning(MemoryAgentLog):
    """A log in which every agent was versioned before anything else happened."""

    async def first(self, stream: Stream, event_type: str) -> Position | None:
        return await super().first(stream, event_type) or BEGINNING


def reactions(
    service: Service, store: MemoryStore, telemetry: Telemetry | None = None
) -> Reactions:
    """Return what the loops of agents need, on a store in memory."""
    return Reactions(
        AgentWriter(service, uuid7),
        service.sessions,
        FromTheBeginning(store),
        telemetry=telemetry or Telemetry(),
    )


def supervisor(service: Service, store: MemoryStore) -> TickLoop:
    """Return the loop of RunSupervisor."""
    around = reactions(service, store)
    return TickLoop(run_supervision(around, Histories(store, CODEC), RULES, 30.0), around)


def expirer(service: Service, store: MemoryStore) -> TickLoop:
    """Return the loop of ClearanceExpirer."""
    around = reactions(service, store)
    return TickLoop(clearance_expiry(around, 300.0), around)
