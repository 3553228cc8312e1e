"""A cleaner empties a disk by a plan: what may go goes, what is needed stays."""

import json
import os
import subprocess
import sys
from collections.abc import Generator
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any

import httpx2
import pytest
from tests.support.pseudo_terminal import COLUMNS, screen
from tests.system.calling import As

from beamkeep.testing.calling import Rest
from beamkeep.testing.cluster import Cluster
from beamkeep.testing.server import Server, running_server
from beamkeep_client import custody
from beamkeep_client.custody import UnusablePlanError, read_plan, require_valid, write_plan

pytestmark = [pytest.mark.postgres, pytest.mark.anyio]

CHECKED = "2026-01-31T07:30:00Z"
RULES = json.dumps({"Trial": {"verified_copies": 1}})


class Disk:
    """A local disk with a file that has a verified copy in the archive, and one that has none."""

    def __init__(self, do: As, folder: Path) -> None:
        self.do, self.folder = do, folder
        self.safe, self.needed = folder / "safe scan.h5", folder / "needed.h5"
        self.ids: dict[str, str] = {}

    async def fill(self) -> None:
        for name in ("nvme1", "archive"):
            called = f"{name} of {self.folder.parent.name}"
            storage = {"kind": "storage", "name": called, "facility_code": "local"}
            self.ids[name] = (await self.do("register_supply", storage))["supply_id"]
        for file in (self.safe, self.needed):
            file.write_bytes(os.urandom(1000))
            dataset = await self._dataset(file)
            self.ids[file.name] = await self._copy(dataset, file.as_uri(), "nvme1", verified=True)
            await self._copy(
                dataset,
                f"file:///archive{file.as_posix()}".replace(" ", "%20"),
                "archive",
                verified=file is self.safe,
            )

    async def _dataset(self, file: Path) -> dict[str, Any]:
        of = {
            "checksum": {"algorithm": "sha256", "value": sha256(file.read_bytes()).hexdigest()},
            "byte_size": 1000,
        }
        new = {"name": file.stem, "encoding": {"media_type": "application/x-hdf5"}, **of}
        return {**of, **await self.do("register_dataset", new)}

    async def _copy(self, of: dict[str, Any], uri: str, supply: str, verified: bool) -> str:
        place = {"supply_id": self.ids[supply], "uri": uri, "access_protocol": "POSIX"}
        made = await self.do("register_distribution", {**of, **place})
        found = {**of["checksum"], "byte_size": of["byte_size"]}
        how = {"kind": "ChecksumVerified", "checked_at": CHECKED, "checker": "sha256sum"}
        if verified:
            await self.do("record_attestation", {**made, **how, "found": found})
        return made["distribution_id"]


@pytest.fixture(scope="module")
def local_server(cluster: Cluster) -> Generator[Server]:
    with running_server(cluster, self_facility_code="local", custody_rules=RULES) as server:
        yield server


@pytest.fixture
async def disk(local_server: Server, tmp_path: Path) -> Disk:
    async with httpx2.AsyncClient(base_url=local_server.url, timeout=30) as http:
        (tmp_path / "nvme1").mkdir()
        disk = Disk(As(Rest(http), local_server.admin), tmp_path / "nvme1")
        await disk.fill()
        return disk


def beamkeep(server: Server, *words: str) -> subprocess.CompletedProcess[str]:
    way_in = {"BEAMKEEP_URL": server.url, "BEAMKEEP_TOKEN": server.admin}
    program = [sys.executable, "-c", "from beamkeep_client.cli import main; main()", *words]
    environment = {**os.environ, **way_in}
    return subprocess.run(program, env=environment, capture_output=True, text=True, check=False)


async def test_a_disk_is_emptied_by_a_plan(local_server: Server, disk: Disk, tmp_path: Path):
    plan = tmp_path / "plan.jsonl"
    here = "--supply", disk.ids["nvme1"]

    report = screen(
        "custody", "report", *here, BEAMKEEP_URL=local_server.url, BEAMKEEP_TOKEN=local_server.admin
    ).text
    assert all(len(line) <= COLUMNS for line in report.splitlines())
    assert "Deletable" in report
    assert "No other copy is verified. Not counted: archive" in report
    assert "Deletable: 1 copy, 1.0 kB" in report

    made = beamkeep(local_server, "custody", "plan", str(plan), *here)
    assert (made.returncode, made.stderr[:24]) == (0, "1 copy, 1.0 kB, may be d")

    discarded = beamkeep(local_server, "custody", "discard", str(plan), "--reason", "Full")
    assert (discarded.stderr, discarded.stdout) == ("", f"{disk.safe}\n")
    again = beamkeep(local_server, "custody", "discard", str(plan), "--reason", "Full")
    assert (again.returncode, again.stdout) == (0, discarded.stdout)

    early = beamkeep(local_server, "custody", "removed", str(plan))
    assert early.stderr == "Recorded the removal of 0 copies; 1 still here.\n"
    disk.safe.unlink()
    late = beamkeep(local_server, "custody", "removed", str(plan))
    assert late.stderr == "Recorded the removal of 1 copy; 0 still here.\n"

    left = beamkeep(local_server, "custody", "report", "--under", str(disk.folder), "-o", "csv")
    _, *rows = left.stdout.splitlines()
    assert [row.split(",")[0] for row in rows] == ["Needed"]


async def test_the_service_keeps_a_copy_that_a_plan_lets_go_when_things_have_changed(
    local_server: Server, disk: Disk, tmp_path: Path
):
    plan = tmp_path / "plan.jsonl"
    beamkeep(local_server, "custody", "plan", str(plan), "--under", str(disk.folder))
    async with httpx2.AsyncClient(base_url=local_server.url, timeout=30) as http:
        do = As(Rest(http), local_server.admin)
        lost = {"supply_id": disk.ids["archive"], "reason": "The archive burns"}
        await do("mark_supply_unavailable", lost)
    discarded = beamkeep(local_server, "custody", "discard", str(plan), "--reason", "Full")
    assert (discarded.returncode, discarded.stdout) == (3, "")
    assert "No copy that counts would be left" in discarded.stderr
    assert "The service keeps 1 of 1 copy." in discarded.stderr


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    until = datetime(2030, 1, 31, 8, 30, tzinfo=UTC)
    line = {"distribution_id": "a", "uri": "file:///a", "byte_size": 1, "verdict": "Deletable"}
    pages = [{"valid_until": until.isoformat(), "items": [line, {**line, "verdict": "Needed"}]}]
    file = tmp_path / "plan"
    assert write_plan(file, "http://here", {}, iter(pages)) == (1, 1, until.isoformat())
    return file


IN_TIME = datetime(2030, 1, 31, 8, 29, tzinfo=UTC)


async def test_a_plan_is_obeyed_until_its_hour_is_over(plan: Path):
    found = read_plan(plan, "http://here")
    assert [copy.uri for copy in found.copies] == ["file:///a"]
    require_valid(found, IN_TIME)
    with pytest.raises(UnusablePlanError, match="was valid until"):
        require_valid(found, IN_TIME + timedelta(minutes=2))


async def test_a_plan_that_was_changed_or_cut_or_is_of_another_service_is_refused(plan: Path):
    whole = plan.read_bytes()
    with pytest.raises(UnusablePlanError, match="is a plan of http://here"):
        read_plan(plan, "http://there")
    for spoiled in (
        whole.replace(b"file:///a", b"file:///b"),
        b"".join(whole.splitlines(keepends=True)[:-1]),
        whole[:-30],
        b"",
    ):
        plan.write_bytes(spoiled)
        with pytest.raises(UnusablePlanError):
            read_plan(plan, "http://here")


async def test_sizes_are_told_for_people():
    told = {0: "0 B", 999: "999 B", 1000: "1.0 kB", 1_230_000: "1.2 MB", 4 * 10**15: "4.0 PB"}
    assert {size: custody.human(size) for size in told} == told
