"""The checksum of a file against `sha256sum` on the same file."""

import asyncio
import os
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

from beamkeep_client.shared.checksums import BLOCK, check_file

from .measure import Step, Steps, gated, interval, spread
from .rig import Rig

GATE = 0.80
BLOCKS, FEW_BLOCKS = 64, 2
METHOD = (
    "SHA-256 of one file of {} MiB that is in memory, read by blocks with a progress callback,"
    " against the program sha256sum on the same file."
)


async def measure(rig: Rig) -> dict[str, Any]:
    """Compare how often each of the two reads the file in the same time."""
    blocks = rig.pick(BLOCKS, BLOCKS, FEW_BLOCKS)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "frames"
        with path.open("wb") as file:
            for _ in range(blocks):
                file.write(os.urandom(BLOCK))
        bare, ours = Steps([_bare(path)]), Steps([_ours(path, blocks)])
        quads = await rig.meter.compare(bare, ours, rig.plan)
        alike = await rig.meter.compare(bare, bare, rig.plan.alike())
        # The processor time of the program is not of this process, so only rates are compared.
        found = {
            **spread([quad.ours.rate / quad.bare.rate for quad in quads]),
            "bare_per_second": round(median(quad.bare.rate for quad in quads), 1),
            "ours_per_second": round(median(quad.ours.rate for quad in quads), 1),
            "aa_interval": interval([quad.ours.rate / quad.bare.rate for quad in alike]),
        }
        return gated(found, GATE, METHOD.format(blocks))


def _bare(path: Path) -> Step:
    async def step() -> None:
        program = await asyncio.create_subprocess_exec(
            "sha256sum", path, stdout=asyncio.subprocess.DEVNULL
        )
        assert await program.wait() == 0

    return step


def _ours(path: Path, blocks: int) -> Step:
    def read() -> int:
        with path.open("rb") as file:
            progress = list[int]()
            check_file(file.fileno(), progress.append)
            return sum(progress)

    async def step() -> None:
        assert await asyncio.to_thread(read) == blocks * BLOCK

    return step
