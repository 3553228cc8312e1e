"""All streams and the rows next to them in one snapshot, read page by page."""

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any
from uuid import UUID

import asyncpg
import msgspec

from beamkeep.contexts.access.logins import LoginDigest
from beamkeep.contexts.catalogue import CATALOGUE
from beamkeep.kernel import CLAIMS, Table
from beamkeep.runtime.store import Snapshot, StoredEvent, StoredSnapshot, Stream

from .row_faults import row_faults
from .tables import parsed_rows, read_columns

PAGE = 500
SCOPE_COLUMNS = {"claims": "scope", "provenance_edge": "relation", "object_team": "stream_type"}
"""The column of a table by which rows of several aggregates are distinguished."""

# The events of all streams of one type, by stream and version.
EVENTS = """
SELECT version, event_type, schema_version, payload::text, stream_id FROM bk.events
 WHERE stream_type = $1 ORDER BY stream_id, version
"""

# Decisions that were made without a surface, by a rule of an agent.
AGENT_DECISIONS = """
SELECT stream_id, principal_id FROM bk.events
 WHERE stream_type = 'Decision' AND version = 1 AND surface_id IS NULL
   AND payload ->> 'rule' LIKE 'agent:%'
"""

# Logins as events name them. Only the owner of the function reads subjects and the key.
LOGIN_DIGESTS = "SELECT actor_id, issuer, subject_digest FROM bk.login_digests() ORDER BY actor_id"

# Snapshots of some folds, and who wrote the first event of each stream.
SNAPSHOTS = """
SELECT s.stream_type, s.stream_id, s.version, s.state, s.owner_id,
       (SELECT e.principal_id FROM bk.events e WHERE e.stream_type = s.stream_type
           AND e.stream_id = s.stream_id AND e.version = 1)
  FROM bk.snapshots s WHERE s.fold = ANY($1::uuid[]) ORDER BY s.stream_type, s.stream_id
"""
OTHER_SNAPSHOTS = "SELECT count(*) FROM bk.snapshots WHERE fold <> ALL($1::uuid[])"
STREAM = """
SELECT version, event_type, schema_version, payload::text FROM bk.events
 WHERE stream_type = $1 AND stream_id = $2 AND version <= $3 ORDER BY version
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

    async def login_digests(self) -> AsyncIterator[LoginDigest]:
        """Return the digests of all logins, by actor."""
        async for row in self._connection.cursor(LOGIN_DIGESTS, prefetch=PAGE):
            yield LoginDigest(**dict(row))

    async def events(self, stream_type: str) -> AsyncIterator[tuple[UUID, StoredEvent]]:
        """Return the events of all streams of a type, by stream and version."""
        async for *recorded, id in self._connection.cursor(EVENTS, stream_type, prefetch=PAGE):
            yield id, StoredEvent(*recorded)

    async def rows(self, of: Table[Any], owner: str, scopes: Sequence[str]) -> AsyncIterator[Any]:
        """Return the rows of a table, or those of these scopes, by owner; without one last."""
        where = f" WHERE {SCOPE_COLUMNS[of.name]} = ANY($1)" if scopes else ""
        select = f"SELECT {read_columns(of)} FROM bk.{of.name}{where} ORDER BY {owner}"  # noqa: S608
        arguments = [list(scopes)] if scopes else []
        async for row in self._connection.cursor(select, *arguments, prefetch=PAGE):
            (parsed,) = parsed_rows(of, [row])
            yield parsed

    async def claims_beyond(self, scopes: Sequence[str]) -> AsyncIterator[Any]:
        """Return the claims of other scopes than these."""
        select = f"SELECT {read_columns(CLAIMS)} FROM bk.claims WHERE scope <> ALL($1)"  # noqa: S608
        async for row in self._connection.cursor(select, list(scopes), prefetch=PAGE):
            yield msgspec.convert(dict(row), CLAIMS.row)

    async def snapshots(self, folds: Sequence[UUID]) -> AsyncIterator[StoredSnapshot]:
        """Return the snapshots of these folds, with the principals of the first events."""
        cursor = self._connection.cursor(SNAPSHOTS, list(folds), prefetch=PAGE)
        async for name, id, version, state, owner_id, first in cursor:
            yield StoredSnapshot(
                (name, id),
                Snapshot(version, state.encode()),
                owner_id=owner_id,
                first_principal_id=first,
            )

    async def stream(self, stream: Stream, upto: int) -> AsyncIterator[StoredEvent]:
        """Return the events of one stream up to a version."""
        async for row in self._connection.cursor(STREAM, *stream, upto, prefetch=PAGE):
            yield StoredEvent(*row)

    async def other_snapshots(self, folds: Sequence[UUID]) -> int:
        """Return how many snapshots are of other folds."""
        return await self._connection.fetchval(OTHER_SNAPSHOTS, list(folds))

    async def faults(self) -> AsyncIterator[str]:
        """Return what the database itself finds wrong with its rows, in sentences."""
        async for fault in row_faults(self._connection, CATALOGUE.views):
            yield fault

    async def agent_decisions(self) -> AsyncIterator[tuple[UUID, UUID]]:
        """Return the decisions that agents made inside the service, each with its agent."""
        async for id, agent_id in self._connection.cursor(AGENT_DECISIONS, prefetch=PAGE):
            yield id, agent_id


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
