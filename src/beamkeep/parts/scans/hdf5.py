"""Looks into an HDF5 file without following it anywhere: bounded, and never beyond the file."""

from collections.abc import Iterator
from io import BytesIO, FileIO
from math import isfinite, prod
from typing import NamedTuple

import h5py
import numpy as np
from h5py import h5a, h5d, h5g, h5l, h5o, h5s, h5t

MOST_LINKS = 10_000
MOST_SOFT_LINKS = 8
MOST_FILES = 1_000
MOST_ELEMENTS = 1 << 20
MOST_READ = 4 << 20
"""How many elements are read of a file. A file may name the same elements many times."""
MOST_CHUNK_BYTES = 64 << 20
MOST_TEXT_BYTES = 64 << 10
MOST_TEXT = 1_000
SIGNATURE = b"\x89HDF\r\n\x1a\n"
MARKED_OPEN = 0b101  # open for writing, or for one writer and many readers

type Object = h5g.GroupID | h5d.DatasetID
LIBRARY_ERRORS = (OSError, RuntimeError, KeyError, ValueError, TypeError)
"""What h5py raises when a part of a file is damaged."""


class ScanError(Exception):
    """The file is not a scan that can be read; the text says why."""


class BeingWrittenError(Exception):
    """The file is marked as open for writing."""


class Unreadable(Exception):
    """A value is there and cannot be read."""


class Elsewhere(NamedTuple):
    """A link to an object of another file."""

    file: str
    path: str


class Frames(NamedTuple):
    """The shape and type of stacked frames, and the files they are in."""

    shape: tuple[int, ...]
    dtype: str
    files: tuple[str, ...] = ()


class ScanFile:
    """An HDF5 file that is open already, by its bytes."""

    def __init__(self, held: FileIO | BytesIO) -> None:
        """Raise BeingWrittenError when a writer has the file open, ScanError when it is no HDF5."""
        self._bytes = held
        self._links, self._elements = MOST_LINKS, MOST_READ
        _require_closed(self._bytes)
        try:
            self._file = h5py.File(self._bytes, "r")
            self.root = h5g.open(self._file.id, b"/")
        except LIBRARY_ERRORS:
            raise ScanError("The file is not HDF5, or it is damaged.") from None

    def close(self) -> None:
        self._file.close()
        self._bytes.close()

    def names(self, group: h5g.GroupID) -> Iterator[str]:
        """Return the names of the links in a group."""
        found = list[bytes]()

        def seen(name: bytes) -> bool | None:
            found.append(name)
            return True if len(found) > self._links else None

        group.links.iterate(seen)
        self._look(len(found))
        return iter([name.decode("utf-8", "replace") for name in found])

    def find(self, group: h5g.GroupID, path: str) -> Object | Elsewhere | None:
        """Return the object at a path, where a link leads out of the file, or None."""
        wanted = [part for part in path.split("/") if part not in {"", "."}]
        here: Object = self.root if path.startswith("/") else group
        soft = 0
        while wanted:
            name = wanted.pop(0).encode()
            self._look(1)
            if not isinstance(here, h5g.GroupID) or not here.links.exists(name):
                return None
            kind = here.links.get_info(name).type
            if kind == h5l.TYPE_EXTERNAL:
                file, inner = here.links.get_val(name)
                rest = "/".join([inner.decode().rstrip("/"), *wanted])
                return Elsewhere(file.decode(), rest)
            if kind == h5l.TYPE_SOFT:
                soft += 1
                if soft > MOST_SOFT_LINKS:
                    raise ScanError(f"More than {MOST_SOFT_LINKS} soft links follow each other.")
                target = here.links.get_val(name).decode()
                here = self.root if target.startswith("/") else here
                wanted = [part for part in target.split("/") if part not in {"", "."}] + wanted
                continue
            if kind != h5l.TYPE_HARD:
                raise ScanError("The file has links of a kind that only its writer can follow.")
            found = h5o.open(here, name)
            if not isinstance(found, h5g.GroupID | h5d.DatasetID):
                return None
            here = found
        return here

    def text(self, group: h5g.GroupID, path: str) -> str | None:
        """Return a text, or the first of several; None if absent. Raise Unreadable."""
        found = self._plain(group, path)
        if found is None:
            return None
        self._spend(_first_size(found))
        return _text(found, found.get_type(), found.get_space())

    def numbers(self, group: h5g.GroupID, path: str) -> np.ndarray | None:
        """Return an array of numbers in one row; None if absent. Raise Unreadable."""
        found = self._plain(group, path)
        if found is None:
            return None
        _require_number(found.get_type())
        self._spend(max(prod(found.get_space().shape), _first_size(found)))
        values = np.empty(found.get_space().shape, dtype=np.float64)
        try:
            found.read(h5s.ALL, h5s.ALL, values)
        except LIBRARY_ERRORS:
            raise Unreadable(path) from None
        return values.reshape(-1)

    def number(self, group: h5g.GroupID, path: str) -> float | None:
        """Return a finite number, or the first of several; None if absent. Raise Unreadable."""
        found = self._plain(group, path)
        if found is None:
            return None
        _require_number(found.get_type())
        self._spend(_first_size(found))
        value = np.empty((1,), dtype=np.float64)
        _read_first(found, value)
        if not isfinite(value[0]):
            raise Unreadable(path)
        return float(value[0])

    def attribute(self, holder: Object, name: str) -> str | None:
        """Return the text of an attribute; None if absent. Raise Unreadable."""
        try:
            if not h5a.exists(holder, name.encode()):
                return None
            found = h5a.open(holder, name.encode())
            self._spend(prod(found.get_space().shape))
            return _text(found, found.get_type(), found.get_space())
        except LIBRARY_ERRORS:
            raise Unreadable(name) from None

    def units(self, group: h5g.GroupID, path: str) -> str | None:
        """Return the units of a dataset; None if it states none. Raise Unreadable."""
        found = self.find(group, path)
        return self.attribute(found, "units") if isinstance(found, h5d.DatasetID) else None

    def frames(self, dataset: h5d.DatasetID) -> Frames:
        """Return the shape of frames and, if they are virtual, the files that contain them."""
        made = dataset.get_create_plist()
        files = dict[str, None]()
        if made.get_layout() == h5d.VIRTUAL:
            mapped = made.get_virtual_count()
            self._look(mapped)
            for index in range(mapped):
                file, source = made.get_virtual_filename(index), made.get_virtual_dsetname(index)
                if "%" in file or "%" in source:
                    raise ScanError("Virtual frames name their files by a pattern.")
                for space in (made.get_virtual_vspace(index), made.get_virtual_srcspace(index)):
                    _require_end(space)
                files |= {} if file == "." else {file: None}
        elif made.get_external_count():
            raise ScanError("Frames are stored outside the file, as raw bytes of another file.")
        elif dataset.get_storage_size() == 0:
            raise ScanError("The frames were never written.")
        type = dataset.get_type()
        if not isinstance(type, h5t.TypeIntegerID | h5t.TypeFloatID):
            raise ScanError("The frames are not numbers.")
        return Frames(dataset.get_space().shape, type.dtype.name, tuple(files))

    def _plain(self, group: h5g.GroupID, path: str) -> h5d.DatasetID | None:
        """Return a small dataset that is in this file; None if absent. Raise Unreadable."""
        try:
            found = self.find(group, path)
            if found is None:
                return None
            if not isinstance(found, h5d.DatasetID) or not _is_small(found):
                raise Unreadable(path)
        except LIBRARY_ERRORS:
            raise Unreadable(path) from None
        return found

    def _spend(self, elements: int) -> None:
        self._elements -= elements
        if self._elements < 0:
            raise ScanError(f"Reading the file takes more than {MOST_READ} elements.")

    def _look(self, links: int) -> None:
        self._links -= links
        if self._links < 0:
            raise ScanError(f"The file has more than {MOST_LINKS} links to look at.")


def _require_closed(file: FileIO | BytesIO) -> None:
    """Raise BeingWrittenError when the superblock is marked, ScanError when there is none."""
    start, size = 0, file.seek(0, 2)
    while start < size:
        file.seek(start)
        head = file.read(12) or b""
        if head.startswith(SIGNATURE) and len(head) == 12:
            if head[8] >= 2 and head[11] & MARKED_OPEN:
                raise BeingWrittenError
            return
        start = start * 2 or 512
    raise ScanError("The file is not HDF5, or it is damaged.")


def _is_small(dataset: h5d.DatasetID) -> bool:
    made, space, width = dataset.get_create_plist(), dataset.get_space(), dataset.get_type()
    layout = made.get_layout()
    if layout == h5d.VIRTUAL or made.get_external_count():
        return False
    if space.get_simple_extent_type() == h5s.NULL or not 1 <= prod(space.shape) <= MOST_ELEMENTS:
        return False
    chunk_bytes = _first_size(dataset) * width.get_size()
    return width.get_size() <= MOST_TEXT_BYTES and chunk_bytes <= MOST_CHUNK_BYTES


def _first_size(dataset: h5d.DatasetID) -> int:
    """Return how many elements are read to have the first: those of its chunk."""
    made = dataset.get_create_plist()
    return prod(made.get_chunk()) if made.get_layout() == h5d.CHUNKED else 1


def _require_number(type: h5t.TypeID) -> None:
    if not isinstance(type, h5t.TypeIntegerID | h5t.TypeFloatID):
        raise Unreadable


def _require_end(space: h5s.SpaceID) -> None:
    """Raise ScanError for a selection whose length is found in the files it maps."""
    if space.get_select_type() == h5s.SEL_HYPERSLABS and space.is_regular_hyperslab():
        _, _, count, block = space.get_regular_hyperslab()
        if h5s.UNLIMITED in {*count, *block} or max((*count, *block)) >= (1 << 63):
            raise ScanError("Virtual frames have no fixed end.")


def _text(held: h5d.DatasetID | h5a.AttrID, type: h5t.TypeID, space: h5s.SpaceID) -> str:
    """Return the first text of a dataset or attribute. Raise Unreadable."""
    if not isinstance(type, h5t.TypeStringID) or prod(space.shape) < 1:
        raise Unreadable
    if type.get_size() > MOST_TEXT_BYTES or prod(space.shape) > MOST_ELEMENTS:
        raise Unreadable
    value = np.empty(space.shape if isinstance(held, h5a.AttrID) else (1,), dtype=type.dtype)
    try:
        if isinstance(held, h5a.AttrID):
            held.read(value)
        else:
            _read_first(held, value)
    except LIBRARY_ERRORS:
        raise Unreadable from None
    first = value.reshape(-1)[0]
    if not isinstance(first, bytes):
        raise Unreadable
    try:
        return first.partition(b"\0")[0].decode()[:MOST_TEXT].strip()
    except UnicodeDecodeError:
        raise Unreadable from None


def _read_first(dataset: h5d.DatasetID, into: np.ndarray) -> None:
    space = dataset.get_space()
    if space.shape:
        zeros, ones = (0,) * len(space.shape), (1,) * len(space.shape)
        space.select_hyperslab(zeros, ones)
        dataset.read(h5s.create_simple((1,)), space, into)
    else:
        dataset.read(h5s.create_simple((1,)), space, into)
