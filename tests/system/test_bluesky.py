"""Scans of a real RunEngine, recorded by a service that is killed meanwhile: each is one run."""

import asyncio
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx2
import pytest
from bluesky import RunEngine
from bluesky import plans as bp
from bluesky import preprocessors as bpp
from ophyd import sim
from tests.support.bluesky_documents import Witness
from tests.support.examples import EXAMPLES
from tests.system.calling import As, callers

from beamkeep.testing.calling import Rest
from beamkeep.testing.cluster import Cluster
from beamkeep.testing.server import LocalDeployment, Server, ServerError, deployment, serving
from beamkeep_client.bluesky import NotReadyError, Recorder
from beamkeep_client.http import ServiceError

pytestmark = [
    pytest.mark.postgres,
    pytest.mark.skipif("start_run" not in EXAMPLES, reason="the service has no runs yet"),
]

DEADLINE = 120.0


async def a_plan(server: Server) -> str:
    """A plan that a run can be started of."""
    async with httpx2.AsyncClient(base_url=server.url, timeout=DEADLINE) as http:
        admin = As(Rest(http), server.admin)
        by = As(Rest(http), server.admin, await callers(server, admin))
        return (await EXAMPLES["start_run"](by))["plan_id"]


def listed(server: Server, path: str, **filters: str) -> list[dict[str, Any]]:
    """Every row of a list, page by page."""
    rows: list[dict[str, Any]] = []
    order = {"order": "oldest"} if path == "/runs" else {}
    asked: dict[str, Any] = {"limit": 100, **order, **filters}
    headers = {"Authorization": f"Bearer {server.admin}"}
    with httpx2.Client(base_url=server.url, headers=headers, timeout=DEADLINE) as http:
        while True:
            page = http.get(path, params=asked).raise_for_status().json()
            rows += page["items"]
            if page["next_cursor"] is None:
                return rows
            asked["cursor"] = page["next_cursor"]


def ended(server: Server, plan_id: str, count: int) -> list[dict[str, Any]]:
    """The runs of a plan, once the list shows that so many have ended."""
    late = time.monotonic() + DEADLINE
    while True:
        rows = listed(server, "/runs", plan_id=plan_id)
        if sum(row["status"] != "Running" for row in rows) >= count or time.monotonic() > late:
            return rows
        time.sleep(0.1)


def facts(server: Server, run_id: str) -> list[tuple[str, str, float]]:
    """Procedure, channel and value of a run's observations."""
    rows = listed(server, f"/runs/{run_id}/observations")
    return sorted((row["sampling_procedure"], row["channel_name"], row["value"]) for row in rows)


@contextmanager
def killed(made: LocalDeployment) -> Generator[None]:
    """A service that runs and is killed in the end."""
    with suppress(ServerError), serving(made) as server:
        yield
        server.process.kill()


def test_twenty_scans_during_which_the_service_is_killed_twice_are_twenty_runs(
    cluster: Cluster, tmp_path: Path
):
    engine, witness = RunEngine(context_managers=[]), Witness()
    engine.preprocessors.append(bpp.SupplementalData(baseline=[sim.det1]))
    engine.subscribe(witness)

    def scan(times: int) -> None:
        for _ in range(times):
            engine(bp.scan([sim.det], sim.motor, -1, 1, 5))

    # The permit is reported once; it must hold until a slow machine has done.
    with deployment(cluster, True, enclosure_stale_after_seconds="3600") as made:
        with serving(made) as server:
            plan_id = asyncio.run(a_plan(server))
        recorder = Recorder(made.url, lambda: made.admin, plan_id, tmp_path, simulated=True)
        engine.subscribe(recorder)
        for _ in range(2):
            with killed(made):
                scan(4)
            scan(3)
        with serving(made) as server:
            scan(6)
            assert recorder.flush(DEADLINE)
            recorder.close()
            runs = ended(server, plan_id, 20)
            found = {run["name"]: facts(server, run["run_id"]) for run in runs}
    assert [run["status"] for run in runs] == ["Completed"] * 20
    assert found == witness.observed
    assert not [*tmp_path.glob("refused/*")]


def test_a_run_is_found_by_its_uid_and_shows_whether_it_was_delivered(
    server: Server, tmp_path: Path
):
    engine, plan_id = RunEngine(context_managers=[]), asyncio.run(a_plan(server))
    recorder = Recorder(server.url, server.admin, plan_id, tmp_path, simulated=True)
    engine.subscribe(recorder)
    (good,) = engine(bp.count([sim.det]))
    (bad,) = engine(bp.count([sim.det]), beamkeep={"plan_id": str(uuid4())})
    flushed = recorder.flush(DEADLINE)
    assert flushed
    assert flushed.delivered == (good,)
    assert [*flushed.refused] == [bad]
    assert flushed.refused[bad].startswith("PlanNotFoundError")
    late = time.monotonic() + DEADLINE
    while recorder.run_id(good) is None and time.monotonic() < late:
        time.sleep(0.05)
    (run,) = [
        run for run in listed(server, "/runs", plan_id=plan_id) if run["name"].endswith(good[:8])
    ]
    assert recorder.run_id(good) == run["run_id"]
    assert run["external_refs"]["bluesky"] == good
    assert recorder.run_id(bad) is None
    recorder.close()


def test_a_plan_opens_no_run_that_could_not_start(server: Server, tmp_path: Path):
    engine, plan_id = RunEngine(context_managers=[]), asyncio.run(a_plan(server))
    recorder = Recorder(server.url, server.admin, plan_id, tmp_path, simulated=True)
    opened: list[str] = []
    engine.subscribe(lambda _, document: opened.append(document["uid"]), "start")
    engine.preprocessors.append(recorder.require_ready)
    assert len(engine(bp.count([sim.det]))) == len(opened) == 1

    detector = Staged(name="detector")
    deprecate(server, plan_id)
    with pytest.raises(NotReadyError, match=f"A run of plan {plan_id} cannot start") as refused:
        engine(bp.count([detector]))
    assert len(opened) == 1, "no run was opened"
    assert detector.stagings == ["stage", "unstage"], "the plan has cleaned up"
    assert refused.value.checks
    with pytest.raises(ServiceError, match="PlanNotFoundError"):
        engine(bp.count([sim.det], md={"beamkeep": {"plan_id": str(uuid4())}}))
    recorder.close()


class Staged(sim.SynSignal):
    """A detector that remembers whether it was made ready and put away."""

    def __init__(self, name: str) -> None:
        super().__init__(name=name, func=lambda: 1.0)
        self.stagings: list[str] = []

    def stage(self) -> list[Any]:
        self.stagings.append("stage")
        return [self]

    def unstage(self) -> list[Any]:
        self.stagings.append("unstage")
        return [self]


def deprecate(server: Server, plan_id: str) -> None:
    """End a plan, so that no run of it can start."""
    headers = {"Authorization": f"Bearer {server.admin}"}
    with httpx2.Client(base_url=server.url, headers=headers, timeout=DEADLINE) as http:
        path = f"/plans/{plan_id}/deprecate"
        http.post(path, json={}).raise_for_status()
