"""What clients were answered at every attempt, compared with the log and the lists of the database.

It is done where the log is, or a part of it at a time: a long run has more than fits in memory.
"""

from pathlib import Path
from typing import Any, NamedTuple, Self
from uuid import UUID

import asyncpg
import psycopg

from beamkeep.contexts.catalogue import CATALOGUE
from beamkeep.feed.tail import PARTITIONS
from beamkeep.kernel import View
from beamkeep.runtime.store import Position, StoredEvent
from beamkeep.testing.database import Database
from beamkeep.testing.log import LOG, LoggedEvent, folded_rows

ATTEMPTS = """
CREATE SCHEMA soak;
CREATE UNLOGGED TABLE soak.attempts (
  request bigint NOT NULL, correlation_id uuid NOT NULL, status smallint NOT NULL, version bigint)
"""
COPY = "COPY soak.attempts FROM STDIN"
EFFECTS = """
CREATE UNLOGGED TABLE soak.effects AS
SELECT correlation_id, count(DISTINCT transaction_id) AS transactions,
       array_agg(version) AS versions
  FROM bk.events WHERE position > {before} GROUP BY correlation_id;
ANALYZE soak.attempts, soak.effects;
"""
HISTORY = """
WITH tried AS (
  SELECT a.*, e.versions, e.transactions, a.status BETWEEN 200 AND 299 AS good
    FROM soak.attempts a LEFT JOIN soak.effects e USING (correlation_id)),
requests AS (
  SELECT bool_or(good) AS good, count(versions) AS effects FROM tried GROUP BY request)
SELECT
  (SELECT count(*) FILTER (WHERE good) FROM requests) AS acknowledged,
  (SELECT count(*) FILTER (WHERE good AND effects = 0) FROM requests) AS lost,
  (SELECT count(*) FILTER (WHERE effects > 1) FROM requests) AS doubled,
  count(*) FILTER (WHERE transactions > 1) AS torn,
  count(*) FILTER (WHERE good AND version <> ALL(versions)) AS misnumbered,
  count(*) FILTER (WHERE status BETWEEN 400 AND 499) AS refused,
  count(*) FILTER (WHERE status BETWEEN 400 AND 499 AND versions IS NOT NULL)
    AS written_though_refused,
  count(*) FILTER (WHERE status = 0 OR status >= 500) AS unknown,
  count(*) FILTER (WHERE (status = 0 OR status >= 500) AND versions IS NOT NULL)
    AS committed_unknown,
  (SELECT count(*) FROM soak.effects WHERE correlation_id NOT IN
    (SELECT correlation_id FROM soak.attempts)) AS unaccounted,
  (SELECT count(*) FROM (SELECT 1 FROM bk.events GROUP BY stream_type, stream_id
    HAVING count(*) <> max(version)) AS s) AS holes
  FROM tried
"""
SIZES = """
SELECT (SELECT count(*) FROM bk.events) AS events,
       (SELECT sum(pg_total_relation_size(inhrelid)) FROM pg_inherits
         WHERE inhparent = 'bk.events'::regclass)::bigint AS log_bytes,
       pg_total_relation_size('bk.idempotency') AS idempotency_bytes,
       (SELECT sum(pg_total_relation_size(oid)) FROM pg_class
         WHERE relkind = 'r' AND relnamespace = 'proj'::regnamespace)::bigint AS list_bytes,
       pg_database_size(current_database()) AS database_bytes
"""
END = "SELECT max(position), (pg_current_wal_lsn() - '0/0')::bigint FROM bk.events"
WRONG = (
    "lost",
    "doubled",
    "torn",
    "misnumbered",
    "written_though_refused",
    "unaccounted",
    "holes",
    "rows_differing",
)
"""Figures that must be nothing."""


class End(NamedTuple):
    """How far a database has come: its newest event, and the bytes of write-ahead log."""

    position: int
    wal_bytes: int

    @classmethod
    def of(cls, database: Database) -> Self:
        """Where a database ends now."""
        ((position, wal_bytes),) = database.ask(END)
        return cls(int(str(position)), int(str(wal_bytes)))


async def audit(database: Database, history: Path, before: End) -> dict[str, Any]:
    """Compare a written history with everything in the log since, and with the lists."""
    wal_bytes = End.of(database).wal_bytes - before.wal_bytes
    _load(database.url("postgres"), history)
    connection = await asyncpg.connect(database.url("postgres"))
    try:
        await connection.execute(EFFECTS.format(before=before.position))
        (attempts,) = await connection.fetch(HISTORY)
        (sizes,) = await connection.fetch(SIZES)
        different = await differing_rows(connection)
    finally:
        await connection.close()
    return {
        **attempts,
        "rows_differing": different,
        "sizes": {**sizes, "wal_bytes": wal_bytes},
    }


def _load(url: str, history: Path) -> None:
    with psycopg.connect(url) as connection:
        connection.execute(ATTEMPTS)
        with history.open("rb") as lines, connection.cursor().copy(COPY) as copy:
            while part := lines.read(2**16):
                copy.write(part)


async def differing_rows(connection: asyncpg.Connection) -> int:
    """How many rows of all lists are not what a fresh fold of the log makes of them."""
    different = 0
    known = {view.name: 0 for view in CATALOGUE.views}
    for partition in range(PARTITIONS):
        log = await _log(connection, partition)
        kinds = {event.stream[0] for event in log}
        for view in CATALOGUE.views:
            if view.aggregate.name in kinds:
                folded = folded_rows(log, view)
                stored = await _stored(connection, view, list(folded))
                different += sum(stored.get(id) != row for id, row in folded.items())
                known[view.name] += len(stored)
    for name, count in known.items():
        # Rows that no stream stands behind.
        different += await connection.fetchval(f"SELECT count(*) FROM proj.{name}") - count
    return different


async def _log(connection: asyncpg.Connection, partition: int) -> list[LoggedEvent]:
    statement = LOG.replace("bk.events", f"bk.events_p{partition}")
    return [
        LoggedEvent(Position(tx, pos), (kind, id), principal, correlation, StoredEvent(*recorded))
        for tx, pos, kind, id, principal, correlation, *recorded in await connection.fetch(
            statement
        )
    ]


async def _stored(
    connection: asyncpg.Connection, view: View[Any], ids: list[UUID]
) -> dict[UUID, tuple[int, UUID, tuple[str, ...], bytes]]:
    rows = await connection.fetch(
        f"SELECT id, version, owner_id, facets, row::text FROM proj.{view.name} WHERE id = ANY($1)",
        ids,
    )
    return {
        id: (version, owner, tuple(facets), row.encode())
        for id, version, owner, facets, row in rows
    }
