"""Documents on disk: one file for each run, there until the run is delivered or refused."""

import fcntl
import logging
import os
from collections.abc import Iterator
from pathlib import Path
from threading import Event, Lock, Thread
from typing import Any, NamedTuple

import msgspec

from .translation import Document, number

log = logging.getLogger("beamkeep.bluesky")


class SpoolTakenError(Exception):
    """Another recorder uses this spool; give each a folder of its own."""


class Line(NamedTuple):
    """One line of a file: a document, or what became of those before it."""

    end: int
    name: str
    document: dict[str, Any]


class Spool:
    """A folder of documents, kept by one recorder at a time.

    A run's file moves to `refused` when the service does not take the run, and is left empty in
    `delivered` when it has it all. A thread sees to it that what is written reaches the disk: the
    next moment, and together with what is written meanwhile, for a disk may be slow.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        for name in ("delivered", "refused"):
            (folder / name).mkdir(parents=True, exist_ok=True)
        self._held = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(self._held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._held)
            raise SpoolTakenError(folder) from None
        self._lock, self._closed = Lock(), False
        self._open: dict[str, int] = {}
        self._waiting: dict[str, None] = {}
        self._unsynced, self._written = set[str](), Event()
        self._take_over()
        self._syncing = Thread(target=self._sync_all, name="beamkeep-bluesky-disk", daemon=True)
        self._syncing.start()

    def waiting(self) -> list[str]:
        """The runs that are to be delivered, oldest first."""
        return list(self._waiting)

    def append(self, run: str, name: str, document: Document | msgspec.Raw) -> None:
        """Write a line to a run's file, all of it or nothing; a crash of the process keeps it."""
        line = encoded((name, document)) + b"\n"
        with self._lock:
            if self._closed:
                raise ValueError("the recorder is closed")
            if self._path("delivered", run).exists():
                log.debug("A %s document of run %s is late, or comes again.", name, run)
                return
            descriptor = self._descriptor(run)
            length = os.fstat(descriptor).st_size
            try:
                if os.write(descriptor, line) < len(line):
                    raise OSError("the disk took only a part of it")
            except OSError:
                os.ftruncate(descriptor, length)
                raise
            if name in ("stop", "delivered"):
                self._close(run)  # runs may wait by the hundred; who writes on opens it again
            self._unsynced.add(run)
        self._written.set()

    def sync(self, run: str) -> None:
        """Wait until all lines of a run are where a power cut keeps them."""
        path = self._written_to(run)
        _sync(path)
        _sync(path.parent)

    def lines(self, run: str, offset: int = 0) -> Iterator[Line]:
        """The whole lines of a run's file that can be read, from an offset on."""
        with self._path("", run).open("rb") as file:
            file.seek(offset)
            for text in file:
                offset += len(text)
                if not text.endswith(b"\n"):
                    return
                try:
                    name, document = msgspec.json.decode(text, type=tuple[str, dict[str, Any]])
                except msgspec.DecodeError:
                    log.warning("A line of run %s cannot be read: %r", run, text[:200])
                else:
                    yield Line(offset, name, document)

    def move(self, run: str, where: str) -> None:
        """Take a run off the list: it is `delivered`, or `refused`."""
        with self._lock:
            self._waiting.pop(run, None)
            self._close(run)
            moved = self._path("", run).rename(self._path(where, run))
            if where == "delivered":
                os.truncate(moved, 0)
        for path in (moved, moved.parent, self._folder):
            _sync(path)

    def close(self) -> None:
        """Let another recorder use the folder."""
        with self._lock:
            self._closed = True
            for run in list(self._open):
                self._close(run)
        self._written.set()
        self._syncing.join(5)
        os.close(self._held)

    def _take_over(self) -> None:
        """Find what an earlier recorder left; where it saw no end of a run, there is none."""
        found: dict[str, float] = {}
        for run in [path.stem for path in self._folder.glob("*.jsonl")]:
            is_ended, last = False, 0.0
            for line in self.lines(run):
                is_ended = is_ended or line.name in ("stop", "interrupted")
                last = max(last, time := _time(line.document))
                if line.name == "start":
                    found.setdefault(run, time)
            if run not in found:
                log.error("Run %s has no start document and is set aside.", run)
                self.move(run, "refused")
            elif not is_ended:
                self.append(run, "interrupted", {"time": last})
        self._waiting = dict.fromkeys(sorted(found, key=found.__getitem__))

    def _sync_all(self) -> None:
        while not self._closed or self._unsynced:
            self._written.wait()
            self._written.clear()
            while self._unsynced:
                try:
                    self.sync(self._unsynced.pop())
                except FileNotFoundError:
                    pass  # moved meanwhile, and synced with that
                except OSError:
                    log.exception("The disk does not take what is written.")

    def _descriptor(self, run: str) -> int:
        """The run's file, open for writing, at the beginning of a line."""
        if run not in self._open:
            path = self._written_to(run)
            flags = os.O_RDWR | os.O_CREAT | os.O_APPEND
            self._open[run] = descriptor = os.open(path, flags, 0o600)
            length = os.fstat(descriptor).st_size
            if length and os.pread(descriptor, 1, length - 1) != b"\n":
                os.write(descriptor, b"\n")  # a crash has torn the last line
            if path.parent == self._folder:
                self._waiting.setdefault(run)
        return self._open[run]

    def _close(self, run: str) -> None:
        if run in self._open:
            os.close(self._open.pop(run))

    def _written_to(self, run: str) -> Path:
        """The run's file: what follows on a refusal is kept with the refused."""
        refused = self._path("refused", run)
        return refused if refused.exists() else self._path("", run)

    def _path(self, where: str, run: str) -> Path:
        return self._folder / where / f"{run}.jsonl"


def encoded(value: object) -> bytes:
    """Anything as JSON, as far as JSON has words for it."""
    return msgspec.json.encode(value, enc_hook=_plain)


def _time(document: Document) -> float:
    """When a document was made; a page is as old as its last event."""
    match document.get("time"):
        case [*_, last]:
            return number(last) or 0.0
        case time:
            return number(time) or 0.0


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _plain(value: Any) -> Any:
    """What JSON has no word for: a number of numpy is a number, anything else is left out."""
    if value is None:
        raise TypeError("a key is no text")
    return value.item() if getattr(value, "shape", None) == () else None
