"""Verifying copies of datasets on a host that sees their files."""

import os
import re
import sys
import threading
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote_to_bytes, urlsplit
from uuid import uuid4

import click

from beamkeep_client.calling import connect, parts_of
from beamkeep_client.http import ATTEMPTS, ServiceError
from beamkeep_client.parameters import TimeParameter
from beamkeep_client.references import AmbiguousNameError
from beamkeep_client.shared.checksums import (
    FoundBytes,
    RateLimit,
    check_file,
    check_tree,
    failure_of,
    host_name,
    no_pace,
    open_below,
)
from beamkeep_client.synchronous.http import HttpClient
from beamkeep_client.terminal import human, printable, shortened, width
from beamkeep_client.times import FORMS

from .naming import object_id, printed_failures

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

MISMATCHED, UNREAD = 3, 4
PAGE = 100
READABLE = {"POSIX", "NFS"}
STAYING = ("Registered", "Verified", "Stale")
SIZE = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*([kMGT]?)B?(?:/s)?")
UNITS = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
DRAW_EVERY = 0.2
GONE = {"AttestationDistributionDiscardedError", "DistributionNotFoundError"}
"""Codes of refusals that say that a copy needs no check any more."""
HELP = """Verify copies whose files this host sees, and record what they contain.

A copy is read only below --under or a directory of --map. Copies that were verified or found to
be wrong before are skipped, unless --not-since says otherwise; so a command that was interrupted
continues where it stopped when it is repeated.
"""
EPILOG = (
    "Exit codes: 0 all copies match, 3 a copy does not match, 4 a copy could not be read,"
    " 1 refused, 2 no answer from the service, 64 wrong usage."
)


class DueCopy(NamedTuple):
    """A copy that is read, and where this host sees it."""

    id: str
    dataset_id: str
    checksum: str
    byte_size: int
    is_tree: bool
    of_parts: bool
    root: Path
    path: Path


class OutsideDirectoriesError(OSError):
    """A link leads out of the directories that the caller named."""


class Size(click.ParamType[float]):
    """A number of bytes, such as 200MB."""

    name = "size"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        found = SIZE.fullmatch(str(value).strip())
        if found is None or float(found[1]) <= 0:
            self.fail("Write a number of bytes such as 200MB.", param, ctx)
        return float(found[1]) * UNITS[found[2]]


class PathMap(click.ParamType[tuple[str, str]]):
    """A directory as the service names it, and as this host does."""

    name = "from=to"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, str]:
        source, _, target = str(value).partition("=")
        if not source.startswith("/") or (target and not target.startswith("/")):
            self.fail("Write two absolute directories such as /data=/mnt/data.", param, ctx)
        return os.path.normpath(source), os.path.normpath(target or source)


OPTIONS = (
    click.Option(["--supply"], help="Only copies on this storage, by name or id."),
    click.Option(["--dataset"], help="Only copies of this dataset, by name or id."),
    click.Option(["--under"], help="Only copies below this directory, as the service names it."),
    click.Option(
        ["--map", "maps"],
        type=PathMap(),
        multiple=True,
        help="Directory of the service and of this host: /data=/mnt/data. Can be repeated.",
    ),
    click.Option(
        ["--not-since"],
        type=TimeParameter(),
        help=f"Also copies that were last checked before this time: {FORMS}.",
    ),
    click.Option(
        ["--rate"], type=Size(), help="Most bytes a second, such as 200MB (default: no limit)."
    ),
    click.Option(
        ["--jobs"],
        type=click.IntRange(1, 64),
        default=1,
        show_default=True,
        help="Copies to read at the same time.",
    ),
    click.Option(
        ["--from-storage"],
        is_flag=True,
        help="Read from the storage what the memory of this host still contains.",
    ),
)


def verify_copies_command() -> click.Command:
    """Return the command that verifies copies."""

    def run(
        supply: str | None,
        dataset: str | None,
        under: str | None,
        maps: Sequence[tuple[str, str]],
        not_since: str | None,
        rate: float | None,
        jobs: int,
        from_storage: bool,
    ) -> None:
        if not under and not maps:
            raise click.UsageError("Name the directories to read with --under or --map.")
        client = connect(click.get_current_context())
        here = os.path.normpath(under or "/")
        roots = maps or [(here, here)]
        with printed_failures(AmbiguousNameError):
            filters = {
                "supply_id": supply and object_id(client, supply, "Supply"),
                "dataset_id": dataset and object_id(client, dataset, "Dataset"),
            }
            rows = _copies(client, filters)
            since = datetime.fromisoformat(not_since) if not_since else None
            due = [copy for row in rows if (copy := due_copy(row, roots, under, since))]
            verifying = Verifying(client, due, rate=rate, from_storage=from_storage)
            code = verifying.run(jobs)
        raise click.exceptions.Exit(code)

    return click.Command("verify-copies", callback=run, params=[*OPTIONS], help=HELP, epilog=EPILOG)


def due_copy(
    row: Mapping[str, Any],
    roots: Sequence[tuple[str, str]],
    under: str | None,
    since: datetime | None,
) -> DueCopy | None:
    """Return a copy that is to be read, None if this host does not see it or it is not due."""
    parts = urlsplit(str(row["uri"]))
    if row["access_protocol"] not in READABLE or parts.netloc not in {"", "localhost", host_name()}:
        return None
    path = Path(os.path.normpath(os.fsdecode(unquote_to_bytes(parts.path))))
    if under and not path.is_relative_to(os.path.normpath(under)):
        return None
    found = [(Path(source), Path(to)) for source, to in roots if path.is_relative_to(source)]
    times = [row.get(name) for name in ("verified_at", "marked_stale_at")]
    checked = [datetime.fromisoformat(each) for each in times if each]
    if not found or (checked and (since is None or max(checked) >= since)):
        return None
    source, root = max(found, key=lambda each: len(each[0].parts))
    return DueCopy(
        id=row["distribution_id"],
        dataset_id=row["dataset_id"],
        checksum=row["checksum"]["value"],
        byte_size=row["byte_size"],
        is_tree=row["checksum"]["algorithm"] == "sha256-tree",
        of_parts=row["of_parts"],
        root=root,
        path=root / path.relative_to(source),
    )


def outcome_of(copy: DueCopy, checked: Mapping[str, Any]) -> str:
    """Return the outcome that the service records of a check."""
    if (found := checked.get("found")) is None:
        return "Unreachable"
    matches = (found["value"], found["byte_size"]) == (copy.checksum, copy.byte_size)
    return "Match" if matches else "Mismatch"


class Verifying:
    """The copies of one command, the threads that read them, and what they found."""

    def __init__(
        self, client: HttpClient, due: Sequence[DueCopy], *, rate: float | None, from_storage: bool
    ) -> None:
        self._client, self._due, self._from_storage = client, due, from_storage
        self._limit = RateLimit(rate) if rate else no_pace
        self._stop, self._lock = threading.Event(), threading.Lock()
        self._total, self._read, self._begun = sum(c.byte_size for c in due), 0, time.monotonic()
        self._found = {"Match": 0, "Mismatch": 0, "Unreachable": 0, "Skipped": 0}
        self._checker = f"beamkeep-client {version('beamkeep-client')}"
        self._bar = sys.stderr.isatty()

    def run(self, jobs: int) -> int:
        """Read every copy, record what it contains, and return the exit code."""
        from concurrent.futures import FIRST_COMPLETED, wait  # noqa: PLC0415

        left, running = iter(self._due), dict["Future[Mapping[str, Any]]", DueCopy]()
        with self._threads(jobs) as pool:
            while True:
                while len(running) < jobs and (copy := next(left, None)):
                    running[pool.submit(self._check, copy, self._wanted(copy))] = copy
                if not running:
                    break
                done, _ = wait(running, timeout=DRAW_EVERY, return_when=FIRST_COMPLETED)
                for future in done:
                    self._record(running.pop(future), future.result())
                self._draw()
        self._end()
        if self._found["Mismatch"]:
            return MISMATCHED
        return UNREAD if self._found["Unreachable"] else 0

    @contextmanager
    def _threads(self, jobs: int) -> "Generator[ThreadPoolExecutor]":
        """Yield threads that stop reading when this one is interrupted."""
        from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415

        with ThreadPoolExecutor(jobs) as pool:
            try:
                yield pool
            finally:
                self._stop.set()

    def _check(self, copy: DueCopy, wanted: Sequence[str] | None) -> Mapping[str, Any]:
        """Return what a copy contains, or why it cannot be read, as it is recorded."""
        begun = datetime.now(UTC).isoformat()
        try:
            found = self._sum(copy, wanted)
        except OSError as error:
            is_outside = isinstance(error, OutsideDirectoriesError)
            failure = "OutsideRoots" if is_outside else failure_of(error)
            return {"checked_at": begun, "failure": failure}
        return {
            "checked_at": begun,
            "found": {
                "algorithm": found.algorithm,
                "value": found.value,
                "byte_size": found.byte_size,
                **({"file_count": found.file_count} if found.file_count else {}),
                **({"file": found.file._asdict()} if found.file else {}),
                **({"digests": found.digests} if found.digests else {}),
            },
        }

    def _sum(self, copy: DueCopy, wanted: Sequence[str] | None) -> FoundBytes:
        """Read a file with these further sums, or a directory with these parts."""
        with opened(copy) as file:
            if not copy.is_tree:
                further = wanted or ()
                pace, again = self._pace, self._from_storage
                return check_file(file, pace, algorithms=further, from_storage=again)
            parts = wanted
            return check_tree(file, parts, self._pace, from_storage=self._from_storage)

    def _pace(self, count: int) -> None:
        if self._stop.is_set():
            raise InterruptedError
        with self._lock:
            self._read += count
        self._limit(count)

    def _record(self, copy: DueCopy, checked: Mapping[str, Any]) -> None:
        body = {
            "distribution_id": copy.id,
            "kind": "ChecksumVerified",
            "checker": self._checker,
            **checked,
        }
        try:
            self._client.request(
                "POST",
                "/attestations",
                json=body,
                idempotency_key=uuid4().hex,
                attempts=ATTEMPTS,
            )
            outcome = outcome_of(copy, checked)
        except ServiceError as error:
            if error.code not in GONE:
                raise
            outcome = "Skipped"
        self._found[outcome] += 1
        self._say(copy, outcome, str(checked.get("failure") or ""))

    def _say(self, copy: DueCopy, outcome: str, why: str) -> None:
        """Print one line; at a terminal only of a copy that does not match."""
        if not self._bar or outcome in {"Mismatch", "Unreachable"}:
            self._clear()
            text = f"{outcome} ({why})" if why else outcome
            click.echo(printable(f"{text}  {copy.id}  {human(copy.byte_size)}  {copy.path}"))

    def _draw(self) -> None:
        if self._bar:
            done, seconds = sum(self._found.values()), time.monotonic() - self._begun
            line = bar(self._read, self._total, seconds, f"{done}/{len(self._due)}")
            sys.stderr.write(f"\r{line}\x1b[K")
            sys.stderr.flush()

    def _clear(self) -> None:
        if self._bar:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()

    def _end(self) -> None:
        self._clear()
        seconds = max(time.monotonic() - self._begun, 0.001)
        counts = ", ".join(f"{n} {name.lower()}" for name, n in self._found.items() if n)
        copies = "1 copy" if len(self._due) == 1 else f"{len(self._due)} copies"
        summary = f"{copies}, {human(self._read)}, {human(self._read / seconds)}/s"
        click.echo(f"{summary}: {counts}." if counts else "No copy is due.", err=True)

    def _wanted(self, copy: DueCopy) -> Sequence[str] | None:
        """Return the files of a copy of parts, or the further sums of a single file."""
        if copy.of_parts:
            return parts_of(self._client, copy.dataset_id)
        if copy.is_tree:
            return None
        dataset = self._client.request("GET", f"/datasets/{copy.dataset_id}", attempts=ATTEMPTS)
        return [*dataset.json()["digests"]]


@contextmanager
def opened(copy: DueCopy) -> Generator[int]:
    """Yield the file or directory of a copy, opened below its root without leaving it by a link."""
    real_root, real = Path(os.path.realpath(copy.root)), Path(os.path.realpath(copy.path))
    if not real.is_relative_to(real_root):
        raise OutsideDirectoriesError(f"{copy.path} leads out of {copy.root}")
    root = os.open(real_root, os.O_RDONLY | os.O_DIRECTORY)
    try:
        # Between the look and here a link may have been made; none is followed any more.
        below = real.relative_to(real_root).as_posix()
        is_root = below == "."
        file = os.dup(root) if is_root else open_below(root, below, is_directory=copy.is_tree)
    finally:
        os.close(root)
    try:
        yield file
    finally:
        os.close(file)


def bar(read: int, total: int, seconds: float, copies: str) -> str:
    """Return how far a reading is, in one line that fits the terminal."""
    part = min(read / total, 1.0) if total else 1.0
    rate = read / seconds if seconds > 0 else 0.0
    left = f"{(total - read) / rate / 60:.0f} min left" if rate and total > read else ""
    progress = f" {part:4.0%}  {human(read)} of {human(total)}  {human(rate)}/s  {copies}  {left}"
    room = max(min(width(), 80) - len(progress) - 4, 5)
    filled = int(part * room)
    return shortened(f"[{'#' * filled}{'-' * (room - filled)}]{progress}".rstrip())


def _copies(client: HttpClient, filters: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    given = {name: value for name, value in filters.items() if value}
    return client.rows("/distributions", {"status": STAYING, "limit": PAGE, **given})
