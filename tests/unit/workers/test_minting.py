"""Minting: one DOI however often it is asked for, and a dead letter for what will not pass."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any
from uuid import UUID, uuid4

import pytest
from tests.support.datacite import ACCOUNT, PASSWORD, Registry, metadata_faults
from tests.support.examples.data import a_production_dataset
from tests.support.examples.edition import a_published_edition, mint_dataset_external_id
from tests.support.receiving import answer

from beamkeep.adapters.memory.store import MemoryStore
from beamkeep.adapters.memory.work import MemoryWorkQueue
from beamkeep.contexts.data.external_id import MINTING
from beamkeep.kernel import CLAIMS, replace
from beamkeep.parts.publishing.datacite import DataciteAccount, DataciteMinter
from beamkeep.parts.publishing.minting import Minter
from beamkeep.runtime import Service
from beamkeep.telemetry import Telemetry
from beamkeep.testing.service import AdminClient, memory_service
from beamkeep.testing.waiting import until
from beamkeep.workers.leases import LeaseHolder, LeaseTimes

pytestmark = pytest.mark.anyio


class MintingBench:
    """A service in memory, a registry, and workers that are started and stopped."""

    def __init__(self, service: Service, store: MemoryStore, registry: Registry) -> None:
        self.do, self.registry = AdminClient(service, store), registry
        self._service, self._store = service, store

    @asynccontextmanager
    async def worker(self, timeout: float = 5.0) -> AsyncGenerator[None]:
        account = DataciteAccount(self.registry.url, ACCOUNT, PASSWORD)
        minter = Minter(
            self._service,
            self._store,
            MemoryWorkQueue(self._store),
            registry=DataciteMinter(account, timeout),
            clock=self._store.clock,
            delays=(0.01,),
        )
        holder = LeaseHolder(
            queue=MemoryWorkQueue(self._store),
            owner=uuid4(),
            walk=minter.walk,
            times=LeaseTimes(),
            telemetry=Telemetry(),
            kind=MINTING,
        )

        async def work() -> None:
            while True:
                await holder.turn()
                await asyncio.sleep(0.005)

        working = asyncio.create_task(work())
        try:
            yield
        finally:
            working.cancel()
            await asyncio.wait([working])
            await holder.close()
            # As if the time of the leases had passed.
            for key, row in self._store.tables["work"].items():
                self._store.tables["work"][key] = replace(row, due_at=self._store.clock())

    async def dataset(self) -> tuple[str, str]:
        """A dataset whose DOI is pending, and the DOI."""
        arguments = await mint_dataset_external_id(self.do)
        made = await self.do("mint_dataset_external_id", arguments)
        return arguments["dataset_id"], made["external_id"]

    async def edition(self) -> tuple[str, str]:
        """A published edition whose DOI is pending, and the DOI."""
        id = await a_published_edition(self.do)
        made = await self.do("mint_edition_external_id", {"edition_id": id})
        return id, made["external_id"]

    async def reaches(self, noun: str, id: str, state: str | None) -> dict[str, Any]:
        async def found() -> dict[str, Any] | None:
            told = await self.do(f"get_{noun}", {f"{noun}_id": id})
            return told if told["external_id_state"] == state else None

        return await until(found, f"the identifier is {state}")

    async def work(self, id: str) -> Any:
        (row,) = [
            row
            for row in self._store.tables["work"].values()
            if row.kind == MINTING and row.subject_id == UUID(id)
        ]
        return row

    async def ended(self, id: str) -> None:
        async def is_over() -> bool:
            return (await self.work(id)).ended_at is not None

        await until(is_over, "the work has ended")

    async def claimed(self) -> int:
        return len(await self._store.rows(CLAIMS, {"scope": "external-id"}))


@pytest.fixture
async def bench() -> AsyncGenerator[MintingBench]:
    registry = Registry()
    await registry.serve()
    service, store = await memory_service()
    yield MintingBench(service, store, registry)
    await registry.close()


async def test_the_doi_of_a_dataset_is_registered_with_its_metadata(bench: MintingBench):
    id, doi = await bench.dataset()
    pending = await bench.do("get_dataset", {"dataset_id": id})
    assert (pending["external_id"], pending["external_id_state"]) == (None, "Pending")
    async with bench.worker():
        told = await bench.reaches("dataset", id, "Findable")
        await bench.ended(id)
    assert (told["external_id"], bench.registry.dois) == (doi, {doi: "findable"})
    sent = bench.registry.metadata[doi]
    assert sent["doi"] == doi
    assert sent["url"] == f"https://lab.test/pages/datasets/{id}"
    assert sent["creators"][0]["name"] == "Grace"
    exported = await bench.do("export_dataset_datacite", {"dataset_id": id})
    assert (exported, metadata_faults(exported)) == (sent, [])


async def test_an_answer_that_is_lost_is_asked_for_again_and_makes_one_doi(bench: MintingBench):
    id, doi = await bench.edition()
    bench.registry.loses = 3
    async with bench.worker():
        await bench.reaches("edition", id, "Findable")
    puts = [got for got in bench.registry.receiver.got if got.path == f"/dois/{doi}"]
    assert (len(puts), bench.registry.created) == (4, 1)
    history = await bench.do("get_edition_history", {"edition_id": id})
    types = [each["event_type"] for each in history["items"]]
    assert types.count("EditionExternalIdAssigned") == 1


async def test_a_registry_that_is_busy_broken_or_slow_is_asked_again(bench: MintingBench):
    id, _ = await bench.edition()
    bench.registry.spoiled = [answer(503), answer(429), None, answer(401), answer(500)]
    bench.registry.stalls = 1
    async with bench.worker(timeout=0.2):
        await bench.reaches("edition", id, "Findable")
    assert len(bench.registry.receiver.got) == 7
    assert bench.registry.created == 1


async def test_a_worker_that_ends_before_the_answer_leaves_it_to_the_next(bench: MintingBench):
    id, doi = await bench.dataset()
    bench.registry.spoiled = [answer(503)] * 1000
    async with bench.worker():
        await until(lambda: len(bench.registry.receiver.got) > 1, "the registry was asked")
    assert (await bench.reaches("dataset", id, "Pending"))["external_id"] is None
    bench.registry.spoiled = []
    async with bench.worker():
        await bench.reaches("dataset", id, "Findable")
    assert bench.registry.dois == {doi: "findable"}


async def test_a_refusal_that_will_not_pass_is_a_dead_letter_until_it_is_asked_again(
    bench: MintingBench,
):
    id, doi = await bench.dataset()
    bench.registry.spoiled = [answer(422, "Title is missing.")]
    async with bench.worker():
        await bench.reaches("dataset", id, None)

        async def is_left() -> bool:
            return (await bench.work(id)).idle_claims >= 5

        await until(is_left, "the work is left to people")
    row = await bench.work(id)
    assert (row.ended_at, row.last_error) == (None, "Title is missing.")
    history = await bench.do("get_dataset_history", {"dataset_id": id})
    assert history["items"][-1]["payload"]["status"] == 422
    assert await bench.claimed() == 0
    again = await mint_dataset_external_id(bench.do)
    answered = await bench.do("mint_dataset_external_id", {**again, "dataset_id": id})
    assert answered["external_id"] == doi
    async with bench.worker():
        await bench.reaches("dataset", id, "Findable")
        await bench.ended(id)


async def test_a_doi_assigned_by_hand_ends_the_dead_letter(bench: MintingBench):
    id, _ = await bench.dataset()
    bench.registry.spoiled = [answer(400)]
    async with bench.worker():
        await bench.reaches("dataset", id, None)
    assigned = {"dataset_id": id, "external_id": "10.1234/by-hand"}
    await bench.do("assign_dataset_external_id", assigned)
    assert (await bench.work(id)).ended_at is not None


async def test_the_doi_of_a_withdrawn_edition_is_hidden(bench: MintingBench):
    id, doi = await bench.edition()
    async with bench.worker():
        await bench.reaches("edition", id, "Findable")
        await bench.ended(id)
        await bench.do("withdraw_edition", {"edition_id": id, "reason": "Wrong sample"})
        bench.registry.loses = 1
        await bench.do("hide_edition_external_id", {"edition_id": id, "reason": "Wrong sample"})
        await bench.ended(id)
    assert bench.registry.dois == {doi: "registered"}


async def test_what_cannot_be_hidden_is_a_dead_letter(bench: MintingBench):
    id, doi = await bench.edition()
    async with bench.worker():
        await bench.reaches("edition", id, "Findable")
        await bench.ended(id)
        await bench.do("withdraw_edition", {"edition_id": id, "reason": "Wrong sample"})
        bench.registry.dois[doi] = "draft"
        await bench.do("hide_edition_external_id", {"edition_id": id, "reason": "Wrong sample"})

        async def is_left() -> bool:
            return (await bench.work(id)).idle_claims >= 5

        await until(is_left, "the work is left to people")
    told = await bench.do("get_edition", {"edition_id": id})
    assert told["external_id_state"] == "Hidden"


async def test_one_doi_names_one_object(bench: MintingBench):
    first, second = [await a_production_dataset(bench.do) for _ in range(2)]
    taken = {"external_id": "10.1234/one"}
    await bench.do("assign_dataset_external_id", {"dataset_id": first, **taken})
    with pytest.raises(Exception, match="without an external identifier"):
        await bench.do("assign_dataset_external_id", {"dataset_id": second, **taken})
    edition_id = await a_published_edition(bench.do)
    with pytest.raises(Exception, match="without an external identifier"):
        await bench.do("assign_edition_external_id", {"edition_id": edition_id, **taken})
