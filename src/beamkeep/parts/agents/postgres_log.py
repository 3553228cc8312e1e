"""What the runtimes of agents ask of the log, on PostgreSQL."""

from datetime import datetime
from uuid import UUID

from beamkeep.adapters.postgres.connections import Connections
from beamkeep.adapters.postgres.statements import Statement
from beamkeep.runtime.store import Position, Stream

NOW = "SELECT clock_timestamp()"

FIRST = """
SELECT transaction_id::text::bigint, position FROM bk.events
 WHERE stream_type = $1 AND stream_id = $2 AND event_type = $3 ORDER BY version LIMIT 1
"""

# Without regard to the watermark: a write that is committed counts.
LAST_WRITE = """
SELECT transaction_id::text::bigint, position FROM bk.events
 WHERE principal_id = $1 ORDER BY transaction_id DESC, position DESC LIMIT 1
"""

WRITTEN_SINCE = Statement("""
SELECT count(*) FROM bk.events
 WHERE principal_id = :principal_id AND event_type = :event_type
   AND recorded_at >= :since::timestamptz
""")


class PostgresAgentLog:
    """Reads the log by the database's clock, as the role of the service."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    async def now(self) -> datetime:
        """Return the time of the database."""
        return (await self._connections.read(NOW))[0][0]

    async def first(self, stream: Stream, event_type: str) -> Position | None:
        """Return the position of the first event of this type in a stream."""
        rows = await self._connections.read(FIRST, *stream, event_type)
        return Position(*rows[0]) if rows else None

    async def last_write(self, principal_id: UUID) -> Position | None:
        """Return the position of the last event of a principal."""
        rows = await self._connections.read(LAST_WRITE, principal_id)
        return Position(*rows[0]) if rows else None

    async def written_since(self, principal_id: UUID, event_type: str, since: datetime) -> int:
        """Return how many events of this type a principal has recorded since a time."""
        values = {"principal_id": principal_id, "event_type": event_type, "since": since}
        return (await self._connections.read(*WRITTEN_SINCE.bind(values)))[0][0]
