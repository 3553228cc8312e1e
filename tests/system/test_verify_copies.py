"""Verifying copies: by the client beside the files and by the service, both killed midway."""

import hashlib
import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from tests.support.pseudo_terminal import BEAMKEEP, COLUMNS, screen

from beamkeep.testing.cluster import Cluster
from beamkeep.testing.installation import FACILITY_CODE
from beamkeep.testing.server import LocalDeployment, Server, deployment, running_server, serving
from beamkeep_client.shared.checksums import tree_digest

pytestmark = pytest.mark.postgres
CONTENT = b"frames" * 200_000
PATIENCE = 60.0
OFTEN = {
    "conduct_lease_seconds": "3",
    "conduct_renew_seconds": "1",
    "conduct_self_fence_seconds": "2",
}
"""A killed worker is replaced soon."""


def wait_for[T](found: Callable[[], T | None], what: str) -> T:
    late = time.monotonic() + PATIENCE
    while not (result := found()):
        assert time.monotonic() < late, what
        time.sleep(0.02)
    return result


class Storage:
    """Files in a folder, and the service that knows of them."""

    def __init__(self, server: LocalDeployment, root: Path, http: httpx2.Client) -> None:
        self.server, self.root, self.http = server, root, http

    def do(self, method: str, path: str, **content: Any) -> Any:
        answer = self.http.request(method, path, **content)
        assert answer.is_success, answer.text
        return answer.json()

    def supply(self, name: str) -> str:
        body = {"kind": "storage", "name": name, "facility_code": FACILITY_CODE}
        return self.do("POST", "/supplies", json=body)["supply_id"]

    def copy(self, path: str, sum: Mapping[str, str], size: int, **more: Any) -> str:
        """Register a dataset with a copy at a path below the root."""
        encoding = {"media_type": "image/tiff"}
        dataset = {"name": path, "checksum": sum, "byte_size": size, "encoding": encoding}
        id = self.do("POST", "/datasets", json=dataset)["dataset_id"]
        place = {"uri": f"file://{self.root}/{path}", "access_protocol": "POSIX", **more}
        known = {"dataset_id": id, "checksum": sum, "byte_size": size}
        return self.do("POST", "/distributions", json={**known, **place})["distribution_id"]

    def file(self, path: str, content: bytes = CONTENT, **more: Any) -> str:
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_bytes(content)
        sum = {"algorithm": "sha256", "value": hashlib.sha256(content).hexdigest()}
        return self.copy(path, sum, len(content), **more)

    def tree(self, path: str, count: int, size: int, **more: Any) -> str:
        """A directory of files without content, which take no room."""
        (self.root / path).mkdir(parents=True)
        value = hashlib.sha256(bytes(size)).hexdigest()
        names = [f"{number:04}.tif" for number in range(count)]
        for name in names:
            (self.root / path / name).touch()
            os.truncate(self.root / path / name, size)
        whole = tree_digest((name, value) for name in names)
        sum = {"algorithm": "sha256-tree", "value": whole}
        return self.copy(f"{path}/", sum, count * size, **more)

    def get(self, id: str) -> Any:
        return self.do("GET", f"/distributions/{id}")

    def attestations(self, id: str, count: int) -> list[Any]:
        """Return the checks of a copy, once the list has so many."""

        def found() -> list[Any]:
            rows = self.do("GET", "/attestations", params={"distribution_id": id})["items"]
            return rows if len(rows) >= count else []

        return wait_for(found, f"{count} attestations")

    def percent(self, id: str, least: int) -> int | None:
        """Return how far the check of a copy is, if it has come so far."""
        rows = self.do("GET", f"/distributions/{id}/checks")["items"]
        return rows[0]["percent"] if rows and rows[0]["percent"] >= least else None

    def listed(self, count: int) -> None:
        """Wait until the list, which follows the events, has so many copies below the root."""

        def found() -> bool:
            rows = self.do("GET", "/distributions", params={"limit": 100})["items"]
            return sum(str(self.root) in row["uri"] for row in rows) == count

        wait_for(found, f"{count} copies are listed")

    @property
    def environment(self) -> dict[str, str]:
        kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
        return {**kept, "BEAMKEEP_URL": self.server.url, "BEAMKEEP_TOKEN": self.server.admin}

    def begin(self, *options: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [BEAMKEEP, "verify-copies", *options],
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def verify(self, *options: str) -> tuple[int, list[str], str]:
        """Return the exit code, the lines and the summary of a command that ran to its end."""
        with self.begin(*options) as process:
            out, told = process.communicate(timeout=PATIENCE)
            return process.returncode, out.splitlines(), told


@contextmanager
def storage_of(server: LocalDeployment, root: Path) -> Generator[Storage]:
    headers = {"authorization": f"Bearer {server.admin}"}
    with httpx2.Client(base_url=server.url, headers=headers, timeout=30) as http:
        yield Storage(server, root, http)


@pytest.fixture(scope="module")
def server(cluster: Cluster) -> Generator[Server]:
    with running_server(cluster) as server:
        yield server


@pytest.fixture
def storage(server: Server, tmp_path: Path) -> Generator[Storage]:
    with storage_of(server, tmp_path) as storage:
        yield storage


def test_copies_are_read_and_recorded_as_of_the_client(storage: Storage, tmp_path: Path):
    supply_id = storage.supply(tmp_path.name)
    right = storage.file("a/right.h5", supply_id=supply_id)
    wrong = storage.file("a/wrong.h5", supply_id=supply_id)
    missing = storage.file("a/missing.h5", supply_id=supply_id)
    tree = storage.tree("frames", 20, 100_000, supply_id=supply_id)
    (tmp_path / "a/wrong.h5").write_bytes(CONTENT[:-1] + b"!")
    (tmp_path / "a/missing.h5").unlink()
    storage.listed(4)
    options = ("--supply", supply_id, "--under", str(tmp_path), "--jobs", "3")
    code, lines, told = storage.verify(*options)
    outcomes = sorted(line.split("  ")[0] for line in lines)
    assert outcomes == ["Match", "Match", "Mismatch", "Unreachable (NotFound)"], told
    assert code == 3
    assert "4 copies" in told
    assert "2 match, 1 mismatch, 1 unreachable" in told
    states = [storage.get(id)["status"] for id in (right, tree, wrong, missing)]
    assert states == ["Verified", "Verified", "Stale", "Registered"]
    (found,) = storage.attestations(right, 1)
    assert (found["verified_by"], found["outcome"]) == ("Client", "Match")
    # What was found is not read again; what could not be read is tried again.
    storage.attestations(missing, 1)
    (tmp_path / "a/missing.h5").write_bytes(CONTENT)
    code, lines, told = storage.verify(*options)
    assert (code, [line.split("  ")[:2] for line in lines]) == (0, [["Match", missing]])
    # A copy that was checked before a time is read again.
    code, lines, _ = storage.verify(*options, "--not-since", "2100-01-01T00:00Z")
    assert (code, len(lines)) == (3, 4)


def test_paths_are_mapped_and_copies_elsewhere_are_not_read(storage: Storage, tmp_path: Path):
    (tmp_path / "local/deep").mkdir(parents=True)
    sum = {"algorithm": "sha256", "value": hashlib.sha256(CONTENT).hexdigest()}
    names = ("deep/a%20b.h5", "deep/link.h5", "deep/out.h5")
    place = f"file:///service{tmp_path}"
    ids = [storage.copy("x", sum, len(CONTENT), uri=f"{place}/{name}") for name in names]
    (tmp_path / "local/deep/a b.h5").write_bytes(CONTENT)
    (tmp_path / "local/deep/link.h5").symlink_to("a b.h5")
    (tmp_path / "secret.h5").write_bytes(CONTENT)
    (tmp_path / "local/deep/out.h5").symlink_to("../../secret.h5")
    storage.listed(3)
    code, lines, _ = storage.verify("--map", f"/service{tmp_path}={tmp_path}/local")
    assert code == 4
    outcomes = {line.split("  ")[1]: line.split("  ")[0] for line in lines}
    assert [outcomes[id] for id in ids] == ["Match", "Match", "Unreachable (OutsideRoots)"]
    code, _, told = storage.verify()
    assert (code, "--under or --map" in told) == (64, True)


def test_a_killed_client_goes_on_with_what_is_not_recorded(storage: Storage, tmp_path: Path):
    ids = [storage.file(f"{number:02}.h5", os.urandom(400_000)) for number in range(12)]
    storage.listed(12)
    with storage.begin("--under", str(tmp_path), "--rate", "1MB") as process:
        assert process.stdout
        first = [process.stdout.readline() for _ in range(3)]
        process.send_signal(signal.SIGKILL)
    recorded = [id for id in ids if storage.get(id)["verified_at"]]
    assert {line.split("  ")[1] for line in first} <= {*recorded}
    assert len(recorded) < len(ids)
    for id in recorded:
        storage.attestations(id, 1)
    code, lines, _ = storage.verify("--under", str(tmp_path), "--jobs", "2")
    assert code == 0
    assert {storage.get(id)["status"] for id in ids} == {"Verified"}
    assert sorted(line.split("  ")[1] for line in lines) == sorted({*ids} - {*recorded})


def test_a_terminal_shows_a_bar_of_80_columns(storage: Storage, tmp_path: Path):
    storage.tree("frames", 30, 1_000_000)
    storage.listed(1)
    words = ("verify-copies", "--under", str(tmp_path), "--rate", "20MB")
    shown = screen(*words, **storage.environment)
    assert shown.code == 0, shown.text
    bars = [line for line in shown.text.replace("\x1b[K", "").split("\r") if line.startswith("[")]
    assert max(map(len, bars)) <= COLUMNS
    assert any("#" in line and "MB/s" in line and "30.0 MB" in line for line in bars)
    assert "1 match." in shown.text


def test_a_killed_service_goes_on_with_the_files_that_were_not_read(
    cluster: Cluster, tmp_path: Path
):
    settings = {"data_roots": json.dumps([str(tmp_path)]), "check_bytes_per_second": "20000000"}
    with deployment(cluster, True, **settings, **OFTEN) as made:
        process = made.start()
        try:
            wait_for(lambda: _is_ready(made.url), "the service is ready")
            with storage_of(made, tmp_path) as storage:
                id = storage.tree("frames", 40, 5_000_000)
                path = f"/distributions/{id}/request-check"
                storage.do("POST", path, json={"kind": "ChecksumVerified"})
                shown = wait_for(lambda: storage.percent(id, 30), "a third is read")
        finally:
            process.send_signal(signal.SIGKILL)
            process.wait(PATIENCE)
        with serving(made), storage_of(made, tmp_path) as storage:
            percents = list[int]()

            def verified() -> bool:
                if percent := storage.percent(id, 0):
                    percents.append(percent)
                return storage.get(id)["status"] == "Verified"

            wait_for(verified, "the check has ended")
            (found,) = storage.attestations(id, 1)
    assert (found["outcome"], found["verified_by"]) == ("Match", "Service")
    assert min(percents) >= shown


def _is_ready(url: str) -> bool:
    try:
        return httpx2.get(f"{url}/ready").is_success
    except httpx2.TransportError:
        return False
