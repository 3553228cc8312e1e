"""The verbs that run the service: what they refuse before they begin."""

from pathlib import Path

import pytest
from click import Command
from click.testing import CliRunner

from beamkeep.deployment.verbs import check, mcp_stdio, migrate, rebuild, serve, work

REFUSED_TO_START = 78
DISTANT = "postgresql://bk_app:secret@db1.facility.example/beamkeep"


@pytest.fixture
def console(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> CliRunner:
    """A terminal in which nothing is set."""
    monkeypatch.chdir(tmp_path)
    return CliRunner(env={"IDENTITY_PROVIDERS": None, "DATABASE_URL": None})


@pytest.mark.parametrize(
    "verb", [serve, work, check, migrate, rebuild, mcp_stdio], ids=lambda verb: verb.name
)
@pytest.mark.parametrize(
    "setting", ["DATABASE_URL", "PROJECTOR_DATABASE_URL", "MIGRATION_DATABASE_URL"]
)
def test_nothing_goes_over_a_network_that_could_read_along(
    console: CliRunner, verb: Command, setting: str
):
    ran = console.invoke(verb, ["zone"] * (verb is rebuild), env={setting: DISTANT})
    assert ran.exit_code == REFUSED_TO_START
    assert f"{setting}: The database is on another host (db1.facility.example)" in ran.stderr
    assert "sslmode=verify-full" in ran.stderr
    assert "secret" not in ran.output


def test_a_setting_that_is_not_json_is_named_without_its_value(console: CliRunner):
    ran = console.invoke(check, env={"IDENTITY_PROVIDERS": "[{kind: jwt, secret}]"})
    assert ran.exit_code == REFUSED_TO_START
    assert ran.stderr == "IDENTITY_PROVIDERS: The value is not JSON.\n"


def test_shards_that_are_no_numbers_are_refused(console: CliRunner):
    ran = console.invoke(work, ["--shards", "0,one"])
    assert "--shards must be numbers, for example 0,1,2." in ran.stderr
    assert isinstance(ran.exception, SystemExit)


def test_migrate_wants_to_know_nothing_but_where_the_database_is(console: CliRunner):
    nowhere = "postgresql://postgres@127.0.0.1:1/beamkeep"
    ran = console.invoke(migrate, env={"MIGRATION_DATABASE_URL": nowhere})
    assert ran.exit_code == REFUSED_TO_START
    assert ran.stderr.startswith("The database was not migrated: ")
    assert "Connect" in ran.stderr
