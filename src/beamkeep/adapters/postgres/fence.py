"""The start-up fence: what must hold of a database before anything is served from it."""

import asyncpg

from .migrate import migrations

OLDEST_SERVER = 150000

# What the server is set to, and what it may do to us.
SETTINGS = """
SELECT current_setting('server_version_num')::int AS version,
       current_setting('max_prepared_transactions') AS max_prepared_transactions,
       current_setting('fsync') AS fsync,
       current_setting('full_page_writes') AS full_page_writes,
       current_setting('synchronous_commit') AS synchronous_commit,
       current_setting('data_checksums') AS data_checksums,
       current_setting('default_transaction_isolation') AS isolation,
       pg_is_in_recovery() AS standby
"""

# Where the log ends, where the bookmarks stand, and where the server's transactions are.
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

# What the role we log in as could do to the log, and to those who follow it.
POWERS = """
SELECT rolname, rolsuper,
       has_database_privilege(current_database(), 'TEMPORARY') AS makes_temporary_tables,
       has_table_privilege('bk.events', 'UPDATE') OR has_table_privilege('bk.events', 'DELETE')
         OR has_table_privilege('bk.events', 'TRUNCATE') AS changes_events
  FROM pg_roles WHERE rolname = current_user
"""


class UnfitDatabaseError(Exception):
    """The service does not start on this database."""

    def __init__(self, faults: list[str]) -> None:
        super().__init__("\n".join([self.__doc__ or "", *faults]))


async def faults(url: str) -> list[str]:
    """Everything that is wrong with a database, in plain words; nothing when it is fit."""
    try:
        connection = await asyncpg.connect(url, timeout=5)
    except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
        return [f"The database does not let us in: {error}"]
    try:
        return [
            *_faulty_settings(await connection.fetchrow(SETTINGS)),
            *await _missing_migrations(connection),
        ] or [
            *_faulty_order(await connection.fetchrow(ORDER)),
            *_faulty_powers(await connection.fetchrow(POWERS)),
        ]
    finally:
        await connection.close()


async def require_fit(url: str) -> None:
    """Refuse to go on when anything is wrong with the database."""
    if found := await faults(url):
        raise UnfitDatabaseError(found)


def _faulty_settings(row: asyncpg.Record | None) -> list[str]:
    assert row is not None, "the statement answers one row"  # noqa: S101
    wanted = {
        "max_prepared_transactions": "0",
        "fsync": "on",
        "full_page_writes": "on",
        "data_checksums": "on",
        "isolation": "read committed",
    }
    found = [
        f"PostgreSQL's {name} is {row[name]}; it must be {value}."
        for name, value in wanted.items()
        if row[name] != value
    ]
    if row["synchronous_commit"] == "off":
        found.append("PostgreSQL's synchronous_commit is off; what we acknowledge could be lost.")
    if row["version"] < OLDEST_SERVER:
        found.append("PostgreSQL is older than 15.")
    if row["standby"]:
        found.append("This is a standby; the service decides only on the primary.")
    return found


async def _missing_migrations(connection: asyncpg.Connection) -> list[str]:
    if await connection.fetchval("SELECT to_regclass('public.beamkeep_migrations')") is None:
        return ["The database is empty; run `beamkeep migrate`."]
    rows = await connection.fetch("SELECT name FROM public.beamkeep_migrations")
    missing = migrations().keys() - {row["name"] for row in rows}
    return [
        f"Migrations are missing: {', '.join(sorted(missing))}; run `beamkeep migrate`."
    ] * bool(missing)


def _faulty_order(row: asyncpg.Record | None) -> list[str]:
    assert row is not None, "the statement answers one row"  # noqa: S101
    found: list[str] = []
    if row["system"] != row["recorded_system"]:
        found.append(
            "The log was written by another cluster: it was restored from a dump."
            " Follow the restore procedure before serving it."
        )
    if row["newest"] >= row["xmax"]:
        found.append(
            "The log holds transactions this cluster has not reached; new events would sort"
            " before old ones. Follow the restore procedure."
        )
    if row["furthest"] > row["xmax"]:
        found.append(
            "A bookmark stands beyond the end of the log; new events would be skipped."
            " Remove the lists as the restore procedure says; they are built anew."
        )
    if row["unfollowed"]:
        found.append(
            f"A list has no bookmark and would never be followed: {row['unfollowed']}."
            " Remove the lists as the restore procedure says; they are built anew."
        )
    return found


def _faulty_powers(row: asyncpg.Record | None) -> list[str]:
    assert row is not None, "the statement answers one row"  # noqa: S101
    if row["rolsuper"]:
        return [f"The role {row['rolname']} is a superuser; log in as bk_app."]
    if row["changes_events"]:
        return [f"The role {row['rolname']} may change events; log in as bk_app."]
    if row["makes_temporary_tables"]:
        found = f"The role {row['rolname']} may make temporary tables: privileges and time limits"
        return [f"{found} of the database are missing. Run `beamkeep migrate`."]
    return []
