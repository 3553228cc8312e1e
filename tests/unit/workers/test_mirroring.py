"""Mirroring: every logbook entry is copied once, however the outside logbook behaves."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest
from structlog.testing import capture_logs
from tests.support.examples import decision, run
from tests.support.olog import LOGBOOK, PASSWORD, USER, Olog, body_of, id_of
from tests.support.receiving import answer

from beamkeep.adapters.memory.store import MemoryStore
from beamkeep.adapters.memory.work import MemoryWorkQueue
from beamkeep.contexts.decision.logbook import MIRRORED, MIRRORING, MirroredEntry
from beamkeep.kernel import replace
from beamkeep.parts.logbook.mirroring import Mirrorer
from beamkeep.parts.logbook.olog import OlogAccount, OlogMirror
from beamkeep.runtime import Service
from beamkeep.telemetry import Telemetry
from beamkeep.testing.installation import FACTS
from beamkeep.testing.service import AdminClient, memory_service
from beamkeep.testing.waiting import until
from beamkeep.workers.leases import LeaseHolder, LeaseTimes

pytestmark = pytest.mark.anyio


class MirrorBench:
    """A service in memory, an Olog, and workers that are started and stopped."""

    def __init__(self, service: Service, store: MemoryStore, olog: Olog) -> None:
        self.do, self.olog, self.store = AdminClient(service, store), olog, store
        self._service = service

    @asynccontextmanager
    async def worker(self, timeout: float = 5.0) -> AsyncGenerator[None]:
        account = OlogAccount(self.olog.url, LOGBOOK, user=USER, password=PASSWORD)
        mirrorer = Mirrorer(
            self._service,
            self.store,
            MemoryWorkQueue(self.store),
            mirror=OlogMirror(account, timeout),
            clock=self.store.clock,
            delays=(0.01,),
        )
        holder = LeaseHolder(
            queue=MemoryWorkQueue(self.store),
            owner=uuid4(),
            walk=mirrorer.walk,
            times=LeaseTimes(slots=1),
            telemetry=Telemetry(),
            kind=MIRRORING,
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
            self.pass_time()

    def pass_time(self) -> None:
        """Let every lease and every pause be over."""
        for key, row in self.store.tables["work"].items():
            self.store.tables["work"][key] = replace(row, due_at=self.store.clock())

    async def run(self) -> str:
        return (await run.append_logbook_entry(self.do))["run_id"]

    async def note(self, run_id: str, text: str) -> UUID:
        made = await self.do("append_run_logbook_entry", {"run_id": run_id, "text": text})
        return UUID(made["entry_id"])

    async def mirrored(self, count: int) -> list[MirroredEntry]:
        async def found() -> list[MirroredEntry] | None:
            rows = await self.store.rows(MIRRORED, {})
            return [*rows] if len(rows) >= count else None

        return await until(found, f"{count} mirrored")

    @property
    def texts(self) -> list[str]:
        return [each["description"] for each in self.olog.entries]

    @property
    def puts(self) -> int:
        return sum(got.method == "PUT" for got in self.olog.receiver.got)

    @property
    def searches(self) -> int:
        return sum("search" in got.path for got in self.olog.receiver.got)

    def work(self) -> list[Any]:
        rows = self.store.tables["work"].values()
        return [row for row in rows if row.kind == MIRRORING]


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncGenerator[MirrorBench]:
    olog = Olog(tmp_path / "olog.jsonl")
    await olog.serve()
    service, store = await memory_service(replace(FACTS, mirrors_logbooks=True))
    yield MirrorBench(service, store, olog)
    await olog.close()


async def test_entries_of_a_run_are_copied_in_order_below_the_first(bench: MirrorBench):
    run_id = await bench.run()
    ids = [await bench.note(run_id, f"Note {number}") for number in range(3)]
    async with bench.worker():
        rows = await bench.mirrored(3)
    assert bench.texts == ["Note 0", "Note 1", "Note 2"]
    assert [each["inReplyTo"] for each in bench.olog.entries] == [None, "1", "1"]
    assert sorted((row.entry_id, row.outside_id) for row in rows) == sorted(
        zip(ids, ("1", "2", "3"), strict=True)
    )
    assert {row.subject_id for row in rows} == {UUID(run_id)}
    assert all(row.ended_at for row in bench.work())
    # The outcome of a first attempt is known, so nothing was looked for.
    assert bench.searches == 0


async def test_an_entry_of_a_decision_is_copied(bench: MirrorBench):
    arguments = await decision.append_logbook_entry(bench.do)
    await bench.do("append_decision_logbook_entry", arguments)
    async with bench.worker():
        (row,) = await bench.mirrored(1)
    assert str(row.subject_id) == arguments["decision_id"]
    (entry,) = bench.olog.entries
    assert entry["title"].startswith("Decision ")
    assert entry["description"] == r"We waited for the next fill\."
    assert id_of(entry) == str(row.work_id)


async def test_two_logbooks_may_have_entries_of_one_id(bench: MirrorBench):
    arguments = await decision.append_logbook_entry(bench.do)
    await bench.do("append_decision_logbook_entry", arguments)
    shared = {"run_id": await bench.run(), "text": "Of the run", "entry_id": arguments["entry_id"]}
    await bench.do("append_run_logbook_entry", shared)
    async with bench.worker():
        await bench.mirrored(2)
    assert sorted(bench.texts) == ["Of the run", r"We waited for the next fill\."]


async def test_an_entry_that_is_sent_again_is_copied_once(bench: MirrorBench):
    arguments = await decision.append_logbook_entry(bench.do)
    for _ in range(2):
        await bench.do("append_decision_logbook_entry", arguments)
    assert len(bench.work()) == 1


async def test_without_a_mirror_no_work_is_written():
    service, store = await memory_service()
    do = AdminClient(service, store)
    await do("append_decision_logbook_entry", await decision.append_logbook_entry(do))
    assert "work" not in store.tables


async def test_nobody_is_named_to_the_outside(bench: MirrorBench):
    await bench.note(await bench.run(), "Dark frames")
    async with bench.worker():
        await bench.mirrored(1)
    (author,) = {row.author_id for row in bench.store.tables["run_logbook_entry"].values()}
    assert str(author) not in str(bench.olog.entries)
    assert "Ada" not in str(bench.olog.entries)


async def test_an_answer_that_is_lost_makes_no_second_entry(bench: MirrorBench):
    await bench.note(await bench.run(), "Dark frames")
    bench.olog.loses = 1
    async with bench.worker():
        (row,) = await bench.mirrored(1)
    assert (bench.texts, row.outside_id) == (["Dark frames"], "1")
    assert (bench.puts, bench.searches) == (1, 1)


async def test_an_olog_that_is_away_gets_everything_later_in_order(bench: MirrorBench):
    run_id, port = await bench.run(), bench.olog.receiver.port
    await bench.olog.close()
    async with bench.worker():
        for number in range(3):
            await bench.note(run_id, f"Note {number}")
        await until(lambda: bench.work()[0].claim, "the worker has tried")
        await bench.olog.serve(port)
        await bench.mirrored(3)
    assert bench.texts == ["Note 0", "Note 1", "Note 2"]


async def test_an_olog_that_is_busy_broken_or_slow_is_asked_again(bench: MirrorBench):
    await bench.note(await bench.run(), "Dark frames")
    bench.olog.spoiled = [answer(503), answer(429), None, answer(401), answer(500)]
    bench.olog.stalls = 1
    async with bench.worker(timeout=0.3):
        await bench.mirrored(1)
    assert bench.texts == ["Dark frames"]


async def test_a_worker_that_ends_before_the_answer_leaves_it_to_the_next(bench: MirrorBench):
    await bench.note(await bench.run(), "Dark frames")
    bench.olog.loses = 1
    bench.olog.spoiled = []
    async with bench.worker():
        await until(lambda: bench.texts, "the entry is stored")
        # The answer is lost; whoever goes on must find the entry.
        bench.olog.spoiled = [answer(503)] * 1000
        await until(lambda: len(bench.olog.receiver.got) > 1, "the worker asks again")
    bench.olog.spoiled = []
    async with bench.worker():
        await bench.mirrored(1)
    assert bench.texts == ["Dark frames"]


async def test_an_entry_that_olog_cannot_store_lets_others_pass(bench: MirrorBench):
    run_id = await bench.run()
    await bench.note(run_id, "Poison")
    await bench.note(run_id, "Harmless")
    bench.olog.spoiled = [answer(500)] * 3
    async with bench.worker():
        await bench.mirrored(1)
        assert bench.texts == ["Harmless"]
        bench.pass_time()
        await bench.mirrored(2)
    assert bench.texts == ["Harmless", "Poison"]


def refusals(count: int) -> list[bytes | None]:
    """Refused puts; between two of them the entry is looked for."""
    refused, nothing = answer(422, "a secret name is not allowed"), body_of({"logs": []})
    return [*[refused, nothing] * (count - 1), refused]


async def test_a_refused_entry_is_tried_again_a_day_later(bench: MirrorBench):
    run_id = await bench.run()
    await bench.note(run_id, "Refused: a secret name")
    bench.olog.spoiled = refusals(3)
    with capture_logs() as lines:
        async with bench.worker():
            await until(lambda: bench.work()[0].last_error, "the refusal is stored")
            (row,) = bench.work()
            assert (row.last_error, row.ended_at, row.idle_claims) == ("Status 422", None, 0)
            assert row.due_at > bench.store.clock()
            await bench.note(run_id, "Another")
            await bench.mirrored(1)
            bench.pass_time()
            await bench.mirrored(2)
    assert len(bench.texts) == 2
    assert [line["log_level"] for line in lines] == [*["warning"] * 3, "error"]
    assert "secret" not in str(lines)


async def test_a_missing_logbook_holds_back_every_entry_until_it_exists(bench: MirrorBench):
    run_id = await bench.run()
    for number in range(3):
        await bench.note(run_id, f"Note {number}")
    bench.olog.logbooks = []
    async with bench.worker():
        await until(lambda: bench.puts > 2, "the worker tries again")
        assert [row.claim for row in bench.work()] == [1, 0, 0]
        bench.olog.logbooks = [LOGBOOK]
        await bench.mirrored(3)
    assert bench.texts == ["Note 0", "Note 1", "Note 2"]
