"""Variants of the service that are known to be bad."""

from beamkeep.adapters.postgres.event_store import PostgresEventStore
from beamkeep.kernel import replace
from beamkeep.runtime.store import Append, Position

REMEMBER = """
INSERT INTO bk.idempotency (principal_id, surface_id, key, fingerprint, status, result, version,
                            transaction_id, position)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8::text::xid8, $9) ON CONFLICT DO NOTHING
"""


class ForgetfulStore(PostgresEventStore):
    """Acts first, and remembers the answer in a statement of its own."""

    async def append(self, append: Append) -> Position:
        position = await super().append(replace(append, answer=None))
        if kept := append.answer:
            about = append.principal_id, append.surface_id, kept.key
            answer = kept.fingerprint, kept.status, kept.result.decode(), kept.version
            place = str(position.tx), position.position
            await self._connections.read(REMEMBER, *about, *answer, *place)
        return position
