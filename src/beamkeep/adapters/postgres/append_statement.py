"""The statement that writes one decision: events, answer, snapshots and rows, or nothing."""

from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any, NamedTuple

from beamkeep.kernel import Fenced, Lock, Rows
from beamkeep.runtime.store import AnswerToStore, Append, CallContext, NewEvent

from .snapshots import snapshot_clauses, snapshot_values
from .statements import Statement
from .tables import RowWrite, RowWriteShape, row_values, shape_of, write_clause

# Not materialized, so that the guard looks up by parameters and opens one partition of the log.
ONE_EVENT = """new_event AS NOT MATERIALIZED (
  SELECT :stream_type::text AS stream_type, :stream_id::uuid AS stream_id,
         :version::bigint AS version, :event_id::uuid AS event_id,
         :event_type::text AS event_type, :schema_version::smallint AS schema_version,
         :payload::text AS payload, :command_name::text AS command_name, 1 AS ord),
stream AS (
  SELECT stream_type, stream_id, version AS first_version, false AS has_gap FROM new_event)"""

MANY_EVENTS = """new_event AS MATERIALIZED (
  SELECT * FROM unnest(:stream_types::text[], :stream_ids::uuid[], :versions::bigint[],
                       :event_ids::uuid[], :event_types::text[], :schema_versions::smallint[],
                       :payloads::text[], :command_names::text[]) WITH ORDINALITY
    AS t (stream_type, stream_id, version, event_id, event_type, schema_version, payload,
          command_name, ord)),
stream AS MATERIALIZED (
  SELECT stream_type, stream_id, min(version) AS first_version,
         max(version) - min(version) + 1 <> count(*) AS has_gap
    FROM new_event GROUP BY 1, 2)"""

# The event before each new one must exist and must be older than this transaction: then the order
# of transactions is the order of versions. The scalar sub-select prevents a scan of the log.
GUARD = """stale AS MATERIALIZED (
  SELECT 1 FROM stream s WHERE s.has_gap OR s.first_version > 1 AND (
    SELECT p.transaction_id < pg_current_xact_id() FROM bk.events p
     WHERE p.stream_type = s.stream_type AND p.stream_id = s.stream_id
       AND p.version = s.first_version - 1 LIMIT 1) IS NOT TRUE)"""
NOT_STALE = "NOT EXISTS (SELECT 1 FROM stale)"

# The same for a state that was recalled: its last event must be the last of the stream.
RECALLED_GUARD = """stale AS MATERIALIZED (
  SELECT 1 WHERE (
    SELECT p.event_id = :last_event_id::uuid AND p.transaction_id < pg_current_xact_id()
      FROM bk.events p
     WHERE p.stream_type = :stream_type AND p.stream_id = :stream_id AND p.version >= :version - 1
     ORDER BY p.version DESC LIMIT 1) IS NOT TRUE)"""

# The caller of a call that was recalled, if the grant still permits the command.
PERMITTED = """permitted AS MATERIALIZED (
  SELECT 1 FROM bk.principal_standing s
   WHERE s.principal_id = :principal_id::uuid AND s.kind = :actor_kind::text
     AND s.barred IS NULL AND s.agent_kind IS NULL
     AND (:issuer::text IS NULL OR s.principal_id = (
           SELECT i.actor_id FROM bk.actor_identity i
            WHERE i.issuer = :issuer AND i.subject = :subject::text))
     AND (SELECT g.conduit_id = :conduit_id::uuid
                 AND g.surface_id IS NOT DISTINCT FROM :surface_id::uuid
                 AND g.object_scope = :object_scope::text
                 AND g.permitted_commands && ARRAY[:permitted_command::text, '*']
            FROM bk.policy_grant g
           WHERE g.policy_id = :policy_id::uuid AND g.principal_id = s.principal_id))"""
IS_PERMITTED = "EXISTS (SELECT 1 FROM permitted)"
# Without it a repeated request would write, and fail at the key of its answer.
IS_UNANSWERED = """NOT EXISTS (
  SELECT 1 FROM bk.idempotency i
   WHERE i.principal_id = :principal_id AND i.surface_id = :surface_id
     AND i.key = :answer_key::text)"""

# The streams that were read and have a newer event.
READ_SET = """moved AS MATERIALIZED (
  SELECT 1 FROM unnest(:read_stream_types::text[], :read_stream_ids::uuid[],
                       :read_versions::bigint[]) AS r (stream_type, stream_id, version)
   WHERE (SELECT e.version FROM bk.events e
           WHERE e.stream_type = r.stream_type AND e.stream_id = r.stream_id
             AND e.version = r.version + 1 LIMIT 1) IS NOT NULL)"""
NOT_MOVED = "NOT EXISTS (SELECT 1 FROM moved)"

# The lock makes the fence wait for a takeover of the work that is just being committed.
FENCE = """held AS MATERIALIZED (
  SELECT stop FROM bk.work
   WHERE work_id = :work_id::uuid AND claim = :work_claim::bigint AND ended_at IS NULL
     AND CASE WHEN :work_owner::uuid IS NULL THEN owner IS NULL OR due_at <= clock_timestamp()
              ELSE owner = :work_owner::uuid AND due_at > clock_timestamp() END
   FOR NO KEY UPDATE)"""
IS_HELD = "EXISTS (SELECT 1 FROM held)"

# Work that got on may be claimed again as often as new work.
ADVANCE = """advanced AS (
  UPDATE bk.work SET idle_claims = 0,
         ended_at = CASE WHEN :work_ends::boolean THEN clock_timestamp() END
   WHERE work_id = :work_id::uuid AND (idle_claims > 0 OR :work_ends::boolean) AND {condition})"""

INSERT_EVENTS = """written AS (
  INSERT INTO bk.events (stream_type, stream_id, version, event_id, event_type, schema_version,
                         payload, command_name, principal_id, surface_id, correlation_id,
                         causation_id, occurred_at)
  SELECT n.stream_type, n.stream_id, n.version, n.event_id, n.event_type, n.schema_version,
         n.payload::json, n.command_name, :principal_id::uuid, :surface_id::uuid,
         :correlation_id::uuid, :causation_id::uuid, :occurred_at::timestamptz
    FROM new_event n WHERE {condition} ORDER BY n.ord
  RETURNING position, transaction_id)"""
IS_WRITTEN = "EXISTS (SELECT 1 FROM written)"

INSERT_ANSWER = """answer AS (
  INSERT INTO bk.idempotency (principal_id, surface_id, key, fingerprint, status, result, version,
                              transaction_id, position)
  SELECT :principal_id::uuid, :surface_id::uuid, :answer_key::text, :answer_fingerprint::bytea,
         :answer_status::smallint, :answer_result::text, :answer_version::bigint, {position})"""
POSITION_OF_ONE = "transaction_id, position FROM written"
POSITION_OF_MANY = "max(transaction_id), max(position) FROM written HAVING count(*) > 0"
NO_POSITION = "'0'::xid8, 0"
"""The position of an answer that is stored without an event."""

# The number of events written, and the position of the last one.
COUNT_OF_ONE = "SELECT 1 AS n, position, transaction_id::text::bigint AS tx FROM written"
# Of a fenced append, also whether the work is held: events may be missing for another reason.
COUNT_OF_FENCED = """SELECT count(*) AS n, max(position) AS position,
       max(transaction_id)::text::bigint AS tx, EXISTS (SELECT 1 FROM held) AS is_held
  FROM written"""
COUNT_OF_MANY = """SELECT count(*) AS n, max(position) AS position,
       max(transaction_id)::text::bigint AS tx FROM written"""

MOVED = Statement(f"WITH {READ_SET} SELECT 1 FROM moved")  # noqa: S608


class AppendShape(NamedTuple):
    """What an append consists of; appends of one shape share one statement."""

    single_event: bool
    first_event: bool
    """A single event that begins its stream has no event before it to check."""
    reads: bool
    answer: bool
    snapshots: bool
    fenced: bool = False
    recalled: bool = False
    row_writes: tuple[RowWriteShape, ...] = ()


@cache
def append_statement(shape: AppendShape) -> Statement:
    """Return the statement that writes appends of one shape."""
    clauses = [ONE_EVENT if shape.single_event else MANY_EVENTS]
    conditions: list[str] = []
    if not shape.first_event:
        clauses.append(RECALLED_GUARD if shape.recalled else GUARD)
        conditions.append(NOT_STALE)
    if shape.recalled:
        clauses.append(PERMITTED)
        conditions.append(IS_PERMITTED)
    if shape.recalled and shape.answer:
        conditions.append(IS_UNANSWERED)
    if shape.reads:
        clauses.append(READ_SET)
        conditions.append(NOT_MOVED)
    if shape.fenced:
        clauses.append(FENCE)
        conditions.append(IS_HELD)
    clauses.append(INSERT_EVENTS.format(condition=" AND ".join(conditions) or "true"))
    if shape.answer:
        position = POSITION_OF_ONE if shape.single_event else POSITION_OF_MANY
        clauses.append(INSERT_ANSWER.format(position=position))
    if shape.snapshots:
        clauses += snapshot_clauses(IS_WRITTEN)
    if shape.fenced:
        clauses.append(ADVANCE.format(condition=IS_WRITTEN))
    clauses += _row_clauses(shape.row_writes, IS_WRITTEN)
    count = COUNT_OF_ONE if shape.single_event else COUNT_OF_MANY
    count = COUNT_OF_FENCED if shape.fenced else count
    return Statement("\nWITH " + ",\n".join(clauses) + "\n" + count)


@cache
def rows_statement(
    row_writes: tuple[RowWriteShape, ...], answer: bool, fenced: bool = False
) -> Statement:
    """Return the statement that writes rows and an answer without events."""
    condition = IS_HELD if fenced else "true"
    clauses = [FENCE, ADVANCE.format(condition=IS_HELD)] if fenced else list[str]()
    if answer:
        clauses.append(INSERT_ANSWER.format(position=f"{NO_POSITION} WHERE {condition}"))
    clauses += _row_clauses(row_writes, condition)
    return Statement("\nWITH " + ",\n".join(clauses) + f"\nSELECT {condition} AS is_held")


def bound_statement(append: Append) -> tuple[Any, ...] | None:
    """Return the statement that writes everything but locks and bulk rows, with its arguments.

    Return None when there is nothing to write.
    """
    groups: dict[RowWriteShape, list[RowWrite]] = {}
    for part in append.side_writes:
        if not isinstance(part, Lock | Rows):
            groups.setdefault(shape_of(part), []).append(part)
    row_writes, answer, events = tuple(groups), append.answer, append.events
    if not (events or row_writes or answer or append.fence):
        return None
    values: dict[str, Any] = {
        "principal_id": append.principal_id,
        "surface_id": append.surface_id,
        "correlation_id": append.correlation_id,
        "causation_id": append.causation_id,
        "occurred_at": append.occurred_at,
    }
    if answer:
        values |= _answer_values(answer)
    for n, alike in enumerate(groups.values()):
        values[f"rows_{n}"] = row_values(alike)
    if append.fence:
        values |= fence_values(append.fence)
    if not events:
        fenced = append.fence is not None
        return rows_statement(row_writes, answer is not None, fenced).bind(values)
    single = len(events) == 1
    values |= _event_values(append, events[0]) if single else _events_values(append)
    if append.read:
        values |= read_values(append)
    if append.snapshots:
        values |= snapshot_values(append.snapshots)
    recalled = append.opened if append.opened and append.opened.is_recalled else None
    if recalled:
        values |= _recalled_values(recalled)
    shape = AppendShape(
        single_event=single,
        first_event=single and events[0].version == 1,
        reads=bool(append.read),
        answer=answer is not None,
        snapshots=bool(append.snapshots),
        fenced=append.fence is not None,
        recalled=recalled is not None,
        row_writes=row_writes,
    )
    return append_statement(shape).bind(values)


def read_values(append: Append) -> dict[str, Any]:
    """Return the values of `READ_SET`."""
    return {
        "read_stream_types": [stream_type for stream_type, _ in append.read],
        "read_stream_ids": [stream_id for _, stream_id in append.read],
        "read_versions": list(append.read.values()),
    }


def _row_clauses(row_writes: Sequence[RowWriteShape], condition: str) -> Iterable[str]:
    return [
        f"write_{n} AS ({write_clause(shape, f'rows_{n}', condition)})"
        for n, shape in enumerate(row_writes)
    ]


def fence_values(fence: Fenced) -> dict[str, Any]:
    """Return the values of `FENCE` and `ADVANCE`."""
    return {
        "work_id": fence.work_id,
        "work_claim": fence.claim,
        "work_owner": fence.owner,
        "work_ends": fence.ends,
    }


def _recalled_values(opened: CallContext) -> dict[str, Any]:
    """Return the values of `PERMITTED` and `RECALLED_GUARD`."""
    standing, (grant,), memory = opened.standing, opened.grants, opened.memory
    assert standing, "a call is recalled with its caller"  # noqa: S101
    assert memory, "it is recalled"  # noqa: S101
    issuer, subject = memory.lookup.identity or (None, None)
    return {
        "last_event_id": memory.last_event_id,
        "actor_kind": standing.kind,
        "issuer": issuer,
        "subject": subject,
        "conduit_id": grant.conduit_id,
        "object_scope": grant.object_scope,
        "permitted_command": memory.lookup.command_name,
        "policy_id": grant.policy_id,
    }


def _event_values(append: Append, event: NewEvent) -> dict[str, Any]:
    stream_type, stream_id = event.stream
    return {
        "stream_type": stream_type,
        "stream_id": stream_id,
        "version": event.version,
        "event_id": event.event_id,
        "event_type": event.event_type,
        "schema_version": event.schema_version,
        "payload": event.payload.decode(),
        "command_name": event.command_name or append.command_name,
    }


def _events_values(append: Append) -> dict[str, Any]:
    events = append.events
    return {
        "stream_types": [event.stream[0] for event in events],
        "stream_ids": [event.stream[1] for event in events],
        "versions": [event.version for event in events],
        "event_ids": [event.event_id for event in events],
        "event_types": [event.event_type for event in events],
        "schema_versions": [event.schema_version for event in events],
        "payloads": [event.payload.decode() for event in events],
        "command_names": [event.command_name or append.command_name for event in events],
    }


def _answer_values(answer: AnswerToStore) -> dict[str, Any]:
    return {
        "answer_key": answer.key,
        "answer_fingerprint": answer.fingerprint,
        "answer_status": answer.status,
        "answer_result": answer.result.decode(),
        "answer_version": answer.version,
    }
