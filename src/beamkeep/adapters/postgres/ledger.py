"""The streams and the rows beside them as they were at one moment, read page by page."""

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any
from uuid import UUID

import asyncpg
import msgspec

from beamkeep.kernel import CLAIMS, Table
from beamkeep.runtime.store import StoredEvent

PAGE = 500

# Every event of one type of stream, stream by stream.
EVENTS = """
SELECT version, event_type, schema_version, payload::text, stream_id FROM bk.events
 WHERE stream_type = $1 ORDER BY stream_id, version
"""

# It reads everything there is: no time limit that is made for calls fits it.
PATIENCE = """
SET LOCAL statement_timeout = 0;
SET LOCAL idle_in_transaction_session_timeout = 0;
"""


class PostgresLedger:
    """Reads within one transaction, so that nothing moves between a stream and its rows."""

    def __init__(self, connection: asyncpg.Connection) -> None:
        self._connection = connection

    async def login_key(self) -> bytes:
        """The secret that logins are digested with."""
        return await self._connection.fetchval("SELECT cursor_key FROM bk.deployment")

    async def events(self, stream_type: str) -> AsyncIterator[tuple[UUID, StoredEvent]]:
        """The events of all streams of a type, by stream and version."""
        async for *recorded, id in self._connection.cursor(EVENTS, stream_type, prefetch=PAGE):
            yield id, StoredEvent(*recorded)

    async def rows(self, of: Table[Any], owner: str, scopes: Sequence[str]) -> AsyncIterator[Any]:
        """The rows of a table, or its claims of these scopes, by owner; those without one last."""
        where, arguments = (" WHERE scope = ANY($1)", [list(scopes)]) if scopes else ("", [])
        select = f"SELECT {_columns(of)} FROM bk.{of.name}{where} ORDER BY {owner}"  # noqa: S608
        async for row in self._connection.cursor(select, *arguments, prefetch=PAGE):
            yield msgspec.convert(dict(row), of.row)

    async def claims_beyond(self, scopes: Sequence[str]) -> AsyncIterator[Any]:
        """The claims in none of these scopes."""
        select = f"SELECT {_columns(CLAIMS)} FROM bk.claims WHERE scope <> ALL($1)"  # noqa: S608
        async for row in self._connection.cursor(select, list(scopes), prefetch=PAGE):
            yield msgspec.convert(dict(row), CLAIMS.row)


@asynccontextmanager
async def ledger(url: str) -> AsyncGenerator[PostgresLedger]:
    """Everything as it is now, for as long as it is read."""
    connection = await asyncpg.connect(url, timeout=5)
    try:
        async with connection.transaction(isolation="repeatable_read", readonly=True):
            await connection.execute(PATIENCE)
            yield PostgresLedger(connection)
    finally:
        await connection.close()


def _columns(table: Table[Any]) -> str:
    return ", ".join(table.row.__struct_fields__)
