"""REST and MCP answer alike over sockets and on PostgreSQL, for rows of every kind."""

from collections.abc import AsyncGenerator
from typing import Any
from uuid import uuid4

import httpx2
import pytest
from tests.support.examples import EXAMPLES, OUTSIDE
from tests.support.parity import PROPERTIES, sample
from tests.system.calling import As, callers, registered

from beamkeep.testing.calling import Mcp, Rest
from beamkeep.testing.cluster import Cluster
from beamkeep.testing.properties import CallRow, Property, shape
from beamkeep.testing.server import Server, running_server

pytestmark = [pytest.mark.postgres, pytest.mark.anyio]


class Running:
    """Both surfaces of a service that runs."""

    def __init__(self, http: httpx2.AsyncClient, token: str, others: dict[str, str]) -> None:
        self.rest, self.mcp = As(Rest(http), token, others), As(Mcp(http), token, others)
        self.nobody, self.do = (self.rest, self.mcp), self.rest
        self._made: dict[str, dict[str, Any]] = {}
        self.outside = OUTSIDE

    async def example(self, row: CallRow, fresh: bool = False) -> dict[str, Any]:
        """Make arguments once for refusals that look at no state."""
        if fresh:
            return await EXAMPLES[row.name](self.rest)
        if row.name not in self._made:
            self._made[row.name] = await EXAMPLES[row.name](self.rest)
        return dict(self._made[row.name])

    def written(self) -> str:
        tokens = self.rest.position_token, self.mcp.position_token
        return max(tokens, key=lambda token: [int(part) for part in token.split("-")])


@pytest.fixture(scope="module")
async def http(server: Server) -> AsyncGenerator[httpx2.AsyncClient]:
    async with httpx2.AsyncClient(base_url=server.url, timeout=30) as http:
        yield http


@pytest.fixture(scope="module")
async def stage(server: Server, http: httpx2.AsyncClient) -> Running:
    admin = As(Rest(http), server.admin)
    running = Running(http, server.admin, await callers(server, admin))
    nobody = await registered(server, admin, str(uuid4()))
    running.nobody = As(Rest(http), nobody.token), As(Mcp(http), nobody.token)
    return running


@pytest.mark.parametrize("holds", PROPERTIES, ids=lambda holds: holds.__name__)
async def test_on_both_surfaces(holds: Property, stage: Running, subtests: pytest.Subtests):
    for row in sample(PROPERTIES[holds]):
        with subtests.test(row.name):
            await holds(row, stage)


async def test_a_seal_is_initialized_over_mcp_with_the_events_of_its_dry_run(cluster: Cluster):
    with running_server(cluster) as own:
        async with httpx2.AsyncClient(base_url=own.url, timeout=60) as http:
            rest, mcp = As(Rest(http), own.admin), As(Mcp(http), own.admin)
            arguments = await EXAMPLES["initialize_seal"](rest)
            planned = [
                await surface.send("initialize_seal", arguments, dry_run=True)
                for surface in (rest, mcp)
            ]
            assert planned[0].body["events"]
            assert shape(planned[0].body) == shape(planned[1].body)
            done = await mcp.send("initialize_seal", arguments)
            assert done.body == {"facility_id": arguments["facility_id"]}
            again = await rest.send("initialize_seal", arguments)
            assert again.body["code"] == "SealAlreadyExistsError"
