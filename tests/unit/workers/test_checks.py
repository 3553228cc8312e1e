"""Checks of copies: what is read is recorded once, and a restarted worker goes on."""

import asyncio
import hashlib
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import h5py
import numpy as np
import pytest

from beamkeep.adapters.files.data_roots import DataRoots
from beamkeep.adapters.memory.store import MemoryStore
from beamkeep.adapters.memory.work import MemoryWorkQueue
from beamkeep.contexts.data.attestation import CheckFailure
from beamkeep.contexts.data.check import (
    CHECKING,
    CHECKS,
    READ_FILES,
    CopyToRead,
    DistributionCheckPendingError,
)
from beamkeep.contexts.seams.work import WORK_STATES
from beamkeep.deployment.service import compose
from beamkeep.kernel import replace
from beamkeep.parts.custody.checks import Checker, CopyReader, LayoutReader, ReadProgress
from beamkeep.parts.custody.copies import ChildCopyReader
from beamkeep.parts.scans.reading import ScanReader
from beamkeep.parts.scans.validating import LayoutStep
from beamkeep.runtime import Service
from beamkeep.runtime.store import WorkLostError
from beamkeep.telemetry import Telemetry
from beamkeep.testing.installation import INSTALLATION
from beamkeep.testing.service import AdminClient, memory_service
from beamkeep.testing.waiting import until
from beamkeep.workers.leases import Holding, LeaseHolder, LeaseTimes
from beamkeep_client.shared.checksums import tree_digest

pytestmark = pytest.mark.anyio
CONTENT = b"frames" * 1000
FAST = 1e9


class CheckBench:
    """A service in memory, files in a folder, and workers that are started and stopped."""

    def __init__(self, service: Service, store: MemoryStore, root: Path) -> None:
        self.service, self.store, self.root = service, store, root
        self.do = AdminClient(service, store)

    async def copy(
        self, name: str, checksum: dict[str, str], size: int, **dataset: Any
    ) -> tuple[UUID, UUID]:
        """Register a dataset and a copy of it; return the ids of both."""
        known = {"checksum": checksum, "byte_size": size}
        encoding = {"media_type": "application/x-hdf5"}
        made = await self.do(
            "register_dataset", {"name": name, "encoding": encoding, **known, **dataset}
        )
        place = {"uri": f"file://{self.root}/{name}", "access_protocol": "POSIX"}
        copy = await self.do(
            "register_distribution", {"dataset_id": made["dataset_id"], **known, **place}
        )
        return UUID(copy["distribution_id"]), UUID(made["dataset_id"])

    async def file(self, name: str, content: bytes = CONTENT) -> UUID:
        (self.root / name).write_bytes(content)
        sum = {"algorithm": "sha256", "value": hashlib.sha256(content).hexdigest()}
        return (await self.copy(name, sum, len(content)))[0]

    async def tree(self, name: str, count: int, content: bytes = CONTENT) -> UUID:
        (self.root / name).mkdir()
        for number in range(count):
            (self.root / name / f"{number:04}.tif").write_bytes(content)
        value = hashlib.sha256(content).hexdigest()
        whole = tree_digest((f"{number:04}.tif", value) for number in range(count))
        sum = {"algorithm": "sha256-tree", "value": whole}
        return (await self.copy(f"{name}/", sum, count * len(content)))[0]

    async def request(self, id: UUID, kind: str = "ChecksumVerified") -> UUID:
        answer = await self.do(
            "request_distribution_check", {"distribution_id": str(id), "kind": kind}
        )
        return UUID(answer["check_id"])

    async def get(self, id: UUID) -> Any:
        return await self.do("get_distribution", {"distribution_id": str(id)})

    async def progress(self, id: UUID) -> list[Any]:
        shown = await self.do("list_distribution_checks", {"distribution_id": str(id)})
        return shown["items"]

    async def attestations(self, id: UUID) -> list[Any]:
        page = await self.do("list_attestations", {"distribution_id": str(id)})
        return page["items"]

    async def attested(self, id: UUID, count: int = 1) -> Any:
        """Return the latest attestation of a copy, once there are so many and the work ended."""

        async def found() -> Any:
            rows = await self.attestations(id)
            return rows[0] if len(rows) >= count and not await self.progress(id) else None

        return await until(found, f"{count} attestations")

    def checker(
        self, reader: CopyReader | None = None, layouts: LayoutReader | None = None
    ) -> Checker:
        return Checker(
            self.service,
            self.store,
            reader or ChildCopyReader([self.root], (), FAST),
            layouts,
            clock=lambda: datetime.now(UTC),
            write_every=0.05,
        )

    @asynccontextmanager
    async def worker(
        self,
        reader: CopyReader | None = None,
        layouts: LayoutReader | None = None,
        *,
        cut_off: bool = False,
    ) -> AsyncGenerator[None]:
        """Run a worker; `cut_off` stops it in the middle of what it does, as a kill would."""
        holder = LeaseHolder(
            queue=MemoryWorkQueue(self.store),
            owner=uuid4(),
            walk=self.checker(reader, layouts).walk,
            times=LeaseTimes(slots=2),
            telemetry=Telemetry(),
            kind=CHECKING,
        )

        async def work() -> None:
            while True:
                await holder.turn()
                await asyncio.sleep(0.005)

        working = asyncio.create_task(work())
        try:
            yield
        finally:
            working.cancel()
            await asyncio.wait([working])
            if cut_off:
                names = {str(id) for (id,) in self.store.tables["work"]}
                for task in asyncio.all_tasks():
                    if task.get_name() in names:
                        task.cancel()
            await holder.close()
            # As if the time of the leases had passed.
            for key, row in self.store.tables["work"].items():
                self.store.tables["work"][key] = replace(row, due_at=self.store.clock())


@pytest.fixture
async def bench(tmp_path: Path) -> CheckBench:
    return CheckBench(*await memory_service(), tmp_path)


async def test_a_copy_that_is_right_is_verified_by_the_service(bench: CheckBench):
    id = await bench.file("scan.h5")
    check_id = await bench.request(id)
    (waiting,) = await bench.progress(id)
    assert (waiting["check_id"], waiting["started_at"]) == (str(check_id), None)
    async with bench.worker():
        found = await bench.attested(id)
    assert (found["outcome"], found["verified_by"]) == ("Match", "Service")
    assert found["evidence"]["byte_size_read"] == len(CONTENT)
    assert found["evidence"]["checker"].startswith("beamkeep ")
    copy = await bench.get(id)
    assert (copy["status"], copy["verified_by"]) == ("Verified", "Service")
    (work,) = await bench.store.rows(WORK_STATES, {"work_id": check_id})
    assert work.ended_at


async def test_a_directory_and_parts_of_one_are_verified(bench: CheckBench):
    tree = await bench.tree("frames", 5)
    value = hashlib.sha256(CONTENT).hexdigest()
    part = {"path": "0003.tif", "byte_size": len(CONTENT), "sha256": value}
    sum = {"algorithm": "sha256-tree", "value": tree_digest([("0003.tif", value)])}
    (bench.root / "shared").symlink_to("frames")
    of_parts, _ = await bench.copy("shared/", sum, len(CONTENT), parts=[part])
    await bench.request(tree)
    await bench.request(of_parts)
    async with bench.worker():
        counts = [(await bench.attested(id))["evidence"]["file_count"] for id in (tree, of_parts)]
    assert counts == [5, 1]
    assert (await bench.get(tree))["status"] == "Verified"
    assert (await bench.get(of_parts))["status"] == "Verified"


async def test_a_copy_with_other_bytes_is_stale_and_one_without_bytes_is_unreachable(
    bench: CheckBench,
):
    wrong, missing = await bench.file("wrong.h5"), await bench.file("missing.h5")
    (bench.root / "wrong.h5").write_bytes(CONTENT[:-1] + b"!")
    (bench.root / "missing.h5").unlink()
    for id in (wrong, missing):
        await bench.request(id)
    async with bench.worker():
        assert (await bench.attested(wrong))["outcome"] == "Mismatch"
        found = await bench.attested(missing)
    assert (found["outcome"], found["evidence"]["failure"]) == ("Unreachable", "NotFound")
    assert (await bench.get(wrong))["status"] == "Stale"
    assert (await bench.get(missing))["unreachable_since"]


async def test_a_second_check_is_refused_until_the_first_has_ended(bench: CheckBench):
    id = await bench.file("scan.h5")
    first = await bench.request(id)
    with pytest.raises(DistributionCheckPendingError) as refused:
        await bench.request(id)
    assert str(first) in str(refused.value)
    async with bench.worker():
        await bench.attested(id)
    assert await bench.request(id) != first


async def test_requests_at_once_make_one_check(bench: CheckBench):
    id = await bench.file("scan.h5")
    answers = await asyncio.gather(*(bench.request(id) for _ in range(8)), return_exceptions=True)
    assert sum(isinstance(each, UUID) for each in answers) == 1
    assert all(isinstance(each, UUID | DistributionCheckPendingError) for each in answers)


async def test_progress_is_shown_while_a_copy_is_read(bench: CheckBench):
    size = 10**11
    (bench.root / "big.h5").touch()
    os.truncate(bench.root / "big.h5", size)
    id, _ = await bench.copy("big.h5", {"algorithm": "sha256", "value": "0" * 64}, size)
    await bench.request(id)

    async def under_way(beyond: int) -> Any:
        (row,) = await bench.progress(id)
        return row if row["bytes_read"] > beyond else None

    async with bench.worker():
        first = await until(lambda: under_way(0))
        later = await until(lambda: under_way(first["bytes_read"]))
    assert first["started_at"] == later["started_at"]
    assert later["byte_size"] == size
    assert later["bytes_per_second"] > 0
    assert later["percent"] == 100 * later["bytes_read"] // size
    # The worker was stopped: another one may go on at once.
    (work,) = bench.store.tables["work"].values()
    assert (work.last_error, work.ended_at) == ("The worker was stopped.", None)


class HangingAfter:
    """A reader that reads so many files of a directory, and then hangs."""

    def __init__(self, reader: CopyReader, count: int) -> None:
        self._reader, self._count = reader, count

    async def read(self, copy: CopyToRead, known: Any, progress: Any) -> Any:
        whole = ReadProgress()
        found = await self._reader.read(copy, known, whole)
        progress.files += whole.files[: self._count]
        await asyncio.Event().wait()
        return found


async def test_a_killed_check_of_a_directory_goes_on_after_the_files_it_had_read(
    bench: CheckBench,
):
    id = await bench.tree("frames", 20)
    check_id = await bench.request(id)
    reader = ChildCopyReader([bench.root], (), FAST)

    async def kept(count: int) -> Any:
        rows = await bench.store.rows(READ_FILES, {"check_id": check_id})
        return rows if len(rows) == count else None

    async with bench.worker(HangingAfter(reader, 12), cut_off=True):
        await until(lambda: kept(12))
    (before,) = await bench.store.rows(CHECKS, {"distribution_id": id})
    given = list[list[str]]()

    class Noting:
        async def read(self, copy: CopyToRead, known: Any, progress: Any) -> Any:
            given.append(sorted(file.path for file in known))
            return await reader.read(copy, known, progress)

    async with bench.worker(Noting()):
        found = await bench.attested(id)
    assert given == [[f"{number:04}.tif" for number in range(12)]]
    assert found["outcome"] == "Match"
    # The whole check began when its first file was read.
    assert before.started_at
    assert datetime.fromisoformat(found["checked_at"]) == before.started_at
    assert await kept(0) is not None


async def test_a_killed_check_of_one_file_begins_again(bench: CheckBench):
    id = await bench.file("scan.h5")
    await bench.request(id)

    class Hanging:
        async def read(self, copy: CopyToRead, known: Any, progress: Any) -> Any:
            progress.bytes_read = 1000
            await asyncio.Event().wait()

    async def begun() -> Any:
        (row,) = await bench.progress(id)
        return row["started_at"]

    async with bench.worker(Hanging(), cut_off=True):
        first = await until(begun)
    async with bench.worker():
        found = await bench.attested(id)
    assert datetime.fromisoformat(found["checked_at"]) > datetime.fromisoformat(first)


async def test_a_worker_that_lost_the_work_records_nothing(bench: CheckBench):
    """It believes that it holds the claim, reads the copy, and its record is not written."""
    id = await bench.file("scan.h5")
    await bench.request(id)
    queue = MemoryWorkQueue(bench.store)
    (lost,) = await queue.claim(CHECKING, uuid4(), timedelta(), 1)
    (taken,) = await queue.claim(CHECKING, uuid4(), timedelta(minutes=1), 1)
    assert taken.claim == lost.claim + 1
    with pytest.raises(WorkLostError):
        await bench.checker().walk(Holding(lost, 0.0, lambda _: True))
    assert await bench.attestations(id) == []
    await bench.checker().walk(Holding(taken, 0.0, lambda _: True))
    assert len(await bench.attestations(id)) == 1


async def test_a_copy_that_is_discarded_meanwhile_ends_the_check_without_a_record(
    bench: CheckBench,
):
    first = await bench.file("scan.h5")
    copy = await bench.get(first)
    body = {name: copy[name] for name in ("dataset_id", "checksum", "byte_size")}
    other = {**body, "uri": f"file://{bench.root}/other.h5", "access_protocol": "POSIX"}
    (bench.root / "other.h5").write_bytes(CONTENT)
    second = UUID((await bench.do("register_distribution", other))["distribution_id"])
    for id in (first, second):
        await bench.request(id)
        async with bench.worker():
            await bench.attested(id)
    before = await bench.attestations(first)
    await bench.request(first)
    discard = {"distribution_id": str(first), "reason": "The other is verified"}

    class Discarding:
        async def read(self, copy: CopyToRead, known: Any, progress: Any) -> Any:
            await bench.do("discard_distribution", discard)
            return CheckFailure.NOT_FOUND

    async with bench.worker(Discarding()):
        await until(lambda: bench.store.tables["distribution_check"] == {})
    assert await bench.attestations(first) == before
    assert {row.last_error for row in bench.store.tables["work"].values()} == {None}


async def test_a_check_that_workers_gave_up_can_be_requested_again(bench: CheckBench):
    id = await bench.file("scan.h5")
    first = await bench.request(id)

    class Failing:
        async def read(self, copy: CopyToRead, known: Any, progress: Any) -> Any:
            raise ChildProcessError

    async def is_left() -> bool:
        for key, row in bench.store.tables["work"].items():
            if row.owner is None and row.idle_claims:
                bench.store.tables["work"][key] = replace(row, due_at=bench.store.clock())
        (state,) = await bench.store.rows(WORK_STATES, {"work_id": first})
        return state.is_left

    async with bench.worker(Failing()):
        await until(is_left)
    assert await bench.request(id) != first
    async with bench.worker():
        assert (await bench.attested(id))["outcome"] == "Match"


@pytest.mark.parametrize(
    ("name", "definition", "outcome"),
    [("tomo.h5", "NXtomo", "Match"), ("other.h5", "NXmx", "Mismatch"), (None, "", "Unreachable")],
)
async def test_the_layout_of_a_copy_is_compared_with_its_profiles(
    bench: CheckBench, name: str | None, definition: str, outcome: str
):
    profile = "https://manual.nexusformat.org/classes/applications/NXtomo.html"
    encoding = {"media_type": "application/x-hdf5", "conforms_to": [profile]}
    sum = {"algorithm": "sha256", "value": "0" * 64}
    id, _ = await bench.copy(name or "absent.h5", sum, 5, encoding=encoding)
    if name:
        layout_file(bench.root / name, definition)
    here = replace(INSTALLATION, reads_layouts=True)
    bench.service = compose(bench.store, bench.store, b"k" * 32, installation=here)
    bench.do = AdminClient(bench.service, bench.store)
    await bench.request(id, "FormatValidated")
    reader = LayoutStep(ScanReader(DataRoots([bench.root]), 0, most_hashed=0))
    async with bench.worker(None, reader):
        found = await bench.attested(id)
    assert (found["kind"], found["outcome"]) == ("FormatValidated", outcome)
    assert (await bench.get(id))["status"] == "Registered"


def layout_file(path: Path, definition: str) -> None:
    """Write the least that has this layout."""
    with h5py.File(path, "w") as file:
        entry = file.create_group("entry")
        entry.attrs["NX_class"] = "NXentry"
        entry["definition"], entry["start_time"] = definition, "2026-03-01T08:00:00Z"
        entry["instrument/detector/data"] = np.ones((2, 3, 3), "u2")
        entry["data/data"] = np.ones((2, 3, 3), "u2")
        entry["instrument/detector/image_key"] = [0, 0]
        entry["sample/rotation_angle"] = [0.0, 90.0]
