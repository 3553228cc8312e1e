"""The staleness watch: an enclosure whose monitor is silent is not known to be permitted."""

from collections.abc import Callable
from datetime import datetime, timedelta

from beamkeep.contexts.enclosure.enclosure import (
    FRESHNESS,
    EnclosureLifecycle,
    ListEnclosures,
    PermitStatus,
)
from beamkeep.runtime.session import Session

from .reporting import Monitor

REF = "staleness-watch"


class StalenessWatch:
    """Reports `Unknown` for every enclosure that was not reported of for too long."""

    def __init__(
        self,
        monitor: Monitor,
        sessions: Callable[[], Session],
        stale_after: timedelta,
        clock: Callable[[], datetime],
    ) -> None:
        self._monitor, self._sessions = monitor, sessions
        self._stale_after, self._clock = stale_after, clock

    async def look(self) -> None:
        """Look once at all of them; what cannot be reported now is seen again the next time."""
        session, now = self._sessions(), self._clock()
        known = [
            id
            for status in (PermitStatus.PERMITTED, PermitStatus.NOT_PERMITTED)
            for id in await session.matching(
                ListEnclosures(lifecycle=EnclosureLifecycle.ACTIVE, permit_status=status)
            )
        ]
        for row in await session.rows(FRESHNESS, enclosure_id=set(known)):
            silent = now - row.last_reported_at if row.last_reported_at else timedelta.max
            if silent > self._stale_after:
                arguments = {
                    "enclosure_id": str(row.enclosure_id),
                    "permit_status": PermitStatus.UNKNOWN.value,
                    "reason": f"no observation for {silent.total_seconds():.0f} seconds",
                    "monitor_ref": REF,
                }
                await self._monitor.report("observe_enclosure_status", arguments)
