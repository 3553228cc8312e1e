"""Advisories at a start: what does not refuse a run, and is worth knowing before and after it."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from datetime import datetime
from uuid import UUID

from beamkeep.contexts.calibration.calibration import (
    Calibration,
    calibration_ids,
    calibrations,
    revision_of,
)
from beamkeep.contexts.equipment.asset import AssetCondition, AssetLifecycle, assets
from beamkeep.contexts.operation.procedure import procedures
from beamkeep.contexts.run.run import StartAdvisory, runs
from beamkeep.contexts.safety.clearance import clearances
from beamkeep.contexts.seams.installation import Reader
from beamkeep.contexts.subject.subject import subjects
from beamkeep.contexts.supply.supply import SupplyStatus, supplies
from beamkeep.kernel import NOT_SHOWN

from .checks import RunPreconditions
from .gates import StartFact, clearance_fact, fact
from .others import procedure_fact, run_fact


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
    yield from (run_fact(each, names) for each in given.live_runs)
    yield from (procedure_fact(each, names) for each in given.open_procedures)
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


async def advised(
    advisories: Collection[StartAdvisory], asset_ids: Collection[UUID], read: Reader
) -> tuple[StartFact, ...]:
    """Return the advisories given at a start on these assets, with the names of today."""
    ids = defaultdict[str, list[UUID]](list)
    for each in advisories:
        ids[each.kind].append(each.id)
    names_assets = ids["Asset"] or ids["Run"] or ids["Procedure"]
    used = await read.many(assets, sorted(asset_ids) if names_assets else ())
    names = {id: asset.name for id, asset in used.items()}
    others = [run_fact(each, names) for each in (await read.many(runs, ids["Run"])).values()]
    working = (await read.many(procedures, ids["Procedure"])).values()
    others += [procedure_fact(each, names) for each in working]
    names |= {each.id: each.name for each in others}
    serving = await read.many(supplies, ids["Supply"])
    papers = await read.many(clearances, await read.visible(clearances, ids["Clearance"]))
    seen = await read.many(subjects, await read.visible(subjects, ids["Subject"]))
    names |= {id: each.name for id, each in (*serving.items(), *seen.items())}
    names |= {id: each.title for id, each in papers.items()}
    if revision_ids := ids["CalibrationRevision"]:
        of = await calibration_ids(revision_ids, read)
        found = await read.many(calibrations, sorted({*of.values()}))
        names |= {id: found[calibration_id].quantity for id, calibration_id in of.items()}
    return tuple(StartFact.of(each, name=names.get(each.id, NOT_SHOWN)) for each in advisories)
