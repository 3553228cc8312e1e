"""A database is served only when it is fit, and migrated once."""

import asyncio
from collections.abc import Generator
from functools import partial
from uuid import UUID

import asyncpg
import pytest

from beamkeep.adapters.postgres import fence
from beamkeep.adapters.postgres.fence import UnfitDatabaseError, faults, require_fit
from beamkeep.adapters.postgres.migrate import MigrationChangedError, migrate, migrations
from beamkeep.adapters.postgres.reaching import UnreachableDatabaseError
from beamkeep.testing.cluster import Cluster
from beamkeep.testing.database import Database
from beamkeep.testing.postgres import connected, fresh_database
from beamkeep.testing.waiting import until

pytestmark = [pytest.mark.postgres, pytest.mark.anyio]

EVERY_MIGRATION = [
    "0001_event_log",
    "0002_facilities",
    "0003_decisions",
    "0004_runs",
    "0005_shifts",
    "0006_freshness",
    "0007_refused_starts",
    "0008_answers",
    "0010_administrators",
    "0011_denials",
    "0013_snapshots",
    "0014_work",
    "0015_procedures",
    "0016_conducts",
    "0017_events_principal_concurrently",
    "0018_events_principal",
    "0019_subscriptions",
    "0020_directory",
    "0021_relay",
    "0022_directory_facilities",
    "0023_data",
    "0024_checks",
    "0025_agents",
    "0026_model_calls",
    "0027_proposable_commands",
    "0028_evidence",
    "0029_logbook_mirror",
    "0032_former_places",
    "0033_witness",
    "0034_federation",
    "0035_copies_of_one_file",
    "0036_making_safe",
    "0037_rows_in_trees",
    "0038_snapshots_kept",
    "0039_claims_taken_over",
    "0040_agent_actions",
    "0044_worker_heartbeats",
    "0045_booleans_without_prefix",
    "0046_teams",
]


@pytest.fixture
def fit(cluster: Cluster) -> Database:
    return fresh_database(cluster)


@pytest.fixture
def empty(cluster: Cluster) -> Database:
    return fresh_database(cluster, "template0")


async def fault(database: Database, user: str = "bk_app") -> str:
    (found,) = await faults(database.url(user))
    return found


async def test_a_migrated_database_is_fit(fit: Database):
    assert await faults(fit.url()) == []
    await require_fit(fit.url())


async def test_nothing_is_served_from_an_unfit_database(empty: Database):
    with pytest.raises(UnfitDatabaseError, match="Run `beamkeep migrate`"):
        await require_fit(empty.url())


@pytest.mark.parametrize(
    ("url", "remedy"),
    [
        ("postgresql://bk_app@127.0.0.1:1/beamkeep", "Check that the server runs"),
        ("{nobody}", "Check the role in its address"),
        ("{none}", "Check the name at the end of its address"),
    ],
)
async def test_a_database_that_lets_nobody_in_is_named(fit: Database, url: str, remedy: str):
    url = url.format(nobody=fit.url("nobody"), none=fit.cluster.url("none", "bk_app"))
    (found,) = await faults(url)
    assert found.startswith(f"Cannot connect to the database. {remedy}")


async def test_a_database_that_does_not_answer_yet_is_not_unfit():
    with pytest.raises(UnreachableDatabaseError, match="Check that the server runs"):
        await require_fit("postgresql://bk_app@127.0.0.1:1/beamkeep")


async def test_a_connection_that_is_lost_during_the_checks_is_named(
    fit: Database, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(fence, "ORDER", "SELECT pg_terminate_backend(pg_backend_pid())")
    told = "The connection to the database was lost. Start the service again: "
    assert (await fault(fit)).startswith(told)


async def test_missing_migrations_are_named(fit: Database):
    fit.ask("DELETE FROM public.beamkeep_migrations")
    assert await fault(fit) == (
        f"Migrations are missing: {', '.join(EVERY_MIGRATION)}. Run `beamkeep migrate`."
    )


@pytest.mark.parametrize(
    ("setting", "value", "named"),
    [
        (
            "synchronous_commit",
            "off",
            "synchronous_commit is off: acknowledged writes could be lost. Set it to on.",
        ),
        (
            "default_transaction_isolation",
            "serializable",
            "isolation is serializable. Set it to read committed.",
        ),
    ],
)
@pytest.mark.parametrize("whose", ["ROLE bk_app IN DATABASE {}", "DATABASE {}"])
async def test_a_setting_for_our_role_or_our_database_is_seen(
    fit: Database, whose: str, setting: str, value: str, named: str
):
    fit.ask(f"ALTER {whose.format(fit.name)} SET {setting} = '{value}'")
    assert named in await fault(fit)


@pytest.fixture
def reconfigured(fit: Database) -> Generator[Database]:
    yield fit
    fit.ask("ALTER SYSTEM RESET ALL")
    fit.ask("SELECT pg_reload_conf()")


@pytest.mark.parametrize("setting", ["fsync", "full_page_writes"])
async def test_a_server_that_could_lose_writes_is_refused(reconfigured: Database, setting: str):
    reconfigured.ask(f"ALTER SYSTEM SET {setting} = off")
    reconfigured.ask("SELECT pg_reload_conf()")
    async with connected(reconfigured) as watch:
        await until(partial(watch.fetchval, f"SELECT current_setting('{setting}') = 'off'"))
    await until(partial(faults, reconfigured.url()))
    assert await fault(reconfigured) == f"PostgreSQL setting {setting} is off. Set it to on."


@pytest.mark.parametrize(
    ("column", "value", "named"),
    [
        ("current_setting('max_prepared_transactions')", "'4'", "max_prepared_transactions is 4"),
        ("current_setting('data_checksums')", "'off'", "data_checksums is off. Set it to on."),
        (
            "current_setting('server_version_num')::int",
            "140017",
            "PostgreSQL is older than version 15.",
        ),
        ("pg_is_in_recovery()", "true", "This server is a standby"),
    ],
)
async def test_what_only_another_server_would_say_is_understood(
    fit: Database, monkeypatch: pytest.MonkeyPatch, column: str, value: str, named: str
):
    assert column in fence.SETTINGS
    monkeypatch.setattr(fence, "SETTINGS", fence.SETTINGS.replace(column, value))
    assert named in await fault(fit)


async def test_a_log_restored_into_another_cluster_is_refused(fit: Database):
    fit.ask("UPDATE bk.deployment SET system_identifier = system_identifier + 1")
    assert "written by another cluster" in await fault(fit)


async def test_events_of_transactions_still_to_come_are_refused(fit: Database):
    fit.ask(
        """INSERT INTO bk.events (transaction_id, version, stream_id, event_id, principal_id,
                                  correlation_id, occurred_at, schema_version, stream_type,
                                  event_type, command_name, payload)
           VALUES ('99000000000', 1, %(id)s, %(id)s, %(id)s, %(id)s, now(), 1, 'Zone',
                   'ZoneDefined', 'define_zone', '{}')""".replace("%(id)s", f"'{UUID(int=1)}'")
    )
    assert "transactions that this cluster has not reached" in await fault(fit)


async def test_a_bookmark_beyond_the_end_of_the_log_is_refused(fit: Database):
    bookmark = "INSERT INTO bk.bookmarks (projection, generation, shard, tx) VALUES"
    fit.ask(f"{bookmark} ('zone', 1, -1, pg_snapshot_xmax(pg_current_snapshot()))")
    assert await faults(fit.url()) == []
    fit.ask(f"{bookmark} ('actor', 1, -1, '99000000000')")
    assert await fault(fit) == (
        "A bookmark is beyond the end of the log: new events would be skipped."
        " Drop the lists as the restore procedure describes; a worker rebuilds them."
    )


async def test_a_list_without_a_bookmark_is_refused(fit: Database):
    listed = "INSERT INTO bk.projections (name, generation, declared, live) VALUES"
    fit.ask(f"{listed} ('zone', 1, 1, false)")
    assert await faults(fit.url()) == []
    fit.ask(f"{listed} ('zone', 2, 1, true)")
    assert await fault(fit) == (
        "The list zone has no bookmark and would never be updated."
        " Drop the lists as the restore procedure describes; a worker rebuilds them."
    )
    fit.ask("INSERT INTO bk.bookmarks (projection, generation, shard) VALUES ('zone', 2, 7)")
    assert await faults(fit.url()) == []


async def test_nobody_serves_as_a_superuser(fit: Database):
    assert await fault(fit, "postgres") == "The role postgres is a superuser. Log in as bk_app."


@pytest.mark.parametrize("privilege", ["UPDATE", "DELETE", "TRUNCATE"])
async def test_nobody_serves_who_may_change_events(fit: Database, privilege: str):
    fit.ask(f"GRANT {privilege} ON bk.events TO bk_app")
    assert await fault(fit) == (
        "The role bk_app may change events. Revoke UPDATE, DELETE and TRUNCATE on bk.events from"
        " it, or log in as bk_app."
    )


async def test_every_fault_is_named_at_once(fit: Database):
    fit.ask("UPDATE bk.deployment SET system_identifier = 1")
    fit.ask("GRANT DELETE ON bk.events TO bk_app")
    assert len(await faults(fit.url())) == 2


async def test_a_database_is_migrated_once(empty: Database):
    url = empty.url("postgres")
    assert list(migrations()) == EVERY_MIGRATION
    assert await migrate(url) == EVERY_MIGRATION
    assert await migrate(url) == []
    assert await faults(empty.url()) == []


async def test_two_hosts_that_migrate_at_once_take_turns(empty: Database):
    both = await asyncio.gather(*(migrate(empty.url("postgres")) for _ in range(2)))
    assert sorted(both) == [[], EVERY_MIGRATION]


async def test_a_migration_changed_after_it_was_applied_is_refused(fit: Database):
    fit.ask("UPDATE public.beamkeep_migrations SET digest = 'other'")
    with pytest.raises(MigrationChangedError, match="Migration 0001_event_log was changed"):
        await migrate(fit.url("postgres"))


async def test_a_migration_that_fails_leaves_nothing(empty: Database):
    empty.ask("CREATE SCHEMA proj")
    with pytest.raises(asyncpg.PostgresError, match="already exists"):
        await migrate(empty.url("postgres"))
    assert empty.ask("SELECT to_regnamespace('bk')") == [(None,)]
    assert empty.ask("SELECT * FROM public.beamkeep_migrations") == []


async def test_an_index_that_was_left_unfinished_is_made_again(fit: Database):
    fit.ask("DROP INDEX bk.events_principal")
    fit.ask("CREATE INDEX events_p3_principal ON bk.events_p3 (principal_id)")
    fit.ask("DELETE FROM public.beamkeep_migrations WHERE name LIKE '%events_principal%'")
    assert await migrate(fit.url("postgres")) == [
        name for name in EVERY_MIGRATION if "events_principal" in name
    ]
    made = """SELECT count(*), bool_and(i.indisvalid), min(i.indnatts)
                FROM pg_partition_tree('bk.events_principal') t
                JOIN pg_index i ON i.indexrelid = t.relid"""
    assert [tuple(row) for row in fit.ask(made)] == [(17, True, 3)]


async def test_grants_that_permit_a_hold_permit_making_safe_after_the_upgrade(fit: Database):
    fit.ask("DELETE FROM public.beamkeep_migrations WHERE name = '0036_making_safe'")
    for number, commands in enumerate(("hold_procedure,start_run", "start_run", "*")):
        fit.ask(
            "INSERT INTO bk.policy_grant (policy_id, principal_id, conduit_id, permitted_commands,"
            f" object_scope) VALUES ('{UUID(int=number)}', '{UUID(int=9)}', '{UUID(int=9)}',"
            f" string_to_array('{commands}', ','), 'All')"
        )
    assert await migrate(fit.url("postgres")) == ["0036_making_safe"]
    found = "SELECT permitted_commands FROM bk.policy_grant WHERE principal_id = '{}' ORDER BY 1"
    assert [row for (row,) in fit.ask(found.format(UUID(int=9)))] == [
        ["*"],
        ["hold_procedure", "make_procedure_safe", "start_run"],
        ["start_run"],
    ]
