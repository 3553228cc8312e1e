"""One Slurm cluster for all tests here; a machine without Slurm skips them and says so."""

from collections.abc import Generator
from pathlib import Path

import pytest
from tests.devices.compute.benches import compute_on, memory_compute
from tests.support.slurm import missing_programs, slurm_cluster

from beamkeep.parts.conducting.compute.seam import ComputeSystem


@pytest.fixture(scope="session")
def slurm() -> Generator[Path]:
    if missing := missing_programs():
        pytest.skip(f"Slurm is not installed: {missing}. Install slurm-wlm and munge.")
    with slurm_cluster() as configuration:
        yield configuration


@pytest.fixture(params=["local_process", "slurm"])
def kind(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "slurm":
        monkeypatch.setenv("SLURM_CONF", str(request.getfixturevalue("slurm")))
    return request.param


@pytest.fixture(params=["in_memory", "local_process", "slurm"])
def compute(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> ComputeSystem:
    if request.param == "in_memory":
        return memory_compute()
    if request.param == "slurm":
        monkeypatch.setenv("SLURM_CONF", str(request.getfixturevalue("slurm")))
    return compute_on(request.param, tmp_path / "jobs")


@pytest.fixture(autouse=True)
def released(tmp_path: Path) -> Generator[None]:
    """No program waits on for the file that lets it go on, whatever the test has left."""
    yield
    for job in (tmp_path / "jobs").glob("*/"):
        (job / "go").touch()
