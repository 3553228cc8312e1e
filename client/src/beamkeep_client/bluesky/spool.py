"""The documents on disk: one file for each run until the run is delivered or refused."""

import fcntl
import logging
import os
from collections.abc import Iterator
from pathlib import Path
from threading import Event, Lock, Thread
from typing import Any, NamedTuple

import msgspec

from .translation import Document, number

log: logging.Logger = logging.getLogger("beamkeep_client.bluesky")


class SpoolInUseError(Exception):
    """Another recorder uses this spool. Give each recorder a folder of its own."""


class SpoolEntry(NamedTuple):
    """One line of a run's file: a document, or how far the documents before it were delivered."""

    end: int
    name: str
    document: dict[str, Any]


class Spool:
    """A folder of documents, used by one recorder at a time.

    The file of a refused run moves to `refused`; that of a delivered run moves to `delivered` and
    is emptied. A thread syncs the files to disk, several lines at once if the disk is slow.
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
            raise SpoolInUseError(folder) from None
        self._lock, self._closed = Lock(), False
        self._open: dict[str, int] = {}
        self._waiting: dict[str, None] = {}
        self._unsynced, self._written = set[str](), Event()
        self._take_over()
        self._syncing = Thread(target=self._sync_all, name="beamkeep-bluesky-disk", daemon=True)
        self._syncing.start()

    def waiting(self) -> list[str]:
        """Return the runs to deliver, oldest first."""
        return list(self._waiting)

    def append(self, run: str, name: str, document: Document | msgspec.Raw) -> None:
        """Append a line to a run's file, complete or not at all; it survives a crash."""
        line = encoded((name, document)) + b"\n"
        with self._lock:
            if self._closed:
                raise ValueError("The recorder is closed.")
            if self._path("delivered", run).exists():
                log.debug("A late or repeated %s document of run %s is ignored.", name, run)
                return
            descriptor = self._descriptor(run)
            length = os.fstat(descriptor).st_size
            try:
                if os.write(descriptor, line) < len(line):
                    raise OSError("The line was written only in part.")
            except OSError:
                os.ftruncate(descriptor, length)
                raise
            if name in ("stop", "delivered"):
                self._close(run)  # hundreds of runs may wait; a later line opens the file again
            self._unsynced.add(run)
        self._written.set()

    def sync(self, run: str) -> None:
        """Wait until all lines of a run are synced to disk."""
        path = self._written_to(run)
        _sync(path)
        _sync(path.parent)

    def entries(self, run: str, offset: int = 0) -> Iterator[SpoolEntry]:
        """Yield the complete, readable lines of a run's file from an offset on."""
        with self._path("", run).open("rb") as file:
            file.seek(offset)
            for text in file:
                offset += len(text)
                if not text.endswith(b"\n"):
                    return
                try:
                    name, document = msgspec.json.decode(text, type=tuple[str, dict[str, Any]])
                except msgspec.DecodeError:
                    log.warning("An unreadable line of run %s is skipped: %r", run, text[:200])
                else:
                    yield SpoolEntry(offset, name, document)

    def move(self, run: str, where: str) -> None:
        """Move a run's file to the folder `delivered` or `refused`."""
        with self._lock:
            self._waiting.pop(run, None)
            self._close(run)
            moved = self._path("", run).rename(self._path(where, run))
            if where == "delivered":
                os.truncate(moved, 0)
        for path in (moved, moved.parent, self._folder):
            _sync(path)

    def close(self) -> None:
        """Close all files and release the folder for another recorder."""
        with self._lock:
            self._closed = True
            for run in list(self._open):
                self._close(run)
        self._written.set()
        self._syncing.join(5)
        os.close(self._held)

    def _take_over(self) -> None:
        """Find the runs of an earlier recorder; those without an end were interrupted."""
        found: dict[str, float] = {}
        for run in [path.stem for path in self._folder.glob("*.jsonl")]:
            is_ended, last = False, 0.0
            for entry in self.entries(run):
                is_ended = is_ended or entry.name in ("stop", "interrupted")
                last = max(last, time := _time(entry.document))
                if entry.name == "start":
                    found.setdefault(run, time)
            if run not in found:
                log.error("Run %s has no start document and is moved to the folder refused.", run)
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
                    pass  # the file was moved, and synced then
                except OSError:
                    log.exception("The spool cannot be synced to disk.")

    def _descriptor(self, run: str) -> int:
        """Return the descriptor of a run's file, open for writing at the start of a line."""
        if run not in self._open:
            path = self._written_to(run)
            flags = os.O_RDWR | os.O_CREAT | os.O_APPEND
            self._open[run] = descriptor = os.open(path, flags, 0o600)
            length = os.fstat(descriptor).st_size
            if length and os.pread(descriptor, 1, length - 1) != b"\n":
                os.write(descriptor, b"\n")  # a crash cut off the last line
            if path.parent == self._folder:
                self._waiting.setdefault(run)
        return self._open[run]

    def _close(self, run: str) -> None:
        if run in self._open:
            os.close(self._open.pop(run))

    def _written_to(self, run: str) -> Path:
        """Return a run's file; later documents of a refused run go to the folder refused."""
        refused = self._path("refused", run)
        return refused if refused.exists() else self._path("", run)

    def _path(self, where: str, run: str) -> Path:
        return self._folder / where / f"{run}.jsonl"


def encoded(value: object) -> bytes:
    """Return a value as JSON; null replaces what JSON cannot express."""
    return msgspec.json.encode(value, enc_hook=_json_value)


def _time(document: Document) -> float:
    """Return the time of a document; the time of a page is that of its last event."""
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


def _json_value(value: Any) -> Any:
    """Return a NumPy number as a number, anything else as None."""
    if value is None:
        raise TypeError("A key is not a string.")
    return value.item() if getattr(value, "shape", None) == () else None
