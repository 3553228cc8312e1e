"""Jobs as processes of the worker's machine, which outlive the worker."""

import fcntl
import subprocess
import sys
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO
from uuid import UUID

from . import runner
from .job_directory import LOCK, JobDirectory, JobProgram, arguments, environment, in_thread
from .seam import (
    Artifact,
    ComputeJob,
    ComputeNotAvailableError,
    JobState,
    Measurement,
)

RUNNER, STARTED = "runner.json", "started.json"
START_SECONDS = 30.0


class LocalProcessCompute:
    """Runs programs of a catalogue, at most `at_once` of them; its id of a job is the key."""

    def __init__(
        self,
        directory: Path,
        programs: Sequence[JobProgram],
        at_once: int = 2,
        simulated: bool = False,
    ) -> None:
        self.simulated = simulated
        self._jobs = JobDirectory(directory, programs)
        self._at_once = at_once

    async def submit(self, job: ComputeJob) -> str:
        """Start a job and return its id; return the id of the job that has the key already."""
        return await in_thread(self._submit, job)

    async def find(self, submission_key: UUID) -> str | None:
        """Return the id of the job that was submitted with this key."""
        found = await in_thread(self._accepted, str(submission_key))
        return str(submission_key) if found else None

    async def poll(self, job_id: str) -> JobState:
        """Return how far a job is; a job whose processes are gone without a status is lost."""
        return await in_thread(self._state, job_id)

    async def fetch_measurements(self, job_id: str) -> Sequence[Measurement]:
        """Return the values that a job computed."""
        return await in_thread(self._jobs.measurements, job_id)

    async def fetch_artifact(self, job_id: str) -> Artifact:
        """Return what a job made. Raise `ComputeArtifactMissingError` if it made nothing."""
        return await in_thread(self._jobs.artifact, job_id)

    async def cancel(self, job_id: str) -> None:
        """Ask the runner of a job to end it, wherever it runs."""
        if directory := self._jobs.of(job_id):
            await in_thread((directory / runner.CANCEL).touch)

    def _submit(self, job: ComputeJob) -> str:
        directory, program = self._jobs.prepare(job)
        deadline = time.monotonic() + START_SECONDS
        # A job is accepted when its runner says so. Until then whoever has the lock starts one, so
        # that a submission that was killed half way is completed by the next.
        while not (directory / RUNNER).exists():
            if time.monotonic() > deadline:
                raise ComputeNotAvailableError(f"No runner starts in {directory}.")
            with _locked(directory) as lock:
                if lock is None:
                    time.sleep(0.005)
                elif not (directory / RUNNER).exists():
                    self._start(directory, program, lock)
        return directory.name

    def _start(self, directory: Path, program: JobProgram, lock: BinaryIO) -> None:
        slots, timeout = self._jobs.root / "slots", program.timeout or 0
        options = [str(lock.fileno()), str(slots), str(self._at_once), str(timeout)]
        subprocess.run(  # noqa: S603 - our own runner
            [sys.executable, "-I", runner.__file__, *options, *arguments(program, directory)],
            cwd=directory,
            env=environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            pass_fds=(lock.fileno(),),
            timeout=START_SECONDS,
            check=False,
        )

    def _accepted(self, job_id: str) -> Path | None:
        directory = self._jobs.of(job_id)
        return directory if directory and (directory / RUNNER).exists() else None

    def _state(self, job_id: str) -> JobState:
        if (directory := self._accepted(job_id)) is None:
            return JobState.LOST
        with _locked(directory) as lock:
            is_alive = lock is None
        # The status is read last: it is written before the lock is free.
        if ended := self._jobs.ended(directory):
            return ended
        if not is_alive:
            return JobState.LOST
        return JobState.RUNNING if (directory / STARTED).exists() else JobState.PENDING


@contextmanager
def _locked(directory: Path) -> Generator[BinaryIO | None]:
    """Yield the lock of a job; None if a runner, its program or a submission has it."""
    with (directory / LOCK).open("r+b") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield None
        else:
            yield lock
