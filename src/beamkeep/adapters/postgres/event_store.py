"""The event store on PostgreSQL: one statement to read for a call, one to write its decision."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from datetime import datetime, timedelta
from functools import cache, lru_cache
from operator import attrgetter
from typing import Any, TypeAliasType, cast, get_args, get_origin, get_type_hints
from uuid import UUID

import asyncpg
import msgspec
from msgspec import Raw

from beamkeep.adapters.stream_queues import StreamQueues
from beamkeep.kernel import (
    ActorKind,
    Delete,
    Denial,
    DenialReason,
    Grant,
    Insert,
    Lock,
    ObjectScope,
    Record,
    Replace,
    Rows,
    Standing,
    Table,
    Upsert,
)
from beamkeep.runtime.codec import encode
from beamkeep.runtime.store import (
    BEGINNING,
    READ_AT_ONCE,
    AlreadyAnsweredError,
    AnswerToStore,
    Append,
    CallContext,
    CallLookup,
    Envelope,
    IdempotencyInFlightError,
    KeyTakenError,
    LoadedStream,
    MovedError,
    NewSnapshot,
    OutcomeUnknownError,
    Position,
    RowQuery,
    RowsStoredError,
    Snapshot,
    StoredAnswer,
    StoredEvent,
    StoreUnavailableError,
    Stream,
)

from .connections import FULL, LOST, Connections

# Who calls, what they may do, what was answered to this key, and the events of the target:
# everything a call must know before it decides, in one round trip that takes no transaction id.
# The caller is a sub-select and not a join: then every part is found by its whole key, also by a
# plan that was made when the tables were empty. A caller without permission costs no look at the
# answer, the snapshot or the stream: how long it takes tells nothing of them.
PERMITTED = "w.barred IS NULL AND w.grants <> '{}'"
OPEN = f"""
WITH who AS MATERIALIZED (
  SELECT s.principal_id, s.kind, s.barred, ARRAY(
           SELECT concat_ws(' ', g.policy_id, g.object_scope, CASE WHEN $6::text IS NULL
                            THEN array_to_string(g.permitted_commands, ' ') END)
             FROM bk.policy_grant g
            WHERE g.principal_id = s.principal_id AND g.conduit_id = $4::uuid
              AND g.surface_id IS NOT DISTINCT FROM $5::uuid
              AND ($6::text IS NULL OR g.permitted_commands && ARRAY[$6::text, '*'])) AS grants
    FROM bk.principal_standing s
   WHERE s.principal_id = COALESCE($1::uuid,
           (SELECT i.actor_id FROM bk.actor_identity i WHERE i.issuer = $2 AND i.subject = $3)))
SELECT 1 AS part, w.principal_id AS id, w.kind AS a, w.barred AS b, NULL::bigint AS n,
       NULL::smallint AS m, w.grants, NULL::bytea AS digest
  FROM who w
UNION ALL
SELECT 2, NULL, i.result, i.transaction_id::text || '-' || i.position, i.version, i.status, NULL,
       i.fingerprint
  FROM bk.idempotency i
 WHERE i.principal_id = (SELECT w.principal_id FROM who w WHERE {PERMITTED})
   AND i.surface_id = $5::uuid AND i.key = $7::text
UNION ALL
SELECT 3, k.owner_id, k.state, NULL, k.version, NULL, NULL, NULL
  FROM bk.snapshots k
 WHERE k.fold = (SELECT $10::uuid FROM who w WHERE {PERMITTED})
   AND k.stream_type = $8::text AND k.stream_id = $9::uuid
UNION ALL
(SELECT 4, CASE WHEN e.version = 1 THEN e.principal_id END, e.event_type, e.payload::text,
        e.version, e.schema_version, NULL, NULL
   FROM bk.events e
  WHERE e.stream_type = $8::text AND e.stream_id = $9::uuid AND e.version > (
    SELECT COALESCE((SELECT k.version FROM bk.snapshots k
                      WHERE k.fold = $10::uuid AND k.stream_type = $8::text
                        AND k.stream_id = $9::uuid), 0)
      FROM who w WHERE {PERMITTED})
  ORDER BY e.version LIMIT $11)
"""  # noqa: S608

# One stream: its snapshot, which has no event type, and the events after it. A row is taken as it
# comes: its first four columns are a record's.
LOAD_ONE = """
WITH kept AS MATERIALIZED (
  SELECT version, state FROM bk.snapshots
   WHERE fold = $3::uuid AND stream_type = $1 AND stream_id = $2)
SELECT version, NULL AS event_type, NULL::smallint AS schema_version, state AS payload FROM kept
UNION ALL
(SELECT e.version, e.event_type, e.schema_version, e.payload::text FROM bk.events e
  WHERE e.stream_type = $1 AND e.stream_id = $2
    AND e.version > COALESCE((SELECT k.version FROM kept k), 0)
  ORDER BY e.version LIMIT $4)
"""

# Several streams likewise.
LOAD = """
SELECT e.version, e.event_type, e.schema_version, e.payload, s.stream_type, s.stream_id
  FROM unnest($1::text[], $2::uuid[], $3::uuid[]) AS s (stream_type, stream_id, fold)
 CROSS JOIN LATERAL (
   WITH kept AS MATERIALIZED (
     SELECT k.version, k.state FROM bk.snapshots k
      WHERE k.fold = s.fold AND k.stream_type = s.stream_type AND k.stream_id = s.stream_id)
   SELECT k.version, NULL AS event_type, NULL::smallint AS schema_version, k.state AS payload
     FROM kept k
   UNION ALL
   (SELECT e.version, e.event_type, e.schema_version, e.payload::text FROM bk.events e
     WHERE e.stream_type = s.stream_type AND e.stream_id = s.stream_id
       AND e.version > COALESCE((SELECT k.version FROM kept k), 0)
     ORDER BY e.version LIMIT $4)) AS e
"""

# Who wrote the first events of several streams.
OWNERS = """
SELECT s.stream_type, s.stream_id, e.principal_id
  FROM unnest($1::text[], $2::uuid[]) AS s (stream_type, stream_id)
 CROSS JOIN LATERAL (
   SELECT principal_id FROM bk.events e
    WHERE e.stream_type = s.stream_type AND e.stream_id = s.stream_id AND e.version = 1
    LIMIT 1) AS e
"""

# The events of one stream with their envelopes, in the order of the record.
HISTORY = """
SELECT event_id, stream_type, stream_id, version, position, event_type, schema_version,
       principal_id, command_name, surface_id, correlation_id, causation_id, recorded_at,
       occurred_at, payload::text
  FROM bk.events
 WHERE stream_type = $1 AND stream_id = $2 AND version > $3
 ORDER BY version LIMIT $4
"""

# What happened between two times. When it was recorded is indexed, and the clocks of the service
# and of the database are never so far apart.
HAPPENED = """
SELECT e.stream_type, e.version, e.event_type, e.schema_version, e.payload::text
  FROM bk.events e
 WHERE e.recorded_at >= $2::timestamptz - interval '3 hours'
   AND e.recorded_at < $3::timestamptz + interval '3 hours'
   AND e.occurred_at >= $2 AND e.occurred_at < $3 AND e.event_type = ANY($1::text[])
   AND ($4::uuid IS NULL OR (
     SELECT f.principal_id FROM bk.events f
      WHERE f.stream_type = e.stream_type AND f.stream_id = e.stream_id AND f.version = 1
      LIMIT 1) = $4)
 ORDER BY e.occurred_at, e.transaction_id, e.position LIMIT $5
"""

# The last event of some types before a time, of each stream: found from its end backwards.
LATEST = """
SELECT s.stream_type, s.stream_id, e.version, e.event_type, e.schema_version, e.payload
  FROM unnest($1::text[], $2::uuid[]) AS s (stream_type, stream_id)
 CROSS JOIN LATERAL (
   SELECT version, event_type, schema_version, payload::text FROM bk.events e
    WHERE e.stream_type = s.stream_type AND e.stream_id = s.stream_id
      AND e.event_type = ANY($3::text[]) AND e.occurred_at < $4
    ORDER BY e.version DESC LIMIT 1) AS e
"""

# Where an event that may have been written stands.
FIND = """
SELECT transaction_id::text::bigint AS tx, position FROM bk.events
 WHERE stream_id = $1 AND event_id = $2
"""

# Some of the answers that are older than so many hours.
FORGET = """
WITH gone AS (
  DELETE FROM bk.idempotency WHERE ctid = ANY(ARRAY(
    SELECT ctid FROM bk.idempotency
     WHERE recorded_at < now() - make_interval(hours => $1) LIMIT $2))
  RETURNING 1)
SELECT count(*) FROM gone
"""
FORGOTTEN_AT_ONCE = 10_000

# Denials older than so many days, some of them; a function, because the role may not delete.
FORGET_DENIALS = "SELECT bk.forget_denials($1, $2)"

# A worker has done its round.
BEAT = """
INSERT INTO bk.heartbeat (worker, beat_at) VALUES ($1, now())
ON CONFLICT (worker) DO UPDATE SET beat_at = EXCLUDED.beat_at
"""

# How long ago a worker did its last round, and whether there is an enclosure for it to watch.
LAST_BEAT = """
SELECT (SELECT clock_timestamp() - h.beat_at FROM bk.heartbeat h WHERE h.worker = $1),
       EXISTS (SELECT 1 FROM bk.enclosure_freshness f WHERE f.last_reported_at IS NOT NULL)
"""

# Whether a key has its answer.
ANSWERED = """
SELECT 1 FROM bk.idempotency WHERE principal_id = $1 AND surface_id = $2 AND key = $3
"""

# Who wrote the first event of a stream is part of its snapshot: whose it is stays known.
KEEP_SNAPSHOTS = """
  INSERT INTO bk.snapshots AS s (fold, stream_type, stream_id, version, owner_id, state)
  SELECT f.fold, f.stream_type, f.stream_id, f.version,
         (SELECT e.principal_id FROM bk.events e
           WHERE e.stream_type = f.stream_type AND e.stream_id = f.stream_id AND e.version = 1
           LIMIT 1), f.state
    FROM unnest(${0}::uuid[], ${1}::text[], ${2}::uuid[], ${3}::bigint[], ${4}::text[])
      AS f (fold, stream_type, stream_id, version, state)
   WHERE {5}
  ON CONFLICT (fold, stream_type, stream_id) DO UPDATE
     SET version = EXCLUDED.version, state = EXCLUDED.state, kept_at = EXCLUDED.kept_at
   WHERE s.version < EXCLUDED.version"""

# The folds that have snapshots, found one after the other in the key, and of them those in use no
# more.
OTHER_FOLDS = """
WITH RECURSIVE folds AS (
  (SELECT fold FROM bk.snapshots ORDER BY fold LIMIT 1)
  UNION ALL
  SELECT (SELECT s.fold FROM bk.snapshots s WHERE s.fold > f.fold ORDER BY s.fold LIMIT 1)
    FROM folds f WHERE f.fold IS NOT NULL),
others AS MATERIALIZED (
  SELECT f.fold FROM folds f WHERE f.fold IS NOT NULL AND f.fold <> ALL($1::uuid[]))"""

# Streams with a snapshot of such a fold, and none of those in use.
OUTDATED = "".join(
    [
        OTHER_FOLDS,
        """
SELECT DISTINCT s.stream_type, s.stream_id FROM others o JOIN bk.snapshots s ON s.fold = o.fold
 WHERE (s.stream_type, s.stream_id) > ($2::text, $3::uuid) AND NOT EXISTS (
   SELECT 1 FROM bk.snapshots t WHERE t.fold = ANY($1::uuid[])
      AND t.stream_type = s.stream_type AND t.stream_id = s.stream_id)
 ORDER BY 1, 2 LIMIT $4
""",
    ]
)

# Some of the snapshots of such folds.
DROP_SNAPSHOTS = "".join(
    [
        OTHER_FOLDS,
        """,
gone AS (
  DELETE FROM bk.snapshots WHERE ctid = ANY(ARRAY(
    SELECT s.ctid FROM others o JOIN bk.snapshots s ON s.fold = o.fold
     WHERE s.kept_at < now() - make_interval(days => $2) LIMIT $3))
  RETURNING 1)
SELECT count(*) FROM gone
""",
    ]
)

# Not materialized, so that the guard's look-up is by parameters and opens one partition of the log.
ONE_EVENT = """
WITH n AS NOT MATERIALIZED (
  SELECT $1::text AS stream_type, $2::uuid AS stream_id, $3::bigint AS version,
         $4::uuid AS event_id, $5::text AS event_type, $6::smallint AS schema_version,
         $7::text AS payload, 1 AS ord),
h AS (SELECT stream_type, stream_id, version AS first, false AS gap FROM n)"""

MANY_EVENTS = """
WITH n AS MATERIALIZED (
  SELECT * FROM unnest($1::text[], $2::uuid[], $3::bigint[], $4::uuid[], $5::text[],
                       $6::smallint[], $7::text[]) WITH ORDINALITY
    AS t (stream_type, stream_id, version, event_id, event_type, schema_version, payload, ord)),
h AS MATERIALIZED (
  SELECT stream_type, stream_id, min(version) AS first,
         max(version) - min(version) + 1 <> count(*) AS gap
    FROM n GROUP BY 1, 2)"""

# Nothing is inserted unless the event before each is there and older than this transaction: the
# order of transactions is then the order of versions. The scalar sub-select keeps the planner
# from ever scanning the log.
GUARD = """,
stale AS MATERIALIZED (
  SELECT 1 FROM h WHERE h.gap OR h.first > 1 AND (
    SELECT p.transaction_id < pg_current_xact_id() FROM bk.events p
     WHERE p.stream_type = h.stream_type AND p.stream_id = h.stream_id
       AND p.version = h.first - 1 LIMIT 1) IS NOT TRUE)"""

# Nor if a stream that was read has moved on.
READ_SET = """,
moved AS MATERIALIZED (
  SELECT 1 FROM unnest(${0}::text[], ${1}::uuid[], ${2}::bigint[])
    AS r (stream_type, stream_id, version)
   WHERE (SELECT e.version FROM bk.events e
           WHERE e.stream_type = r.stream_type AND e.stream_id = r.stream_id
             AND e.version = r.version + 1 LIMIT 1) IS NOT NULL)"""

MOVED = f"WITH{READ_SET.format(1, 2, 3).removeprefix(',')} SELECT 1 FROM moved"  # noqa: S608

INSERT_EVENTS = """,
ins AS (
  INSERT INTO bk.events (stream_type, stream_id, version, event_id, event_type, schema_version,
                         payload, command_name, principal_id, surface_id, correlation_id,
                         causation_id, occurred_at)
  SELECT n.stream_type, n.stream_id, n.version, n.event_id, n.event_type, n.schema_version,
         n.payload::json, $8::text, $9::uuid, $10::uuid, $11::uuid, $12::uuid, $13::timestamptz
    FROM n WHERE {} ORDER BY n.ord
  RETURNING position, transaction_id)"""

REMEMBER = """,
idem AS (
  INSERT INTO bk.idempotency (principal_id, surface_id, key, fingerprint, status, result, version,
                              transaction_id, position)
  SELECT $9::uuid, $10::uuid, ${0}::text, ${1}::bytea, ${2}::smallint, ${3}::text, ${4}::bigint,
         {5})"""

# Rows alone have no place in the log.
KEEP = """
INSERT INTO bk.idempotency (principal_id, surface_id, key, fingerprint, status, result, version,
                            transaction_id, position)
VALUES ($1::uuid, $2::uuid, $3::text, $4::bytea, $5::smallint, $6::text, $7::bigint, '0', 0)"""

# How many events were written and where the last of them stands.
ONE_WRITTEN = """
SELECT 1 AS n, position, transaction_id::text::bigint AS tx FROM ins"""
MANY_WRITTEN = """
SELECT count(*) AS n, max(position) AS position, max(transaction_id)::text::bigint AS tx FROM ins"""
ONE_PLACE = "transaction_id, position FROM ins"
MANY_PLACES = "max(transaction_id), max(position) FROM ins HAVING count(*) > 0"

# A lock ends with its transaction, so that no writer that died keeps the others out.
LOCK = "SELECT pg_advisory_xact_lock(hashtextextended(name, 2)) FROM unnest($1::text[]) AS n (name)"

# Whoever starts beside others waits for them as long as they take.
PATIENT = {"statement_timeout": "0", "lock_timeout": "0"}
RESOLVE_FOR = 4.0
LONGEST_WRITE = 2.5
"""A little more than the time limit of a statement."""


type Row = Insert | Replace | Upsert | Delete
type Clauses = tuple[tuple[type[Row], Table[Any], tuple[str, ...]], ...]
"""What is written beside, by its shape: kind, table and the columns of the key."""


class PostgresEventStore:
    """Keeps events in `bk.events`, and the rows written with them in the tables beside it."""

    def __init__(
        self, connections: Connections, url: str, written: Callable[[], None] = lambda: None
    ) -> None:
        self._connections, self._url, self._written = connections, url, written
        self._turns = StreamQueues(connections.holding)

    async def open(self, opening: CallLookup) -> CallContext:
        """Find who calls, what they may do, what was answered before, and the target's events."""
        issuer, subject = opening.identity or (None, None)
        stream_type, stream_id = opening.stream or (None, None)
        rows = await self._connections.read(
            OPEN,
            opening.principal_id,
            issuer,
            subject,
            opening.conduit_id,
            opening.surface_id,
            opening.command_name,
            opening.idempotency_key,
            stream_type,
            stream_id,
            opening.fold,
            READ_AT_ONCE,
        )
        standing, stored_answer, owner_id, snapshot = None, None, None, None
        grants: tuple[Grant, ...] = ()
        events: list[StoredEvent] = []
        for part, id, a, b, n, m, granted, digest in rows:
            if part == 4:
                events.append(cast("StoredEvent", (n, a, m, b)))
                owner_id = owner_id or id
            elif part == 1:
                standing = Standing(id, ActorKind(a), DenialReason(b) if b else None)
                grants = _grants(opening, id, granted)
            elif part == 2:
                place = Position(*map(int, b.split("-"))) if b else None
                stored_answer = StoredAnswer(digest, m, a.encode(), n, place)
            else:
                snapshot, owner_id = Snapshot(n, a.encode()), id
        loaded = LoadedStream(events or (), snapshot)
        return CallContext(standing, grants, stored_answer, owner_id, loaded)

    async def load(
        self, streams: Sequence[Stream], folds: Mapping[str, UUID] | None = None
    ) -> Mapping[Stream, LoadedStream]:
        """Read these streams, with the snapshots of these folds by aggregate name."""
        wanted = [folds and folds[name] for name, _ in streams]
        if len(streams) == 1:
            rows = await self._connections.read(LOAD_ONE, *streams[0], *wanted, READ_AT_ONCE)
            return {streams[0]: _loaded(rows)} if rows else {}
        names, ids = [name for name, _ in streams], [id for _, id in streams]
        found: dict[Stream, list[asyncpg.Record]] = {}
        for row in await self._connections.read(LOAD, names, ids, wanted, READ_AT_ONCE):
            found.setdefault(row[4:6], []).append(row)
        return {stream: _loaded(rows) for stream, rows in found.items()}

    async def owners(self, streams: Sequence[Stream]) -> Mapping[Stream, UUID]:
        """Who wrote the first event of each of these streams."""
        names, ids = [s[0] for s in streams], [s[1] for s in streams]
        rows = await self._connections.read(OWNERS, names, ids) if streams else []
        return {(name, id): owner_id for name, id, owner_id in rows}

    async def append(self, append: Append) -> Position:
        """Write all of it or nothing, in one statement where that is enough."""
        try:
            position = await self._write(append)
        except LOST:
            position = await (self._resolve if append.events else self._write_rows_again)(append)
        except asyncpg.LockNotAvailableError:
            waited = append.answer and not _locks(append)
            raise (IdempotencyInFlightError if waited else MovedError) from None
        except FULL:
            raise StoreUnavailableError from None
        self._written()
        return position

    async def history(self, stream: Stream, after: int, limit: int) -> Sequence[Envelope]:
        """The events of one stream after a version."""
        rows = await self._connections.read(HISTORY, *stream, after, limit)
        return [Envelope(*known, payload=Raw(payload)) for *known, payload in rows]

    async def happened(
        self,
        types: Sequence[str],
        since: datetime,
        until: datetime,
        owner_id: UUID | None,
        limit: int,
    ) -> Sequence[tuple[str, StoredEvent]]:
        """Events of these types between two times, oldest first, each with its aggregate's name."""
        rows = await self._connections.read(HAPPENED, list(types), since, until, owner_id, limit)
        return [(name, StoredEvent(*recorded)) for name, *recorded in rows]

    async def latest(
        self, streams: Sequence[Stream], types: Sequence[str], before: datetime
    ) -> Mapping[Stream, StoredEvent]:
        """The last event of these types that each of the streams had before a time."""
        names, ids = [name for name, _ in streams], [id for _, id in streams]
        rows = await self._connections.read(LATEST, names, ids, list(types), before)
        return {(name, id): StoredEvent(*recorded) for name, id, *recorded in rows}

    async def rows[R](self, table: Table[R], where: Mapping[str, object]) -> tuple[R, ...]:
        """The rows whose columns equal these values, or are among them where a set is given."""
        found = await self._connections.read(
            _select(table, tuple((column, True) for column in where)),
            *(_among(value) for value in where.values()),
        )
        return _as_rows(table, found)

    async def entries[R](self, table: Table[R], row_query: RowQuery, limit: int) -> tuple[R, ...]:
        """Rows beside one aggregate, in the order asked for."""
        compared, after = row_query.compared, row_query.after
        statement = _entered(
            table,
            tuple((column, _is_several(value)) for column, value in row_query.where.items()),
            tuple((column, how) for column, how, _ in compared),
            row_query.by,
            row_query.newest_first,
            bool(after),
        )
        where = [_among(v) if _is_several(v) else v for v in row_query.where.values()]
        found = await self._connections.read(
            statement, *where, *(wanted for _, _, wanted in compared), *after, limit
        )
        return _as_rows(table, found)

    async def above[R](self, table: Table[R], ids: Sequence[UUID]) -> tuple[R, ...]:
        """The rows of a tree with these ids and all those above them."""
        found = await self._connections.read(_above(table), list(ids))
        return _as_rows(table, found)

    @asynccontextmanager
    async def alone(self, name: str) -> AsyncGenerator[None]:
        """Keep every other process out of a piece of work while this one does it."""
        # A connection of its own and no open transaction: a lock must not hold back the tail.
        connection = await asyncpg.connect(self._url, server_settings=PATIENT)
        try:
            await connection.execute("SELECT pg_advisory_lock(hashtextextended($1, 1))", name)
            yield
        finally:
            await connection.close()

    def is_contended(self, stream: Stream | None) -> bool:
        """Whether a command on this stream has to wait for its turn."""
        return self._turns.is_contended(stream)

    def wait_turn(self, stream: Stream | None) -> AbstractAsyncContextManager[None]:
        """Let commands on a stream that is fought over come one after the other."""
        return self._turns.take(stream)

    async def keep_snapshots(self, snapshots: Sequence[NewSnapshot]) -> None:
        """Keep snapshots apart from any append; a newer one of the same fold stays."""
        statement = KEEP_SNAPSHOTS.format(1, 2, 3, 4, 5, "true")
        # What is not kept now is kept another time; nobody's call is refused for it.
        with suppress(*LOST, *FULL, asyncpg.LockNotAvailableError, StoreUnavailableError):
            await self._connections.fetch(statement, *_snapshot_columns(snapshots))

    async def outdated_snapshots(
        self, folds: Sequence[UUID], after: Stream, limit: int
    ) -> Sequence[Stream]:
        """Streams after this one that have a snapshot of another fold and none of these."""
        rows = await self._connections.read(OUTDATED, list(folds), *after, limit)
        return [(name, id) for name, id in rows]

    async def drop_snapshots(self, folds: Sequence[UUID], days: int) -> int:
        """Drop snapshots of other folds than these that are older, and answer how many."""
        return await self._in_parts(DROP_SNAPSHOTS, list(folds), days)

    async def deny(self, denial: Denial) -> None:
        """Record a denial, in a transaction of its own."""
        await self._connections.fetch(
            """INSERT INTO bk.authorization_denials
               SELECT * FROM jsonb_populate_record(NULL::bk.authorization_denials, $1::text::jsonb)
            """,
            encode(denial).decode(),
        )

    async def record_refusal(self, insert: Insert) -> None:
        """Write the row a refusal leaves, in a transaction of its own, unless its key is taken."""
        statement = _beside(Insert, insert.table, insert.table.key, 1, "true")
        await self._connections.fetch(
            f"{statement} ON CONFLICT DO NOTHING", encode([insert.row]).decode()
        )

    async def cursor_key(self) -> bytes:
        """The deployment's own key for signing cursors."""
        return (await self._connections.read("SELECT cursor_key FROM bk.deployment"))[0][0]

    async def beat(self, worker: str) -> None:
        """Record that a worker has done its round."""
        await self._connections.fetch(BEAT, worker)

    async def last_beat(self, worker: str) -> tuple[timedelta | None, bool]:
        """How long ago a worker did its last round, and whether any enclosure relies on it."""
        return tuple((await self._connections.read(LAST_BEAT, worker))[0])

    async def forget_answers(self, hours: int) -> int:
        """Drop idempotency entries older than this, and say how many."""
        return await self._in_parts(FORGET, hours)

    async def forget_denials(self, days: int) -> int:
        """Drop denials older than this, and say how many; none that is younger than 30 days."""
        return await self._in_parts(FORGET_DENIALS, days)

    async def _in_parts(self, statement: str, *arguments: Any) -> int:
        """Delete in parts: all at once would take longer than a statement may, and be in vain."""
        dropped, gone = 0, FORGOTTEN_AT_ONCE
        while gone == FORGOTTEN_AT_ONCE:
            rows = await self._connections.fetch(statement, *arguments, FORGOTTEN_AT_ONCE)
            dropped += (gone := rows[0][0])
        return dropped

    async def _write(self, append: Append) -> Position:
        statement, arguments = _sent(append)
        try:
            if _locks(append) or _bulk(append):
                rows = await self._transact(append, statement, arguments)
            else:
                rows = await self._connections.fetch(statement, *arguments) if statement else []
        except asyncpg.UniqueViolationError as error:
            raise await self._taken(append, str(error.table_name)) from None
        if not append.events:
            return BEGINNING
        if not rows or not rows[0][0]:
            raise MovedError
        count, position, tx = rows[0]
        assert count == len(append.events), "an append is all or nothing"  # noqa: S101
        return Position(tx, position)

    async def _transact(self, append: Append, statement: str, arguments: list[Any]) -> list[Any]:
        """Write under locks, and rows in bulk, in one transaction with everything else."""
        # What fails ends with its connection and is not rolled back by a statement: it would wait
        # for an answer, beyond the time of the call, where the connection is lost unseen.
        locks, bulk, rows = _locks(append), _bulk(append), list[Any]()
        # One COPY by itself is a transaction.
        several = bool(locks or statement or len(bulk) > 1)
        async with self._connections.connection() as connection:
            if several:
                await connection.execute("BEGIN")
            if locks:
                await connection.execute(LOCK, locks)
                # What was read is looked at in a snapshot taken since; events look for themselves.
                if not append.events and await connection.fetch(MOVED, *_read_set(append)):
                    raise MovedError
            if statement:
                rows = await connection.fetch(statement, *arguments)
            if not append.events or (rows and rows[0][0]):
                for part in bulk:
                    await connection.copy_records_to_table(
                        part.table.name,
                        schema_name="bk",
                        columns=_stored(part.table),
                        records=_records(part),
                    )
            if several:
                await connection.execute("COMMIT")
        return rows

    async def _write_rows_again(self, append: Append) -> Position:
        """Send rows again whose answer was lost; new ones that are there already are these."""
        if _locks(append) or _bulk(append):
            raise OutcomeUnknownError
        statement, arguments = _sent(append)
        inserts = [part for part in append.side_writes if isinstance(part, Insert)]
        try:
            try:
                await self._connections.read(statement, *arguments)
            except asyncpg.UniqueViolationError as error:
                written = [part.row in await self._with_key_of(part) for part in inserts]
                if not written or not all(written):
                    raise await self._taken(append, str(error.table_name)) from None
        except (StoreUnavailableError, asyncpg.LockNotAvailableError):
            # Neither says what became of the first attempt.
            raise OutcomeUnknownError from None
        return BEGINNING

    async def _taken(self, append: Append, table: str) -> Exception:
        # Whoever lost to the same request may be told of any key that both of them write.
        if table == "idempotency" or await self._answered(append):
            return AlreadyAnsweredError()
        for part in append.side_writes:
            if isinstance(part, Lock) or part.table.name != table:
                continue
            if isinstance(part, Insert) and await self._with_key_of(part):
                # An unmarked insert that loses is decided again: its rule sees the winner.
                return KeyTakenError(part)
            if isinstance(part, Rows):
                key = part.table.key[0]
                stored = await self.rows(part.table, {key: [getattr(r, key) for r in part.rows]})
                return RowsStoredError({getattr(r, key): getattr(r, part.under) for r in stored})
        return MovedError()

    async def _with_key_of(self, part: Insert) -> tuple[Any, ...]:
        """The row that has the key of a new one, if there is one."""
        key = {column: getattr(part.row, column) for column in part.table.key}
        return await self.rows(part.table, key)

    async def _answered(self, append: Append) -> bool:
        if append.answer is None:
            return False
        key = append.principal_id, append.surface_id, append.answer.key
        return bool(await self._connections.read(ANSWERED, *key))

    async def _resolve(self, append: Append) -> Position:
        """Find out whether an append happened whose answer was lost.

        The very same events are sent again: their versions and ids let them in at most once.
        """
        last, clock = append.events[-1], asyncio.get_running_loop().time
        lost_at = clock()
        while clock() < lost_at + RESOLVE_FOR:
            try:
                try:
                    return await self._write(append)
                except (
                    MovedError,
                    AlreadyAnsweredError,
                    KeyTakenError,
                    RowsStoredError,
                ) as refused:
                    if found := await self._connections.fetch(FIND, last.stream[1], last.event_id):
                        return Position(*found[0])
                    # What was read may have moved, or a key be taken and given back, while the
                    # first attempt still runs unseen; it has ended one way or the other when its
                    # time is up. An answer stays.
                    answered = isinstance(refused, AlreadyAnsweredError)
                    if answered or clock() > lost_at + LONGEST_WRITE:
                        raise
            except (*LOST, *FULL, asyncpg.LockNotAvailableError, StoreUnavailableError):
                # None of these says what became of the first attempt.
                pass
            await asyncio.sleep(0.05)
        raise OutcomeUnknownError


@cache
def _statement(
    single: bool,
    begins: bool,
    reads: bool,
    remembers: bool,
    keeps: bool,
    side_writes: Clauses,
) -> str:
    """The append for decisions of one shape."""
    parameter = 14
    parts, unless = [ONE_EVENT if single else MANY_EVENTS], ["true"]
    if not begins:
        parts.append(GUARD)
        unless.append("NOT EXISTS (SELECT 1 FROM stale)")
    if reads:
        parts.append(READ_SET.format(*range(parameter, parameter + 3)))
        unless.append("NOT EXISTS (SELECT 1 FROM moved)")
        parameter += 3
    parts.append(INSERT_EVENTS.format(" AND ".join(unless)))
    if remembers:
        place = ONE_PLACE if single else MANY_PLACES
        parts.append(REMEMBER.format(*range(parameter, parameter + 5), place))
        parameter += 5
    if keeps:
        places = range(parameter, parameter + 5)
        kept = KEEP_SNAPSHOTS.format(*places, "EXISTS (SELECT 1 FROM ins)")
        parts.append(f",\nkeep AS ({kept})")
        parameter += 5
    for number, (kind, table, key) in enumerate(side_writes):
        written = "EXISTS (SELECT 1 FROM ins)"
        parts.append(f",\nb{number} AS ({_beside(kind, table, key, parameter, written)})")
        parameter += 1
    return "".join([*parts, ONE_WRITTEN if single else MANY_WRITTEN])


@cache
def _rows_alone(side_writes: Clauses, kept: int) -> str:
    """What writes rows where no event is written with them, after the answer that is kept."""
    parts = [f"idem AS ({KEEP})"] if kept else []
    for n, clause in enumerate(side_writes, kept + 1):
        parts.append(f"b{n} AS ({_beside(*clause, n, 'true')})")
    return f"WITH {', '.join(parts)} SELECT 1"


def _beside(
    kind: type[Row], table: Table[Any], key: tuple[str, ...], parameter: int, written: str
) -> str:
    name, columns = f"bk.{table.name}", ", ".join(_stored(table))
    rows = f"jsonb_populate_recordset(NULL::{name}, ${parameter}::text::jsonb)"
    same = " AND ".join(f"t.{column} = r.{column}" for column in key)
    told = [_told(table, column) for column in _stored(table)]
    if kind is Insert or kind is Upsert:
        told_of = f"SELECT {', '.join(told)} FROM {rows} AS r WHERE {written}"  # noqa: S608
        added = f"INSERT INTO {name} ({columns}) {told_of}"
        again = ", ".join(f"{column} = EXCLUDED.{column}" for column in _stored(table))
        taken = f" ON CONFLICT ({', '.join(key)}) DO UPDATE SET {again}"
        return added + taken if kind is Upsert else added
    if kind is Replace:
        values = ", ".join(f"{c} = {v}" for c, v in zip(_stored(table), told, strict=True))
        return f"UPDATE {name} AS t SET {values} FROM {rows} AS r WHERE {same} AND {written}"  # noqa: S608
    return f"DELETE FROM {name} AS t USING {rows} AS r WHERE {same} AND {written}"  # noqa: S608


def _told(table: Table[Any], column: str) -> str:
    """What is written to a column: as the row has it, or the time by the database's clock."""
    if table.stamped is None or column != table.stamped[0]:
        return f"r.{column}"
    return f"CASE WHEN r.{column} IS NOT NULL THEN now() END"


def _grouped(append: Append) -> Iterable[list[Row]]:
    """What is written beside, by kind, table and key: all that is alike is one clause."""
    groups: dict[tuple[type[Row], str, tuple[str, ...]], list[Row]] = {}
    for part in append.side_writes:
        if not isinstance(part, Lock | Rows):
            groups.setdefault((type(part), part.table.name, _key_columns(part)), []).append(part)
    return groups.values()


def _clauses(append: Append) -> Clauses:
    return tuple((type(a), a.table, _key_columns(a)) for a, *_ in _grouped(append))


def _rows(append: Append) -> list[str]:
    return [encode([_row(part) for part in alike]).decode() for alike in _grouped(append)]


def _sent(append: Append) -> tuple[str, list[Any]]:
    """The statement that writes all but locks and rows in bulk, if anything, and its arguments."""
    clauses, kept = _clauses(append), append.answer
    if append.events:
        single = len(append.events) == 1
        # A single first event has none before it to be compared with.
        begins, reads = single and append.events[0].version == 1, bool(append.read)
        keeps = bool(append.snapshots)
        statement = _statement(single, begins, reads, kept is not None, keeps, clauses)
        return statement, _arguments(append)
    answer = [append.principal_id, append.surface_id, *_kept(kept)] if kept else []
    if not clauses and not kept:
        return "", []
    return _rows_alone(clauses, len(answer)), [*answer, *_rows(append)]


def _bulk(append: Append) -> list[Rows]:
    return [part for part in append.side_writes if isinstance(part, Rows)]


def _locks(append: Append) -> list[str]:
    """The names to be held, in one order for all: then nobody waits in a circle."""
    return sorted(part.name for part in append.side_writes if isinstance(part, Lock))


def _key_columns(part: Row) -> tuple[str, ...]:
    return part.table.key[: len(part.key)] if isinstance(part, Delete) else part.table.key


def _arguments(append: Append) -> list[Any]:
    """What fills the statement's parameters, in their order."""
    columns = [
        [event.stream[0] for event in append.events],
        [event.stream[1] for event in append.events],
        [event.version for event in append.events],
        [event.event_id for event in append.events],
        [event.event_type for event in append.events],
        [event.schema_version for event in append.events],
        [event.payload.decode() for event in append.events],
    ]
    arguments: list[Any] = [c[0] for c in columns] if len(append.events) == 1 else list(columns)
    arguments += [
        append.command_name,
        append.principal_id,
        append.surface_id,
        append.correlation_id,
        append.causation_id,
        append.occurred_at,
    ]
    if append.read:
        arguments += _read_set(append)
    if kept := append.answer:
        arguments += _kept(kept)
    if append.snapshots:
        arguments += _snapshot_columns(append.snapshots)
    return arguments + _rows(append)


def _grants(opening: CallLookup, principal_id: UUID, granted: Sequence[str]) -> tuple[Grant, ...]:
    if opening.conduit_id is None:
        return ()
    here = principal_id, opening.conduit_id, opening.surface_id
    # A grant found for one command permits that command, however many more it names.
    row_query = (opening.command_name,) if opening.command_name else ()
    return tuple(
        Grant(policy_id, *here, row_query or commands, scope)
        for policy_id, scope, commands in map(_granted, granted)
    )


@lru_cache(maxsize=4096)
def _granted(text: str) -> tuple[UUID, ObjectScope, tuple[str, ...]]:
    """Policy, scope and commands of a grant that the opening statement found."""
    policy_id, scope, *commands = text.split(" ")
    return UUID(policy_id), ObjectScope(scope), tuple(commands)


def _snapshot_columns(snapshots: Sequence[NewSnapshot]) -> list[list[Any]]:
    return [
        [each.fold for each in snapshots],
        [each.stream[0] for each in snapshots],
        [each.stream[1] for each in snapshots],
        [each.snapshot.version for each in snapshots],
        [each.snapshot.state.decode() for each in snapshots],
    ]


def _loaded(rows: Sequence[asyncpg.Record]) -> LoadedStream:
    """A stream from its rows, the first of which may be its snapshot."""
    first = rows[0]
    if first[1] is not None:
        return LoadedStream(cast("Sequence[StoredEvent]", rows))
    return LoadedStream(
        cast("Sequence[StoredEvent]", rows[1:]), Snapshot(first[0], first[3].encode())
    )


def _read_set(append: Append) -> list[Any]:
    streams = list(append.read)
    return [[s[0] for s in streams], [s[1] for s in streams], list(append.read.values())]


def _kept(answer: AnswerToStore) -> list[Any]:
    return [
        answer.key,
        answer.fingerprint,
        answer.status,
        answer.result.decode(),
        answer.version,
    ]


def _row(part: Row) -> object:
    if isinstance(part, Delete):
        return dict(zip(part.table.key, part.key, strict=False))
    return part.row


@cache
def _select(table: Table[Any], where: tuple[tuple[str, bool], ...]) -> str:
    """The rows whose columns each equal one value, or are among several."""
    conditions = " AND ".join(
        f"{column} = ANY(${n})" if several else f"{column} = ${n}"
        for n, (column, several) in enumerate(where, 1)
    )
    every = f"SELECT {_columns(table)} FROM bk.{table.name}"  # noqa: S608
    return f"{every} WHERE {conditions}" if where else every


@cache
def _entered(
    table: Table[Any],
    where: tuple[tuple[str, bool], ...],
    compared: tuple[tuple[str, str], ...],
    by: tuple[str, ...],
    newest_first: bool,
    after: bool,
) -> str:
    """The rows of a table that have these values, in this order, after a row or from the first."""
    # Only what equals one value is read in the order of an index that begins with it.
    statement, n = _select(table, where) if where else _whole(table), len(where)
    for column, how in compared:
        statement += f" AND {column} {how} ${(n := n + 1)}"
    if after:
        place = ", ".join(f"${(n := n + 1)}" for _ in by)
        statement += f" AND ({', '.join(by)}) {'<' if newest_first else '>'} ({place})"
    way = " DESC" if newest_first else ""
    return f"{statement} ORDER BY {', '.join(column + way for column in by)} LIMIT ${n + 1}"


def _whole(table: Table[Any]) -> str:
    return f"SELECT {_columns(table)} FROM bk.{table.name} WHERE true"  # noqa: S608


@cache
def _above(table: Table[Any]) -> str:
    key, parent, name = table.key[0], table.parent, f"bk.{table.name}"
    return (
        f"WITH RECURSIVE t AS (SELECT {_columns(table)} FROM {name} WHERE {key} = ANY($1::uuid[])"  # noqa: S608
        f" UNION SELECT {', '.join(f'r.{c}' for c in _stored(table))}"
        f" FROM t JOIN {name} r ON r.{key} = t.{parent}) SELECT {_columns(table)} FROM t"
    )


def _stored(table: Table[Any]) -> tuple[str, ...]:
    """The columns of a table: all that is not worked out when a row is read."""
    age = table.stamped[1] if table.stamped else None
    return tuple(name for name in table.row.__struct_fields__ if name != age)


def _columns(table: Table[Any]) -> str:
    """What is read of a row; an age is that of the very moment."""
    read = ", ".join(_stored(table))
    if table.stamped is None:
        return read
    stamp, age = table.stamped
    return f"{read}, clock_timestamp() - {stamp} AS {age}"


def _records(bulk: Rows) -> list[tuple[Any, ...]]:
    """Rows as their columns take them: a record or an object as JSON, all else as it is."""
    columns, holding_json = _stored(bulk.table), _json_columns(bulk.table)
    records = list(map(attrgetter(*columns), bulk.rows))
    for place in map(columns.index, holding_json):
        for number, record in enumerate(records):
            if record[place] is not None:
                text = encode(record[place]).decode()
                records[number] = (*record[:place], text, *record[place + 1 :])
    return records


def _as_rows[R](table: Table[R], found: Iterable[asyncpg.Record]) -> tuple[R, ...]:
    holding_json = _json_columns(table)
    return tuple(msgspec.convert(_read(dict(row), holding_json), table.row) for row in found)


def _read(row: dict[str, Any], holding_json: Sequence[str]) -> dict[str, Any]:
    """A row whose JSON columns, which come as texts, are what they mean."""
    return row | {c: row[c] and msgspec.json.decode(row[c]) for c in holding_json}


@cache
def _json_columns(table: Table[Any]) -> tuple[str, ...]:
    """The columns that hold a record or an object."""
    return tuple(
        column
        for column, hint in get_type_hints(table.row).items()
        if any(_holds_json(kind) for kind in (hint, *get_args(hint)))
    )


def _holds_json(hint: Any) -> bool:
    """Whether a type, by whatever name, is that of a record or an object."""
    if isinstance(hint, TypeAliasType):
        return _holds_json(hint.__value__)
    kind = get_origin(hint) or hint
    return isinstance(kind, type) and issubclass(kind, Record | dict)


def _is_several(value: object) -> bool:
    return isinstance(value, list | tuple | set | frozenset)


def _among(value: object) -> list[Any]:
    return list(cast("Iterable[Any]", value)) if _is_several(value) else [value]
