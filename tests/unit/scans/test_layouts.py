"""Scan files as beamlines write them are read with the right facts."""

import asyncio
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from beamkeep.adapters.files.data_roots import DataRoots
from beamkeep.contexts.data.scan_file import (
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
from beamkeep.kernel import Refusal
from beamkeep.parts.scans.reading import ScanReader

from . import files

LATER = files.SETTLED + 60


def read(path: Path, roots: Path | None = None, **more: Any) -> ScanReading:
    """Return what the service reads of a file beneath its folder."""
    hashed, clock = more.pop("most_hashed", 1 << 30), more.pop("clock", lambda: LATER)
    asked: dict[str, Any] = {"entry": None, "checksum": None, "parts": ()} | more

    async def reading() -> ScanReading:
        reader = ScanReader(DataRoots([roots or path.parent]), 5, hashed, clock=clock)
        return await reader.read(ReadScanFile(path.as_uri(), **asked))

    return asyncio.run(reading())


def refused(refusal: type[Refusal], path: Path, **more: Any) -> str:
    """Return in which words a file is refused."""
    with pytest.raises(refusal) as caught:
        read(path, **more)
    return str(caught.value)


def only(reading: ScanReading) -> ScanEntry:
    (entry,) = reading.entries
    return entry


def sum_of(path: Path) -> str:
    return sha256(path.read_bytes()).hexdigest()


def test_nxtomo_is_read_as_its_own_library_writes_it(tmp_path: Path) -> None:
    path = files.nxtomo(tmp_path / "leaf.nx")
    reading = read(path)
    entry = only(reading)
    assert (reading.layout, reading.uri, reading.parts) == ("NXtomo", path.as_uri(), ())
    assert reading.checksum == Checksum(ChecksumAlgorithm.SHA256, sum_of(path))
    assert reading.byte_size == path.stat().st_size
    assert (entry.entry, entry.title) == ("entry0000", "Leaf, wet")
    assert entry.start == "2026-03-01T08:00:00+00:00"
    assert entry.end == "2026-03-01T08:10:00+00:00"
    assert entry.settings == {
        "exposure_time": 0.25,
        "energy": 19.0,
        "pixel_size_x": pytest.approx(6.5),
        "pixel_size_y": pytest.approx(6.5),
    }
    assert entry.evidence == {
        "frame_shape": [4, 6],
        "frame_count": 5,
        "dtype": "uint16",
        "projection_count": 3,
        "flat_count": 1,
        "dark_count": 1,
        "invalid_count": 0,
        "alignment_count": 0,
        "angle_count": 3,
        "angle_first": 0.0,
        "angle_last": 180.0,
    }


def test_a_file_with_two_entries_tells_of_both(tmp_path: Path) -> None:
    reading = read(files.two_entries(tmp_path / "two.nx"))
    assert [(each.entry, each.evidence["frame_count"]) for each in reading.entries] == [
        ("entry1", 2),
        ("entry2", 4),
    ]
    assert reading.parts == ()


def test_one_of_two_entries_is_chosen_by_its_path(tmp_path: Path) -> None:
    path = files.two_entries(tmp_path / "two.nx")
    assert only(read(path, entry="/entry2")).entry == "entry2"
    assert "no scan at 'entry3'" in refused(InvalidScanFileError, path, entry="entry3")


def test_virtual_frames_are_read_with_their_files_as_parts(tmp_path: Path) -> None:
    path = files.virtual(tmp_path / "scan.nx")
    reading = read(path)
    entry = only(reading)
    names = ["scan.nx", "scan/frames_0000.h5", "scan/frames_0001.h5"]
    assert sorted(part.path for part in reading.parts) == names
    for part in reading.parts:
        found = tmp_path / part.path
        assert (part.sha256, part.byte_size) == (sum_of(found), found.stat().st_size)
    assert reading.uri == f"{tmp_path.as_uri()}/"
    assert reading.master == "scan.nx"
    tree = Checksum(ChecksumAlgorithm.SHA256_TREE, tree_digest(reading.parts))
    assert reading.checksum == tree
    assert entry.evidence["frame_count"] == 6
    assert entry.evidence["frame_shape"] == [4, 4]
    assert entry.evidence["angle_last"] == 150.0


def test_linked_frames_of_a_subentry_are_read_in_their_own_file(tmp_path: Path) -> None:
    entry = only(reading := read(files.linked(tmp_path / "i13-1.nxs")))
    assert sorted(part.path for part in reading.parts) == ["i13-1-pco.h5", "i13-1.nxs"]
    assert entry.entry == "entry1/tomo_entry"
    assert entry.start == "2026-03-01T08:00:00+01:00", "of the entry around it"
    told = [entry.evidence[key] for key in ("frame_count", "frame_shape", "dtype")]
    assert told == [4, [5, 6], "uint16"]
    assert entry.evidence["angle_last"] == pytest.approx(180.0), "from radians"


def test_a_detector_master_is_read_with_its_data_files(tmp_path: Path) -> None:
    entry = only(reading := read(files.master(tmp_path / "lysozyme_master.h5")))
    assert reading.layout == "NXmx"
    assert len(reading.parts) == 4
    assert entry.start == "2026-03-01T08:00:00.250-0500"
    assert entry.evidence == {
        "frame_shape": [4, 7],
        "frame_count": 8,
        "dtype": "uint32",
        "angle_count": 8,
        "angle_first": 0.0,
        "angle_last": pytest.approx(0.7),
        "planned_count": 10,
        "missing_count": 2,
    }
    assert entry.settings == {
        "exposure_time": 0.01,
        "energy": pytest.approx(12.660492),
        "pixel_size_x": pytest.approx(75.0),
        "pixel_size_y": pytest.approx(75.0),
    }


def test_data_exchange_is_read(tmp_path: Path) -> None:
    entry = only(reading := read(files.data_exchange(tmp_path / "exchange.h5")))
    assert (reading.layout, reading.parts) == ("DataExchange", ())
    assert (entry.title, entry.start) == (None, "2026-03-01T08:00:00-0600")
    assert entry.evidence == {
        "frame_shape": [3, 5],
        "frame_count": 4,
        "dtype": "uint8",
        "projection_count": 4,
        "flat_count": 2,
        "dark_count": 1,
        "angle_count": 4,
        "angle_first": 0.0,
        "angle_last": 180.0,
        "planned_count": 6,
        "missing_count": 2,
    }
    assert entry.settings == {
        "exposure_time": pytest.approx(0.15),
        "energy": 25.5,
        "pixel_size_x": 3.45,
        "pixel_size_y": 3.45,
        "sample_pixel_size_x": 0.69,
        "sample_pixel_size_y": 0.69,
    }
    assert "Ada" not in str(reading), "names of people are not read"


def test_what_cannot_be_read_is_named(tmp_path: Path) -> None:
    def spoil(entry: Any) -> None:
        entry["instrument/detector/count_time"] = 1.0
        entry["instrument/detector/count_time"].attrs["units"] = "fortnight"
        entry["sample/x_pixel_size"] = np.nan
        entry["instrument/beam/incident_energy"] = "high"

    entry = only(read(tomography(tmp_path, spoil)))
    assert entry.evidence["unreadable_fields"] == ["exposure_time", "energy", "sample_pixel_size_x"]
    assert entry.settings == {}


def test_lengths_that_disagree_are_refused(tmp_path: Path) -> None:
    def spoil(entry: Any) -> None:
        del entry["sample/rotation_angle"]
        entry["sample/rotation_angle"] = [1.0, 2.0]

    told = refused(InvalidScanFileError, tomography(tmp_path, spoil))
    assert "3 frames and 2 rotation angles" in told


def test_a_scan_without_projection_is_refused(tmp_path: Path) -> None:
    def spoil(entry: Any) -> None:
        entry["instrument/detector/image_key"][...] = 1

    assert "no projection" in refused(InvalidScanFileError, tomography(tmp_path, spoil))


def test_the_image_key_is_required(tmp_path: Path) -> None:
    def spoil(entry: Any) -> None:
        del entry["instrument/detector/image_key"]

    assert "image key" in refused(InvalidScanFileError, tomography(tmp_path, spoil))


def test_two_layouts_in_one_file_are_refused_unless_one_is_named(tmp_path: Path) -> None:
    path = files.two_entries(tmp_path / "two.nx")
    with h5py.File(path, "a") as file:
        del file["entry2/definition"]
        file["entry2/definition"] = "NXmx"
        file["entry2/data/data"] = file["entry2/instrument/detector/data"]
    files.settle(path)
    assert "several layouts: NXmx, NXtomo" in refused(InvalidScanFileError, path)
    assert read(path, entry="entry2").layout == "NXmx"


def test_a_file_after_a_user_block_is_read(tmp_path: Path) -> None:
    path = tmp_path / "block.nx"
    with h5py.File(path, "w", userblock_size=1024) as file:
        scan(file)
    files.settle(path)
    assert only(read(path)).evidence["frame_count"] == 3


def test_a_file_that_was_just_modified_is_still_being_written(tmp_path: Path) -> None:
    path = files.two_entries(tmp_path / "two.nx")
    told = refused(ScanFileUnstableError, path, clock=lambda: files.SETTLED + 4.9)
    assert "less than 5 seconds ago" in told


def test_a_part_that_was_just_modified_is_still_being_written(tmp_path: Path) -> None:
    path = files.linked(tmp_path / "linked.nxs")
    (tmp_path / "linked-pco.h5").touch()
    assert "linked-pco.h5" in refused(ScanFileUnstableError, path)


def test_a_file_that_its_writer_has_open_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "live.nx"
    with h5py.File(path, "w", libver="latest") as file:
        scan(file)
        file.flush()
        file.swmr_mode = True
        files.settle(path)
        told = refused(ScanFileUnstableError, path)
    assert "h5clear" in told
    files.settle(path)
    assert read(path).layout == "NXtomo", "when the writer has closed it"


def test_a_file_that_changes_while_it_is_read_is_refused(tmp_path: Path) -> None:
    path, looked = files.two_entries(tmp_path / "two.nx"), list[int]()

    def clock() -> float:
        if len(looked) == 1:
            path.write_bytes(path.read_bytes() + b"\0")
            files.settle(path)
        looked.append(1)
        return LATER

    assert "changed while it was read" in refused(ScanFileUnstableError, path, clock=clock)


def test_a_file_that_is_missing_is_not_found(tmp_path: Path) -> None:
    assert "nothing.nx" in refused(ScanFileNotFoundError, tmp_path / "nothing.nx")


def test_a_part_that_is_missing_is_named(tmp_path: Path) -> None:
    path = files.linked(tmp_path / "linked.nxs")
    (tmp_path / "linked-pco.h5").unlink()
    assert "'linked-pco.h5' does not exist" in refused(ScanFileNotFoundError, path)


def test_a_part_by_an_absolute_name_is_found_next_to_the_file_that_was_moved(
    tmp_path: Path,
) -> None:
    path = files.linked(tmp_path / "linked.nxs")
    with h5py.File(path, "a") as file:
        detector: Any = file["entry1/tomo_entry/instrument/detector"]
        del detector["data"]
        old = "/ramdisk/linked-pco.h5"
        detector["data"] = h5py.ExternalLink(old, "entry/instrument/detector/data")
    files.settle(path)
    assert len(read(path).parts) == 2


def test_a_file_outside_the_data_roots_is_refused(tmp_path: Path) -> None:
    (inside := tmp_path / "inside").mkdir()
    path = files.two_entries(tmp_path / "two.nx")
    refused(InvalidScanLocatorError, path, roots=inside)
    (inside / "link.nx").symlink_to(path)
    refused(InvalidScanLocatorError, inside / "link.nx")


def test_a_part_outside_the_data_roots_is_refused(tmp_path: Path) -> None:
    (inside := tmp_path / "inside").mkdir()
    path = files.linked(inside / "linked.nxs")
    with h5py.File(path, "a") as file:
        detector: Any = file["entry1/tomo_entry/instrument/detector"]
        del detector["data"]
        detector["data"] = h5py.ExternalLink("../linked-pco.h5", "entry/instrument/detector/data")
    files.settle(path)
    (inside / "linked-pco.h5").rename(tmp_path / "linked-pco.h5")
    assert "'../linked-pco.h5'" in refused(InvalidScanLocatorError, path)


def test_a_checksum_of_the_writer_is_taken_and_nothing_is_hashed(tmp_path: Path) -> None:
    path = files.two_entries(tmp_path / "two.nx")
    given = Checksum(ChecksumAlgorithm.SHA256, "0" * 64)
    assert read(path, checksum=given, most_hashed=0).checksum == given
    told = refused(InvalidScanChecksumError, path, most_hashed=10)
    assert "at most 10" in told


def test_parts_of_the_writer_must_be_the_files_that_were_found(tmp_path: Path) -> None:
    path = files.linked(tmp_path / "linked.nxs")
    found = read(path)
    assert read(path, checksum=found.checksum, parts=found.parts, most_hashed=0) == found
    fewer = found.parts[:1]
    tree = Checksum(ChecksumAlgorithm.SHA256_TREE, tree_digest(fewer))
    told = refused(InvalidScanChecksumError, path, checksum=tree, parts=fewer)
    assert "linked-pco.h5" in told
    longer = tuple(DatasetPart(p.path, p.byte_size + 1, p.sha256) for p in found.parts)
    refused(InvalidScanChecksumError, path, checksum=found.checksum, parts=longer)
    refused(InvalidScanChecksumError, path, checksum=tree, parts=found.parts)
    alone = Checksum(ChecksumAlgorithm.SHA256, "0" * 64)
    refused(InvalidScanChecksumError, path, checksum=alone)


def scan(file: h5py.File) -> Any:
    """Add an entry with three frames."""
    entry = files.entry_of(file)
    files.tomography(entry, [0, 0, 0], [0.0, 1.0, 2.0])
    entry["instrument/detector/data"] = np.zeros((3, 2, 2), "u2")
    return entry


def tomography(folder: Path, spoil: Callable[[Any], None]) -> Path:
    """Return a file with one entry that was changed after it was written."""
    path = folder / "scan.nx"
    with h5py.File(path, "w") as file:
        spoil(scan(file))
    files.settle(path)
    return path
