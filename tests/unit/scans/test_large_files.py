"""A scan of 100 GB costs no more than a small one: frames are never read."""

import json
import subprocess
import sys
from pathlib import Path

import h5py
import numpy as np
from tests.support.verdicts import time_counts

from . import files

FRAMES, SHAPE = 25_000, (2_048, 1_024)
PROGRAM = """
import asyncio, json, resource, sys
from pathlib import Path
from beamkeep.contexts.data.scan_file import ReadScanFile
from beamkeep.contexts.data.shapes import Checksum, ChecksumAlgorithm
from beamkeep.adapters.files.data_roots import DataRoots
from beamkeep.parts.scans.reading import ScanReader

path = Path(sys.argv[1])
given = Checksum(ChecksumAlgorithm.SHA256, "0" * 64)
reader = ScanReader(DataRoots([path.parent]), 5, most_hashed=0)
reading = asyncio.run(reader.read(ReadScanFile(path.as_uri(), None, given, ())))
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps({
    "byte_size": reading.byte_size,
    "frame_count": reading.entries[0].evidence["frame_count"],
    "processor_seconds": used.ru_utime + used.ru_stime,
    "memory_mb": used.ru_maxrss / 1024,
}))
"""


def test_a_sparse_file_of_100_gb_is_read_with_little_memory_and_time(tmp_path: Path) -> None:
    path = tmp_path / "large.nx"
    with h5py.File(path, "w") as file:
        entry = files.entry_of(file)
        files.tomography(entry, [0] * FRAMES, [*np.linspace(0, 180, FRAMES)])
        frames = entry.create_dataset("instrument/detector/data", (FRAMES, *SHAPE), "u2")
        frames[-1, -1, -1] = 1
    files.settle(path)
    command = [sys.executable, "-c", PROGRAM, str(path)]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    told = json.loads(ran.stdout)
    assert told["byte_size"] > 100e9
    assert told["frame_count"] == FRAMES
    assert not time_counts() or told["processor_seconds"] < 2
    assert told["memory_mb"] < 300
