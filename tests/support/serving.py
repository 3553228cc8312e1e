"""One cluster and one running service for all tests of a run that call it over a socket."""

from collections.abc import Generator

import pytest

from beamkeep.testing.cluster import Cluster
from beamkeep.testing.server import Server, running_server


@pytest.fixture(scope="session")
def cluster() -> Generator[Cluster]:
    with Cluster.start() as cluster:
        yield cluster


@pytest.fixture(scope="session")
def server(cluster: Cluster) -> Generator[Server]:
    # A permit that an example reports once holds for as long as a slow machine takes.
    with running_server(cluster, "witnessed", enclosure_stale_after_seconds="3600") as server:
        yield server
