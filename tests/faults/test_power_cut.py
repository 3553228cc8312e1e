"""The power fails at random moments under load; what was acknowledged is on the disk."""

import asyncio
import subprocess
import time
from collections import Counter
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import asyncpg
import pytest
from msgspec.structs import asdict

from beamkeep.adapters.postgres.fence import faults
from beamkeep.adapters.postgres.migrate import migrate
from beamkeep.contexts.catalogue import CATALOGUE
from beamkeep.kernel import replace
from beamkeep.parts.witness.keys import SignedTree, signing_key
from beamkeep.parts.witness.signing import WitnessRefusedError
from beamkeep.parts.witness.trees.leaves import Tree
from beamkeep.parts.witness.trees.notes import read_note
from beamkeep.parts.witness.trees.tree import EMPTY_ROOT
from beamkeep.testing.cluster import Cluster, ClusterError
from beamkeep.testing.database import Database
from beamkeep.testing.seeds import dice, seed
from beamkeep.testing.witness import follow
from beamkeep.workers.projector import Projector
from tests.faults.auditor import audit_history, differing_grants, differing_rows, read_log
from tests.faults.conftest import Report
from tests.faults.ground import Ground, connected
from tests.faults.report import rounds
from tests.faults.test_witness import Life, alarmed, living, log_of, proving
from tests.faults.witness_worker import SOUND
from tests.faults.workload import CODEC, Attempt, Client, End, World, Writer
from tests.postgres.witness.conftest import WRITE_EVENT
from tests.support.disk import IMAGE, USABLE, Disk, workshop

pytestmark = [
    pytest.mark.faults,
    pytest.mark.anyio,
    pytest.mark.skipif(not USABLE, reason="making and mounting file systems takes root"),
]

WRITERS, FEW = 6, 4
MEDIUM, DISK = 1536, 1280
WITNESS = "witness"
SETTINGS = {
    # Checkpoints, and with them writes to the tables, happen during the test.
    "max_wal_size": "64MB",
    "min_wal_size": "32MB",
    "checkpoint_timeout": "30s",
    "recovery_init_sync_method": "syncfs",
}
WRONG = ("lost", "doubled", "torn", "misnumbered", "written_though_refused", "unaccounted", "holes")


class Cut(NamedTuple):
    """The disk as a failure of the power left it, and what the world had been told by then."""

    image: Path
    attempts: int
    notes: Sequence[str]
    seconds: float


class Scene:
    """A service and its witnesses, with all they keep on a disk whose power can fail."""

    def __init__(self, ground: Ground, client: Client, medium: Disk, life: Life) -> None:
        self.ground, self.client, self._medium, self.life = ground, client, medium, life
        self._world, self.before = World(), 0

    async def furnish(self) -> None:
        """Make what the first commands need."""
        self.before = len(await read_log(self.ground.admin_url))
        await self._world.furnish(self.client)

    def settle(self) -> None:
        """See to it that what is there so far is on the disk, and on its medium."""
        for path in (self.ground.cluster.home, self._medium.path):
            subprocess.run(["sync", "--file-system", str(path)], check=True)

    async def cut(self, seed: int, number: int, to: Path) -> Cut:
        """Write for a while, and have the power fail in the middle of it."""
        stop, when = asyncio.Event(), dice(seed, "cut", number)
        async with asyncio.TaskGroup() as writing:
            for each in range(number * WRITERS, (number + 1) * WRITERS):
                own = dice(seed, "writer", each)
                writer = Writer(each, self.client, self._world, own, self.ground.app_url)
                writing.create_task(writer.run(stop))
            await asyncio.sleep(when.uniform(0.2, 1.0))
            cut = await self._copy(to)
            stop.set()
        return cut

    async def _copy(self, to: Path) -> Cut:
        began = time.monotonic()
        try:
            await asyncio.to_thread(self.ground.cluster.pause)
            await asyncio.to_thread(self.life.pause)
            await asyncio.to_thread(self._medium.copy, to)
            # Answers still on their way were sent before the power failed, and count.
            attempts, notes = len(self.client.history), self.life.notes()
            return Cut(to, attempts, notes, time.monotonic() - began)
        finally:
            self.life.look_anew()
            self.life.go_on()
            self.ground.cluster.unpause()


async def test_nothing_acknowledged_is_lost_when_the_power_fails(report: Report):
    wrong: Counter[str] = Counter()
    stopped: list[float] = []
    checked = signed = 0
    async with scene() as (here, folder):
        for number in rounds("CUTS", 20, 8, 90):
            cut = await here.cut(seed(), number, folder / "cut")
            stopped.append(cut.seconds)
            history = known_at(cut, here.client.history)
            checked += sum(a.end is End.ACKNOWLEDGED for a in history)
            signed += len(cut.notes)
            wrong.update(await after_reboot(here, cut, history))
        wrong["false_alarms"] += here.life.ended()
    report(
        "T2",
        {
            "cuts": len(stopped),
            "attempts": len(here.client.history),
            "acknowledged_and_checked": checked,
            "signatures": signed,
            **wrong,
            "stopped_median_seconds": round(median(stopped), 2),
        },
    )
    assert min(checked, signed) > len(stopped)
    assert not [a.refusal for a in here.client.history if a.end is End.LEAKED]
    assert not any(wrong.values()), wrong


@pytest.mark.parametrize("name", ["fsync", "synchronous_commit"])
async def test_a_power_cut_shows_what_is_acknowledged_before_it_is_safe(report: Report, name: str):
    async with scene() as (here, folder):
        async with connected(here.ground.admin_url) as connection:
            await connection.execute(f"ALTER SYSTEM SET {name} = off")
            await connection.execute("SELECT pg_reload_conf()")
        refused = await faults(here.ground.app_url)
        figures = await losses(here, folder)
    report(f"T2 {name} off", figures)
    assert max(figures["lost_at_each"]) > 0
    if name == "synchronous_commit":
        # Of what was signed some is gone, and the witness does not sign what is left.
        assert figures["refused_at_each"] == figures["gone_at_each"]
        assert max(figures["gone_at_each"]) > 0
    # The service would not have started so.
    assert any(name in fault for fault in refused)


async def test_a_power_cut_shows_a_disk_that_is_not_asked_to_flush(report: Report):
    async with scene("barrier=0") as (here, folder):
        figures = await losses(here, folder)
    report("T2 no flush", figures)
    assert max(figures["lost_at_each"]) > 0


async def losses(here: Scene, folder: Path) -> dict[str, Any]:
    """Cut the power a few times, and count what was acknowledged and is not there."""
    acknowledged, lost, dead = list[int](), list[int](), 0
    signed: list[Counter[str]] = []
    for number in range(FEW):
        cut = await here.cut(seed(), number, folder / "cut")
        history = known_at(cut, here.client.history)
        acknowledged.append(sum(a.end is End.ACKNOWLEDGED for a in history))
        try:
            async with rebooted(here, cut) as ground:
                log = await read_log(ground.admin_url)
                signed.append(await witnessed(ground, cut))
        except (ClusterError, OSError, asyncpg.PostgresError, asyncpg.InterfaceError):
            dead += 1
            lost.append(acknowledged[-1])
        else:
            lost.append(audit_history(log, history, here.before).lost)
    return {
        "cuts": FEW,
        "acknowledged_at_each": acknowledged,
        "lost_at_each": lost,
        "gone_at_each": [each["gone"] for each in signed],
        "refused_at_each": [each["refused"] for each in signed],
        "did_not_start_again": dead,
    }


@asynccontextmanager
async def scene(*options: str) -> AsyncGenerator[tuple[Scene, Path]]:
    """A furnished service whose lists are kept, on a disk with a cache of its own."""
    with (
        workshop() as folder,
        Disk.made(folder, MEDIUM) as medium,
        Disk.made(medium.path, DISK, *options) as disk,
        Cluster.start(disk.path, **SETTINGS) as cluster,
    ):
        cluster.create_database("beamkeep")
        ground = Ground(cluster)
        await migrate(ground.admin_url)
        deployment = ground.deployment()
        client = Client(await deployment.service())
        (disk.path / WITNESS).mkdir()
        with living(Database(cluster, "beamkeep"), disk.path / WITNESS, SOUND) as life:
            here = Scene(ground, client, medium, life)
            await here.furnish()
            here.settle()
            life.start()
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(deployment.supervisor.run([deployment.projector()]))
                try:
                    yield here, folder
                finally:
                    deployment.supervisor.stop()
        await deployment.close()


@asynccontextmanager
async def rebooted(here: Scene, cut: Cut) -> AsyncGenerator[Ground]:
    """A database that runs on what the power cut left."""
    with Disk.found(cut.image) as medium, Disk.found(medium.path / IMAGE) as disk:
        home = disk.path / here.ground.cluster.home.name
        with await asyncio.to_thread(Cluster.found, home) as cluster:
            yield Ground(cluster)


def known_at(cut: Cut, history: Sequence[Attempt]) -> list[Attempt]:
    """The history as it stood at the cut: what ended later was undecided."""
    later = [replace(a, end=End.UNKNOWN, answered=None) for a in history[cut.attempts :]]
    return [*history[: cut.attempts], *later]


async def after_reboot(here: Scene, cut: Cut, history: Sequence[Attempt]) -> Counter[str]:
    """Everything that is wrong with the database the power cut left, by kind."""
    async with rebooted(here, cut) as ground:
        log = await read_log(ground.admin_url)
        audit = asdict(audit_history(log, history, here.before))
        wrong = Counter({name: audit[name] for name in WRONG})
        wrong["grants_differing"] = await differing_grants(ground.admin_url, log)
        deployment = ground.deployment()
        await deployment.service()
        tail, projections = deployment.tail, deployment.projections
        projector = Projector(CATALOGUE.views, CODEC, tail, projections=projections)
        await projector.catch_up(deployment.shards)
        await deployment.close()
        wrong["rows_differing"] = await differing_rows(ground.admin_url, log)
        wrong["events_changed_since"] = (await read_log(ground.admin_url)) != log
        wrong.update(await witnessed(ground, cut))
        wrong["damaged"] = bool(await asyncio.to_thread(ground.cluster.damage))
        await asyncio.to_thread(ground.cluster.shut_down)
        wrong["torn_pages"] = bool(await asyncio.to_thread(ground.cluster.torn_pages))
    return wrong


async def witnessed(ground: Ground, cut: Cut) -> Counter[str]:
    """Have the witness go on after a power cut, and count what is wrong with what it signs."""
    database = Database(ground.cluster, "beamkeep")
    key = signing_key(ground.cluster.home.parent / WITNESS / "key")
    checkpoints = [read_note(note).checkpoint for note in cut.notes]
    last, log = key.memory.last(Tree.EVENTS) or SignedTree(1, 0, EMPTY_ROOT), log_of(database)
    wrong = Counter(
        forgotten=sum(each.size > last.size for each in checkpoints),
        gone=int(log.root(1, last.size) != last.root),
        differing=sum(log.root(1, each.size) != each.root for each in checkpoints),
    )
    async with proving(database) as store:
        try:
            for _ in range(2):
                await follow(store, key)
                database.ask(WRITE_EVENT, 3)
        except WitnessRefusedError:
            wrong["refused"] = 1
    wrong["false_alarms"] = await alarmed(database, key.signer.key().text)
    return wrong
