"""Lists are built anew while they are read and written; no reader notices."""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from random import Random
from statistics import median
from typing import Any, NamedTuple, Self
from uuid import uuid4

import msgspec
import pytest

from beamkeep.contexts.access.profile import DEVELOPER
from beamkeep.contexts.catalogue import CATALOGUE
from beamkeep.deployment.composition import Deployment
from beamkeep.kernel import Question, Refusal, SurfaceKind
from beamkeep.runtime import Service
from beamkeep.runtime.admission import Caller, Request
from beamkeep.runtime.store import StoreUnavailableError
from beamkeep.testing.seeds import dice, seed
from tests.faults.auditor import audit_history, differing_rows, read_log
from tests.faults.backlog import LOADED_BY, are_shown, last_position, load_backlog
from tests.faults.conftest import Report
from tests.faults.ground import Ground, connected, fresh_ground
from tests.faults.report import asked
from tests.faults.workers import Worker
from tests.faults.workload import Client, World
from tests.support.verdicts import time_counts

pytestmark = [pytest.mark.faults, pytest.mark.anyio]

WRITERS, WRITES_PER_SECOND = 4, 200
READERS, READ_EVERY = 2, 0.01
SWITCHED_WITHIN, LAG_AT_MOST = 0.2, 1.0
GIVEN_UP_AFTER = 2.0
AROUND_THE_SWITCH, LINGERING = 1.0, 4.0
# Writers register visits of another type, so what these show stays as it is.
UNCHANGING = ("staff", "calibration")

# The generations that are read, and of those being built, how many have yet to come up to them.
LIVE = "SELECT name, generation FROM bk.projections WHERE live"
LEAST_LIVE = "SELECT min(generation) FROM bk.projections WHERE live"
BEHIND = """
SELECT count(*) FROM bk.bookmarks b
  JOIN bk.bookmarks r ON r.projection = b.projection AND r.shard = b.shard
  JOIN bk.projections p ON p.name = r.projection AND p.generation = r.generation AND p.live
 WHERE b.generation > r.generation AND (b.tx, b.pos) <> (r.tx, r.pos)
"""


class Setting(NamedTuple):
    """Where lists are built anew."""

    ground: Ground
    deployment: Deployment
    worker: Worker
    patience: float

    async def until(self, found: Callable[[], Awaitable[bool]], what: str) -> float:
        """Wait for a condition while the worker lives, and say when it came true."""
        deadline = time.monotonic() + self.patience
        while not await found():
            self.worker.require_alive()
            assert time.monotonic() < deadline, f"in vain: {what}"
            await asyncio.sleep(0.05)
        return time.monotonic()


class Switch(NamedTuple):
    """When a list was switched: between these moments."""

    since: float
    until: float


type Rebuild = Callable[[Setting], Awaitable[Switch]]


async def test_readers_do_not_notice_that_lists_are_rebuilt(report: Report, tmp_path: Path):
    times = asked("REBUILDS", 2)
    ways = [*[beside] * (times - 1), beside_under_a_lingering_reader]
    figures = await read_during(ways, asked("REBUILD_EVENTS", 20_000), tmp_path)
    report("T13", figures)
    assert figures["reads_differing"] == 0
    # A statement that takes two seconds is given up, whatever keeps it.
    assert figures["reads_failed"] == {} or figures["slowest_get"] >= GIVEN_UP_AFTER
    assert figures["generation"] == 1 + times
    assert figures["rows_differing"] == figures["lost"] == figures["unaccounted"] == 0
    if time_counts():
        # Where the machine itself stalls, reads that have nothing to do with lists are slow too.
        allowed = max(SWITCHED_WITHIN, figures["slowest_get"])
        assert max(figures["slowest_read_at_switch"]) <= allowed
        assert figures["lag_at_the_end"] <= LAG_AT_MOST


async def test_the_rebuild_test_catches_a_list_that_is_emptied_and_filled_again(
    report: Report, tmp_path: Path
):
    figures = await read_during([in_place], 5_000, tmp_path)
    report("T13 in place", figures)
    assert figures["reads_differing"] > 0
    assert figures["rows_differing"] == 0


async def test_a_list_that_is_locked_says_that_it_cannot_answer():
    async with fresh_ground() as ground:
        deployment = ground.deployment()
        service = await deployment.service()
        async with connected(ground.admin_url) as connection, connection.transaction():
            await connection.execute("LOCK TABLE proj.visit IN ACCESS EXCLUSIVE MODE")
            with pytest.raises(StoreUnavailableError):
                await list_visits(service, "user", None)
        await deployment.close()


async def read_during(ways: Iterable[Rebuild], events: int, logs: Path) -> dict[str, Any]:
    """Build the lists anew in these ways, under readers and writers, and what they saw."""
    async with fresh_ground() as ground:
        deployment = ground.deployment()
        service = await deployment.service()
        client, world = Client(service), World()
        before = len(await read_log(ground.admin_url))
        await world.furnish(client)
        await load_backlog(ground.admin_url, events)
        async with a_worker(ground, "worker", logs) as worker:
            setting = Setting(ground, deployment, worker, 120 + events / 2000)
            await until_level(setting)
            readers = await Readers.leafed(service, dice(seed(), "readers"))
            stop = asyncio.Event()
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(readers.get(stop))
                for _ in range(READERS):
                    tasks.create_task(readers.list(stop))
                for number in range(WRITERS):
                    each = dice(seed(), "writer", number)
                    tasks.create_task(write_steadily(number, client, world, each, stop))
                lags = tasks.create_task(watch_lag(deployment, stop))
                writing, written = time.monotonic(), len(client.history)
                switches = [await way(setting) for way in ways]
                per_second = (len(client.history) - written) / (time.monotonic() - writing)
                lag = await usual_lag(deployment)
                stop.set()
            await until_level(setting)
            log = await read_log(ground.admin_url)
        rows = await differing_rows(ground.admin_url, log)
        async with connected(ground.admin_url) as connection:
            generation = await connection.fetchval(LEAST_LIVE)
        await deployment.close()
    own = [event for event in log if event.correlation_id != LOADED_BY]
    history = audit_history(own, client.history, before)
    at_switch = [readers.slowest_list(switch) for switch in switches]
    return {
        "events": len(log),
        "rebuilds": len(switches),
        "generation": generation,
        "commands_per_second": round(per_second, 1),
        "reads": len(readers.reads),
        "reads_differing": readers.differing,
        "reads_failed": dict(readers.failed),
        "slowest_read": round(max(read.seconds for read in readers.reads), 3),
        "slowest_read_at_switch": [round(each, 3) for each in at_switch],
        "slowest_get": round(readers.slowest_get, 3),
        "longest_lag": round(max(lags.result()), 2),
        "lag_at_the_end": round(lag, 3),
        "rows_differing": rows,
        "lost": history.lost,
        "unaccounted": history.unaccounted,
    }


class Read(NamedTuple):
    """When a read ended, and how long it took."""

    ended: float
    seconds: float


class Readers:
    """Ask for pages whose rows do not change, and compare each answer with the first one."""

    def __init__(
        self, service: Service, pages: Mapping[tuple[str, str | None], bytes], dice: Random
    ) -> None:
        self._service, self._pages, self._dice = service, pages, dice
        self.reads: list[Read] = []
        self.slowest_get = 0.0
        self.differing = 0
        self.failed: Counter[str] = Counter()

    @classmethod
    async def leafed(cls, service: Service, dice: Random) -> Self:
        """Readers who know every page of the lists that do not change."""
        pages: dict[tuple[str, str | None], bytes] = {}
        for kind in UNCHANGING:
            cursor: str | None = None
            while (kind, cursor) not in pages:
                body = pages[kind, cursor] = await list_visits(service, kind, cursor)
                cursor = msgspec.json.decode(body)["next_cursor"]
        return cls(service, pages, dice)

    async def list(self, stop: asyncio.Event) -> None:
        """Read one page after another until told to stop."""
        known = [*self._pages]
        while not stop.is_set():
            page, began = self._dice.choice(known), time.monotonic()
            try:
                self.differing += await list_visits(self._service, *page) != self._pages[page]
            except Exception as error:
                self.failed[type(error).__name__] += 1
            ended = time.monotonic()
            self.reads.append(Read(ended, ended - began))
            await asyncio.sleep(READ_EVERY)

    async def get(self, stop: asyncio.Event) -> None:
        """Read what no list has to do with; its pauses count, so that no stall is missed."""
        body: dict[str, Any] = msgspec.json.decode(next(iter(self._pages.values())))
        about = {"visit_id": body["items"][0]["visit_id"]}
        ended = time.monotonic()
        while not stop.is_set():
            began = ended
            with suppress(Refusal):
                await ask(self._service, "get_visit", about)
            await asyncio.sleep(READ_EVERY)
            ended = time.monotonic()
            self.slowest_get = max(self.slowest_get, ended - began)

    def slowest_list(self, switch: Switch) -> float:
        """How long the slowest read of a list took that was under way at a switch."""
        return max(
            seconds
            for ended, seconds in self.reads
            if ended > switch.since and ended - seconds < switch.until
        )


async def list_visits(service: Service, kind: str, cursor: str | None) -> bytes:
    """A page of the visits of one type."""
    return await ask(
        service, "list_visits", {"type": kind} | ({"cursor": cursor} if cursor else {})
    )


async def ask(service: Service, name: str, arguments: Mapping[str, Any]) -> bytes:
    """The answer to a question."""
    question = CATALOGUE.named[name]
    assert isinstance(question, Question)
    caller = Caller(uuid4(), principal_id=DEVELOPER, transport=SurfaceKind.HTTP)
    return (await service.queries.ask(question, Request(caller, arguments))).body


async def write_steadily(
    number: int, client: Client, world: World, dice: Random, stop: asyncio.Event
) -> None:
    """Give commands at an even pace, or as fast as they are answered if that is slower."""
    count, next_at = 0, time.monotonic()
    while not stop.is_set():
        count += 1
        step = world.choose(dice)
        attempt = await client.attempt(f"writer-{number}-{count}", step)
        if attempt.answered:
            world.learn(step, attempt.answered)
        next_at = max(next_at + WRITERS / WRITES_PER_SECOND, time.monotonic())
        await asyncio.sleep(next_at - time.monotonic())


async def beside(setting: Setting) -> Switch:
    """Build every list anew beside the one that is read."""
    return await until_switched(setting, await begin(setting))


async def beside_under_a_lingering_reader(setting: Setting) -> Switch:
    """Build beside, while somebody has read a list in a transaction that stays open."""
    url = setting.ground.cluster.url("beamkeep", "bk_reader")
    async with connected(url) as reader, reader.transaction():
        await reader.fetchval("SELECT count(*) FROM proj.visit")
        begun = await begin(setting)
        since = await until_level(setting)
        await asyncio.sleep(LINGERING)
    return Switch(since, (await until_switched(setting, begun)).until)


async def in_place(setting: Setting) -> Switch:
    """Empty every list where it stands, and let the worker fill it from the beginning."""
    since = time.monotonic()
    async with connected(setting.ground.admin_url) as connection, connection.transaction():
        for view in CATALOGUE.views:
            await connection.execute(f"DELETE FROM proj.{view.name}")
        await connection.execute("UPDATE bk.bookmarks SET tx = '0', pos = 0")
    return Switch(since, await until_level(setting))


async def begin(setting: Setting) -> dict[str, int]:
    """Begin a new generation of every list."""
    projections, shards = setting.deployment.projections, setting.deployment.shards
    return {view.name: await projections.rebuild(view, shards) for view in CATALOGUE.views}


async def until_switched(setting: Setting, begun: Mapping[str, int]) -> Switch:
    """Wait until the new generations are read, and say when the list that readers read was."""
    async with connected(setting.ground.admin_url) as connection:

        async def live() -> dict[str, int]:
            return {row["name"]: row["generation"] for row in await connection.fetch(LIVE)}

        async def of_visits() -> bool:
            return (await live())["visit"] == begun["visit"]

        async def of_all() -> bool:
            return await live() == begun

        at = await setting.until(of_visits, "the list of visits is switched")
        await setting.until(of_all, "all lists are switched")
    return Switch(at - AROUND_THE_SWITCH, at + AROUND_THE_SWITCH)


async def until_level(setting: Setting) -> float:
    """Wait until the lists show what there is now, and those being built are level with them."""
    last = await last_position(setting.ground.admin_url)
    async with connected(setting.ground.admin_url) as connection:

        async def level() -> bool:
            return await are_shown(connection, last) and not await connection.fetchval(BEHIND)

        return await setting.until(level, "the lists are level")


async def watch_lag(deployment: Deployment, stop: asyncio.Event) -> list[float]:
    """How far the lists were behind, time and again."""
    found = [0.0]
    while not stop.is_set():
        found.append(await longest_lag(deployment))
        await asyncio.sleep(0.2)
    return found


async def usual_lag(deployment: Deployment) -> float:
    """How far the lists are behind, most of the time."""
    found: list[float] = []
    for _ in range(11):
        found.append(await longest_lag(deployment))
        await asyncio.sleep(0.1)
    return median(found)


async def longest_lag(deployment: Deployment) -> float:
    """How many seconds the list is behind that is furthest behind."""
    return max((await deployment.projections.lag()).values())


@asynccontextmanager
async def a_worker(ground: Ground, name: str, logs: Path) -> AsyncGenerator[Worker]:
    """A worker process that is stopped afterwards."""
    worker = Worker(ground, name, logs)
    try:
        yield worker
    finally:
        worker.close()
