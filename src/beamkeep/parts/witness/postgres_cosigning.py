"""The verifier keys of the witness, and what it has co-signed of other logs."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

import asyncpg

from beamkeep.adapters.postgres.connections import Connections
from beamkeep.adapters.postgres.statements import Statement

from .trees.notes import Form, VerifierKey
from .trees.tree import EMPTY_ROOT

KEYS = "SELECT key, from_at, until_at, revoked_at FROM bk.witness_key ORDER BY from_at, key"
SEEN = "SELECT size, root FROM bk.witness_origin WHERE origin = $1"
SEE = Statement("""
INSERT INTO bk.witness_origin AS w (origin, size, root) SELECT :origin, :size::bigint, :root::bytea
 WHERE :old::bigint = 0 OR EXISTS (SELECT FROM bk.witness_origin WHERE origin = :origin)
ON CONFLICT (origin) DO UPDATE SET size = excluded.size, root = excluded.root
 WHERE w.size = :old
RETURNING 1
""").text
# A key is never removed from the list, and what was said of it is never taken back.
END_KEY = """
INSERT INTO bk.witness_key AS k (key, until_at, revoked_at)
VALUES ($1, now(), CASE WHEN $2 THEN now() END)
ON CONFLICT (key) DO UPDATE SET until_at = coalesce(k.until_at, excluded.until_at),
                                revoked_at = coalesce(k.revoked_at, excluded.revoked_at)
"""


class PublishedKey(NamedTuple):
    """A verifier key, and when it signed."""

    key: str
    from_at: datetime
    until_at: datetime | None
    revoked_at: datetime | None


class PostgresCosigning:
    """Lists keys, and remembers the newest tree of each log that is co-signed."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    async def keys(self) -> Sequence[PublishedKey]:
        """Return all keys that have signed."""
        return [PublishedKey(*row) for row in await self._connections.read(KEYS)]

    async def seen(self, origin: str) -> tuple[int, bytes]:
        """Return size and root of another log as it was co-signed last."""
        rows = await self._connections.read(SEEN, origin)
        return (rows[0][0], rows[0][1]) if rows else (0, EMPTY_ROOT)

    async def see(self, origin: str, old: int, size: int, root: bytes) -> bool:
        """Remember another log, unless it was remembered at another size than the old one."""
        return bool(await self._connections.fetch(SEE, origin, size, root, old))


async def end_key(url: str, key: VerifierKey, *, is_leaked: bool) -> None:
    """List as the owner that a key signs no more, in either form; a leaked one as revoked."""
    connection = await asyncpg.connect(url)
    try:
        async with connection.transaction():
            await connection.execute("SET LOCAL ROLE bk_owner")
            for form in Form:
                await connection.execute(END_KEY, key._replace(form=form).text, is_leaked)
    finally:
        await connection.close()
