"""A caller who takes what it can: a permitted caller is served almost as if it were alone."""

import json
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit
from uuid import UUID, uuid4

import h5py
import httpx2
import pytest
from tests.support.verdicts import time_counts
from tests.unit.scans import files

from beamkeep.contexts.trust import seeded
from beamkeep.kernel import SurfaceKind
from beamkeep.testing.cluster import Cluster
from beamkeep.testing.data_root import data_root
from beamkeep.testing.installation import ISSUER
from beamkeep.testing.server import Server, running_server
from beamkeep.testing.service import policy

pytestmark = [pytest.mark.faults, pytest.mark.postgres]

ROOT = Path(__file__).parents[2]
CALLS = 150
EVERY = 0.02
WARMING_SECONDS = 3.0
MOST_TIMES = 3.0
SHORTEST = 0.010
"""Seconds below which a quiet p95 says more about the machine than about the service."""
MOST_MEMORY = 200 << 20
ENTRIES = 300_000
SCANS = 5
DEFAULTS = {
    "PER_PRINCIPAL_RATE": "50",
    "PER_PRINCIPAL_BURST": "100",
    "CONCURRENT_PER_PRINCIPAL": "8",
}
FILL = """
INSERT INTO bk.directory (id, version, owner_id, kind, status, name, folded, words, tail)
SELECT id, 1, id, 'Zone', NULL, 'zone ' || n, 'zone ' || n, 'zone ' || n, ''
  FROM (SELECT gen_random_uuid() AS id, n FROM generate_series(1, {count}) AS n) AS r
"""


class Measured(NamedTuple):
    """How a permitted caller was served."""

    p95: float
    failed: int
    memory: int

    def __str__(self) -> str:
        return f"p95 {self.p95 * 1000:.1f} ms, {self.failed} failed, {self.memory >> 20} MB"


def call(server: Server, method: str, path: str, body: bytes | None, token: str) -> int:
    """Make one call on a connection of its own, and return the status; 0 for no answer."""
    address = urlsplit(server.url)
    connection = HTTPConnection(address.hostname or "", address.port, timeout=30)
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    try:
        connection.request(method, path, body=body, headers=headers)
        answer = connection.getresponse()
        answer.read()
    except OSError:
        return 0
    finally:
        connection.close()
    return answer.status


def measured(server: Server, token: str) -> Measured:
    """Call as a person does who is permitted to, and note the p95, failures and memory."""
    times, failed, memory = list[float](), 0, 0
    for number in range(CALLS):
        begun = time.perf_counter()
        body = json.dumps({"name": f"Zone {uuid4()}"}).encode()
        asked = ("GET", "/health", None), ("GET", "/zones?limit=1", None), ("POST", "/zones", body)
        method, path, sent = asked[number % len(asked)]
        failed += call(server, method, path, sent, token) not in {200, 201}
        times.append(time.perf_counter() - begun)
        memory = max(memory, resident(server.pid))
        time.sleep(EVERY)
    return Measured(sorted(times)[CALLS * 95 // 100], failed, memory)


def resident(pid: int) -> int:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    (kilobytes,) = [line.split()[1] for line in lines if line.startswith("VmRSS:")]
    return int(kilobytes) << 10


@contextmanager
def attacked(server: Server, attack: str, token: str, target: str) -> Generator[None]:
    told = json.dumps([attack, server.url, token, target])
    program = [sys.executable, "-m", "tests.system.starving", told]
    with subprocess.Popen(program, cwd=ROOT, stderr=subprocess.PIPE) as process:
        time.sleep(WARMING_SECONDS)
        assert process.poll() is None, process.stderr and process.stderr.read().decode()
        try:
            yield
        finally:
            process.kill()


class Place(NamedTuple):
    """A service with Ada, who calls, and Otto, who may search and ingest and does so too often."""

    server: Server
    camera_id: str
    bomb: Path

    def target(self, attack: str) -> str:
        if attack == "scans":
            return json.dumps(self.ingesting(self.bomb))
        return "--%20--" if attack == "searches" else ""

    def ingested(self, name: str) -> list[float]:
        """Ingest scans one after the other as the administrator, and return the seconds of each."""
        taken = list[float]()
        for number in range(SCANS):
            scan = files.nxtomo(self.bomb.with_name(f"{name}-{number}.nx"))
            # The same bytes would be the same dataset.
            with h5py.File(scan, "a") as file:
                file.attrs["name"] = scan.name
            files.settle(scan)
            body, begun = json.dumps(self.ingesting(scan)).encode(), time.perf_counter()
            assert call(self.server, "POST", "/scans/ingest", body, self.server.admin) == 201
            taken.append(time.perf_counter() - begun)
        return taken

    def ingesting(self, path: Path) -> dict[str, Any]:
        return {"locator": path.as_uri(), "producing_asset_id": self.camera_id}


@pytest.fixture(scope="module")
def place(cluster: Cluster) -> Generator[Place]:
    with running_server(cluster, **DEFAULTS) as server:
        server.database.ask(FILL.format(count=ENTRIES))
        server.database.ask("ANALYZE bk.directory")
        with httpx2.Client(
            base_url=server.url, headers={"Authorization": f"Bearer {server.admin}"}, timeout=60
        ) as http:
            camera_id = set_up(http)
            # A process makes this document once, when it is first asked for it.
            assert http.get("/openapi.json").is_success
        (folder := data_root() / str(uuid4())).mkdir()
        yield Place(server, camera_id, files.repeating(folder / "bomb.nx"))


def set_up(http: httpx2.Client) -> str:
    """Let Otto do what he may, and return a camera."""

    def made(route: str, **body: Any) -> Any:
        answer = http.post(route, json=body)
        assert answer.is_success, answer.text
        return answer.json()

    login = {"issuer": ISSUER, "subject": "otto"}
    otto_id = UUID(made("/actors", name="Otto", identities=[login])["actor_id"])
    commands = ("search", "get_zone", "ingest_scan")
    made("/policies", **policy("Otto", seeded.SURFACES[SurfaceKind.HTTP], otto_id, *commands))
    family_ids = [made("/families", name="Camera", affordances=["Capturing"])["family_id"]]
    unit_id = made(
        "/assets", name="Unit", tier="Unit", facility_code="synchrotron", family_ids=family_ids
    )["asset_id"]
    camera = made("/assets", name="Camera", tier="Device", parent_id=unit_id, family_ids=family_ids)
    return camera["asset_id"]


@pytest.mark.parametrize(
    ("attack", "attacker"),
    [
        ("bodies", "mallory"),
        ("messages", "mallory"),
        ("documents", "mallory"),
        ("half_open", "mallory"),
        ("scans", "otto"),
        ("searches", "otto"),
    ],
)
def test_a_permitted_caller_is_served_almost_as_if_it_were_alone(
    place: Place, attack: str, attacker: str
):
    server, token = place.server, place.server.admin
    measured(server, token)
    quiet = measured(server, token)
    with attacked(server, attack, server.token(attacker), place.target(attack)):
        besieged = measured(server, token)
    times = besieged.p95 / max(quiet.p95, SHORTEST)
    print(f"{attack}: {quiet} quietly, {besieged} under attack, {times:.1f} times")
    assert besieged.failed == quiet.failed == 0
    assert not time_counts() or times <= MOST_TIMES
    assert besieged.memory - quiet.memory < MOST_MEMORY


def test_the_scan_of_another_is_ingested_while_a_caller_sends_scans_that_take_long(place: Place):
    quiet = place.ingested("quiet")
    with attacked(place.server, "scans", place.server.token("otto"), place.target("scans")):
        besieged = place.ingested("besieged")
    times = max(besieged) / max(quiet)
    print(
        f"ingest: {max(quiet):.2f} s quietly, {max(besieged):.2f} s under attack, {times:.1f} times"
    )
    assert not time_counts() or times <= MOST_TIMES
