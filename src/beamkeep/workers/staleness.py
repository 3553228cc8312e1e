"""The staleness watch: an enclosure whose monitor is silent is not known to be permitted."""

from collections.abc import Awaitable, Callable
from datetime import datetime
from uuid import UUID

from beamkeep.contexts.enclosure.enclosure import FRESHNESS, PermitStatus
from beamkeep.contexts.trust.freshness import is_stale
from beamkeep.runtime.session import Session

from .reporting import Monitor

REF = "staleness-watch"


class StalenessWatch:
    """Reports `Unknown` for every enclosure that was not reported of for too long."""

    def __init__(
        self,
        monitor: Monitor,
        sessions: Callable[[], Session],
        looked: Callable[[], Awaitable[None]],
    ) -> None:
        self._monitor, self._sessions, self._looked = monitor, sessions, looked
        self._settled: dict[UUID, datetime | None] = {}
        """Which report each enclosure was last found silent after."""

    async def look(self) -> None:
        """Look once at all of them; what cannot be reported now is seen again the next time."""
        session = self._sessions()
        left = 0
        for row in await session.rows(FRESHNESS):
            if row.age is None or not is_stale(row.age, session.installation.stale_after):
                continue
            if self._settled.get(row.enclosure_id) == row.last_reported_at:
                continue
            arguments = {
                "enclosure_id": str(row.enclosure_id),
                "permit_status": PermitStatus.UNKNOWN.value,
                "reason": f"no observation for {row.age.total_seconds():.0f} seconds",
                "monitor_ref": REF,
            }
            if await self._monitor.report("observe_enclosure_status", arguments):
                self._settled[row.enclosure_id] = row.last_reported_at
            else:
                left += 1
        if not left:
            await self._looked()
