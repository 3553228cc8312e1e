"""Supervision: loops that run by name until they are stopped, and continue after they fail."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence
from functools import partial
from math import inf
from typing import Any, Protocol

import structlog

from beamkeep.kernel import Record
from beamkeep.runtime.store import StoreUnavailableError
from beamkeep.telemetry import Telemetry

FIRST_RETRY, LONGEST_RETRY = 1.0, 5.0
"""Seconds until a loop that failed has its next turn; doubled for each further failure."""
RENEW_EVERY = 2.0

log: structlog.stdlib.BoundLogger = structlog.get_logger()


class PutOffError(Exception):
    """A loop cannot work at present, and is tried again later."""

    def __init__(self, reason: str = "") -> None:
        super().__init__(f"{self.__doc__} {reason}".strip())


class Lease(Protocol):
    """Numbered parts of a piece of work, each held by one process at a time."""

    async def __call__(self) -> Sequence[int]:
        """Return the parts this process holds, after trying to get those it lacks."""
        ...

    async def close(self) -> None:
        """Leave the parts to other processes."""
        ...


async def _nothing() -> None: ...


class Loop(Record):
    """A piece of work that is done again and again."""

    name: str
    turn: Callable[[], Awaitable[float]]
    """Does the work once and returns the seconds until the next turn."""
    close: Callable[[], Awaitable[None]] = _nothing
    wake: asyncio.Event | None = None
    """Starts the next turn early when it is set."""


class Supervisor:
    """Runs loops until it is stopped; a loop that fails waits a little and continues."""

    def __init__(self, telemetry: Telemetry, clock: Callable[[], float] = time.monotonic) -> None:
        self._telemetry, self._clock = telemetry, clock
        self._stopped = asyncio.Event()
        self._succeeded: dict[str, float] = {}
        self._due: dict[str, float] = {}

    async def run(self, loops: Iterable[Loop]) -> None:
        """Run these loops at the same time, and return once all of them have stopped."""
        async with asyncio.TaskGroup() as tasks:
            for loop in loops:
                tasks.create_task(self._run(loop), name=loop.name)

    def stop(self) -> None:
        """Let every loop finish its turn and start no other."""
        self._stopped.set()

    def age(self, name: str) -> float:
        """Return the seconds since a loop last succeeded, infinite if it never did."""
        return self._clock() - self._succeeded.get(name, -inf)

    def overdue(self, name: str) -> float:
        """Return how many seconds the next success of a loop is overdue; 0 if it is not."""
        return max(0.0, self._clock() - self._due.get(name, inf))

    async def _run(self, loop: Loop) -> None:
        self._due[loop.name] = self._clock()
        self._telemetry.show_loop(loop.name, partial(self.age, loop.name))
        failures = 0
        try:
            while not self._stopped.is_set():
                try:
                    pause = await loop.turn()
                except Exception as error:
                    _log_failure(loop.name, error)
                    await self._wait(min(FIRST_RETRY * 2**failures, LONGEST_RETRY))
                    failures = min(failures + 1, 10)
                    continue
                failures, self._succeeded[loop.name] = 0, self._clock()
                self._due[loop.name] = self._clock() + pause
                if loop.wake:
                    loop.wake.clear()
                if pause:
                    await self._wait(pause, loop.wake)
        finally:
            await loop.close()

    async def _wait(self, seconds: float, wake: asyncio.Event | None = None) -> None:
        """Return after so many seconds, or at once when stopped or woken."""
        events = [self._stopped, wake] if wake else [self._stopped]
        waits = [asyncio.ensure_future(event.wait()) for event in events]
        try:
            await asyncio.wait(waits, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for waiting in waits:
                waiting.cancel()


def every(seconds: float, name: str, work: Callable[[], Awaitable[object]]) -> Loop:
    """Return a loop that does a piece of work every so many seconds."""

    async def turn() -> float:
        await work()
        return seconds

    return Loop(name, turn)


def while_held(lease: Lease, name: str, work: Callable[[], Coroutine[Any, Any, None]]) -> Loop:
    """Return a loop that keeps a piece of work running while this process holds a lease."""
    held = _Held(lease, name, work)
    return Loop(name, held.turn, held.close)


class _Held:
    """A task that is started with a lease and cancelled without it."""

    def __init__(
        self, lease: Lease, name: str, work: Callable[[], Coroutine[Any, Any, None]]
    ) -> None:
        self._lease, self._name, self._work = lease, name, work
        self._task: asyncio.Task[None] | None = None

    async def turn(self) -> float:
        """Renew the lease; start, leave or cancel the task; raise what ended it."""
        held: Sequence[int] = ()
        try:
            held = await self._lease()
        finally:
            # A process that does not know whether it holds the lease must not continue.
            if not held:
                await self._cancel()
        if self._task and self._task.done():
            ended, self._task = self._task, None
            ended.result()
        if held and self._task is None:
            self._task = asyncio.create_task(self._work(), name=self._name)
        return RENEW_EVERY

    async def close(self) -> None:
        """Cancel the task and leave the lease to other processes."""
        await self._cancel()
        await self._lease.close()

    async def _cancel(self) -> None:
        if self._task:
            self._task.cancel()
            await asyncio.wait([self._task])
            self._task = None


def _log_failure(name: str, error: Exception) -> None:
    if isinstance(error, StoreUnavailableError | PutOffError):
        log.warning("loop put off", loop=name, because=str(error))
    else:
        log.error("loop failed", loop=name, exc_info=error)
