"""The database is killed again and again under load; nothing acknowledged is lost or doubled."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from random import Random
from statistics import median

import pytest
from msgspec.structs import asdict

from beamkeep.adapters.postgres.connections import Connections
from beamkeep.contexts.catalogue import CATALOGUE
from beamkeep.deployment.composition import Deployment
from beamkeep.runtime.store import Position
from beamkeep.testing.seeds import dice, seed
from beamkeep.testing.waiting import until
from tests.faults.auditor import (
    audit_history,
    audit_tail,
    differing_grants,
    differing_rows,
    read_log,
)
from tests.faults.conftest import Report
from tests.faults.ground import Ground, fresh_ground
from tests.faults.report import rounds
from tests.faults.tail import CarelessConnections, Recorder
from tests.faults.workers import Worker
from tests.faults.workload import Attempt, Client, End, World, Writer

pytestmark = [pytest.mark.faults, pytest.mark.anyio]

WRITERS = 6


async def test_nothing_acknowledged_is_lost_when_the_database_is_killed(
    report: Report, tmp_path: Path
):
    resumed: list[float] = []
    async with fresh_ground() as ground:
        deployment = ground.deployment()
        client = Client(await deployment.service())
        world, before = World(), len(await read_log(ground.admin_url))
        await world.furnish(client)
        worker = Worker(ground, "worker", tmp_path)
        recorder = Recorder(Connections(ground.projector_url, 1))
        over = asyncio.Event()
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(recorder.run(over))
                tasks.create_task(deployment.supervisor.run([deployment.projector()]))

                async def nemesis() -> None:
                    await kill_often(
                        ground, dice(seed(), "nemesis"), rounds("KILLS", 100, 20, 120), resumed
                    )

                await write_during(nemesis, ground, client, world)
                log = await read_log(ground.admin_url)
                await until_shown(deployment, log[-1].position)
                over.set()
                deployment.supervisor.stop()
        finally:
            worker.close()
        history = audit_history(log, client.history, before)
        tail = audit_tail(log, recorder.seen)
        rows = await differing_rows(ground.admin_url, log)
        grants = await differing_grants(ground.admin_url, log)
        await deployment.close()
    recovery = recoveries(resumed, client.history)
    report(
        "T1",
        {
            "kills": len(resumed),
            "events": len(log),
            **asdict(history),
            **asdict(tail),
            "rows_differing": rows,
            "grants_differing": grants,
            "recovery_median_seconds": round(median(recovery), 3),
            "recovery_max_seconds": round(max(recovery), 3),
        },
    )
    assert history.acknowledged > len(resumed)
    assert not [a.refusal for a in client.history if a.end is End.LEAKED]
    assert history.lost == history.doubled == history.torn == history.misnumbered == 0
    assert history.written_though_refused == history.unaccounted == history.holes == 0
    assert tail.skipped == tail.duplicated == tail.misordered == 0
    assert rows == grants == 0


async def test_the_kill_test_fails_on_a_tail_without_the_xmin_rule(report: Report):
    async with fresh_ground() as ground:
        deployment = ground.deployment()
        client, world = Client(await deployment.service()), World()
        await world.furnish(client)
        careful = Recorder(Connections(ground.projector_url, 1))
        careless = Recorder(CarelessConnections(ground.projector_url, 1))
        over = asyncio.Event()
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(careful.run(over))
            tasks.create_task(careless.run(over))

            async def nemesis() -> None:
                await kill_often(ground, dice(seed(), "nemesis"), range(3), [])

            await write_during(nemesis, ground, client, world)
            over.set()
        log = await read_log(ground.admin_url)
        await deployment.close()
    with_rule, without = audit_tail(log, careful.seen), audit_tail(log, careless.seen)
    report(
        "T1 without the xmin rule",
        {
            "events": len(log),
            "skipped_with_the_rule": with_rule.skipped,
            **asdict(without),
        },
    )
    assert without.skipped > 0
    assert with_rule.skipped == 0


async def write_during(
    nemesis: Callable[[], Awaitable[None]], ground: Ground, client: Client, world: World
) -> None:
    """Keep all writers writing for as long as the nemesis is about."""
    stop = asyncio.Event()
    async with asyncio.TaskGroup() as writing:
        for number in range(WRITERS):
            writer = Writer(number, client, world, dice(seed(), "writer", number), ground.app_url)
            writing.create_task(writer.run(stop))
        await nemesis()
        stop.set()


async def kill_often(
    ground: Ground, dice: Random, times: Iterable[int], resumed: list[float]
) -> None:
    """Crash the database at random moments, and write down when it was back."""
    for _ in times:
        await asyncio.sleep(dice.uniform(0.3, 1.2))
        await asyncio.to_thread(ground.cluster.kill)
        await asyncio.to_thread(ground.cluster.resume)
        resumed.append(time.monotonic())
    await asyncio.sleep(dice.uniform(0.3, 1.2))


async def until_shown(deployment: Deployment, position: Position) -> None:
    """Wait until every list shows everything up to a position."""

    async def shown() -> bool:
        return await deployment.lists.follows(CATALOGUE.views, position)

    await until(shown, "the lists show everything")


def recoveries(resumed: list[float], history: list[Attempt]) -> list[float]:
    """How long after each return of the database the first command was answered."""
    answered = sorted(a.at for a in history if a.answered)
    firsts = [next((at - back for at in answered if at >= back), None) for back in resumed]
    return [seconds for seconds in firsts if seconds is not None]
