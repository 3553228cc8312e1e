"""One PostgreSQL cluster for all tests of a run, and a fresh database for each that asks."""

from collections.abc import AsyncGenerator, Generator

import pytest
from tests.support.cluster import Cluster
from tests.support.postgres import (
    ARRANGED,
    PREPARED,
    Database,
    Deployed,
    emptied,
    fresh_database,
    postgres_cluster,
    postgres_service,
)


@pytest.fixture(scope="session")
def cluster() -> Generator[Cluster]:
    with postgres_cluster() as cluster:
        yield cluster


@pytest.fixture(scope="session")
def shared(cluster: Cluster) -> Database:
    return fresh_database(cluster, ARRANGED)


@pytest.fixture
def unseeded(shared: Database) -> Database:
    return emptied(shared)


@pytest.fixture
def database(cluster: Cluster) -> Database:
    return fresh_database(cluster, PREPARED)


@pytest.fixture
async def deployed(database: Database) -> AsyncGenerator[Deployed]:
    async with postgres_service(database) as deployed:
        yield deployed
