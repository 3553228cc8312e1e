"""RunSupervisor: holds runs that have lost their beam, and stops those without beam for long."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import partial
from uuid import UUID

from beamkeep.contexts.decision.decision import decisions
from beamkeep.contexts.recipe.method import methods
from beamkeep.contexts.run.run import (
    OPEN,
    HoldRun,
    ListRuns,
    Run,
    RunHeld,
    RunResumed,
    RunStatus,
    StopRun,
    runs,
)
from beamkeep.contexts.seams.installation import Reader
from beamkeep.contexts.supply.supply import ListSupplies
from beamkeep.kernel import Record
from beamkeep.schemas import Json

from .beam import BEAM, LOST, BeamState, beam_of
from .histories import Histories
from .resolution import AgentIdentity, Resolution

SUPERVISOR = AgentIdentity(
    UUID("00000000-0000-7000-8000-000000000053"), "RunSupervisor", "RunSupervision"
)
REASON = "beam lost"


class SupervisionRules(Record):
    """How long beam must be lost before a run is held or stopped."""

    settle: timedelta
    stop_after: timedelta
    """Zero if runs are never stopped."""


class SupervisedRun(Record):
    """An open run that needs beam, and what is known of its beam."""

    run: Run
    beam: BeamState
    resumed_at: int | None = None
    """The position at which the run was last resumed."""
    held_by_agent: bool = False
    """Whether the last hold of the run names a decision of this agent."""


def react(
    seen: SupervisedRun, now: datetime, rules: SupervisionRules, decision_id: UUID
) -> Resolution | None:
    """Return what to do about a run, if anything."""
    run, loss = seen.run, seen.beam.loss
    if loss is None:
        return None
    lost_for = now - loss.since
    if run.status is RunStatus.RUNNING:
        resumed = seen.resumed_at is not None and seen.resumed_at > loss.position
        if resumed or lost_for < rules.settle:
            return None
        verb, choice = "hold", "Hold"
        command = HoldRun(run_id=run.id, reason=REASON, decided_by_decision_id=decision_id)
    else:
        if not seen.held_by_agent or not rules.stop_after or lost_for < rules.stop_after:
            return None
        verb, choice = "stop", "Stop"
        command = StopRun(run_id=run.id, reason=REASON, decided_by_decision_id=decision_id)
    inputs: dict[str, Json] = {
        "run_id": str(run.id),
        "episode": loss.episode,
        "supply_ids": [*sorted(str(it.id) for it in seen.beam.supplies)],
        "lost_since": loss.since.isoformat(),
    }
    about = f"{run.id}:{loss.episode}"
    deferred = partial(_deferred, decision_id, f"defer:{about}:{verb}", inputs)
    return Resolution(
        decision_id, choice, key=f"{verb}:{about}", inputs=inputs, command=command, denied=deferred
    )


def _deferred(decision_id: UUID, key: str, inputs: dict[str, Json], reason: str) -> Resolution:
    explained = {**inputs, "reason_code": reason}
    return Resolution(decision_id, "SupervisionDeferred", key=key, inputs=explained)


async def open_runs(read: Reader, now: datetime) -> Sequence[UUID]:
    """Return the runs to look at: all open ones while any supply of beam is lost."""
    # Lists lag behind the streams: what they do not show yet, the next tick sees.
    lost = await read.matching(ListSupplies(kind=BEAM, status=LOST), most=1)
    return await read.matching(ListRuns(status=OPEN)) if lost else ()


async def supervised(run_id: UUID, read: Reader, histories: Histories) -> SupervisedRun | None:
    """Return a run with its beam; None if it has ended or needs no beam."""
    run = await read.one(runs, run_id)
    if run.status not in OPEN:
        return None
    method = await read.one(methods, run.method_id)
    if run.declaration_versions:
        method = await read.as_of(methods, run.method_id, run.declaration_versions.method)
    if BEAM not in method.needed_supplies:
        return None
    beam = await beam_of(run, read, histories)
    at = read.version(runs, run_id)
    if run.status is RunStatus.RUNNING:
        resumed = await histories.newest(runs, run_id, at, (RunResumed,))
        return SupervisedRun(run, beam, resumed_at=resumed and resumed[0].position)
    held = await histories.newest(runs, run_id, at, (RunHeld,))
    by = held and held[1].decided_by_decision_id
    mine = by is not None and (await read.one(decisions, by)).actor_id == SUPERVISOR.id
    return SupervisedRun(run, beam, held_by_agent=mine)
