"""Conductors for tests, on a store in memory and on PostgreSQL."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Any

import pytest
from tests.support.conducting import ConductorBench

from beamkeep.adapters.memory.work import MemoryWorkQueue
from beamkeep.adapters.postgres.work import PostgresWorkQueue
from beamkeep.testing.database import Database
from beamkeep.testing.postgres import postgres_service
from beamkeep.testing.service import memory_service

type MakeBench = Callable[..., Awaitable[ConductorBench]]


@pytest.fixture(params=["memory", pytest.param("postgres", marks=pytest.mark.postgres)])
def place(request: pytest.FixtureRequest) -> Database | None:
    """Where a store is: in memory, or in a prepared database."""
    return None if request.param == "memory" else request.getfixturevalue("database")


@pytest.fixture
async def bench(place: Database | None) -> AsyncGenerator[MakeBench]:
    """Provide a function that makes a bench; its options are those of `ConductorBench`."""
    async with AsyncExitStack() as stack:

        async def make(**options: Any) -> ConductorBench:
            if place is None:
                _, store = await memory_service()
                return ConductorBench(store, store, MemoryWorkQueue(store), b"k" * 32, **options)
            deployed = await stack.enter_async_context(postgres_service(place))
            connections = place.connections()
            stack.push_async_callback(connections.close)
            queue, key = PostgresWorkQueue(connections), await deployed.store.cursor_key()
            return ConductorBench(deployed.store, deployed.lists, queue, key, **options)

        yield make
