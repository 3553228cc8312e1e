"""Scan files as beamlines write them."""

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pint
from nxtomo.application.nxtomo import NXtomo

UNITS: Any = pint.get_application_registry()
SETTLED = datetime(2026, 3, 1, tzinfo=UTC).timestamp()
"""When the files were last modified: long enough ago to be complete."""


def settle(*paths: Path) -> None:
    """Date files back, so that they count as complete."""
    for path in paths:
        os.utime(path, (SETTLED, SETTLED))


def nxtomo(path: Path) -> Path:
    """Write NXtomo by its own library: one flat, one dark, three projections."""
    scan = NXtomo()
    scan.title = "Leaf, wet"
    scan.start_time = datetime(2026, 3, 1, 8, 0, 0, tzinfo=UTC)
    scan.end_time = datetime(2026, 3, 1, 8, 10, 0, tzinfo=UTC)
    scan.instrument.beam.incident_energy = 19 * UNITS.keV
    detector = scan.instrument.detector
    detector.data = np.arange(5 * 4 * 6, dtype=np.uint16).reshape(5, 4, 6)
    detector.image_key_control = [1, 2, 0, 0, 0]
    detector.x_pixel_size = detector.y_pixel_size = 6.5 * UNITS.micrometer
    detector.count_time = np.full(5, 0.25) * UNITS.second
    scan.sample.name = "leaf"
    scan.sample.rotation_angle = np.array([0.0, 0.0, 0.0, 90.0, 180.0]) * UNITS.degree
    scan.save(str(path), data_path="entry0000")
    settle(path)
    return path


def entry_of(file: Any, name: str = "entry", definition: str = "NXtomo") -> Any:
    """Add an entry, without its frames."""
    entry = file.create_group(name)
    entry.attrs["NX_class"] = "NXentry"
    entry["definition"] = definition
    entry["title"] = f"Scan {name}"
    entry["start_time"] = "2026-03-01T08:00:00+01:00"
    return entry


def tomography(entry: Any, keys: list[int], angles: list[float]) -> None:
    """Add what NXtomo requires beside its frames."""
    entry["instrument/detector/image_key"] = keys
    entry["sample/rotation_angle"] = angles
    entry["sample/rotation_angle"].attrs["units"] = "degree"


def two_entries(path: Path) -> Path:
    with h5py.File(path, "w", libver="latest") as file:
        for number in (1, 2):
            entry = entry_of(file, f"entry{number}")
            tomography(entry, [0] * 2 * number, [10.0 * each for each in range(2 * number)])
            frames = np.ones((2 * number, 3, 3), "f4")
            entry.create_dataset("instrument/detector/data", data=frames)
    settle(path)
    return path


def virtual(path: Path, count: int = 2) -> Path:
    """Write frames that are virtual, mapped from files in a folder beside (as at ESRF)."""
    folder = path.with_suffix("")
    folder.mkdir()
    whole = h5py.VirtualLayout(shape=(3 * count, 4, 4), dtype="u2")
    for number in range(count):
        part = folder / f"frames_{number:04}.h5"
        with h5py.File(part, "w") as file:
            file["measurement/detector"] = np.full((3, 4, 4), number, "u2")
        settle(part)
        name = f"{folder.name}/{part.name}"
        source = h5py.VirtualSource(name, "measurement/detector", shape=(3, 4, 4))
        whole[3 * number : 3 * number + 3] = source
    with h5py.File(path, "w") as file:
        entry = entry_of(file, "entry0000")
        tomography(entry, [0] * 3 * count, [30.0 * each for each in range(3 * count)])
        file.create_virtual_dataset("entry0000/instrument/detector/data", whole)
    settle(path)
    return path


def linked(path: Path) -> Path:
    """Write a subentry whose frames are a link to the detector's file (as at Diamond)."""
    part = path.with_name(f"{path.stem}-pco.h5")
    with h5py.File(part, "w") as file:
        file["entry/instrument/detector/data"] = np.zeros((4, 5, 6), "u2")
    settle(part)
    with h5py.File(path, "w") as file:
        entry = entry_of(file, "entry1", definition="GDA")
        inner = entry.create_group("tomo_entry")
        inner.attrs["NX_class"] = "NXsubentry"
        inner["definition"] = "NXtomo"
        tomography(inner, [2, 1, 0, 0], [0.0, 0.0, 0.0, 3.141592653589793])
        inner["sample/rotation_angle"].attrs["units"] = "rad"
        detector = inner["instrument/detector"]
        detector["data"] = h5py.ExternalLink(part.name, "entry/instrument/detector/data")
        inner["data/data"] = h5py.SoftLink("/entry1/tomo_entry/instrument/detector/data")
    settle(path)
    return path


def master(path: Path, counts: tuple[int, ...] = (3, 3, 2)) -> Path:
    """Write a master with numbered files of frames (as an Eiger detector does)."""
    stem = path.name.removesuffix("_master.h5")
    with h5py.File(path, "w") as file:
        entry = entry_of(file, definition="NXmx")
        del entry["start_time"]
        entry.create_group("data")
        for number, count in enumerate(counts, 1):
            part = path.with_name(f"{stem}_data_{number:06}.h5")
            with h5py.File(part, "w") as held:
                held["entry/data/data"] = np.zeros((count, 4, 7), "u4")
            settle(part)
            entry["data"][f"data_{number:06}"] = h5py.ExternalLink(part.name, "/entry/data/data")
        detector = entry.create_group("instrument/detector")
        detector["count_time"] = 0.01
        detector["x_pixel_size"] = 7.5e-5
        detector["x_pixel_size"].attrs["units"] = "m"
        detector["y_pixel_size"] = 75.0
        detector["y_pixel_size"].attrs["units"] = "um"
        specific = detector.create_group("detectorSpecific")
        specific["data_collection_date"] = "2026-03-01T08:00:00.250-0500"
        specific["nimages"], specific["ntrigger"] = 5, 2
        entry["instrument/beam/incident_wavelength"] = 0.9793
        entry["sample/goniometer/omega"] = [0.1 * each for each in range(8)]
    settle(path)
    return path


def data_exchange(path: Path) -> Path:
    """Write Data Exchange (as at the APS)."""
    with h5py.File(path, "w") as file:
        file["implements"] = "exchange:measurement:process"
        file["exchange/data"] = np.zeros((4, 3, 5), "u1")
        file["exchange/data_white"] = np.ones((2, 3, 5), "u1")
        file["exchange/data_dark"] = np.ones((1, 3, 5), "u1")
        file["exchange/theta"] = [0.0, 60.0, 120.0, 180.0]
        acquisition = file.create_group("process/acquisition")
        acquisition["start_date"] = np.array([b"2026-03-01T08:00:00-0600"])
        acquisition["end_date"] = "2026-03-01T08:05:00-0600"
        acquisition["rotation/num_angles"] = 6
        instrument = file.create_group("measurement/instrument")
        instrument["monochromator/energy"] = np.array([25.5])
        instrument["monochromator/energy"].attrs["units"] = "keV"
        instrument["detector/exposure_time"] = 150.0
        instrument["detector/exposure_time"].attrs["units"] = "ms"
        instrument["detector/pixel_size"] = 3.45
        instrument["detector/pixel_size"].attrs["units"] = "micron"
        instrument["detection_system/objective/resolution"] = 0.69
        file["measurement/sample/experimenter/name"] = "Ada Example"
    settle(path)
    return path


def repeating(path: Path, entries: int = 20, length: int = 1 << 20) -> Path:
    """Write a small file whose entries all have the same long row of compressed numbers."""
    with h5py.File(path, "w", libver="latest") as file:
        for number in range(entries):
            entry = entry_of(file, f"entry{number:02}")
            if number == 0:
                row = np.zeros(length, "i1")
                file.create_dataset("row", data=row, chunks=(length,), compression="gzip")
                file.create_dataset(
                    "frames", (length, 1, 1), "u1", chunks=(length, 1, 1), compression="gzip"
                )[0] = 0
            entry["instrument/detector/data"] = file["frames"]
            entry["instrument/detector/image_key"] = file["row"]
            entry["sample/rotation_angle"] = file["row"]
    settle(path)
    return path
