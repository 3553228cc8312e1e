"""Hostile files are refused in words; nothing is read outside the file, and the limits hold."""

import os
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from h5py import h5d, h5p, h5s, h5t

from beamkeep.contexts.data.scan_file import (
    InvalidScanFileError,
    InvalidScanLocatorError,
    ScanFileNotFoundError,
)
from beamkeep.kernel import Refusal
from beamkeep.parts.scans.hdf5 import MOST_READ

from . import files
from .test_layouts import only, read, refused, scan

OBJECTS = int(os.environ.get("BEAMKEEP_SCAN_OBJECTS") or 50_000)
CANARY = "canary-7f3a91"
type Spoil = Callable[[Any, Path], None]


@pytest.fixture
def canary(tmp_path: Path) -> Path:
    """A file outside the data roots whose content must never be told."""
    path = tmp_path / "canary.h5"
    with h5py.File(path, "w") as file:
        entry = scan(file)
        del entry["title"]
        entry["title"] = CANARY
        file["numbers"] = np.zeros((3, 2, 2))
    files.settle(path)
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (inside := tmp_path / "inside").mkdir()
    return inside


def spoiled(folder: Path, spoil: Spoil, canary: Path, **opened: Any) -> Path:
    path = folder / "scan.nx"
    with h5py.File(path, "w", **opened) as file:
        spoil(scan(file), canary)
    files.settle(path)
    return path


def frames(entry: Any, made: Callable[[Any], object]) -> None:
    """Replace the frames of an entry."""
    del entry["instrument/detector/data"]
    made(entry["instrument/detector"])


def angles(entry: Any, made: Callable[[Any], object]) -> None:
    """Replace the angles of an entry."""
    del entry["sample/rotation_angle"]
    made(entry["sample"])


def external_frames(entry: Any, canary: Path) -> None:
    where = [(str(canary), 0, 24)]
    frames(entry, lambda it: it.create_dataset("data", (3, 2, 2), "u2", external=where))


def external_angles(entry: Any, canary: Path) -> None:
    where = [(str(canary), 0, 24)]
    angles(entry, lambda it: it.create_dataset("rotation_angle", (3,), "f8", external=where))


def linked_angles(entry: Any, canary: Path) -> None:
    link = h5py.ExternalLink(str(canary), "/numbers")
    angles(entry, lambda it: it.__setitem__("rotation_angle", link))


def linked_title(entry: Any, canary: Path) -> None:
    del entry["title"]
    entry["title"] = h5py.ExternalLink(str(canary), "/entry/title")


def linked_frames(entry: Any, canary: Path) -> None:
    link = h5py.ExternalLink(str(canary), "/numbers")
    frames(entry, lambda it: it.__setitem__("data", link))


def linked_password_file(entry: Any, canary: Path) -> None:
    link = h5py.ExternalLink("/etc/passwd", "/numbers")
    frames(entry, lambda it: it.__setitem__("data", link))


def climbing_frames(entry: Any, canary: Path) -> None:
    link = h5py.ExternalLink("../canary.h5", "/numbers")
    frames(entry, lambda it: it.__setitem__("data", link))


def virtual_frames(entry: Any, canary: Path) -> None:
    layout = h5py.VirtualLayout(shape=(3, 2, 2), dtype="f8")
    layout[:] = h5py.VirtualSource(str(canary), "numbers", shape=(3, 2, 2))
    frames(entry, lambda it: it.create_virtual_dataset("data", layout))


def virtual_angles(entry: Any, canary: Path) -> None:
    layout = h5py.VirtualLayout(shape=(3,), dtype="f8")
    layout[:] = h5py.VirtualSource(str(canary), "numbers", shape=(3, 2, 2))[:, 0, 0]
    angles(entry, lambda it: it.create_virtual_dataset("rotation_angle", layout))


def patterned_frames(entry: Any, canary: Path) -> None:
    whole, made = (
        h5s.create_simple((3, 2, 2), (h5s.UNLIMITED, 2, 2)),
        h5p.create(h5p.DATASET_CREATE),
    )
    whole.select_hyperslab((0, 0, 0), (h5s.UNLIMITED, 1, 1), (1, 1, 1), (1, 2, 2))
    made.set_virtual(whole, b"part-%b.h5", b"numbers", h5s.create_simple((1, 2, 2)))
    frames(entry, lambda it: h5d.create(it.id, b"data", h5t.NATIVE_DOUBLE, whole, made))


def endless_frames(entry: Any, canary: Path) -> None:
    layout = h5py.VirtualLayout(shape=(3, 2, 2), dtype="f8", maxshape=(None, 2, 2))
    source = h5py.VirtualSource("part.h5", "numbers", shape=(3, 2, 2), maxshape=(None, 2, 2))
    layout[0 : h5s.UNLIMITED] = source[0 : h5s.UNLIMITED]
    frames(entry, lambda it: it.create_virtual_dataset("data", layout))


def unwritten_frames(entry: Any, canary: Path) -> None:
    shape = (20_000, 2_000, 1_000)
    frames(entry, lambda it: it.create_dataset("data", shape, "u2"))


def enormous_angles(entry: Any, canary: Path) -> None:
    angles(entry, lambda it: it.create_dataset("rotation_angle", (10**10,), "f8"))


def angles_in_a_huge_chunk(entry: Any, canary: Path) -> None:
    more = {"chunks": (1 << 24,), "maxshape": (None,), "compression": "gzip"}
    angles(entry, lambda it: it.create_dataset("rotation_angle", data=[0.0, 1.0, 2.0], **more))


def bomb(entry: Any, canary: Path) -> None:
    """A chunk of 24 bytes that decompresses to more than a process may have."""

    def made(sample: Any) -> None:
        dataset = sample.create_dataset("rotation_angle", (3,), "f8", chunks=(3,), compression=9)
        press, zeros = zlib.compressobj(1), bytes(1 << 24)
        packed = b"".join(press.compress(zeros) for _ in range(80)) + press.flush()
        dataset.id.write_direct_chunk((0,), packed)

    angles(entry, made)


def frames_of_records(entry: Any, canary: Path) -> None:
    kind = np.dtype([("x", "f8"), ("y", "f8")])
    frames(entry, lambda it: it.create_dataset("data", data=np.zeros((3, 2, 2), kind)))


def soft_links_in_a_circle(entry: Any, canary: Path) -> None:
    def made(detector: Any) -> None:
        detector["data"], detector["back"] = h5py.SoftLink("back"), h5py.SoftLink("data")

    frames(entry, made)


def many_objects(entry: Any, canary: Path) -> None:
    root = entry.file.id.links
    for number in range(OBJECTS):
        root.create_soft(b"%d" % number, b"/entry")


def deep_groups(entry: Any, canary: Path) -> None:
    entry["instrument/deep"] = entry["instrument"]  # the group contains itself
    deep = "/entry/instrument" + "/deep" * 12_000 + "/detector/frames"
    entry["instrument/detector/frames"] = np.zeros((3, 2, 2))
    frames(entry, lambda it: it.__setitem__("data", h5py.SoftLink(deep)))


REFUSED: tuple[tuple[Spoil, type[Refusal], str], ...] = (
    (external_frames, InvalidScanFileError, "stored outside the file"),
    (external_angles, InvalidScanFileError, "rotation angles are missing or cannot be read"),
    (linked_angles, InvalidScanFileError, "rotation angles are missing or cannot be read"),
    (virtual_angles, InvalidScanFileError, "rotation angles are missing or cannot be read"),
    (enormous_angles, InvalidScanFileError, "rotation angles are missing or cannot be read"),
    (angles_in_a_huge_chunk, InvalidScanFileError, "rotation angles are missing"),
    (bomb, InvalidScanFileError, "rotation angles are missing or cannot be read"),
    (linked_frames, ScanFileNotFoundError, "'canary.h5' does not exist"),
    (linked_password_file, ScanFileNotFoundError, "'passwd' does not exist"),
    (climbing_frames, InvalidScanLocatorError, "'../canary.h5'"),
    (virtual_frames, ScanFileNotFoundError, "'canary.h5' does not exist"),
    (patterned_frames, InvalidScanFileError, "by a pattern"),
    (endless_frames, InvalidScanFileError, "no fixed end"),
    (unwritten_frames, InvalidScanFileError, "never written"),
    (frames_of_records, InvalidScanFileError, "not numbers"),
    (soft_links_in_a_circle, InvalidScanFileError, "More than 8 soft links"),
    (many_objects, InvalidScanFileError, "more than 10000 links"),
    (deep_groups, InvalidScanFileError, "more than 10000 links"),
)


@pytest.mark.parametrize(
    ("spoil", "refusal", "told"), REFUSED, ids=[it[0].__name__ for it in REFUSED]
)
def test_a_hostile_file_is_refused(
    spoil: Spoil, refusal: type[Refusal], told: str, folder: Path, canary: Path
) -> None:
    said = refused(refusal, spoiled(folder, spoil, canary, libver="latest"))
    assert told in said
    assert CANARY not in said


def test_a_title_in_another_file_is_not_read(folder: Path, canary: Path) -> None:
    reading = read(spoiled(folder, linked_title, canary))
    assert only(reading).title is None
    assert CANARY not in str(reading)


def test_the_same_frames_are_read_when_they_are_beneath_the_data_roots(
    folder: Path, canary: Path
) -> None:
    """The refusals above are of the place, not of the link."""
    path = spoiled(folder, climbing_frames, canary)
    assert len(read(path, roots=folder.parent).parts) == 2


def test_an_enormous_text_is_cut(folder: Path, canary: Path) -> None:
    def spoil(entry: Any, canary: Path) -> None:
        del entry["title"]
        entry["title"] = "x" * (20 << 20)

    assert only(read(spoiled(folder, spoil, canary))).title == "x" * 1_000


CONTENTS = {
    "empty": b"",
    "text": b"not HDF5",
    "signature only": b"\x89HDF\r\n\x1a\n",
    "signature and zeros": b"\x89HDF\r\n\x1a\n" + bytes(4096),
    "zeros": bytes(1 << 20),
}


@pytest.mark.parametrize("content", CONTENTS.values(), ids=CONTENTS)
def test_what_is_not_hdf5_is_refused(content: bytes, folder: Path) -> None:
    (path := folder / "scan.nx").write_bytes(content)
    files.settle(path)
    assert "not HDF5" in refused(InvalidScanFileError, path)


def test_a_file_that_was_cut_off_is_refused(folder: Path) -> None:
    path = files.nxtomo(folder / "scan.nx")
    whole = path.read_bytes()
    for kept in range(0, len(whole), len(whole) // 7):
        path.write_bytes(whole[:kept])
        files.settle(path)
        refused(InvalidScanFileError, path)


def test_a_directory_and_a_pipe_are_no_scan(folder: Path) -> None:
    os.mkfifo(folder / "pipe.nx")
    refused(InvalidScanFileError, folder / "pipe.nx")
    (folder / "scan.nx").mkdir()
    refused(InvalidScanFileError, folder / "scan.nx")


def test_a_small_file_whose_entries_have_the_same_long_rows_is_refused(folder: Path) -> None:
    path = files.repeating(folder / "scan.nx")
    assert path.stat().st_size < 64 << 10
    told = refused(InvalidScanFileError, path)
    assert f"more than {MOST_READ} elements" in told


def test_one_entry_of_as_many_frames_as_can_be_read_is_read(folder: Path) -> None:
    path = files.repeating(folder / "scan.nx", entries=1)
    assert only(read(path)).evidence["frame_count"] == 1 << 20


def test_the_first_element_of_a_large_chunk_counts_as_the_chunk(folder: Path) -> None:
    def pixels(entry: Any, name: str) -> None:
        made = {"chunks": (1 << 20,), "maxshape": (None,), "compression": "gzip"}
        entry.create_dataset(name, data=[1e-6], **made)

    path = folder / "scan.nx"
    with h5py.File(path, "w") as file:
        entry = scan(file)
        for name in ("count_time", "x_pixel_size", "y_pixel_size"):
            pixels(entry, f"instrument/detector/{name}")
        for name in ("x_pixel_size", "y_pixel_size"):
            pixels(entry, f"sample/{name}")
    files.settle(path)
    assert f"more than {MOST_READ} elements" in refused(InvalidScanFileError, path)
