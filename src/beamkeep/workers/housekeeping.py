"""Housekeeping: what is measured and what is deleted at regular times."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Protocol

import structlog

from beamkeep.telemetry import Telemetry

from .durable import WorkQueue

BLOCKED_AFTER = 0.5
EVIDENCE_DAYS = 7
STALE_AFTER = 10.0
"""Seconds that an event may wait for a list before the list says that it is stale."""

log: structlog.stdlib.BoundLogger = structlog.get_logger()


class Retention(Protocol):
    """Where stored answers, denials, deliveries and evidence are deleted once they are old."""

    async def forget_answers(self, hours: int) -> int:
        """Delete idempotency entries older than this, and return how many."""
        ...

    async def forget_denials(self, days: int) -> int:
        """Delete denials older than this, and return how many."""
        ...

    async def forget_deliveries(self, days: int) -> int:
        """Delete settled deliveries older than this, and return how many."""
        ...

    async def forget_evidence(self, days: int, minutes: int) -> int:
        """Delete evidence older than this that no decision followed within some minutes."""
        ...


class Housekeeping:
    """Measures the lists' lag and deletes old answers, denials, deliveries and evidence."""

    def __init__(
        self,
        lag: Callable[[], Awaitable[Mapping[str, float]]],
        store: Retention,
        telemetry: Telemetry,
        *,
        answer_hours: int,
        denial_days: int,
        delivery_days: int,
        evidence_minutes: int,
    ) -> None:
        self._lag, self._store, self._telemetry = lag, store, telemetry
        self._answer_hours, self._denial_days = answer_hours, denial_days
        self._delivery_days, self._evidence_minutes = delivery_days, evidence_minutes

    async def look(self) -> None:
        """Do all of it once."""
        for name, seconds in (await self._lag()).items():
            self._telemetry.projection_lag.labels(name).set(seconds)
        await self._store.forget_answers(self._answer_hours)
        await self._store.forget_denials(self._denial_days)
        await self._store.forget_deliveries(self._delivery_days)
        await self._store.forget_evidence(EVIDENCE_DAYS, self._evidence_minutes)


class ListWatch:
    """Knows which lists are behind the log, whichever process updates them."""

    def __init__(
        self, lag: Callable[[], Awaitable[Mapping[str, float]]], telemetry: Telemetry
    ) -> None:
        self._lag, self._telemetry = lag, telemetry
        self._stale = frozenset[str]()

    async def look(self) -> None:
        """Measure once."""
        lags = await self._lag()
        for name, seconds in lags.items():
            self._telemetry.projection_lag.labels(name).set(seconds)
        self._stale = frozenset(name for name, seconds in lags.items() if seconds > STALE_AFTER)

    def is_stale(self, name: str) -> bool:
        """Return whether a list was too far behind at the last look."""
        return name in self._stale


class WorkWatch:
    """Shows how much durable work waits, is held and is left to people."""

    def __init__(self, queue: WorkQueue, telemetry: Telemetry) -> None:
        self._queue, self._telemetry = queue, telemetry

    async def look(self) -> None:
        """Count the work of every kind once."""
        counts, telemetry = await self._queue.counts(), self._telemetry
        telemetry.work.clear()
        telemetry.work_oldest.clear()
        for kind, waiting, held, dead, oldest in counts:
            for state, number in (("waiting", waiting), ("held", held), ("dead", dead)):
                telemetry.work.labels(kind, state).set(number)
            telemetry.work_oldest.labels(kind).set(oldest.total_seconds())


class TailWatch:
    """Shows which processes hold the tail back, and logs each of them once."""

    def __init__(
        self,
        blocked_by: Callable[[float], Awaitable[Sequence[tuple[int, str, float]]]],
        telemetry: Telemetry,
    ) -> None:
        self._blocked_by, self._telemetry = blocked_by, telemetry
        self._known: set[int] = set()

    async def look(self) -> None:
        """Show the processes whose transactions are older than `BLOCKED_AFTER` seconds."""
        found = await self._blocked_by(BLOCKED_AFTER)
        # Cleared only now: a reader of the metrics must not find them empty during the query.
        self._telemetry.projection_blocked_by.clear()
        for pid, database, age in found:
            self._telemetry.projection_blocked_by.labels(str(pid), database).set(age)
            if pid not in self._known:
                log.warning("lists held back", pid=pid, database=database, seconds=round(age, 1))
        self._known = {pid for pid, _, _ in found}
