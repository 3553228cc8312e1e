"""Workers and an outside logbook are killed; the logbook has every entry once."""

import asyncio
import os
from collections import Counter
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from itertools import cycle
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import asyncpg
import httpx2
import pytest

from beamkeep.contexts.decision.logbook import LOGBOOK, mirror_work_id
from beamkeep.contexts.run.logbook import RUN_LOGBOOK
from beamkeep.testing.calling import Rest
from beamkeep.testing.cluster import Cluster
from beamkeep.testing.forking import Forked
from beamkeep.testing.seeds import dice, seed
from beamkeep.testing.server import LocalDeployment, Server, deployment, free_port, serving
from beamkeep.testing.waiting import until
from tests.faults.conftest import Report
from tests.faults.report import ROOT, rounds
from tests.support.examples.decision import a_decision
from tests.support.examples.run import a_completed_run
from tests.support.olog import LOGBOOK as OLOG_LOGBOOK
from tests.support.olog import PASSWORD, USER, id_of, read_entries
from tests.system.calling import As, callers

pytestmark = [pytest.mark.faults, pytest.mark.anyio]

QUICKLY = {
    "project_in_serve": "false",
    "conduct_lease_seconds": "4",
    "conduct_renew_seconds": "0.5",
    "conduct_self_fence_seconds": "2",
    "logbook_mirror_logbook": OLOG_LOGBOOK,
    "logbook_mirror_user": USER,
    "logbook_mirror_password": PASSWORD,
}
VICTIMS = ("worker", "logbook", "both")
BATCH, DEADLINE = 12, 60.0


class KilledProcess:
    """A process that is killed and started again."""

    def __init__(self, arguments: Sequence[str], environment: dict[str, str], log: Path) -> None:
        self._arguments, self._environment, self._log = arguments, environment, log
        self.start()

    def start(self) -> None:
        with self._log.open("ab") as lines:
            self._process = Forked(
                self._arguments, cwd=ROOT, env=self._environment, stdout=lines, stderr=lines
            )

    def kill(self) -> None:
        self._process.kill()
        self._process.wait(DEADLINE)


class MirrorGround:
    """A service, one worker, and an Olog with a file of its own."""

    def __init__(self, made: LocalDeployment, file: Path, port: int, module: str) -> None:
        self.file = file
        log, olog = made.folder / "workers.log", ("tests.support.olog", str(port), str(file))
        self.logbook = KilledProcess(olog, {**os.environ}, log)
        self.worker = KilledProcess((module, "work"), made.environment(), log)

    @property
    def entries(self) -> list[dict[str, Any]]:
        return [*read_entries(self.file)]

    def strike(self, victim: str) -> None:
        """Kill one of the two, or both, and start it again."""
        struck = {"worker": [self.worker], "logbook": [self.logbook]}
        processes = struck.get(victim, [self.logbook, self.worker])
        for process in processes:
            process.kill()
        for process in processes:
            process.start()


@contextmanager
def ground(made: LocalDeployment, file: Path, port: int, module: str) -> Generator[MirrorGround]:
    on = MirrorGround(made, file, port, module)
    try:
        yield on
    finally:
        on.worker.kill()
        on.logbook.kill()


async def harass(on: MirrorGround, server: Server, faults: Iterable[int]) -> dict[str, int]:
    """Write entries while worker and logbook are killed; return what the logbook has."""
    random, written, kills = dice(seed(), "mirror"), set[UUID](), Counter[str]()
    async with httpx2.AsyncClient(base_url=server.url, timeout=60) as http:
        admin = As(Rest(http), server.admin)

        async def has_lists() -> bool:
            return (await admin.send("list_zones", {})).ok

        await until(has_lists, "the worker has made the lists")
        admin.others = await callers(server, admin)
        run_id, decision_id = await a_completed_run(admin), await a_decision(admin)

        async def write(number: int) -> None:
            entry_id = uuid4()
            told = {"text": f"Entry {number}", "entry_id": str(entry_id)}
            name, subject = "append_decision_logbook_entry", {"decision_id": decision_id}
            table = LOGBOOK.name
            if number % 2:
                name, subject = "append_run_logbook_entry", {"run_id": run_id}
                table = RUN_LOGBOOK.name

            async def is_stored() -> bool:
                # A busy machine may answer 503; the id makes the repetition harmless.
                return (await admin.send(name, {**subject, **told})).ok

            await until(is_stored, "the entry is stored")
            written.add(mirror_work_id(entry_id, table))

        for _, victim in zip(faults, cycle(VICTIMS), strict=False):
            goal = len(on.entries) + random.randrange(1, BATCH)
            writing = asyncio.gather(*(write(number) for number in range(BATCH)))
            await until(lambda goal=goal: len(on.entries) >= goal, "entries are copied")
            on.strike(victim)
            kills[victim] += 1
            await writing
        ids = {str(id) for id in written}
        await until(lambda: {id_of(each) for each in on.entries} >= ids, "every entry is copied")
        connection = await asyncpg.connect(server.database.url())
        try:

            async def recorded() -> dict[str, str] | None:
                rows = await connection.fetch("SELECT work_id, outside_id FROM bk.logbook_mirror")
                found = {str(work_id): number for work_id, number in rows}
                return found if len(found) >= len(written) else None

            numbers = await until(recorded, "every copy is recorded")
        finally:
            await connection.close()
    return audit(on.entries, ids, numbers) | {f"kills_{name}": n for name, n in kills.items()}


def audit(
    entries: Sequence[dict[str, Any]], written: set[str], numbers: dict[str, str]
) -> dict[str, int]:
    """Return how many entries were lost, doubled, or recorded under a wrong number."""
    copied, ids = Counter(map(id_of, entries)), {str(each["id"]): id_of(each) for each in entries}
    return {
        "written": len(written),
        "copied": len(copied),
        "lost": len(written - copied.keys()),
        "doubled": sum(times - 1 for times in copied.values()),
        "misnumbered": sum(ids.get(number) != id for id, number in numbers.items()),
    }


async def harassed(cluster: Cluster, file: Path, module: str, name: str, usual: int) -> Any:
    port = free_port()
    settings = {**QUICKLY, "logbook_mirror_url": f"http://127.0.0.1:{port}/Olog"}
    with (
        deployment(cluster, True, **settings) as made,
        serving(made) as server,
        ground(made, file, port, module) as on,
    ):
        return await harass(on, server, rounds(name, usual, 3, 40))


async def test_every_entry_is_copied_once_though_worker_and_logbook_are_killed(
    report: Report, cluster: Cluster, tmp_path: Path
):
    file = tmp_path / "olog.jsonl"
    figures = await harassed(cluster, file, "beamkeep", "MIRROR_KILLS", 6)
    report("logbook mirror", figures)
    assert figures["lost"] == figures["doubled"] == figures["misnumbered"] == 0
    assert figures["copied"] == figures["written"]


async def test_a_worker_that_does_not_look_first_is_found_out(
    report: Report, cluster: Cluster, tmp_path: Path
):
    module = "tests.faults.careless_mirror_worker"
    figures = await harassed(cluster, tmp_path / "olog.jsonl", module, "CARELESS_MIRROR_KILLS", 3)
    report("logbook mirror without looking first", figures)
    assert figures["doubled"] > 0


def entry(number: int, id: str) -> dict[str, Any]:
    pairs = [{"name": "id", "value": id}]
    return {"id": number, "properties": [{"name": "beamkeep", "attributes": pairs}]}


def test_the_audit_finds_what_is_lost_doubled_or_misnumbered():
    sound = [entry(1, "a"), entry(2, "b")]
    assert {*audit(sound, {"a", "b"}, {"a": "1", "b": "2"}).values()} == {2, 0}
    assert audit(sound[:1], {"a", "b"}, {"a": "1"})["lost"] == 1
    assert audit([*sound, entry(3, "a")], {"a", "b"}, {"a": "1", "b": "2"})["doubled"] == 1
    assert audit(sound, {"a", "b"}, {"a": "2", "b": "2"})["misnumbered"] == 1
