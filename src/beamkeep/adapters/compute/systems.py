"""Which compute system runs the jobs of a deployment."""

from collections.abc import Sequence
from pathlib import Path

from beamkeep.workers.compute import ComputeSystem

from .job_directory import ComputeKind, JobProgram
from .local_process import LocalProcessCompute
from .slurm import SlurmCompute


def compute_system(
    kind: ComputeKind, directory: Path, programs: Sequence[JobProgram], at_once: int
) -> ComputeSystem:
    """Return the compute system that the settings name."""
    if kind is ComputeKind.SLURM:
        return SlurmCompute(directory, programs)
    return LocalProcessCompute(directory, programs, at_once)
