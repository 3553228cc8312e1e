"""One database that is emptied for each test that asks, and a service on one of its own."""

from collections.abc import AsyncGenerator

import pytest

from beamkeep.testing.cluster import Cluster
from beamkeep.testing.database import Database
from beamkeep.testing.postgres import ARRANGED, Deployed, emptied, fresh_database, postgres_service


@pytest.fixture(scope="session")
def shared(cluster: Cluster) -> Database:
    return fresh_database(cluster, ARRANGED)


@pytest.fixture
def unseeded(shared: Database) -> Database:
    return emptied(shared)


@pytest.fixture
async def deployed(database: Database) -> AsyncGenerator[Deployed]:
    async with postgres_service(database) as deployed:
        yield deployed
