"""A cleaner empties a disk by a plan: what may go goes, what is needed stays."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import AsyncGenerator, Generator
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
from beamkeep_client import terminal
from beamkeep_client.shared.checksums import identity_of, tree_digest
from beamkeep_client.tools.custody import (
    MARKER,
    UnusablePlanError,
    read_plan,
    require_valid,
    write_plan,
)

pytestmark = [pytest.mark.postgres, pytest.mark.anyio]

RULES = json.dumps({"Trial": {"verified_copies": 1}, "Production": {"verified_copies": 2}})
SIZE = 1000


class Disk:
    """A local disk and an archive; one file of the disk has a verified copy there, one has none."""

    def __init__(self, do: As, server: Server, folder: Path) -> None:
        self.do, self.server, self.folder = do, server, folder
        self.nvme1, self.archive = folder / "nvme1", folder / "archive"
        self.safe, self.needed = self.nvme1 / "safe scan.h5", self.nvme1 / "needed.h5"
        self.ids: dict[str, str] = {}

    async def fill(self) -> None:
        for storage in (self.nvme1, self.archive):
            storage.mkdir()
            called = f"{storage.name} of {self.folder.name}"
            of = {"kind": "storage", "name": called, "facility_code": "local"}
            self.ids[storage.name] = (await self.do("register_supply", of))["supply_id"]
            self.run("custody", "mark-storage", self.ids[storage.name], str(storage))
        for file in (self.safe, self.needed):
            file.write_bytes(os.urandom(SIZE))
            dataset = await self.dataset(file)
            self.ids[file.name] = await self.copy(dataset, file)
            archived = self.archive / file.name
            await self.copy(dataset, archived, "archive")
            if file is self.safe:
                archived.write_bytes(file.read_bytes())
        self.verify()

    async def dataset(self, first: Path, *others: Path, **more: Any) -> dict[str, Any]:
        """A dataset of a file, or of several as its parts below the directory of the first."""
        files = (first, *others)
        sums = {file: sha256(file.read_bytes()).hexdigest() for file in files}
        size = sum(file.stat().st_size for file in files)
        of: dict[str, Any] = {
            "checksum": {"algorithm": "sha256", "value": sums[first]},
            "byte_size": size,
        }
        if others:
            of["checksum"] = {
                "algorithm": "sha256-tree",
                "value": tree_digest((file.name, sum) for file, sum in sums.items()),
            }
            more["parts"] = [
                {"path": file.name, "byte_size": file.stat().st_size, "sha256": sum}
                for file, sum in sums.items()
            ]
        new = {"name": first.stem, "encoding": {"media_type": "application/x-hdf5"}, **of}
        return {**of, **await self.do("register_dataset", {**new, **more})}

    async def copy(self, of: dict[str, Any], at: Path | str, supply: str = "nvme1") -> str:
        """A copy at a path, or at an address."""
        uri = at if isinstance(at, str) else at.as_uri()
        place = {"supply_id": self.ids[supply], "uri": uri, "access_protocol": "POSIX"}
        return (await self.do("register_distribution", {**of, **place}))["distribution_id"]

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        return beamkeep(self.server, *words)

    def verify(self, *words: str) -> subprocess.CompletedProcess[str]:
        return self.run("verify-copies", "--under", str(self.folder), *words)

    def report(self) -> dict[str, tuple[str, str]]:
        """For each copy on the disk, the verdict and why."""
        told = self.run("custody", "report", "--under", str(self.folder), "-o", "json").stdout
        lines = [json.loads(line) for line in told.splitlines()]
        return {line["distribution_id"]: (line["verdict"], line["why"]) for line in lines}


@pytest.fixture(scope="module")
def local_server(cluster: Cluster) -> Generator[Server]:
    with running_server(cluster, self_facility_code="local", custody_rules=RULES) as server:
        yield server


@pytest.fixture
async def disk(local_server: Server, tmp_path: Path) -> AsyncGenerator[Disk]:
    async with httpx2.AsyncClient(base_url=local_server.url, timeout=30) as http:
        disk = Disk(As(Rest(http), local_server.admin), local_server, tmp_path)
        await disk.fill()
        yield disk


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
    assert "No other copy is verified. Not counted: archive" in report
    assert "Deletable: 1 copy, 1.0 kB" in report

    made = disk.run("custody", "plan", str(plan), *here)
    assert (made.returncode, made.stderr[:24]) == (0, "1 copy, 1.0 kB, may be d")

    discarded = disk.run("custody", "discard", str(plan), "--reason", "Full")
    assert (discarded.stderr, discarded.stdout) == ("", f"{disk.safe}\n")
    again = disk.run("custody", "discard", str(plan), "--reason", "Another reason")
    assert (again.returncode, again.stdout) == (0, discarded.stdout)
    assert "already discarded" in again.stderr
    assert "The reason of then stays." in again.stderr

    early = disk.run("custody", "removed", str(plan))
    assert early.stderr == "Recorded the removal of 0 copies; 1 still here.\n"
    disk.safe.unlink()
    late = disk.run("custody", "removed", str(plan))
    assert late.stderr == "Recorded the removal of 1 copy; 0 still here.\n"
    left = disk.run("custody", "report", *here, "-o", "csv")
    _, *rows = left.stdout.splitlines()
    assert [row.split(",")[0] for row in rows] == ["Needed"]


async def test_the_service_keeps_a_copy_that_a_plan_lets_go_when_things_have_changed(
    disk: Disk, tmp_path: Path
):
    plan = tmp_path / "plan.jsonl"
    disk.run("custody", "plan", str(plan), "--under", str(disk.nvme1))
    lost = {"supply_id": disk.ids["archive"], "reason": "The archive burns"}
    await disk.do("mark_supply_unavailable", lost)
    discarded = disk.run("custody", "discard", str(plan), "--reason", "Full")
    assert (discarded.returncode, discarded.stdout) == (3, "")
    assert "No copy that counts would be left" in discarded.stderr
    assert "1 of 1 copy stay." in discarded.stderr


# Ways to lose the last good bytes, each by the commands of the how-to pages.


async def discarded(disk: Disk) -> str:
    """The copy on the disk that may go, discarded and not deleted yet."""
    id = disk.ids[disk.safe.name]
    await disk.do("discard_distribution", {"distribution_id": id, "reason": "Full"})
    return id


async def test_a_discarded_copy_holds_its_place_until_it_is_removed(disk: Disk):
    id = await discarded(disk)
    copy = await disk.do("get_distribution", {"distribution_id": id})
    again = {name: copy[name] for name in ("dataset_id", "checksum", "byte_size", "uri")}
    answer = await disk.do.send("register_distribution", {**again, "access_protocol": "POSIX"})
    assert (answer.status, answer.body["code"]) == (409, "DistributionAlreadyExistsError")
    assert f"It is copy {id}, which is Discarded." in answer.body["detail"]
    assert "restore_distribution" in answer.body["detail"]
    assert "mark_distribution_overwritten" in answer.body["detail"]


async def test_no_plan_deletes_the_only_copy_of_a_product_that_overwrote_another(
    disk: Disk, tmp_path: Path
):
    old = disk.ids[disk.safe.name]
    disk.safe.write_bytes(os.urandom(SIZE))
    stale = {"distribution_id": old, "reason": "Overwritten"}
    await disk.do("mark_distribution_stale", stale)
    new = await disk.dataset(disk.safe)
    place = {"uri": disk.safe.as_uri(), "access_protocol": "POSIX"}
    taken = await disk.do.send("register_distribution", {**new, **place})
    assert taken.status == 409
    await disk.do("mark_distribution_overwritten", stale)
    kept = await disk.copy(new, disk.safe)
    disk.verify()
    report = disk.report()
    assert report[kept] == ("Needed", "It is the only copy.")
    assert old not in report
    disk.run("custody", "plan", str(tmp_path / "plan.jsonl"), "--under", str(disk.nvme1))
    told = disk.run("custody", "discard", str(tmp_path / "plan.jsonl"), "--reason", "Full")
    assert told.stdout == ""


async def test_a_copy_that_was_restored_is_not_deleted_by_the_plan_that_discarded_it(
    disk: Disk, tmp_path: Path
):
    plan, id = str(tmp_path / "plan.jsonl"), disk.ids[disk.safe.name]
    disk.run("custody", "plan", plan, "--under", str(disk.nvme1))
    assert disk.run("custody", "discard", plan, "--reason", "Full").stdout
    # The cleaner has the path now, so that the copy does not count by a check of these minutes.
    await disk.do("restore_distribution", {"distribution_id": id, "reason": "Wait"})
    disk.verify()
    assert (await disk.do("get_distribution", {"distribution_id": id}))["status"] == "Registered"
    archived = (disk.archive / disk.safe.name).as_uri()
    verdicts = {line["uri"]: line["verdict"] for line in await rows(disk)}
    assert verdicts[archived] == "Needed"


async def rows(disk: Disk) -> list[dict[str, Any]]:
    report = await disk.do("get_custody_report", {"uri_prefix": disk.folder.as_uri()})
    return report["items"]


SPELLED = ("FILE://{}", "file://localhost{}", "file:////{}", "file://{}/.")


async def test_one_file_is_one_copy_however_it_is_spelled_or_linked(disk: Disk):
    file = disk.nvme1 / "one.h5"
    file.write_bytes(os.urandom(SIZE))
    dataset = await disk.dataset(file)
    await disk.copy(dataset, file)
    for form in SPELLED:
        place = {"uri": form.format(file), "access_protocol": "POSIX"}
        answer = await disk.do.send("register_distribution", {**dataset, **place})
        assert answer.body["code"] == "DistributionAlreadyExistsError", form
    (disk.nvme1 / "hard.h5").hardlink_to(file)
    (disk.nvme1 / "soft.h5").symlink_to(file)
    for name in ("hard.h5", "soft.h5"):
        await disk.copy(dataset, disk.nvme1 / name, "archive")
    assert "3 match" in disk.verify().stderr
    only = {"dataset_id": dataset["dataset_id"]}
    await disk.do("promote_dataset", {**only, "reason": "Good"})
    refused = await disk.do.send("archive_dataset", only)
    assert refused.body["code"] == "DatasetCustodyNotMetError"
    assert "verified copies (1)" in refused.body["detail"]
    (listed,) = (await disk.do("list_custody", only))["items"]
    assert listed["discardable_distribution_ids"] == []


async def test_an_old_check_counts_for_nothing_and_a_plan_has_it_made_again(
    disk: Disk, tmp_path: Path
):
    file, archived = disk.nvme1 / "old.h5", disk.archive / "old.h5"
    for path in (file, archived):
        path.write_bytes(b"frames" * 100)
    dataset = await disk.dataset(file)
    line = {"distribution_id": await disk.copy(dataset, file)}
    id = await disk.copy(dataset, archived, "archive")
    disk.verify("--supply", disk.ids["nvme1"])

    async def checked(ago: timedelta) -> str:
        found = {**dataset["checksum"], "byte_size": 600}
        found["file"] = identity_of(archived.stat())._asdict()
        how = {"kind": "ChecksumVerified", "checker": "sha256sum", "found": found}
        at = (datetime.now(UTC) - ago).isoformat()
        await disk.do("record_attestation", {"distribution_id": id, "checked_at": at, **how})
        return disk.report()[line["distribution_id"]][0]

    assert await checked(timedelta(days=366)) == "Needed"
    assert await checked(timedelta(days=2)) == "CheckFirst"
    refused = await disk.do.send("discard_distribution", {**line, "reason": "Full"})
    assert refused.body["code"] == "DistributionChecksOutdatedError"

    plan = ("custody", "plan", str(tmp_path / "plan.jsonl"), "--under", str(file))
    archived.write_bytes(os.urandom(600))
    made = disk.run(*plan)
    assert "Check it where it is" in made.stderr
    assert "0 copies" in made.stderr
    made = disk.run(*plan, "--check-under", str(disk.archive))
    assert "1 mismatch" in made.stderr
    assert "0 copies" in made.stderr
    archived.write_bytes(b"frames" * 100)
    disk.verify("--not-since", "0s")
    made = disk.run(*plan)
    assert made.stderr.startswith("1 copy")


async def test_a_transfer_is_not_believed_because_somebody_says_so(disk: Disk):
    (line, *_) = await rows(disk)
    copy = await disk.do("get_distribution", {"distribution_id": line["distribution_id"]})
    told = {
        "distribution_id": line["distribution_id"],
        "kind": "TransferVerified",
        "checked_at": copy["created_at"],
        "checker": "FTS",
        "found": {**copy["checksum"], "byte_size": SIZE},
        "service": "FTS",
        "task_id": "invented",
    }
    refused = await disk.do.send("record_attestation", told)
    assert (refused.status, refused.body["code"]) == (409, "AttestationTransferNotTrustedError")


async def test_the_files_of_a_copy_are_printed_and_never_a_directory_that_others_share(
    disk: Disk, tmp_path: Path
):
    plan, shared = str(tmp_path / "plan.jsonl"), disk.nvme1 / "night"
    shared.mkdir()
    files = [shared / name for name in ("a.h5", "b.h5", "other.h5")]
    for file in files:
        file.write_bytes(os.urandom(SIZE))
    several, single = await disk.dataset(*files[:2]), await disk.dataset(files[2])
    (disk.archive / "night").mkdir()
    for file in files[:2]:
        (disk.archive / "night" / file.name).write_bytes(file.read_bytes())
    on_disk = await disk.copy(several, f"{shared.as_uri()}/")
    await disk.copy(several, f"{(disk.archive / 'night').as_uri()}/", "archive")
    await disk.copy(single, files[2])
    disk.verify()
    disk.run("custody", "plan", plan, "--under", str(shared))
    told = disk.run("custody", "discard", plan, "--reason", "Full")
    assert sorted(told.stdout.splitlines()) == [str(file) for file in files[:2]]

    # A third product has one of the files, too: nothing of it is deleted.
    await disk.do("restore_distribution", {"distribution_id": on_disk, "reason": "Wait"})
    with_one = await disk.dataset(files[0], files[2])
    await disk.copy(with_one, f"{shared.as_uri()}/")
    refused = await disk.do.send(
        "discard_distribution", {"distribution_id": on_disk, "reason": "Full"}
    )
    assert refused.body["code"] == "DistributionSharedError"


async def test_a_copy_around_or_inside_of_another_that_is_kept_is_not_deleted(disk: Disk):
    whole = disk.nvme1 / "tree"
    whole.mkdir()
    inner = whole / "inner.h5"
    inner.write_bytes(os.urandom(SIZE))
    value = tree_digest([("inner.h5", sha256(inner.read_bytes()).hexdigest())])
    of = {"checksum": {"algorithm": "sha256-tree", "value": value}, "byte_size": SIZE}
    encoding = {"encoding": {"media_type": "application/x-hdf5"}, "file_count": 1}
    tree = {**of, **await disk.do("register_dataset", {"name": "Tree", **encoding, **of})}
    (disk.archive / "tree").mkdir()
    (disk.archive / "tree" / "inner.h5").write_bytes(inner.read_bytes())
    around = await disk.copy(tree, f"{whole.as_uri()}/")
    await disk.copy(tree, f"{(disk.archive / 'tree').as_uri()}/", "archive")
    single = await disk.dataset(inner)
    inside = await disk.copy(single, inner)
    (disk.archive / "inner.h5").write_bytes(inner.read_bytes())
    await disk.copy(single, disk.archive / "inner.h5", "archive")
    disk.verify()
    report = disk.report()
    for id, other in ((around, inside), (inside, around)):
        assert report[id] == ("Needed", f"Copy {other}, which is kept, has bytes of it.")


async def test_a_copy_on_another_host_or_behind_a_link_is_kept(disk: Disk, tmp_path: Path):
    plan, link = str(tmp_path / "plan.jsonl"), tmp_path / "link"
    link.symlink_to(disk.nvme1)
    file = disk.nvme1 / "linked.h5"
    file.write_bytes(os.urandom(SIZE))
    (disk.archive / "linked.h5").write_bytes(file.read_bytes())
    linked = await disk.dataset(file)
    await disk.copy(linked, link / "linked.h5")
    await disk.copy(linked, disk.archive / "linked.h5", "archive")
    elsewhere = disk.nvme1 / "elsewhere.h5"
    elsewhere.write_bytes(os.urandom(SIZE))
    (disk.archive / "elsewhere.h5").write_bytes(elsewhere.read_bytes())
    remote = await disk.dataset(elsewhere)
    id = await disk.copy(remote, f"file://other-host{elsewhere}")
    await disk.copy(remote, disk.archive / "elsewhere.h5", "archive")
    disk.verify()
    copy = await disk.do("get_distribution", {"distribution_id": id})
    there = {"host": "other-host", "device": "8:1", "inode": "1"}
    told = {
        "distribution_id": id,
        "kind": "ChecksumVerified",
        "checked_at": copy["created_at"],
        "checker": "sha256sum",
        "found": {**copy["checksum"], "byte_size": SIZE, "file": there},
    }
    await disk.do("record_attestation", told)
    disk.run("custody", "plan", plan, "--supply", disk.ids["nvme1"])
    discarded = disk.run("custody", "discard", plan, "--reason", "Full")
    assert discarded.stdout.splitlines() == [str(disk.safe)]
    assert "It is on host other-host. Run the plan there." in discarded.stderr
    assert f"A link leads to {file}" in discarded.stderr


async def test_nothing_is_removed_while_the_storage_may_not_be_mounted(disk: Disk, tmp_path: Path):
    plan = str(tmp_path / "plan.jsonl")
    disk.run("custody", "plan", plan, "--supply", disk.ids["nvme1"])
    disk.run("custody", "discard", plan, "--reason", "Full")
    mounted = disk.nvme1.rename(tmp_path / "elsewhere")
    disk.nvme1.mkdir()
    away = disk.run("custody", "removed", plan)
    assert away.returncode == 3
    assert "the storage may not be mounted" in away.stderr
    (disk.nvme1 / MARKER).write_text(disk.ids["archive"])
    assert disk.run("custody", "removed", plan).returncode == 3
    shutil.rmtree(disk.nvme1)
    mounted.rename(disk.nvme1)
    disk.safe.unlink()
    assert "Recorded the removal of 1 copy" in disk.run("custody", "removed", plan).stderr


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    until = datetime(2030, 1, 31, 8, 30, tzinfo=UTC)
    ids = {"distribution_id": "a", "dataset_id": "b", "supply_id": None}
    line = {**ids, "uri": "file:///a", "byte_size": 1, "verdict": "Deletable"}
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
    assert {size: terminal.human(size) for size in told} == told
