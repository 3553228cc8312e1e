"""The supply gate: which of the needed kinds of supply are available where the work is done."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from uuid import UUID

from beamkeep.contexts.equipment.asset import Asset
from beamkeep.contexts.federation.facility import facilities, facility_by_code
from beamkeep.contexts.seams.installation import Reader
from beamkeep.contexts.trust.freshness import as_stale, is_stale
from beamkeep.kernel import Record

from .supply import (
    IN_USE,
    SUPPLY_FRESHNESS,
    ListSupplies,
    Supply,
    SupplyStatus,
    counted_status,
    supplies,
)


class SupplyScope(Record):
    """The facilities and assets in which work is done."""

    facility_codes: frozenset[str]
    """The facilities of the assets, and the Sites of those that are Areas."""
    asset_ids: frozenset[UUID]
    """The assets and their ancestors."""

    def has(self, supply: Supply) -> bool:
        """Return whether a supply serves work in this scope."""
        return supply.status in IN_USE and self.reaches(supply)

    def reaches(self, supply: Supply) -> bool:
        """Return whether a supply serves work in this scope, or did until it was deregistered."""
        here = supply.containing_asset_id in {None, *self.asset_ids}
        return here and supply.facility_code in self.facility_codes


class SupplyInScope(Record):
    """A supply that serves the work, with the age of its last report if that report is stale."""

    supply: Supply
    silent_for: timedelta | None = None

    @property
    def status(self) -> SupplyStatus:
        """The status that counts: the recorded one, or Unknown if Available is stale."""
        return counted_status(self.supply, stale=self.silent_for is not None)

    @property
    def stale(self) -> bool:
        """Whether the supply counts as Unknown only because its observer is silent."""
        return self.status is not self.supply.status

    @property
    def state(self) -> str:
        """The status that counts, for a person."""
        return as_stale(self.silent_for) if self.stale else self.status


class Coverage(Record):
    """By needed kind, every supply in scope, whatever its status."""

    found: Mapping[str, tuple[SupplyInScope, ...]]

    @property
    def uncovered(self) -> dict[str, tuple[SupplyInScope, ...]]:
        """The supplies found of each kind of which none is available."""
        return {
            kind: found
            for kind, found in self.found.items()
            if not any(each.status is SupplyStatus.AVAILABLE for each in found)
        }


async def coverage(kinds: Iterable[str], assets: Mapping[UUID, Asset], read: Reader) -> Coverage:
    """Return how these kinds are supplied to work on these assets, given with their ancestors."""
    needed = sorted(set(kinds))
    scope = await scope_of(assets, read)
    # A list lags behind its streams: fold what it finds before it counts.
    candidates = [
        id
        for kind in needed
        for code in sorted(scope.facility_codes)
        for id in await read.matching(ListSupplies(kind=kind, facility_code=code))
    ]
    in_scope = await supplies_in(scope, candidates, read)
    by_kind = {kind: tuple(it for it in in_scope if it.supply.kind == kind) for kind in needed}
    return Coverage(by_kind)


async def supplies_in(
    scope: SupplyScope, ids: Iterable[UUID], read: Reader
) -> Sequence[SupplyInScope]:
    """Return those of these supplies that serve work in a scope."""
    return [each for each in await as_counted(ids, read) if scope.has(each.supply)]


async def as_counted(ids: Iterable[UUID], read: Reader) -> Sequence[SupplyInScope]:
    """Return these supplies with the status that counts."""
    found = await read.many(supplies, ids)
    rows = await read.rows(SUPPLY_FRESHNESS, supply_id={*found}) if found else ()
    stale_after = read.facts.stale_after
    silent_for = {row.supply_id: row.age for row in rows if is_stale(row.age, stale_after)}
    return [SupplyInScope(each, silent_for.get(id)) for id, each in found.items()]


async def scope_of(assets: Mapping[UUID, Asset], read: Reader) -> SupplyScope:
    """Return the scope of work on these assets and their ancestors; without any, the own Site."""
    codes = {asset.facility_code for asset in assets.values() if asset.facility_code}
    for facility in [await facility_by_code(code, read) for code in sorted(codes)]:
        if facility.parent_id is not None:
            codes.add((await read.one(facilities, facility.parent_id)).code)
    own = {read.facts.facility_code}
    return SupplyScope(frozenset(codes if assets else own), frozenset(assets))
