"""What the pages count is what there is."""

import asyncio
import re
import sys
import tomllib
from pathlib import Path
from types import ModuleType
from uuid import UUID

import pytest

from beamkeep.parts.conducting.compute.job_directory import JobProgram
from beamkeep.parts.conducting.compute.local_process import LocalProcessCompute
from beamkeep.parts.conducting.compute.seam import ComputeJob, JobState, Measurement
from beamkeep.parts.conducting.registered import registered_actions, registered_advisors
from beamkeep.testing.scenario import run_sentences
from beamkeep.testing.waiting import until

DOCS = Path(__file__).parents[2] / "docs"
DEVIATION = re.compile(r"^\| ([^|-][^|]*) \| ([^|]+) \| ([^|]+) \|$", re.MULTILINE)
EXAMPLE = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PROJECT = re.compile(r"^```toml\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[decision (\d+)\]\(\S*?decisions/(\d{4})-")


def test_each_deviation_from_the_specification_has_a_reason():
    rows = DEVIATION.findall((DOCS / "domain/deviations.md").read_text())
    told = [does for _, does, reason in rows if len(reason.split()) > 5]
    assert len(told) == len(rows) - 1, "the head of the table alone has no reason"
    for word in ("snapshot", "promotes", "abort_procedure"):
        assert any(word in does for does in told), word


def test_a_decision_is_named_by_the_number_it_has():
    for page in DOCS.rglob("*.md"):
        for number, file in LINK.findall(page.read_text()):
            assert int(number) == int(file), page


@pytest.mark.parametrize(("name", "count"), [("test-an-operation", 6), ("write-an-action", 4)])
def test_the_tests_that_a_how_to_page_shows_pass(name: str, count: int):
    module = ModuleType("shown")
    exec(shown(name), vars(module))  # noqa: S102
    run_sentences(module)
    assert len([name for name in vars(module) if name.startswith("test_")]) == count


def shown(name: str) -> str:
    return "".join(EXAMPLE.findall((DOCS / f"how-to/{name}.md").read_text()))


def test_the_package_that_a_how_to_page_shows_is_registered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "beamline_actions.py").write_text(shown("write-an-action"))
    (project,) = PROJECT.findall((DOCS / "how-to/write-an-action.md").read_text())
    told = tomllib.loads(project)["project"]
    info = tmp_path / "beamline_actions-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Name: {told['name']}\nVersion: {told['version']}\n")
    lines = "".join(
        f"[{group}]\n{name} = {value}\n"
        for group, points in told["entry-points"].items()
        for name, value in points.items()
    )
    (info / "entry_points.txt").write_text(lines)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    assert "open_in_pulses" in registered_actions()
    assert "approach" in registered_advisors()


def test_the_job_that_a_how_to_page_shows_computes_its_value(tmp_path: Path):
    (program := tmp_path / "find_center.py").write_text(shown("write-an-action"))
    jobs = [JobProgram("find_center", (sys.executable, str(program), "--job", "{job}"))]
    compute = LocalProcessCompute(tmp_path / "jobs", jobs)

    async def center() -> list[Measurement]:
        job = ComputeJob("find_center", {"edges": [1.0, 4.0]}, (), None, UUID(int=1))
        job_id = await compute.submit(job)

        async def state() -> JobState | None:
            polled = await compute.poll(job_id)
            return None if polled in {JobState.PENDING, JobState.RUNNING} else polled

        assert await until(state, "the job ends") is JobState.SUCCEEDED
        return [*await compute.fetch_measurements(job_id)]

    assert asyncio.run(center()) == [Measurement("center", 2.5, "mm")]
