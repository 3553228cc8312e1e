"""Jobs of a Slurm cluster, found by their name, which contains the submission key."""

import fcntl
import math
import re
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from uuid import UUID

from . import runner
from .job_directory import LOCK, STATUS, JobDirectory, JobProgram, arguments, environment, in_thread
from .seam import (
    Artifact,
    ComputeError,
    ComputeJob,
    ComputeNotAvailableError,
    ComputeSubmitRejectedError,
    JobState,
    Measurement,
)

SUBMITTED = "slurm.json"
CALL_SECONDS = 60.0

BATCH = """#!/bin/sh
# The first job with a key makes this directory; another must not run the program again.
cd "$1" && mkdir started || exit 75
limit=$2
shift 2
timeout --kill-after=5 "$limit" "$@" </dev/null >stdout 2>stderr
code=$?
case $code in
  0) state=Succeeded ;;
  124) state=TimedOut ;;
  *) state=Failed ;;
esac
# Slurm knows better why a program was killed.
[ "$code" -gt 128 ] || {
  printf '{"state": "%s", "exit_code": %d}' "$state" "$code" >status.json.new
  mv status.json.new status.json
}
exit "$code"
"""

STATES: Mapping[JobState, Sequence[str]] = {
    JobState.PENDING: (
        *("PENDING", "CONFIGURING", "REQUEUED", "REQUEUE_FED", "REQUEUE_HOLD", "RESV_DEL_HOLD"),
        *("SPECIAL_EXIT",),
    ),
    JobState.RUNNING: (
        *("RUNNING", "COMPLETING", "RESIZING", "SIGNALING", "STAGE_OUT", "STOPPED", "SUSPENDED"),
    ),
    JobState.SUCCEEDED: ("COMPLETED",),
    JobState.FAILED: ("FAILED", "BOOT_FAIL", "LAUNCH_FAILED", "NODE_FAIL", "OUT_OF_MEMORY"),
    JobState.CANCELLED: ("CANCELLED", "PREEMPTED", "REVOKED"),
    JobState.TIMED_OUT: ("TIMEOUT", "DEADLINE"),
}
_STATES = {word: state for state, words in STATES.items() for word in words}
_FINAL = STATES.keys() - {JobState.PENDING, JobState.RUNNING}
# `sacct` adds who cancelled a job.
_ROW = re.compile(r"(?P<id>\d+)\|(?P<state>[A-Z_]+)(?: by \d+)?")
_SUBMITTED = re.compile(r"(?P<id>\d+)(?:;\S+)?")
_NO_ANSWER = re.compile("contact|connect|timed out|Zero Bytes|authentication|temporarily")
_NO_ACCOUNTING = "accounting storage is disabled"


class SlurmCompute:
    """Runs programs of a catalogue as batch jobs; its id of a job is the key.

    The directory of the jobs must be the same on the worker and on the nodes. The accounting of
    Slurm is asked where the controller has forgotten a job, and is not required: the batch script
    and this class write down how a job ended.
    """

    def __init__(
        self, directory: Path, programs: Sequence[JobProgram], simulated: bool = False
    ) -> None:
        self.simulated = simulated
        self._jobs = JobDirectory(directory, programs)

    async def submit(self, job: ComputeJob) -> str:
        """Start a job and return its id; return the id of the job that has the key already."""
        return await in_thread(self._submit, job)

    async def find(self, submission_key: UUID) -> str | None:
        """Return the id of the job that was submitted with this key."""
        found = await in_thread(self._is_known, str(submission_key))
        return str(submission_key) if found else None

    async def poll(self, job_id: str) -> JobState:
        """Return how far a job is; a job that Slurm no longer knows is lost."""
        return await in_thread(self._state, job_id)

    async def fetch_measurements(self, job_id: str) -> Sequence[Measurement]:
        """Return the values that a job computed."""
        return await in_thread(self._jobs.measurements, job_id)

    async def fetch_artifact(self, job_id: str) -> Artifact:
        """Return what a job made. Raise `ComputeArtifactMissingError` if it made nothing."""
        return await in_thread(self._jobs.artifact, job_id)

    async def cancel(self, job_id: str) -> None:
        """Ask Slurm to end a job."""
        if self._jobs.of(job_id):
            await in_thread(_answer, "scancel", f"--name={_name(job_id)}")

    def _submit(self, job: ComputeJob) -> str:
        directory, program = self._jobs.prepare(job)
        with (directory / LOCK).open("r+b") as lock:
            # sbatch inherits the lock: where a worker is killed, the next waits for its sbatch.
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not self._is_known(directory.name):
                number = _sbatch(job, program, directory, lock.fileno())
                runner.write(str(directory / SUBMITTED), {"slurm_job_id": number})
        return directory.name

    def _is_known(self, job_id: str) -> bool:
        directory = self._jobs.of(job_id)
        if directory is None:
            return False
        known = (directory / SUBMITTED).exists() or self._jobs.ended(directory) is not None
        return known or _asked(job_id) is not None

    def _state(self, job_id: str) -> JobState:
        if (directory := self._jobs.of(job_id)) is None:
            return JobState.LOST
        if ended := self._jobs.ended(directory):
            return ended
        state = _asked(job_id)
        # Slurm forgets a job some minutes after its end.
        if state and state in _FINAL:
            runner.write(str(directory / STATUS), {"state": state})
        return state or JobState.LOST


def _asked(job_id: str) -> JobState | None:
    """Return what the controller, or else the accounting, says of a job; None if nothing."""
    named = ("--noheader", f"--name={_name(job_id)}")
    answer = _answer("squeue", *named, "--me", "--states=all", "--format=%A|%T")
    if not answer:
        only = ("--allocations", "--parsable2", "--starttime=now-90days", "--format=JobIDRaw,State")
        answer = _answer("sacct", *named, *only, unless=_NO_ACCOUNTING)
    rows = [_ROW.fullmatch(line.strip()) for line in answer.splitlines()]
    if not rows:
        return None
    first = min((row for row in rows if row), key=lambda row: int(row["id"]), default=None)
    if first is None or None in rows or first["state"] not in _STATES:
        raise ComputeError(f"The answer of Slurm is not understood: {answer[:200]!r}")
    return _STATES[first["state"]]


def _sbatch(job: ComputeJob, program: JobProgram, directory: Path, lock: int) -> str:
    script = directory / "batch.sh"
    script.write_text(BATCH)
    # Slurm counts in minutes, so that the script keeps the timeout and Slurm comes second.
    timeout = program.timeout or 0
    limit = [f"--time={math.ceil(timeout / 60) + 1}"] if timeout else []
    options = [
        *(*program.slurm_options, *limit, "--parsable", "--no-requeue"),
        f"--job-name={_name(directory.name)}",
        f"--comment={job.job}",
        f"--chdir={directory}",
        f"--output={directory / 'slurm.out'}",
    ]
    command = [str(script), str(directory), str(timeout), *arguments(program, directory)]
    answer = _answer("sbatch", *options, *command, held=(lock,))
    if not (number := _SUBMITTED.fullmatch(answer.strip())):
        raise ComputeError(f"The answer of sbatch is not understood: {answer[:200]!r}")
    return number["id"]


def _answer(program: str, *given: str, held: Sequence[int] = (), unless: str = "\0") -> str:
    """Return what a program of Slurm prints; an empty text when it fails with `unless`.

    Raise `ComputeNotAvailableError` when Slurm does not answer, else `ComputeSubmitRejectedError`.
    """
    try:
        done = subprocess.run(  # noqa: S603 - no shell, and a name of Slurm's own
            [program, *given],
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            env=environment("SLURM_"),
            pass_fds=held,
            timeout=CALL_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        why = f"{program} did not answer within {CALL_SECONDS:g} s."
        raise ComputeNotAvailableError(why) from None
    if done.returncode == 0:
        return done.stdout
    said = " ".join(done.stderr.split())[:400]
    if unless in said:
        return ""
    is_refused = program == "sbatch" and not _NO_ANSWER.search(said)
    error = ComputeSubmitRejectedError if is_refused else ComputeNotAvailableError
    raise error(f"{program} failed: {said}")


def _name(job_id: str) -> str:
    return f"beamkeep-{job_id}"
