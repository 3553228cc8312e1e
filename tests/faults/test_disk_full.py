"""The disk fills up under load; what was refused is absent, and the service goes on afterwards."""

import asyncio
import subprocess
import time
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any, NamedTuple

import psycopg
import pytest
from msgspec.structs import asdict

from beamkeep.adapters.postgres.connections import Connections
from beamkeep.adapters.postgres.event_store import PostgresEventStore
from beamkeep.adapters.postgres.migrate import migrate
from beamkeep.deployment.composition import Deployment
from beamkeep.deployment.service import compose
from beamkeep.kernel import Refusal
from beamkeep.runtime.store import (
    BEGINNING,
    Append,
    Position,
    StoreUnavailableError,
)
from beamkeep.testing.cluster import Cluster
from beamkeep.testing.seeds import dice, seed
from beamkeep.testing.waiting import until
from tests.faults.auditor import audit_history, differing_grants, differing_rows, read_log
from tests.faults.conftest import Report
from tests.faults.ground import Ground
from tests.faults.report import asked
from tests.faults.test_database_kill import until_shown, write_during
from tests.faults.workload import Attempt, Client, End, World
from tests.support.disk import USABLE, Disk, workshop

pytestmark = [
    pytest.mark.faults,
    pytest.mark.anyio,
    pytest.mark.skipif(not USABLE, reason="making and mounting file systems takes root"),
]

DATA, WAL = 112, 96
SETTINGS = {"max_wal_size": "48MB", "min_wal_size": "32MB", "shared_buffers": "32MB"}
TIMEOUTS = {"statement_timeout": "60000", "lock_timeout": "500"}
"""A statement that waits for a busy processor must not be taken for one without an outcome."""
TURNED_AWAY = StoreUnavailableError.__name__
ENOUGH = 40
"""Answers of one kind to wait for before the next thing happens."""


class BoastfulStore(PostgresEventStore):
    """Takes what the database refused for written."""

    async def append(self, append: Append) -> Position:
        try:
            return await super().append(append)
        except StoreUnavailableError:
            return BEGINNING


class Scene(NamedTuple):
    """A service on a database whose tables and whose write-ahead log have small disks."""

    ground: Ground
    deployment: Deployment
    client: Client
    world: World
    data: Disk
    wal: Disk
    before: int

    def count(self, end: End, refusal: str | None = None) -> int:
        """How many attempts ended so up to now."""
        return sum(a.end is end and a.refusal == refusal for a in self.client.history)

    async def is_ready(self) -> bool:
        """Return whether the service answers, or whether the database ended itself.

        PostgreSQL panics if a checkpoint falls into the time in which the disk is full.
        """
        return self.ground.cluster.ended() or await self.deployment.ready() is None

    async def restart(self) -> None:
        """Start the database again if it ended itself."""
        if self.ground.cluster.ended():
            await asyncio.to_thread(self.ground.cluster.resume)

    @property
    def panics(self) -> int:
        return self.ground.cluster.log.read_text().count("PANIC:")

    async def more(self, end: End, refusal: str | None = None, times: int = ENOUGH) -> float:
        """Wait until so many more attempts have ended so, and say when the first did."""
        known = len(self.client.history)

        def found() -> float | None:
            ends = [
                a.at for a in self.client.history[known:] if (a.end, a.refusal) == (end, refusal)
            ]
            return ends[0] if len(ends) >= times else None

        return await until(found, f"{times} attempts end as {end}, {refusal}")


async def test_a_full_disk_refuses_what_it_cannot_write_and_loses_nothing(report: Report):
    fills = asked("FILLS", 3)
    recovered: list[float] = []
    async with scene() as here:

        async def nemesis() -> None:
            for number in range(fills):
                await asyncio.sleep(dice(seed(), "fill", number).uniform(0.2, 1.0))
                await asyncio.to_thread(here.data.fill)
                await here.more(End.REFUSED, TURNED_AWAY)
                await until(here.is_ready, "the service is ready although it cannot write")
                here.data.empty()
                await here.restart()
                emptied = time.monotonic()
                recovered.append(await here.more(End.ACKNOWLEDGED) - emptied)

        figures = await run(here, nemesis)
        panics = here.panics
    report("T9 data", {"fills": fills, "panics": panics, **timed(recovered), **figures})
    assert figures["turned_away"] >= fills * ENOUGH
    assert figures["unknown"] == 0 or panics > 0
    assert_nothing_wrong(here, figures)


async def test_a_full_write_ahead_log_costs_a_restart_of_the_database_alone(report: Report):
    recovered: list[float] = []
    async with scene() as here:
        cluster = here.ground.cluster

        async def nemesis() -> None:
            await asyncio.sleep(dice(seed(), "fill").uniform(0.2, 1.0))
            await asyncio.to_thread(here.wal.fill)
            await asyncio.to_thread(use_up, cluster)
            await until(cluster.ended, "the database ended itself")
            await here.more(End.REFUSED, TURNED_AWAY, 6)
            here.wal.empty()
            await here.restart()
            back = time.monotonic()
            recovered.append(await here.more(End.ACKNOWLEDGED) - back)

        figures = await run(here, nemesis)
        panics = here.panics
    report("T9 WAL", {"panics": panics, **timed(recovered), **figures})
    assert panics > 0
    assert_nothing_wrong(here, figures)


async def test_a_full_disk_shows_a_store_that_takes_the_refused_for_written(report: Report):
    async with scene(BoastfulStore) as here:

        async def nemesis() -> None:
            await asyncio.to_thread(here.data.fill)
            known = here.count(End.ACKNOWLEDGED)

            def is_enough() -> bool:
                enough = here.count(End.ACKNOWLEDGED) - known >= 10 * ENOUGH
                return enough or here.ground.cluster.ended()

            await until(is_enough, "many attempts are acknowledged, or the database ends itself")
            here.data.empty()
            await here.restart()

        figures = await run(here, nemesis)
        figures["panics"] = here.panics
    report("T9 a boastful store", figures)
    assert figures["lost"] > 0


@asynccontextmanager
async def scene(
    storage: Callable[[Connections, str], PostgresEventStore] = PostgresEventStore,
) -> AsyncGenerator[Scene]:
    """A furnished service whose lists are kept."""
    with workshop() as folder:
        for name in ("data", "wal"):
            (folder / name).mkdir()
        with (
            Disk.made(folder / "data", DATA) as data,
            Disk.made(folder / "wal", WAL) as wal,
            Cluster.start(data.path, **SETTINGS) as cluster,
        ):
            move_wal(cluster, wal)
            cluster.create_database("beamkeep")
            ground = Ground(cluster)
            await migrate(ground.admin_url)
            deployment = ground.deployment()
            await deployment.service()
            connections = Connections(ground.app_url, 16, **TIMEOUTS)
            store = storage(connections, ground.app_url)
            client, world = Client(compose(store, deployment.lists, b"k" * 32)), World()
            before = len(await read_log(ground.admin_url))
            await world.furnish(client)
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(deployment.supervisor.run([deployment.projector()]))
                try:
                    yield Scene(ground, deployment, client, world, data, wal, before)
                finally:
                    deployment.supervisor.stop()
            await connections.close()
            await deployment.close()


async def run(here: Scene, nemesis: Callable[[], Awaitable[None]]) -> dict[str, Any]:
    """Write while the disk is full and is not, and compare what was said with what is there."""
    url = here.ground.admin_url
    await write_during(nemesis, here.ground, here.client, here.world)
    log = await read_log(url)
    await until_shown(here.deployment, log[-1].position)
    audit = audit_history(log, here.client.history, here.before)
    unknown = [attempt for attempt in here.client.history if attempt.end is End.UNKNOWN]
    return {
        "turned_away": here.count(End.REFUSED, TURNED_AWAY),
        "statuses": dict(sorted(statuses(here.client.history).items())),
        "unknown_as": Counter(a.refusal or "raw" for a in unknown),
        **asdict(audit),
        "rows_differing": await differing_rows(url, log),
        "grants_differing": await differing_grants(url, log),
    }


def statuses(history: Sequence[Attempt]) -> Counter[int]:
    """The status of every answer that is none of success."""
    known = {kind.__name__: kind.status for kind in kinds(Refusal)}
    return Counter(known[a.refusal] for a in history if a.refusal in known)


def kinds(of: type[Refusal]) -> list[type[Refusal]]:
    """Every way to refuse."""
    return [of, *(each for kind in of.__subclasses__() for each in kinds(kind))]


def assert_nothing_wrong(here: Scene, figures: dict[str, Any]) -> None:
    """Every refused command is absent, every acknowledged one present, and all of it in order."""
    leaked = Counter(a.refusal for a in here.client.history if a.end is End.LEAKED)
    assert not leaked
    assert StoreUnavailableError.status == 503
    assert figures["acknowledged"] > ENOUGH
    # A rule may have said no; whatever else was not written is the store's fault, and said to be.
    assert figures["statuses"].keys() <= {409, 503}
    wrong = ("lost", "doubled", "torn", "misnumbered", "written_though_refused", "unaccounted")
    lists = ("holes", "rows_differing", "grants_differing")
    assert {name: figures[name] for name in (*wrong, *lists) if figures[name]} == {}


def timed(recovered: list[float]) -> dict[str, float]:
    """How long after room came back the first command succeeded."""
    return {"recovery_max_seconds": round(max(recovered), 3)}


def move_wal(cluster: Cluster, disk: Disk) -> None:
    """Give the write-ahead log a disk of its own."""
    cluster.shut_down()
    was, is_now = cluster.data / "pg_wal", disk.path / "pg_wal"
    subprocess.run(["mv", str(was), str(is_now)], check=True)
    was.symlink_to(is_now)
    cluster.resume()


def use_up(cluster: Cluster) -> None:
    """Use what is left of the write-ahead log, until the server goes down over it."""
    with suppress(psycopg.OperationalError):
        while True:
            with psycopg.connect(cluster.url(), autocommit=True) as connection:
                connection.execute("SELECT pg_switch_wal()")
