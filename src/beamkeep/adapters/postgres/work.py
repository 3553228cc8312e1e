"""Durable work on PostgreSQL."""

from collections.abc import Sequence
from datetime import timedelta
from uuid import UUID

from beamkeep.workers.durable import MOST_IDLE_CLAIMS, ClaimedWork

from .connections import Connections
from .statements import Statement

CLAIM = Statement("""
WITH due AS MATERIALIZED (
  SELECT work_id, COALESCE(beat_at, created_at) AS last FROM bk.work
   WHERE kind = :kind AND ended_at IS NULL AND idle_claims < :most_idle_claims
     AND due_at <= clock_timestamp()
   ORDER BY due_at LIMIT :limit FOR UPDATE SKIP LOCKED)
UPDATE bk.work w SET claim = w.claim + 1, owner = :owner, beat_at = clock_timestamp(),
       due_at = clock_timestamp() + :lease::interval, idle_claims = w.idle_claims + 1
  FROM due WHERE w.work_id = due.work_id
RETURNING w.work_id, w.subject_id, w.claim, w.owner, clock_timestamp() - due.last
""")


class PostgresWorkQueue:
    """Claims rows of `bk.work`."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    async def claim(
        self, kind: str, owner: UUID, lease: timedelta, limit: int
    ) -> Sequence[ClaimedWork]:
        """Claim work of a kind that is due, the longest due first."""
        values = {
            "kind": kind,
            "owner": owner,
            "lease": lease,
            "limit": limit,
            "most_idle_claims": MOST_IDLE_CLAIMS,
        }
        rows = await self._connections.fetch(*CLAIM.bind(values))
        return [ClaimedWork(*row) for row in rows]
