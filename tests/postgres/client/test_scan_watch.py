"""Scan files in watched folders are ingested once each, whatever happens to the watch."""

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Generator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any
from uuid import uuid4

import h5py
import pytest
from tests.unit.scans import files

from beamkeep.testing.cluster import Cluster
from beamkeep.testing.data_root import data_root
from beamkeep.testing.server import Server, running_server
from beamkeep.testing.waiting import until
from beamkeep_client.http import ServiceError
from beamkeep_client.synchronous.http import HttpClient
from beamkeep_client.tools.scan_watch import Ledger, Rules, ScanWatch, sum_of

pytestmark = pytest.mark.postgres

PROGRAM = "from beamkeep_client.cli import main; main()"


class Site:
    """A service with a camera, and a folder that it and the watch see."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.http = HttpClient(server.url, server.admin)
        self.camera = f"Camera {uuid4()}"
        family = {"name": f"Cameras {uuid4()}", "affordances": ["Capturing"]}
        family_id = self.post("/families", family)["family_id"]
        of = {"family_ids": [family_id]}
        unit = {"name": f"Unit {uuid4()}", "tier": "Unit", "facility_code": "synchrotron"}
        above = self.post("/assets", unit | of)["asset_id"]
        camera = {"name": self.camera, "tier": "Device", "parent_id": above}
        self.camera_id = self.post("/assets", camera | of)["asset_id"]

    def post(self, path: str, body: dict[str, Any]) -> Any:
        answer = self.http.request("POST", path, json=body)
        return answer.json() if answer.content else None

    def get(self, path: str) -> Any:
        return self.http.request("GET", path).json()

    def copies(self, folder: Path, wanted: int) -> list[str]:
        """Return the addresses of the copies in a folder, once the list shows so many."""

        def found() -> list[list[str]] | None:
            # A list that holds the answer is true, even if the answer is empty.
            return [listed] if len(listed := self._listed(folder)) >= wanted else None

        return asyncio.run(until(found, f"{wanted} copies are listed"))[0]

    def _listed(self, folder: Path) -> list[str]:
        found, cursor = list[str](), ""
        while cursor is not None:
            after = f"&cursor={cursor}" if cursor else ""
            page = self.get(f"/distributions?limit=100{after}")
            found += [row["uri"] for row in page["items"]]
            cursor = page["next_cursor"]
        return sorted(uri for uri in found if uri.startswith(folder.as_uri()))


@pytest.fixture(scope="module")
def site(cluster: Cluster) -> Generator[Site]:
    with (
        running_server(cluster, ingest_hash_bytes="30000") as server,
        closing((site := Site(server)).http),
    ):
        yield site


@pytest.fixture
def folder() -> Path:
    (made := data_root() / str(uuid4())).mkdir()
    return made


type Run = Callable[..., subprocess.CompletedProcess[str]]


def command_of(site: Site, *arguments: str | Path) -> tuple[list[str], dict[str, str]]:
    environment = {"BEAMKEEP_URL": site.server.url, "BEAMKEEP_TOKEN": site.server.admin}
    return [sys.executable, "-c", PROGRAM, "watch-scans", *map(str, arguments)], environment


@pytest.fixture
def watch(site: Site, tmp_path: Path) -> Run:
    """Runs the command to its end, with a state of its own."""

    def run(*arguments: str | Path, **changes: str) -> subprocess.CompletedProcess[str]:
        command, environment = command_of(site, "--state", tmp_path / "state", *arguments)
        env = os.environ | environment | changes
        return subprocess.run(
            command, env=env, capture_output=True, text=True, check=False, timeout=120
        )

    return run


type Open = Callable[[Path], Ledger]


@pytest.fixture
def opened() -> Generator[Open]:
    """Opens the state of a watch, and closes it in the end."""
    with ExitStack() as held:
        yield lambda folder: held.enter_context(closing(Ledger(folder)))


def scan(folder: Path, name: str = "scan.nx", title: str | None = None) -> Path:
    path = folder / name
    with h5py.File(path, "w") as file:
        entry = files.entry_of(file)
        del entry["title"]
        entry["title"] = title or str(uuid4())
        files.tomography(entry, [0, 0], [0.0, 90.0])
        entry["instrument/detector/data"] = [[[1, 2]], [[3, 4]]]
    files.settle(path)
    return path


def rules(site: Site, folder: Path, **more: Any) -> Rules:
    told: dict[str, Any] = {
        "folders": (str(folder),),
        "patterns": ("*.nx",),
        "quiet_seconds": 0.0,
        "given": {"asset": site.camera_id},
        "from_path": None,
        "sidecar": None,
        "seen_as": (),
    }
    return Rules(**told | more)


def test_a_new_file_is_ingested_once(site: Site, folder: Path, watch: Run):
    path = scan(folder)
    (folder / "notes.txt").write_text("not a scan")
    first = watch(folder, "--asset", site.camera, "--once")
    assert first.stdout.startswith(f"ingested   {path} as dataset ")
    assert site.copies(folder, 1) == [path.as_uri()]
    again = watch(folder, "--asset", site.camera, "--once")
    assert (again.stdout, again.returncode) == ("", 0)
    dataset = site.get(f"/datasets/{first.stdout.split()[-1]}")
    assert dataset["was_ingested"]


def test_a_file_that_changes_waits(site: Site, folder: Path, watch: Run):
    path = scan(folder)
    path.touch()
    waiting = watch(folder, "--asset", site.camera, "--once", "--quiet", "3600")
    assert (waiting.stdout, waiting.stderr) == ("", "Files that wait: 1\n")
    assert site.copies(folder, 0) == []


def test_a_file_that_is_refused_is_a_dead_letter_until_it_is_tried_again(
    site: Site, folder: Path, watch: Run
):
    path = folder / "scan.nx"
    path.write_bytes(b"not HDF5")
    files.settle(path)
    refused = watch(folder, "--asset", site.camera, "--once")
    assert refused.stdout.startswith(f"refused    {path}: InvalidScanFileError: ")
    assert watch(folder, "--asset", site.camera, "--once").stdout == ""
    shown = watch("--dead").stdout
    assert str(path) in shown
    assert "not HDF5" in shown
    assert watch("--retry", folder / "other.nx").stdout == "Files to try again: 0\n"
    assert watch("--retry", path).stdout == "Files to try again: 1\n"
    assert watch("--dead").stdout == ""
    assert "InvalidScanFileError" in watch(folder, "--asset", site.camera, "--once").stdout
    scan(folder)
    assert "ingested" in watch(folder, "--asset", site.camera, "--once").stdout


def test_a_file_overwritten_with_other_bytes_is_a_dead_letter(site: Site, folder: Path, watch: Run):
    path = scan(folder)
    watch(folder, "--asset", site.camera, "--once")
    scan(folder)
    os.utime(path, (files.SETTLED + 9, files.SETTLED + 9))
    told = watch(folder, "--asset", site.camera, "--once").stdout
    assert "DistributionAlreadyExistsError" in told


def test_values_come_from_the_path_and_from_a_file_beside(
    site: Site, folder: Path, tmp_path: Path, opened: Open
):
    path = scan(folder, f"{site.camera_id}.nx")
    ledger = opened(tmp_path)
    expression = r"/(?P<asset>[0-9a-f-]{36})\.nx$"
    told = rules(site, folder, given={}, from_path=re.compile(expression), sidecar=".json")
    look = ScanWatch(site.http, ledger, told).look
    assert look() == 1, "it waits for the file beside"
    beside = Path(f"{path}.json")
    beside.write_text(json.dumps({"name": "From beside", "retain_until": "2040-01-31"}))
    ledger.put(ledger.all("waiting")[0]._replace(due=0))
    assert look() == 0
    (done,) = ledger.all("ingested")
    dataset = site.get(f"/datasets/{done.detail}")
    assert (dataset["name"], dataset["retain_until"]) == ("From beside", "2040-01-31")


def test_large_scans_are_summed_by_the_watch(
    site: Site, folder: Path, tmp_path: Path, opened: Open
):
    """The service computes sums of 30,000 bytes at most."""
    whole = scan(folder, "one.nx", title="x" * 40_000)
    seen_there = files.virtual(folder / "many.nx", count=6)
    here = tmp_path / "here"
    here.symlink_to(folder)
    ledger = opened(tmp_path)
    told = rules(site, here, seen_as=((str(here), str(folder)),))
    assert ScanWatch(site.http, ledger, told).look() == 0
    many, one = [site.get(f"/datasets/{each.detail}") for each in ledger.all("ingested")]
    assert one["checksum"] == {"algorithm": "sha256", "value": sum_of(str(whole))}
    assert many["checksum"]["algorithm"] == "sha256-tree"
    parts = site.get(f"/datasets/{many['dataset_id']}/parts")["items"]
    found = {part["path"]: part["sha256"] for part in parts}
    assert found[seen_there.name] == sum_of(str(seen_there))
    assert len(found) == 7


class Crash(BaseException):
    """The end of the process."""


class CrashingClient(HttpClient):
    """A client whose process ends before the call, or after the answer."""

    def __init__(self, site: Site, when: str) -> None:
        super().__init__(site.server.url, site.server.admin)
        self.when = when

    def request(self, method: str, path: str, **more: Any) -> Any:
        if self.when == "before":
            raise Crash
        answer = super().request(method, path, **more)
        if self.when == "after":
            raise Crash
        if self.when == "lost":
            raise ServiceError("The answer was lost.", is_transient=True)
        return answer


@pytest.mark.parametrize("when", ["before", "after", "lost"])
def test_a_crash_around_the_call_ingests_once(
    when: str, site: Site, folder: Path, tmp_path: Path, opened: Open
):
    path, ledger = scan(folder), opened(tmp_path)
    with closing(CrashingClient(site, when)) as client, pytest.raises((Crash, ServiceError)):
        ScanWatch(client, ledger, rules(site, folder)).look()
    ledger.close()
    again = opened(tmp_path)
    (sending,) = again.all("sending")
    again.put(sending._replace(due=0))
    # Other options do not change a call that may have been made.
    other = rules(site, folder, given={"asset": site.camera_id, "name": "Other"})
    assert ScanWatch(site.http, again, other).look() == 0
    assert [each.path for each in again.all("ingested")] == [str(path)]
    assert site.copies(folder, 1) == [path.as_uri()]


def test_a_scan_that_was_ingested_by_somebody_else_is_done(
    site: Site, folder: Path, tmp_path: Path, opened: Open
):
    path = scan(folder)
    known = site.post(
        "/scans/ingest", {"locator": path.as_uri(), "producing_asset_id": site.camera_id}
    )
    ledger = opened(tmp_path)
    assert ScanWatch(site.http, ledger, rules(site, folder)).look() == 0
    assert [each.detail for each in ledger.all("ingested")] == [known["dataset_id"]]


def test_a_watch_that_is_killed_after_every_file_ingests_each_once(
    site: Site, folder: Path, tmp_path: Path
):
    wanted = [scan(folder, f"scan{number}.nx").as_uri() for number in range(5)]
    state, kills, told = tmp_path / "state", 0, list[str]()
    command, environment = command_of(
        site, folder, "--state", state, "--asset", site.camera, "--quiet", "0", "--every", "0.1"
    )
    while len({*told}) < len(wanted):
        process = subprocess.Popen(
            command,
            env=os.environ | environment | {"PYTHONUNBUFFERED": "1"},
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdout
        line = process.stdout.readline()
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()
        kills += 1
        assert line.startswith("ingested"), line
        told.append(line)
    assert kills >= 3
    assert site.copies(folder, len(wanted)) == sorted(wanted)


def test_a_second_watch_on_the_same_state_is_refused(
    site: Site, folder: Path, tmp_path: Path, watch: Run
):
    command, environment = command_of(
        site,
        folder,
        "--state",
        tmp_path / "state",
        "--asset",
        site.camera,
        "--every",
        "0.1",
        "--quiet",
        "0",
    )
    scan(folder)
    process = subprocess.Popen(
        command,
        env=os.environ | environment | {"PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout
        assert process.stdout.readline().startswith("ingested")
        second = watch(folder, "--asset", site.camera, "--once")
        assert (second.returncode, "Another watch" in second.stderr) == (1, True)
    finally:
        process.kill()
        process.wait()
        if process.stdout:
            process.stdout.close()


def test_a_watch_without_permission_stops_and_forgets_nothing(site: Site, folder: Path, watch: Run):
    scan(folder)
    stranger = site.server.token("stranger")
    refused = watch(folder, "--asset", site.camera_id, "--once", BEAMKEEP_TOKEN=stranger)
    assert refused.returncode == 1
    assert "ingested" in watch(folder, "--asset", site.camera_id, "--once").stdout


def test_names_must_fit(site: Site, folder: Path, watch: Run):
    path = scan(folder)
    unknown = watch(folder, "--asset", "No such camera", "--once")
    assert unknown.stdout.startswith(f"refused    {path}: ")
    nothing = watch("--retry").stdout, watch(folder, "--once").stdout
    assert nothing[0] == "Files to try again: 1\n"
    assert "No asset is named" in nothing[1]
    assert watch("--once", "--asset", site.camera).returncode == 64
