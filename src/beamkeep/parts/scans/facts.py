"""Reads the facts of a scan from an open file, by the table of its layout."""

from collections.abc import Callable
from math import isfinite
from typing import Any

from h5py import h5d

from .entries import EntryGroup, find_entries, text_or_none
from .hdf5 import LIBRARY_ERRORS, MOST_FILES, Elsewhere, Frames, ScanError, ScanFile, Unreadable
from .layouts import ANGSTROM, DATA_EXCHANGE, DEGREES, KEV_ANGSTROM, KINDS, Units

MOST_ENTRIES = 64
MOST_PLANNED = 1 << 53

type OpenPart = Callable[[str], ScanFile]
"""Returns another file by the name that a link gives it."""


def read_scan_file(file: ScanFile, wanted: str | None, open_part: OpenPart) -> dict[str, Any]:
    """Return what a file tells of its scans. Raise ScanError when it is not a scan."""
    found = find_entries(file)
    if wanted is not None:
        found = [entry for entry in found if entry.path == wanted.strip("/")]
        if not found:
            raise ScanError(f"There is no scan at {wanted!r} in the file.")
    if not found:
        raise ScanError("The file has none of the layouts NXtomo, NXmx and Data Exchange.")
    layouts = sorted({entry.layout.name for entry in found})
    if len(layouts) > 1:
        raise ScanError(f"The file has several layouts: {', '.join(layouts)}. Name one entry.")
    if len(found) > MOST_ENTRIES:
        raise ScanError(f"The file has more than {MOST_ENTRIES} entries. Name one of them.")
    readers = [_EntryReader(file, entry, open_part) for entry in found]
    entries = [reader.read() for reader in readers]
    files = {name: None for reader in readers for name in reader.files}
    if len(files) > MOST_FILES:
        raise ScanError(f"The frames are in more than {MOST_FILES} files.")
    return {"layout": layouts[0], "entries": entries, "files": list(files)}


class _EntryReader:
    """Reads one entry; what is there and cannot be read is noted by the name of its fact."""

    def __init__(self, file: ScanFile, entry: EntryGroup, open_part: OpenPart) -> None:
        self._file, self._entry, self._layout = file, entry, entry.layout
        self._open_part = open_part
        self._unreadable = list[str]()
        self.files = dict[str, None]()

    def read(self) -> dict[str, Any]:
        layout, group = self._layout, self._entry.group
        frames = self._frames()
        facts: dict[str, Any] = {
            "frame_shape": list(frames.shape[-2:]),
            "frame_count": frames.shape[0],
            "dtype": frames.dtype,
        }
        if len(frames.shape) == 4:
            facts["channel_count"] = frames.shape[1]
        facts |= self._kinds_and_angles(frames.shape[0])
        planned = self._noted("planned_count", self._planned)
        if planned is not None:
            found = facts.get("projection_count", frames.shape[0])
            facts |= {"planned_count": planned, "missing_count": max(planned - found, 0)}
        settings = {
            key: value
            for key, sources in layout.settings
            for value in [self._noted(key, lambda sources=sources: self._setting(sources))]
            if value is not None
        }
        title = None if layout is DATA_EXCHANGE else text_or_none(self._file, group, "title")
        start = self._noted("start_time", lambda: self._first_text(layout.start))
        end = self._noted("ended_at", lambda: self._first_text(layout.end))
        evidence = facts | ({"unreadable_fields": self._unreadable} if self._unreadable else {})
        return {
            "entry": self._entry.path,
            "title": title,
            "start": start,
            "end": end,
            "settings": settings,
            "evidence": evidence,
        }

    def _frames(self) -> Frames:
        layout = self._layout
        if (found := self._stack(layout.frames)) is None and layout.joined:
            found = self._joined(layout.joined)
        if found is None:
            raise ScanError(f"Entry {self._entry.path!r} has no frames.")
        if len(found.shape) not in layout.ranks:
            raise ScanError(f"The frames have {len(found.shape)} dimensions.")
        if 0 in found.shape:
            raise ScanError(f"Entry {self._entry.path!r} has no frames.")
        return found

    def _joined(self, first: str) -> Frames | None:
        """Return the frames of numbered datasets as one; their shapes but the first must agree."""
        stem, parts = first.removesuffix("000001"), list[Frames]()
        while found := self._stack((f"{stem}{len(parts) + 1:06}",)):
            parts.append(found)
            if found.shape[1:] != parts[0].shape[1:] or found.dtype != parts[0].dtype:
                raise ScanError("The files of the frames differ in shape or type.")
        if not parts:
            return None
        length = sum(part.shape[0] for part in parts if part.shape)
        return parts[0]._replace(shape=(length, *parts[0].shape[1:]))

    def _stack(self, paths: tuple[str, ...]) -> Frames | None:
        """Return the frames at the first path that exists, in this file or in one it links to."""
        for path in paths:
            found = self._file.find(self._entry.group, path)
            if found is None:
                continue
            if isinstance(found, Elsewhere):
                return self._linked(found)
            if not isinstance(found, h5d.DatasetID):
                raise ScanError(f"{path!r} is not a dataset.")
            frames = self._file.frames(found)
            self.files |= dict.fromkeys(frames.files)
            return frames
        return None

    def _linked(self, link: Elsewhere) -> Frames:
        self.files[link.file] = None
        if len(self.files) > MOST_FILES:
            raise ScanError(f"The frames are in more than {MOST_FILES} files.")
        part = self._open_part(link.file)
        try:
            found = part.find(part.root, link.path)
            if isinstance(found, Elsewhere):
                raise ScanError(f"{link.file!r} points to a further file.")
            if not isinstance(found, h5d.DatasetID):
                raise ScanError(f"{link.file!r} has no dataset {link.path!r}.")
            frames = part.frames(found)
            if frames.files:
                raise ScanError(f"{link.file!r} points to further files.")
            return frames
        finally:
            part.close()

    def _kinds_and_angles(self, length: int) -> dict[str, Any]:
        """Return how many frames are of each kind, and the angles of the projections."""
        layout, counts = self._layout, dict[str, Any]()
        angles = self._noted("angle_first", self._angles)
        if not layout.is_tomography:
            return {} if angles is None else _angle_facts(angles)
        shown = [True] * length
        if layout.kinds:
            kinds = self._noted("projection_count", lambda: self._numbers(layout.kinds))
            if kinds is None:
                raise ScanError("The image key is missing or cannot be read.")
            _require_equal("image keys", len(kinds), length)
            counts = {f"{name}_count": kinds.count(key) for key, name in KINDS.items()}
            shown = [kind == 0 for kind in kinds]
        else:
            counts = {"projection_count": length}
            for name, path in (("flat_count", layout.flats), ("dark_count", layout.darks)):
                apart = self._stack((path,)) if path else None
                counts[name] = apart.shape[0] if apart and apart.shape else 0
        if angles is None:
            raise ScanError("The rotation angles are missing or cannot be read.")
        _require_equal("rotation angles", len(angles), length)
        if not any(shown):
            raise ScanError("The file has no projection.")
        projected = [angle for angle, is_shown in zip(angles, shown, strict=True) if is_shown]
        return counts | _angle_facts(projected)

    def _angles(self) -> list[float] | None:
        """Return the angles in degrees, or None if there are none."""
        path = self._existing(self._layout.angles)
        if path is None:
            return None
        factor = self._factor(path, DEGREES, None)
        angles = [angle * factor for angle in self._numbers((path,)) or []]
        if not all(isfinite(angle) for angle in angles):
            raise Unreadable(path)
        return angles

    def _numbers(self, paths: tuple[str, ...]) -> list[float] | None:
        path = self._existing(paths)
        values = None if path is None else self._file.numbers(self._entry.group, path)
        return None if values is None else values.tolist()

    def _planned(self) -> int | None:
        numbers = [self._file.number(self._entry.group, path) for path in self._layout.planned]
        if not numbers or numbers[0] is None:
            return None
        planned = 1
        for number in numbers:
            count = 1 if number is None else number
            if count < 0 or count != int(count):
                raise Unreadable
            planned *= int(count)
        if planned > MOST_PLANNED:
            raise Unreadable
        return planned

    def _setting(self, sources: tuple[Any, ...]) -> float | None:
        for source in sources:
            value = self._file.number(self._entry.group, source.path)
            if value is None:
                continue
            factor = self._factor(source.path, source.units, source.meant)
            value *= factor
            if source.units is ANGSTROM:
                if value <= 0:
                    raise Unreadable
                value = KEV_ANGSTROM / value
            if not isfinite(value):
                raise Unreadable
            return value
        return None

    def _factor(self, path: str, units: Units, meant: str | None) -> float:
        stated = self._file.units(self._entry.group, path)
        unit = meant if stated is None else stated.lower()
        if unit is None:
            return 1.0
        if unit not in units:
            raise Unreadable(path)
        return units[unit]

    def _first_text(self, paths: tuple[str, ...]) -> str | None:
        for group in (self._entry.group, self._entry.above):
            for path in paths if group else ():
                if group and (text := self._file.text(group, path)):
                    return text
        return None

    def _existing(self, paths: tuple[str, ...]) -> str | None:
        group = self._entry.group
        return next((path for path in paths if self._file.find(group, path) is not None), None)

    def _noted[V](self, name: str, read: Callable[[], V | None]) -> V | None:
        try:
            return read()
        except (Unreadable, *LIBRARY_ERRORS):
            self._unreadable.append(name)
            return None


def _angle_facts(angles: list[float]) -> dict[str, Any]:
    if not angles:
        return {}
    return {"angle_count": len(angles), "angle_first": angles[0], "angle_last": angles[-1]}


def _require_equal(what: str, found: int, wanted: int) -> None:
    if found != wanted:
        raise ScanError(f"The file has {wanted} frames and {found} {what}.")
