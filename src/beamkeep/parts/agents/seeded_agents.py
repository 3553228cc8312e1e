"""The deterministic agents of the service, as what their loops carry out."""

from datetime import datetime, timedelta
from uuid import UUID

from beamkeep.contexts.caution.caution import CautionRegistered, ListCautions
from beamkeep.contexts.caution.promotion import CONTEXT
from beamkeep.contexts.decision.decision import DecisionRegistered, decisions
from beamkeep.contexts.safety.clearance import clearances
from beamkeep.kernel import Catalogue, Event
from beamkeep.parts.agents import caution_promoter, clearance_expirer, run_supervisor
from beamkeep.runtime.session import Session
from beamkeep.runtime.store import MovedError, ReadModel

from .caution_promoter import PROMOTER, PromotionIds, PromotionRules
from .clearance_expirer import EXPIRER
from .histories import Histories
from .reactions import EventReaction, Reactions, TickReaction, Trigger
from .resolution import Resolution
from .run_supervisor import SUPERVISOR, SupervisionRules

ATTEMPTS = 4
"""How often a proposal is judged at once while what it is judged by keeps changing."""
LISTS_SECONDS = 0.2
"""How often it is asked whether the lists have followed."""
DAY = timedelta(hours=24)


def run_supervision(
    reactions: Reactions, histories: Histories, rules: SupervisionRules, seconds: float
) -> TickReaction:
    """Return RunSupervisor."""

    async def judge(run_id: UUID, read: Session, now: datetime) -> Resolution | None:
        seen = await run_supervisor.supervised(run_id, read, histories)
        return seen and run_supervisor.react(seen, now, rules, reactions.writer.new_id())

    return TickReaction(SUPERVISOR, seconds, items=run_supervisor.open_runs, judge=judge)


def clearance_expiry(reactions: Reactions, seconds: float) -> TickReaction:
    """Return ClearanceExpirer."""

    async def judge(clearance_id: UUID, read: Session, now: datetime) -> Resolution | None:
        clearance = await read.one(clearances, clearance_id)
        return clearance_expirer.react(clearance, now, reactions.writer.new_id())

    return TickReaction(EXPIRER, seconds, items=clearance_expirer.elapsed, judge=judge)


def caution_promotion(
    reactions: Reactions, lists: ReadModel, catalogue: Catalogue, rules: PromotionRules
) -> EventReaction:
    """Return CautionPromoter."""
    views = [view for view in catalogue.views if view.listing is ListCautions]
    writer, log = reactions.writer, reactions.log

    async def handle(trigger: Trigger) -> float:
        # What a token recorded is left to operators.
        if trigger.envelope.surface_id is not None:
            return 0.0
        own = await log.last_write(PROMOTER.id)
        if not await lists.follows(views, max(trigger.at, own or trigger.at)):
            return LISTS_SECONDS
        for attempt in range(ATTEMPTS):
            read, since = reactions.sessions(), await log.now() - DAY
            lately = await log.written_since(PROMOTER.id, CautionRegistered.__name__, since)
            seen = await caution_promoter.proposed(trigger.envelope.stream_id, lately, read)
            ids = PromotionIds(writer.new_id(), writer.new_id())
            try:
                if resolution := caution_promoter.react(seen, rules, ids):
                    await writer.write(PROMOTER, resolution, read, trigger.envelope)
                return 0.0
            except MovedError:
                if attempt == ATTEMPTS - 1:
                    raise
        return 0.0

    def wants(event: Event) -> bool:
        return isinstance(event, DecisionRegistered) and event.context == CONTEXT

    return EventReaction(PROMOTER, decisions, wants=wants, handle=handle)
