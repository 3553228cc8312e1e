"""Four debriefers of a kind in three processes that are killed: one debrief for each run."""

import asyncio
import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from uuid import UUID

import asyncpg
import pytest

from beamkeep.agents.run_debriefer import RUN_DEBRIEFER
from beamkeep.app import Deployment
from beamkeep.contexts.trust import seeded
from beamkeep.runtime import Service
from beamkeep.testing.seeds import dice, seed
from tests.faults.conftest import Report
from tests.faults.ground import connected, fresh_ground
from tests.faults.report import asked, rounds
from tests.faults.rival_worker import CALLS, SETTINGS, SOUND, UNLEASED, VARIANT
from tests.faults.workers import Worker
from tests.support.developer import Developer
from tests.support.model_agents import TEMPLATE_IDS, World

pytestmark = [pytest.mark.faults, pytest.mark.anyio]

RIVALS, PROCESSES = 4, 3
PATIENCE = 300.0
DECISIONS = """
SELECT principal_id, payload::text FROM bk.events
 WHERE event_type = 'DecisionRegistered' AND payload ->> 'context' = 'RunDebrief'
"""
WRITTEN = "SELECT count(*) FROM bk.events WHERE stream_type IN ('Run', 'Decision')"
RECORDED = "SELECT count(*) FROM bk.model_call"
WRONG = ("debriefed_twice", "decided_twice", "uncounted", "undecided", "without_a_winner")


class Rivals:
    """Runs that end, and processes in which rivals answer their ends."""

    def __init__(self, world: World, watch: asyncpg.Connection, calls: Path) -> None:
        self._world, self._watch, self._calls = world, watch, calls
        self.figures = Counter[str](killed=0)
        self._runs = set[str]()

    async def end_a_run(self) -> None:
        self._runs.add(str((await self._world.ended_run()).stream_id))

    async def kill(self, worker: Worker, seconds: float) -> None:
        """Kill a worker soon after the next thing was written."""
        before = await self._watch.fetchval(WRITTEN)
        async with asyncio.timeout(PATIENCE):
            while await self._watch.fetchval(WRITTEN) == before:
                await asyncio.sleep(0.02)
        await asyncio.sleep(seconds)
        worker.require_alive()
        await asyncio.to_thread(worker.kill)
        self.figures["killed"] += 1

    async def all_decided(self, found_as: str | None) -> None:
        """Wait until every agent has decided about every run, or something is found."""
        async with asyncio.timeout(PATIENCE):
            while (judged := await self.judge())["undecided"]:
                if found_as and judged[found_as]:
                    return
                await asyncio.sleep(0.1)

    async def judge(self) -> Counter[str]:
        """Count by the log what was done and what must not be."""
        figures = self.figures.copy()
        figures.update(dict.fromkeys(WRONG, 0), runs=len(self._runs))
        decided, debriefs = Counter[tuple[str, UUID]](), Counter[str]()
        for row in await self._watch.fetch(DECISIONS):
            told: dict[str, Any] = json.loads(row["payload"])
            run_id, choice = told["inputs"]["run_id"], told["choice"]
            decided[run_id, row["principal_id"]] += 1
            kind = choice if choice in {"DebriefConflicted", "DebriefDeferred"} else "Debriefed"
            figures[kind] += 1
            # A winner whose attempts were all killed says so: its rivals stood aside for it.
            debriefs[run_id] += kind != "DebriefConflicted"
        lines = len(self._calls.read_text().splitlines()) if self._calls.exists() else 0
        figures["calls"] = lines
        figures["uncounted"] = max(0, lines - await self._watch.fetchval(RECORDED))
        figures["decided_twice"] = sum(times > 1 for times in decided.values())
        figures["debriefed_twice"] = sum(times > 1 for times in debriefs.values())
        figures["undecided"] = RIVALS * len(self._runs) - len(decided)
        done = {run_id for run_id in self._runs if sum(it[0] == run_id for it in decided) == RIVALS}
        figures["without_a_winner"] = len(done - {run for run, n in debriefs.items() if n})
        return figures


async def a_rival(do: Developer) -> None:
    """Define one more agent that debriefs runs, with the policy that it needs."""
    kind = RUN_DEBRIEFER.kind
    model = {"provider": SETTINGS["LANGUAGE_MODEL_PROVIDER"], "model": "scripted-1"}
    about = {"kind": kind, "name": "Rival", "version": "1", "model_ref": model}
    made = await do("define_agent", {**about, "prompt_template_id": str(TEMPLATE_IDS[kind])})
    await do("version_agent", made)
    policy = {
        "name": "Rival",
        "conduit_id": str(seeded.INTERNAL),
        "surface_id": None,
        "permitted_principal_ids": [made["agent_id"]],
        "permitted_commands": list(RUN_DEBRIEFER.commands),
        "object_scope": "All",
    }
    await do("define_policy", policy)


async def furnished(service: Service, deployment: Deployment) -> World:
    """Return the world of the runs, after all rivals of the seeded agent were defined."""
    do = Developer(service, deployment.store)
    for _ in range(RIVALS - 1):
        await a_rival(do)
    world = World(service, deployment.store, calls=None)  # type: ignore[arg-type]
    await world.furnish()
    return world


async def harass(
    variant: str, numbers: Iterable[int], every: int, logs: Path, found_as: str | None = None
) -> Counter[str]:
    """End so many runs, or until something is found, and kill a worker at every so many."""
    roll, calls = dice(seed(), "rivals", variant), logs / "calls"
    environment = {**SETTINGS, VARIANT: variant, CALLS: str(calls)}
    module = "tests.faults.rival_worker"
    settings = {name.lower(): value for name, value in SETTINGS.items()}
    async with fresh_ground() as ground, connected(ground.admin_url) as watch:
        deployment = ground.deployment(**settings)
        rivals = Rivals(await furnished(await deployment.service(), deployment), watch, calls)
        workers = [Worker(ground, f"w{n}", logs, module, environment) for n in range(PROCESSES)]
        try:
            for number in numbers:
                await rivals.end_a_run()
                if number % every == every - 1:
                    await rivals.kill(roll.choice(workers), roll.uniform(0, 0.5))
                if found_as and (await rivals.judge())[found_as]:
                    break
            await rivals.all_decided(found_as)
        finally:
            for worker in workers:
                worker.close()
        figures = await rivals.judge()
        await deployment.close()
    return figures


async def test_of_rivals_under_kills_one_debriefs_each_run(report: Report, tmp_path: Path):
    runs = asked("RIVAL_RUNS", 40)
    every = max(1, runs // asked("RIVAL_KILLS", 6))
    figures = await harass(SOUND, rounds("RIVAL_RUNS", 40, 12, 60), every, tmp_path)
    report("T32 rivals", figures)
    assert {name: figures[name] for name in WRONG} == dict.fromkeys(WRONG, 0)
    assert figures["Debriefed"] + figures["DebriefDeferred"] == figures["runs"]
    assert figures["killed"] >= figures["runs"] // every


async def test_rivals_without_the_lease_debrief_a_run_twice(report: Report, tmp_path: Path):
    figures = await harass(UNLEASED, range(3), 10, tmp_path, "debriefed_twice")
    report(f"T32 {UNLEASED}", figures)
    assert figures["debriefed_twice"] > 0
