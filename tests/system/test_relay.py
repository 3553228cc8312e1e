"""Events of a running service on a NATS server."""

import json
from collections.abc import Generator
from contextlib import contextmanager

import httpx2
import pytest
from tests.support.nats import NatsServer, nats_server
from tests.system.calling import As

from beamkeep.testing.calling import Rest
from beamkeep.testing.cluster import Cluster
from beamkeep.testing.server import Program, Server, running_server
from beamkeep.testing.waiting import until

pytestmark = [pytest.mark.postgres, pytest.mark.anyio]


@contextmanager
def working(server: Server) -> Generator[Program]:
    """Run `beamkeep work`, and require that it ends well."""
    process = server.begin("work")
    try:
        yield process
        process.terminate()
        assert process.wait(60) == 0
    finally:
        process.kill()
        process.wait(60)


async def test_work_relays_events_and_continues_at_the_given_place(cluster: Cluster):
    with (
        nats_server() as bus,
        running_server(cluster, nats_url=bus.url, project_in_serve="false") as server,
    ):
        async with httpx2.AsyncClient(base_url=server.url, timeout=30) as http:
            ada = As(Rest(http), server.admin)
            with working(server):
                await ada("define_zone", {"name": "Relayed"})
                await until(lambda: _has(bus, "Relayed"), "the zone is on the bus")
            cursor = (await ada("list_events", {"type": "ZoneDefined"}))["next_cursor"]
            moved = server.run("relay", "--from", cursor)
            assert (moved.returncode, moved.stderr) == (0, "")
            await ada("define_zone", {"name": "After"})
            with working(server):
                await until(lambda: _has(bus, "After"), "the next zone is on the bus")
            assert (await bus.messages())[-1].headers["Beamkeep-Break"] == "true"
            refused = server.run("relay", "--from", "later")
            assert refused.returncode == 1
            assert "The relay was not moved" in refused.stderr


async def _has(bus: NatsServer, name: str) -> bool:
    try:
        last = (await bus.messages())[-1]
    except Exception:
        return False
    return json.loads(last.body)["data"].get("name") == name


def test_relay_is_refused_without_a_bus(server: Server):
    refused = server.run("relay", "--from", "now")
    assert refused.returncode == 78
    assert "NATS_URL is not set" in refused.stderr
