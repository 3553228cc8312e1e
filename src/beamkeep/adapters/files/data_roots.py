"""Opens data files beneath the directories that the deployment allows."""

import ctypes
import errno
import os
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path, PurePosixPath
from urllib.parse import unquote_to_bytes, urlsplit

OPENAT2 = 437
"""The number of the system call, which is the same on every architecture."""
NO_MAGIC_LINKS, BENEATH = 0x02, 0x08
ATTEMPTS = 128
"""How often a path is resolved again when something is renamed during the resolution."""

type PathResolver = Callable[[int, bytes], int]
"""Returns an `O_PATH` descriptor of a path below a directory that is open."""


class OutsideRootsError(OSError):
    """The path is not beneath one of DATA_ROOTS, or a link in it leads out."""


class SpecialFileError(OSError):
    """The path names neither a regular file nor a directory."""


class _How(ctypes.Structure):
    """The third argument of `openat2`."""

    _fields_ = (
        ("flags", ctypes.c_uint64),
        ("mode", ctypes.c_uint64),
        ("resolve", ctypes.c_uint64),
    )


class DataRoots:
    """The directories beneath which data files may be opened."""

    def __init__(
        self,
        roots: Sequence[Path],
        resolve: PathResolver | None = None,
        owned: Sequence[Path] = (),
    ) -> None:
        # A root beneath another root allows nothing more, and it would refuse links between them.
        self.roots = tuple(
            root for root in roots if not any(each in root.parents for each in roots)
        )
        self._owned = tuple(owned)
        self._resolve = resolve or (by_kernel if has_openat2() else by_components)

    def open(self, path: str | bytes) -> int:
        """Return a descriptor of a regular file or of a directory, open for reading.

        Raise OutsideRootsError, SpecialFileError, FileNotFoundError or PermissionError otherwise.
        """
        asked = PurePosixPath(os.fsdecode(path))
        # No link leads out of a directory that belongs to somebody, in whatever root that lies.
        for root in (*self._owned, *self.roots):
            if asked.is_relative_to(root):
                opened = os.open(root, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
                try:
                    return self.open_below(opened, os.fsencode(asked.relative_to(root)))
                finally:
                    os.close(opened)
        raise OutsideRootsError(errno.EXDEV, "The path is not beneath one of DATA_ROOTS")

    def open_below(self, directory: int, path: str | bytes) -> int:
        """Return a descriptor of what lies below an open directory, by the rules of `open`."""
        found = self._resolve(directory, os.fsencode(path))
        try:
            mode = os.fstat(found).st_mode
            if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
                raise SpecialFileError(errno.EINVAL, "Neither a regular file nor a directory")
            # This opens the same inode, whatever has the name by now; a device or a FIFO would
            # notice if it was opened by its name.
            return os.open(f"/proc/self/fd/{found}", os.O_RDONLY | os.O_CLOEXEC | os.O_NOCTTY)
        finally:
            os.close(found)


def path_of(uri: str) -> bytes:
    """Return the path of a `file` URI. Raise OutsideRootsError when it names another host."""
    parts = urlsplit(uri)
    path = unquote_to_bytes(parts.path)
    if parts.scheme != "file" or parts.netloc not in {"", "localhost"} or b"\0" in path:
        raise OutsideRootsError(errno.EXDEV, "Not a file URI of this host")
    return path


def by_kernel(directory: int, path: bytes) -> int:
    """Resolve a path by `openat2`; links may be followed, but never out of the directory."""
    how = _How(flags=os.O_PATH | os.O_CLOEXEC, mode=0, resolve=BENEATH | NO_MAGIC_LINKS)
    system = ctypes.CDLL(None, use_errno=True)
    for _ in range(ATTEMPTS):
        found = system.syscall(
            ctypes.c_long(OPENAT2),
            ctypes.c_int(directory),
            ctypes.c_char_p(path),
            ctypes.byref(how),
            ctypes.c_size_t(ctypes.sizeof(how)),
        )
        if found >= 0:
            return found
        if (code := ctypes.get_errno()) != errno.EAGAIN:
            raise _error(code)
    raise _error(errno.EXDEV)


def by_components(directory: int, path: bytes) -> int:
    """Resolve a path one component after the other, on kernels before 5.6; it follows no link."""
    found = os.dup(directory)
    for name in path.split(b"/"):
        if name in {b"", b"."}:
            continue
        try:
            if name == b"..":
                raise _error(errno.EXDEV)
            inner = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=found)
        finally:
            os.close(found)
        found = inner
        if stat.S_ISLNK(os.fstat(found).st_mode):
            os.close(found)
            raise _error(errno.ELOOP)
    return found


def has_openat2() -> bool:
    """Return whether the kernel, and the filter of system calls if there is one, has `openat2`."""
    here = os.open("/", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.close(by_kernel(here, b"."))
    except OSError:
        return False
    finally:
        os.close(here)
    return True


def _error(code: int) -> OSError:
    if code in {errno.EXDEV, errno.ELOOP}:
        return OutsideRootsError(code, "A link or '..' in the path leads out of DATA_ROOTS")
    return OSError(code, os.strerror(code))


def root_faults(roots: Iterable[Path]) -> Iterator[str]:
    """Yield a sentence about each directory that cannot be read."""
    for root in roots:
        try:
            next(os.scandir(root), None)
        except FileNotFoundError:
            yield f"{root} does not exist. Mount it, or take it out of the list."
        except NotADirectoryError:
            yield f"{root} is not a directory. Name the directory that contains the files."
        except OSError as error:
            yield (
                f"{root} cannot be read: {error.strerror}. Let the user that runs the service read"
                " and enter it."
            )
