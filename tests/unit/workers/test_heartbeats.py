"""Which workers count as dead, and what is said of them."""

import asyncio
from collections.abc import Collection, Mapping
from math import inf

import pytest

from beamkeep.telemetry import Telemetry
from beamkeep.workers.heartbeats import HeartbeatWriter, WorkerWatch, silent_workers

REMEDY = "Check that `beamkeep work` runs."
SOME = "Workers have not finished a turn for too long: "
LOOK = f"Look for errors in the log of the worker. {REMEDY}"


class KeptHeartbeats:
    """Heartbeats in memory."""

    def __init__(self, **ages: float) -> None:
        self.kept = dict(ages)

    async def beat(self, overdue: Mapping[str, float]) -> None:
        self.kept |= overdue

    async def keep_only(self, workers: Collection[str]) -> None:
        self.kept = {name: age for name, age in self.kept.items() if name in workers}

    async def ages(self) -> Mapping[str, float]:
        return self.kept


@pytest.mark.parametrize(
    ("ages", "told"),
    [
        ({"projector": 59.0, "relay": 0.0}, None),
        (
            {"projector": 75.0, "relay": 61.0},
            f"No worker has run for 61 s, so lists are not updated. {REMEDY}",
        ),
        ({"projector": inf}, f"No worker has ever run, so lists are not updated. {REMEDY}"),
        ({"projector": 3.0, "relay": 61.0}, f"{SOME}relay (61 s). {LOOK}"),
        ({"projector": inf, "relay": 3.0}, f"{SOME}projector (never). {LOOK}"),
        # A heartbeat that lies in the future says nothing.
        (
            {"projector": -600.0},
            f"No worker has run for 600 s, so lists are not updated. {REMEDY}",
        ),
    ],
)
def test_workers_that_are_silent_for_a_minute_are_named(
    ages: Mapping[str, float], told: str | None
):
    assert silent_workers(ages, REMEDY) == told


def test_a_process_that_just_began_gives_the_worker_time_to_begin_too():
    now = 100.0
    watch = WorkerWatch(KeptHeartbeats(), Telemetry(), REMEDY, clock=lambda: now)
    asyncio.run(watch.look())
    assert watch.silent() is None
    now = 161.0
    assert watch.silent() == f"No worker has run for 61 s, so lists are not updated. {REMEDY}"


def test_the_metric_shows_each_worker_and_grows_between_two_looks():
    now, telemetry = 100.0, Telemetry(clock=lambda: now)
    watch = WorkerWatch(KeptHeartbeats(projector=3.0), telemetry, REMEDY)
    asyncio.run(watch.look())
    name, labels = "beamkeep_worker_heartbeat_age_seconds", {"worker": "projector"}
    assert telemetry.registry.get_sample_value(name, labels) == 3.0
    now = 110.0
    assert telemetry.registry.get_sample_value(name, labels) == 13.0


def test_a_worker_that_is_switched_off_is_forgotten_when_the_process_begins():
    heartbeats = KeptHeartbeats(relay=3600.0)
    writer = HeartbeatWriter(heartbeats, lambda _: 2.0, ["projector"])
    asyncio.run(writer.turn())
    assert heartbeats.kept == {"projector": 2.0}
    heartbeats.kept["relay"] = 1.0
    asyncio.run(writer.turn())
    assert heartbeats.kept == {"projector": 2.0, "relay": 1.0}
