"""All streams and the rows beside them in one snapshot, read page by page."""

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any
from uuid import UUID

import asyncpg
import msgspec

from beamkeep.kernel import CLAIMS, Table
from beamkeep.runtime.store import StoredEvent

from .tables import parsed_rows

PAGE = 500
SCOPE_COLUMNS = {"claims": "scope", "provenance_edge": "relation"}
"""The column of a table by which rows of several aggregates are told apart."""

# The events of all streams of one type, by stream and version.
EVENTS = """
SELECT version, event_type, schema_version, payload::text, stream_id FROM bk.events
 WHERE stream_type = $1 ORDER BY stream_id, version
"""

# Reading everything takes longer than the timeouts for calls allow.
NO_TIMEOUTS = """
SET LOCAL statement_timeout = 0;
SET LOCAL idle_in_transaction_session_timeout = 0;
"""


class PostgresLedger:
    """Reads in one transaction, so that streams and rows are consistent."""

    def __init__(self, connection: asyncpg.Connection) -> None:
        self._connection = connection

    async def login_key(self) -> bytes:
        """Return the secret for the digests of logins."""
        return await self._connection.fetchval("SELECT cursor_key FROM bk.deployment")

    async def events(self, stream_type: str) -> AsyncIterator[tuple[UUID, StoredEvent]]:
        """Return the events of all streams of a type, by stream and version."""
        async for *recorded, id in self._connection.cursor(EVENTS, stream_type, prefetch=PAGE):
            yield id, StoredEvent(*recorded)

    async def rows(self, of: Table[Any], owner: str, scopes: Sequence[str]) -> AsyncIterator[Any]:
        """Return the rows of a table, or those of these scopes, by owner; without one last."""
        where = f" WHERE {SCOPE_COLUMNS[of.name]} = ANY($1)" if scopes else ""
        select = f"SELECT {_columns(of)} FROM bk.{of.name}{where} ORDER BY {owner}"  # noqa: S608
        arguments = [list(scopes)] if scopes else []
        async for row in self._connection.cursor(select, *arguments, prefetch=PAGE):
            (parsed,) = parsed_rows(of, [row])
            yield parsed

    async def claims_beyond(self, scopes: Sequence[str]) -> AsyncIterator[Any]:
        """Return the claims of other scopes than these."""
        select = f"SELECT {_columns(CLAIMS)} FROM bk.claims WHERE scope <> ALL($1)"  # noqa: S608
        async for row in self._connection.cursor(select, list(scopes), prefetch=PAGE):
            yield msgspec.convert(dict(row), CLAIMS.row)


@asynccontextmanager
async def ledger(url: str) -> AsyncGenerator[PostgresLedger]:
    """Provide a snapshot of the database as it is now."""
    connection = await asyncpg.connect(url, timeout=5)
    try:
        async with connection.transaction(isolation="repeatable_read", readonly=True):
            await connection.execute(NO_TIMEOUTS)
            yield PostgresLedger(connection)
    finally:
        await connection.close()


def _columns(table: Table[Any]) -> str:
    return ", ".join(table.row.__struct_fields__)
