"""Advisories at a start: what does not refuse a run, and is worth knowing before and after it."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from datetime import datetime
from uuid import UUID

from beamkeep.contexts.calibration.calibration import (
    Calibration,
    calibration_ids,
    calibrations,
    revision_of,
)
from beamkeep.contexts.equipment.asset import AssetCondition, AssetLifecycle, assets
from beamkeep.contexts.run.run import Run, runs
from beamkeep.contexts.safety.clearance import clearances
from beamkeep.contexts.subject.subject import subjects
from beamkeep.contexts.supply.supply import SupplyStatus, supplies
from beamkeep.kernel import Reader

from .checks import RunPreconditions
from .gates import NOT_SHOWN, StartFact, clearance_fact, fact


def run_advisories(
    given: RunPreconditions, pinned: Mapping[UUID, Calibration], now: datetime
) -> Iterator[StartFact]:
    """Return everything that does not refuse a run and is worth knowing before its start."""
    names = {asset.id: asset.name for asset in given.work.assets}
    for asset in given.work.assets:
        if asset.condition is not AssetCondition.NOMINAL:
            yield fact("Asset", asset, asset.condition)
        if asset.lifecycle is AssetLifecycle.MAINTENANCE:
            yield fact("Asset", asset, asset.lifecycle)
    for each in (each for found in given.work.supplies.found.values() for each in found):
        if each.status is SupplyStatus.RECOVERING:
            yield fact("Supply", each.supply, each.status)
    end = given.plan.window.ends_at
    for each in (clearance_fact(each, now) for each in (given.clearances or {}).values()):
        if each.in_force and each.until is not None and (end is None or each.until < end):
            yield each
    for run in given.live_runs:
        yield StartFact("Run", run.id, name=_shared_assets(run, names), state=run.status)
    where = given.subject.mounted_on_asset_id if given.subject else None
    if given.subject and where and where not in names:
        state = f"{given.subject.status} on asset {where}, which is not in the plan"
        yield fact("Subject", given.subject, state)
    for id, calibration in sorted(pinned.items()):
        successor, of = revision_of(calibration, id).superseded_by_revision_id, calibration.asset_id
        states = [f"Superseded by {successor}"] if successor else []
        states += [f"Calibrates asset {of}, which is not in the plan"] if of not in names else []
        for state in states:
            yield StartFact("CalibrationRevision", id, name=calibration.quantity, state=state)


async def advised(run: Run, read: Reader) -> tuple[StartFact, ...]:
    """Return the advisories given at the start of a run, with the names of today."""
    ids = defaultdict[str, list[UUID]](list)
    for each in run.advisories:
        ids[each.kind].append(each.id)
    used = await read.many(assets, run.asset_ids if ids["Asset"] or ids["Run"] else ())
    names = {id: asset.name for id, asset in used.items()}
    for id, other in (await read.many(runs, ids["Run"])).items():
        names[id] = _shared_assets(other, names)
    serving = await read.many(supplies, ids["Supply"])
    papers = await read.many(clearances, await read.visible(clearances, ids["Clearance"]))
    seen = await read.many(subjects, await read.visible(subjects, ids["Subject"]))
    names |= {id: each.name for id, each in (*serving.items(), *seen.items())}
    names |= {id: each.title for id, each in papers.items()}
    if revision_ids := ids["CalibrationRevision"]:
        of = await calibration_ids(revision_ids, read)
        found = await read.many(calibrations, sorted({*of.values()}))
        names |= {id: found[calibration_id].quantity for id, calibration_id in of.items()}
    return tuple(StartFact.of(each, name=names.get(each.id, NOT_SHOWN)) for each in run.advisories)


def _shared_assets(run: Run, names: Mapping[UUID, str]) -> str:
    """Return the shared assets, in place of the name of a run that the caller may not see."""
    return ", ".join(names[id] for id in run.asset_ids if id in names)
