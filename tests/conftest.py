"""What every test shares: one PostgreSQL cluster for a run, and a fresh database if asked.

A fixture imports what it starts itself, so that a test of one aggregate does not wait for it.
"""

import sys
from collections.abc import Generator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from beamkeep.testing.cluster import Cluster
    from beamkeep.testing.database import Database
    from beamkeep.testing.ioc import Network

pytest_plugins = ["tests.support.verdicts", "tests.support.costs", "tests.support.leftovers"]
pytest.register_assert_rewrite("demo.acting", "demo.agent", "demo.data", "demo.day", "demo.debrief")


def pytest_configure() -> None:
    """Log plainly: a traceback drawn in colour takes longer than most tests."""
    import structlog
    from structlog.processors import KeyValueRenderer, add_log_level, format_exc_info

    structlog.configure(processors=[add_log_level, format_exc_info, KeyValueRenderer()])


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Spare a run without Hypothesis its import, which takes longer than the tests of a module."""
    if "hypothesis" not in sys.modules:
        session.config.pluginmanager.unregister(name="hypothesispytest")


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def network() -> "Generator[Network]":
    """libca reads its environment once in a process, so there is one network for all tests."""
    from beamkeep.testing.ioc import loopback_network

    with loopback_network(servers=3) as network, pytest.MonkeyPatch.context() as patch:
        for name, value in network.environment.items():
            patch.setenv(name, value)
        yield network


@pytest.fixture(scope="session")
def cluster() -> "Generator[Cluster]":
    from beamkeep.testing.postgres import postgres_cluster

    with postgres_cluster() as cluster:
        yield cluster


@pytest.fixture
def database(cluster: "Cluster") -> "Database":
    from beamkeep.testing.postgres import PREPARED, fresh_database

    return fresh_database(cluster, PREPARED)
