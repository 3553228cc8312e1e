"""Loops that are killed and taken over, and an optimiser that needs fewer passes than a grid."""

import asyncio
from collections import Counter
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from random import Random
from typing import Any

import pytest
from tests.postgres.workers.conftest import MakeBench
from tests.support.conducting import ConductorBench, action, capture, entry, setpoint

from beamkeep.adapters.memory.store import MemoryStore
from beamkeep.adapters.memory.work import MemoryWorkQueue
from beamkeep.contexts.operation.loop import Evidence, SteeringAdvice
from beamkeep.parts.conducting.bodies import ActionCall, RegisteredAction
from beamkeep.parts.conducting.conduct.advising import grid_walk
from beamkeep.parts.conducting.registered import registered_advisors
from beamkeep.testing.seeds import dice
from beamkeep.testing.service import memory_service
from beamkeep.workers.leases import LeaseTimes

pytestmark = pytest.mark.anyio

KILLS = 12
LEASE = LeaseTimes(lease=30.0, renew=10.0, self_fence=20.0)
STEER = [
    setpoint("bl:x", {"$steering": "x"}),
    setpoint("bl:y", {"$steering": "y"}),
    action("measure"),
    capture("bl:signal", "signal"),
]
SPACE = {
    "axes": [{"name": name, "lower": -5.0, "upper": 5.0, "initial": -5.0} for name in ("x", "y")]
}
PEAK = (1.3, -2.1)


def measuring(noise: Random) -> RegisteredAction:
    """Return the action that measures a noisy peak at the present position."""

    async def measure(call: ActionCall) -> None:
        x = float((await call.control.read("bl:x")).value)  # type: ignore[arg-type]
        y = float((await call.control.read("bl:y")).value)  # type: ignore[arg-type]
        height = 10.0 - (x - PEAK[0]) ** 2 - (y - PEAK[1]) ** 2 + noise.gauss(0.0, 0.05)
        await call.control.write("bl:signal", height)

    return RegisteredAction(entry("measure", writes=("bl:signal",)), measure)


async def kill() -> None:
    """End every worker as if its process had died: nothing is recorded, nothing is given back."""
    tasks = [task for task in asyncio.all_tasks() if task.get_coro().__name__ == "_conduct"]  # type: ignore[union-attr]
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


class Mortal:
    """A bench in memory whose workers are killed again and again, and whose clock then moves on."""

    def __init__(self, bench: ConductorBench, store: MemoryStore, roll: Random) -> None:
        self.bench, self._store, self._roll = bench, store, roll
        self.kills = 0

    async def ended(self, procedure_id: str, conduct_id: str) -> dict[str, Any]:
        while self.kills < KILLS:
            before = len(self._store.log)
            await self.bench.conductor().turn()
            # Work that never gets on is left to people after five claims.
            while len(self._store.log) == before and self._is_going_on():
                await asyncio.sleep(0)
            for _ in range(self._roll.randint(1, 120)):
                await asyncio.sleep(0)
            await kill()
            self.kills += 1
            later = self._store.clock() + timedelta(seconds=31)
            self._store.clock = lambda later=later: later
            found = await self.bench.conduct(procedure_id, conduct_id)
            if found["status"] == "Ended":
                return found
        self._store.clock = lambda: datetime.now(UTC) + timedelta(hours=1)
        return await self.bench.ended(procedure_id, conduct_id)

    def _is_going_on(self) -> bool:
        return any(row.ended_at is None for row in self._store.tables["work"].values())


async def mortal(roll: Random, **options: Any) -> Mortal:
    _, store = await memory_service()
    queue = MemoryWorkQueue(store)
    bench = ConductorBench(store, store, queue, b"k" * 32, times=LEASE, **options)
    return Mortal(bench, store, roll)


@pytest.mark.parametrize("number", range(10))
async def test_a_steered_loop_continues_after_kills_without_asking_again(number: int):
    roll, asked = dice(number, "kills"), Counter[int]()

    def advisor(evidence: Evidence) -> SteeringAdvice:
        asked[len(evidence.passes)] += 1
        return grid_walk(evidence)

    world = await mortal(
        roll, advisors={"counting": advisor}, actions=[measuring(dice(1, "noise"))]
    )
    ids = procedure_id, _ = await world.bench.accepted(
        STEER,
        "conduct_until_advised",
        advisor={"name": "counting", "options": {"points_per_axis": 3}},
        objective={"kind": "Maximize", "capture_name": "signal"},
        space=SPACE,
    )
    ended = await world.ended(*ids)
    told = await world.bench.ask("list_procedure_iterations", procedure_id=procedure_id)
    passes = told["items"]
    if ended["outcome"] == "Completed":
        assert len(passes) == 9
    else:
        # The action is not repeatable: killed in the middle of it, the conduct waits for a person.
        assert (ended["outcome"], ended["failure"]["source_kind"]) == ("Interrupted", "action")
    stored = sum(each["advised_stop"] is not None for each in passes)
    # An advisor may be asked again for a pass whose answer was never stored, and for no other.
    again = sum(count - 1 for count in asked.values())
    assert again <= world.kills
    assert max(asked, default=0) <= stored + 1


@pytest.mark.parametrize("number", range(10))
async def test_a_converging_loop_continues_after_kills(number: int):
    async def nudge(call: ActionCall) -> None:
        seen = float((await call.control.read("bl:offset")).value)  # type: ignore[arg-type]
        await call.control.write("bl:offset", seen / 2)

    registered = RegisteredAction(entry("nudge", writes=("bl:offset",)), nudge)
    world = await mortal(dice(number, "kills"), actions=[registered])
    world.bench.channels.put("bl:offset", 64.0)
    ids = procedure_id, _ = await world.bench.accepted(
        [action("nudge", repeatable=True), capture("bl:offset", "offset")],
        "conduct_until_converged",
        capture_name="offset",
        criterion={"kind": "within_tolerance", "expected": 0.0, "tolerance": 0.5},
    )
    ended = await world.ended(*ids)
    told = (await world.bench.ask("list_procedure_iterations", procedure_id=procedure_id))["items"]
    assert [each["iteration_index"] for each in told] == list(range(1, len(told) + 1))
    if ended["outcome"] == "Completed":
        assert [each["converged"] for each in told] == [False] * (len(told) - 1) + [True]
        assert all(a["value"] > b["value"] for a, b in pairwise(told))
    else:
        assert (ended["outcome"], ended["failure"]["error_class"]) == (
            "Interrupted",
            "StepOutcomeUnknown",
        )


async def test_the_optimiser_finds_the_peak_in_fewer_passes_than_the_grid(bench: MakeBench):
    """Both walk the same noisy peak; each pass is judged by its distance to the true peak."""
    needed: dict[str, int] = {}
    for name, options in (("bayesian", {}), ("grid_walk", {"points_per_axis": 11})):
        world = await bench(
            actions=[measuring(dice(7, "noise"))], advisors=dict(registered_advisors())
        )
        ids = procedure_id, _ = await world.accepted(
            STEER,
            "conduct_until_advised",
            advisor={"name": name, "options": options},
            objective={"kind": "Maximize", "capture_name": "signal"},
            space=SPACE,
            max_iterations=121,
        )
        ended = await world.ended(*ids)
        assert ended["outcome"] == "Completed"
        found = list[dict[str, Any]]()
        after: str | None = None
        while True:
            asked: dict[str, Any] = {"procedure_id": procedure_id, "limit": 100}
            asked |= {"cursor": after} if after else {}
            page = await world.ask("list_procedure_iterations", **asked)
            found += page["items"]
            if (after := page.get("next_cursor")) is None:
                break
        near = [
            each["iteration_index"]
            for each in found
            if abs(each["coordinate"]["x"] - PEAK[0]) < 0.75
            and abs(each["coordinate"]["y"] - PEAK[1]) < 0.75
        ]
        needed[name] = min(near)
    assert needed["bayesian"] < needed["grid_walk"], needed
