"""Events are appended and never changed, whoever tries and however."""

from collections.abc import Mapping, Sequence
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg import errors, sql

from beamkeep.testing.cluster import Cluster
from beamkeep.testing.database import Database
from beamkeep.testing.postgres import fresh_database

pytestmark = pytest.mark.postgres

REFUSED_BY_TRIGGER = "BK405"
REFUSED_BY_PRIVILEGE = "42501"
ROLES = ("bk_app", "bk_projector", "bk_reader", "bk_monitor", "bk_witness")

COLUMNS = (
    "version, stream_id, event_id, principal_id, correlation_id, occurred_at, schema_version,"
    " stream_type, event_type, command_name, payload"
)
VALUES = (
    f"1, '{UUID(int=1)}', '{UUID(int=2)}', '{UUID(int=3)}', '{UUID(int=4)}', now(), 1,"
    " 'Zone', 'ZoneDefined', 'define_zone', '{}'"
)
WRITE = f"INSERT INTO bk.events ({COLUMNS}) VALUES ({VALUES})"

WAYS = {
    "update": "UPDATE bk.events SET payload = '{\"forged\":1}'",
    "update_one_column": "UPDATE bk.events SET transaction_id = '3'",
    "update_a_partition": "UPDATE bk.{partition} SET payload = '{\"forged\":1}'",
    "delete": "DELETE FROM bk.events",
    "delete_from_a_partition": "DELETE FROM bk.{partition}",
    "truncate": "TRUNCATE bk.events",
    "truncate_a_partition": "TRUNCATE bk.{partition}",
    "truncate_in_passing": "TRUNCATE bk.claims, bk.events CASCADE",
    "merge_to_update": (
        "MERGE INTO bk.events e USING (SELECT 1) s ON true"
        " WHEN MATCHED THEN UPDATE SET payload = '{}'"
    ),
    "merge_to_delete": (
        "MERGE INTO bk.events e USING (SELECT 1) s ON true WHEN MATCHED THEN DELETE"
    ),
    "insert_over": (
        f"{WRITE} ON CONFLICT (stream_type, stream_id, version)"
        " DO UPDATE SET payload = '{\"forged\":1}'"
    ),
    "update_while_reading": (
        "WITH gone AS (DELETE FROM bk.events RETURNING *) SELECT count(*) FROM gone"
    ),
    "move_to_another_partition": f"UPDATE bk.events SET stream_id = '{uuid4()}'",
}
"""Every way to change the data of an event."""

LIKE_A_REPLICA = "SET session_replication_role = replica"

OWNERS_WAYS = {
    "disable_a_trigger": "ALTER TABLE bk.{partition} DISABLE TRIGGER events_no_change",
    "disable_all_triggers": "ALTER TABLE bk.events DISABLE TRIGGER ALL",
    "drop_a_trigger": "DROP TRIGGER events_no_change ON bk.events",
    "replace_the_trigger": (
        "CREATE OR REPLACE FUNCTION bk.refuse_change() RETURNS trigger LANGUAGE plpgsql"
        " AS 'BEGIN RETURN NEW; END'"
    ),
    "detach_a_partition": "ALTER TABLE bk.events DETACH PARTITION bk.{partition}",
    "drop_a_partition": "DROP TABLE bk.{partition}",
    "drop_the_log": "DROP TABLE bk.events CASCADE",
    "drop_a_column": "ALTER TABLE bk.events DROP COLUMN payload",
    "add_a_rule": "CREATE RULE gone AS ON INSERT TO bk.events DO INSTEAD NOTHING",
    "take_it_over": "ALTER TABLE bk.events OWNER TO CURRENT_USER",
    "become_the_owner": "SET ROLE bk_owner",
    "grant_it_to_oneself": (
        "GRANT UPDATE ON bk.events TO CURRENT_USER; UPDATE bk.events SET payload = '{}'"
    ),
    "act_like_a_replica": LIKE_A_REPLICA,
}
"""Every way round the rules that only the owner of the tables has."""


@pytest.fixture(scope="module")
def written(cluster: Cluster) -> tuple[Database, str]:
    """A database with one event in it, and the name of that event's partition."""
    database = fresh_database(cluster)
    database.ask(WRITE)
    (found,) = database.ask("SELECT tableoid::regclass::text FROM bk.events")
    return database, str(found[0]).removeprefix("bk.")


def try_it(database: Database, role: str, *statements: str) -> str | None:
    """The code with which a role is refused, if it is; whatever it does is undone."""
    with psycopg.connect(database.url(role)) as connection:
        try:
            for statement in statements:
                connection.execute(statement.encode())
        except psycopg.Error as error:
            return error.sqlstate
        finally:
            connection.rollback()
    return None


@pytest.mark.parametrize("way", WAYS | OWNERS_WAYS)
@pytest.mark.parametrize("role", ROLES)
def test_no_role_of_the_service_changes_an_event_or_gets_round_the_rules(
    written: tuple[Database, str], role: str, way: str
):
    database, partition = written
    statement = (WAYS | OWNERS_WAYS)[way].replace("{partition}", partition)
    assert try_it(database, role, statement) == REFUSED_BY_PRIVILEGE


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("role", ["bk_owner", "postgres"])
@pytest.mark.parametrize("before", [(), (LIKE_A_REPLICA,)], ids=["plainly", "as_a_replica"])
def test_neither_the_owner_nor_a_superuser_changes_an_event(
    written: tuple[Database, str], role: str, way: str, before: tuple[str, ...]
):
    database, partition = written
    # The owner does not log in; and only a superuser may act like a replica.
    become = [*before, f"SET ROLE {role}"]
    statement = WAYS[way].replace("{partition}", partition)
    assert try_it(database, "postgres", *become, statement) == REFUSED_BY_TRIGGER


@pytest.mark.parametrize("role", [*ROLES, "postgres"])
def test_nobody_copies_an_event_over_another(written: tuple[Database, str], role: str):
    database, _ = written
    copied = "1\t{0}\t{1}\t{0}\t{0}\t2030-01-01\t1\tZone\tZoneDefined\tforge\t{{}}\n"
    with psycopg.connect(database.url(role)) as connection:
        may_insert = role in {"bk_app", "postgres"}
        with (
            pytest.raises(errors.UniqueViolation if may_insert else errors.InsufficientPrivilege),
            connection.cursor() as cursor,
            cursor.copy(f"COPY bk.events ({COLUMNS}) FROM STDIN".encode()) as copy,
        ):
            copy.write(copied.format(UUID(int=1), uuid4()))
        connection.rollback()


def test_the_event_is_still_what_it_was(written: tuple[Database, str]):
    database, _ = written
    assert database.ask("SELECT version, event_type, payload::text FROM bk.events") == [
        (1, "ZoneDefined", "{}")
    ]


def test_an_ordinary_trigger_would_let_a_replica_delete_events(written: tuple[Database, str]):
    database, partition = written
    ordinary = f"ALTER TABLE bk.{partition} ENABLE TRIGGER events_no_change"
    assert try_it(database, "postgres", ordinary, "DELETE FROM bk.events") == REFUSED_BY_TRIGGER
    assert try_it(database, "postgres", ordinary, LIKE_A_REPLICA, "DELETE FROM bk.events") is None


def test_every_partition_has_its_triggers_always(written: tuple[Database, str]):
    database, _ = written
    rows = database.ask(
        """SELECT c.relname, t.tgname, t.tgenabled::text FROM pg_trigger t
             JOIN pg_class c ON c.oid = t.tgrelid
            WHERE c.relispartition AND c.relnamespace = 'bk'::regnamespace AND NOT t.tgisinternal"""
    )
    names = ("events_no_change", "no_truncate")
    assert {*rows} == {(f"events_p{n}", name, "A") for n in range(16) for name in names}


# Who may do what: S select, I insert, U update, D delete, T truncate, r references, t trigger.
PRIVILEGES = """
                       bk_app  bk_projector  bk_reader  bk_monitor  bk_witness
events                 S       S             S          -           S
claims                 SIUD    S             S          -           -
idempotency            SID     -             -          -           -
principal_standing     SIU     S             S          -           -
actor_profile          SIUD    -             -          -           -
actor_identity         SID     -             -          -           -
policy_grant           SID     S             S          -           -
surface_control        SIUD    S             S          -           -
team_member            SIUD    S             S          -           -
object_team            SI      S             S          -           -
asset_place            SIU     -             S          -           -
asset_former_place     SIU     -             S          -           -
enclosure_freshness    SIU     -             S          -           -
supply_freshness       SIUD    -             S          -           -
heartbeat              SIUD    -             -          -           -
decision_inference     S       -             S          -           S
decision_logbook_entry S       -             S          -           S
evidence               S       -             S          -           S
agent_decision         SIU     -             S          -           -
model_call             SIU     -             -          -           -
agent_action           SID     -             -          -           -
run_observation        S       -             S          -           S
run_logbook_entry      S       -             S          -           S
logbook_mirror         S       -             S          -           S
procedure_steps        S       -             S          -           S
procedure_iteration    SIU     -             -          -           -
procedure_activity     S       -             S          -           S
conduct                SIU     -             -          -           -
conduct_channel        SID     -             -          -           -
refused_start          S       -             S          -           S
dataset_standing       SIU     -             S          -           -
dataset_part           S       -             S          -           S
dataset_copy           SIUD    -             S          -           -
provenance_edge        SIUD    -             S          -           -
custody                SIUD    -             -          -           -
custody_total          SIU     -             -          -           -
credential_secret_ref  SIU     -             -          -           -
federation_exchanges   S       -             S          -           S
federation_envelope    S       -             S          -           S
federation_peer_pointer S       -             S          -           S
subscription_secret    SIUD    -             -          -           -
subscription_place     SIUD    -             -          -           -
delivery               SIUD    -             -          -           -
distribution_check     SIUD    -             -          -           -
distribution_check_file SIUD    -             -          -           -
directory              S       SIUD          S          -           -
directory_kinds        -       SIUD          -          -           -
relay_place            SIU     -             -          -           -
snapshots              SID     -             S          -           -
work                   SIU     -             S          -           -
authorization_denials  SI      S             S          -           S
projections            S       SIUD          S          S           S
bookmarks              S       SIUD          S          S           S
deployment             S       -             -          -           -
redactions             S       -             S          -           S
witness_tree           S       -             S          -           SIU
witness_tile           S       -             S          -           SI
witness_checkpoint     S       -             S          -           SI
witness_cosignature    S       -             S          -           SI
witness_anchor         S       -             S          -           SI
witness_key            S       -             S          -           SI
witness_origin         -       -             -          -           SIU
expired_rows           S       -             S          -           S
decided_evidence       S       -             S          -           S
profile_digest         S       -             S          -           S
events_p0              S       S             -          -           -
events_p1              S       S             -          -           -
events_p2              S       S             -          -           -
events_p3              S       S             -          -           -
events_p4              S       S             -          -           -
events_p5              S       S             -          -           -
events_p6              S       S             -          -           -
events_p7              S       S             -          -           -
events_p8              S       S             -          -           -
events_p9              S       S             -          -           -
events_p10             S       S             -          -           -
events_p11             S       S             -          -           -
events_p12             S       S             -          -           -
events_p13             S       S             -          -           -
events_p14             S       S             -          -           -
events_p15             S       S             -          -           -
"""
LETTERS = {
    "SELECT": "S",
    "INSERT": "I",
    "UPDATE": "U",
    "DELETE": "D",
    "TRUNCATE": "T",
    "REFERENCES": "r",
    "TRIGGER": "t",
}


def test_each_role_may_do_what_the_table_says_and_no_more(written: tuple[Database, str]):
    database, _ = written
    header, *lines = PRIVILEGES.strip("\n").splitlines()
    assert tuple(header.split()) == ROLES
    expected: dict[str, Sequence[str]] = {line.split()[0]: line.split()[1:] for line in lines}
    assert found_privileges(database) == expected


def found_privileges(database: Database) -> Mapping[str, Sequence[str]]:
    tables = database.ask(
        "SELECT relname::text FROM pg_class"
        " WHERE relnamespace = 'bk'::regnamespace AND relkind IN ('r', 'p', 'v', 'm', 'f')"
    )
    with psycopg.connect(database.url("postgres")) as connection:
        may = sql.SQL("SELECT has_table_privilege(%s, %s, %s)")

        def letters(role: str, table: str) -> str:
            found = [
                letter
                for privilege, letter in LETTERS.items()
                if connection.execute(may, [role, f"bk.{table}", privilege]).fetchone() == (True,)
            ]
            return "".join(found) or "-"

        return {str(t): [letters(role, str(t)) for role in ROLES] for (t,) in tables}


# Nobody but the database says where and when an event was recorded, nor shows the signing key.
BY_COLUMN = {
    ("events", "bk_app", "INSERT"): {
        "version",
        "stream_id",
        "event_id",
        "principal_id",
        "surface_id",
        "correlation_id",
        "causation_id",
        "occurred_at",
        "schema_version",
        "stream_type",
        "event_type",
        "command_name",
        "payload",
    },
    # Nor in which transaction a row was written.
    ("run_observation", "bk_app", "INSERT"): {
        "observation_id",
        "run_id",
        "channel_name",
        "value",
        "unit",
        "sampling_procedure",
        "sampled_at",
        "simulated",
        "recorded_at",
        "principal_id",
        "surface_id",
        "correlation_id",
    },
    ("run_logbook_entry", "bk_app", "INSERT"): {
        "entry_id",
        "run_id",
        "author_id",
        "kind",
        "text",
        "decision_id",
        "recorded_at",
        "surface_id",
        "correlation_id",
    },
    ("decision_inference", "bk_app", "INSERT"): {
        "inference_id",
        "decision_id",
        "agent_id",
        "principal_id",
        "surface_id",
        "correlation_id",
        "occurred_at",
        "recorded_at",
        "duration_ms",
        "input_tokens",
        "output_tokens",
        "request_max_tokens",
        "cost_usd",
        "request_temperature",
        "operation_name",
        "provider_name",
        "request_model",
        "response_model",
        "response_id",
        "finish_reasons",
        "conversation_id",
        "tool_name",
        "tool_call_id",
        "error",
        "messages",
    },
    ("decision_logbook_entry", "bk_app", "INSERT"): {
        "entry_id",
        "decision_id",
        "author_id",
        "surface_id",
        "correlation_id",
        "recorded_at",
        "text",
    },
    ("procedure_steps", "bk_app", "INSERT"): {
        "procedure_id",
        "steps",
        "closing_steps",
    },
    ("procedure_activity", "bk_app", "INSERT"): {
        "activity_id",
        "procedure_id",
        "source",
        "conduct_id",
        "claim",
        "phase",
        "iteration_index",
        "step_index",
        "attempt",
        "step_kind",
        "stage",
        "detail",
        "sampled_at",
        "recorded_at",
        "principal_id",
        "surface_id",
        "correlation_id",
    },
    ("refused_start", "bk_app", "INSERT"): {
        "plan_id",
        "principal_id",
        "error_code",
        "minute",
        "refused_at",
        "surface_id",
        "correlation_id",
    },
    ("federation_exchanges", "bk_app", "INSERT"): {
        "signature",
        "exchange_id",
        "permit_id",
        "peer_facility_id",
        "direction",
        "credential_id",
        "key_fingerprint",
        "artifact_kind",
        "artifact_id",
        "content_hash",
        "seal_sequence_number",
        "seal_head_hash",
        "exported_at",
        "principal_id",
        "recorded_at",
    },
    ("evidence", "bk_app", "INSERT"): {
        "evidence_id",
        "agent_id",
        "surface_id",
        "correlation_id",
        "asked_at",
        "more",
        "kept",
        "question",
        "digest",
        "release",
        "arguments",
        "seen",
    },
    ("federation_envelope", "bk_app", "INSERT"): {"exchange_id", "envelope"},
    ("federation_peer_pointer", "bk_app", "INSERT"): {
        "peer_facility_id",
        "sequence_number",
        "head_hash",
    },
    ("logbook_mirror", "bk_app", "INSERT"): {
        "work_id",
        "subject_id",
        "entry_id",
        "mirrored_at",
        "outside_id",
    },
    ("dataset_part", "bk_app", "INSERT"): {"dataset_id", "byte_size", "path", "sha256"},
    # Names, logins, addresses, secrets and answers of receivers are not for reports.
    ("actor_profile", "bk_reader", "SELECT"): {"actor_id", "created_at", "updated_at"},
    ("subscription_place", "bk_reader", "SELECT"): {"subscription_id", "owner_id"},
    ("subscription_secret", "bk_reader", "SELECT"): {"subscription_id"},
    ("delivery", "bk_reader", "SELECT"): {"subscription_id"},
    # A new proposal takes over the claim of one that has expired.
    ("claims", "bk_app", "UPDATE"): {"holder"},
    ("deployment", "bk_projector", "SELECT"): {"one", "system_identifier"},
    ("deployment", "bk_monitor", "SELECT"): {"one", "system_identifier"},
    ("deployment", "bk_reader", "SELECT"): {"one", "system_identifier", "rows_since"},
    ("deployment", "bk_witness", "SELECT"): {"one", "system_identifier"},
}


def test_each_role_may_do_to_single_columns_what_the_table_says_and_no_more(
    written: tuple[Database, str],
):
    database, _ = written
    granted = database.ask(
        """SELECT c.relname::text, r.rolname::text, x.privilege_type, a.attname::text
             FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
            CROSS JOIN LATERAL aclexplode(a.attacl) AS x JOIN pg_roles r ON r.oid = x.grantee
            WHERE a.attacl IS NOT NULL AND a.attrelid > 16383"""
    )
    found: dict[tuple[object, ...], set[object]] = {}
    for table, role, privilege, column in granted:
        found.setdefault((table, role, privilege), set()).add(column)
    assert found == BY_COLUMN


def test_only_the_application_draws_positions(written: tuple[Database, str]):
    database, _ = written
    may = "SELECT has_sequence_privilege(%s, 'bk.event_position', %s)"
    found = {
        (role, privilege)
        for role in ROLES
        for privilege in ("USAGE", "SELECT", "UPDATE")
        if database.ask(may, role, privilege) == [(True,)]
    }
    assert found == {("bk_app", "USAGE")}


def test_no_role_that_logs_in_owns_anything_or_is_anything_special(written: tuple[Database, str]):
    database, _ = written
    assert database.ask(
        """SELECT rolname::text, rolcanlogin, rolsuper OR rolcreaterole OR rolcreatedb
                  OR rolreplication OR rolbypassrls
             FROM pg_roles WHERE starts_with(rolname, 'bk_') ORDER BY 1"""
    ) == [
        ("bk_app", True, False),
        ("bk_monitor", True, False),
        ("bk_owner", False, False),
        ("bk_projector", True, False),
        ("bk_reader", True, False),
        ("bk_witness", True, False),
    ]
    owners = database.ask(
        "SELECT DISTINCT relowner::regrole::text FROM pg_class"
        " WHERE relnamespace = 'bk'::regnamespace"
    )
    assert owners == [("bk_owner",)]
    members = database.ask(
        "SELECT roleid::regrole::text, member::regrole::text FROM pg_auth_members"
        " WHERE member::regrole::text LIKE 'bk%' ORDER BY 2"
    )
    assert members == [("pg_read_all_stats", "bk_monitor"), ("pg_read_all_stats", "bk_projector")]
    assert [s for s in ("bk", "proj") for role in ROLES if may_create(database, role, s)] == [
        "proj"
    ]


def may_create(database: Database, role: str, schema: str) -> bool:
    return database.ask("SELECT has_schema_privilege(%s, %s, 'CREATE')", role, schema) == [(True,)]
