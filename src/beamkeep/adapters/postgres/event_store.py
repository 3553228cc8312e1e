"""The event store on PostgreSQL: one statement to read for a call, one to write its decision."""

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from datetime import datetime, timedelta
from typing import Any, cast
from uuid import UUID

import asyncpg
from msgspec import Raw

from beamkeep.adapters.call_memory import CallMemory
from beamkeep.adapters.stream_queues import StreamQueues
from beamkeep.kernel import Denial, Insert, Sight, Table
from beamkeep.runtime.answers import AnswerEvidence
from beamkeep.runtime.codec import encode
from beamkeep.runtime.store import (
    READ_AT_ONCE,
    Append,
    CallContext,
    CallLookup,
    Envelope,
    LoadedStream,
    Memory,
    MovedError,
    NewSnapshot,
    Position,
    RowQuery,
    Snapshot,
    StoredEvent,
    StoreUnavailableError,
    Stream,
)

from .append_writer import AppendWriter
from .call_lookup import OPEN, call_context
from .connections import CONNECTION_ERRORS, UNAVAILABLE_ERRORS, Connections
from .evidence import EvidenceWriter
from .sights import of_teams, sight_values
from .snapshots import DROP_SNAPSHOTS, KEEP_SNAPSHOTS, OUTDATED_SNAPSHOTS, snapshot_values
from .statements import Statement
from .tables import insert_if_absent, read_ancestors, read_last, read_page, read_rows, row_values

# One stream: its snapshot, which has no event type, and the events after it. The first four
# columns are those of a stored event.
LOAD_ONE = Statement("""
WITH snapshot AS MATERIALIZED (
  SELECT version, state FROM bk.snapshots
   WHERE fold = :fold::uuid AND stream_type = :stream_type AND stream_id = :stream_id)
SELECT version, NULL AS event_type, NULL::smallint AS schema_version, state AS payload FROM snapshot
UNION ALL
(SELECT e.version, e.event_type, e.schema_version, e.payload::text FROM bk.events e
  WHERE e.stream_type = :stream_type AND e.stream_id = :stream_id
    AND e.version > COALESCE((SELECT k.version FROM snapshot k), 0)
  ORDER BY e.version LIMIT :limit)
""")

# The same for several streams.
LOAD_MANY = Statement("""
SELECT e.version, e.event_type, e.schema_version, e.payload, s.stream_type, s.stream_id
  FROM unnest(:stream_types::text[], :stream_ids::uuid[], :folds::uuid[])
    AS s (stream_type, stream_id, fold)
 CROSS JOIN LATERAL (
   WITH snapshot AS MATERIALIZED (
     SELECT k.version, k.state FROM bk.snapshots k
      WHERE k.fold = s.fold AND k.stream_type = s.stream_type AND k.stream_id = s.stream_id)
   SELECT k.version, NULL AS event_type, NULL::smallint AS schema_version, k.state AS payload
     FROM snapshot k
   UNION ALL
   (SELECT e.version, e.event_type, e.schema_version, e.payload::text FROM bk.events e
     WHERE e.stream_type = s.stream_type AND e.stream_id = s.stream_id
       AND e.version > COALESCE((SELECT k.version FROM snapshot k), 0)
     ORDER BY e.version LIMIT :limit)) AS e
""")

# The events of one stream after a version.
LATER = Statement("""
SELECT version, event_type, schema_version, payload::text FROM bk.events
 WHERE stream_type = :stream_type AND stream_id = :stream_id AND version > :after
 ORDER BY version LIMIT :limit
""")

# The principals that wrote the first events of several streams.
OWNERS = """
SELECT s.stream_type, s.stream_id, e.principal_id
  FROM unnest($1::text[], $2::uuid[]) AS s (stream_type, stream_id)
 CROSS JOIN LATERAL (
   SELECT principal_id FROM bk.events e
    WHERE e.stream_type = s.stream_type AND e.stream_id = s.stream_id AND e.version = 1
    LIMIT 1) AS e
"""

# Which of several streams there are, and which of them are in sight.
REACHED = Statement(f"""
SELECT s.stream_type, s.stream_id, e.principal_id = :principal_id::uuid
       OR :teams::boolean AND {of_teams("s.stream_id")}
  FROM unnest(:stream_types::text[], :stream_ids::uuid[]) AS s (stream_type, stream_id)
 CROSS JOIN LATERAL (
   SELECT principal_id FROM bk.events e
    WHERE e.stream_type = s.stream_type AND e.stream_id = s.stream_id AND e.version = 1
    LIMIT 1) AS e
""")  # noqa: S608

# The events of one stream with their envelopes; the columns are in the order of `Envelope`.
HISTORY = Statement("""
SELECT event_id, stream_type, stream_id, version, transaction_id::text::bigint, position,
       event_type, schema_version, principal_id, command_name, surface_id, correlation_id,
       causation_id, recorded_at, occurred_at, payload::text
  FROM bk.events
 WHERE stream_type = :stream_type AND stream_id = :stream_id AND version > :after
 ORDER BY version LIMIT :limit
""")

# The events between two times. The index is on `recorded_at`; the clocks of service and database
# are assumed to differ by less than three hours.
HAPPENED = Statement(f"""
SELECT e.stream_type, e.version, e.event_type, e.schema_version, e.payload::text
  FROM bk.events e
 WHERE e.recorded_at >= :since::timestamptz - interval '3 hours'
   AND e.recorded_at < :until::timestamptz + interval '3 hours'
   AND e.occurred_at >= :since AND e.occurred_at < :until
   AND e.event_type = ANY(:event_types::text[])
   AND (:principal_id::uuid IS NULL OR (
     SELECT f.principal_id FROM bk.events f
      WHERE f.stream_type = e.stream_type AND f.stream_id = e.stream_id AND f.version = 1
      LIMIT 1) = :principal_id
    OR :teams::boolean AND {of_teams("e.stream_id")})
 ORDER BY e.occurred_at, e.transaction_id, e.position LIMIT :limit
""")  # noqa: S608

# The last event of some types before a time, for each stream, found by a backward index scan.
LATEST = Statement("""
SELECT s.stream_type, s.stream_id, e.version, e.event_type, e.schema_version, e.payload
  FROM unnest(:stream_types::text[], :stream_ids::uuid[]) AS s (stream_type, stream_id)
 CROSS JOIN LATERAL (
   SELECT version, event_type, schema_version, payload::text FROM bk.events e
    WHERE e.stream_type = s.stream_type AND e.stream_id = s.stream_id
      AND e.event_type = ANY(:event_types::text[]) AND e.occurred_at < :before
    ORDER BY e.version DESC LIMIT 1) AS e
""")

# One batch of the answers that are older than some hours.
FORGET_ANSWERS = Statement("""
WITH gone AS (
  DELETE FROM bk.idempotency WHERE ctid = ANY(ARRAY(
    SELECT ctid FROM bk.idempotency
     WHERE recorded_at < now() - make_interval(hours => :hours) LIMIT :limit))
  RETURNING 1)
SELECT count(*) FROM gone
""")

# One batch of the denials that are older than some days. It is a function because the role of the
# service has no privilege to delete denials.
# What a bridge made outside is remembered until its subscription is retired.
FORGET_DELIVERIES = Statement("""
WITH gone AS (
  DELETE FROM bk.delivery WHERE ctid = ANY(ARRAY(
    SELECT d.ctid FROM bk.delivery d
     WHERE d.status <> 'Sending' AND d.at < now() - make_interval(days => :days)
       AND CASE WHEN d.status = 'Refused' THEN d.at < now() - interval '90 days'
                ELSE d.outside_id IS NULL OR NOT EXISTS (
                  SELECT FROM bk.subscription_place p WHERE p.subscription_id = d.subscription_id)
           END
     LIMIT :limit))
  RETURNING 1)
SELECT count(*) FROM gone
""")

FORGET_DENIALS = Statement("SELECT bk.forget_denials(:days, :limit)")
FORGET_EVIDENCE = Statement("SELECT bk.forget_evidence(:days, :minutes, :limit)")
BATCH_SIZE = 10_000

HEARTBEAT = """
INSERT INTO bk.heartbeat (worker, beat_at) VALUES ($1, now())
ON CONFLICT (worker) DO UPDATE SET beat_at = EXCLUDED.beat_at
"""

# The age of a worker's last heartbeat, and whether there is an enclosure for the worker to watch.
LAST_HEARTBEAT = """
SELECT (SELECT clock_timestamp() - h.beat_at FROM bk.heartbeat h WHERE h.worker = $1),
       EXISTS (SELECT 1 FROM bk.enclosure_freshness f WHERE f.last_reported_at IS NOT NULL)
"""

DENY = """
INSERT INTO bk.authorization_denials
SELECT * FROM jsonb_populate_record(NULL::bk.authorization_denials, $1::text::jsonb)
"""

NO_TIMEOUTS = {"statement_timeout": "0", "lock_timeout": "0"}
"""Settings for a connection that waits for other processes as long as they take."""


class PostgresEventStore:
    """Keeps events in `bk.events`, and the rows written with them in the tables next to it."""

    def __init__(
        self,
        connections: Connections,
        url: str,
        on_append: Callable[[Append], None] = lambda _: None,
    ) -> None:
        self._connections, self._url, self._on_append = connections, url, on_append
        self._writer, self._evidence = AppendWriter(connections), EvidenceWriter(connections)
        self._turns = StreamQueues(connections.advisory_lock)
        self._memory, self._lost = CallMemory(), 0

    async def open(self, opening: CallLookup) -> CallContext:
        """Return the caller, its grants, the stored answer and the events of the target."""
        memory = None
        if opening.recalls:
            if self._lost != self._connections.lost:
                self._lost = self._connections.lost
                self._memory.forget()
            if recalled := self._memory.recall(opening):
                return recalled
            memory = Memory(opening, self._memory.era)
        issuer, subject = opening.identity or (None, None)
        stream_type, stream_id = opening.stream or (None, None)
        values = {
            "principal_id": opening.principal_id,
            "issuer": issuer,
            "subject": subject,
            "conduit_id": opening.conduit_id,
            "surface_id": opening.surface_id,
            "command_name": opening.command_name,
            "idempotency_key": opening.idempotency_key,
            "stream_type": stream_type,
            "stream_id": stream_id,
            "fold": opening.fold,
            "limit": READ_AT_ONCE,
            "proposable": opening.proposable,
            "creates": opening.creates,
        }
        return call_context(opening, await self._connections.read(*OPEN.bind(values)), memory)

    async def load(
        self, streams: Sequence[Stream], folds: Mapping[str, UUID] | None = None
    ) -> Mapping[Stream, LoadedStream]:
        """Return these streams, with the snapshots of these folds by aggregate name."""
        if len(streams) == 1:
            (stream,) = streams
            if folds is None:
                events = await self.later(stream, 0, READ_AT_ONCE)
                return {stream: LoadedStream(events)} if events else {}
            stream_type, stream_id = stream
            values = {
                "stream_type": stream_type,
                "stream_id": stream_id,
                "fold": folds[stream_type],
                "limit": READ_AT_ONCE,
            }
            rows = await self._connections.read(*LOAD_ONE.bind(values))
            return {stream: _loaded(rows)} if rows else {}
        values = {
            **_stream_columns(streams),
            "folds": [folds and folds[name] for name, _ in streams],
            "limit": READ_AT_ONCE,
        }
        rows = await self._connections.read(*LOAD_MANY.bind(values))
        found: dict[Stream, list[asyncpg.Record]] = {}
        for row in rows:
            found.setdefault(row[4:6], []).append(row)
        return {stream: _loaded(rows) for stream, rows in found.items()}

    async def later(self, stream: Stream, after: int, limit: int) -> Sequence[StoredEvent]:
        """Return the events of one stream after a version, without their envelopes."""
        rows = await self._connections.read(*LATER.bind(_after(stream, after, limit)))
        return cast("Sequence[StoredEvent]", rows)

    async def owners(self, streams: Sequence[Stream]) -> Mapping[Stream, UUID]:
        """Return the principal that wrote the first event of each of these streams."""
        columns = _stream_columns(streams).values()
        rows = await self._connections.read(OWNERS, *columns) if streams else []
        return {(name, id): owner_id for name, id, owner_id in rows}

    async def reached(self, streams: Sequence[Stream], sight: Sight) -> Mapping[Stream, bool]:
        """Return whether each of these streams is in sight; leave out those that do not exist."""
        if not streams:
            return {}
        values = {**_stream_columns(streams), **sight_values(sight)}
        rows = await self._connections.read(*REACHED.bind(values))
        return {(name, id): is_seen for name, id, is_seen in rows}

    async def append(self, append: Append) -> Position:
        """Write an append completely or not at all, and return the position of its last event."""
        try:
            position = await self._writer.append(append)
        except Exception as error:
            self._memory.drop(append, has_moved=isinstance(error, MovedError))
            raise
        self._memory.remember(append)
        self._on_append(append)
        return position

    async def history(self, stream: Stream, after: int, limit: int) -> Sequence[Envelope]:
        """Return the events of one stream after a version, with their envelopes."""
        rows = await self._connections.read(*HISTORY.bind(_after(stream, after, limit)))
        return [Envelope(*known, payload=Raw(payload)) for *known, payload in rows]

    async def happened(
        self,
        types: Sequence[str],
        since: datetime,
        until: datetime,
        sight: Sight | None,
        limit: int,
    ) -> Sequence[tuple[str, StoredEvent]]:
        """Return events of these types between two times, oldest first, with aggregate names."""
        values = {
            "event_types": list(types),
            "since": since,
            "until": until,
            **sight_values(sight),
            "limit": limit,
        }
        rows = await self._connections.read(*HAPPENED.bind(values))
        return [(name, StoredEvent(*recorded)) for name, *recorded in rows]

    async def latest(
        self, streams: Sequence[Stream], types: Sequence[str], before: datetime
    ) -> Mapping[Stream, StoredEvent]:
        """Return the last event of these types before a time, for each of the streams."""
        values = {
            **_stream_columns(streams),
            "event_types": list(types),
            "before": before,
        }
        rows = await self._connections.read(*LATEST.bind(values))
        return {(name, id): StoredEvent(*recorded) for name, id, *recorded in rows}

    async def rows[R](self, table: Table[R], where: Mapping[str, object]) -> tuple[R, ...]:
        """Return the rows whose columns equal these values, or are among several of them."""
        return await read_rows(self._connections, table, where)

    async def entries[R](self, table: Table[R], row_query: RowQuery, limit: int) -> tuple[R, ...]:
        """Return one page of rows, in the order of the query."""
        return await read_page(self._connections, table, row_query, limit)

    async def last[R](
        self, table: Table[R], column: str, by: str, ids: Sequence[UUID]
    ) -> tuple[R, ...]:
        """Return, for each of these ids in one column, the row with the greatest value in `by`."""
        return await read_last(self._connections, table, (column, by), ids)

    async def above[R](self, table: Table[R], ids: Sequence[UUID]) -> tuple[R, ...]:
        """Return the rows of a tree that have these ids, and all rows above them."""
        return await read_ancestors(self._connections, table, ids)

    @asynccontextmanager
    async def alone(self, name: str) -> AsyncGenerator[None]:
        """Hold a lock that excludes every other process."""
        # A connection of its own without a transaction: the lock must not hold back the tail.
        connection = await asyncpg.connect(self._url, server_settings=NO_TIMEOUTS)
        try:
            await connection.execute("SELECT pg_advisory_lock(hashtextextended($1, 1))", name)
            yield
        finally:
            await connection.close()

    def is_contended(self, stream: Stream | None) -> bool:
        """Whether a command on this stream may have to wait for its turn."""
        return self._turns.is_contended(stream)

    def wait_turn(self, stream: Stream | None) -> AbstractAsyncContextManager[None]:
        """Let the commands on a contended stream run one after another."""
        return self._turns.take(stream)

    async def keep_snapshots(self, snapshots: Sequence[NewSnapshot]) -> None:
        """Store snapshots without an append, unless a newer snapshot of the same fold is stored."""
        # A snapshot that cannot be stored now is stored later; no call fails because of it.
        with suppress(
            *CONNECTION_ERRORS,
            *UNAVAILABLE_ERRORS,
            asyncpg.LockNotAvailableError,
            StoreUnavailableError,
        ):
            await self._connections.fetch(*KEEP_SNAPSHOTS.bind(snapshot_values(snapshots)))

    async def outdated_snapshots(
        self, folds: Sequence[UUID], after: Stream, limit: int
    ) -> Sequence[Stream]:
        """Return the streams after this one that have snapshots, but none of these folds."""
        stream_type, stream_id = after
        values = {
            "folds": list(folds),
            "stream_type": stream_type,
            "stream_id": stream_id,
            "limit": limit,
        }
        rows = await self._connections.read(*OUTDATED_SNAPSHOTS.bind(values))
        return [(name, id) for name, id in rows]

    async def drop_snapshots(self, folds: Sequence[UUID], days: int) -> int:
        """Delete older snapshots of other folds than these, and return their number."""
        return await self._in_batches(DROP_SNAPSHOTS, folds=list(folds), days=days)

    async def deny(self, denial: Denial) -> None:
        """Record a denial in a transaction of its own."""
        await self._connections.fetch(DENY, encode(denial).decode())

    async def record_refusal(self, insert: Insert) -> None:
        """Write the row of a refusal in a transaction of its own, unless its key is taken."""
        statement = insert_if_absent(insert.table)
        await self._connections.fetch(*statement.bind({"rows": row_values([insert])}))

    async def keep_evidence(self, evidence: AnswerEvidence) -> None:
        """Store what an agent is about to be answered. Raise StoreUnavailableError if it cannot."""
        await self._evidence.keep(evidence)

    async def cursor_key(self) -> bytes:
        """Return the key with which this deployment signs cursors."""
        return (await self._connections.read("SELECT cursor_key FROM bk.deployment"))[0][0]

    async def beat(self, worker: str) -> None:
        """Record the heartbeat of a worker."""
        await self._connections.fetch(HEARTBEAT, worker)

    async def last_beat(self, worker: str) -> tuple[timedelta | None, bool]:
        """Return the age of a worker's heartbeat, and whether any enclosure relies on it."""
        return tuple((await self._connections.read(LAST_HEARTBEAT, worker))[0])

    async def forget_answers(self, hours: int) -> int:
        """Delete stored answers older than this, and return their number."""
        return await self._in_batches(FORGET_ANSWERS, hours=hours)

    async def forget_denials(self, days: int) -> int:
        """Delete denials older than this, but none younger than 30 days; return their number."""
        return await self._in_batches(FORGET_DENIALS, days=days)

    async def forget_deliveries(self, days: int) -> int:
        """Delete deliveries that were settled before this many days; dead letters after 90."""
        return await self._in_batches(FORGET_DELIVERIES, days=days)

    async def forget_evidence(self, days: int, minutes: int) -> int:
        """Look at evidence older than this once, and delete what no decision followed in time."""
        return await self._in_batches(FORGET_EVIDENCE, days=days, minutes=minutes)

    async def _in_batches(self, statement: Statement, **values: Any) -> int:
        """Delete in batches: a single statement could run into its timeout and delete nothing."""
        deleted, last = 0, BATCH_SIZE
        while last == BATCH_SIZE:
            rows = await self._connections.fetch(*statement.bind({**values, "limit": BATCH_SIZE}))
            deleted += (last := rows[0][0])
        return deleted


def _stream_columns(streams: Sequence[Stream]) -> dict[str, list[Any]]:
    return {
        "stream_types": [stream_type for stream_type, _ in streams],
        "stream_ids": [stream_id for _, stream_id in streams],
    }


def _after(stream: Stream, version: int, limit: int) -> dict[str, Any]:
    name, id = stream
    return {"stream_type": name, "stream_id": id, "after": version, "limit": limit}


def _loaded(rows: Sequence[asyncpg.Record]) -> LoadedStream:
    """Return a stream from its rows, the first of which may be its snapshot."""
    first = rows[0]
    if first[1] is not None:
        return LoadedStream(cast("Sequence[StoredEvent]", rows))
    return LoadedStream(
        cast("Sequence[StoredEvent]", rows[1:]), Snapshot(first[0], first[3].encode())
    )
