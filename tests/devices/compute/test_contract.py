"""What every compute system promises."""

from uuid import uuid4

import pytest
from tests.devices.compute.benches import MADE, MADE_TREE, TWICE, ended, job, reached

from beamkeep.kernel import replace
from beamkeep.parts.conducting.compute.seam import (
    Artifact,
    ComputeArtifactMissingError,
    ComputeSubmitRejectedError,
    ComputeSystem,
    JobState,
)

pytestmark = pytest.mark.anyio


def elsewhere(artifact: Artifact) -> Artifact:
    return replace(artifact, uri="")


async def test_a_job_computes_values(compute: ComputeSystem):
    job_id = await compute.submit(job("measure"))
    assert await ended(compute, job_id) is JobState.SUCCEEDED
    assert [*await compute.fetch_measurements(job_id)] == [TWICE]


async def test_a_job_without_values_has_none(compute: ComputeSystem):
    job_id = await compute.submit(job("file"))
    assert await ended(compute, job_id) is JobState.SUCCEEDED
    assert [*await compute.fetch_measurements(job_id)] == []


async def test_a_job_makes_a_file(compute: ComputeSystem):
    job_id = await compute.submit(job("file"))
    assert await ended(compute, job_id) is JobState.SUCCEEDED
    assert elsewhere(await compute.fetch_artifact(job_id)) == MADE


async def test_a_job_makes_a_directory(compute: ComputeSystem):
    job_id = await compute.submit(job("tree"))
    assert await ended(compute, job_id) is JobState.SUCCEEDED
    assert elsewhere(await compute.fetch_artifact(job_id)) == MADE_TREE


async def test_a_job_that_made_nothing_has_no_artifact(compute: ComputeSystem):
    job_id = await compute.submit(job("measure"))
    assert await ended(compute, job_id) is JobState.SUCCEEDED
    with pytest.raises(ComputeArtifactMissingError):
        await compute.fetch_artifact(job_id)


async def test_a_failing_job_has_failed(compute: ComputeSystem):
    job_id = await compute.submit(job("fail"))
    assert await ended(compute, job_id) is JobState.FAILED
    assert await compute.poll(job_id) is JobState.FAILED


async def test_a_job_is_found_by_its_key(compute: ComputeSystem):
    key = uuid4()
    assert await compute.find(key) is None
    job_id = await compute.submit(job("measure", key))
    assert await compute.find(key) == job_id
    assert await ended(compute, job_id) is JobState.SUCCEEDED
    assert await compute.find(key) == job_id


async def test_one_key_is_one_job(compute: ComputeSystem):
    key = uuid4()
    job_id = await compute.submit(job("measure", key))
    assert await compute.submit(job("measure", key)) == job_id
    assert await ended(compute, job_id) is JobState.SUCCEEDED
    assert await compute.submit(job("measure", key)) == job_id
    assert await compute.poll(job_id) is JobState.SUCCEEDED


async def test_a_running_job_is_cancelled(compute: ComputeSystem):
    job_id = await compute.submit(job("wait"))
    await reached(compute, job_id, JobState.RUNNING)
    await compute.cancel(job_id)
    assert await ended(compute, job_id) is JobState.CANCELLED


async def test_a_job_that_ended_stays_as_it_ended(compute: ComputeSystem):
    job_id = await compute.submit(job("measure"))
    assert await ended(compute, job_id) is JobState.SUCCEEDED
    await compute.cancel(job_id)
    assert await compute.poll(job_id) is JobState.SUCCEEDED


async def test_a_job_that_takes_too_long_is_timed_out(compute: ComputeSystem):
    job_id = await compute.submit(job("slow"))
    assert await ended(compute, job_id) is JobState.TIMED_OUT


async def test_an_unknown_job_is_lost(compute: ComputeSystem):
    for job_id in (str(uuid4()), "17", "../etc"):
        assert await compute.poll(job_id) is JobState.LOST
        await compute.cancel(job_id)


async def test_a_job_that_is_not_in_the_catalogue_is_refused(compute: ComputeSystem):
    refused = job("format_the_disk")
    with pytest.raises(ComputeSubmitRejectedError, match="format_the_disk"):
        await compute.submit(refused)
    assert await compute.find(refused.submission_key) is None
