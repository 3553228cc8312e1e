"""The gate of work that needs supplies: which kinds are covered where it takes place, by what."""

from collections.abc import Iterable, Mapping
from datetime import timedelta
from uuid import UUID

from beamkeep.contexts.equipment.asset import assets
from beamkeep.contexts.equipment.place import PLACES
from beamkeep.contexts.federation.facility import facilities, facility_by_code
from beamkeep.contexts.trust.freshness import as_stale, is_stale
from beamkeep.kernel import Reader, Record

from .supply import (
    SUPPLY_FRESHNESS,
    ListSupplies,
    Supply,
    SupplyStatus,
    counted_status,
    supplies,
)


class Scope(Record):
    """Where work takes place."""

    facility_codes: frozenset[str]
    """The facilities of its assets, and the Sites these are areas of."""
    asset_ids: frozenset[UUID]
    """Its assets and everything above them."""


class Found(Record):
    """A supply that serves the work, as a refusal may show it."""

    supply_id: UUID
    name: str
    status: SupplyStatus
    """What it counts as: what is on record, or `Unknown` where its observer is silent."""
    silent_for: timedelta | None = None
    """How long its observer has been silent, where that makes it `Unknown`."""

    @property
    def state(self) -> str:
        """Its status, and why it counts as that."""
        return as_stale(self.silent_for) if self.silent_for else self.status

    def __str__(self) -> str:
        return f"{self.name} is {self.state}"


class Coverage(Record):
    """By needed kind, every supply that serves the work, whatever its status."""

    found: Mapping[str, tuple[Found, ...]]

    @property
    def covered_by(self) -> dict[str, tuple[UUID, ...]]:
        """The available supplies of each kind that has one."""
        available = {
            kind: tuple(each.supply_id for each in found if each.status is SupplyStatus.AVAILABLE)
            for kind, found in self.found.items()
        }
        return {kind: ids for kind, ids in available.items() if ids}

    @property
    def uncovered(self) -> dict[str, tuple[Found, ...]]:
        """What was found of each kind that has no available supply."""
        return {kind: found for kind, found in self.found.items() if kind not in self.covered_by}

    def __str__(self) -> str:
        """What is missing, in a sentence."""
        missing = (
            f"{kind} ({', '.join(map(str, found)) or 'there is none'})"
            for kind, found in self.uncovered.items()
        )
        return f"Not available: {'; '.join(missing)}."


def cover(
    kinds: Iterable[str],
    scope: Scope,
    candidates: Iterable[Supply],
    silent_for: Mapping[UUID, timedelta] | None = None,
) -> Coverage:
    """What the candidates, of which some have a silent observer, supply to work in this scope."""
    serving = [supply for supply in candidates if serves(supply, scope)]
    return Coverage(
        {
            kind: tuple(
                _found(each, (silent_for or {}).get(each.id))
                for each in serving
                if each.kind == kind
            )
            for kind in sorted(set(kinds))
        }
    )


def _found(supply: Supply, silent_for: timedelta | None) -> Found:
    counted = counted_status(supply, stale=silent_for is not None)
    why = silent_for if counted is not supply.status else None
    return Found(supply.id, supply.name, counted, why)


def serves(supply: Supply, scope: Scope) -> bool:
    """Whether a supply is there for work in this scope."""
    return (
        supply.status is not SupplyStatus.DECOMMISSIONED
        and supply.facility_code in scope.facility_codes
        and supply.containing_asset_id in {None, *scope.asset_ids}
    )


async def coverage(kinds: Iterable[str], asset_ids: Iterable[UUID], read: Reader) -> Coverage:
    """How these kinds are supplied to work on these assets, or on none, by what is true now."""
    needed = sorted(set(kinds))
    scope = await scope_of(asset_ids, read)
    # A list lags behind its streams, so what it finds is folded before it counts.
    candidates = [
        id
        for kind in needed
        for code in sorted(scope.facility_codes)
        for id in await read.matching(ListSupplies(kind=kind, facility_code=code))
    ]
    found = await read.many(supplies, candidates)
    rows = await read.rows(SUPPLY_FRESHNESS, supply_id={*found}) if found else ()
    stale_after = read.installation.stale_after
    silent_for = {
        row.supply_id: row.age for row in rows if row.age and is_stale(row.age, stale_after)
    }
    return cover(needed, scope, found.values(), silent_for)


async def scope_of(asset_ids: Iterable[UUID], read: Reader) -> Scope:
    """The scope of work on these assets; of work on none, the deployment's own Site."""
    named = frozenset(asset_ids)
    if not named:
        return Scope(frozenset({read.installation.facility_code}), named)
    widened = await read.many(assets, sorted(named | (await read.above(PLACES, named)).keys()))
    codes = {asset.facility_code for asset in widened.values() if asset.facility_code}
    for facility in [await facility_by_code(code, read) for code in sorted(codes)]:
        if facility.parent_id is not None:
            codes.add((await read.one(facilities, facility.parent_id)).code)
    return Scope(frozenset(codes), frozenset(widened))
