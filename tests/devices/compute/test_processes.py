"""Jobs that are processes: they outlive their workers, start once, and stay in their directory."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from uuid import UUID, uuid4

import pytest
from tests.devices.compute.benches import compute_on, ended, job, programs, reached

from beamkeep.kernel import replace
from beamkeep.parts.conducting.compute.job_directory import JobProgram
from beamkeep.parts.conducting.compute.local_process import LocalProcessCompute
from beamkeep.parts.conducting.compute.seam import (
    ComputeArtifactMissingError,
    ComputeError,
    ComputeMeasurementAmbiguousError,
    ComputeNotAvailableError,
    ComputeSubmitRejectedError,
    JobState,
)
from beamkeep.parts.conducting.compute.slurm import STATES, SlurmCompute
from beamkeep.testing.waiting import until

pytestmark = pytest.mark.anyio

ROOT = Path(__file__).parents[3]


@contextmanager
def submitter(kind: str, jobs: Path, name: str, key: UUID) -> Generator[subprocess.Popen[str]]:
    """A worker in a process of its own, which is killed in the end as a machine kills one."""
    command = [sys.executable, "-m", "tests.devices.compute.submitter", kind, jobs, name, str(key)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=ROOT, stdin=pipe, stdout=pipe, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def go(process: subprocess.Popen[str]) -> None:
    assert process.stdin
    process.stdin.write("\n")
    process.stdin.flush()


def said(process: subprocess.Popen[str]) -> str:
    assert process.stdout
    return process.stdout.readline().strip()


async def test_a_job_outlives_the_worker_that_submitted_it(kind: str, tmp_path: Path):
    jobs, key = tmp_path / "jobs", uuid4()
    with submitter(kind, jobs, "wait", key) as process:
        go(process)
        job_id = said(process)
    other = compute_on(kind, jobs)
    assert await other.find(key) == job_id
    await reached(other, job_id, JobState.RUNNING)
    (jobs / str(key) / "go").touch()
    assert await ended(other, job_id) is JobState.SUCCEEDED


MOMENTS = [
    ("local_process", "job.json"),
    ("local_process", "runner.json"),
    ("slurm", "job.json"),
    ("slurm", "batch.sh"),
    ("slurm", "slurm.json"),
]


@pytest.mark.parametrize(("kind", "moment"), MOMENTS, indirect=["kind"])
async def test_a_worker_that_is_killed_while_it_submits_starts_nothing_twice(
    kind: str, tmp_path: Path, moment: str
):
    jobs, key = tmp_path / "jobs", uuid4()
    with submitter(kind, jobs, "measure", key) as process:
        go(process)
        await until((jobs / str(key) / moment).exists)
    compute = compute_on(kind, jobs)
    assert await ended(compute, await compute.submit(job("measure", key))) is JobState.SUCCEEDED
    assert (jobs / str(key) / "runs").read_text() == "once\n"


async def test_workers_that_submit_one_key_at_once_start_one_program(kind: str, tmp_path: Path):
    jobs, key = tmp_path / "jobs", uuid4()
    with (
        submitter(kind, jobs, "measure", key) as one,
        submitter(kind, jobs, "measure", key) as two,
        submitter(kind, jobs, "measure", key) as three,
    ):
        for each in (one, two, three):
            go(each)
        (job_id,) = {said(one), said(two), said(three)}
    assert await ended(compute_on(kind, jobs), job_id) is JobState.SUCCEEDED
    assert (jobs / str(key) / "runs").read_text() == "once\n"


async def test_a_submission_that_was_killed_half_way_is_completed_by_the_next(
    kind: str, tmp_path: Path
):
    jobs, begun = tmp_path / "jobs", job("measure")
    compute = compute_on(kind, jobs)
    directory = jobs / str(begun.submission_key)
    directory.mkdir(parents=True)
    prepared = {"job": "measure", "parameters": {"number": 21}, "output_uri": "file:///no/where"}
    (directory / "job.json").write_text(json.dumps(prepared))
    (directory / "lock").touch()
    assert await compute.find(begun.submission_key) is None
    assert await compute.poll(directory.name) is JobState.LOST
    assert await ended(compute, await compute.submit(begun)) is JobState.SUCCEEDED


async def test_an_output_lies_where_the_catalogue_allows_it(kind: str, tmp_path: Path):
    compute, there = compute_on(kind, tmp_path / "jobs"), tmp_path / "made here.txt"
    job_id = await compute.submit(replace(job("file"), output_uri=there.as_uri()))
    assert await ended(compute, job_id) is JobState.SUCCEEDED
    made = await compute.fetch_artifact(job_id)
    assert (made.uri, made.media_type, made.byte_size) == (there.as_uri(), "text/plain", 5)


async def test_a_relative_output_lies_in_the_directory_of_its_job(kind: str, tmp_path: Path):
    compute, asked = compute_on(kind, tmp_path / "jobs"), replace(job("file"), output_uri="a/b.txt")
    job_id = await compute.submit(asked)
    assert await ended(compute, job_id) is JobState.SUCCEEDED
    own = tmp_path / "jobs" / str(asked.submission_key)
    assert (await compute.fetch_artifact(job_id)).uri == (own / "output/a/b.txt").as_uri()


@pytest.mark.parametrize(
    "uri",
    [
        "file:///etc/motd",
        "/etc/motd",
        "../job.json",
        "x\0",
        "https://host/x",
        "file:{root}/../x",
        "file://{root}%00",
    ],
)
async def test_an_output_elsewhere_is_refused(uri: str, tmp_path: Path):
    compute = compute_on("local_process", tmp_path / "jobs")
    asked = replace(job("file"), output_uri=uri.format(root=tmp_path))
    with pytest.raises(ComputeSubmitRejectedError, match="output_roots"):
        await compute.submit(asked)


async def test_an_input_lies_where_the_catalogue_allows_it(kind: str, tmp_path: Path):
    compute = compute_on(kind, tmp_path / "jobs")
    first = await compute.submit(job("file"))
    assert await ended(compute, first) is JobState.SUCCEEDED
    made = await compute.fetch_artifact(first)
    frames = tmp_path / "frames.h5"
    frames.touch()
    asked = replace(job("measure"), input_uris=(frames.as_uri(), made.uri))
    assert await ended(compute, await compute.submit(asked)) is JobState.SUCCEEDED


@pytest.mark.parametrize(
    "uri", ["file:///etc/passwd", "/etc/motd", "frames.h5", "https://host/x", "file:{link}"]
)
async def test_an_input_elsewhere_is_refused(uri: str, kind: str, tmp_path: Path):
    compute, link = compute_on(kind, tmp_path / "jobs"), tmp_path / "link"
    link.symlink_to("/etc/passwd")
    asked = replace(job("measure"), input_uris=(uri.format(link=link),))
    with pytest.raises(ComputeSubmitRejectedError, match="input_roots"):
        await compute.submit(asked)
    assert await compute.find(asked.submission_key) is None


async def test_an_output_that_is_a_link_is_no_artifact(tmp_path: Path):
    compute = compute_on("local_process", tmp_path / "jobs")
    job_id = await compute.submit(job("link"))
    assert await ended(compute, job_id) is JobState.SUCCEEDED
    with pytest.raises(ComputeArtifactMissingError, match="leads out"):
        await compute.fetch_artifact(job_id)


async def test_values_that_are_not_json_cannot_be_used(tmp_path: Path):
    compute = compute_on("local_process", tmp_path / "jobs")
    job_id = await compute.submit(job("garbled"))
    assert await ended(compute, job_id) is JobState.SUCCEEDED
    with pytest.raises(ComputeMeasurementAmbiguousError, match=r"measurements\.json"):
        await compute.fetch_measurements(job_id)


async def test_a_program_sees_no_secret_of_the_worker(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("DATABASE_URL", "postgresql://bk:quiet@")
    printing = [JobProgram("env", ("/usr/bin/env", "--", "sh", "-c", "env", "{job}"))]
    jobs = tmp_path / "jobs"
    compute = (SlurmCompute if kind == "slurm" else LocalProcessCompute)(jobs, printing)
    job_id = await compute.submit(job("env"))
    assert await ended(compute, job_id) is JobState.SUCCEEDED
    printed = (jobs / job_id / "stdout").read_text()
    assert "PATH=" in printed
    assert "quiet" not in printed


async def test_a_program_that_is_not_there_has_failed(tmp_path: Path):
    compute = LocalProcessCompute(tmp_path, [JobProgram("absent", ("/no/such/program",))])
    assert await ended(compute, await compute.submit(job("absent"))) is JobState.FAILED


async def test_a_job_waits_for_a_place_also_when_the_worker_is_another(tmp_path: Path):
    first, second = (compute_on("local_process", tmp_path / "jobs", at_once=1) for _ in range(2))
    one = await first.submit(job("wait"))
    await reached(first, one, JobState.RUNNING)
    two, three = await second.submit(job("measure")), await second.submit(job("wait"))
    assert await first.poll(two) is JobState.PENDING
    await first.cancel(three)
    assert await ended(second, three) is JobState.CANCELLED
    assert await first.poll(two) is JobState.PENDING
    (tmp_path / "jobs" / one / "go").touch()
    assert await ended(first, two) is JobState.SUCCEEDED


async def test_a_job_whose_processes_were_killed_is_lost(tmp_path: Path):
    jobs = tmp_path / "jobs"
    compute = compute_on("local_process", jobs)
    job_id = await compute.submit(job("wait"))
    await reached(compute, job_id, JobState.RUNNING)
    await until((jobs / job_id / "runs").exists)
    runner = json.loads((jobs / job_id / "runner.json").read_text())["pid"]
    (program,) = Path(f"/proc/{runner}/task/{runner}/children").read_text().split()
    os.kill(runner, signal.SIGKILL)
    # Its program still runs: to call it lost would have it started a second time beside itself.
    assert await compute.poll(job_id) is JobState.RUNNING
    os.kill(int(program), signal.SIGKILL)
    assert await ended(compute, job_id) is JobState.LOST
    assert await compute.submit(job("wait", UUID(job_id))) == job_id
    assert await compute.poll(job_id) is JobState.LOST


async def test_a_directory_that_cannot_be_written_is_said_to_be_so(tmp_path: Path):
    (tmp_path / "jobs").write_text("a file, not a directory")
    with pytest.raises(ComputeNotAvailableError, match="jobs"):
        await compute_on("local_process", tmp_path / "jobs").submit(job("measure"))


def stand_in(directory: Path, program: str, prints: str, code: int = 0, error: str = "") -> None:
    """A program of Slurm that answers what a real one was seen to answer."""
    path = directory / program
    path.write_text(f"#!/bin/sh\nprintf '%s' '{prints}'\nprintf '%s' '{error}' >&2\nexit {code}\n")
    path.chmod(0o755)


@pytest.fixture
def answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    found = tmp_path / "bin"
    found.mkdir()
    monkeypatch.setenv("PATH", f"{found}:{os.environ['PATH']}")
    stand_in(found, "squeue", "")
    stand_in(found, "sacct", "", 1, "Slurm accounting storage is disabled")
    stand_in(found, "sbatch", "4711;cluster\n")
    return found


@pytest.mark.parametrize(("word", "state"), [(w, s) for s, words in STATES.items() for w in words])
async def test_every_state_of_slurm_has_a_meaning(
    answers: Path, tmp_path: Path, word: str, state: JobState
):
    compute = SlurmCompute(tmp_path / "jobs", programs(tmp_path))
    job_id = await compute.submit(job("wait"))
    stand_in(answers, "squeue", f"4711|{word}\n")
    assert await compute.poll(job_id) is state


async def test_the_accounting_knows_what_the_controller_forgot(answers: Path, tmp_path: Path):
    compute = SlurmCompute(tmp_path / "jobs", programs(tmp_path))
    job_id = await compute.submit(job("wait"))
    stand_in(answers, "sacct", "4711|CANCELLED by 1000\n")
    assert await compute.poll(job_id) is JobState.CANCELLED
    stand_in(answers, "sacct", "", 1, "Slurm accounting storage is disabled")
    assert await compute.poll(job_id) is JobState.CANCELLED


async def test_a_job_that_slurm_forgot_is_lost(answers: Path, tmp_path: Path):
    compute = SlurmCompute(tmp_path / "jobs", programs(tmp_path))
    assert await compute.poll(await compute.submit(job("wait"))) is JobState.LOST


async def test_a_controller_that_does_not_answer_is_no_lost_job(answers: Path, tmp_path: Path):
    compute = SlurmCompute(tmp_path / "jobs", programs(tmp_path))
    job_id = await compute.submit(job("wait"))
    down = "slurm_load_jobs error: Unable to contact slurm controller (connect failure)"
    stand_in(answers, "squeue", "", 1, down)
    with pytest.raises(ComputeNotAvailableError, match="squeue failed: slurm_load_jobs"):
        await compute.poll(job_id)


REFUSED = "sbatch: error: Batch job submission failed: Invalid partition name specified"
DOWN = "sbatch: error: Batch job submission failed: Socket timed out on send/recv operation"


@pytest.mark.parametrize(
    ("told", "error"), [(REFUSED, ComputeSubmitRejectedError), (DOWN, ComputeNotAvailableError)]
)
async def test_a_refused_job_is_distinguished_from_a_silent_controller(
    answers: Path, tmp_path: Path, told: str, error: type[ComputeError]
):
    stand_in(answers, "sbatch", "", 1, told)
    with pytest.raises(error, match="Batch job submission failed"):
        await SlurmCompute(tmp_path / "jobs", programs(tmp_path)).submit(job("wait"))


@pytest.mark.parametrize("answer", ["4711|MELTED", "4711", "no jobs|RUNNING"])
async def test_an_answer_that_is_not_understood_is_an_error(
    answers: Path, tmp_path: Path, answer: str
):
    compute = SlurmCompute(tmp_path / "jobs", programs(tmp_path))
    job_id = await compute.submit(job("wait"))
    stand_in(answers, "squeue", answer)
    with pytest.raises(ComputeError, match="not understood"):
        await compute.poll(job_id)
