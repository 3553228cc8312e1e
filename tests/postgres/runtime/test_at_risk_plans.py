"""Decisions at risk are found by indexes, however many decisions agents have made."""

import json
import os
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import product
from typing import Any, LiteralString
from uuid import UUID

import psycopg
import pytest
from psycopg import sql

from beamkeep.adapters.postgres.connections import PLANNING
from beamkeep.contexts.seams.agent_records import AgentPin, ResultFilter, RiskReason
from beamkeep.parts.agents.postgres_records import result_values, results_statement
from beamkeep.testing.cluster import Cluster
from beamkeep.testing.database import Database
from beamkeep.testing.postgres import ARRANGED, fresh_database

pytestmark = pytest.mark.postgres

DECISIONS = int(os.environ.get("BEAMKEEP_DECISIONS_AT_RISK") or 20_000)
AGENTS, MODELS, PAGE = 5, 7, 100
MOST_READ = 10_000
"""Rows and index entries that a page may read: at most a page of each model of each agent."""
PIN, MODEL = "model-1-20260101", "model-3"
# One call for each decision. Of a thousand decisions, one is misleading and one is overridden.
FILL = """
CREATE TEMPORARY TABLE made AS
SELECT n, (lpad(to_hex((extract(epoch FROM now()) * 1000)::bigint - n * 1000), 12, '0')
           || '70008000' || lpad(to_hex(n), 12, '0'))::uuid AS id,
       lpad(to_hex(n / 1000 % {agents} + 1), 32, '0')::uuid AS agent,
       now() - make_interval(secs => n) AS at
  FROM generate_series(1, {rows}) AS n;
INSERT INTO bk.agent_decision (decision_id, agent_id, decided_at, rated_misleading, overridden)
SELECT id, agent, at, n % 1000 = 0, n % 1000 = 1 FROM made;
INSERT INTO bk.decision_inference
       (inference_id, decision_id, agent_id, principal_id, correlation_id, occurred_at, recorded_at,
        operation_name, provider_name, request_model, response_model, finish_reasons)
SELECT gen_random_uuid(), id, agent, agent, id, at, at, 'chat', 'local', 'model-' || n % {models},
       'model-' || n % {models} || '-20260101', '{{stop}}'
  FROM made
"""

type Asked = dict[str, Sequence[Any]]
"""Statements, each with its values."""


def with_decisions(cluster: Cluster, rows: int) -> Database:
    database = fresh_database(cluster, ARRANGED)
    database.ask(FILL.format(agents=AGENTS, models=MODELS, rows=rows))
    return database


def every_statement() -> Asked:
    """Return each shape of the question; of the agents, two are pinned and one goes on working."""
    now, asked = datetime.now(UTC), dict[str, Sequence[Any]]()
    agents = tuple(
        AgentPin(UUID(int=number), PIN if number <= 2 else None, is_over=number != AGENTS)
        for number in range(1, AGENTS + 1)
    )
    for reason, model in product((None, *RiskReason), (None, MODEL)):
        wanted = ResultFilter(
            agents=agents,
            since=now - timedelta(days=90),
            until=now + timedelta(days=1),
            reason=reason,
            provider="local" if model else None,
            model=model,
        )
        statement = results_statement(reason, of_model=model is not None)
        text, *values = statement.bind(result_values(wanted, before=None, limit=PAGE + 1))
        asked[text] = values
    return asked


def explained(
    database: Database, asked: Asked, explain: LiteralString
) -> dict[str, list[dict[str, Any]]]:
    """Return the nodes of the plan of each statement, made for any values."""
    found: dict[str, list[dict[str, Any]]] = {}
    with psycopg.connect(database.url("postgres"), autocommit=True) as connection:
        for name, value in PLANNING.items():
            connection.execute("SELECT set_config(%s, %s, false)", [name, value])
        for text, values in asked.items():
            connection.execute(f"PREPARE asked AS {text}".encode())
            given = sql.SQL(", ").join(map(sql.Literal, values))
            execute = sql.SQL(explain + " EXECUTE asked ({})").format(given)
            ((told,),) = connection.execute(execute).fetchall()
            plans = json.loads(told) if isinstance(told, str) else told
            found[text] = [*nodes(plans[0]["Plan"])]
            connection.execute("DEALLOCATE asked")
    return found


def nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for below in plan.get("Plans", []):
        yield from nodes(below)


def reads_all(node: dict[str, Any]) -> bool:
    kind = node["Node Type"]
    return kind == "Seq Scan" or (kind.startswith("Index") and "Index Cond" not in node)


def rows_read(node: dict[str, Any]) -> float:
    if "Index Name" not in node:
        return 0
    removed = node.get("Rows Removed by Filter", 0)
    return (node["Actual Rows"] + removed) * node["Actual Loops"]


def require_a_page_by_indexes(cluster: Cluster, rows: int) -> None:
    """Plan every statement before and after the rows were analysed, and then carry it out."""
    database, asked = with_decisions(cluster, rows), every_statement()
    assert len(asked) == 2 * (1 + len(RiskReason))
    for _ in range(2):
        found = explained(database, asked, explain="EXPLAIN (FORMAT JSON)")
        scans = {text: [*filter(reads_all, plan)] for text, plan in found.items()}
        assert not [text for text, scan in scans.items() if scan]
        database.ask("VACUUM ANALYZE bk.agent_decision, bk.decision_inference")
    carried_out = explained(database, asked, explain="EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON)")
    read = {text: sum(map(rows_read, plan)) for text, plan in carried_out.items()}
    assert {text: number for text, number in read.items() if number > MOST_READ} == {}


def test_a_page_of_decisions_at_risk_is_found_by_indexes(cluster: Cluster):
    require_a_page_by_indexes(cluster, DECISIONS)
