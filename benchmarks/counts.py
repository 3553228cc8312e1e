"""What one call costs in statements, transaction ids and log bytes: counted, not timed."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any

from uuid_utils.compat import uuid7

from beamkeep.adapters.postgres.projections import PostgresProjections
from beamkeep.adapters.postgres.tail import PostgresTail
from beamkeep.contexts.catalogue import CATALOGUE
from beamkeep.feed.tail import shards
from beamkeep.kernel import Cannot
from beamkeep.runtime.admission import Request
from beamkeep.runtime.codec import Codec
from beamkeep.workers.projector import BOUNDS, PAGE, Projector

from .append import COMMANDS, Fresh, bare_steps, made, ours_step
from .loading import load_visits, visit_ids
from .measure import Step
from .rig import (
    AGENT,
    PATIENT,
    SUBJECT,
    Database,
    Rig,
    caller,
    let_in_agent,
    operation,
    principal,
    question,
)

METHOD = (
    "Counted over {} calls each: statements by pg_stat_statements, transaction ids by the"
    " snapshot, log bytes by pg_walinspect without full-page images."
)
CALLS, PAGES, STREAMS, FURTHER = 198, 5, 2000, 1_000_000
FEW_CALLS = 18
EXPECTED = {
    # Of nine commands on a visit the first takes two statements; then the visit is remembered.
    "accepted_command": {"statements": 1.111, "transaction_ids": 1},
    "refused_command": {"statements": 1, "transaction_ids": 0},
    # With a key it looks again, for the answer of its twin.
    "refused_with_key": {"statements": 2, "transaction_ids": 0},
    "get": {"statements": 1, "transaction_ids": 0},
    "list": {"statements": 2, "transaction_ids": 0},
    # What an agent reads is on record before it is answered: one statement more.
    "get_by_agent": {"statements": 2, "transaction_ids": 1},
    "list_by_agent": {"statements": 3, "transaction_ids": 1},
    # The page; then BEGIN, the bookmark, an upsert of the list and one of the directory, COMMIT.
    # New objects also need their facility: a lock, and a statement that finds it.
    "projection_page": {"statements": 8, "transaction_ids": 1},
    "bare_insert": {"statements": 1, "transaction_ids": 1},
}
# Most of it is the idempotency row and its two index entries; 24 bytes of that row are the version
# and the position that a replayed answer names.
MOST_LOG_BYTES_RATIO = 1.85

STATEMENTS = """
SELECT COALESCE(sum(calls), 0)::bigint FROM pg_stat_statements s JOIN pg_roles r ON r.oid = s.userid
 WHERE r.rolname IN ('bk_app', 'bk_projector')
"""
NEXT_TRANSACTION = "SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint"
# What the server writes now and then by itself is left out.
LOG_BYTES = """
SELECT sum(record_size)::bigint
  FROM pg_get_wal_stats($1::text::pg_lsn, pg_current_wal_flush_lsn(), true)
 WHERE "resource_manager/record_type" !~ '^(Standby|XLOG|LogicalMessage)/'
"""


async def measure(rig: Rig) -> dict[str, Any]:
    """Count every kind of call, and compare with what is expected."""
    calls, pages = rig.pick(CALLS, CALLS, FEW_CALLS), rig.pick(PAGES, PAGES, 1)
    async with rig.database("counts") as database, undisturbed(database):
        me = await principal(database)
        await load_visits(database.owner, me, 0, STREAMS, 1)
        await load_visits(database.owner, me, 0, STREAMS, 1, "bare")
        await load_visits(database.owner, me, STREAMS, 4 * PAGE * pages // 20, 20)
        pool = database.pool(1, "bk_projector", **PATIENT)
        tail, projections = PostgresTail(pool), PostgresProjections(pool)
        await projections.arrange(CATALOGUE.views, shards(1))
        await database.settle()
        ids, more = await visit_ids(database.owner, 0, STREAMS), ("bk", "bare")
        fresh = Fresh(partial(made, database.owner, me, more), FURTHER, ids, at_once=100)
        seam = database.seam(1)
        codec = Codec(CATALOGUE.aggregates.values())
        # Each page is applied by itself, as it is near the end of the log.
        each = BOUNDS._replace(events=1)
        projector = Projector(CATALOGUE.views, codec, tail, projections=projections, bounds=each)
        found = {
            # Each of the commands is remembered once it was made.
            "accepted_command": await count(
                database, ours_step(seam, fresh), calls, warm_up=len(COMMANDS)
            ),
            "refused_command": await count(database, await _refused(database, False), calls),
            "refused_with_key": await count(database, await _refused(database, True), calls),
            "get": await count(database, await _get(database), calls),
            "list": await count(database, _list(database), calls),
            **await _by_agent(database, calls),
            "projection_page": await count(database, lambda: projector.step(-1), pages),
            "bare_insert": await count(database, (await bare_steps(database, fresh, 1))[0], calls),
        }
    ratio = found["accepted_command"]["log_bytes"] / found["bare_insert"]["log_bytes"]
    reached = ratio <= MOST_LOG_BYTES_RATIO and all(
        found[kind][name] == value
        for kind, wanted in EXPECTED.items()
        for name, value in wanted.items()
    )
    return {
        **found,
        "log_bytes_ratio": round(ratio, 3),
        "gate": {"exactly": EXPECTED, "log_bytes_ratio": MOST_LOG_BYTES_RATIO},
        "reached": reached,
        "counts_hold": reached,
        "method": METHOD.format(calls),
    }


async def count(database: Database, step: Step, times: int, warm_up: int = 3) -> dict[str, float]:
    """What this many steps cost each, once everything is prepared."""
    owner = database.owner
    for _ in range(warm_up):
        await step()
    await owner.execute("SELECT pg_stat_statements_reset()")
    start, first = (
        await owner.fetchval("SELECT pg_current_wal_flush_lsn()::text"),
        await _next(database),
    )
    for _ in range(times):
        await step()
    # A transaction of ours, committed and flushed, so that all before it is flushed too.
    await owner.execute("SELECT pg_logical_emit_message(true, '', '')")
    last, statements = await _next(database) - 1, await owner.fetchval(STATEMENTS)
    return {
        "statements": round(statements / times, 3),
        "transaction_ids": (last - first) / times,
        "log_bytes": round((await owner.fetchval(LOG_BYTES, start) or 0) / times),
    }


async def _next(database: Database) -> int:
    return await database.owner.fetchval(NEXT_TRANSACTION)


@asynccontextmanager
async def undisturbed(database: Database) -> AsyncGenerator[None]:
    """Count every statement, and keep the server from work of its own meanwhile."""
    owner = database.owner
    await owner.execute(f"ALTER DATABASE {database.name} SET pg_stat_statements.track = 'top'")
    await owner.execute("ALTER SYSTEM SET autovacuum = off")
    await owner.execute("SELECT pg_reload_conf()")
    try:
        yield
    finally:
        await owner.execute("ALTER SYSTEM RESET autovacuum")
        await owner.execute("SELECT pg_reload_conf()")


async def _refused(database: Database, keyed: bool) -> Step:
    """A command the visit's state forbids."""
    seam, start = database.seam(1), operation("start_visit")
    (id,) = await visit_ids(database.owner, STREAMS - 1, 1)

    async def step() -> None:
        key = str(uuid7()) if keyed else None
        request = Request(caller(), {"visit_id": str(id)}, idempotency_key=key)
        with suppress(Cannot):
            await seam.service.dispatcher.execute(start, request)
            raise AssertionError("it was not refused")

    return step


async def _by_agent(database: Database, calls: int) -> dict[str, dict[str, float]]:
    """The same questions, asked by an agent."""
    await let_in_agent(database)
    return {
        "get_by_agent": await count(database, await _get(database, AGENT), calls),
        "list_by_agent": await count(database, _list(database, AGENT), calls),
    }


async def _get(database: Database, subject: str = SUBJECT) -> Step:
    seam, get = database.seam(1), question("get_visit")
    (id,) = await visit_ids(database.owner, STREAMS - 1, 1)

    async def step() -> None:
        await seam.service.queries.ask(get, Request(caller(subject), {"visit_id": str(id)}))

    return step


def _list(database: Database, subject: str = SUBJECT) -> Step:
    seam, listed = database.seam(1), question("list_visits")

    async def step() -> None:
        await seam.service.queries.ask(listed, Request(caller(subject), {}))

    return step
