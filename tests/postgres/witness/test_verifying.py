"""Whatever is done to the record behind the witness, `verify` finds it and names it."""

import asyncio
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.postgres.witness.altering import ALTERATIONS, UNGUARDED
from tests.postgres.witness.conftest import (
    NAME,
    WRITE_ENTRY,
    WRITE_EVENT,
    WRITE_OBSERVATION,
    Following,
)

from beamkeep.parts.witness.keys import make_key
from beamkeep.parts.witness.proving import verify_record
from beamkeep.parts.witness.trees.leaves import Tree
from beamkeep.parts.witness.verbs import end_witness_key, redact, verify
from beamkeep.testing.cluster import Cluster
from beamkeep.testing.database import Database
from beamkeep.testing.postgres import PREPARED, fresh_database
from beamkeep.testing.seeds import dice, seed

pytestmark = pytest.mark.postgres


class Witnessed:
    """A database that a witness has followed, and what it sent away."""

    def __init__(self, cluster: Cluster, folder: Path) -> None:
        self.cluster = cluster
        self.database = fresh_database(cluster, PREPARED)
        self.keys = make_key(NAME, folder / "key").key().text
        asyncio.run(self._follow(folder))

    async def _follow(self, folder: Path) -> None:
        following = Following(self.database, folder / "key")
        for number in (3, 290, 330, 1, 5):
            self.database.ask(WRITE_EVENT, number)
            self.database.ask(WRITE_ENTRY, 2)
            self.database.ask(WRITE_OBSERVATION, 7)
            await following.caught_up()
        self.checkpoints = "".join(
            [each.note for tree in Tree for each in await following.store.checkpoints(tree)]
        )
        ((tx,),) = self.database.ask("SELECT max(transaction_id::text::bigint) FROM bk.events")
        self.tx = int(str(tx))
        # More than the last checkpoint covers.
        self.database.ask(WRITE_EVENT, 2)
        await following.close()

    def copy(self) -> Database:
        return fresh_database(self.cluster, self.database.name)

    def verified(self, database: Database, *accepted: str) -> list[str]:
        """What is wrong, as the role that only reads finds it."""

        async def run() -> list[str]:
            url = database.url("bk_reader")
            told = verify_record(url, self.checkpoints, self.keys, lambda _: None, accepted)
            return [line async for is_fault, line in told if is_fault]

        return asyncio.run(run())


@pytest.fixture(scope="module")
def witnessed(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Witnessed:
    return Witnessed(cluster, tmp_path_factory.mktemp("witness"))


def test_nothing_is_wrong_with_a_record_that_nobody_altered(witnessed: Witnessed):
    assert witnessed.verified(witnessed.copy()) == []


@pytest.mark.parametrize("kind", ALTERATIONS)
def test_an_alteration_is_found_and_named(witnessed: Witnessed, kind: str):
    database = witnessed.copy()
    database.ask(UNGUARDED)
    named = ALTERATIONS[kind](database, dice(seed(), kind), witnessed.tx)
    found = witnessed.verified(database)
    assert any(named in each for each in found), (named, found)


def test_a_change_is_named_by_its_interval_when_the_tiles_were_changed_too(witnessed: Witnessed):
    database = witnessed.copy()
    database.ask(UNGUARDED)
    ALTERATIONS["payload"](database, dice(seed()), witnessed.tx)
    database.ask(
        "UPDATE bk.witness_tile SET hashes = set_byte(hashes, 9, 255 - get_byte(hashes, 9))"
    )
    database.ask(
        "UPDATE bk.witness_tree SET frontier = set_byte(frontier, 9, 255 - get_byte(frontier, 9))"
    )
    found = witnessed.verified(database)
    assert any("Between size" in each for each in found), found


def test_a_checkpoint_that_another_key_signed_proves_nothing(witnessed: Witnessed, tmp_path: Path):
    other = make_key(NAME, tmp_path / "other").key().text

    async def run() -> list[str]:
        url = witnessed.database.url("bk_reader")
        told = verify_record(url, witnessed.checkpoints, other, lambda _: None)
        return [line async for is_fault, line in told if is_fault]

    assert all("has no signature of a key" in line for line in asyncio.run(run()))


def test_the_verb_says_that_nothing_is_wrong_or_what(witnessed: Witnessed, tmp_path: Path):
    (tmp_path / "notes").write_text(witnessed.checkpoints)
    (tmp_path / "keys").write_text(witnessed.keys)
    database = witnessed.copy()
    given = ["--checkpoints", str(tmp_path / "notes"), "--keys", str(tmp_path / "keys")]
    environment = {"READER_DATABASE_URL": database.url("bk_reader")}
    ran = CliRunner(env=environment).invoke(verify, given)
    assert ran.exit_code == 0, ran.output
    assert ran.stdout.endswith("nothing is wrong\n")
    database.ask(UNGUARDED)
    database.ask("DELETE FROM bk.events WHERE position = (SELECT max(position) - 2 FROM bk.events)")
    ran = CliRunner(env=environment).invoke(verify, given)
    assert ran.exit_code == 1
    assert "does not have the root that was signed at size 664. Leaf 663 differs" in ran.stdout


def test_a_row_that_was_redacted_leaves_its_hash_and_every_root_as_it_was(witnessed: Witnessed):
    database = witnessed.copy()
    ((key,),) = database.ask("SELECT entry_id::text FROM bk.run_logbook_entry LIMIT 1")
    given = ["--table", "run_logbook_entry", "--key", str(key), "--reason", "Erasure request 7"]
    environment = {"MIGRATION_DATABASE_URL": database.url("postgres")}
    ran = CliRunner(env=environment).invoke(redact, given)
    assert (ran.exit_code, ran.stdout) == (
        0,
        f"run_logbook_entry {key} is removed, and its hash is kept.\n",
    )
    assert database.ask("SELECT 1 FROM bk.run_logbook_entry WHERE entry_id = %s", key) == []
    (finding,) = witnessed.verified(database)
    name = f"run_logbook_entry/{key}"
    assert finding.startswith(f"{name} was redacted at ")
    assert finding.endswith(f": Erasure request 7. If you know of it, add --accept {name}.")
    assert witnessed.verified(database, name) == []
    again = CliRunner(env=environment).invoke(redact, given)
    assert (again.exit_code, again.stderr) == (1, f"run_logbook_entry has no row {key}.\n")


@pytest.mark.parametrize("table", ["events", "redactions", "actor_profile"])
def test_only_rows_of_the_tree_are_redacted(witnessed: Witnessed, table: str):
    environment = {"MIGRATION_DATABASE_URL": witnessed.database.url("postgres")}
    given = ["--table", table, "--key", "1", "--reason", "Erasure"]
    ran = CliRunner(env=environment).invoke(redact, given)
    assert ran.exit_code == 1
    assert f"{table} is not one of authorization_denials" in ran.stderr


def test_a_key_that_leaked_is_listed_as_revoked_and_proves_nothing(witnessed: Witnessed):
    database = witnessed.copy()
    environment = {"MIGRATION_DATABASE_URL": database.url("postgres")}
    run = CliRunner(env=environment).invoke
    assert run(end_witness_key, ["nonsense"]).exit_code == 1
    ran = run(end_witness_key, [witnessed.keys])
    assert ran.stdout == f"{NAME} is listed as replaced.\n"
    ended = "SELECT until_at IS NOT NULL, revoked_at IS NOT NULL FROM bk.witness_key"
    assert database.ask(ended) == [(True, False)] * 2
    ran = run(end_witness_key, [witnessed.keys, "--leaked"])
    assert ran.stdout == f"{NAME} is listed as revoked.\n"
    assert database.ask(ended) == [(True, True)] * 2
    environment = {"READER_DATABASE_URL": database.url("bk_reader")}
    ran = CliRunner(env=environment).invoke(verify, [])
    assert ran.exit_code == 1
    assert "has no signature of a key" in ran.stdout
