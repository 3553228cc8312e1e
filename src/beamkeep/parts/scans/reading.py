"""Reads scan files for the service: opens them, starts the closed process, and sums them up."""

import asyncio
import os
import socket
import stat
import sys
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from hashlib import sha256
from pathlib import PurePosixPath
from typing import NamedTuple
from urllib.parse import quote

import msgspec

from beamkeep.adapters.files.data_roots import (
    DataRoots,
    OutsideRootsError,
    SpecialFileError,
    path_of,
)
from beamkeep.contexts.data.scan_file import (
    PROFILES,
    InvalidScanChecksumError,
    InvalidScanFileError,
    InvalidScanLocatorError,
    ReadScanFile,
    ScanEntry,
    ScanFileNotFoundError,
    ScanFileUnstableError,
    ScanReading,
)
from beamkeep.contexts.data.shapes import Checksum, ChecksumAlgorithm, DatasetPart, tree_digest
from beamkeep.contexts.seams.data_places import NOT_YOURS, lies_in
from beamkeep.feed.fair_shares import FairShares
from beamkeep.kernel import Record, Refusal

from .sums import files_of, given_parts

SECONDS = 20
AT_ONCE = 4
"""How many scans are read at the same time; each process may take 1 GiB."""
OF_ONE = 2
"""How many of them for one principal."""
NICE = 10
MOST_ANSWERED = 256 << 10
MOST_FILES = 1_000
MOST_OF_ENTRY = 32 << 10
LONGEST_URI = 2048
BLOCK = 1 << 20
READER = "beamkeep.scans 1"
ENVIRONMENT = {"OPENBLAS_NUM_THREADS": "1", "HDF5_PLUGIN_PRELOAD": "::"}
"""One thread, since a thread closes only itself; and no filters from files."""

type SeenFile = tuple[int, int, int, int]
"""Device, inode, size and modification time of a file."""


class FoundScan(Record):
    """What the closed process found in a file."""

    layout: str
    entries: tuple[ScanEntry, ...]
    files: tuple[str, ...]
    """The files with the frames, by the names that the file gives them."""


class ScanAnswer(Record):
    """One line of the closed process."""

    landlock: int | None = None
    open: str | None = None
    refused: str | None = None
    being_written: bool = False
    scan: FoundScan | None = None


class _Files(NamedTuple):
    """The files of one scan: the path of each, and its identity when it was first opened."""

    master: str
    seen: dict[str, SeenFile]
    within: tuple[str, ...] | None = None
    """The directories of the caller, if not all data roots are permitted."""


class ScanReader:
    """Reads scan files beneath the data roots."""

    def __init__(
        self,
        roots: DataRoots,
        quiet_seconds: float,
        most_hashed: int,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._roots, self._quiet, self._most_hashed = roots, quiet_seconds, most_hashed
        self._clock, self._turns = clock, asyncio.Semaphore(AT_ONCE)
        self._own_turns = FairShares(OF_ONE)

    async def read(self, request: ReadScanFile) -> ScanReading:
        """Return what a scan file tells. Raise the refusal of one that is no complete scan."""
        async with self._own_turns.held(request.principal_id), self._turns:
            files = _Files(_path(request.locator), {}, request.within)
            found = await self._parsed(request, files)
            for name in found.files:
                os.close(await self._open_part(name, files))
            base = self._base(files)
            parts = await asyncio.to_thread(self._parts, request, files, base)
            for path in files.seen:
                os.close(await self._open(path, path, files))
        return self._reading(found, files, base, request.checksum, parts)

    async def found(self, locator: str) -> FoundScan:
        """Return what a scan file contains, without its sums."""
        request = ReadScanFile(locator, None, None, parts=())
        async with self._own_turns.held(None), self._turns:
            return await self._parsed(request, _Files(_path(locator), {}))

    async def _parsed(self, request: ReadScanFile, files: _Files) -> FoundScan:
        """Return what the closed process found."""
        master = await self._open(files.master, request.locator, files)
        try:
            async with asyncio.timeout(SECONDS), _closed_process() as process:
                process.send({"entry": request.entry} if request.entry else {}, master)
                answer = await process.answer()
                while answer.open is not None:
                    part = await self._open_part(answer.open, files)
                    try:
                        process.send({}, part)
                    finally:
                        os.close(part)
                    answer = await process.answer()
        except TimeoutError:
            raise InvalidScanFileError(f"Reading it took more than {SECONDS} seconds.") from None
        finally:
            os.close(master)
        if answer.being_written:
            raise ScanFileUnstableError(
                "It is marked as open for writing. If its writer died, clear the mark with h5clear."
            )
        if answer.scan is None or answer.scan.layout not in PROFILES:
            raise InvalidScanFileError(answer.refused)
        if any(len(msgspec.json.encode(entry)) > MOST_OF_ENTRY for entry in answer.scan.entries):
            raise InvalidScanFileError("It tells too much of one entry.")
        return answer.scan

    async def _open_part(self, name: str, files: _Files) -> int:
        """Return a file that the master names, as HDF5 finds it."""
        folder = os.path.dirname(files.master)
        if os.path.isabs(name):
            try:
                return await self._open(os.path.normpath(name), name, files)
            except (ScanFileNotFoundError, InvalidScanLocatorError):
                name = os.path.basename(name)
        return await self._open(os.path.normpath(os.path.join(folder, name)), name, files)

    async def _open(self, path: str, named: str, files: _Files) -> int:
        """Return a regular file that nobody writes; raise the refusal of any other."""
        if files.within is not None and not lies_in(path, files.within):
            raise InvalidScanLocatorError(f"{named!r}: {NOT_YOURS}.")
        opened = await asyncio.to_thread(self._opened, path, named)
        try:
            self._require_stable(opened, path, files)
        except Refusal:
            os.close(opened)
            raise
        return opened

    def _opened(self, path: str, named: str) -> int:
        try:
            return self._roots.open(path)
        except OutsideRootsError as error:
            raise InvalidScanLocatorError(f"{named!r}: {error.strerror}.") from None
        except PermissionError:
            raise InvalidScanLocatorError(f"The service may not read {named!r}.") from None
        except SpecialFileError:
            raise InvalidScanFileError(f"{named!r} is not a regular file.") from None
        except (OSError, ValueError):
            raise ScanFileNotFoundError(f"{named!r} does not exist.") from None

    def _require_stable(self, opened: int, path: str, files: _Files) -> None:
        found = os.fstat(opened)
        name = os.path.basename(path)
        if not stat.S_ISREG(found.st_mode):
            raise InvalidScanFileError(f"{name!r} is not a regular file.")
        if files.within is not None and found.st_nlink > 1:
            detail = f"{name!r} has more than one name, so it may be a file of somebody else."
            raise InvalidScanLocatorError(f"{detail} Copy it.")
        identity = (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)
        if files.seen.setdefault(path, identity) != identity:
            raise ScanFileUnstableError(f"{name!r} changed while it was read.")
        if self._clock() - found.st_mtime < self._quiet:
            detail = f"{name!r} was modified less than {self._quiet:g} seconds ago."
            raise ScanFileUnstableError(detail)
        if len(files.seen) > MOST_FILES + 1:
            raise InvalidScanFileError(f"The frames are in more than {MOST_FILES} files.")

    def _base(self, files: _Files) -> str:
        """Return the deepest directory that contains all files and lies in a data root."""
        base = os.path.commonpath([os.path.dirname(path) for path in files.seen])
        if not any(PurePosixPath(base).is_relative_to(root) for root in self._roots.roots):
            raise InvalidScanLocatorError("The files of the scan lie in different data roots.")
        return base

    def _parts(self, request: ReadScanFile, files: _Files, base: str) -> tuple[DatasetPart, ...]:
        """Return all files with their sums, as the caller gave them or computed now."""
        sizes = {os.path.relpath(path, base): seen[2] for path, seen in files.seen.items()}
        if request.checksum:
            return given_parts(request.checksum, request.parts, sizes, base)
        if (total := sum(sizes.values())) > self._most_hashed:
            raise InvalidScanChecksumError(
                f"The files have {total} bytes, and the service computes checksums of at most"
                f" {self._most_hashed}. Send the checksum that the writer computed.",
                **files_of(sizes, base),
            )
        return tuple(
            DatasetPart(path, size, self._sum(os.path.join(base, path), files))
            for path, size in sizes.items()
        )

    def _sum(self, path: str, files: _Files) -> str:
        digest, block = sha256(), memoryview(bytearray(BLOCK))
        with open(self._opened(path, path), "rb", buffering=0) as file:
            self._require_stable(file.fileno(), path, files)
            while count := file.readinto(block):
                digest.update(block[:count])
        return digest.hexdigest()

    def _reading(
        self,
        found: FoundScan,
        files: _Files,
        base: str,
        checksum: Checksum | None,
        parts: tuple[DatasetPart, ...],
    ) -> ScanReading:
        is_one = len(parts) == 1
        uri = "file://" + quote(files.master if is_one else f"{base}/")
        if len(uri) > LONGEST_URI:
            raise InvalidScanLocatorError(f"It has more than {LONGEST_URI} characters.")
        if checksum is None:
            algorithm = ChecksumAlgorithm.SHA256 if is_one else ChecksumAlgorithm.SHA256_TREE
            checksum = Checksum(algorithm, parts[0].sha256 if is_one else tree_digest(parts))
        return ScanReading(
            layout=found.layout,
            entries=found.entries,
            uri=uri,
            master=os.path.relpath(files.master, base),
            checksum=checksum,
            byte_size=sum(part.byte_size for part in parts),
            parts=() if is_one else parts,
            reader=READER,
        )


class ClosedProcess:
    """A running reader of HDF5 that can open nothing."""

    def __init__(self, files: socket.socket, answers: asyncio.StreamReader) -> None:
        self._files, self._answers = files, answers

    def send(self, request: dict[str, str], descriptor: int) -> None:
        """Give the process a file."""
        try:
            socket.send_fds(self._files, [msgspec.json.encode(request)], [descriptor])
        except OSError:
            raise InvalidScanFileError("Reading it failed.") from None

    async def answer(self) -> ScanAnswer:
        """Return the next answer. Raise InvalidScanFileError when the process has ended."""
        try:
            return msgspec.json.decode(await self._answers.readline(), type=ScanAnswer)
        except (ValueError, msgspec.DecodeError):
            raise InvalidScanFileError("Reading it failed: the file is damaged.") from None


@asynccontextmanager
async def _closed_process() -> AsyncGenerator[ClosedProcess]:
    """Start a reader, and end it after use."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-I", "-m", "beamkeep.parts.scans.child", str(theirs.fileno())),
            env=ENVIRONMENT,
            pass_fds=(theirs.fileno(),),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            limit=MOST_ANSWERED,
        )
        theirs.close()
        with suppress(ProcessLookupError):
            os.setpriority(os.PRIO_PROCESS, process.pid, NICE)
        try:
            closed = ClosedProcess(ours, process.stdout or asyncio.StreamReader())
            if (await closed.answer()).landlock is None:
                raise RuntimeError("The reader of scan files did not close itself.")
            yield closed
        finally:
            if process.returncode is None:
                process.kill()
            await process.wait()


def _path(locator: str) -> str:
    try:
        return os.path.normpath(os.fsdecode(path_of(locator)))
    except (OSError, ValueError):
        raise InvalidScanLocatorError(f"{locator!r} is not a file URI of this host.") from None
