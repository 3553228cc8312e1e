"""A compute system in memory whose jobs do what a test says."""

from collections.abc import Mapping, Sequence
from uuid import UUID

from beamkeep.kernel import Record

from .seam import (
    Artifact,
    ComputeArtifactMissingError,
    ComputeError,
    ComputeJob,
    ComputeSubmitRejectedError,
    JobState,
    Measurement,
)

ALIVE = frozenset({JobState.PENDING, JobState.RUNNING})


class ScriptedJob(Record):
    """What a job of the catalogue does."""

    states: tuple[JobState, ...] = (JobState.PENDING, JobState.RUNNING, JobState.SUCCEEDED)
    """What successive polls answer; the last answer stays."""
    measurements: tuple[Measurement, ...] = ()
    artifact: Artifact | None = None


class MemoryCompute:
    """Jobs that a test scripts by their names."""

    def __init__(self, jobs: Mapping[str, ScriptedJob]) -> None:
        self.simulated = True
        self.submitted: list[ComputeJob] = []
        """Every job that was started."""
        self.fault: ComputeError | None = None
        """What every call raises, until it is None again."""
        self.scripts = jobs
        self.states = dict[str, list[JobState]]()
        """The states that are still to come, by the id of the job."""

    async def submit(self, job: ComputeJob) -> str:
        """Start a job and return its id; return the id of the job that has the key already."""
        self._require_no_fault()
        if job.job not in self.scripts:
            raise ComputeSubmitRejectedError(f"The catalogue has no job {job.job!r}.")
        job_id = str(job.submission_key)
        if job_id not in self.states:
            self.states[job_id] = [*self.scripts[job.job].states]
            self.submitted.append(job)
        return job_id

    async def find(self, submission_key: UUID) -> str | None:
        """Return the id of the job that was submitted with this key."""
        self._require_no_fault()
        return str(submission_key) if str(submission_key) in self.states else None

    async def poll(self, job_id: str) -> JobState:
        """Return the next state of a job."""
        self._require_no_fault()
        states = self.states.get(job_id, [JobState.LOST])
        return states.pop(0) if len(states) > 1 else states[0]

    async def fetch_measurements(self, job_id: str) -> Sequence[Measurement]:
        """Return the values that a job computed."""
        self._require_no_fault()
        return self._script(job_id).measurements

    async def fetch_artifact(self, job_id: str) -> Artifact:
        """Return what a job made. Raise `ComputeArtifactMissingError` if it made nothing."""
        self._require_no_fault()
        if (artifact := self._script(job_id).artifact) is None:
            raise ComputeArtifactMissingError(f"The job {job_id} made nothing.")
        return artifact

    async def cancel(self, job_id: str) -> None:
        """End a job that has not ended."""
        self._require_no_fault()
        if self.states.get(job_id, [JobState.LOST])[0] in ALIVE:
            self.states[job_id] = [JobState.CANCELLED]

    def forget(self, job_id: str) -> None:
        """Lose a job, as a compute system does that was restarted."""
        del self.states[job_id]

    def _script(self, job_id: str) -> ScriptedJob:
        named = (job.job for job in self.submitted if str(job.submission_key) == job_id)
        return self.scripts.get(next(named, ""), ScriptedJob())

    def _require_no_fault(self) -> None:
        if self.fault is not None:
            raise self.fault
