"""The seam to compute systems: to submit a job once, find it again, and fetch its results."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Protocol
from uuid import UUID

from beamkeep.kernel import Record
from beamkeep.parts.conducting.control import Quality
from beamkeep.schemas import Json, JsonObject


class JobState(StrEnum):
    PENDING = "Pending"
    RUNNING = "Running"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"
    CANCELLED = "Cancelled"
    TIMED_OUT = "TimedOut"
    LOST = "Lost"


class Measurement(Record):
    """A value that a job computed."""

    name: str
    value: Json
    unit: str | None = None
    quality: Quality = Quality.GOOD


class Artifact(Record):
    """A file or a directory that a job made."""

    uri: str
    checksum_algorithm: str
    """`sha256` of a file; `sha256-tree` of a directory: over sorted paths and file digests."""
    checksum_value: str
    byte_size: int
    media_type: str
    entry_count: int


class ComputeJob(Record):
    """A job to submit."""

    job: str
    """Its name in the catalogue of the deployment."""
    parameters: JsonObject
    input_uris: tuple[str, ...]
    output_uri: str | None
    submission_key: UUID
    """A second submission with the same key starts nothing."""


class ComputeError(Exception):
    """A call to a compute system that failed."""


class ComputeNotAvailableError(ComputeError):
    """The compute system does not answer."""


class ComputeSubmitRejectedError(ComputeError):
    """The compute system refused the job."""


class ComputeTimeoutError(ComputeError):
    """The job did not end in time."""


class ComputeJobFailedError(ComputeError):
    """The job ended without success."""


class ComputeMeasurementMissingError(ComputeError):
    """The job did not report a value that the step names."""


class ComputeMeasurementAmbiguousError(ComputeError):
    """The job reported a value more than once, or none that can be used."""


class ComputeArtifactMissingError(ComputeError):
    """The job made no artifact."""


class ComputeSystem(Protocol):
    """Runs jobs of the deployment's catalogue."""

    simulated: bool
    """Whether results come from a simulation."""

    async def submit(self, job: ComputeJob) -> str:
        """Start a job and return its id; return the id of the job that has the key already."""
        ...

    async def find(self, submission_key: UUID) -> str | None:
        """Return the id of the job that was submitted with this key."""
        ...

    async def poll(self, job_id: str) -> JobState:
        """Return how far a job is."""
        ...

    async def fetch_measurements(self, job_id: str) -> Sequence[Measurement]:
        """Return the values that a job computed."""
        ...

    async def fetch_artifact(self, job_id: str) -> Artifact:
        """Return what a job made. Raise `ComputeArtifactMissingError` if it made nothing."""
        ...

    async def cancel(self, job_id: str) -> None:
        """Ask that a job ends."""
        ...
