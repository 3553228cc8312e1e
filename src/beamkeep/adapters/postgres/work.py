"""Durable work on PostgreSQL."""

from collections.abc import Sequence
from datetime import timedelta
from uuid import UUID

from beamkeep.runtime.work import MOST_IDLE_CLAIMS, ClaimedWork

from .connections import Connections

CLAIM = """
WITH due AS MATERIALIZED (
  SELECT work_id, COALESCE(beat_at, created_at) AS last FROM bk.work
   WHERE kind = $1 AND ended_at IS NULL AND idle_claims < $5 AND due_at <= clock_timestamp()
   ORDER BY due_at LIMIT $4 FOR UPDATE SKIP LOCKED)
UPDATE bk.work w SET claim = w.claim + 1, owner = $2, beat_at = clock_timestamp(),
       due_at = clock_timestamp() + $3::interval, idle_claims = w.idle_claims + 1
  FROM due WHERE w.work_id = due.work_id
RETURNING w.work_id, w.subject_id, w.claim, w.owner, clock_timestamp() - due.last
"""


class PostgresWorkQueue:
    """Claims rows of `bk.work`."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    async def claim(
        self, kind: str, owner: UUID, lease: timedelta, limit: int
    ) -> Sequence[ClaimedWork]:
        """Claim work of a kind that is due, the longest due first."""
        rows = await self._connections.fetch(CLAIM, kind, owner, lease, limit, MOST_IDLE_CLAIMS)
        return [ClaimedWork(*row) for row in rows]
