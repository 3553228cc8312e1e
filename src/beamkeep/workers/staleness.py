"""The staleness watch: an enclosure whose monitor is silent is not known to be permitted."""

from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from math import inf
from uuid import UUID

from beamkeep.contexts.enclosure.enclosure import FRESHNESS, ObserveEnclosureStatus, PermitStatus
from beamkeep.contexts.trust.freshness import is_stale
from beamkeep.runtime.session import Session
from beamkeep.telemetry import Telemetry

from .reporting import Monitor

REF = "staleness-watch"
LATE_AFTER = 60.0
"""Six looks missed: the staleness watch has not merely been slow once."""


class StalenessWatch:
    """Reports `Unknown` for every enclosure whose monitor has been silent for too long."""

    def __init__(
        self,
        monitor: Monitor,
        sessions: Callable[[], Session],
        looked: Callable[[], Awaitable[None]],
    ) -> None:
        self._monitor, self._sessions, self._looked = monitor, sessions, looked
        self._settled: dict[UUID, datetime | None] = {}
        """For each enclosure found silent, the time of its last report."""

    async def look(self) -> None:
        """Check every enclosure; one that cannot be reported now is checked again next time."""
        session = self._sessions()
        stale_after, left = session.facts.stale_after, 0
        for row in await session.rows(FRESHNESS):
            if row.age is None or not is_stale(row.age, stale_after):
                continue
            if self._settled.get(row.enclosure_id) == row.last_reported_at:
                continue
            unknown = ObserveEnclosureStatus(
                enclosure_id=row.enclosure_id,
                permit_status=PermitStatus.UNKNOWN,
                reason=f"no observation for {row.age.total_seconds():.0f} seconds",
                monitor_ref=REF,
            )
            if await self._monitor.report(unknown):
                self._settled[row.enclosure_id] = row.last_reported_at
            else:
                left += 1
        if not left:
            await self._looked()


class WatchAge:
    """Tells how long ago the staleness watch last looked, whichever process it runs in."""

    def __init__(
        self,
        last_look: Callable[[], Awaitable[tuple[timedelta | None, bool]]],
        telemetry: Telemetry,
        remedy: str,
    ) -> None:
        self._last_look, self._telemetry, self._remedy = last_look, telemetry, remedy

    async def measure(self) -> tuple[float | None, bool]:
        """Return the age of the last look, and whether any enclosure relies on the watch."""
        age, needed = await self._last_look()
        seconds = None if age is None else age.total_seconds()
        self._telemetry.watched(inf if seconds is None else seconds)
        return seconds, needed

    async def late(self) -> str | None:
        """Return a sentence when the watch is needed and has not looked for too long."""
        age, needed = await self.measure()
        # A look in the future was recorded before the clock was put back: its age is not known.
        if not needed or (age is not None and abs(age) <= LATE_AFTER):
            return None
        since = "never looked" if age is None else f"last looked {abs(age):.0f} seconds ago"
        return (
            f"The staleness watch {since}; enclosures that fall silent stay as they are."
            f" {self._remedy}"
        )
