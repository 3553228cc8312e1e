"""Filling a log with visits as the service would have written them."""

from uuid import UUID

import asyncpg

# The n-th visit's id is made from n: ascending, as the service's own ids are.
VISIT_ID = """(lpad(to_hex(1893456000000 + {n}), 12, '0') || '7' || substr(md5({n}::text), 1, 3)
  || '8' || substr(md5({n}::text), 4, 15))::uuid"""

LOAD = """
INSERT INTO {schema}.events (stream_type, stream_id, version, event_id, event_type, schema_version,
                             payload, command_name, principal_id, surface_id, correlation_id,
                             occurred_at)
SELECT 'Visit', id, version, gen_random_uuid(), event_type, 1, (
         '{{"occurred_at":"2030-01-01T08:00:00.123456Z","visit_id":"' || id || '"'
         || CASE event_type
              WHEN 'VisitRegistered' THEN ',"policy_id":"' || policy || '","parent_surface_id":"'
                || policy || '","type":"' || (ARRAY['user', 'staff', 'calibration'])[n % 3 + 1]
                || '","planned_start_at":"2030-01-02T08:00:00Z"'
                || ',"planned_end_at":"2030-01-04T08:00:00Z","parent_id":null'
                || ',"external_refs":{{"proposal":"MX-' || n || '","cycle":"2030-1"}}'
              WHEN 'VisitHeld' THEN ',"reason":"The shutter of the hutch does not close."'
              ELSE '' END || '}}')::json,
       'load_visit', $1, $1, $1, now()
  FROM (SELECT n, version, {id} AS id, {policy} AS policy,
               CASE WHEN version = 1 THEN 'VisitRegistered' WHEN version = 2 THEN 'VisitArrived'
                    WHEN version = 3 THEN 'VisitStarted' WHEN version % 2 = 0 THEN 'VisitHeld'
                    ELSE 'VisitResumed' END AS event_type
          FROM generate_series($2::bigint, $2 + $3 - 1) AS n
         CROSS JOIN generate_series(1, $4::bigint) AS version
         ORDER BY {order}) AS e
"""


async def load_visits(
    connection: asyncpg.Connection,
    principal_id: UUID,
    first: int,
    streams: int,
    events: int,
    schema: str = "bk",
    by_turns: bool = False,
) -> None:
    """Write whole streams one after another, or one event of each by turns."""
    statement = LOAD.format(
        schema=schema,
        id=VISIT_ID.format(n="n"),
        policy=VISIT_ID.format(n="(n % 1000)"),
        order="version, n" if by_turns else "n, version",
    )
    await connection.execute(statement, principal_id, first, streams, events)


async def visit_ids(connection: asyncpg.Connection, first: int, streams: int) -> list[UUID]:
    """The ids of visits loaded before."""
    statement = f"SELECT {VISIT_ID.format(n='n')} FROM generate_series($1::bigint, $2) AS n"
    return [row[0] for row in await connection.fetch(statement, first, first + streams - 1)]
