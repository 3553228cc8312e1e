"""One bench for each kind of control system, started once for a module."""

from collections.abc import AsyncGenerator, Generator

import aioca
import pytest
from tests.devices.channels.benches import (
    Bench,
    channel_access_bench,
    pv_access_bench,
    simulator_bench,
    tango_bench,
)

from beamkeep.parts.conducting.control import ControlSystem
from beamkeep.testing.ioc import Network

BENCHES = {
    "simulator": simulator_bench,
    "channel_access": channel_access_bench,
    "pv_access": pv_access_bench,
    "tango": tango_bench,
}


@pytest.fixture(scope="module", params=BENCHES)
def bench(request: pytest.FixtureRequest, network: Network) -> Generator[Bench]:
    with BENCHES[request.param](network) as bench:
        yield bench


@pytest.fixture
async def control(bench: Bench) -> AsyncGenerator[ControlSystem]:
    client = bench.client()
    yield client
    await client.close()
    aioca.purge_channel_caches()
