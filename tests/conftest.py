"""What every test shares: one PostgreSQL cluster for a run, and a fresh database if asked."""

from collections.abc import Generator

import pytest
import structlog
from structlog.processors import KeyValueRenderer, add_log_level, format_exc_info

from beamkeep.testing.cluster import Cluster
from beamkeep.testing.database import Database
from beamkeep.testing.ioc import Network, loopback_network
from beamkeep.testing.postgres import PREPARED, fresh_database, postgres_cluster

pytest_plugins = ["tests.support.verdicts"]
pytest.register_assert_rewrite("demo.acting", "demo.agent", "demo.data", "demo.day", "demo.debrief")


def pytest_configure() -> None:
    """Log plainly: a traceback drawn in colour takes longer than most tests."""
    structlog.configure(processors=[add_log_level, format_exc_info, KeyValueRenderer()])


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def network() -> Generator[Network]:
    """libca reads its environment once in a process, so there is one network for all tests."""
    with loopback_network(servers=3) as network, pytest.MonkeyPatch.context() as patch:
        for name, value in network.environment.items():
            patch.setenv(name, value)
        yield network


@pytest.fixture(scope="session")
def cluster() -> Generator[Cluster]:
    with postgres_cluster() as cluster:
        yield cluster


@pytest.fixture
def database(cluster: Cluster) -> Database:
    return fresh_database(cluster, PREPARED)
