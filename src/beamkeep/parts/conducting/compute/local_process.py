"""Jobs as processes of the worker's machine, which outlive the worker."""

import fcntl
import subprocess
import sys
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from . import runner
from .job_directory import LOCK, DirectoryCompute, JobProgram, arguments, environment
from .seam import ComputeNotAvailableError, JobState

RUNNER, STARTED = "runner.json", "started.json"
START_SECONDS = 30.0


class LocalProcessCompute(DirectoryCompute):
    """Runs at most `at_once` programs at the same time."""

    def __init__(
        self,
        directory: Path,
        programs: Sequence[JobProgram],
        at_once: int = 2,
    ) -> None:
        super().__init__(directory, programs)
        self._at_once = at_once

    def start(self, directory: Path, program: JobProgram) -> None:
        """Start the runner of a job, which outlives this process."""
        deadline = time.monotonic() + START_SECONDS
        # A job is accepted when its runner says so. Until then the submission that has the lock
        # starts one, so that a submission that was killed half way is completed by the next.
        while not self.is_known(directory):
            if time.monotonic() > deadline:
                raise ComputeNotAvailableError(f"No runner starts in {directory}.")
            with _locked(directory) as lock:
                if lock is None:
                    time.sleep(0.005)
                elif not self.is_known(directory):
                    self._run(directory, program, lock)

    def _run(self, directory: Path, program: JobProgram, lock: BinaryIO) -> None:
        slots, timeout = self.jobs.root / "slots", program.timeout or 0
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

    def is_known(self, directory: Path) -> bool:
        """Return whether the runner of a job has accepted it."""
        return (directory / RUNNER).exists()

    def end(self, directory: Path) -> None:
        """Ask the runner of a job to end it."""
        (directory / runner.CANCEL).touch()

    def state(self, directory: Path) -> JobState:
        """Return how far a job is; a job whose processes are gone without a status is lost."""
        if not self.is_known(directory):
            return JobState.LOST
        with _locked(directory) as lock:
            is_alive = lock is None
        # The status is read last: it is written before the lock is free.
        if ended := self.jobs.ended(directory):
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
