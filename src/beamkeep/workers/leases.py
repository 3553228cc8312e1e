"""Leases of durable work: claims it, renews the leases, and lets a task carry out each work."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import suppress
from datetime import timedelta
from functools import partial
from typing import Any
from uuid import UUID

import structlog

from beamkeep.kernel import Fenced, Record
from beamkeep.runtime.store import StoreUnavailableError, WorkLostError
from beamkeep.telemetry import Telemetry

from .durable import ClaimedWork, WorkQueue
from .supervision import Loop

log: structlog.stdlib.BoundLogger = structlog.get_logger()

CONDUCT = "conduct"
LOOK_EVERY = 1.0
LONGEST_LAST_STEP = 20.0
"""Seconds that a step gets to end when its worker is asked to stop."""


LONGEST_RETRY_AFTER = 3600.0
"""The longest pause that another service may ask for."""
LONGEST_WAIT = 1.0


class DrainingError(Exception):
    """The worker stops; another one continues the work."""


class LeaseTimes(Record):
    """How long a worker may act without a renewal, and how much work it holds at the same time."""

    slots: int = 4
    lease: float = 30.0
    renew: float = 10.0
    self_fence: float = 20.0


def boot_time() -> float:
    """Return a clock that continues while the machine or the process is suspended."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class Holding:
    """One claim of durable work by this process."""

    def __init__(self, work: ClaimedWork, sent_at: float, may_act: Callable[[float], bool]) -> None:
        self.work, self.sent_at, self._may_act = work, sent_at, may_act
        self.stopping = asyncio.Event()
        """Set when somebody asked that the step under way ends."""
        self.is_draining = False
        """Whether the process stops: no further step begins."""

    def still_mine(self) -> bool:
        """Return whether the last renewal was sent recently enough to act on it."""
        return self._may_act(self.sent_at)

    def require_held(self) -> None:
        """Raise DrainingError when the worker stops, and WorkLostError when the claim is lost."""
        if self.is_draining:
            raise DrainingError
        if not self.still_mine():
            raise WorkLostError

    async def wait(self, seconds: float) -> None:
        """Wait for so many seconds; raise as `require_held` does."""
        now = asyncio.get_running_loop().time
        until = now() + seconds
        self.require_held()
        while (left := until - now()) > 0:
            await asyncio.sleep(min(left, LONGEST_WAIT))
            self.require_held()


def retry_delay(delays: Sequence[float], attempt: int, retry_after: float | None) -> float:
    """Return the seconds before the next attempt; the other service may ask for more."""
    delay = delays[min(attempt, len(delays) - 1)]
    return delay if retry_after is None else max(delay, min(retry_after, LONGEST_RETRY_AFTER))


def seconds_to_wait(retry_after: str | None) -> float | None:
    """Return the seconds that a Retry-After header asks for; a date is not read."""
    text = retry_after or ""
    return float(text) if text.isascii() and text.isdigit() and len(text) < 6 else None


type CarryOut = Callable[[Holding], Coroutine[Any, Any, None]]


class LeaseHolder:
    """Claims work of one kind for one process and renews all its leases by one statement."""

    def __init__(
        self,
        queue: WorkQueue,
        owner: UUID,
        walk: CarryOut,
        times: LeaseTimes,
        telemetry: Telemetry,
        clock: Callable[[], float] = boot_time,
        kind: str = CONDUCT,
    ) -> None:
        self._queue, self._owner, self._walk, self._times = queue, owner, walk, times
        self._clock, self._kind = clock, kind
        self._shown = telemetry.conducts_held if kind == CONDUCT else None
        self._tasks: dict[Holding, asyncio.Task[None]] = {}
        self._renewed_at, self._wake = clock(), asyncio.Event()

    def loop(self, name: str, then: Callable[[], Awaitable[None]] | None = None) -> Loop:
        """Return the loop that keeps the work going; `then` is called after it has closed."""

        async def close() -> None:
            await self.close()
            if then:
                await then()

        return Loop(name, self.turn, close, wake=self._wake)

    async def turn(self) -> float:
        """Renew the leases, see what was asked, drop what was lost, and claim more."""
        self._drop_late()
        if self._tasks:
            await self._look()
        # A task that does not end in spite of its cancellation must not meet its own successor.
        if not any(task.cancelling() for task in self._tasks.values()):
            await self._claim()
        if self._shown:
            self._shown.set(len(self._tasks))
        return LOOK_EVERY

    async def close(self) -> None:
        """Let the steps under way end, then leave all work to other processes."""
        for held in self._tasks:
            held.is_draining = True
        if self._tasks:
            await asyncio.wait(self._tasks.values(), timeout=LONGEST_LAST_STEP)
        for task in self._tasks.values():
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks.values())

    async def _look(self) -> None:
        sent_at, lease = self._clock(), timedelta(seconds=self._times.lease)
        is_due = sent_at - self._renewed_at >= self._times.renew
        # What was dropped is not renewed: its lease must end, so that another process takes over.
        going_on = {held: task for held, task in self._tasks.items() if not task.cancelling()}
        work_ids = [held.work.work_id for held in going_on]
        if is_due:
            found = await self._queue.renew(self._owner, work_ids, lease)
            self._renewed_at = sent_at
        else:
            found = await self._queue.held(self._owner)
        for held, task in going_on.items():
            state = found.get(held.work.work_id)
            if state is None or state.claim != held.work.claim:
                task.cancel()
                continue
            if is_due:
                held.sent_at = sent_at
            if state.stop in ("cancel", "abort"):
                held.stopping.set()

    async def _claim(self) -> None:
        free = self._times.slots - len(self._tasks)
        if free <= 0:
            return
        sent_at, lease = self._clock(), timedelta(seconds=self._times.lease)
        for work in await self._queue.claim(self._kind, self._owner, lease, free):
            held = Holding(work, sent_at, self._may_act)
            task = asyncio.create_task(self._carry_out(held), name=str(work.work_id))
            self._tasks[held] = task
            # A task that is dropped before it began ends without a word of its own.
            task.add_done_callback(partial(self._ended, held))

    async def _give_back(self, fence: Fenced, why: str, pause: float) -> None:
        # If the database is away, the lease ends by itself.
        with suppress(StoreUnavailableError):
            await self._queue.fail(fence, why, timedelta(seconds=pause))

    def _drop_late(self) -> None:
        for held, task in self._tasks.items():
            if not held.still_mine():
                task.cancel()

    def _may_act(self, sent_at: float) -> bool:
        return self._clock() - sent_at < self._times.self_fence

    async def _carry_out(self, held: Holding) -> None:
        fence, named = held.work.fence, log.bind(**{f"{self._kind}_id": str(held.work.work_id)})
        try:
            with suppress(DrainingError):
                await self._walk(held)
            if held.is_draining:
                await self._give_back(fence, "The worker was stopped.", 0.0)
        except WorkLostError:
            named.warning(f"{self._kind} lost", claim=held.work.claim)
        except Exception as error:
            # The work counts as claimed in vain; after five of these it is left to people.
            named.exception(f"{self._kind} failed")
            await self._give_back(fence, type(error).__name__, self._times.renew)

    def _ended(self, held: Holding, task: asyncio.Task[None]) -> None:
        self._tasks.pop(held, None)
        self._wake.set()
