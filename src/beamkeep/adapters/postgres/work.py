"""Durable work on PostgreSQL."""

import time
from collections.abc import AsyncGenerator, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from functools import cache
from typing import Any
from uuid import UUID

import asyncpg

from beamkeep.contexts.seams.work import MOST_IDLE_CLAIMS
from beamkeep.kernel import Fenced, Insert, Table
from beamkeep.runtime.store import StoreUnavailableError, WorkLostError
from beamkeep.workers.durable import (
    HANDOVER_SECONDS,
    ClaimedWork,
    HeldWork,
    WorkCounts,
    WorkStoppedError,
)

from .append_statement import ADVANCE, FENCE, fence_values
from .append_writer import LOCKED
from .connections import CONNECTION_ERRORS, UNAVAILABLE_ERRORS, Connections
from .statements import Statement
from .tables import RowWriteShape, read_rows, row_values, write_clause

CLAIM = Statement("""
WITH due AS MATERIALIZED (
  SELECT work_id, COALESCE(beat_at, created_at) AS last FROM bk.work
   WHERE kind = :kind AND ended_at IS NULL AND idle_claims < :most_idle_claims
     AND due_at <= clock_timestamp()
   ORDER BY due_at LIMIT :limit FOR UPDATE SKIP LOCKED)
UPDATE bk.work w SET claim = w.claim + 1, owner = :owner, beat_at = clock_timestamp(),
       due_at = clock_timestamp() + :lease::interval, idle_claims = w.idle_claims + 1
  FROM due WHERE w.work_id = due.work_id
RETURNING w.work_id, w.subject_id, w.claim, w.owner, clock_timestamp() - due.last
""")

RENEW = Statement("""
UPDATE bk.work SET due_at = clock_timestamp() + :lease::interval, beat_at = clock_timestamp()
 WHERE work_id = ANY(:work_ids::uuid[]) AND owner = :owner::uuid AND ended_at IS NULL
   AND due_at > clock_timestamp()
RETURNING work_id, claim, stop
""")

HELD = Statement("""
SELECT work_id, claim, stop FROM bk.work
 WHERE owner = :owner::uuid AND ended_at IS NULL AND due_at > clock_timestamp()
""")

FAIL = Statement("""
UPDATE bk.work SET owner = NULL, last_error = :error,
       due_at = clock_timestamp() + COALESCE(:again_after::interval, '0'),
       idle_claims = CASE WHEN :again_after::interval IS NULL THEN :most_idle_claims::smallint
                          ELSE idle_claims END
 WHERE work_id = :work_id::uuid AND claim = :work_claim::bigint AND owner = :work_owner::uuid
   AND ended_at IS NULL
""")

# A command that stops the work waits for this lock, for less than its lock timeout: the server ends
# the session of a process that was suspended with the lock.
BEGIN_HANDOVER = "BEGIN; SET LOCAL idle_in_transaction_session_timeout = 300"
END_HANDOVER = "COMMIT"
HANDOVER = Statement(f"WITH {FENCE} SELECT stop FROM held")  # noqa: S608

COUNTS = Statement("""
SELECT kind,
       count(*) FILTER (WHERE due_at <= clock_timestamp() AND idle_claims < :most_idle_claims),
       count(*) FILTER (WHERE due_at > clock_timestamp() AND owner IS NOT NULL),
       count(*) FILTER (WHERE due_at <= clock_timestamp() AND idle_claims >= :most_idle_claims),
       COALESCE(max(clock_timestamp() - due_at) FILTER (
         WHERE due_at <= clock_timestamp() AND idle_claims < :most_idle_claims), '0')
  FROM bk.work WHERE ended_at IS NULL GROUP BY kind ORDER BY kind
""")


class PostgresWorkQueue:
    """Durable work in rows of `bk.work`; all times are those of the database."""

    def __init__(
        self,
        connections: Connections,
        on_rows: Callable[[str, Sequence[object]], None] | None = None,
    ) -> None:
        """Call `on_rows` with a table and the rows that were recorded in it."""
        self._connections, self._on_rows = connections, on_rows

    async def claim(
        self, kind: str, owner: UUID, lease: timedelta, limit: int
    ) -> Sequence[ClaimedWork]:
        """Claim work of a kind that is due, the longest due first."""
        rows = await self._ask(CLAIM, kind=kind, owner=owner, lease=lease, limit=limit)
        return [ClaimedWork(*row) for row in rows]

    async def renew(
        self, owner: UUID, work_ids: Collection[UUID], lease: timedelta
    ) -> Mapping[UUID, HeldWork]:
        """Extend leases of a process that are not over; work that is not answered is lost."""
        rows = await self._ask(RENEW, owner=owner, work_ids=[*work_ids], lease=lease)
        return {work_id: HeldWork(*held) for work_id, *held in rows}

    async def held(self, owner: UUID) -> Mapping[UUID, HeldWork]:
        """Return what a process holds, without extending any lease."""
        rows = await self._ask(HELD, owner=owner)
        return {work_id: HeldWork(*held) for work_id, *held in rows}

    async def record[R](
        self,
        fence: Fenced,
        table: Table[R],
        rows: Sequence[R],
        *,
        lock: str,
        unless: Collection[str] = (),
    ) -> Sequence[R]:
        """Add rows while the claim holds, and return them as stored; a stored row stays."""
        values = {
            "rows": row_values([table.insert(row) for row in rows]),
            "lock": lock,
            "unless": [*unless],
        }
        ((added, is_held, stop),) = await self._ask(
            _record_statement(table), **values, **fence_values(fence)
        )
        if not is_held:
            raise WorkLostError
        if added and self._on_rows:
            self._on_rows(table.name, rows)
        if added == len(rows):
            return rows
        (key,) = table.key
        wanted = [getattr(row, key) for row in rows]
        found = await read_rows(self._connections, table, {key: wanted})
        if len(found) < len(rows):
            raise WorkStoppedError(f"It was asked to {stop}.")
        stored = {getattr(row, key): row for row in found}
        return [stored[id] for id in wanted]

    @asynccontextmanager
    async def handing_over(
        self, fence: Fenced, unless: Collection[str]
    ) -> AsyncGenerator[Callable[[], bool]]:
        """Provide a moment in which the row of the work is locked, so that an effect may begin."""
        is_open = was_open = False
        try:
            async with self._connections.connection() as connection:
                await connection.execute(BEGIN_HANDOVER)
                asked_at = _boot_time()
                rows = await connection.fetch(*HANDOVER.bind(fence_values(fence)))
                if not rows:
                    raise WorkLostError
                if (stop := rows[0]["stop"]) in unless:
                    raise WorkStoppedError(f"It was asked to {stop}.")

                def may_send() -> bool:
                    is_late = _boot_time() - asked_at > HANDOVER_SECONDS
                    return is_open and not is_late and not connection.is_closed()

                is_open = was_open = True
                try:
                    yield may_send
                finally:
                    is_open = False
                    # The lock has done its work; if it cannot be given back, it ends by itself.
                    with suppress(*CONNECTION_ERRORS, asyncpg.PostgresError):
                        await connection.execute(END_HANDOVER)
                    if connection.is_in_transaction():
                        connection.terminate()
        except (*CONNECTION_ERRORS, *UNAVAILABLE_ERRORS, asyncpg.LockNotAvailableError):
            if was_open:
                raise
            raise StoreUnavailableError from None

    async def fail(self, fence: Fenced, error: str, again_after: timedelta | None) -> None:
        """Give the work back to be claimed after a time, or leave it to people."""
        await self._ask(FAIL, error=error, again_after=again_after, **fence_values(fence))

    async def counts(self) -> Sequence[WorkCounts]:
        """Return the counts of every kind of work that has not ended."""
        return [WorkCounts(*row) for row in await self._ask(COUNTS)]

    async def _ask(self, statement: Statement, **values: Any) -> list[asyncpg.Record]:
        values["most_idle_claims"] = MOST_IDLE_CLAIMS
        try:
            return await self._connections.fetch(*statement.bind(values))
        except (*CONNECTION_ERRORS, *UNAVAILABLE_ERRORS, asyncpg.LockNotAvailableError):
            raise StoreUnavailableError from None


def _boot_time() -> float:
    """Return a clock that continues while the machine or the process is suspended."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


@cache
def _record_statement(table: Table[Any]) -> Statement:
    """Return the statement that adds rows under a fence and a lock, in the order of commits."""
    # The lock comes before the first number, and after the fence: nobody takes them the other way.
    condition = (
        "EXISTS (SELECT 1 FROM locked) AND NOT EXISTS"
        " (SELECT 1 FROM held WHERE stop = ANY(:unless::text[]))"
    )
    clause = write_clause(RowWriteShape(Insert, table, table.key), "rows", condition)
    return Statement(
        f"WITH {FENCE}, locked AS MATERIALIZED ("  # noqa: S608
        f" SELECT {LOCKED.format(name=':lock::text')} FROM held),"
        f" added AS ({clause} ON CONFLICT DO NOTHING RETURNING 1),"
        f" {ADVANCE.format(condition='EXISTS (SELECT 1 FROM added)')}"
        " SELECT (SELECT count(*) FROM added), EXISTS (SELECT 1 FROM held), (SELECT stop FROM held)"
    )
