"""The places of relays on PostgreSQL."""

from beamkeep.adapters.postgres.connections import Connections
from beamkeep.adapters.postgres.statements import Statement
from beamkeep.feed.log import LogPlace
from beamkeep.runtime.store import Position

from .relay import RelayPlace

READ = """
SELECT transaction_id::text::bigint, position, event_id, decided, break_sequence
  FROM bk.relay_place WHERE stream = $1
"""

# A decision that no relay has begun to follow is not overwritten.
WRITE = Statement("""
INSERT INTO bk.relay_place AS r (stream, transaction_id, position, event_id)
VALUES (:stream, :tx::text::xid8, :position, :event_id)
ON CONFLICT (stream) DO UPDATE
   SET transaction_id = excluded.transaction_id, position = excluded.position,
       event_id = excluded.event_id, decided = false, break_sequence = NULL, updated_at = now()
 WHERE NOT r.decided OR r.break_sequence IS NOT NULL
""")

DECIDE = Statement("""
INSERT INTO bk.relay_place (stream, transaction_id, position, event_id, decided)
VALUES (:stream, :tx::text::xid8, :position, :event_id, true)
ON CONFLICT (stream) DO UPDATE
   SET transaction_id = excluded.transaction_id, position = excluded.position,
       event_id = excluded.event_id, decided = true, break_sequence = NULL, updated_at = now()
""")

BEGIN_BREAK = Statement("""
UPDATE bk.relay_place SET break_sequence = :sequence, updated_at = now()
 WHERE stream = :stream AND decided
""")


class PostgresRelayPlaces:
    """The place of the relay of one stream of the bus, as the role of the service."""

    def __init__(self, connections: Connections, stream: str) -> None:
        self._connections, self._stream = connections, stream

    async def read(self) -> RelayPlace | None:
        """Return the place, if there is one."""
        rows = await self._connections.read(READ, self._stream)
        if not rows:
            return None
        tx, position, event_id, decided, break_sequence = rows[0]
        place = LogPlace(Position(tx, position), event_id)
        return RelayPlace(place, decided=decided, break_sequence=break_sequence)

    async def write(self, place: LogPlace) -> None:
        """Keep how far the relay has come, unless a decision waits."""
        await self._connections.fetch(*WRITE.bind(self._values(place)))

    async def decide(self, place: LogPlace) -> None:
        """Let the relay continue at a place."""
        await self._connections.fetch(*DECIDE.bind(self._values(place)))

    async def begin_break(self, sequence: int) -> None:
        """Keep the end of the stream at which the relay begins to follow a decision."""
        values = {"stream": self._stream, "sequence": sequence}
        await self._connections.fetch(*BEGIN_BREAK.bind(values))

    def _values(self, place: LogPlace) -> dict[str, object]:
        (tx, position), event_id = place
        return {
            "stream": self._stream,
            "tx": str(tx),
            "position": position,
            "event_id": event_id,
        }
