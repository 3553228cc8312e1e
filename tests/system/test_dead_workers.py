"""A worker that does not run is named, where `serve` and `work` are processes of their own."""

import re
import signal
import time
from collections.abc import Callable, Generator
from typing import Any, NamedTuple

import httpx2
import pytest

from beamkeep.testing.cluster import Cluster
from beamkeep.testing.server import Program, Server, deployment, free_port, serving

pytestmark = pytest.mark.postgres

DEADLINE = 60.0
DEAD = "No worker has run for "
REMEDY = "so lists are not updated. Check that `beamkeep work` runs."
AGE = re.compile(r'beamkeep_worker_heartbeat_age_seconds\{worker="projector"\} (\S+)')
AGED = "UPDATE bk.heartbeat SET beat_at = now() - interval '90 seconds'"
BEFORE = (
    "UPDATE bk.heartbeat SET beat_at = now() - interval '10 minutes' WHERE worker = 'projector'"
)


class Installation(NamedTuple):
    """The processes of one installation."""

    server: Server
    metrics: str
    workers: list[Program]

    def ready(self) -> tuple[int, str]:
        answer = httpx2.get(f"{self.server.url}/ready")
        return answer.status_code, answer.text

    def age(self) -> float:
        found = AGE.search(httpx2.get(self.metrics).text)
        return float(found[1]) if found else -1.0

    def zones(self, **more: Any) -> dict[str, Any]:
        headers = {"Authorization": f"Bearer {self.server.admin}"}
        answer = httpx2.get(f"{self.server.url}/zones", headers=headers, params=more)
        return answer.json()

    def define_zone(self, name: str) -> None:
        headers = {"Authorization": f"Bearer {self.server.admin}"}
        answer = httpx2.post(f"{self.server.url}/zones", headers=headers, json={"name": name})
        assert answer.status_code == 201

    def work(self) -> None:
        self.workers.append(self.server.begin("work"))

    def kill_worker(self) -> None:
        worker = self.workers.pop()
        worker.send_signal(signal.SIGKILL)
        worker.wait(DEADLINE)


def until(told: Callable[[], object]) -> None:
    deadline = time.monotonic() + DEADLINE
    while not told():
        assert time.monotonic() < deadline
        time.sleep(0.1)


@pytest.fixture(scope="module")
def installed(cluster: Cluster) -> Generator[Installation]:
    port = free_port()
    with (
        deployment(cluster, True, project_in_serve="false", metrics_port=str(port)) as made,
        serving(made) as server,
    ):
        found = Installation(server, f"http://127.0.0.1:{port}/metrics", [])
        try:
            found.work()
            yield found
        finally:
            for each in found.workers:
                each.send_signal(signal.SIGTERM)
                each.wait(DEADLINE)


def test_a_worker_that_runs_is_not_named(installed: Installation):
    until(lambda: 0 <= installed.age() < 30)
    assert installed.ready() == (200, "ready")
    ran = installed.server.run("check")
    assert (ran.returncode, ran.stdout) == (0, "nothing is wrong\n")


def test_a_worker_that_was_killed_is_named_by_ready_the_metric_check_and_the_lists(
    installed: Installation,
):
    until(lambda: 0 <= installed.age() < 30)
    installed.define_zone("Before")
    # The zones of every deployment may be listed before this one.
    until(lambda: [each["name"] for each in installed.zones()["items"]][:1] == ["Before"])
    assert "stale" not in installed.zones()
    installed.kill_worker()
    installed.define_zone("After")

    def ready() -> tuple[int, str]:
        # A beat that was under way when the worker was killed may arrive after any of these.
        installed.server.database.ask(AGED)
        return installed.ready()

    until(lambda: DEAD in ready()[1])
    # The service answers calls, so a web server must not take it out.
    status, told = installed.ready()
    assert status == 200
    assert re.fullmatch(rf"ready\n{DEAD}\d+ s, {re.escape(REMEDY)}", told)
    assert installed.age() >= 90
    until(lambda: "stale" in installed.zones())
    page = installed.zones()
    assert (page["stale"], page["items"][0]["name"]) == (True, "Before")
    ran = installed.server.run("check")
    assert ran.returncode == 1
    assert re.fullmatch(rf"{DEAD}\d+ s, {re.escape(REMEDY)}\n", ran.stdout)

    installed.work()
    until(lambda: installed.ready() == (200, "ready"))
    until(lambda: "stale" not in installed.zones())
    assert [row["name"] for row in installed.zones()["items"]][:2] == ["After", "Before"]


def test_one_loop_that_is_stuck_is_named_while_the_others_run(installed: Installation):
    until(lambda: installed.ready() == (200, "ready"))
    database = installed.server.database

    def told() -> str:
        # All other loops were heard of a moment ago.
        database.ask(BEFORE)
        return installed.ready()[1]

    begin = "ready\nWorkers have not finished a turn for too long: projector ("
    until(lambda: told().startswith(begin))
    assert told().endswith(
        "Look for errors in the log of the worker. Check that `beamkeep work` runs."
    )
    assert "housekeeping" not in told()
