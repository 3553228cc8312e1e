"""A service on the in-memory store or on PostgreSQL, for tests that must hold on both."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import NamedTuple

from beamkeep.feed.tail import WHOLE_LOG
from beamkeep.runtime import Service
from beamkeep.runtime.store import EventStore
from beamkeep.testing.database import Database
from beamkeep.testing.postgres import postgres_service
from beamkeep.testing.service import AdminClient, memory_service


async def nothing() -> None:
    """Bring nothing in step: the lists of the in-memory store always are."""


class Hosted(NamedTuple):
    """A service prepared as a fresh deployment is, its store, and what brings its lists in step."""

    service: Service
    store: EventStore
    catch_up: Callable[[], Awaitable[object]] = nothing

    @property
    def do(self) -> AdminClient:
        """The administrator."""
        return AdminClient(self.service, self.store)


@asynccontextmanager
async def hosted_on(database: Database | None) -> AsyncGenerator[Hosted]:
    """Provide a service on this database, or on the in-memory store."""
    if database is None:
        yield Hosted(*await memory_service())
        return
    async with postgres_service(database) as deployed:
        catch_up = partial(deployed.projector.catch_up, [WHOLE_LOG])
        yield Hosted(deployed.service, deployed.store, catch_up)
