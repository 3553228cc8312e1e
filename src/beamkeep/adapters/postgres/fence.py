"""The start-up checks of a database: the service starts only if all of them pass."""

import asyncpg

from .connections import CONNECTION_ERRORS
from .migrate import migrations
from .reaching import (
    REFUSED,
    UnreachableDatabaseError,
    connected,
    connection_fault,
    is_temporary,
)

OLDEST_SERVER = 150000

# The settings of the server that durability and order depend on.
SETTINGS = """
SELECT current_setting('server_version_num')::int AS version,
       current_setting('max_prepared_transactions') AS max_prepared_transactions,
       current_setting('fsync') AS fsync,
       current_setting('full_page_writes') AS full_page_writes,
       current_setting('synchronous_commit') AS synchronous_commit,
       current_setting('data_checksums') AS data_checksums,
       current_setting('default_transaction_isolation') AS default_transaction_isolation,
       pg_is_in_recovery() AS standby
"""

# The end of the log, the bookmarks, and the transaction counter of the server.
ORDER = """
SELECT (SELECT system_identifier FROM bk.deployment) AS recorded_system,
       (SELECT system_identifier FROM pg_control_system()) AS system,
       pg_snapshot_xmax(pg_current_snapshot())::text::bigint AS xmax,
       COALESCE((SELECT transaction_id::text::bigint FROM bk.events
                  ORDER BY transaction_id DESC LIMIT 1), 0) AS newest,
       COALESCE((SELECT max(tx)::text::bigint FROM bk.bookmarks), 0) AS furthest,
       (SELECT min(name) FROM bk.projections p WHERE live AND NOT EXISTS (
          SELECT 1 FROM bk.bookmarks b
           WHERE b.projection = p.name AND b.generation = p.generation)) AS unfollowed
"""

# The privileges of our role that could damage the log or hold back its readers.
POWERS = """
SELECT rolname, rolsuper,
       has_database_privilege(current_database(), 'TEMPORARY') AS makes_temporary_tables,
       has_table_privilege('bk.events', 'UPDATE') OR has_table_privilege('bk.events', 'DELETE')
         OR has_table_privilege('bk.events', 'TRUNCATE') AS changes_events
  FROM pg_roles WHERE rolname = current_user
"""


class UnfitDatabaseError(Exception):
    """The service cannot start on this database."""

    def __init__(self, faults: list[str]) -> None:
        super().__init__("\n".join([self.__doc__ or "", *faults]))


async def faults(url: str) -> list[str]:
    """Return everything that is wrong with a database; an empty list if the service can start."""
    try:
        connection = await connected(url)
    except REFUSED as error:
        return [connection_fault(error)]
    return await _faults_by(connection)


async def _faults_by(connection: asyncpg.Connection) -> list[str]:
    try:
        return [
            *_faulty_settings(await connection.fetchrow(SETTINGS)),
            *await _missing_migrations(connection),
        ] or [
            *_faulty_order(await connection.fetchrow(ORDER)),
            *_faulty_powers(await connection.fetchrow(POWERS)),
        ]
    except CONNECTION_ERRORS as error:
        return [f"The connection to the database was lost. Start the service again: {error}"]
    finally:
        await connection.close()


async def require_fit(url: str) -> None:
    """Raise `UnfitDatabaseError` when anything is wrong with the database.

    Raise `UnreachableDatabaseError` when it cannot be reached at present.
    """
    try:
        connection = await connected(url)
    except REFUSED as error:
        if is_temporary(error):
            raise UnreachableDatabaseError(connection_fault(error)) from None
        raise UnfitDatabaseError([connection_fault(error)]) from None
    if found := await _faults_by(connection):
        raise UnfitDatabaseError(found)


def _faulty_settings(row: asyncpg.Record | None) -> list[str]:
    assert row is not None, "the statement returns one row"  # noqa: S101
    wanted = {
        "max_prepared_transactions": "0",
        "fsync": "on",
        "full_page_writes": "on",
        "data_checksums": "on",
        "default_transaction_isolation": "read committed",
    }
    found = [
        f"PostgreSQL setting {name} is {row[name]}. Set it to {value}."
        for name, value in wanted.items()
        if row[name] != value
    ]
    if row["synchronous_commit"] == "off":
        found.append(
            "PostgreSQL setting synchronous_commit is off: acknowledged writes could be lost."
            " Set it to on."
        )
    if row["version"] < OLDEST_SERVER:
        found.append("PostgreSQL is older than version 15. Upgrade the server.")
    if row["standby"]:
        found.append("This server is a standby. Connect to the primary, or promote this server.")
    return found


async def _missing_migrations(connection: asyncpg.Connection) -> list[str]:
    if await connection.fetchval("SELECT to_regclass('public.beamkeep_migrations')") is None:
        return ["The database is empty. Run `beamkeep migrate`."]
    rows = await connection.fetch("SELECT name FROM public.beamkeep_migrations")
    missing = migrations().keys() - {row["name"] for row in rows}
    return [
        f"Migrations are missing: {', '.join(sorted(missing))}. Run `beamkeep migrate`."
    ] * bool(missing)


def _faulty_order(row: asyncpg.Record | None) -> list[str]:
    assert row is not None, "the statement returns one row"  # noqa: S101
    found: list[str] = []
    if row["system"] != row["recorded_system"]:
        found.append(
            "The log was written by another cluster: it was restored from a dump."
            " Follow the restore procedure before you start the service."
        )
    if row["newest"] >= row["xmax"]:
        found.append(
            "The log contains transactions that this cluster has not reached: new events would"
            " sort before old ones. Follow the restore procedure."
        )
    if row["furthest"] > row["xmax"]:
        found.append(
            "A bookmark is beyond the end of the log: new events would be skipped."
            " Drop the lists as the restore procedure describes; a worker rebuilds them."
        )
    if row["unfollowed"]:
        found.append(
            f"The list {row['unfollowed']} has no bookmark and would never be updated."
            " Drop the lists as the restore procedure describes; a worker rebuilds them."
        )
    return found


def _faulty_powers(row: asyncpg.Record | None) -> list[str]:
    assert row is not None, "the statement returns one row"  # noqa: S101
    role = row["rolname"]
    if row["rolsuper"]:
        return [f"The role {role} is a superuser. Log in as bk_app."]
    if row["changes_events"]:
        remedy = "Revoke UPDATE, DELETE and TRUNCATE on bk.events from it, or log in as bk_app."
        return [f"The role {role} may change events. {remedy}"]
    if row["makes_temporary_tables"]:
        cause = "privileges and time limits of the database are missing. Run `beamkeep migrate`."
        return [f"The role {role} may create temporary tables: {cause}"]
    return []
