"""A service in memory in which agents may decide."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from beamkeep.adapters.memory.store import MemoryStore
from beamkeep.runtime import Service
from beamkeep.runtime.store import Envelope
from beamkeep.testing.service import AdminClient, memory_service


class World:
    """A service, its store, and a clock of the database that the test moves."""

    def __init__(self, service: Service, store: MemoryStore) -> None:
        self.service, self.store, self.do = service, store, AdminClient(service, store)
        self.now = datetime.now(UTC)
        store.clock = lambda: self.now

    def later(self, **time: float) -> None:
        self.now += timedelta(**time)

    def events(self, *types: str) -> list[Envelope]:
        """Return the events of these types in the order of the log."""
        found = [each for stream in self.store.streams.values() for each in stream]
        return sorted((e for e in found if e.event_type in types), key=lambda e: e.position)

    def decisions(self) -> list[Any]:
        """Return the decisions of agents: choice and inputs."""
        import json

        told = [json.loads(bytes(e.payload)) for e in self.events("DecisionRegistered")]
        return [each for each in told if (each["rule"] or "").startswith("agent:")]


@pytest.fixture
async def world() -> World:
    return World(*await memory_service())
