"""How datasets are kept: lists, sums and reports, on each of the two stores there are."""

import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Any, NamedTuple
from uuid import uuid4

import pytest
from tests.support.examples.data import SIZE, check_of, new_dataset
from tests.support.examples.federation import OWN_SITE

from beamkeep.contexts.data.custody_reads import InvalidCustodyReportError
from beamkeep.contexts.supply.supply import SupplyNotFoundError
from beamkeep.parts.custody.postgres import PostgresCustody
from beamkeep.parts.custody.watching import CustodyWatch
from beamkeep.runtime import Service
from beamkeep.runtime.store import EventStore
from beamkeep.testing.database import Database
from beamkeep.testing.postgres import postgres_service
from beamkeep.testing.service import AdminClient, call, enrol, memory_service

pytestmark = pytest.mark.anyio


async def nothing() -> float:
    return 0.5


class Custody(NamedTuple):
    """A service with datasets, and what judges them anew."""

    service: Service
    store: EventStore
    turn: Callable[[], Awaitable[float]] = nothing

    @property
    def do(self) -> AdminClient:
        return AdminClient(self.service, self.store)

    async def ask(self, name: str, subject: str | None = None, **arguments: Any) -> Any:
        while not await self.turn():
            pass
        return json.loads((await call(self.service, name, arguments, subject)).body)

    async def listed(self, subject: str | None = None, **filters: Any) -> list[str]:
        """The ids of the datasets that a list shows."""
        found = await self.ask("list_custody", subject, **filters)
        return [item["dataset_id"] for item in found["items"]]

    async def storage(self, name: str) -> str:
        storage = {"kind": "storage", "name": f"{name} {uuid4()}", "facility_code": OWN_SITE}
        return (await self.do("register_supply", storage))["supply_id"]

    async def copy(
        self, dataset_id: str, supply_id: str, folder: str = "data", checked: bool = True
    ) -> str:
        dataset = await self.do("get_dataset", {"dataset_id": dataset_id})
        made = await self.do(
            "register_distribution",
            {
                "dataset_id": dataset_id,
                "supply_id": supply_id,
                "uri": f"file:///{folder}/{uuid4()}.h5",
                "checksum": dataset["checksum"],
                "byte_size": SIZE,
                "access_protocol": "POSIX",
            },
        )
        if checked:
            check = await check_of(self.do, made["distribution_id"])
            await self.do("record_attestation", check)
        return made["distribution_id"]

    async def dataset(self, *supply_ids: str) -> str:
        """A dataset with a verified copy on each of these storages."""
        dataset_id = (await self.do("register_dataset", new_dataset()))["dataset_id"]
        for supply_id in supply_ids:
            await self.copy(dataset_id, supply_id)
        return dataset_id

    async def discard(self, distribution_id: str) -> None:
        spare = {"distribution_id": distribution_id, "reason": "Spare"}
        await self.do("discard_distribution", spare)


@pytest.fixture
async def custody(place: Database | None) -> AsyncGenerator[Custody]:
    if place is None:
        yield Custody(*await memory_service())
        return
    connections = place.connections()
    async with postgres_service(place) as deployed:
        index, sessions = PostgresCustody(connections), deployed.service.sessions
        watch = CustodyWatch(deployed.tail, index, sessions)
        yield Custody(deployed.service, deployed.store, watch.turn)
    await connections.close()


async def test_a_dataset_is_listed_by_how_well_it_is_preserved(custody: Custody):
    nvme, tape = await custody.storage("nvme"), await custody.storage("tape")
    lost, met = await custody.dataset(), await custody.dataset(nvme)
    spare, below = await custody.dataset(nvme, tape), await custody.dataset()
    await custody.copy(below, tape, checked=False)
    for verdict, id in (("Lost", lost), ("Below", below), ("Met", met), ("Spare", spare)):
        assert await custody.listed(verdict=verdict) == [id]
    assert await custody.listed() == sorted([lost, met, spare, below])
    assert await custody.listed(supply_id=nvme) == sorted([met, spare])
    assert await custody.listed(supply_id=tape) == sorted([spare, below])
    assert await custody.listed(sole_supply_id=nvme) == [met]
    assert await custody.listed(dataset_id=lost) == [lost]
    assert await custody.listed(intent="Production") == []
    await custody.do("promote_dataset", {"dataset_id": met, "reason": "Seen"})
    assert await custody.listed(intent="Production") == [met]
    await custody.do("discard_dataset", {"dataset_id": met, "reason": "Seen"})
    assert met not in await custody.listed()


async def test_a_list_shows_what_is_missing_and_which_copies_may_go(custody: Custody):
    nvme, tape = await custody.storage("nvme"), await custody.storage("tape")
    id = await custody.dataset()
    first = await custody.copy(id, nvme)
    (row,) = (await custody.ask("list_custody", dataset_id=id))["items"]
    assert (row["verdict"], row["verified_count"], row["short"]) == ("Met", 1, {})
    assert row["discardable_distribution_ids"] == []
    assert (row["discardable"], row["kept_by"]) == (True, None)
    (shown,) = row["copies"]
    assert shown["distribution_id"] == first
    assert shown["supply_name"].startswith("nvme")
    assert shown["counts"] is True
    second = await custody.copy(id, tape)
    (row,) = (await custody.ask("list_custody", dataset_id=id))["items"]
    assert row["discardable_distribution_ids"] == sorted([first, second])
    stale = {"distribution_id": first, "reason": "Overwritten"}
    await custody.do("mark_distribution_stale", stale)
    await custody.do("mark_supply_unavailable", {"supply_id": tape, "reason": "Down"})
    until = {"dataset_id": id, "retain_until": "2999-01-31", "reason": "Policy"}
    await custody.do("update_dataset_retention", until)
    (row,) = (await custody.ask("list_custody", dataset_id=id))["items"]
    assert (row["verdict"], row["verified_count"]) == ("Below", 0)
    assert row["short"] == {"verified_copies": 1, "distinct_supplies": 1}
    assert (row["discardable"], row["kept_by"]) == (False, "Retention")
    # By the last event of the dataset, the storage is up.
    assert await custody.listed(verdict="Spare") == [id]


async def test_pages_of_datasets_follow_each_other(custody: Custody):
    nvme = await custody.storage("nvme")
    ids = sorted([await custody.dataset(nvme) for _ in range(5)])
    found: list[str] = []
    cursor: dict[str, str] = {}
    for _ in range(3):
        page = await custody.ask("list_custody", supply_id=nvme, limit=2, **cursor)
        found += [item["dataset_id"] for item in page["items"]]
        cursor = {"cursor": page["next_cursor"]}
    assert found == ids
    assert cursor == {"cursor": None}


def totals(summary: Any) -> dict[tuple[str, str], tuple[int, int]]:
    """The number and the bytes of copies, by storage and status."""
    return {
        (each["supply_id"], each["status"]): (each["copies"], each["bytes"])
        for each in summary["copies"]
    }


async def test_sums_follow_every_copy_until_its_bytes_are_deleted(custody: Custody):
    nvme, tape = await custody.storage("nvme"), await custody.storage("tape")
    id = await custody.dataset(tape)
    first = await custody.copy(id, nvme)
    summary = await custody.ask("get_custody_summary")
    assert totals(summary) == {(nvme, "Verified"): (1, SIZE), (tape, "Verified"): (1, SIZE)}
    assert summary["datasets"] == [{"verdict": "Spare", "datasets": 1, "bytes": SIZE}]
    assert summary["discardable_bytes"] == SIZE
    await custody.discard(first)
    summary = await custody.ask("get_custody_summary")
    assert totals(summary) == {(nvme, "Discarded"): (1, SIZE), (tape, "Verified"): (1, SIZE)}
    assert summary["datasets"] == [{"verdict": "Met", "datasets": 1, "bytes": SIZE}]
    assert summary["discardable_bytes"] == 0
    assert totals(await custody.ask("get_custody_summary", supply_id=nvme)) == {
        (nvme, "Discarded"): (1, SIZE)
    }
    await custody.do("record_distribution_removal", {"distribution_id": first})
    assert totals(await custody.ask("get_custody_summary")) == {(tape, "Verified"): (1, SIZE)}
    with pytest.raises(SupplyNotFoundError):
        await custody.ask("get_custody_summary", supply_id=str(uuid4()))


async def test_a_report_says_of_every_copy_whether_it_may_be_deleted_and_why(custody: Custody):
    nvme, tape = await custody.storage("nvme"), await custody.storage("tape")
    only, safe = await custody.dataset(nvme), await custody.dataset(tape)
    spare = await custody.copy(safe, nvme)
    gone = await custody.copy(await custody.dataset(tape), nvme)
    await custody.discard(gone)
    # Of two copies on one storage and none elsewhere, one stays.
    twice = await custody.dataset(nvme, nvme)
    report = await custody.ask("get_custody_report", supply_id=nvme)
    lines = {line["distribution_id"]: line for line in report["items"]}
    assert len(lines) == 5
    assert (lines[spare]["verdict"], lines[gone]["verdict"]) == ("Deletable", "Discarded")
    assert lines[spare]["why"] == "Without it the rule of Trial data is met."
    (last,) = [each for each in lines.values() if each["dataset_id"] == only]
    assert (last["verdict"], last["why"]) == ("Needed", "It is the only copy.")
    both = sorted(each["verdict"] for each in lines.values() if each["dataset_id"] == twice)
    assert both == ["Deletable", "Needed"]
    assert report["judged_at"] < report["valid_until"]


async def test_a_report_of_a_folder_shows_the_copies_below_it_by_address(custody: Custody):
    nvme = await custody.storage("nvme")
    id = await custody.dataset()
    ids = [await custody.copy(id, nvme, folder) for folder in ("day-1", "day-1/a", "day-2")]
    first = await custody.ask("get_custody_report", uri_prefix="file:///day-1", limit=1)
    rest = await custody.ask(
        "get_custody_report", uri_prefix="file:///day-1", after=first["next_cursor"]
    )
    found = [*first["items"], *rest["items"]]
    assert {line["distribution_id"] for line in found} == {*ids[:2]}
    assert [line["uri"] for line in found] == sorted(line["uri"] for line in found)
    assert rest["next_cursor"] is None
    # The copy in another folder stays, so both of these may go.
    assert {line["verdict"] for line in found} == {"Deletable"}
    everywhere = await custody.ask("get_custody_report", uri_prefix="file:///")
    verdicts = sorted(line["verdict"] for line in everywhere["items"])
    assert verdicts == ["Deletable", "Deletable", "Needed"]


async def test_a_report_is_of_a_storage_or_of_an_address(custody: Custody):
    with pytest.raises(InvalidCustodyReportError):
        await custody.ask("get_custody_report")
    for after in ("nowhere", f"{uuid4()}", f"{uuid4()}.x"):
        with pytest.raises(InvalidCustodyReportError, match="not the cursor of a page"):
            await custody.ask("get_custody_report", uri_prefix="file:///", after=after)
    with pytest.raises(SupplyNotFoundError):
        await custody.ask("get_custody_report", supply_id=str(uuid4()))


async def test_a_caller_who_sees_only_its_own_is_shown_no_others_datasets(custody: Custody):
    reads = ("list_custody", "get_custody_summary", "get_custody_report", "register_dataset")
    await enrol(custody.service, "otto", *reads, scope="Own")
    nvme = await custody.storage("nvme")
    theirs = await custody.dataset(nvme)
    made = await call(custody.service, "register_dataset", new_dataset(), "otto")
    mine = str(made.id)
    await custody.copy(mine, nvme)
    assert await custody.listed() == sorted([theirs, mine])
    assert await custody.listed("otto") == [mine]
    assert await custody.listed("otto", dataset_id=theirs) == []
    own = await custody.ask("get_custody_summary", "otto")
    assert totals(own) == {(nvme, "Verified"): (1, SIZE)}
    for asked in ({"uri_prefix": "file:///"}, {"supply_id": nvme}):
        report = await custody.ask("get_custody_report", "otto", **asked)
        assert {line["dataset_id"] for line in report["items"]} == {mine}
