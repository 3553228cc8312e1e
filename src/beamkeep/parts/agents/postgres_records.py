"""Records of agents on PostgreSQL: sums of their calls, and their decisions by reason."""

from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from functools import cache
from typing import Any
from uuid import UUID

from beamkeep.adapters.postgres.connections import Connections
from beamkeep.adapters.postgres.statements import Statement
from beamkeep.contexts.seams.agent_records import (
    AgentDay,
    AgentUse,
    FoundResult,
    ResultFilter,
    RiskReason,
)

LAST = UUID(int=2**128 - 1)
ID_MARGIN = timedelta(days=1)
"""By how much the time in a decision's id may differ from the time of the decision."""

USE = Statement("""
SELECT a.agent_id,
       (SELECT COALESCE(sum(COALESCE(i.input_tokens, 0) + COALESCE(i.output_tokens, 0)), 0)::bigint
          FROM bk.decision_inference i
         WHERE i.agent_id = a.agent_id AND i.recorded_at >= :today::timestamptz)
     + (SELECT COALESCE(sum(c.reserved_tokens), 0)::bigint FROM bk.model_call c
         WHERE c.agent_id = a.agent_id AND NOT c.settled AND c.started_at >= :today),
       (SELECT COALESCE(sum(i.cost_usd), 0)::float8 FROM bk.decision_inference i
         WHERE i.agent_id = a.agent_id AND i.recorded_at >= :month::timestamptz)
     + (SELECT COALESCE(sum(c.reserved_usd), 0)::float8 FROM bk.model_call c
         WHERE c.agent_id = a.agent_id AND NOT c.settled AND c.started_at >= :month),
       (SELECT COALESCE(max(n.number), 0) FROM bk.agent_action n
         WHERE n.agent_id = a.agent_id AND n.day = (:today AT TIME ZONE 'UTC')::date)
  FROM unnest(:agent_ids::uuid[]) AS a (agent_id)
""")

DAYS = Statement("""
SELECT (i.recorded_at AT TIME ZONE 'UTC')::date AS day, count(*) AS calls,
       count(i.error) AS failed_calls, count(*) - count(i.cost_usd) AS unpriced_calls,
       COALESCE(sum(i.input_tokens), 0)::bigint AS input_tokens,
       COALESCE(sum(i.output_tokens), 0)::bigint AS output_tokens,
       COALESCE(sum(i.cost_usd), 0)::float8 AS cost_usd,
       COALESCE(sum(i.duration_ms), 0)::bigint AS duration_ms
  FROM bk.decision_inference i
 WHERE i.agent_id = :agent_id::uuid
   AND i.recorded_at >= :since::timestamptz AND i.recorded_at < :until::timestamptz
 GROUP BY 1 ORDER BY 1 DESC LIMIT :limit
""")

# The models that answered each agent are few; each is found by one step in the index.
ANSWERED = """answered AS (
  SELECT a.agent_id, a.pin, a.is_over, (SELECT min(i.response_model) FROM bk.decision_inference i
                              WHERE i.agent_id = a.agent_id) AS model
    FROM agent a WHERE {condition}
  UNION ALL
  SELECT m.agent_id, m.pin, m.is_over, (SELECT min(i.response_model) FROM bk.decision_inference i
                              WHERE i.agent_id = m.agent_id AND i.response_model > m.model)
    FROM answered m WHERE m.model IS NOT NULL)"""

# The scalar sub-select looks up one row by its key; a join might read all decisions.
IN_TIME = """{id} > :low::uuid AND {id} < :high::uuid AND (
           SELECT r.decided_at >= :since::timestamptz AND r.decided_at < :until::timestamptz
             FROM bk.agent_decision r WHERE r.decision_id = {id})"""
NEWEST = "ORDER BY decision_id DESC LIMIT :limit"

IS_MODEL = """({column} = :model::text
            OR left({column}, length(:model::text) + 1) = :model::text || '-'
           AND substr({column}, length(:model::text) + 2) ~ '^[0-9]{{8}}$')"""
TOUCHED = f"""
           AND EXISTS (SELECT 1 FROM bk.decision_inference t
                        WHERE t.decision_id = x.decision_id AND t.provider_name = :provider::text
                          AND (t.request_model = :model::text
                               OR {IS_MODEL.format(column="t.response_model")}))"""  # noqa: S608

ANSWERED_BY = """SELECT f.decision_id FROM answered m CROSS JOIN LATERAL (
         SELECT DISTINCT x.decision_id FROM bk.decision_inference x
          WHERE x.agent_id = m.agent_id AND x.response_model = m.model
            AND {in_time}{also}
          {newest}) AS f WHERE {condition}"""
REQUESTED = """SELECT f.decision_id FROM agent a CROSS JOIN LATERAL (
         SELECT DISTINCT x.decision_id FROM bk.decision_inference x
          WHERE x.agent_id = a.agent_id AND x.request_model = :model::text
            AND x.provider_name = :provider::text AND {in_time}{also}
          {newest}) AS f"""
UNPINNED = """
            AND {agent}.is_over AND EXISTS (
                  SELECT 1 FROM bk.decision_inference u
                   WHERE u.decision_id = x.decision_id AND u.response_model IS NOT NULL
                     AND u.response_model IS DISTINCT FROM {agent}.pin)"""
MARKED = """SELECT f.decision_id FROM agent a CROSS JOIN LATERAL (
         SELECT x.decision_id FROM bk.agent_decision x
          WHERE x.agent_id = a.agent_id AND x.{column} AND {in_time}{also}
          {newest}) AS f"""

RESULTS = """
WITH RECURSIVE agent AS MATERIALIZED (
  SELECT * FROM unnest(:agent_ids::uuid[], :pins::text[], :are_over::boolean[])
    AS a (agent_id, pin, is_over)),
{answered},
page AS MATERIALIZED (
  SELECT DISTINCT decision_id FROM ({found}) AS f ORDER BY decision_id DESC LIMIT :limit)
SELECT r.decision_id, r.agent_id, r.decided_at, l.request_model, l.response_model,
       a.is_over AND EXISTS (
         SELECT 1 FROM bk.decision_inference i
          WHERE i.decision_id = r.decision_id AND i.response_model IS NOT NULL
            AND i.response_model IS DISTINCT FROM a.pin), r.rated_misleading, r.overridden
  FROM page p
 CROSS JOIN LATERAL (SELECT * FROM bk.agent_decision WHERE decision_id = p.decision_id) AS r
  JOIN agent a ON a.agent_id = r.agent_id
  LEFT JOIN LATERAL (SELECT i.request_model, i.response_model FROM bk.decision_inference i
                      WHERE i.decision_id = r.decision_id
                      ORDER BY i.occurred_at DESC, i.inference_id DESC LIMIT 1) AS l ON true
 ORDER BY r.decision_id DESC
"""


class PostgresAgentRecords:
    """Sums calls and finds decisions by indexes of the rows of decisions."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    async def use(self, agent_ids: Collection[UUID], now: datetime) -> Mapping[UUID, AgentUse]:
        """Return what each agent has used on this day and in this month, in UTC."""
        today = _start(now.astimezone(UTC).date())
        values = {"agent_ids": list(agent_ids), "today": today, "month": today.replace(day=1)}
        rows = await self._connections.read(*USE.bind(values))
        return {id: AgentUse(tokens, usd, actions) for id, tokens, usd, actions in rows}

    async def days(
        self, agent_id: UUID, since: date, until: date, limit: int
    ) -> Sequence[AgentDay]:
        """Return days with calls from `since` until before `until`, the newest first."""
        values = {"agent_id": agent_id, "since": _start(since), "until": _start(until)}
        rows = await self._connections.read(*DAYS.bind({**values, "limit": limit}))
        return [AgentDay(**dict(row)) for row in rows]

    async def results(
        self, wanted: ResultFilter, before: UUID | None, limit: int
    ) -> Sequence[FoundResult]:
        """Return decisions with ids before this one, the newest first."""
        statement = results_statement(wanted.reason, wanted.model is not None)
        rows = await self._connections.read(*statement.bind(result_values(wanted, before, limit)))
        return [
            FoundResult(
                decision_id=row[0],
                agent_id=row[1],
                decided_at=row[2],
                request_model=row[3],
                response_model=row[4],
                reasons=tuple(
                    reason for reason, holds in zip(RiskReason, row[5:8], strict=True) if holds
                ),
            )
            for row in rows
        ]


@cache
def results_statement(reason: RiskReason | None, of_model: bool) -> Statement:
    """Return the statement that finds decisions with this reason or any, or of one model."""
    in_time, also = IN_TIME.format(id="x.decision_id"), TOUCHED if of_model else ""
    part = {"in_time": in_time, "newest": NEWEST}
    marked = {
        RiskReason.NOT_REPRODUCIBLE: ANSWERED_BY.format(
            condition="m.model IS DISTINCT FROM m.pin AND m.model IS NOT NULL", also=also, **part
        ),
        RiskReason.RATED_MISLEADING: MARKED.format(column="rated_misleading", also=also, **part),
        RiskReason.OVERRIDDEN: MARKED.format(column="overridden", also=also, **part),
    }
    found, condition = [marked[reason]] if reason else [*marked.values()], "a.is_over"
    if of_model and reason in {None, RiskReason.NOT_REPRODUCIBLE}:
        # Found by the one model, because the calls of all others are many.
        is_model, condition = IS_MODEL.format(column="m.model"), "true"
        same = "\n            AND x.provider_name = :provider::text"
        by_answer, by_request = (
            UNPINNED.format(agent=each) if reason else "" for each in ("m", "a")
        )
        answered = ANSWERED_BY.format(condition=is_model, also=same + by_answer, **part)
        found = [answered, REQUESTED.format(also=by_request, **part)]
    branches = "\n       UNION ALL ".join(f"({each})" for each in found)
    return Statement(RESULTS.format(answered=ANSWERED.format(condition=condition), found=branches))


def result_values(wanted: ResultFilter, before: UUID | None, limit: int) -> dict[str, Any]:
    """Return the values of the statement that finds decisions."""
    of_model = {"provider": wanted.provider, "model": wanted.model} if wanted.model else {}
    return {
        "agent_ids": [each.agent_id for each in wanted.agents],
        "pins": [each.snapshot_pin for each in wanted.agents],
        "are_over": [each.is_over for each in wanted.agents],
        "low": _id_at(wanted.since, -ID_MARGIN),
        "high": min(before or LAST, _id_at(wanted.until, ID_MARGIN)),
        "since": wanted.since,
        "until": wanted.until,
        "limit": limit,
        **of_model,
    }


def _id_at(at: datetime, margin: timedelta) -> UUID:
    """Return the least id that was made at a time, by the first 48 bits of ids."""
    milliseconds = int((at.timestamp() + margin.total_seconds()) * 1000)
    return UUID(int=min(max(milliseconds, 0), (1 << 48) - 1) << 80)


def _start(day: date) -> datetime:
    return datetime.combine(day, time(), UTC)
