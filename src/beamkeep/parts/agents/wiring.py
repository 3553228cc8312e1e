"""How the agents of the service are wired into a deployment."""

from collections.abc import Iterable, Sequence
from datetime import timedelta

from beamkeep.contexts.agent.seeded import seeds as seeded_agents
from beamkeep.contexts.catalogue import CATALOGUE
from beamkeep.contexts.seams.installation import Facts, Readers
from beamkeep.contexts.trust.bootstrap import CallFor
from beamkeep.kernel import replace
from beamkeep.parts.wiring import Core, Grounds, Seeded, Wiring
from beamkeep.runtime.evidence import RELEASE
from beamkeep.workers.supervision import Loop

from .evidence.reading import DecisionEvidenceReader
from .evidence.replaying import Replay
from .models.templates import TEMPLATES
from .postgres_records import PostgresAgentRecords
from .settings import AgentSettings


def seeds(own: AgentSettings, call: CallFor) -> Iterable[Seeded]:
    """Return the agents that every deployment begins with."""
    return seeded_agents(call, own.language_model())


def facts(own: AgentSettings, here: Facts) -> Facts:
    """Let rules know which agents work, and with which models."""
    return replace(
        here,
        store_inference_messages=own.store_inference_messages,
        prompt_templates={each.id: each.kind for each in TEMPLATES.values()},
        model_providers=frozenset(filter(None, [own.language_model_provider])),
        agent_runtimes={
            "RunDebriefer": own.run_debriefer_enabled,
            "CautionDrafter": own.caution_drafter_enabled,
            "RunSupervisor": own.run_supervisor_enabled,
            "CautionPromoter": own.caution_promoter_enabled,
            "ClearanceExpirer": own.clearance_expirer_enabled,
        },
    )


def readers(grounds: Grounds, own: AgentSettings, here: Readers) -> Readers:
    """Let reads sum what agents did, and show what agents had been answered."""
    store = grounds.store
    replay = Replay(store, grounds.sessions, CATALOGUE, release=RELEASE)
    window = timedelta(minutes=own.evidence_window_minutes)
    return replace(
        here,
        agent_records=PostgresAgentRecords(grounds.commands),
        evidence=DecisionEvidenceReader(store, CATALOGUE, replay, window=window),
    )


def loops(core: Core, own: AgentSettings) -> Sequence[Loop]:
    """Return the loops of the agents that are switched on."""
    from .loops import loops as found

    return found(core, own)


WIRING = Wiring(AgentSettings, seeds=seeds, facts=facts, readers=readers, loops=loops)
