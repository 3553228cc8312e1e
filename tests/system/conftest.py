"""One cluster and one running service for all system tests of a run."""

from collections.abc import Generator

import pytest
from tests.support.cluster import Cluster
from tests.support.server import Server, running_server

pytest.register_assert_rewrite("demo.day")


@pytest.fixture(scope="session")
def cluster() -> Generator[Cluster]:
    with Cluster.start() as cluster:
        yield cluster


@pytest.fixture(scope="session")
def server(cluster: Cluster) -> Generator[Server]:
    with running_server(cluster) as server:
        yield server
