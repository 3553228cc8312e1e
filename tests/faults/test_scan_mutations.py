"""Damaged scan files: each is an ordinary refusal or a reading without contradiction."""

import json
import os
import subprocess
import sys

import pytest

from beamkeep.parts.scans.reading import ENVIRONMENT, SECONDS
from beamkeep.parts.scans.sandbox import MEMORY, PROCESSOR_SECONDS
from beamkeep.testing.seeds import seed
from tests.faults.conftest import Report
from tests.faults.report import size

pytestmark = pytest.mark.faults

FEWEST = 200
ORDINARY = {"read", "refused", "being written", "part absent", "overran"}
"""What the service answers with a reading or a refusal; one that overran was ended by it."""


def test_no_damaged_scan_file_reads_wrongly_or_takes_more_than_its_limits(report: Report) -> None:
    canary = "canary-5b21c4"
    count, seconds = size("SCAN_MUTATIONS", 1_000, seconds=60)
    command = [sys.executable, "-m", "tests.unit.scans.mutating", "--count", str(count)]
    command += ["--seconds", str(seconds), "--fewest", str(FEWEST)]
    done = subprocess.run(
        [*command, "--seed", str(seed()), "--canary", canary],
        env=os.environ | ENVIRONMENT,
        stdout=subprocess.PIPE,
        check=True,
    )
    found = json.loads(done.stdout)
    read = sum(found["ended"].values())
    died = {name: count for name, count in found["ended"].items() if name.startswith("died")}
    report(
        "T18 damaged scan files",
        {
            "files": read,
            **{f"ended_{name.replace(' ', '_')}": n for name, n in found["ended"].items()},
            "seconds_a_file": round(found["seconds"] / read, 4),
            "longest_seconds": round(found["wall_seconds"], 2),
            "most_processor_seconds": round(found["processor_seconds"], 2),
            "most_memory_mb": found["memory_bytes"] >> 20,
            "wrong": len(found["wrong"]),
        },
    )
    assert found["wrong"] == []
    assert FEWEST <= read <= count
    # A crash of the library is contained by the process and told as an ordinary refusal.
    assert found["ended"].keys() - ORDINARY - died.keys() == set()
    assert found["ended"].get("read", 0) > read / 10
    assert found["ended"].get("refused", 0) > read / 10
    assert found["memory_bytes"] <= MEMORY
    assert found["processor_seconds"] <= PROCESSOR_SECONDS + 1
    assert found["wall_seconds"] <= SECONDS + 5
