"""The compute systems of the contract, each with the same catalogue of jobs."""

import hashlib
import sys
from pathlib import Path
from uuid import UUID, uuid4

from beamkeep.parts.conducting.compute.job_directory import JobProgram
from beamkeep.parts.conducting.compute.local_process import LocalProcessCompute
from beamkeep.parts.conducting.compute.memory import MemoryCompute, ScriptedJob
from beamkeep.parts.conducting.compute.seam import (
    Artifact,
    ComputeJob,
    ComputeSystem,
    JobState,
    Measurement,
)
from beamkeep.parts.conducting.compute.slurm import SlurmCompute
from beamkeep.testing.waiting import until

PROGRAM = Path(__file__).with_name("program.py")
DIGEST = {text: hashlib.sha256(text.encode()).hexdigest() for text in ("made\n", "one\n", "two\n")}
TREE = f"{DIGEST['one\n']}  a.txt\n{DIGEST['two\n']}  b/two.txt\n"
MADE = Artifact(
    uri="",
    checksum_algorithm="sha256",
    checksum_value=DIGEST["made\n"],
    byte_size=5,
    media_type="application/octet-stream",
    entry_count=1,
)
MADE_TREE = Artifact(
    uri="",
    checksum_algorithm="sha256-tree",
    checksum_value=hashlib.sha256(TREE.encode()).hexdigest(),
    byte_size=8,
    media_type="inode/directory",
    entry_count=2,
)
ALIVE = {JobState.PENDING, JobState.RUNNING}
TWICE = Measurement("twice", 42, "mm")


def programs(outputs: Path, timeout: float = 0.2) -> list[JobProgram]:
    """Return a catalogue whose job `slow` has a timeout."""
    verbs = ("measure", "file", "tree", "fail", "wait", "link", "garbled")
    of = [(verb, verb) for verb in verbs] + [("slow", "wait")]
    return [
        JobProgram(
            name=name,
            command=(sys.executable, str(PROGRAM), verb, "{job}"),
            timeout=timeout if name == "slow" else None,
            output_roots=(outputs,),
        )
        for name, verb in of
    ]


def memory_compute() -> MemoryCompute:
    """Return the twin, whose jobs are scripted to do the same."""
    alive = (JobState.PENDING, JobState.RUNNING)
    return MemoryCompute(
        {
            "measure": ScriptedJob(measurements=(TWICE,)),
            "file": ScriptedJob(artifact=MADE),
            "tree": ScriptedJob(artifact=MADE_TREE),
            "fail": ScriptedJob((*alive, JobState.FAILED)),
            "wait": ScriptedJob(alive),
            "slow": ScriptedJob((*alive, JobState.TIMED_OUT)),
        }
    )


def compute_on(kind: str, directory: Path, at_once: int = 4) -> ComputeSystem:
    """Return a system whose jobs are in a directory, with the directory of their outputs beside."""
    catalogue = programs(directory.parent)
    if kind == "slurm":
        return SlurmCompute(directory, catalogue)
    return LocalProcessCompute(directory, catalogue, at_once)


def job(name: str, key: UUID | None = None) -> ComputeJob:
    return ComputeJob(
        job=name,
        parameters={"number": 21},
        input_uris=(),
        output_uri=None,
        submission_key=key or uuid4(),
    )


async def ended(compute: ComputeSystem, job_id: str) -> JobState:
    async def state() -> JobState | None:
        polled = await compute.poll(job_id)
        return None if polled in ALIVE else polled

    return await until(state, "the job ends")


async def reached(compute: ComputeSystem, job_id: str, wanted: JobState) -> None:
    async def is_there() -> bool:
        return await compute.poll(job_id) is wanted

    await until(is_there, f"the job is {wanted}")
