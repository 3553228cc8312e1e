"""Heartbeats of workers in PostgreSQL."""

from collections.abc import Collection, Mapping

from .connections import Connections

# A worker that is on time in any process is on time. A heartbeat in the future was written before
# the clock was set back.
BEAT = """
INSERT INTO bk.heartbeat AS h (worker, beat_at)
SELECT u.worker, clock_timestamp() - make_interval(secs => u.overdue)
  FROM unnest($1::text[], $2::float8[]) AS u (worker, overdue)
 ORDER BY u.worker
ON CONFLICT (worker) DO UPDATE SET beat_at = EXCLUDED.beat_at
 WHERE h.beat_at < EXCLUDED.beat_at OR h.beat_at > clock_timestamp()
"""
KEEP_ONLY = "DELETE FROM bk.heartbeat WHERE worker <> ALL($1::text[])"
AGES = """
SELECT worker, EXTRACT(epoch FROM clock_timestamp() - beat_at)::float8 AS age
  FROM bk.heartbeat WHERE worker <> $1
"""


class PostgresHeartbeats:
    """Keeps the heartbeats of loops in `bk.heartbeat`, next to that of the staleness watch."""

    def __init__(self, connections: Connections, apart: str) -> None:
        self._connections, self._apart = connections, apart

    async def beat(self, overdue: Mapping[str, float]) -> None:
        """Store how many seconds the turn of each worker is overdue."""
        await self._connections.fetch(BEAT, [*overdue], [*overdue.values()])

    async def keep_only(self, workers: Collection[str]) -> None:
        """Forget all other workers."""
        await self._connections.fetch(KEEP_ONLY, [*workers, self._apart])

    async def ages(self) -> Mapping[str, float]:
        """Return the seconds since each worker last was on time."""
        rows = await self._connections.read(AGES, self._apart)
        return {row["worker"]: row["age"] for row in rows}
