"""What `check`, `verify` and `anchor` say of rows, of a witness that refuses, and of bad input."""

import asyncio
import json
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest
from click.testing import CliRunner, Result
from pydantic import SecretStr
from tests.postgres.runtime.test_exchanges import pointing, with_anchor
from tests.postgres.witness.conftest import WRITE_ENTRY, WRITE_EVENT, Following
from tests.support.examples import EXAMPLES
from tests.support.examples.assets import an_asset
from tests.support.examples.exchange import import_artifact

from beamkeep.adapters.postgres.ledger import ledger
from beamkeep.deployment.settings import settings_of
from beamkeep.deployment.verbs import check
from beamkeep.parts.witness.proving import verify_record, witness_faults
from beamkeep.parts.witness.settings import WitnessSettings
from beamkeep.parts.witness.trees.leaves import Tree
from beamkeep.parts.witness.verbs import anchor, verify
from beamkeep.runtime.admission import UnauthorizedError
from beamkeep.testing.database import Database
from beamkeep.testing.installation import ISSUER
from beamkeep.testing.postgres import Deployed, postgres_service
from beamkeep.testing.service import AdminClient, call, enrol
from beamkeep.testing.witness import ORIGIN
from beamkeep.workers.auditing import differences

pytestmark = [pytest.mark.postgres, pytest.mark.anyio]


class Facility:
    """A service whose record is followed by a witness, and checked."""

    def __init__(self, deployed: Deployed, following: Following) -> None:
        self.deployed, self.following = deployed, following
        self.database, self.service = following.database, deployed.service
        self.do = AdminClient(deployed.service, deployed.store)

    async def found(self) -> list[str]:
        """What `verify` says is wrong, with checkpoints from before, and `check` of the rows."""
        notes = [
            each.note for tree in Tree for each in await self.following.store.checkpoints(tree)
        ]
        key = self.following.verifier_key
        told = verify_record(self.database.url("bk_reader"), "".join(notes), key, lambda _: None)
        verified = [line async for is_fault, line in told if is_fault]
        async with ledger(self.database.url()) as rows:
            checked = [each async for each in differences(rows)]
        assert [line for line in verified if not line.startswith(("events: ", "rows: "))] == checked
        return verified


@pytest.fixture
async def facility(database: Database, following: Following) -> AsyncGenerator[Facility]:
    async with postgres_service(database) as deployed:
        yield Facility(deployed, following)


async def a_past(facility: Facility) -> dict[str, Any]:
    """Things that leave rows which no event repeats."""
    do, service = facility.do, facility.service
    otto = await enrol(service, "otto", "get_zone")
    agent = await EXAMPLES["define_agent"](do)
    await do("define_agent", agent)
    with pytest.raises(UnauthorizedError):
        await call(service, "define_zone", {"name": "Hall"}, "otto")
    asset_id = await an_asset(do)
    sent = await import_artifact(do)
    await do("import_artifact", pointing(sent, await with_anchor(do, sent), "ab" * 32))
    control = await EXAMPLES["take_visit_surface_control"](do)
    await do("take_visit_surface_control", control)
    moved = await EXAMPLES["relocate_asset"](do)
    await do("relocate_asset", moved)
    await do("observe_enclosure_status", await EXAMPLES["observe_enclosure_status"](do))
    await do("register_subscription", await EXAMPLES["register_subscription"](do))
    facility.database.ask(
        """INSERT INTO bk.evidence (evidence_id, agent_id, correlation_id, asked_at, more, question,
             digest, release, arguments, seen)
           VALUES (gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), now(), false, 'get_run',
             'ab', '1', '{}', '[]')"""
    )
    await facility.following.caught_up()
    assert await facility.found() == []
    return {"otto": otto, "asset_id": asset_id}


MISSING = "rows: The log does not have the root that was signed"
ALTERED = {
    "evidence": ("UPDATE bk.evidence SET digest = 'cd'", "evidence of transaction"),
    "missing evidence": ("DELETE FROM bk.evidence", MISSING),
    "denial": (
        "UPDATE bk.authorization_denials SET command_name = 'get_zone'",
        "authorization_denials of transaction",
    ),
    "missing denial": (
        "DELETE FROM bk.authorization_denials",
        MISSING,
    ),
    "place": ("UPDATE bk.asset_place SET parent_id = NULL", "bk.asset_place has a row that"),
    "missing place": ("DELETE FROM bk.asset_place", "bk.asset_place lacks a row that"),
    "former place": (
        "UPDATE bk.asset_former_place SET left_at = left_at - interval '1 day'",
        "bk.asset_former_place has a row that",
    ),
    "control": (
        "UPDATE bk.surface_control SET since_at = since_at - interval '1 day'",
        "bk.surface_control has a row that",
    ),
    "missing control": ("DELETE FROM bk.surface_control", "bk.surface_control lacks a row that"),
    "freshness": (
        "UPDATE bk.enclosure_freshness SET last_reported_at = last_reported_at + interval '1 day'",
        "does not fit its events",
    ),
    "old freshness": (
        "UPDATE bk.enclosure_freshness SET last_reported_at = last_reported_at - interval '1 day'",
        "does not fit its events",
    ),
    "missing freshness": (
        "DELETE FROM bk.enclosure_freshness",
        "bk.enclosure_freshness lacks a row that",
    ),
    "envelope": (
        "UPDATE bk.federation_envelope SET envelope = envelope || ' '",
        "federation_envelope of transaction",
    ),
    "missing envelope": (
        "DELETE FROM bk.federation_envelope",
        MISSING,
    ),
    "pointer": (
        "UPDATE bk.federation_peer_pointer SET head_hash = 'x'",
        "federation_peer_pointer of transaction",
    ),
    "profile": ("UPDATE bk.actor_profile SET email = 'a@b.c'", "is not the one that was written"),
    "profile without the trigger": (
        "SET session_replication_role = replica; UPDATE bk.actor_profile SET name = 'Mallory'",
        "is not the one that was written",
    ),
    "missing profile": (
        "SET session_replication_role = replica; DELETE FROM bk.actor_profile",
        "bk.actor_profile lacks a row that",
    ),
    "subscriber": (
        "UPDATE bk.subscription_place SET owner_id = gen_random_uuid()",
        "bk.subscription_place has owner",
    ),
    "missing bookmark of a subscription": (
        "DELETE FROM bk.subscription_place",
        "bk.subscription_place lacks a row that",
    ),
    "bookmark": (
        "UPDATE bk.bookmarks SET tx = (SELECT max(transaction_id) FROM bk.events), pos = 1e9",
        "rows that do not follow the events up to its bookmark",
    ),
    "missing bookmark": (
        """INSERT INTO bk.bookmarks (projection, generation, shard)
           SELECT projection, generation, 3 FROM bk.bookmarks;
           DELETE FROM bk.bookmarks WHERE shard = -1""",
        "has no bookmark for a part of the log",
    ),
    "login": (
        "UPDATE bk.actor_identity SET subject = subject || 'x'",
        "bk.actor_identity has a row",
    ),
    "missing login": ("DELETE FROM bk.actor_identity", "bk.actor_identity lacks a row"),
    "an expiry": (
        """WITH gone AS (DELETE FROM bk.evidence RETURNING *)
           INSERT INTO bk.expired_rows SELECT transaction_id, 'evidence', evidence_id::text,
             sha256('x') FROM gone""",
        "evidence of transaction",
    ),
    "the function that digests logins": (
        """CREATE OR REPLACE FUNCTION bk.login_digests()
             RETURNS TABLE (actor_id uuid, issuer text, subject_digest text) LANGUAGE sql
             AS 'SELECT NULL::uuid, NULL, NULL LIMIT 0'""",
        "The function bk.login_digests is not the one that a migration has made",
    ),
    "a kind of grant that no version knows": (
        "UPDATE bk.policy_grant SET object_scope = 'Everything'",
        "bk.policy_grant has a row that cannot be read",
    ),
}


async def test_whatever_was_done_to_a_row_is_named_by_check_and_by_verify(facility: Facility):
    await a_past(facility)
    database, missed = facility.database, dict[str, list[str]]()
    # The witness reads no more: each alteration is undone by a copy of the database.
    await facility.following.close()
    for name, (statement, named) in ALTERED.items():
        copy = Database(database.cluster, f"{database.name}_{len(name)}_{uuid4().hex[:6]}")
        ended = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s"
        Database(database.cluster, "postgres").ask(ended, database.name)
        copy.cluster.create_database(copy.name, database.name)
        other = Facility(facility.deployed, Following(copy, facility.following.key_file))
        for each in ("events", "actor_profile", "authorization_denials"):
            copy.ask(f"ALTER TABLE bk.{each} DISABLE TRIGGER ALL")
        for part in statement.split(";"):
            if not part.startswith("SET "):
                copy.ask(part)
        found = await other.found()
        if not any(named in line for line in found):
            missed[name] = found
        await other.following.close()
    assert missed == {}


async def test_the_database_digests_a_login_as_the_service_does(facility: Facility):
    for subject in ("Zoë", "日本", "a😀b", 'q"u\\o', "tab\tx", "del\x7f", "plain"):
        otto = await enrol(facility.service, uuid4().hex)
        login = {"actor_id": str(otto), "issuer": ISSUER, "subject": subject}
        await call(facility.service, "bind_actor_identity", login)
    async with ledger(facility.database.url()) as rows:
        assert [each async for each in differences(rows)] == []


async def test_an_expired_row_leaves_its_hash_and_no_root_differs(facility: Facility):
    await enrol(facility.service, "otto", "get_zone")
    with pytest.raises(UnauthorizedError):
        await call(facility.service, "define_zone", {"name": "Hall"}, "otto")
    database, arguments = facility.database, json.dumps({"text": 'ü \\ "x"'})
    for asked in ("now() - interval '9 days'", "now()"):
        database.ask(
            f"""INSERT INTO bk.evidence (evidence_id, agent_id, surface_id, correlation_id,
                  asked_at, more, question, digest, release, arguments, seen)
                VALUES (gen_random_uuid(), '{UUID(int=5)}', gen_random_uuid(), '{UUID(int=6)}',
                  {asked}, true, 'get_run', 'ab', '1', %s, '[{{"a": 1}}]')""",
            arguments,
        )
    database.ask(
        """UPDATE bk.authorization_denials SET occurred_at = now() - interval '40 days',
             denial_id = ('0000' || substr(denial_id::text, 5))::uuid"""
    )
    # All of it happened before the events that are there now.
    for table in ("evidence", "authorization_denials"):
        database.ask(f"UPDATE bk.{table} SET transaction_id = 5")
    await facility.following.caught_up()
    before = await facility.following.last(Tree.ROWS)
    assert await facility.deployed.store.forget_denials(30) == 1
    assert await facility.deployed.store.forget_evidence(7, 60) == 1
    assert database.ask("SELECT table_name FROM bk.expired_rows ORDER BY 1") == [
        ("authorization_denials",),
        ("evidence",),
    ]
    assert await facility.found() == []
    assert before.size > 0
    database.ask("UPDATE bk.expired_rows SET hash = sha256(hash) WHERE table_name = 'evidence'")
    assert any("evidence of transaction 5" in line for line in await facility.found())


async def test_a_young_row_and_evidence_of_a_decision_cannot_have_expired(facility: Facility):
    do = facility.do
    await do("define_zone", {"name": "Hall"})
    ((tx,),) = facility.database.ask("SELECT max(transaction_id::text::bigint) FROM bk.events")
    key, left = uuid4(), "INSERT INTO bk.expired_rows VALUES (%s, %s, %s, sha256('x'))"
    facility.database.ask(left, tx, "authorization_denials", str(key))
    facility.database.ask("INSERT INTO bk.decided_evidence (evidence_id) VALUES (%s)", key)
    facility.database.ask(left, 5, "evidence", str(key))
    facility.database.ask(left, 5, "run_logbook_entry", str(key))
    async with ledger(facility.database.url("bk_reader")) as rows:
        told = [each async for each in rows.faults()]
    tables = ("authorization_denials", "evidence", "run_logbook_entry")
    said = "bk.expired_rows says that {} {} expired, and it cannot have."
    assert told == [said.format(table, key) for table in tables]


def witness_settings(following: Following) -> WitnessSettings:
    host, code, *_ = ORIGIN.split("/")
    return settings_of(
        database_url=SecretStr(following.database.url()),
        witness_database_url=SecretStr(following.database.url("bk_witness")),
        witness_key_file=following.key_file,
        witness_send_file=following.key_file.with_name("sent"),
        base_url=f"https://{host}",
        self_facility_code=code,
        require_authenticated_principal=False,
        development=True,
    )


@pytest.mark.parametrize("tree", Tree)
async def test_a_witness_that_refuses_one_of_its_trees_is_named(following: Following, tree: Tree):
    following.database.ask(WRITE_EVENT, 3)
    following.database.ask(WRITE_ENTRY, 3)
    await following.caught_up()
    settings = witness_settings(following)
    assert [told async for told in witness_faults(settings)] == []
    altered = {
        Tree.EVENTS: "UPDATE bk.witness_tree SET frontier = set_byte(frontier, 3, 1 + get_byte("
        "frontier, 3) % 255) WHERE tree = 'events'",
        Tree.ROWS: "UPDATE bk.witness_tree SET number = 2 WHERE tree = 'rows'",
    }
    following.database.ask(altered[tree])
    (told,) = [told async for told in witness_faults(settings)]
    assert told.startswith(f"The witness does not sign the tree of {tree}: ")
    following.database.ask("UPDATE bk.witness_tree SET size = size + 1")
    told = [told async for told in witness_faults(settings)]
    assert any("cannot be read: it was altered" in line for line in told)


@pytest.mark.parametrize("tree", Tree)
async def test_a_tree_that_ends_before_what_was_signed_is_named(following: Following, tree: Tree):
    following.database.ask(WRITE_EVENT, 3)
    following.database.ask(WRITE_ENTRY, 3)
    await following.caught_up()
    following.database.ask("ALTER TABLE bk.events DISABLE TRIGGER ALL")
    following.database.ask("DELETE FROM bk.witness_tree WHERE tree = %s", tree)
    following.database.ask(
        "DELETE FROM bk.events" if tree is Tree.EVENTS else "DELETE FROM bk.run_logbook_entry"
    )
    told = [told async for told in witness_faults(witness_settings(following))]
    assert any(f"does not sign the tree of {tree}: number 1 ends at size" in line for line in told)


async def invoked(following: Following, verb: Any, given: list[str], **changed: str) -> Result:
    """A verb as an operator runs it."""
    host, code, *_ = ORIGIN.split("/")
    environment = {
        "DATABASE_URL": following.database.url(),
        "WITNESS_DATABASE_URL": following.database.url("bk_witness"),
        "WITNESS_KEY_FILE": str(following.key_file),
        "WITNESS_SEND_FILE": str(following.key_file.with_name("sent")),
        "BASE_URL": f"https://{host}",
        "SELF_FACILITY_CODE": code,
        "REQUIRE_AUTHENTICATED_PRINCIPAL": "false",
        "DEVELOPMENT": "true",
    }
    return await asyncio.to_thread(CliRunner(env=environment | changed).invoke, verb, given)


def without_a_traceback(ran: Result, verb: str) -> str:
    """What a verb said, which is neither a traceback nor the advice to run the verb itself."""
    assert isinstance(ran.exception, SystemExit | None), ran.exception
    assert ran.exit_code in {1, 78}
    said = ran.stdout + ran.stderr
    assert said.strip()
    assert f"`beamkeep {verb}`" not in said
    return said


@pytest.mark.parametrize("role", ["bk_reader", "bk_app"])
def test_verify_reads_the_record_as_the_roles_that_its_page_names(
    database: Database, tmp_path: Path, role: str
):
    ran = CliRunner(env={"READER_DATABASE_URL": database.url(role)}).invoke(verify, [])
    assert ran.stdout.endswith("nothing is wrong\n"), (ran.output, ran.exception)


def test_verify_tells_what_is_wrong_with_its_database_or_its_files(
    database: Database, tmp_path: Path
):
    run = CliRunner().invoke
    notes, keys, binary = tmp_path / "notes", tmp_path / "keys", tmp_path / "binary"
    binary.write_bytes(b"\xff\xfe\x00")
    notes.write_text("nothing\n")
    url = {"READER_DATABASE_URL": database.url("bk_reader")}
    for text in ("{", "[]", '{"keys": 3}', "no key\n", json.dumps({"keys": [{"key": "x"}]})):
        keys.write_text(text)
        given = ["--checkpoints", str(notes), "--keys", str(keys)]
        said = without_a_traceback(run(verify, given, env=url), "verify")
        assert "A checkpoint cannot be read" in said
    said = without_a_traceback(run(verify, ["--keys", str(binary)], env=url), "verify")
    assert "is not a text file in UTF-8" in said
    for role in ("bk_monitor", "bk_witness"):
        other = {"READER_DATABASE_URL": database.url(role)}
        said = without_a_traceback(run(verify, [], env=other), "verify")
        assert "permission denied" in said
        assert "log in as bk_reader or bk_app" in said
    gone = {"READER_DATABASE_URL": database.url("bk_reader").replace(database.name, "gone")}
    assert "gone" in without_a_traceback(run(verify, [], env=gone), "verify")
    empty = Database(database.cluster, f"{database.name}_empty")
    empty.cluster.create_database(empty.name)
    none = {"READER_DATABASE_URL": empty.url("postgres")}
    assert "beamkeep migrate" in without_a_traceback(run(verify, [], env=none), "verify")
    database.ask("INSERT INTO bk.witness_tree VALUES ('events', 1, 5, 9, 'xx')")
    database.ask("INSERT INTO bk.witness_key (key) VALUES ('x+y')")
    said = without_a_traceback(run(verify, [], env=url), "verify")
    assert "cannot be read: it was altered" in said
    assert "'x+y' is not a verifier key" in said


async def test_check_and_anchor_tell_what_is_wrong_and_never_advise_themselves(
    following: Following,
):
    following.database.ask(WRITE_EVENT, 5)
    await following.caught_up()
    following.database.ask("ALTER TABLE bk.events DISABLE TRIGGER ALL")
    following.database.ask(
        "DELETE FROM bk.events WHERE position = (SELECT min(position) FROM bk.events)"
    )
    following.database.ask(WRITE_EVENT, 1)
    await following.settled()
    said = without_a_traceback(await invoked(following, anchor, ["--reason", "Why"]), "anchor")
    assert "use --diverged" in said
    memory = following.key_file.with_name(f"{following.key_file.name}.signed")
    kept = memory.read_text()
    memory.write_text("{")
    for verb, given in ((check, []), (anchor, ["--reason", "Why"])):
        said = without_a_traceback(await invoked(following, verb, given), str(verb.name))
        assert "a file or a row cannot be read" in said
    memory.write_text(kept)
    following.database.ask("UPDATE bk.witness_tree SET size = size + 1")
    for verb, given in ((check, []), (anchor, ["--reason", "Why"])):
        without_a_traceback(await invoked(following, verb, given), str(verb.name))
    gone = following.database.url().replace(following.database.name, "gone")
    for verb, given in ((check, []), (anchor, ["--reason", "Why"])):
        ran = await invoked(following, verb, given, DATABASE_URL=gone, WITNESS_DATABASE_URL=gone)
        assert "gone" in without_a_traceback(ran, str(verb.name))
