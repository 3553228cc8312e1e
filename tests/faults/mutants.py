"""Variants of the service that are known to be bad."""

from beamkeep.adapters.postgres.event_store import PostgresEventStore
from beamkeep.adapters.postgres.statements import Statement
from beamkeep.kernel import replace
from beamkeep.runtime.store import Append, Position

INSERT_ANSWER = Statement("""
INSERT INTO bk.idempotency (principal_id, surface_id, key, fingerprint, status, result, version,
                            transaction_id, position)
VALUES (:principal_id, :surface_id, :key, :fingerprint, :status, :result, :version,
        :tx::text::xid8, :position) ON CONFLICT DO NOTHING
""")


class ForgetfulStore(PostgresEventStore):
    """Acts first, and remembers the answer in a statement of its own."""

    async def append(self, append: Append) -> Position:
        position = await super().append(replace(append, answer=None))
        if answer := append.answer:
            values = {
                "principal_id": append.principal_id,
                "surface_id": append.surface_id,
                "key": answer.key,
                "fingerprint": answer.fingerprint,
                "status": answer.status,
                "result": answer.result.decode(),
                "version": answer.version,
                "tx": str(position.tx),
                "position": position.position,
            }
            await self._connections.read(*INSERT_ANSWER.bind(values))
        return position
