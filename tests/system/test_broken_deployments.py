"""`beamkeep check` names what is broken: each deployment here is real, and broken in one way."""

import json
import os
import pwd
import shutil
import subprocess
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from tests.support.certificates import certificate
from tests.support.disk import USABLE, Disk, workshop

from beamkeep.testing.cluster import Cluster
from beamkeep.testing.installation import ISSUER
from beamkeep.testing.server import LocalDeployment, deployment, free_port, running_server

pytestmark = pytest.mark.postgres

BEHIND = "WITH d AS (DELETE FROM public.beamkeep_migrations WHERE name LIKE '0044%') SELECT 1"
NEWER = "INSERT INTO public.beamkeep_migrations VALUES ('9999_of_another_release', '')"
READ_ONLY = "ALTER DATABASE {} SET default_transaction_read_only TO on"
OLD_BEATS = "UPDATE bk.heartbeat SET beat_at = now() - interval '10 minutes'"


@pytest.fixture
def made(cluster: Cluster) -> Generator[LocalDeployment]:
    with deployment(cluster, True) as fresh:
        yield fresh


def told(made: LocalDeployment, **settings: str | None) -> list[str]:
    """What `check` prints about a broken deployment, line by line."""
    ran = made.run("check", **settings)
    assert ran.returncode in {1, 78}, ran.stdout
    assert "Traceback" not in ran.stderr
    assert "nothing is wrong" not in ran.stdout
    return (ran.stdout + ran.stderr).splitlines()


def require(lines: list[str], *sentences: str) -> None:
    """One line for each sentence, which it begins with, and no other line."""
    assert len(lines) == len(sentences), "\n".join(lines)
    assert [line[: len(text)] for line, text in zip(lines, sentences, strict=True)] == [*sentences]


def test_nothing_is_wrong_with_a_deployment_that_is_whole(made: LocalDeployment):
    ran = made.run("check")
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "nothing is wrong\n", "")


def test_a_database_that_is_down(made: LocalDeployment):
    url = f"postgresql://bk_app@127.0.0.1:{free_port()}/beamkeep"
    require(
        told(made, database_url=url),
        "DATABASE_URL: Cannot connect to the database. Check that the server runs, and the host"
        " and port in its address: ",
    )


def test_a_wrong_password():
    with Cluster.start() as cluster, deployment(cluster, True) as made:
        cluster_asks_for_passwords(cluster)
        url = made.database.url(tcp=True).replace("bk_app@", "bk_app:wrong@")
        require(
            told(made, database_url=url),
            "DATABASE_URL: Cannot connect to the database. Check the password in its address;"
            " `\\password` in psql sets another: password authentication failed",
        )


def cluster_asks_for_passwords(cluster: Cluster) -> None:
    rules = "local all all trust\nhost all all 127.0.0.1/32 scram-sha-256\n"
    (cluster.data / "pg_hba.conf").write_text(rules)
    cluster.restart()


def test_a_wrong_name_of_the_database(made: LocalDeployment):
    require(
        told(made, database_url=made.database.url().replace(made.database.name, "nowhere")),
        "DATABASE_URL: Cannot connect to the database. Check the name at the end of its address,"
        ' and that the database was created: database "nowhere" does not exist',
    )


def test_a_schema_that_is_behind(made: LocalDeployment):
    made.database.ask(BEHIND)
    missing = "Migrations are missing: 0044_worker_heartbeats. Run `beamkeep migrate`."
    require(told(made), f"DATABASE_URL: {missing}", f"PROJECTOR_DATABASE_URL: {missing}")


def test_a_newer_schema(made: LocalDeployment):
    made.database.ask(NEWER)
    newer = (
        "The schema is newer than this release: it has 9999_of_another_release. Install the"
        " release that migrated the database."
    )
    require(told(made), f"DATABASE_URL: {newer}", f"PROJECTOR_DATABASE_URL: {newer}")


def test_a_missing_extension(made: LocalDeployment):
    made.database.ask("DROP EXTENSION pg_trgm CASCADE")
    assert told(made)[0].startswith("DATABASE_URL: The extension pg_trgm is missing, without")


def test_a_read_only_database(made: LocalDeployment):
    made.database.ask(READ_ONLY.format(made.database.name))
    begin = "The database is read-only. Set default_transaction_read_only to off for the server, "
    require(told(made), f"DATABASE_URL: {begin}", f"PROJECTOR_DATABASE_URL: {begin}")


@pytest.mark.skipif(not USABLE, reason="makes a file system of its own")
def test_a_full_disk():
    with (
        workshop() as images,
        Disk.made(images, 400) as disk,
        Cluster.start(disk.path) as cluster,
        deployment(cluster, True) as made,
    ):
        disk.fill()
        begin = "The disk of the database is full. Free at least 16 MB on it: "
        require(told(made), f"DATABASE_URL: {begin}", f"PROJECTOR_DATABASE_URL: {begin}")
        disk.empty()
        assert made.run("check").returncode == 0


@pytest.mark.parametrize(
    ("revoked", "sentence"),
    [
        ("INSERT ON bk.claims FROM bk_app", "DATABASE_URL: The role bk_app may not write bk.cl"),
        (
            "INSERT (version) ON bk.events FROM bk_app",
            "DATABASE_URL: The role bk_app may not write bk.events. Log in as the role",
        ),
        (
            "CREATE ON SCHEMA proj FROM bk_projector",
            "PROJECTOR_DATABASE_URL: The role bk_projector may not write proj. Log in as",
        ),
    ],
)
def test_a_role_that_may_not_write(made: LocalDeployment, revoked: str, sentence: str):
    made.database.ask(f"REVOKE {revoked}")
    assert told(made)[0].startswith(sentence)


@pytest.mark.parametrize(
    ("revoked", "sentence"),
    [
        (
            "SELECT ON bk.actor_identity FROM bk_app",
            "DATABASE_URL: The role bk_app may not read bk.actor_identity. Log in as the role",
        ),
        (
            "SELECT ON bk.events FROM bk_projector",
            "PROJECTOR_DATABASE_URL: The role lacks a privilege. Log in as the role that the inst",
        ),
    ],
)
def test_a_role_that_may_not_read(made: LocalDeployment, revoked: str, sentence: str):
    made.database.ask(f"REVOKE {revoked}")
    assert told(made)[0].startswith(sentence)


def test_a_reader_and_a_witness_that_cannot_log_in(made: LocalDeployment):
    wrong = made.database.url("bk_nobody")
    require(
        told(made, reader_database_url=wrong),
        "READER_DATABASE_URL: Cannot connect to the database. Check the role in its address",
    )


def test_a_data_root_that_is_missing(made: LocalDeployment, tmp_path: Path):
    roots = json.dumps([str(tmp_path / "away")])
    require(
        told(made, data_roots=roots),
        f"DATA_ROOTS: {tmp_path / 'away'} does not exist. Mount it, or take it out of the list.",
    )


def test_a_data_root_that_cannot_be_read(made: LocalDeployment, tmp_path: Path):
    root = tmp_path / "closed"
    root.mkdir(mode=0o300)
    words = [sys.executable, "-m", "beamkeep", "check"]
    if os.geteuid() == 0:
        # Root may read everything; without these capabilities it is a user like any other.
        account = pwd.getpwnam("postgres")
        shutil.chown(root, account.pw_uid, account.pw_gid)
        setpriv = "setpriv", "--bounding-set=-dac_override,-dac_read_search"
        words = [*setpriv, *words]
    ran = subprocess.run(
        words,
        cwd=made.folder,
        env=made.environment(
            data_roots=json.dumps([str(root)]),
            database_url=made.database.url(tcp=True),
            projector_database_url=made.database.url("bk_projector", tcp=True),
        ),
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 1, ran.stderr
    require(
        ran.stdout.splitlines(),
        f"DATA_ROOTS: {root} cannot be read: Permission denied. Let the user that runs the service"
        " read and enter it.",
    )


def test_a_message_bus_that_is_dead(made: LocalDeployment):
    require(
        told(made, nats_url=f"nats://127.0.0.1:{free_port()}"),
        "NATS_URL: The message bus does not answer. ",
    )


def test_a_setting_whose_name_is_misspelled(made: LocalDeployment):
    require(
        told(made, identity_provider="[]"),
        "IDENTITY_PROVIDER is not a setting, and has no effect. Did you mean IDENTITY_PROVIDERS?",
    )
    (made.folder / ".env").write_text("# a comment\nexport DATA_ROOT=[]\n")
    require(told(made), "DATA_ROOT is not a setting, and has no effect. Did you mean DATA_ROOTS?")


@pytest.mark.parametrize(
    ("setting", "value", "sentence"),
    [
        ("port", "eighty", "PORT: Input should be a valid integer"),
        ("data_roots", "/data", "DATA_ROOTS: The value is not JSON."),
    ],
)
def test_a_malformed_setting(made: LocalDeployment, setting: str, value: str, sentence: str):
    require(told(made, **{setting: value}), sentence)


def test_no_administrator_who_can_log_in(cluster: Cluster):
    with running_server(cluster) as server:
        (provider,) = json.loads(server.settings["IDENTITY_PROVIDERS"])
        other = json.dumps([{**provider, "issuer": "https://other.example.org"}])
        unset = dict.fromkeys(
            ("bootstrap_admin_issuer", "bootstrap_admin_subject", "bootstrap_admin_name")
        )
        assert server.run("check").returncode == 0
        require(
            told(server, identity_providers=other, **unset),
            "No administrator can log in at a provider in IDENTITY_PROVIDERS. Set BOOTSTRAP_ADMIN",
        )


def test_a_worker_that_is_dead(cluster: Cluster):
    with running_server(cluster) as server:
        assert server.stop() == 0
        server.database.ask(OLD_BEATS)
        require(told(server), "No worker has run for 60")


def test_a_worker_that_never_ran(cluster: Cluster):
    with running_server(cluster, project_in_serve="false") as server:
        require(told(server), "No worker has ever run, so lists are not updated. Check that `beam")


def provider_at(address: str) -> str:
    provider = {"kind": "jwt", "issuer": ISSUER, "audiences": ["a"], "jwks_uri": address}
    return json.dumps([provider])


def test_an_identity_provider_that_does_not_answer(made: LocalDeployment):
    (line,) = told(made, identity_providers=provider_at(f"https://127.0.0.1:{free_port()}/jwks"))
    assert line.startswith(f"IDENTITY_PROVIDERS: The keys of {ISSUER} cannot be read from https:")


@contextmanager
def https_server(folder: Path) -> Generator[int]:
    server = HTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler)
    context = certificate("localhost", folder)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def test_an_identity_provider_with_a_certificate_of_an_unknown_authority(
    made: LocalDeployment, tmp_path: Path
):
    with https_server(tmp_path) as port:
        (line,) = told(made, identity_providers=provider_at(f"https://localhost:{port}/jwks"))
    assert line.startswith("IDENTITY_PROVIDERS: ")
    assert "certificate" in line


@pytest.mark.parametrize("way", ["missing", "open"])
def test_a_key_file_that_is_missing_or_open_to_others(made: LocalDeployment, way: str):
    file = Path(made.settings["SUBSCRIPTION_KEY_FILE"])
    if way == "missing":
        file.unlink()
    else:
        file.chmod(0o644)
    (line,) = told(made)
    assert line.startswith(f"SUBSCRIPTION_KEY_FILE {file} cannot be used: ")
