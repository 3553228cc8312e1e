"""A service whose database is not there yet waits for it, and says which version it is."""

import json
import re
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2
import pytest
from tests.support.certificates import certificate

from beamkeep.runtime.evidence import RELEASE
from beamkeep.testing.cluster import Cluster
from beamkeep.testing.server import (
    LocalDeployment,
    Program,
    deployment,
    free_port,
    running_server,
)

pytestmark = pytest.mark.postgres

DEADLINE = 60.0
BROKEN = 78
WAITS = "waiting for the database"


def lines(made: LocalDeployment) -> list[dict[str, Any]]:
    return [json.loads(line) for line in made.log.read_text().splitlines() if line[0] == "{"]


def waits(made: LocalDeployment) -> list[dict[str, Any]]:
    return [line for line in lines(made) if line["event"] == WAITS]


def until(told: Callable[[], object], process: Program, log: LocalDeployment) -> None:
    deadline = time.monotonic() + DEADLINE
    while not told():
        assert process.poll() is None, log.log.read_text()
        assert time.monotonic() < deadline, log.log.read_text()
        time.sleep(0.05)


def is_ready(url: str) -> bool:
    try:
        return httpx2.get(f"{url}/ready").is_success
    except httpx2.TransportError:
        return False


def stop(process: Program) -> int:
    process.send_signal(signal.SIGTERM)
    return process.wait(DEADLINE)


def test_serve_waits_for_a_database_that_is_down_and_serves_once_it_is_there():
    with Cluster.start() as cluster, deployment(cluster, True) as made:
        cluster.stop()
        process = made.start()
        until(lambda: waits(made), process, made)
        (told,) = waits(made)
        assert told["setting"] == "DATABASE_URL"
        assert told["because"].startswith(
            "Cannot connect to the database. Check that the server runs, and the host and port"
        )
        cluster.resume()
        until(lambda: is_ready(made.url), process, made)
        assert stop(process) == 0


def test_work_waits_for_a_database_that_is_down_and_ends_by_a_signal_while_it_waits():
    with Cluster.start() as cluster, deployment(cluster, True) as made:
        cluster.stop()
        process = made.begin("work")
        until(lambda: waits(made), process, made)
        assert stop(process) != BROKEN
        assert "Traceback" not in made.log.read_text()


def test_a_host_whose_name_is_not_known_yet_is_waited_for(cluster: Cluster, tmp_path: Path):
    certificate("localhost", tmp_path)
    tls = f"sslmode=verify-full&sslrootcert={tmp_path / 'cert.pem'}"
    unknown = f"postgresql://bk_app@beamkeep-database.invalid/beamkeep?{tls}"
    with deployment(cluster, True, database_url=unknown) as made:
        process = made.start()
        until(lambda: waits(made), process, made)
        stop(process)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ("name", "Check the name at the end of its address, and that the database was created"),
        ("role", "Check the role in its address, and pg_hba.conf of the server"),
    ],
)
def test_settings_that_waiting_does_not_mend_end_the_service(
    cluster: Cluster, change: str, sentence: str
):
    with deployment(cluster, True) as made:
        url = made.database.url()
        wrong = {
            "name": url.replace(made.database.name, "nowhere"),
            "role": url.replace("bk_app", "nobody_known"),
        }
        ran = made.run("serve", database_url=wrong[change])
    assert ran.returncode == BROKEN
    assert sentence in ran.stderr
    assert WAITS not in ran.stderr
    assert "Traceback" not in ran.stderr


def test_the_version_of_the_server_is_in_the_first_line_the_metrics_and_version(cluster: Cluster):
    port = free_port()
    with running_server(cluster, metrics_port=str(port)) as server:
        first = lines(server)[0]
        assert (first["event"], first["command"], first["version"]) == (
            "starting",
            "serve",
            RELEASE,
        )
        metrics = httpx2.get(f"http://127.0.0.1:{port}/metrics").text
        assert f'beamkeep_info{{version="{RELEASE}"}} 1.0' in metrics
        told = server.run("--version").stdout
        assert re.fullmatch(rf"beamkeep {re.escape(RELEASE)}\nbeamkeep-client \S+\n", told)
