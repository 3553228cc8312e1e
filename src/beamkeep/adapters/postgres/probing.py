"""Trials of a database: each role reads and writes what it needs, and nothing is kept."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import asyncpg

from beamkeep.contexts.catalogue import SITE
from beamkeep.kernel import Table

from .migrate import migrations
from .reaching import REFUSED, connected, connection_fault
from .tables import written_columns

# PostgreSQL stops when it cannot make its next log segment, which has 16 MB. The rows of this
# statement take as much, go to a temporary file, and are gone with the statement.
ROOM = """
WITH filler AS MATERIALIZED (SELECT repeat('x', 1000) AS x FROM generate_series(1, 17000))
SELECT count(x) FROM filler
"""
FACTS = """
SELECT current_user AS role, current_setting('transaction_read_only') = 'on' AS read_only,
       EXISTS (SELECT FROM pg_extension WHERE extname = 'pg_trgm') AS has_trigrams
"""
APPLIED = "SELECT name FROM public.beamkeep_migrations ORDER BY name"


class Trial(NamedTuple):
    """A statement that a role must be able to run."""

    verb: str
    table: str
    statement: str


ROOM_TRIAL = Trial("write", "temporary files", ROOM)
FULL = "The disk of the database is full"


def _read(table: str) -> Trial:
    return Trial("read", table, f"SELECT FROM {table} LIMIT 1")


def _write_all(table: Table[Any]) -> Trial:
    """Return the trial of every column of a table that a context of a site writes."""
    columns, name = ", ".join(written_columns(table)), f"bk.{table.name}"
    insert = f"INSERT INTO {name} ({columns}) SELECT {columns} FROM {name} WHERE false"  # noqa: S608
    return Trial("write", name, insert)


APP = (
    _read("bk.events"),
    _read("bk.projections"),
    _read("bk.actor_identity"),
    Trial(
        "write",
        "bk.events",
        "INSERT INTO bk.events (version, stream_id) SELECT 1, gen_random_uuid() WHERE false",
    ),
    Trial("write", "bk.claims", "INSERT INTO bk.claims SELECT * FROM bk.claims WHERE false"),
    Trial(
        "write",
        "bk.idempotency",
        "INSERT INTO bk.idempotency SELECT * FROM bk.idempotency WHERE false",
    ),
    Trial("write", "bk.heartbeat", "INSERT INTO bk.heartbeat VALUES ('check', now())"),
    *(_write_all(table) for context in SITE.values() for table in context.tables),
)
"""What `serve` and `work` need for commands and questions."""
PROJECTOR = (
    _read("bk.events"),
    Trial(
        "write",
        "bk.bookmarks",
        "INSERT INTO bk.bookmarks SELECT * FROM bk.bookmarks WHERE false",
    ),
    Trial("write", "proj", "CREATE TABLE proj.check_trial ()"),
)
"""What the worker needs that updates the lists."""
READER = (_read("bk.events"), _read("bk.witness_checkpoint"))
"""What `verify` and reports need."""
WITNESS = (
    _read("bk.events"),
    Trial(
        "write",
        "bk.witness_checkpoint",
        "INSERT INTO bk.witness_checkpoint SELECT * FROM bk.witness_checkpoint WHERE false",
    ),
)
"""What the witness needs."""


async def probe(url: str, trials: Sequence[Trial]) -> list[str]:
    """Run the trials in transactions that are rolled back, and return what is wrong."""
    try:
        connection = await connected(url)
    except REFUSED as error:
        return [connection_fault(error)]
    try:
        facts = await connection.fetchrow(FACTS)
        assert facts is not None, "the statement returns one row"  # noqa: S101
        role, does_write = facts["role"], any(each.verb == "write" for each in trials)
        found = list[str]()
        if not facts["has_trigrams"]:
            found.append(
                "The extension pg_trgm is missing, without which nothing is found by name. Run"
                " CREATE EXTENSION pg_trgm WITH SCHEMA bk as a superuser."
            )
        if newer := {row["name"] for row in await connection.fetch(APPLIED)} - {*migrations()}:
            found.append(
                f"The schema is newer than this release: it has {', '.join(sorted(newer))}."
                " Install the release that migrated the database."
            )
        if does_write and facts["read_only"]:
            return [*found, _read_only(role)]
        room = [ROOM_TRIAL] if does_write else []
        for trial in (*trials, *room):
            found += await _tried(connection, trial, role)
            if found and FULL in found[-1]:
                break
        return list(dict.fromkeys(found))
    except REFUSED as error:
        return [f"The connection to the database was lost. Check that it runs: {error}"]
    finally:
        connection.terminate()


async def _tried(connection: asyncpg.Connection, trial: Trial, role: str) -> list[str]:
    try:
        await connection.execute("BEGIN")
        if trial is ROOM_TRIAL:
            await connection.execute("SET LOCAL work_mem = '64kB'")
        await connection.fetch(trial.statement)
    except asyncpg.InsufficientPrivilegeError:
        remedy = "Log in as the role that the installation page names, or grant it again."
        return [f"The role {role} may not {trial.verb} {trial.table}. {remedy}"]
    except asyncpg.ReadOnlySQLTransactionError:
        return [_read_only(role)]
    except asyncpg.PostgresError as error:
        reason = str(error).partition("\n")[0]
        # On a full disk there may be no room for the folder of temporary files either.
        if isinstance(error, asyncpg.DiskFullError) or trial is ROOM_TRIAL:
            return [f"{FULL}. Free at least 16 MB on it: {reason}"]
        return [f"The role {role} cannot {trial.verb} {trial.table}: {reason}"]
    finally:
        if not connection.is_closed():
            await connection.execute("ROLLBACK")
    return []


def _read_only(role: str) -> str:
    return (
        "The database is read-only. Set default_transaction_read_only to off for the server, the"
        f" database and the role {role}."
    )
