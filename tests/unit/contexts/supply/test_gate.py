"""The gate of work that needs supplies: what is in its scope, and what covers it."""

from collections.abc import Iterable
from uuid import UUID

import pytest
from tests.unit.contexts.supply.around import asset, facility

from beamkeep.contexts.equipment.asset import AssetNotFoundError, with_all_above
from beamkeep.contexts.supply.gate import Coverage, SupplyScope, coverage, scope_of
from beamkeep.contexts.supply.supply import (
    Supply,
    SupplyDegraded,
    SupplyDeregistered,
    SupplyMarkedAvailable,
    SupplyMarkedRecovering,
    SupplyMarkedUnavailable,
    SupplyMoved,
    SupplyRegistered,
    SupplyStatus,
)
from beamkeep.contexts.trust.trigger import TriggerSource
from beamkeep.kernel import Event, SideWrite, UnnamedListing, replace
from beamkeep.testing.installation import FACTS
from beamkeep.testing.past import ABSENT, NOW, Past

pytestmark = pytest.mark.anyio

OWN, AREA, PEER = UUID(int=20), UUID(int=21), UUID(int=22)
BEAMLINE, HUTCH, STAGE, CAMERA = (UUID(int=n) for n in range(30, 34))
MACHINE, PEER_LINE = UUID(int=40), UUID(int=41)
BEAM, OTHER_BEAM, THIRD_BEAM, HELIUM = (UUID(int=n) for n in range(50, 54))


# The own site has one area, in which a beamline stands; a peer has a beamline of its own.
AROUND = (
    *facility(OWN, FACTS.facility_code),
    *facility(AREA, "hall", OWN),
    *facility(PEER, "peer"),
    *asset(BEAMLINE, facility_code="hall"),
    *asset(HUTCH, BEAMLINE),
    *asset(STAGE, HUTCH),
    *asset(CAMERA, HUTCH),
    *asset(MACHINE, facility_code=FACTS.facility_code),
    *asset(PEER_LINE, facility_code="peer"),
)


def supply(
    id: UUID = BEAM,
    code: str = "hall",
    asset_id: UUID | None = None,
    kind: str = "photon_beam",
    moves: Iterable[type[SupplyMoved]] = (SupplyMarkedAvailable,),
) -> tuple[Event, ...]:
    before = SupplyStatus.UNKNOWN
    return (
        SupplyRegistered(NOW, id, kind, f"Supply {id.int}", code, asset_id),
        *(move(NOW, id, before, TriggerSource.OPERATOR, None, "so it is") for move in moves),
    )


async def found(
    past: Iterable[Event | SideWrite], *asset_ids: UUID, kinds: Iterable[str] = ("photon_beam",)
) -> Coverage:
    read = Past((*AROUND, *past))
    return await coverage(kinds, await with_all_above(asset_ids, read), read)


async def covers(past: Iterable[Event | SideWrite], *asset_ids: UUID) -> bool:
    return not (await found(past, *asset_ids)).uncovered


async def test_a_supply_serves_its_facility_with_its_areas_and_its_asset_with_all_below():
    several: list[tuple[str, UUID | None, tuple[UUID, ...], bool]] = [
        # facility of the supply, its asset, the assets of the work, whether it is in scope
        ("hall", None, (BEAMLINE,), True),
        ("hall", None, (STAGE,), True),
        ("synchrotron", None, (STAGE,), True),
        ("peer", None, (STAGE,), False),
        ("synchrotron", None, (MACHINE,), True),
        ("hall", None, (MACHINE,), False),
        ("hall", STAGE, (STAGE,), True),
        ("hall", HUTCH, (STAGE,), True),
        ("hall", BEAMLINE, (STAGE,), True),
        ("hall", STAGE, (HUTCH,), False),
        ("hall", CAMERA, (STAGE,), False),
        ("peer", STAGE, (STAGE,), False),
        ("hall", PEER_LINE, (STAGE,), False),
        # one of several assets brings its facility into scope
        ("peer", None, (STAGE, PEER_LINE), True),
        ("hall", None, (STAGE, PEER_LINE), True),
        ("hall", CAMERA, (STAGE, CAMERA), True),
        # work on no asset is served by what serves the whole own site
        ("synchrotron", None, (), True),
        ("hall", None, (), False),
        ("synchrotron", MACHINE, (), False),
    ]
    for code, asset_id, asset_ids, expected in several:
        assert await covers(supply(code=code, asset_id=asset_id), *asset_ids) is expected


async def test_only_an_available_supply_covers():
    lost = (SupplyMarkedAvailable, SupplyMarkedUnavailable)
    several: list[tuple[SupplyStatus, tuple[type[SupplyMoved], ...]]] = [
        (SupplyStatus.UNKNOWN, ()),
        (SupplyStatus.DEGRADED, (SupplyMarkedAvailable, SupplyDegraded)),
        (SupplyStatus.UNAVAILABLE, lost),
        (SupplyStatus.RECOVERING, (*lost, SupplyMarkedRecovering)),
    ]
    for status, moves in several:
        (seen,) = (await found(supply(moves=moves), STAGE)).uncovered["photon_beam"]
        assert (seen.supply.id, seen.status) == (BEAM, status)


async def test_a_deregistered_supply_is_as_good_as_none():
    gone = supply(moves=(SupplyMarkedAvailable, SupplyDeregistered))
    assert (await found(gone, STAGE)).found == {"photon_beam": ()}


async def test_one_available_supply_of_several_is_enough_and_the_others_are_shown():
    past = (
        *supply(BEAM, moves=()),
        *supply(OTHER_BEAM, code="synchrotron"),
        *supply(THIRD_BEAM, asset_id=HUTCH),
    )
    seen = await found(past, STAGE)
    assert {(each.supply.id, each.status) for each in seen.found["photon_beam"]} == {
        (BEAM, SupplyStatus.UNKNOWN),
        (OTHER_BEAM, SupplyStatus.AVAILABLE),
        (THIRD_BEAM, SupplyStatus.AVAILABLE),
    }
    assert seen.uncovered == {}


async def test_every_kind_is_judged_by_itself_and_every_uncovered_one_is_named():
    past = (*supply(BEAM), *supply(HELIUM, kind="cryogen", moves=(SupplyMarkedUnavailable,)))
    kinds = ("vacuum", "photon_beam", "cryogen", "vacuum")
    seen = await found(past, STAGE, kinds=kinds)
    assert list(seen.found) == ["cryogen", "photon_beam", "vacuum"]
    assert [each.supply.id for each in seen.uncovered["cryogen"]] == [HELIUM]
    assert list(seen.uncovered) == ["cryogen", "vacuum"]


async def test_a_kind_is_compared_exactly_and_work_that_needs_nothing_lacks_nothing():
    seen = await found(supply(kind="Photon_beam"), STAGE)
    assert seen.uncovered == {"photon_beam": ()}
    assert await found(supply(), STAGE, kinds=()) == Coverage({})


async def test_an_asset_of_the_scope_must_exist():
    with pytest.raises(AssetNotFoundError):
        await found(supply(), ABSENT)


class StaleList(Past):
    """A past whose lists have not followed: they find every supply, whatever became of it."""

    async def matching(
        self, query: UnnamedListing, to_show: bool = False, most: int = 10_000, newest: bool = False
    ) -> tuple[UUID, ...]:
        return (BEAM,)


async def test_what_the_list_finds_counts_only_as_its_stream_says():
    for past in (
        supply(moves=(SupplyMarkedAvailable, SupplyMarkedUnavailable)),
        supply(moves=(SupplyMarkedAvailable, SupplyDeregistered)),
        supply(kind="cryogen"),
        supply(code="peer"),
    ):
        stale = StaleList((*AROUND, *past))
        around = await with_all_above([STAGE], stale)
        assert (await coverage(["photon_beam"], around, stale)).uncovered
    fresh = StaleList((*AROUND, *supply()))
    around = await with_all_above([STAGE], fresh)
    assert not (await coverage(["photon_beam"], around, fresh)).uncovered


async def test_the_scope_is_the_assets_with_all_above_and_their_facilities_with_their_sites():
    past = Past(AROUND)
    for asset_ids, codes, widened in (
        ([STAGE], {"hall", "synchrotron"}, {STAGE, HUTCH, BEAMLINE}),
        ([MACHINE, CAMERA], {"hall", "synchrotron"}, {MACHINE, CAMERA, HUTCH, BEAMLINE}),
        ([PEER_LINE], {"peer"}, {PEER_LINE}),
        ([], {"synchrotron"}, set[UUID]()),
    ):
        scope = await scope_of(await with_all_above(asset_ids, past), past)
        assert scope == SupplyScope(frozenset(codes), frozenset(widened))


BEAMS = Supply(BEAM, "photon_beam", "Beam", "hall", None, SupplyStatus.AVAILABLE)


def test_the_place_alone_says_whether_a_registered_supply_serves():
    scope = SupplyScope(frozenset({"hall"}), frozenset({STAGE}))
    for status in SupplyStatus:
        registered = status is not SupplyStatus.DECOMMISSIONED
        assert scope.has(replace(BEAMS, status=status)) == registered
    assert not scope.has(replace(BEAMS, facility_code="peer"))
    assert scope.has(replace(BEAMS, containing_asset_id=STAGE))
    assert not scope.has(replace(BEAMS, containing_asset_id=HUTCH))
