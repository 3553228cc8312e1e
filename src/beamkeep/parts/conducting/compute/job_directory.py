"""Job directories: what a program is given, and what it leaves behind.

<root>/<submission key>/
    job.json            what the program reads: parameters, input_uris, output_uri
    measurements.json   what the program may write: a list of {name, value, unit, quality}
    output              what the program may make, a file or a directory, or where it makes it
    stdout, stderr      what the program prints
    status.json         how the job ended; written at once and never changed
"""

import asyncio
import json
import os
import shutil
import subprocess
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from tempfile import mkdtemp
from typing import Annotated
from urllib.parse import unquote, urlsplit
from uuid import UUID

import msgspec
from annotated_types import Gt, MinLen

from beamkeep.contexts.seams.installation import JobEntry
from beamkeep.kernel import Record

from .artifacts import artifact_at
from .seam import (
    Artifact,
    ComputeArtifactMissingError,
    ComputeJob,
    ComputeMeasurementAmbiguousError,
    ComputeNotAvailableError,
    ComputeSubmitRejectedError,
    JobState,
    Measurement,
)

JOB, LOCK, STATUS = "job.json", "lock", "status.json"
LARGEST_MEASUREMENTS = 1024 * 1024
# Programs do not get the worker's other variables: some of them are secrets.
PASSED_ON = ("HOME", "LANG", "LC_ALL", "LOGNAME", "PATH", "TMPDIR", "TZ", "USER")


class ComputeKind(StrEnum):
    LOCAL_PROCESS = "local_process"
    SLURM = "slurm"


class JobProgram(Record):
    """A job of the deployment's catalogue and the program that it runs."""

    name: Annotated[str, MinLen(1)]
    command: Annotated[tuple[str, ...], MinLen(1)]
    """The program and its arguments; no shell reads them. `{job}` is replaced by the path of
    job.json; if no argument contains it, the path is the last argument."""
    inline: bool = False
    """Whether steps that are not of a recipe may use it, too."""
    timeout: Annotated[float, Gt(0)] | None = None
    """In seconds, from the start of the program."""
    input_roots: tuple[Path, ...] = ()
    """The directories that the `input_uris` of a step may lie in, besides the outputs of jobs."""
    output_roots: tuple[Path, ...] = ()
    """The directories that an `output_uri` of a step may lie in."""
    slurm_options: tuple[str, ...] = ()
    """Further options of sbatch, such as --partition=gpu."""

    @property
    def entry(self) -> JobEntry:
        """What rules know of it."""
        return JobEntry(self.name, self.inline)


class JobDirectory:
    """The directory of all jobs, which every worker sees."""

    def __init__(self, root: Path, programs: Sequence[JobProgram]) -> None:
        self.root = root.absolute()
        self._programs = {each.name: each for each in programs}

    def prepare(self, job: ComputeJob) -> tuple[Path, JobProgram]:
        """Return the directory of a job, which this makes if it is not there, and its program."""
        if (program := self._programs.get(job.job)) is None:
            raise ComputeSubmitRejectedError(f"The catalogue has no job {job.job!r}.")
        directory = self.root / str(job.submission_key)
        output = directory / "output"
        if job.output_uri is not None:
            output = _allowed(job.output_uri, output, program)
        self._require_allowed(job.input_uris, program)
        if directory.exists():
            return directory, program
        self.root.mkdir(parents=True, exist_ok=True)
        new = Path(mkdtemp(dir=self.root, prefix="new-"))
        written = msgspec.structs.asdict(job) | {"output_uri": output.as_uri()}
        (new / JOB).write_bytes(msgspec.json.encode(written))
        (new / LOCK).touch()
        if output.is_relative_to(directory):
            (new / output.relative_to(directory)).parent.mkdir(parents=True, exist_ok=True)
        try:
            new.rename(directory)
        except OSError:
            shutil.rmtree(new)
            # Another process made it first.
            if not directory.exists():
                raise
        return directory, program

    def _require_allowed(self, uris: Sequence[str], program: JobProgram) -> None:
        """Raise ComputeSubmitRejectedError for a file that nobody said the job may read."""
        roots = (self.root, *program.input_roots, *program.output_roots)
        for uri in uris:
            path = _path(uri)
            if not path.is_absolute() or not _is_inside(path, roots):
                raise ComputeSubmitRejectedError(
                    f"The input {uri!r} is not a file: address inside one of the input_roots of"
                    f" {program.name!r}."
                )

    def of(self, job_id: str) -> Path | None:
        """Return the directory of a job; None if there is none."""
        try:
            directory = self.root / str(UUID(job_id))
        except ValueError:
            return None
        return directory if directory.exists() else None

    def ended(self, directory: Path) -> JobState | None:
        """Return how a job ended; None if it has not ended."""
        try:
            return JobState(json.loads((directory / STATUS).read_bytes())["state"])
        except FileNotFoundError:
            return None

    def measurements(self, job_id: str) -> Sequence[Measurement]:
        """Return the values that a job computed."""
        directory = self.of(job_id)
        file = directory / "measurements.json" if directory else None
        if file is None or not file.exists():
            return ()
        if file.stat().st_size > LARGEST_MEASUREMENTS:
            raise ComputeMeasurementAmbiguousError("measurements.json is larger than 1 MiB.")
        try:
            return msgspec.json.decode(file.read_bytes(), type=list[Measurement])
        except msgspec.DecodeError as error:
            why = f"measurements.json is not a list of measurements: {error}"
            raise ComputeMeasurementAmbiguousError(why) from None

    def artifact(self, job_id: str) -> Artifact:
        """Return what a job made."""
        if (directory := self.of(job_id)) is None:
            raise ComputeArtifactMissingError(f"There is no job {job_id!r}.")
        job = json.loads((directory / JOB).read_bytes())
        path, program = _path(job["output_uri"]), self._programs.get(job["job"])
        roots = (directory, *(program.output_roots if program else ()))
        # The program may have put a link where its output belongs.
        if not _is_inside(path, roots):
            raise ComputeArtifactMissingError(f"{path.as_uri()} leads out of its directory.")
        return artifact_at(path)


class DirectoryCompute(ABC):
    """Runs programs of a catalogue in job directories; its id of a job is the submission key."""

    def __init__(
        self, directory: Path, programs: Sequence[JobProgram], *, simulated: bool = False
    ) -> None:
        self.simulated = simulated
        self.jobs = JobDirectory(directory, programs)

    async def submit(self, job: ComputeJob) -> str:
        """Start a job and return its id; return the id of the job that has the key already."""

        def start() -> str:
            directory, program = self.jobs.prepare(job)
            self.start(directory, program)
            return directory.name

        return await in_thread(start)

    async def find(self, submission_key: UUID) -> str | None:
        """Return the id of the job that was submitted with this key."""
        job_id = str(submission_key)
        return job_id if await self._of(job_id, self.is_known) else None

    async def poll(self, job_id: str) -> JobState:
        """Return how far a job is; a job that is gone without a status is lost."""
        return await self._of(job_id, self.state) or JobState.LOST

    async def fetch_measurements(self, job_id: str) -> Sequence[Measurement]:
        """Return the values that a job computed."""
        return await in_thread(self.jobs.measurements, job_id)

    async def fetch_artifact(self, job_id: str) -> Artifact:
        """Return what a job made. Raise `ComputeArtifactMissingError` if it made nothing."""
        return await in_thread(self.jobs.artifact, job_id)

    async def cancel(self, job_id: str) -> None:
        """Ask for the end of a job, wherever it runs."""
        await self._of(job_id, self.end)

    @abstractmethod
    def start(self, directory: Path, program: JobProgram) -> None:
        """Start the program of a job, unless the job is known already."""

    @abstractmethod
    def is_known(self, directory: Path) -> bool:
        """Return whether a job was started."""

    @abstractmethod
    def state(self, directory: Path) -> JobState:
        """Return how far a job is."""

    @abstractmethod
    def end(self, directory: Path) -> None:
        """Ask for the end of a job."""

    async def _of[T](self, job_id: str, call: Callable[[Path], T]) -> T | None:
        """Return what a call returns for the directory of a job; None if there is none."""

        def called() -> T | None:
            directory = self.jobs.of(job_id)
            return call(directory) if directory else None

        return await in_thread(called)


def arguments(program: JobProgram, directory: Path) -> list[str]:
    """Return the program of a job and its arguments."""
    file = str(directory / JOB)
    if any("{job}" in each for each in program.command):
        return [each.replace("{job}", file) for each in program.command]
    return [*program.command, file]


def environment(prefix: str = "LC_") -> Mapping[str, str]:
    """Return the variables that programs get, and those of a prefix."""
    named = os.environ.items()
    return {name: value for name, value in named if name in PASSED_ON or name.startswith(prefix)}


async def in_thread[**P, T](call: Callable[P, T], *given: P.args, **named: P.kwargs) -> T:
    """Return what a call returns that waits for files or processes.

    Raise `ComputeNotAvailableError` when they cannot be reached.
    """
    try:
        return await asyncio.to_thread(call, *given, **named)
    except (OSError, subprocess.SubprocessError) as error:
        raise ComputeNotAvailableError(str(error)) from error


def _allowed(uri: str, own: Path, program: JobProgram) -> Path:
    """Return the path of an output: a relative one lies in the job's own directory."""
    is_relative = not urlsplit(uri).scheme and "\0" not in uri
    path = own / uri if is_relative else _path(uri)
    roots = (own,) if is_relative else program.output_roots
    if not path.is_absolute() or not _is_inside(path, roots):
        raise ComputeSubmitRejectedError(
            f"The output {uri!r} is neither a relative path nor a file: address inside one of the"
            f" output_roots of {program.name!r}."
        )
    return path


def _path(uri: str) -> Path:
    parts = urlsplit(uri)
    is_local = parts.scheme == "file" and parts.netloc in {"", "localhost"}
    return Path(unquote(parts.path)) if is_local and "\0" not in unquote(parts.path) else Path()


def _is_inside(path: Path, roots: Sequence[Path]) -> bool:
    return any(path.resolve().is_relative_to(root.resolve()) for root in roots)
