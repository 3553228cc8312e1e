"""Loops run by name until they are stopped, and one that fails goes on later."""

import asyncio
from collections.abc import Callable, Coroutine
from math import inf
from typing import Any

import pytest
from structlog.testing import capture_logs
from tests.faults.seeded_loop import run_seeded

from beamkeep.runtime.store import StoreUnavailableError
from beamkeep.telemetry import Telemetry
from beamkeep.testing.leases import GrantedLease
from beamkeep.testing.seeds import dice
from beamkeep.workers.supervision import RENEW_EVERY, Loop, Supervisor, every, while_held

LONGEST = 3600.0


def now() -> float:
    return asyncio.get_running_loop().time()


type During = Callable[[], Coroutine[Any, Any, None]]


def run[T](main: Coroutine[Any, Any, T]) -> T:
    """Run on a clock that passes only in waiting."""
    return run_seeded(main, dice(1), LONGEST)


def supervised(*loops: Loop, until: float, during: During | None = None) -> None:
    """Run loops and stop them after so many seconds."""

    async def main() -> None:
        supervisor = Supervisor(Telemetry(), now)
        asyncio.get_running_loop().call_later(until, supervisor.stop)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(supervisor.run(loops))
            if during:
                tasks.create_task(during())

    run(main())


class Work:
    """Work that notes when it is done, and fails as often as it is told to."""

    def __init__(self, failures: int = 0, error: Exception | None = None) -> None:
        self.times: list[float] = []
        self._failures, self._error = failures, error or OSError("cut")

    async def __call__(self) -> None:
        self.times.append(now())
        if len(self.times) <= self._failures:
            raise self._error


class Task:
    """Work that runs until it is cancelled, or for so many seconds before it fails."""

    def __init__(self, *lives: float) -> None:
        self.begun: list[float] = []
        self.ended: list[float] = []
        self._lives = iter(lives)

    async def __call__(self) -> None:
        self.begun.append(now())
        try:
            await asyncio.sleep(next(self._lives, LONGEST))
            raise OSError("cut")
        finally:
            self.ended.append(now())


def at(seconds: float, act: Callable[[], None]) -> During:
    async def later() -> None:
        await asyncio.sleep(seconds)
        act()

    return later


# Turns


def test_work_is_done_at_once_and_then_every_so_many_seconds_until_it_is_stopped():
    work = Work()
    supervised(every(10.0, "watch", work), until=35.0)
    assert work.times == [0, 10, 20, 30]


def test_a_turn_under_way_is_finished_before_the_end():
    ended: list[float] = []

    async def turn() -> float:
        await asyncio.sleep(5.0)
        ended.append(now())
        return 1.0

    supervised(Loop("slow", turn), until=2.0)
    assert ended == [5]


def test_a_loop_that_is_woken_has_its_next_turn_at_once():
    work, wake = Work(), asyncio.Event()

    async def turn() -> float:
        await work()
        return 10.0

    supervised(Loop("projector", turn, wake=wake), until=15.0, during=at(3.0, wake.set))
    assert work.times == [0, 3, 13]


def test_a_loop_is_closed_when_it_ends_and_when_it_is_cancelled():
    closed: list[str] = []

    async def turn() -> float:
        return 1.0

    async def close() -> None:
        closed.append("closed")

    supervised(Loop("projector", turn, close), until=2.0)
    assert closed == ["closed"]

    async def cancelled() -> None:
        running = asyncio.create_task(Supervisor(Telemetry()).run([Loop("p", turn, close)]))
        await asyncio.sleep(1.5)
        running.cancel()
        await asyncio.wait([running])

    run(cancelled())
    assert closed == ["closed", "closed"]


# Failures


def test_a_loop_that_fails_waits_twice_as_long_each_time_but_not_for_long():
    work = Work(failures=6)
    supervised(every(60.0, "watch", work), until=70.0)
    assert work.times == [0, 1, 3, 7, 12, 17, 22]


def test_a_loop_that_succeeded_once_more_starts_with_short_waits_again():
    work = Work()
    flaky = iter([OSError(), OSError(), None, OSError()])

    async def turn() -> None:
        await work()
        if error := next(flaky, None):
            raise error

    supervised(every(10.0, "watch", turn), until=15.0)
    assert work.times == [0, 1, 3, 13, 14]


def test_one_that_fails_does_not_hinder_the_others():
    failing, sound = Work(failures=100), Work()
    supervised(every(1.0, "failing", failing), every(1.0, "sound", sound), until=9.5)
    assert sound.times == [*range(10)]


def test_a_loop_that_failed_is_not_woken_early():
    work, wake = Work(failures=1), asyncio.Event()

    async def turn() -> float:
        await work()
        return 10.0

    supervised(Loop("projector", turn, wake=wake), until=5.0, during=at(0.5, wake.set))
    assert work.times == [0, 1]


@pytest.mark.parametrize(
    ("error", "event", "level"),
    [
        (OSError("cut"), "loop failed", "error"),
        (StoreUnavailableError(), "loop put off", "warning"),
    ],
)
def test_a_failure_is_logged_under_the_name_of_its_loop(error: Exception, event: str, level: str):
    with capture_logs() as lines:
        supervised(every(10.0, "watch", Work(failures=1, error=error)), until=5.0)
    (line,) = lines
    assert (line["event"], line["log_level"], line["loop"]) == (event, level, "watch")


# Ages


def test_the_age_of_the_last_success_grows_while_a_loop_fails_and_is_a_metric():
    ages: list[float] = []
    telemetry = Telemetry()

    def shown(name: str) -> float | None:
        return telemetry.registry.get_sample_value("beamkeep_loop_age_seconds", {"loop": name})

    async def main() -> None:
        supervisor = Supervisor(telemetry, now)
        loops = [every(2.0, "sound", Work()), every(2.0, "failing", Work(failures=100))]
        running = asyncio.create_task(supervisor.run(loops))
        assert supervisor.age("sound") == inf
        for _ in range(2):
            await asyncio.sleep(3.5)
            ages.append(supervisor.age("sound"))
            assert supervisor.age("failing") == inf
            assert (shown("sound"), shown("failing")) == (ages[-1], inf)
        supervisor.stop()
        await running
        await asyncio.sleep(10.0)
        ages.append(supervisor.age("sound"))

    run(main())
    assert ages == [1.5, 1.0, 11.0]


# Leases


def test_work_runs_while_the_lease_is_held_and_is_cancelled_without_it():
    lease, task = GrantedLease(), Task()

    async def hand_over() -> None:
        await asyncio.sleep(9.0)
        lease.parts = ()
        await asyncio.sleep(10.0)
        lease.parts = (0,)

    supervised(while_held(lease, "observers", task), until=25.0, during=hand_over)
    assert task.begun == [0, 20]
    assert task.ended == [10, 25]
    assert lease.closed


def test_a_process_that_cannot_tell_whether_it_holds_the_lease_stops():
    lease, task = GrantedLease(), Task()

    def lose() -> None:
        lease.error = OSError("cut")

    supervised(while_held(lease, "observers", task), until=30.0, during=at(5.0, lose))
    assert (task.begun, task.ended) == ([0], [6])


def test_work_that_fails_while_the_lease_is_held_begins_again():
    task = Task(1.0, 1.0)
    with capture_logs() as lines:
        supervised(while_held(GrantedLease(), "observers", task), until=20.0)
    assert [(line["event"], line["loop"]) for line in lines] == [("loop failed", "observers")] * 2
    first, second, third = task.begun
    assert first == 0
    assert 0 < second - task.ended[0] <= RENEW_EVERY + 1
    assert 0 < third - task.ended[1] <= RENEW_EVERY + 2


def test_a_loop_is_overdue_once_it_has_missed_its_turn():
    work = Work()
    seen: list[float] = []

    async def main() -> None:
        supervisor = Supervisor(Telemetry(), now)

        async def look() -> None:
            for pause in (5.0, 10.0, 100.0):
                await asyncio.sleep(pause)
                seen.append(supervisor.overdue("stuck"))
                seen.append(supervisor.overdue("fine"))
            supervisor.stop()

        async def stuck() -> float:
            if work.times:
                raise OSError
            await work()
            return 10.0

        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(supervisor.run([Loop("stuck", stuck), every(1.0, "fine", Work())]))
            tasks.create_task(look())

    run(main())
    assert seen == [0.0, 0.0, 5.0, 0.0, 105.0, 0.0]
