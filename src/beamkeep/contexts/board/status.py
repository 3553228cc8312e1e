"""Status: one line about each beamline."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from beamkeep.contexts.enclosure.enclosure import (
    EnclosureLifecycle,
    ListEnclosures,
    enclosures,
)
from beamkeep.contexts.enclosure.gate import permits
from beamkeep.contexts.equipment.asset import (
    Asset,
    AssetCondition,
    AssetLifecycle,
    AssetTier,
    ListAssets,
    assets,
)
from beamkeep.contexts.federation.facility import (
    FacilityCode,
    FacilityNotFoundError,
    ListFacilities,
    facilities,
    facility_by_code,
)
from beamkeep.contexts.run import run
from beamkeep.contexts.run.run import ListRuns, Run, RunStatus, runs
from beamkeep.contexts.seams.installation import Reader
from beamkeep.contexts.seams.place import PLACES, upwards
from beamkeep.contexts.supply.gate import as_counted
from beamkeep.contexts.supply.supply import IN_USE, ListSupplies, SupplyStatus, supplies
from beamkeep.kernel import Fresh, Record, answers

from .board import MOST_FOUND, is_abnormal
from .sight import BoardSight, sight

MOST_BEAMLINES = 100


class BeamlineState(StrEnum):
    RUNNING = "Running"
    HELD = "Held"
    IDLE = "Idle"


class BeamlineStatus(Record):
    """One beamline in one line. A number of objects that the caller may not list is null."""

    asset_id: UUID
    name: str
    facility_code: str | None
    state: BeamlineState | None
    """Held if a run is held, Running if a run is running, Idle without one."""
    reason: str | None
    """Why a run is held, or what is abnormal first."""
    runs: int | None
    supplies: int | None
    """How many supplies inside the beamline or for its whole facility are not Available."""
    enclosures: int | None
    """How many enclosures in which its assets stand are not Permitted."""
    assets: int | None
    """How many of its assets are not Nominal or in Maintenance."""


class Status(Record):
    items: tuple[BeamlineStatus, ...]
    now: datetime
    more: bool
    """Whether there are further beamlines."""


class GetStatus(Fresh):
    """Show one line for each beamline: what runs, and how much is abnormal."""

    facility_code: FacilityCode | None = None
    """Only beamlines at this facility."""


class AbnormalObject(Record):
    """An object that is not as it should be, and the beamlines that it concerns."""

    text: str
    unit_ids: frozenset[UUID]


class StatusReader(Record):
    """What the lines are found by: the same few statements for any number of beamlines."""

    read: Reader
    sight: BoardSight
    units: Mapping[UUID, Asset]

    async def runs(self) -> Sequence[tuple[Run, frozenset[UUID]]] | None:
        """Return the open runs, each with its beamlines."""
        listed = await self.read.matching(ListRuns(status=run.OPEN), most=MOST_FOUND)
        if (seen := await self.sight.seen(runs, ListRuns, listed)) is None:
            return None
        found = (await self.read.many(runs, seen)).values()
        live = [each for each in found if each.status in run.OPEN]
        roots = await self._roots(id for each in live for id in each.asset_ids)
        return [(each, frozenset(roots[id] for id in each.asset_ids)) for each in live]

    async def supplies(self) -> Sequence[AbnormalObject] | None:
        """Return the supplies that are not Available, each with the beamlines it serves."""
        listed = await self.read.matching(ListSupplies(status=IN_USE), most=MOST_FOUND)
        if (seen := await self.sight.seen(supplies, ListSupplies, listed)) is None:
            return None
        lacking = [
            each
            for each in await as_counted(seen, self.read)
            if each.status is not SupplyStatus.AVAILABLE
        ]
        inside = [each.supply.containing_asset_id for each in lacking]
        roots = await self._roots(id for id in inside if id)
        served = await self._by_facility()
        return [
            AbnormalObject(
                f"{each.supply.name} is {each.state}",
                frozenset({roots[within]}) if within else served.get(code, frozenset()),
            )
            for each in lacking
            for within, code in [(each.supply.containing_asset_id, each.supply.facility_code)]
        ]

    async def enclosures(self) -> Sequence[AbnormalObject] | None:
        """Return the enclosures without a permit, each with the beamlines that stand in it."""
        listing = ListEnclosures(lifecycle=EnclosureLifecycle.ACTIVE)
        listed = await self.read.matching(listing, most=MOST_FOUND)
        if (seen := await self.sight.seen(enclosures, ListEnclosures, listed)) is None:
            return None
        lacking = {
            id: each for id, each in (await permits(seen, self.read)).items() if not each.holds
        }
        inside = await self._standing_in(lacking)
        return [
            AbnormalObject(f"{each.enclosure.name} is {each.state}", inside[id])
            for id, each in lacking.items()
        ]

    async def assets(self) -> Sequence[AbnormalObject] | None:
        """Return the assets that are not Nominal or in Maintenance, each with its beamline."""
        failing = AssetCondition.FAULTED, AssetCondition.DEGRADED
        queries = [ListAssets(condition=each) for each in failing]
        queries.append(ListAssets(lifecycle=AssetLifecycle.MAINTENANCE))
        listed = [id for each in queries for id in await self.read.matching(each, most=MOST_FOUND)]
        if (seen := await self.sight.seen(assets, ListAssets, dict.fromkeys(listed))) is None:
            return None
        found = [
            each for each in (await self.read.many(assets, seen)).values() if is_abnormal(each)
        ]
        roots = await self._roots(each.id for each in found)
        return [AbnormalObject(_abnormality(each), frozenset({roots[each.id]})) for each in found]

    async def _roots(self, ids: Iterable[UUID]) -> Mapping[UUID, UUID]:
        """Return the asset at the root above each of these assets."""
        wanted = sorted({*ids})
        places = await self.read.above(PLACES, wanted)
        return {id: upwards(id, places)[-1].asset_id for id in wanted}

    async def _standing_in(self, enclosure_ids: Iterable[UUID]) -> Mapping[UUID, frozenset[UUID]]:
        """Return the beamlines that have an asset in each of these enclosures."""
        wanted = frozenset(enclosure_ids)
        if not wanted:
            return {}
        listing = ListAssets(located_in_enclosure_id=wanted)
        standing = (await self.read.many(assets, await self.read.matching(listing))).values()
        roots = await self._roots(each.id for each in standing)
        return {
            id: frozenset(roots[each.id] for each in standing if each.located_in_enclosure_id == id)
            for id in wanted
        }

    async def _by_facility(self) -> Mapping[str, frozenset[UUID]]:
        """Return the beamlines that a supply of each facility serves."""
        ids = await self.read.matching(ListFacilities(), most=MOST_FOUND)
        known = await self.read.many(facilities, ids)
        served: dict[str, frozenset[UUID]] = {}
        for each in known.values():
            codes = {each.code, *(it.code for it in known.values() if it.parent_id == each.id)}
            own = (id for id, unit in self.units.items() if unit.facility_code in codes)
            served[each.code] = frozenset(own)
        return served


async def status(query: GetStatus, read: Reader) -> Status:
    if query.facility_code:
        await facility_by_code(query.facility_code, read)
    listing = ListAssets(tier=AssetTier.UNIT, facility_code=query.facility_code)
    listed = await read.matching(listing, to_show=True, most=MOST_FOUND)
    found = sorted((await read.many(assets, listed)).values(), key=lambda each: each.name)
    units = {
        each.id: each
        for each in found
        if not each.parent_id and each.lifecycle is not AssetLifecycle.DECOMMISSIONED
    }
    here = StatusReader(read, await sight(read), units=units)
    live = await here.runs()
    parts = await here.enclosures(), await here.supplies(), await here.assets()
    lines = [_line(unit, live, *parts) for unit in units.values()]
    return Status(tuple(lines[:MOST_BEAMLINES]), read.now, more=len(lines) > MOST_BEAMLINES)


def _line(
    unit: Asset,
    live: Sequence[tuple[Run, frozenset[UUID]]] | None,
    *abnormal: Sequence[AbnormalObject] | None,
) -> BeamlineStatus:
    own = [each for each, unit_ids in live or () if unit.id in unit_ids]
    held = [each for each in own if each.status is RunStatus.HELD]
    described = [_of(unit, part) for part in abnormal]
    state = BeamlineState.HELD if held else BeamlineState.RUNNING if own else BeamlineState.IDLE
    reasons = [f"{each.name} is held: {each.last_status_reason or 'no reason'}" for each in held]
    reasons += [text for part in described for text in part or ()]
    counts = [None if part is None else len(part) for part in described]
    return BeamlineStatus(
        asset_id=unit.id,
        name=unit.name,
        facility_code=unit.facility_code,
        state=None if live is None else state,
        reason=next(iter(reasons), None),
        runs=None if live is None else len(own),
        enclosures=counts[0],
        supplies=counts[1],
        assets=counts[2],
    )


def _of(unit: Asset, part: Sequence[AbnormalObject] | None) -> Sequence[str] | None:
    return None if part is None else [each.text for each in part if unit.id in each.unit_ids]


def _abnormality(asset: Asset) -> str:
    failing = asset.condition is not AssetCondition.NOMINAL
    return f"{asset.name} is {asset.condition if failing else asset.lifecycle}"


# fmt: off
QUESTIONS = (
    answers("GET /status", GetStatus, status, Status, FacilityNotFoundError, of=assets, about=None,
        title="Show the status of the facility",
        composed_of=("Enclosure", "Facility", "Run", "Supply")),
)
# fmt: on
