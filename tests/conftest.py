"""What every test shares: one PostgreSQL cluster for a run, and a fresh database if asked."""

from collections.abc import Generator

import pytest

from tests.support.cluster import Cluster
from tests.support.postgres import PREPARED, Database, fresh_database, postgres_cluster


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def cluster() -> Generator[Cluster]:
    with postgres_cluster() as cluster:
        yield cluster


@pytest.fixture
def database(cluster: Cluster) -> Database:
    return fresh_database(cluster, PREPARED)
