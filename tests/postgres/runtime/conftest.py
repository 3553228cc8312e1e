"""One database that is emptied for each test that asks, and services on it and in memory."""

from collections.abc import AsyncGenerator
from typing import NamedTuple

import pytest

from beamkeep.runtime import Service
from beamkeep.runtime.store import EventStore
from beamkeep.testing.cluster import Cluster
from beamkeep.testing.database import Database
from beamkeep.testing.postgres import ARRANGED, Deployed, emptied, fresh_database, postgres_service
from beamkeep.testing.service import AdminClient, memory_service


class Hosted(NamedTuple):
    """A service prepared as a fresh deployment is, and its store."""

    service: Service
    store: EventStore

    @property
    def do(self) -> AdminClient:
        return AdminClient(self.service, self.store)


@pytest.fixture(scope="session")
def shared(cluster: Cluster) -> Database:
    return fresh_database(cluster, ARRANGED)


@pytest.fixture
def unseeded(shared: Database) -> Database:
    return emptied(shared)


@pytest.fixture(params=["memory", pytest.param("postgres", marks=pytest.mark.postgres)])
def place(request: pytest.FixtureRequest) -> Database | None:
    """Where a store is: in memory, or in an empty database."""
    return None if request.param == "memory" else request.getfixturevalue("unseeded")


@pytest.fixture
async def hosted(place: Database | None) -> AsyncGenerator[Hosted]:
    if place is None:
        yield Hosted(*await memory_service())
        return
    async with postgres_service(place) as deployed:
        yield Hosted(deployed.service, deployed.store)


@pytest.fixture
async def deployed(database: Database) -> AsyncGenerator[Deployed]:
    async with postgres_service(database) as deployed:
        yield deployed
