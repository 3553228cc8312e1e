"""Scans of a real RunEngine, recorded by a service that is killed meanwhile: each is one run."""

import asyncio
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx2
import pytest
from bluesky import RunEngine
from bluesky import plans as bp
from bluesky import preprocessors as bpp
from ophyd import sim
from tests.support.bluesky_documents import Witness
from tests.support.examples import EXAMPLES
from tests.system.calling import As, callers

from beamkeep.bluesky import Recorder
from beamkeep.testing.calling import Rest
from beamkeep.testing.cluster import Cluster
from beamkeep.testing.server import LocalDeployment, Server, ServerError, deployment, serving

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
    asked: dict[str, Any] = {"limit": 100, **filters}
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
