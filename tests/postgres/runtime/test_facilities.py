"""In which facility each object is, as the directory of each of the two stores knows it."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple
from uuid import UUID

import pytest
from tests.support.examples import EXAMPLES
from tests.support.examples.assets import a_registered_asset, an_asset_under
from tests.support.examples.caution import WORDING
from tests.support.examples.operation import ALIGNMENT
from tests.support.examples.run import started_run

from beamkeep.adapters.memory.directory import MemoryDirectory
from beamkeep.adapters.postgres.connections import Connections
from beamkeep.adapters.postgres.directory import COLUMNS
from beamkeep.adapters.postgres.projections import PostgresProjections
from beamkeep.adapters.postgres.tail import PostgresTail
from beamkeep.contexts.catalogue import CATALOGUE
from beamkeep.feed import log
from beamkeep.feed.directory.entries import Entry, facility_code_of
from beamkeep.feed.directory.seam import Directory
from beamkeep.feed.tail import PARTITIONS, WHOLE_LOG
from beamkeep.parts.wiring import IDLE
from beamkeep.runtime import Service
from beamkeep.runtime.codec import Codec
from beamkeep.runtime.store import EventStore
from beamkeep.testing.database import Database
from beamkeep.testing.installation import FACILITY_CODE
from beamkeep.testing.postgres import postgres_service
from beamkeep.testing.service import AdminClient, memory_service
from beamkeep.workers.projector import Projector

pytestmark = pytest.mark.anyio

CODEC = Codec(CATALOGUE.aggregates.values())
SHARDS = tuple(range(PARTITIONS))
UNIT = {"name": "Beamline", "tier": "Unit", "facility_code": FACILITY_CODE}


async def nothing() -> None: ...


class InStep(AdminClient):
    """The administrator, who calls when the lists are in step."""

    def __init__(self, hosted: "Hosted") -> None:
        super().__init__(hosted.service, hosted.store)
        self._catch_up = hosted.catch_up

    async def __call__(self, name: str, arguments: Mapping[str, Any], **options: Any) -> Any:
        await self._catch_up()
        return await super().__call__(name, arguments, **options)


class Hosted(NamedTuple):
    """A service, its store, its directory, and what brings the directory in step."""

    service: Service
    store: EventStore
    directory: Directory
    catch_up: Callable[[], Awaitable[object]] = nothing

    @property
    def do(self) -> InStep:
        return InStep(self)

    async def codes(self, *ids: str) -> list[str | None]:
        """The facilities of objects."""
        await self.catch_up()
        entries = await self.directory.entries([UUID(id) for id in ids])
        found = {str(entry.id): entry.facility_code for entry in entries}
        return [found[id] for id in ids]


@pytest.fixture
async def hosted(place: Database | None) -> AsyncGenerator[Hosted]:
    if place is None:
        service, store = await memory_service()
        yield Hosted(
            service, store, MemoryDirectory(store, CATALOGUE.views, CODEC, site=FACILITY_CODE)
        )
        return
    async with postgres_service(place) as deployed:
        catch_up = partial(deployed.projector.catch_up, [WHOLE_LOG])
        yield Hosted(deployed.service, deployed.store, deployed.directory, catch_up)


async def areas(hosted: Hosted, *codes: str) -> None:
    site = (await hosted.do("list_facilities", {}))["items"][0]["facility_id"]
    for code in codes:
        area = {"code": code, "name": code, "kind": "Area", "parent_id": site}
        await hosted.do("register_facility", area)


async def a_unit(hosted: Hosted, code: str) -> str:
    unit = {"name": f"Unit of {code}", "tier": "Unit", "facility_code": code}
    return await a_registered_asset(hosted.do, **unit)


async def a_procedure(hosted: Hosted, **more: Any) -> str:
    return (await hosted.do("register_procedure", {**ALIGNMENT, **more}))["procedure_id"]


async def a_caution(hosted: Hosted, kind: str, id: str) -> str:
    caution = {"target": {"kind": kind, "id": id}, **WORDING}
    return (await hosted.do("register_caution", caution))["caution_id"]


async def test_an_object_that_says_its_facility_is_there(hosted: Hosted):
    await areas(hosted, "north")
    enclosure = {"name": "Hutch", "facility_code": "north"}
    supply = {"name": "Beam", "kind": "PhotonBeam", "facility_code": "north"}
    ids = [
        (await hosted.do("register_enclosure", enclosure))["enclosure_id"],
        (await hosted.do("register_supply", supply))["supply_id"],
        await a_unit(hosted, "north"),
    ]
    assert await hosted.codes(*ids) == ["north"] * 3


async def test_an_asset_is_where_the_root_above_it_is_and_so_is_what_is_about_it(hosted: Hosted):
    await areas(hosted, "north")
    part = await an_asset_under(hosted.do, await a_unit(hosted, "north"))
    below = await an_asset_under(hosted.do, part)
    mount = (await hosted.do("register_mount", {"slot_code": "1"}))["mount_id"]
    assert await hosted.codes(mount) == [None]
    await hosted.do("install_asset", {"mount_id": mount, "asset_id": below})
    caution = await a_caution(hosted, "Asset", below)
    procedure = await a_procedure(hosted, target_asset_ids=[below])
    about_it = await a_caution(hosted, "Procedure", procedure)
    assert await hosted.codes(part, below, mount, caution, procedure, about_it) == ["north"] * 6


async def test_a_relocated_asset_takes_with_it_what_is_below_it_and_about_it(hosted: Hosted):
    await areas(hosted, "north", "south")
    north, south = await a_unit(hosted, "north"), await a_unit(hosted, "south")
    part = await an_asset_under(hosted.do, north)
    below = await an_asset_under(hosted.do, part)
    caution = await a_caution(
        hosted, "Procedure", await a_procedure(hosted, target_asset_ids=[below])
    )
    stays = await a_caution(hosted, "Asset", north)
    everything = north, part, below, caution, stays
    assert await hosted.codes(*everything) == ["north"] * 5
    move = {"asset_id": part, "to_parent_id": south, "reason": "A longer beam"}
    await hosted.do("relocate_asset", move)
    assert await hosted.codes(*everything) == ["north", "south", "south", "south", "north"]


async def test_a_run_and_its_procedure_are_where_its_assets_are(hosted: Hosted):
    run = await started_run(hosted.do)
    procedure = await a_procedure(hosted, parent_run_id=run)
    assert await hosted.codes(run, procedure) == [FACILITY_CODE] * 2


async def test_what_concerns_several_facilities_or_none_in_particular_is_in_the_own_site(
    hosted: Hosted,
):
    await areas(hosted, "north", "south")
    both = [await a_unit(hosted, "north"), await a_unit(hosted, "south")]
    ids = [await a_procedure(hosted, target_asset_ids=both), await a_procedure(hosted)]
    assert await hosted.codes(*ids) == [FACILITY_CODE] * 2


async def test_an_object_without_a_place_is_in_no_facility(hosted: Hosted):
    zone = (await hosted.do("define_zone", {"name": "Hall"}))["zone_id"]
    assert await hosted.codes(zone) == [None]


PLACED = {
    "Edition",
    *("Asset", "Calibration", "Caution", "Clearance", "Enclosure", "Facility", "Mount", "Plan"),
    *("Practice", "Procedure", "Run", "Supply", "Dataset"),
}
"""The kinds of objects that are in a facility; a surface does not say where it is."""


@pytest.mark.postgres
async def test_the_facility_of_every_example_follows_from_the_entries(unseeded: Database):
    async with postgres_service(unseeded) as deployed:
        catch_up = partial(deployed.projector.catch_up, [WHOLE_LOG])
        hosted = Hosted(deployed.service, deployed.store, deployed.directory, catch_up)
        for name, example in EXAMPLES.items():
            if name.startswith("get_"):
                await example(hosted.do)
        await catch_up()
    rows: list[Any] = unseeded.ask(f"SELECT {COLUMNS}, scope, within FROM bk.directory")
    entries = [Entry(*row) for row in rows]
    known = {entry.id: entry for entry in entries}
    assert [entry.facility_code for entry in entries] == [
        facility_code_of(entry, known, FACILITY_CODE) for entry in entries
    ]
    assert {entry.kind for entry in entries if entry.facility_code} == PLACED


# Events of a facility


async def events(hosted: Hosted, code: str, **more: Any) -> dict[str, Any]:
    """A page of the events of one facility."""
    return await AdminClient(hosted.service, hosted.store)(
        "list_events", {"facility_code": code, "stream_type": ["Asset"], **more}
    )


async def test_the_events_of_an_object_are_those_of_the_facility_in_which_it_is_now(hosted: Hosted):
    await areas(hosted, "north", "south")
    north, south = await a_unit(hosted, "north"), await a_unit(hosted, "south")
    part = await an_asset_under(hosted.do, north)
    await hosted.catch_up()
    found = await events(hosted, "north")
    assert [each["streamid"] for each in found["items"]] == [north, part]
    assert [each["subject"] for each in found["items"]] == ["Unit of north", "Stage"]
    move = {"asset_id": part, "to_parent_id": south, "reason": "A longer beam"}
    await hosted.do("relocate_asset", move)
    await hosted.catch_up()
    assert [each["streamid"] for each in (await events(hosted, "north"))["items"]] == [north]
    ids = [each["streamid"] for each in (await events(hosted, "south", order="newest"))["items"]]
    assert ids == [part, part, south]


@pytest.mark.postgres
@pytest.mark.parametrize("shards", [(WHOLE_LOG,), SHARDS], ids=["whole", "sharded"])
async def test_events_of_a_facility_end_where_the_lists_do(
    unseeded: Database, shards: Sequence[int]
):
    async with postgres_service(unseeded, shards) as deployed:
        hosted = Hosted(deployed.service, deployed.store, deployed.directory)
        first = await a_unit(hosted, FACILITY_CODE)
        assert (await deployed.event_log.followed()).waits
        nothing = await events(hosted, FACILITY_CODE)
        assert (nothing["items"], nothing["more"]) == ([], False)
        await deployed.projector.catch_up(shards)
        assert not (await deployed.event_log.followed()).waits
        page = await events(hosted, FACILITY_CODE, after=nothing["next_cursor"])
        assert [each["streamid"] for each in page["items"]] == [first]
        second = await a_unit(hosted, FACILITY_CODE)
        page = await events(hosted, FACILITY_CODE, after=page["next_cursor"])
        assert page["items"] == []
        await deployed.projector.catch_up(shards)
        page = await events(hosted, FACILITY_CODE, after=page["next_cursor"])
        assert [each["streamid"] for each in page["items"]] == [second]


async def test_the_events_of_a_facility_are_looked_for_in_parts(
    hosted: Hosted, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(log, "MOST_LOOKED_AT_FOR_OWNER", 2)
    await areas(hosted, "north")
    unit = await a_unit(hosted, "north")
    await hosted.catch_up()
    found, cursor, pages, more = list[str](), None, 0, True
    while more:
        page = await events(hosted, "north", **({"after": cursor} if cursor else {}))
        found += [each["streamid"] for each in page["items"]]
        cursor, more, pages = page["next_cursor"], page["more"], pages + 1
    assert found == [unit]
    assert pages > 5


# Several workers


async def project(shards: Sequence[int], database: Database) -> None:
    """Follow these shards as a worker of its own."""
    connections = Connections(database.url("bk_projector"), 2, **IDLE)
    projections = PostgresProjections(connections, FACILITY_CODE)
    tail = PostgresTail(connections)
    try:
        await Projector(CATALOGUE.views, CODEC, tail, projections=projections).catch_up(shards)
    finally:
        await connections.close()


@pytest.mark.postgres
async def test_facilities_are_found_in_whatever_order_the_shards_are_followed(unseeded: Database):
    async with postgres_service(unseeded, SHARDS) as deployed:
        do = AdminClient(deployed.service, deployed.store)
        every: list[str] = []
        for _ in range(6):
            top = await a_registered_asset(do, **UNIT)
            part = await an_asset_under(do, top)
            below = await an_asset_under(do, part)
            about = {**ALIGNMENT, "target_asset_ids": [below]}
            procedure = (await do("register_procedure", about))["procedure_id"]
            caution = {"target": {"kind": "Procedure", "id": procedure}, **WORDING}
            every += [top, part, below, procedure]
            every += [(await do("register_caution", caution))["caution_id"]]
        await asyncio.gather(*(project([shard], unseeded) for shard in reversed(SHARDS)))
        entries = await deployed.directory.entries([UUID(id) for id in every])
        assert len(entries) == len(every)
        assert {entry.facility_code for entry in entries} == {FACILITY_CODE}


@pytest.mark.postgres
async def test_only_a_page_with_objects_that_are_new_or_were_moved_finds_facilities(
    unseeded: Database,
):
    async with postgres_service(unseeded) as deployed:
        do, projector = AdminClient(deployed.service, deployed.store), deployed.projector
        asset = await a_registered_asset(do, **UNIT)
        await projector.catch_up([WHOLE_LOG])
        unseeded.ask("UPDATE bk.directory SET facility_code = 'x' RETURNING 1")
        await do("activate_asset", {"asset_id": asset})
        await projector.catch_up([WHOLE_LOG])
        (entry,) = await deployed.directory.entries([UUID(asset)])
        assert (entry.status, entry.facility_code) == ("Active", "x")
