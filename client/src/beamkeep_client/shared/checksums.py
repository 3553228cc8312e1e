"""Checksums of files and of directories, as Beamkeep compares them."""

import errno
import hashlib
import os
import stat
import threading
import time
import unicodedata
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

BLOCK = 1 << 20
SERVED = frozenset({"nfs", "nfs4", "cifs", "smb3", "lustre", "gpfs", "beegfs", "ceph", "9p"})
"""File systems of servers: their files have the same inodes on every host."""
MOST_PATH_BYTES = 1_024
READING = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0)
BELOW = READING | getattr(os, "O_NOFOLLOW", 0)
DIRECTORY = getattr(os, "O_DIRECTORY", 0)

type Pace = Callable[[int], None]
"""Called with the size of every block that was read; may wait, and may raise to end the reading."""


class ChangedWhileReadError(OSError):
    """A file changed while it was read, so that its checksum means nothing."""


class TreeRefusedError(OSError):
    """A directory contains something that a checksum of files cannot describe."""


class FileMark(NamedTuple):
    """By what a file is recognised as unchanged."""

    inode: int
    byte_size: int
    modified_ns: int
    changed_ns: int
    """When content or attributes changed; a program cannot set it."""


class CheckedFile(NamedTuple):
    """The checksum of one file of a directory, and the state in which it was read."""

    path: str
    sha256: str
    mark: FileMark


class FileOnHost(NamedTuple):
    """By what a file is recognised under another path."""

    host: str
    """The host that has the file system; empty if the device names a server."""
    device: str
    inode: str
    """Its number, which may be too great for JSON."""
    links: int


class FoundBytes(NamedTuple):
    """What a check found."""

    algorithm: str
    value: str
    byte_size: int
    file_count: int
    file: FileOnHost | None = None
    """The file that was read; of several files, the one with the lowest inode."""
    digests: Mapping[str, str] = {}
    """Further sums of the same bytes."""


class Hash(Protocol):
    """A sum that is computed block by block."""

    def update(self, data: memoryview, /) -> None:
        """Add a block."""
        ...

    def hexdigest(self) -> str:
        """Return the sum of all blocks."""
        ...


class _Adler32:
    def __init__(self) -> None:
        self._value = zlib.adler32(b"")

    def update(self, data: memoryview, /) -> None:
        self._value = zlib.adler32(data, self._value)

    def hexdigest(self) -> str:
        return f"{self._value:08x}"


HASHES: Mapping[str, Callable[[], Hash]] = {
    "sha256": hashlib.sha256,
    "sha512": hashlib.sha512,
    "sha1": lambda: hashlib.sha1(usedforsecurity=False),
    "md5": lambda: hashlib.md5(usedforsecurity=False),
    "adler32": _Adler32,
}
"""The algorithms that the standard library has."""


class RateLimit:
    """A token bucket over all threads that read: so many bytes a second, a second's worth at once.

    Call it with every number of bytes that was read; it waits as long as it must.
    """

    def __init__(
        self,
        bytes_per_second: float,
        clock: Callable[[], float] = time.monotonic,
        wait: Callable[[float], None] = time.sleep,
    ) -> None:
        self._rate, self._clock, self._wait = bytes_per_second, clock, wait
        self._tokens, self._at, self._lock = bytes_per_second, clock(), threading.Lock()

    def __call__(self, count: int) -> None:
        with self._lock:
            now = self._clock()
            earned = (now - self._at) * self._rate
            self._tokens, self._at = min(self._rate, self._tokens + earned) - count, now
            owed = -self._tokens
        if owed > 0:
            self._wait(owed / self._rate)


def no_pace(count: int) -> None:
    """Let a reading go as fast as it can."""


def sums_of_blocks(
    blocks: Iterable[memoryview], algorithms: Sequence[str] = ("sha256",)
) -> tuple[dict[str, str], int]:
    """Return the sums of a stream of bytes by algorithm, and its length."""
    sums, length = {name: HASHES[name]() for name in algorithms}, 0
    for block in blocks:
        length += len(block)
        for each in sums.values():
            each.update(block)
    return {name: each.hexdigest() for name, each in sums.items()}, length


def blocks_of(file: int, byte_size: int, pace: Pace = no_pace) -> Iterator[memoryview]:
    """Yield the bytes of an open file, block by block in one buffer; a file that grows ends."""
    buffer = bytearray(min(BLOCK, byte_size + 1))
    view, place = memoryview(buffer), 0
    while place <= byte_size and (count := os.preadv(file, [buffer], place)):
        place += count
        yield view[:count]
        pace(count)


def mark_of(file: int) -> FileMark:
    """Return the state of an open file. Raise TreeRefusedError when it is not a regular file."""
    return _mark(os.fstat(file))


def sums_of_file(
    file: int,
    pace: Pace = no_pace,
    algorithms: Sequence[str] = ("sha256",),
    *,
    from_storage: bool = False,
) -> tuple[dict[str, str], FileMark]:
    """Return the sums of an open file, and the state in which it was read.

    With `from_storage`, bytes that the system keeps in memory are read from the storage again.
    Raise ChangedWhileReadError when somebody wrote to the file meanwhile.
    """
    before = mark_of(file)
    if hasattr(os, "posix_fadvise"):
        if from_storage:
            os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_SEQUENTIAL)
    sums, length = sums_of_blocks(blocks_of(file, before.byte_size, pace), algorithms)
    if not is_same(before, mark_of(file)) or length != before.byte_size:
        raise ChangedWhileReadError(errno.EBUSY, "The file changed while it was read")
    return sums, before


def is_same(before: FileMark, after: FileMark) -> bool:
    """Return whether nobody wrote between two looks; a new name or owner is no change of bytes."""
    return before[:3] == after[:3]


def check_file(
    file: int,
    pace: Pace = no_pace,
    *,
    algorithms: Sequence[str] = (),
    from_storage: bool = False,
) -> FoundBytes:
    """Return the SHA-256 of an open file, and its sums by further algorithms."""
    wanted = ("sha256", *(name for name in algorithms if name in HASHES))
    sums, mark = sums_of_file(file, pace, wanted, from_storage=from_storage)
    value = sums.pop("sha256")
    identity = identity_of(os.fstat(file))
    return FoundBytes("sha256", value, mark.byte_size, 1, file=identity, digests=sums)


def host_name() -> str:
    """Return the name by which this host is known among others; containers of a host share it."""
    return os.environ.get("BEAMKEEP_HOST_NAME") or os.uname().nodename


def identity_of(status: os.stat_result) -> FileOnHost:
    """Return by what a file is recognised under another path."""
    number = f"{os.major(status.st_dev)}:{os.minor(status.st_dev)}"
    server = _servers().get(number)
    host, device = ("", server) if server else (host_name(), number)
    return FileOnHost(host, device, inode=str(status.st_ino), links=max(status.st_nlink, 1))


def _servers() -> Mapping[str, str]:
    """Return the file systems of servers that are mounted here, by number, with their names."""
    found: dict[str, str] = {}
    try:
        lines = Path("/proc/self/mountinfo").read_text("utf-8", "surrogateescape").splitlines()
    except OSError:
        return found
    for line in lines:
        mount, _, rest = line.partition(" - ")
        kind, source, *_ = rest.split(" ")
        if kind in SERVED:
            found[mount.split(" ")[2]] = source
    return found


def check_tree(
    directory: int,
    parts: Sequence[str] | None = None,
    pace: Pace = no_pace,
    *,
    known: Mapping[str, CheckedFile] | None = None,
    checked: Callable[[CheckedFile], None] = lambda _: None,
    from_storage: bool = False,
) -> FoundBytes:
    """Return the `sha256-tree` of the files below an open directory, of all or of the parts.

    A file in `known` that is in the same state as then is not read again; `checked` is called with
    every other file. Raise ChangedWhileReadError when the files are others after the last read.
    """
    before, done = _marks(directory, parts, pace), list[CheckedFile]()
    for path in sorted(before, key=str.encode):
        old = (known or {}).get(path)
        if old and old.mark == before[path][1]:
            pace(0)
            done.append(old)
            continue
        file = open_below(directory, before[path][0])
        try:
            sums, mark = sums_of_file(file, pace, from_storage=from_storage)
        finally:
            os.close(file)
        done.append(CheckedFile(path, sums["sha256"], mark))
        checked(done[-1])
    after = _marks(directory, parts, pace)
    if after.keys() != before.keys() or not all(
        is_same(each.mark, after[each.path][1]) for each in done
    ):
        raise ChangedWhileReadError(errno.EBUSY, "The files changed while they were read")
    lowest = min(done, key=lambda each: each.mark.inode, default=None)
    return FoundBytes(
        algorithm="sha256-tree",
        value=tree_digest((each.path, each.sha256) for each in done),
        byte_size=sum(each.mark.byte_size for each in done),
        file_count=len(done),
        file=_identity_below(directory, before[lowest.path][0]) if lowest else None,
    )


def tree_digest(files: Iterable[tuple[str, str]]) -> str:
    """Return the `sha256-tree` of paths with the SHA-256 of each file."""
    listed = sorted((path.encode(), value) for path, value in files)
    lines = (b"%s  %s\n" % (value.encode(), path) for path, value in listed)
    return hashlib.sha256(b"".join(lines)).hexdigest()


def _marks(
    directory: int, parts: Sequence[str] | None, pace: Pace
) -> dict[str, tuple[str, FileMark]]:
    """Return name and state of the files by the paths that a checksum has for them."""
    found: dict[str, tuple[str, FileMark]] = {}
    files = ((part, _mark_below(directory, part)) for part in parts or ())
    for name, mark in _files_below(directory) if parts is None else files:
        path = _path(name)
        pace(0)
        if path in found:
            raise TreeRefusedError(errno.EEXIST, "Two file names differ in Unicode form only")
        found[path] = name, mark
    return found


def _files_below(directory: int) -> Iterator[tuple[str, FileMark]]:
    for above, directories, files, opened in os.fwalk(".", dir_fd=directory, onerror=_raise):
        base = above.removeprefix(".").removeprefix("/")
        for name in (*directories, *files):
            status = os.stat(name, dir_fd=opened, follow_symlinks=False)
            if not stat.S_ISDIR(status.st_mode):
                yield f"{base}/{name}" if base else name, _mark(status)


def _mark_below(directory: int, path: str) -> FileMark:
    file = open_below(directory, path)
    try:
        return mark_of(file)
    finally:
        os.close(file)


def _identity_below(directory: int, path: str) -> FileOnHost:
    file = open_below(directory, path)
    try:
        return identity_of(os.fstat(file))
    finally:
        os.close(file)


def open_below(directory: int, path: str, *, is_directory: bool = False) -> int:
    """Open a file, or a directory, below a directory; no link is followed anywhere in the path."""
    _path(path)
    *above, name = path.split("/")
    opened = os.dup(directory)
    try:
        for each in above:
            inner = os.open(each, BELOW | DIRECTORY, dir_fd=opened)
            os.close(opened)
            opened = inner
        if is_directory:
            return os.open(name, BELOW | DIRECTORY, dir_fd=opened)
        # Nothing is opened that is not a regular file: a FIFO or a device would notice.
        _mark(os.stat(name, dir_fd=opened, follow_symlinks=False))
        return os.open(name, BELOW, dir_fd=opened)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise TreeRefusedError(error.errno, "A path contains a symbolic link") from None
        raise
    finally:
        os.close(opened)


def _mark(status: os.stat_result) -> FileMark:
    if not stat.S_ISREG(status.st_mode):
        raise TreeRefusedError(errno.EINVAL, "A symbolic link or another special file")
    return FileMark(status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


def _path(name: str) -> str:
    """Return the path that a checksum has for a name. Raise TreeRefusedError when it has none."""
    path = unicodedata.normalize("NFC", name)
    try:
        size = len(path.encode())
    except UnicodeEncodeError:
        raise TreeRefusedError(errno.EILSEQ, "A file name is not UTF-8") from None
    if not 0 < size <= MOST_PATH_BYTES or not {"", ".", ".."}.isdisjoint(path.split("/")):
        raise TreeRefusedError(errno.ENAMETOOLONG, "A path is too long or malformed")
    if any(unicodedata.category(each) == "Cc" for each in path):
        raise TreeRefusedError(errno.EILSEQ, "A file name contains a control character")
    return path


def _raise(error: OSError) -> None:
    raise error


def failure_of(error: OSError) -> str:
    """Return why bytes could not be read, in the words of an attestation."""
    match error:
        case FileNotFoundError() | NotADirectoryError():
            return "NotFound"
        case PermissionError():
            return "PermissionDenied"
        case TimeoutError():
            return "Timeout"
        case ChangedWhileReadError() | TreeRefusedError() | IsADirectoryError():
            return "Corrupt"
        case _:
            return "Corrupt" if error.errno == errno.EIO else "TransportError"
