"""What a service loads until it is ready, and the memory it needs after its first calls."""

import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
import pytest

from beamkeep.testing.cluster import Cluster
from beamkeep.testing.server import LocalDeployment, deployment
from beamkeep.testing.waiting import until

pytestmark = pytest.mark.anyio

NOT_FOR_A_START = {
    "aioca",
    "anthropic",
    "beamkeep.surfaces.http.openapi",
    "beamkeep.workers.auditing",
    "cf_units",
    "google.protobuf",
    "h5py",
    "jsonschema_rs",
    "mcp",
    "mcp_types",
    "nats",
    "numpy",
    "openai",
    "opentelemetry.sdk",
    "p4p",
    "sklearn",
    "tango",
    "uvicorn",
}
"""What only some calls or some settings need. Each of these was found in a start or could be."""
MOST_RESIDENT = 100 * 1024
"""Kilobytes. A small virtual machine has 1 GB, in which PostgreSQL, `serve` and `work` must fit."""


@asynccontextmanager
async def started(made: LocalDeployment, *options: str) -> AsyncGenerator[subprocess.Popen[bytes]]:
    """Run `serve` in a new process, which loads everything itself, until it is ready."""
    program = [sys.executable, *options, "-m", "beamkeep", "serve"]
    with made.log.open("wb") as log:
        process = subprocess.Popen(
            program, cwd=made.folder, env=made.environment(), stdout=log, stderr=log
        )
    try:
        await until(lambda: process.poll() is not None or is_ready(made))
        yield process
    finally:
        process.terminate()
        assert process.wait(60) == 0, made.log.read_text()


def is_ready(made: LocalDeployment) -> bool:
    try:
        return httpx2.get(f"{made.url}/ready").is_success
    except httpx2.TransportError:
        return False


def imported(log: Path) -> set[str]:
    """Return the modules that `-X importtime` has written."""
    lines = log.read_text().splitlines()
    return {line.rpartition("|")[2].strip() for line in lines if line.startswith("import time:")}


def resident(pid: int) -> int:
    rows = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    (row,) = (row for row in rows if row.startswith("Rss:"))
    return int(row.split()[1])


def call_often(made: LocalDeployment) -> None:
    """Send commands and read back, one object and the list."""
    headers = {"Authorization": f"Bearer {made.admin}"}
    with httpx2.Client(base_url=made.url, headers=headers) as http:
        for number in range(20):
            registered = http.post("/zones", json={"name": f"Zone {number}"}).raise_for_status()
            http.get(f"/zones/{registered.json()['zone_id']}").raise_for_status()
            http.get("/zones").raise_for_status()


async def test_a_start_loads_no_library_that_only_some_calls_need(cluster: Cluster):
    with deployment(cluster, True) as made:
        async with started(made, "-X", "importtime"):
            call_often(made)
        found = imported(made.log)
    assert {"beamkeep.deployment.web", "asyncpg"} <= found
    assert NOT_FOR_A_START & found == set()


async def test_a_service_stays_small_after_its_first_calls(cluster: Cluster):
    with deployment(cluster, True) as made:
        # Compiling the modules takes memory as well, which only the first start needs.
        async with started(made):
            pass
        async with started(made) as process:
            call_often(made)
            assert resident(process.pid) < MOST_RESIDENT
