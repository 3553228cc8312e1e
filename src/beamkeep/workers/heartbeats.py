"""Heartbeats: every process tells which workers run, and names those that do not."""

import time
from collections.abc import Callable, Collection, Mapping
from math import inf
from typing import Protocol

from beamkeep.telemetry import Telemetry

from .supervision import Loop

BEAT_EVERY = 5.0
SILENT_AFTER = 60.0
"""Seconds without a heartbeat, or after its turn was due, until a worker counts as dead."""
PROJECTOR = "projector"
"""The worker that every deployment needs: lists are updated by nothing else."""


class Heartbeats(Protocol):
    """Where heartbeats are stored."""

    async def beat(self, overdue: Mapping[str, float]) -> None:
        """Store how many seconds the turn of each worker is overdue."""
        ...

    async def keep_only(self, workers: Collection[str]) -> None:
        """Forget all other workers: the settings switched them off."""
        ...

    async def ages(self) -> Mapping[str, float]:
        """Return the seconds since each worker last was on time."""
        ...


class HeartbeatWriter:
    """Writes the heartbeats of the workers of this process."""

    def __init__(
        self, heartbeats: Heartbeats, overdue: Callable[[str], float], workers: Collection[str]
    ) -> None:
        self._heartbeats, self._overdue, self._workers = heartbeats, overdue, workers
        self._has_begun = False

    def loop(self) -> Loop:
        """Return the loop that writes them."""
        return Loop("heartbeats", self.turn)

    async def turn(self) -> float:
        """Write them once, and forget workers that are switched off when the process begins."""
        if not self._has_begun:
            await self._heartbeats.keep_only(self._workers)
            self._has_begun = True
        await self._heartbeats.beat({name: self._overdue(name) for name in self._workers})
        return BEAT_EVERY


class WorkerWatch:
    """Knows which workers are silent, whichever process they run in."""

    def __init__(
        self,
        heartbeats: Heartbeats,
        telemetry: Telemetry,
        remedy: str,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._heartbeats, self._telemetry, self._remedy = heartbeats, telemetry, remedy
        self._clock, self._since = clock, clock()
        self._ages: Mapping[str, float] = {}

    async def look(self) -> None:
        """Read the heartbeats once."""
        self._ages = {PROJECTOR: inf} | dict(await self._heartbeats.ages())
        self._telemetry.show_heartbeats(self._ages)

    def silent(self) -> str | None:
        """Return a sentence that names the workers that were silent at the last look."""
        # Workers that were never heard of may start at the same time as this process.
        uptime = self._clock() - self._since
        known = {name: min(age, uptime) if age == inf else age for name, age in self._ages.items()}
        return silent_workers(known, self._remedy)


def silent_workers(ages: Mapping[str, float], remedy: str) -> str | None:
    """Return a sentence that names the workers that do not run; none when all do.

    `ages` are the seconds since each worker last was on time, infinite if it never ran.
    """
    silent = {name: age for name, age in sorted(ages.items()) if abs(age) > SILENT_AFTER}
    if not silent:
        return None
    if len(silent) < len(ages):
        named = ", ".join(f"{name} ({_duration(age)})" for name, age in silent.items())
        text = f"Workers have not finished a turn for too long: {named}"
        return f"{text}. Look for errors in the log of the worker. {remedy}"
    if min(silent.values()) == inf:
        return f"No worker has ever run, so lists are not updated. {remedy}"
    since = _duration(min(abs(age) for age in silent.values()))
    return f"No worker has run for {since}, so lists are not updated. {remedy}"


def _duration(seconds: float) -> str:
    return "never" if seconds == inf else f"{abs(seconds):.0f} s"
