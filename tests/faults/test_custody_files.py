"""Real files are linked, overwritten, checked and deleted at random; no needed bytes are lost."""

import asyncio
import os
import subprocess
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from random import Random
from threading import Thread
from typing import Any, NamedTuple

import httpx2
import pytest

from beamkeep.contexts.data import attestation, custody, custody_reads, judging
from beamkeep.contexts.data.distribution import COPIES, Copy, Distribution, DistributionStatus
from beamkeep.contexts.seams.custody_rules import CustodyRule, CustodyRules
from beamkeep.kernel import replace
from beamkeep.testing.installation import FACILITY_CODE, FACTS
from beamkeep.testing.seeds import dice, seed
from beamkeep.testing.service import memory_service
from beamkeep.testing.web import http_client, rest_application
from beamkeep_client.http import ServiceError
from beamkeep_client.shared.checksums import check_file
from beamkeep_client.synchronous.http import HttpClient
from beamkeep_client.tools.custody import (
    RetainedError,
    UnusablePlanError,
    let_go,
    pages_of,
    read_plan,
    require_valid,
    service_time,
    write_plan,
)
from tests.faults.conftest import Report
from tests.faults.report import rounds

pytestmark = pytest.mark.faults

STEPS, SIZE = 30, 64
RULES = CustodyRules(
    trial=CustodyRule(verified_copies=1, file_systems_differ=False),
    production=CustodyRule(verified_copies=2, file_systems_differ=False),
)
JUMPS = {
    timedelta(minutes=10): 4,
    timedelta(minutes=61): 2,
    timedelta(hours=25): 1,
    timedelta(days=400): 1,
}
LONG = timedelta(hours=24)
"""A storage may lose bits in so much time."""
STORAGES = ("nvme1", "archive")
KINDS = {
    "register": 6,
    "check": 8,
    "plan": 1,
    "discard": 5,
    "delete": 5,
    "removed": 2,
    "restore": 2,
    "overwrite": 2,
    "link": 2,
    "claim": 1,
    "wait": 2,
}


class Printed(NamedTuple):
    """What a cleaner was told to delete, and when."""

    paths: tuple[str, ...]
    at: datetime


class Lost(AssertionError):
    """Bytes were deleted that a dataset needs."""


class World:
    """Two storages on a real disk, a service with a clock of its own, and a cleaner."""

    def __init__(self, home: Path, mirrored: bool) -> None:
        self.home, self.now = home, datetime(2030, 1, 31, tzinfo=UTC)
        self.mirrored = mirrored
        self.loop = asyncio.new_event_loop()
        self.thread = Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()
        here = replace(FACTS, custody_rules=RULES)
        self.service, self.store = self.run(memory_service(here, lambda: self.now))
        self.http = http_client(rest_application(self.service))
        transport = httpx2.MockTransport(self._forward)
        self.client = HttpClient("https://beamkeep.test", "ada", transport=transport)
        self.supplies = [
            self.do("register_supply", kind="storage", name=name, facility_code=FACILITY_CODE)[
                "supply_id"
            ]
            for name in STORAGES
        ]
        self.backup = self.store.backup()
        self.done: Counter[str] = Counter()

    def run(self, awaited: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(awaited, self.loop).result()

    def _forward(self, request: httpx2.Request) -> httpx2.Response:
        return self.run(self._send(request))

    async def _send(self, request: httpx2.Request) -> httpx2.Response:
        answer = await self.http.request(
            request.method, str(request.url), content=request.read(), headers=request.headers
        )
        return httpx2.Response(answer.status_code, content=answer.content, headers=answer.headers)

    def do(self, name: str, /, **arguments: Any) -> Any:
        """Make one call; raise ServiceError when it is refused."""
        row = self.service.catalogue.named[name]
        body = {key: value for key, value in arguments.items() if key not in row.route.fields}
        path, method = row.route.path.format(**arguments), row.route.method
        if method == "POST":
            answer = self.client.request(method, path, json=body)
        else:
            answer = self.client.request(method, path, params=body)
        return answer.json() if answer.content else None

    def close(self) -> None:
        self.run(self.http.aclose())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()
        self.loop.close()

    def begin(self, draw: Random) -> None:
        """Forget everything, and write two datasets, one of them production data."""
        self.store.restore(self.backup)
        self.draw, self.printed = draw, list[Printed]()
        self.plan_file = self.home / "plan.jsonl"
        self.plan_file.unlink(missing_ok=True)
        for name in STORAGES:
            (self.home / name).mkdir(exist_ok=True)
            for left in (self.home / name).iterdir():
                left.unlink()
        self.bytes: dict[str, bytes] = {}
        self.of: dict[str, dict[str, Any]] = {}
        for number in range(2):
            content = draw.randbytes(SIZE)
            of = {
                "checksum": {"algorithm": "sha256", "value": sha256(content).hexdigest()},
                "byte_size": SIZE,
            }
            encoding = {"media_type": "application/x-hdf5"}
            id = self.do("register_dataset", name=f"Scan {number}", encoding=encoding, **of)[
                "dataset_id"
            ]
            self.bytes[id], self.of[id] = content, of
            if number:
                self.do("promote_dataset", dataset_id=id, reason="Good")
            for name in STORAGES:
                (self.home / name / f"{number}.h5").write_bytes(content)
        for _ in range(4):
            with suppress(ServiceError):
                self.register()
        self.check()

    # What may happen.

    def paths(self) -> list[Path]:
        names = [self.home / name / f"{number}.h5" for name in STORAGES for number in range(3)]
        return names + ([self.home / "mirror" / "0.h5"] if self.mirrored else [])

    def copies(self, *statuses: DistributionStatus) -> list[Copy]:
        rows = self.run(self.store.rows(COPIES, {}))
        return [row for row in rows if not statuses or row.status in statuses]

    def step(self) -> str:
        """Let one thing happen."""
        (kind,) = self.draw.choices([*KINDS], [*KINDS.values()])
        try:
            getattr(self, kind)()
        except (ServiceError, RetainedError, UnusablePlanError) as refused:
            kind = f"{kind} refused"
            if isinstance(refused, ServiceError) and refused.status not in {400, 404, 409}:
                raise
        self.done[kind] += 1
        return kind

    def register(self) -> None:
        path, id = self.draw.choice(self.paths()), self.draw.choice([*self.of])
        if self.draw.random() < 0.7:
            # Mostly where the bytes are, under one of their names.
            right = [
                it for it in self.paths() if it.is_file() and it.read_bytes() == self.bytes[id]
            ]
            path = self.draw.choice(right or [path])
        spelled = self.draw.choice(("file://{}", "FILE://localhost{}", "file:////{}"))
        self.do(
            "register_distribution",
            dataset_id=id,
            supply_id=self.draw.choice(self.supplies),
            uri=spelled.format(path),
            access_protocol="POSIX",
            **self.of[id],
        )

    def check(self) -> None:
        if copies := self.copies():
            for copy in self.draw.sample(copies, self.draw.randint(1, len(copies))):
                self.attest(copy, self.found(Path(copy.uri.removeprefix("file://"))))

    def found(self, path: Path) -> dict[str, Any]:
        """What a check reads at a path."""
        try:
            file = os.open(path, os.O_RDONLY)
        except OSError:
            return {"failure": "NotFound"}
        try:
            read = check_file(file)
        finally:
            os.close(file)
        told = {"algorithm": read.algorithm, "value": read.value, "byte_size": read.byte_size}
        return {"found": {**told, "file": read.file._asdict()}} if read.file else {"found": told}

    def attest(self, copy: Copy, what: dict[str, Any], kind: str = "ChecksumVerified") -> None:
        how = {"kind": kind, "checked_at": self.now.isoformat(), "checker": "model"}
        self.do("record_attestation", distribution_id=str(copy.distribution_id), **how, **what)

    def claim(self) -> None:
        """Somebody says that a transfer has compared a copy, and nobody has."""
        if copies := self.copies():
            copy = self.draw.choice(copies)
            found = {**self.of[str(copy.dataset_id)]["checksum"], "byte_size": SIZE}
            self.attest(
                copy,
                {"found": found, "service": "FTS", "task_id": "invented"},
                "TransferVerified",
            )

    def link(self) -> None:
        """A path becomes a link to another, if nothing is there."""
        there, path = self.draw.choice(self.paths()), self.draw.choice(self.paths())
        if there.exists() and not os.path.lexists(path):
            if self.draw.random() < 0.5:
                path.symlink_to(there)
            elif "mirror" not in {there.parent.name, path.parent.name}:
                path.hardlink_to(there)

    def overwrite(self) -> None:
        """A program writes a dataset to a path, and the copy that was there ends or is stale."""
        path, id = self.draw.choice(self.paths()), self.draw.choice([*self.of])
        sent_for = {Path(each) for printed in self.printed for each in printed.paths}
        # Nobody can protect what is written where a cleaner was sent to, under another path.
        if path.name == "0.h5" and any(each.name == path.name for each in sent_for):
            return
        path.unlink(missing_ok=True)
        path.write_bytes(self.bytes[id])
        how = self.draw.choice(("mark_distribution_overwritten", "mark_distribution_stale"))
        for copy in self.copies():
            there = Path(copy.uri.removeprefix("file://"))
            # A mirror has the same directory at a second place.
            is_same = there.name == path.name and there.parent.samefile(path.parent)
            if not is_same:
                continue
            try:
                self.do(how, distribution_id=str(copy.distribution_id), reason="Overwritten")
            except ServiceError:
                # Who is refused for one copy still marks the others at this path.
                if copy.status is DistributionStatus.VERIFIED:
                    raise

    def wait(self) -> None:
        (jump,) = self.draw.choices([*JUMPS], [*JUMPS.values()])
        self.now += jump
        if jump >= LONG and self.draw.random() < 0.5:
            path = self.draw.choice(self.paths())
            if path.is_file():
                path.write_bytes(self.draw.randbytes(SIZE))

    def plan(self) -> None:
        filters = {"uri_prefix": f"file://{self.home}"}
        write_plan(self.plan_file, self.client.url, filters, pages_of(self.client, filters))

    def restore(self) -> None:
        if gone := self.copies(DistributionStatus.DISCARDED):
            id = str(self.draw.choice(gone).distribution_id)
            self.do("restore_distribution", distribution_id=id, reason="Wait")

    def discard(self) -> None:
        before = self.kept_bytes()
        met = {id: not self.short(id) for id in self.of}
        if not self.plan_file.exists() or self.draw.random() < 0.5:
            self.plan()
        plan = read_plan(self.plan_file, self.client.url)
        require_valid(plan, service_time(self.client, plan.filters))
        for copy in plan.copies:
            try:
                files = let_go(self.client, copy, "Full")
            except RetainedError:
                continue
            self.printed.append(Printed(tuple(files), self.now))
            self.done["discarded"] += 1
        for id, files in self.kept_bytes().items():
            least = {True: 2 if self.is_production(id) else 1, False: 1}[met[id]]
            if before[id] and len(files) < min(least, len(before[id])):
                told = [(it.uri, it.status, it.file_key, it.dataset_id) for it in self.copies()]
                lost = Lost(f"{len(files)} files of dataset {id} are left after a discard")
                lost.add_note(f"printed {self.printed}, before {before}, copies {told}")
                raise lost

    def delete(self) -> None:
        """Delete what was printed within the hour."""
        before, deleted = self.kept_bytes(), [*self.printed]
        for printed in self.printed:
            if self.now <= printed.at + timedelta(hours=1):
                for path in printed.paths:
                    Path(path).unlink(missing_ok=True)
                    self.done["deleted"] += 1
        self.printed = []
        after = self.kept_bytes()
        for id in self.of:
            if before[id] - after[id]:
                told = [(it.uri, it.status, it.file_key, it.dataset_id) for it in self.copies()]
                links = {str(it): it.is_symlink() and it.readlink() for it in self.paths()}
                lost = Lost(f"bytes of a copy of dataset {id} were deleted that is kept")
                lost.add_note(f"deleted {deleted}, copies {told}, links {links}")
                raise lost

    def removed(self) -> None:
        # There is one cleaner, which records removals when it has deleted what was printed.
        to_delete = {path for printed in self.printed for path in printed.paths}
        for copy in self.copies(DistributionStatus.DISCARDED):
            path = copy.uri.removeprefix("file://")
            if path not in to_delete and not os.path.lexists(path):
                self.do("record_distribution_removal", distribution_id=str(copy.distribution_id))

    # What is really there.

    def is_production(self, id: str) -> bool:
        return id == [*self.of][1]

    def short(self, id: str) -> dict[str, int]:
        (row,) = self.do("list_custody", dataset_id=id)["items"]
        return row["short"]

    def kept_bytes(self) -> dict[str, set[int]]:
        """For each dataset, the files with its bytes at the addresses of verified copies.

        On other copies nobody relies: they were never read, or were restored a moment ago, when a
        cleaner may still delete them.
        """
        found: dict[str, set[int]] = {id: set() for id in self.of}
        for copy in self.copies(DistributionStatus.VERIFIED):
            path, id = Path(copy.uri.removeprefix("file://")), str(copy.dataset_id)
            if path.is_file() and path.read_bytes() == self.bytes[id]:
                found[id].add(path.stat().st_ino)
        return found


@contextmanager
def mirror_of(storage: Path, at: Path) -> Generator[bool]:
    """Mount a storage at a second place, if this machine lets us."""
    at.mkdir()
    storage.mkdir()
    if os.geteuid() != 0:
        yield False
        return
    mounted = subprocess.run(["mount", "--bind", str(storage), str(at)], check=False)
    try:
        yield mounted.returncode == 0
    finally:
        if mounted.returncode == 0:
            subprocess.run(["umount", "-l", str(at)], check=True)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with mirror_of(tmp_path / "nvme1", tmp_path / "mirror") as mirrored:
        world = World(tmp_path, mirrored)
        try:
            yield world
        finally:
            world.close()


def walk(world: World, number: int) -> None:
    """Let things happen in the order of one schedule."""
    world.begin(dice(seed(), "custody files", number))
    history: list[str] = []
    try:
        for _ in range(STEPS):
            history += [world.step()]
    except Lost as lost:
        # The step that lost them is the one after these.
        lost.add_note(f"schedule {number}: {', '.join(history)}")
        raise


def test_no_needed_bytes_are_deleted_by_any_schedule(world: World, report: Report):
    schedules = 0
    for number in rounds("CUSTODY_FILES", 150, 40, 60):
        walk(world, number)
        schedules += 1
    figures = {"schedules": schedules, "mirrored": world.mirrored, **dict(world.done)}
    report("custody of files", figures)
    assert world.done["deleted"] > 0


def first_loss(world: World, most: int) -> int:
    for number in range(most):
        try:
            walk(world, number)
        except Lost:
            return number
    raise AssertionError(f"nothing was lost in {most} schedules")


type Patch = Callable[[pytest.MonkeyPatch], None]


async def shares_nothing(*_: Any) -> dict[Any, Any]:
    return {}


def without_claims(patch: pytest.MonkeyPatch) -> None:
    """The place of a copy is free as soon as it is stale or discarded."""
    free = {DistributionStatus.REGISTERED, DistributionStatus.VERIFIED}
    patch.setattr(Distribution, "has_place", property(lambda it: it.status in free))
    for module in (custody, custody_reads, attestation):
        patch.setattr(module, "sharing", shares_nothing)


def every_address_counts(patch: pytest.MonkeyPatch) -> None:
    """Copies count by address, whatever file is there."""

    def files_of(copies: Iterable[Copy]) -> set[object]:
        return {it.distribution_id for it in copies}

    patch.setattr(custody, "files_of", files_of)

    def rest_of(copy: Copy, copies: Any) -> list[Copy]:
        return [it for it in copies if it.is_present and it.distribution_id != copy.distribution_id]

    for module in (custody, judging):
        patch.setattr(module, "rest_of", rest_of)
    for module in (custody, custody_reads, attestation):
        patch.setattr(module, "sharing", shares_nothing)


def checks_never_age(patch: pytest.MonkeyPatch) -> None:
    """A check counts for ever."""
    counts = custody.CustodyView.counts

    def any_age(self: Any, copy: Copy, intent: Any, *, lately: bool = False) -> bool:
        checks = tuple(replace(it, checked_at=self.now) for it in copy.good_checks)
        return counts(self, replace(copy, good_checks=checks), intent, lately=lately)

    patch.setattr(custody.CustodyView, "counts", any_age)


def anybody_transfers(patch: pytest.MonkeyPatch) -> None:
    """Whoever says so has compared the bytes by a transfer."""

    def believed(*_: object) -> None: ...

    patch.setattr(attestation, "_require_trusted", believed)


@pytest.mark.parametrize(
    "flaw", [without_claims, every_address_counts, checks_never_age, anybody_transfers]
)
def test_each_way_to_lose_bytes_is_found_when_it_is_put_back(
    flaw: Patch, world: World, monkeypatch: pytest.MonkeyPatch, report: Report
):
    flaw(monkeypatch)
    report(f"custody of files, {flaw.__name__}", {"schedules": first_loss(world, 2_000) + 1})
