"""The loops of the agents that are switched on."""

from collections.abc import Sequence
from datetime import timedelta
from uuid import UUID

import structlog
from uuid_utils.compat import uuid7

from beamkeep.contexts.catalogue import CATALOGUE
from beamkeep.parts.wiring import Core
from beamkeep.runtime.clock import now
from beamkeep.workers.supervision import Loop

from .agent_writing import AgentWriter
from .caution_drafter import CAUTION_DRAFTER
from .caution_promoter import PromotionRules
from .desk import ServiceDesk
from .histories import Histories
from .language_models import language_model
from .model_agent import ModelAgentRuntime, ModelReaction
from .model_agents import ModelAgentLoops, model_reaction
from .models.budget import BudgetedModels, Prices
from .postgres_log import PostgresAgentLog
from .postgres_model_calls import PostgresModelCalls
from .reactions import EventLoop, EventReaction, Reactions, TickLoop
from .run_debriefer import RUN_DEBRIEFER
from .run_supervisor import SupervisionRules
from .seeded_agents import caution_promotion, clearance_expiry, run_supervision
from .settings import AgentSettings

log: structlog.stdlib.BoundLogger = structlog.get_logger()

NO_PROVIDER = "LANGUAGE_MODEL_PROVIDER is not set."


def loops(core: Core, own: AgentSettings) -> Sequence[Loop]:
    """Return the loops of the agents that are switched on."""
    service, log_of_agents = core.service, PostgresAgentLog(core.commands)
    reactions = Reactions(
        AgentWriter(service, uuid7), service.sessions, log_of_agents, telemetry=core.telemetry
    )
    loops: list[Loop] = []
    if own.run_supervisor_enabled:
        rules = SupervisionRules(
            settle=timedelta(seconds=own.run_supervisor_settle_seconds),
            stop_after=timedelta(seconds=own.run_supervisor_stop_after_seconds),
        )
        histories, seconds = Histories(core.store, core.codec), own.run_supervisor_tick_seconds
        supervision = run_supervision(reactions, histories, rules, seconds)
        loops.append(Loop("run supervisor", TickLoop(supervision, reactions).turn))
    if own.clearance_expirer_enabled:
        expiry = clearance_expiry(reactions, own.clearance_expirer_tick_seconds)
        loops.append(Loop("clearance expirer", TickLoop(expiry, reactions).turn))
    if own.caution_promoter_enabled:
        rules = PromotionRules(own.caution_promoter_min_confidence, own.caution_promoter_daily_most)
        promotion = caution_promotion(reactions, core.lists, CATALOGUE, rules)
        promoting = _event_loop(core, own, promotion, reactions)
        loops.append(Loop("caution promoter", promoting.turn))
    return [*loops, *_model_agents(core, own, reactions)]


def _model_agents(core: Core, own: AgentSettings, reactions: Reactions) -> list[Loop]:
    """Return the loops of the agents that call a language model, if there is one to call."""
    provider, account = own.language_model_provider, own.provider_account
    enabled = {
        RUN_DEBRIEFER: own.run_debriefer_enabled,
        CAUTION_DRAFTER: own.caution_drafter_enabled,
    }
    if provider is None or account is None or not any(enabled.values()):
        if any(enabled.values()):
            log.info("agents that call a model do not work", because=NO_PROVIDER)
        return []
    models = BudgetedModels(
        PostgresModelCalls(core.commands),
        {provider: language_model(provider, account)},
        Prices(own.language_model_prices),
    )
    desk = ServiceDesk(core.service, core.store, core.codec, clock=now)
    runtimes = {
        each: ModelAgentRuntime(
            each,
            desk,
            models,
            new_id=uuid7,
            send_marked=own.language_model_send_marked_text,
            telemetry=core.telemetry,
        )
        for each, is_on in enabled.items()
        if is_on
    }
    return [_model_loop(core, own, each, runtime, reactions) for each, runtime in runtimes.items()]


def _model_loop(
    core: Core,
    own: AgentSettings,
    reaction: ModelReaction,
    runtime: ModelAgentRuntime,
    reactions: Reactions,
) -> Loop:
    """Return the loop of all agents of one kind."""

    def loop_of(agent_id: UUID) -> EventLoop:
        reacting = model_reaction(agent_id, reaction, runtime, reactions.sessions)
        return _event_loop(core, own, reacting, reactions)

    providers = frozenset(filter(None, [own.language_model_provider]))
    loops = ModelAgentLoops(reaction.kind, reactions.sessions, loop_of, providers=providers)
    return Loop(reaction.kind, loops.turn, loops.close)


def _event_loop(
    core: Core, own: AgentSettings, reaction: EventReaction, reactions: Reactions
) -> EventLoop:
    return EventLoop(
        reaction,
        reactions,
        core.tail,
        store=core.store,
        codec=core.codec,
        max_age=timedelta(hours=own.agent_max_event_age_hours),
    )
