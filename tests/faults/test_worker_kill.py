"""Workers are killed and paused at random; the lists come out as if nothing had happened."""

import asyncio
from collections.abc import Iterable
from pathlib import Path
from random import Random
from typing import Any

import pytest

from beamkeep.contexts.catalogue import CATALOGUE
from beamkeep.deployment.composition import Deployment
from beamkeep.runtime.store import Position
from beamkeep.testing.seeds import dice, seed
from beamkeep.testing.waiting import until
from beamkeep.workers.projector import Projector
from tests.faults.auditor import audit_history, differing_rows, read_log, stored_rows
from tests.faults.conftest import Report
from tests.faults.ground import Ground, connected, fresh_ground
from tests.faults.report import rounds
from tests.faults.test_database_kill import until_shown
from tests.faults.workers import Worker
from tests.faults.workload import CODEC, Client, World, Writer

pytestmark = [pytest.mark.faults, pytest.mark.anyio]

WRITERS = 2

# Every move of a bookmark that goes back is kept. A statement that finds its bookmark moved is
# rolled back, so it is counted by a sequence, which never is.
WATCH = """
CREATE TABLE public.stale_moves (projection text, before text, after text);
CREATE SEQUENCE public.refused_moves;
CREATE FUNCTION public.watch_moves() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
  IF NOT EXISTS (SELECT 1 FROM moved) THEN
    PERFORM nextval('public.refused_moves');
  END IF;
  INSERT INTO public.stale_moves
  SELECT m.projection, s.tx::text, m.tx::text FROM moved m JOIN stood s
   USING (projection, generation, shard) WHERE (m.tx, m.pos) < (s.tx, s.pos);
  RETURN NULL;
END $$;
CREATE TRIGGER watch_moves AFTER UPDATE ON bk.bookmarks
  REFERENCING OLD TABLE AS stood NEW TABLE AS moved
  FOR EACH STATEMENT EXECUTE FUNCTION public.watch_moves();
"""

# Which worker holds the log, and by which connection.
HOLDER = """
SELECT a.application_name, a.pid FROM pg_locks l JOIN pg_stat_activity a USING (pid)
 WHERE l.locktype = 'advisory' AND l.granted AND a.application_name LIKE 'worker-%'
   AND (l.classid::bigint << 32 | l.objid::bigint) = hashtextextended('shard', -1)
"""


async def test_lists_survive_workers_that_are_killed_and_paused(report: Report, tmp_path: Path):
    figures = await harass(
        "tests.faults.slow_worker", rounds("WORKER_FAULTS", 40, 15, 60), tmp_path
    )
    report("T3", figures)
    assert figures["stale_writes_accepted"] == 0
    assert figures["rows_differing"] == figures["rows_differing_from_rebuilt"] == 0
    assert figures["lists_switched"] == len(CATALOGUE.views)
    assert figures["unaccounted"] == figures["lost"] == figures["holes"] == 0


async def test_the_worker_test_catches_an_apply_without_compare_and_set(
    report: Report, tmp_path: Path
):
    figures = await harass("tests.faults.careless_worker", range(30), tmp_path, only_pauses=True)
    report("T3 without compare-and-set", figures)
    assert figures["stale_writes_accepted"] > 0


async def harass(
    module: str, faults: Iterable[int], logs: Path, only_pauses: bool = False
) -> dict[str, Any]:
    """Two workers under load and under attack, and what became of the lists.

    Where they are only paused, the first stale write is enough.
    """
    async with fresh_ground() as ground:
        deployment = ground.deployment()
        client, world = Client(await deployment.service()), World()
        before = len(await read_log(ground.admin_url))
        await world.furnish(client)
        async with connected(ground.admin_url) as connection:
            await connection.execute(WATCH)
        workers = [Worker(ground, f"worker-{n}", logs, (module, "work")) for n in range(2)]
        nemesis = Nemesis(ground, workers, dice(seed(), "nemesis"), only_pauses)
        stop = asyncio.Event()
        try:
            async with asyncio.TaskGroup() as tasks:
                for number in range(WRITERS):
                    each = dice(seed(), "writer", number)
                    writer = Writer(number, client, world, each, ground.app_url)
                    tasks.create_task(writer.run(stop))
                for _ in faults:
                    await nemesis.strike()
                    if only_pauses and await stale_moves(ground):
                        break
                stop.set()
            log = await read_log(ground.admin_url)
            caught_up = await shown_in_time(deployment, log[-1].position)
        finally:
            for worker in workers:
                worker.close()
        audit = audit_history(log, client.history, before)
        rows = await differing_rows(ground.admin_url, log)
        rebuilt, switched = await rebuild(ground, deployment) if caught_up else (0, 0)
        stale = await stale_moves(ground)
        async with connected(ground.admin_url) as connection:
            refused = await connection.fetchval(
                "SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM public.refused_moves"
            )
        await deployment.close()
    return {
        "killed": nemesis.killed,
        "paused": nemesis.paused,
        "paused_past_the_lease": nemesis.dispossessed,
        "events": len(log),
        "caught_up": caught_up,
        "stale_writes_refused": refused,
        "stale_writes_accepted": stale,
        "rows_differing": rows,
        "rows_differing_from_rebuilt": rebuilt,
        "lists_switched": switched,
        "lost": audit.lost,
        "unaccounted": audit.unaccounted,
        "holes": audit.holes,
    }


async def stale_moves(ground: Ground) -> int:
    """How many bookmarks were moved back."""
    async with connected(ground.admin_url) as connection:
        return await connection.fetchval("SELECT count(*) FROM public.stale_moves")


class Nemesis:
    """Kills and pauses workers, mostly the one that holds the log."""

    def __init__(
        self, ground: Ground, workers: list[Worker], dice: Random, only_pauses: bool
    ) -> None:
        self._url, self._dice, self._only_pauses = ground.admin_url, dice, only_pauses
        self._workers = {worker.name: worker for worker in workers}
        self.killed = self.paused = self.dispossessed = 0

    async def strike(self) -> None:
        """Do one thing to one worker, as soon as one of them has begun its work."""
        name, pid = await until(self._holder, "a worker holds the log")
        await asyncio.sleep(self._dice.uniform(0, 0.3))
        if self._only_pauses or self._dice.random() < 0.5:
            await self._pause(name, pid)
            return
        other = self._dice.choice(list(self._workers))
        await asyncio.to_thread(self._workers[name if self._dice.random() < 0.5 else other].kill)
        self.killed += 1

    async def _pause(self, name: str, pid: int) -> None:
        worker = self._workers[name]
        worker.pause()
        self.paused += 1
        if self._only_pauses or self._dice.random() < 0.5:
            async with connected(self._url) as connection:
                await connection.execute("SELECT pg_terminate_backend($1)", pid)

            async def another() -> bool | None:
                holder = await self._holder()
                return holder and holder[0] != name

            await until(another, "the other worker takes over")
            self.dispossessed += 1
        await asyncio.sleep(self._dice.uniform(0, 0.5))
        worker.go_on()

    async def _holder(self) -> tuple[str, int] | None:
        for worker in self._workers.values():
            worker.require_alive()
        async with connected(self._url) as connection:
            row = await connection.fetchrow(HOLDER)
        return (row[0], row[1]) if row else None


async def shown_in_time(deployment: Deployment, position: Position) -> bool:
    """Whether every list comes to show everything up to a position."""
    try:
        await until_shown(deployment, position)
    except AssertionError:
        return False
    return True


async def rebuild(ground: Ground, deployment: Deployment) -> tuple[int, int]:
    """Build every list anew: how many rows differ, and how many lists were switched."""
    before = [await stored_rows(ground.admin_url, view) for view in CATALOGUE.views]
    for view in CATALOGUE.views:
        await deployment.projections.rebuild(view, deployment.shards)
    tail, projections = deployment.tail, deployment.projections
    projector = Projector(CATALOGUE.views, CODEC, tail, projections=projections)
    await projector.catch_up(deployment.shards)
    switched = await deployment.projections.switch()
    after = [await stored_rows(ground.admin_url, view) for view in CATALOGUE.views]
    different = sum(
        old.get(id) != new.get(id)
        for old, new in zip(before, after, strict=True)
        for id in old.keys() | new.keys()
    )
    return different, len(switched)
