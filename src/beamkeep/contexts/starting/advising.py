"""What refuses no start and is worth knowing at one: told before it, kept by the run, answered."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from uuid import UUID

from beamkeep.contexts.calibration.calibration import (
    Calibration,
    calibration_ids,
    calibrations,
    revision_of,
)
from beamkeep.contexts.equipment.asset import AssetCondition, AssetLifecycle, assets
from beamkeep.contexts.run.run import OPEN, ListRuns, Run, StartAdvisory, runs
from beamkeep.contexts.safety.clearance import clearances
from beamkeep.contexts.subject.subject import subjects
from beamkeep.contexts.supply.supply import SupplyStatus, supplies
from beamkeep.kernel import Reader

from .checks import NOT_SHOWN, Fact, Surroundings, clearance_fact

MOST_RUNS = 20


async def live_runs_on(asset_ids: Iterable[UUID], read: Reader) -> Sequence[Run]:
    """The runs that have not ended and work on one of these assets, the first of them."""
    list_filter = ListRuns(status=OPEN, asset_id=frozenset(asset_ids))
    # A list lags behind its streams, so what it finds is folded before it counts.
    found = await read.many(runs, await read.matching(list_filter, most=MOST_RUNS))
    return [run for run in found.values() if run.status in OPEN]


def advisories(
    given: Surroundings, pinned: Mapping[UUID, Calibration], now: datetime
) -> Iterator[Fact]:
    """What is not as it should be, and stops nothing."""
    for asset in given.wired:
        if asset.condition is not AssetCondition.NOMINAL:
            yield Fact("Asset", asset.id, asset.name, asset.condition)
        if asset.lifecycle is AssetLifecycle.MAINTENANCE:
            yield Fact("Asset", asset.id, asset.name, asset.lifecycle)
    for found in given.supplies.found.values():
        for supply in found:
            if supply.status is SupplyStatus.RECOVERING:
                yield Fact("Supply", supply.supply_id, supply.name, supply.status)
    end = given.plan.window.ends_at
    for clearance in (given.clearances or {}).values():
        fact = clearance_fact(clearance, now)
        if fact.in_force and fact.until is not None and (end is None or fact.until < end):
            yield fact
    wired = {asset.id: asset.name for asset in given.wired}
    for run in given.live_runs:
        yield Fact("Run", run.id, _shared(run, wired), run.status)
    its = given.subject
    if its and its.mounted_on_asset_id and its.mounted_on_asset_id not in wired:
        where = f"{its.status} on asset {its.mounted_on_asset_id}, outside the plan"
        yield Fact("Subject", its.id, its.name, where)
    for id, calibration in sorted(pinned.items()):
        if successor := revision_of(calibration, id).superseded_by_revision_id:
            state = f"Superseded by {successor}"
            yield Fact("CalibrationRevision", id, calibration.quantity, state)
        if calibration.asset_id not in wired:
            state = f"Of asset {calibration.asset_id}, outside the plan"
            yield Fact("CalibrationRevision", id, calibration.quantity, state)


def advisory(fact: Fact) -> StartAdvisory:
    """What the run keeps of an advisory: not the name, which is a text of others."""
    times = fact.until, fact.valid_from, fact.in_force
    return StartAdvisory(fact.kind, fact.id, fact.state, *times)


async def advised(run: Run, read: Reader) -> tuple[Fact, ...]:
    """What was told at the start of a run, with names as they are now."""
    ids: dict[str, list[UUID]] = {}
    for each in run.advisories:
        ids.setdefault(each.kind, []).append(each.id)
    wired = (
        (await read.many(assets, run.asset_ids)).items() if {"Asset", "Run"} & ids.keys() else ()
    )
    names = {id: asset.name for id, asset in wired}
    for id, other in (await read.many(runs, ids.get("Run", ()))).items():
        names[id] = _shared(other, names)
    for id, supply in (await read.many(supplies, ids.get("Supply", ()))).items():
        names[id] = supply.name
    covering, measured = ids.get("Clearance", ()), ids.get("Subject", ())
    visible = await read.visible(clearances, covering) | await read.visible(subjects, measured)
    for id, clearance in (await read.many(clearances, covering)).items():
        names[id] = clearance.title if id in visible else NOT_SHOWN
    for id, subject in (await read.many(subjects, measured)).items():
        names[id] = subject.name if id in visible else NOT_SHOWN
    if revision_ids := ids.get("CalibrationRevision"):
        of = await calibration_ids(revision_ids, read)
        found = await read.many(calibrations, sorted({*of.values()}))
        names |= {id: found[calibration_id].quantity for id, calibration_id in of.items()}
    return tuple(
        Fact(a.kind, a.id, names[a.id], a.state, a.until, a.valid_from, a.in_force)
        for a in run.advisories
    )


def _shared(run: Run, wired: Mapping[UUID, str]) -> str:
    """The assets of a plan that another run works on: its own name is for those who may see it."""
    return ", ".join(wired[id] for id in run.asset_ids if id in wired)
