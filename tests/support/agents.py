"""The deterministic agents in a service of a test, with a run that needs beam."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from uuid_utils.compat import uuid7

from beamkeep.adapters.memory.store import MemoryStore
from beamkeep.contexts.agent.seeded import SEEDED_AGENTS
from beamkeep.contexts.catalogue import CATALOGUE
from beamkeep.contexts.decision.decision import DecisionRegistered
from beamkeep.contexts.run.run import RunStarted
from beamkeep.contexts.trust import seeded
from beamkeep.parts.agents.agent_writing import AgentWriter
from beamkeep.parts.agents.caution_promoter import PromotionRules
from beamkeep.parts.agents.histories import Histories
from beamkeep.parts.agents.memory_log import MemoryAgentLog
from beamkeep.parts.agents.reactions import Reactions, TickLoop
from beamkeep.parts.agents.resolution import AgentIdentity
from beamkeep.parts.agents.run_supervisor import SupervisionRules
from beamkeep.parts.agents.seeded_agents import clearance_expiry, run_supervision
from beamkeep.runtime import Service
from beamkeep.runtime.codec import Codec
from beamkeep.telemetry import Telemetry
from beamkeep.testing.examples import Do
from tests.support.examples.federation import OWN_SITE
from tests.support.examples.recipe import a_method

CODEC = Codec(CATALOGUE.aggregates.values())
RULES = SupervisionRules(settle=timedelta(seconds=10), stop_after=timedelta(hours=4))
PROMOTION = PromotionRules(min_confidence=0.7, daily_most=2)


async def forbid(do: Do, agent: AgentIdentity, *commands: str) -> None:
    """Replace the seeded policy of an agent by one that does not permit these commands."""
    (seed,) = [each for each in SEEDED_AGENTS if each.id == agent.id]
    mine = {"permitted_principal_id": str(agent.id)}
    await do("revoke_grant", {"policy_id": str(seed.policy_id), "reason": "Less", **mine})
    await do(
        "define_policy",
        {
            "name": agent.kind,
            "conduit_id": str(seeded.INTERNAL),
            "surface_id": None,
            "permitted_principal_ids": [str(agent.id)],
            "permitted_commands": sorted({*seed.tools} - {*commands}),
            "object_scope": "All",
        },
    )


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
    supply = {"supply_id": (await do("register_supply", made))["supply_id"], "reason": "Seen"}
    await do("mark_supply_available", supply)
    return supply


def a_proposal(target_id: str, now: datetime, **changed: Any) -> DecisionRegistered:
    """Return the decision of a drafter that proposes a notice about an asset."""
    draft: dict[str, Any] = {
        "target_kind": "Asset",
        "target_id": target_id,
        "category": "Wear",
        "severity": "Notice",
        "text": "The belt slips when cold.",
        "workaround": "Warm it up for ten minutes.",
        "tags": [],
        "propagate_to_children": False,
        "supersedes_caution_id": None,
    }
    fields: dict[str, Any] = {
        "actor_id": uuid7(),
        "context": "CautionProposal",
        "choice": "ProposeNotice",
        "parent_id": None,
        "override_kind": None,
        "rule": None,
        "reasoning": None,
        "confidence": 0.9,
        "confidence_source": "self_reported",
        "alternatives": (),
        "inputs": {"proposed_caution": draft},
        "determining_policy_ids": (),
    }
    return DecisionRegistered(now, uuid7(), **(fields | changed))


def reactions(
    service: Service, store: MemoryStore, telemetry: Telemetry | None = None
) -> Reactions:
    """Return what the loops of agents need, on a store in memory."""
    return Reactions(
        AgentWriter(service, uuid7),
        service.sessions,
        MemoryAgentLog(store),
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
