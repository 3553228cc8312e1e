"""Jobs of a Slurm cluster, found by their name, which contains the submission key."""

import fcntl
import math
import re
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from . import runner
from .job_directory import LOCK, STATUS, DirectoryCompute, JobProgram, arguments, environment
from .seam import ComputeError, ComputeNotAvailableError, ComputeSubmitRejectedError, JobState

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


class SlurmCompute(DirectoryCompute):
    """Runs programs as batch jobs.

    The directory of the jobs must be the same on the worker and on the nodes. The accounting of
    Slurm is asked where the controller has forgotten a job, and is not required: the batch script
    and this class write down how a job ended.
    """

    def start(self, directory: Path, program: JobProgram) -> None:
        """Submit a job with sbatch."""
        with (directory / LOCK).open("r+b") as lock:
            # sbatch inherits the lock: where a worker is killed, the next waits for its sbatch.
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not self.is_known(directory):
                number = _sbatch(program, directory, lock.fileno())
                runner.write(str(directory / SUBMITTED), {"slurm_job_id": number})

    def is_known(self, directory: Path) -> bool:
        """Return whether Slurm has or had a job."""
        known = (directory / SUBMITTED).exists() or self.jobs.ended(directory) is not None
        return known or _asked(directory.name) is not None

    def end(self, directory: Path) -> None:
        """Ask Slurm to end a job."""
        _answer("scancel", f"--name={_name(directory.name)}")

    def state(self, directory: Path) -> JobState:
        """Return how far a job is; a job that Slurm no longer knows is lost."""
        if ended := self.jobs.ended(directory):
            return ended
        state = _asked(directory.name)
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


def _sbatch(program: JobProgram, directory: Path, lock: int) -> str:
    script = directory / "batch.sh"
    script.write_text(BATCH)
    # Slurm counts in minutes, so that the script keeps the timeout and Slurm comes second.
    timeout = program.timeout or 0
    limit = [f"--time={math.ceil(timeout / 60) + 1}"] if timeout else []
    options = [
        *(*program.slurm_options, *limit, "--parsable", "--no-requeue"),
        f"--job-name={_name(directory.name)}",
        f"--comment={program.name}",
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
