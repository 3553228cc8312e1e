"""Calls of language models on PostgreSQL."""

from typing import Any
from uuid import UUID

import asyncpg

from beamkeep.adapters.postgres.append_writer import LOCKED
from beamkeep.adapters.postgres.connections import (
    CONNECTION_ERRORS,
    UNAVAILABLE_ERRORS,
    Connections,
)
from beamkeep.adapters.postgres.statements import Statement
from beamkeep.runtime.store import StoreUnavailableError

from .models.budget import (
    ATTEMPT_EVERY,
    MOST_ATTEMPTS,
    Begun,
    Exhausted,
    ModelCall,
    OverBudget,
    Postponed,
    Spending,
    Spent,
)

# What an agent has spent: inferences on record, and the reserves of calls that are not settled.
SPENT = """
  SELECT COALESCE((SELECT sum(COALESCE(i.input_tokens, 0) + COALESCE(i.output_tokens, 0))
                     FROM bk.decision_inference i
                    WHERE i.agent_id = :agent_id AND i.recorded_at >= t.day), 0)::bigint
       + COALESCE((SELECT sum(c.reserved_tokens) FROM bk.model_call c
                    WHERE c.agent_id = :agent_id AND NOT c.settled AND c.started_at >= t.day),
                  0)::bigint AS tokens,
         COALESCE((SELECT sum(i.cost_usd) FROM bk.decision_inference i
                    WHERE i.agent_id = :agent_id AND i.recorded_at >= t.month), 0)
       + COALESCE((SELECT sum(c.reserved_usd) FROM bk.model_call c
                    WHERE c.agent_id = :agent_id AND NOT c.settled AND c.started_at >= t.month),
                  0) AS usd
    FROM (SELECT date_trunc('day', clock_timestamp(), 'UTC') AS day,
                 date_trunc('month', clock_timestamp(), 'UTC') AS month) AS t
"""

# The lock is held before the statement that compares begins, so that its snapshot is newer than
# the call that held the lock before.
LOCK = f"SELECT {LOCKED.format(name='$1::text')}"

BEGIN_CALL = Statement(f"""
WITH spent AS MATERIALIZED ({SPENT}),
last AS MATERIALIZED (
  SELECT COALESCE(max(attempt), 0)::smallint AS attempt, max(started_at) AS started_at,
         NOT (array_agg(settled ORDER BY attempt DESC))[1] AS is_open
    FROM bk.model_call WHERE agent_id = :agent_id AND key = :key),
seen AS MATERIALIZED (
  SELECT l.attempt, l.is_open,
         GREATEST(0, extract(epoch FROM l.started_at + :every::interval
                                        - clock_timestamp()))::float8 AS seconds,
         NOT :hopeless::boolean
         AND (:token_cap::bigint IS NULL OR s.tokens + :tokens::bigint <= :token_cap)
         AND (:usd_cap::float8 IS NULL OR s.usd + COALESCE(:usd::float8, 0) <= :usd_cap) AS fits
    FROM last l, spent s),
made AS (
  INSERT INTO bk.model_call
    (agent_id, key, attempt, started_at, reserved_tokens, reserved_usd, settled)
  SELECT :agent_id, :key, attempt + 1, clock_timestamp(), :tokens, :usd, false FROM seen
   WHERE attempt < :most AND COALESCE(seconds, 0) = 0 AND fits
  RETURNING attempt, started_at)
SELECT seen.attempt AS before, seen.seconds, seen.is_open, made.attempt, made.started_at
  FROM seen LEFT JOIN made ON true
""")  # noqa: S608

SETTLE = Statement("""
UPDATE bk.model_call SET settled = true
 WHERE agent_id = :agent_id AND key = :key AND attempt = :attempt
""")

SPENT_NOW = Statement(SPENT)


class PostgresModelCalls:
    """Keeps calls in `bk.model_call`; the calls of one agent begin one after another."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    async def begin(self, key: str, spending: Spending) -> Begun:
        """Record a call if it is due and the budget covers it."""
        budget, reserve = spending.budget, spending.reserve
        values = {
            "agent_id": spending.agent_id,
            "key": key,
            "hopeless": spending.is_hopeless,
            "token_cap": budget and budget.daily_token_cap,
            "usd_cap": budget and budget.monthly_usd_cap,
            "tokens": reserve.tokens,
            "usd": reserve.usd,
            "every": ATTEMPT_EVERY,
            "most": MOST_ATTEMPTS,
        }
        row = await self._locked(spending.agent_id, BEGIN_CALL.bind(values))
        if row["attempt"] is not None:
            return ModelCall(
                spending.agent_id,
                key,
                attempt=row["attempt"],
                started_at=row["started_at"],
                reserved_tokens=reserve.tokens,
                reserved_usd=reserve.usd,
            )
        if row["seconds"]:
            return Postponed(row["seconds"], is_open=row["is_open"])
        return Exhausted() if row["before"] >= MOST_ATTEMPTS else OverBudget()

    async def _locked(self, agent_id: UUID, bound: tuple[Any, ...]) -> asyncpg.Record:
        try:
            async with self._connections.connection() as connection:
                await connection.execute("BEGIN")
                await connection.execute(LOCK, f"agent-budget:{agent_id}")
                row = await connection.fetchrow(*bound)
                await connection.execute("COMMIT")
        except (*CONNECTION_ERRORS, *UNAVAILABLE_ERRORS, asyncpg.LockNotAvailableError):
            # If the row was written all the same, its reserve counts and the call is not made.
            raise StoreUnavailableError from None
        assert row is not None, "the statement always gives a row"  # noqa: S101
        return row

    async def spent(self, agent_id: UUID) -> Spent:
        """Return what an agent has spent on this day and in this month, in UTC."""
        (row,) = await self._connections.read(*SPENT_NOW.bind({"agent_id": agent_id}))
        return Spent(row["tokens"], row["usd"])

    async def settle(self, call: ModelCall) -> None:
        """Let the reserve of a call no longer count."""
        values = {"agent_id": call.agent_id, "key": call.key, "attempt": call.attempt}
        await self._connections.read(*SETTLE.bind(values))
