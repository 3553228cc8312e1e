"""What the runtimes of agents ask of the log, in memory: the twin for fast tests."""

from datetime import datetime
from uuid import UUID

from beamkeep.adapters.memory.store import MemoryStore
from beamkeep.runtime.store import Position, Stream


class MemoryAgentLog:
    """Reads the log of a store in memory."""

    def __init__(self, store: MemoryStore) -> None:
        self._store = store

    async def now(self) -> datetime:
        """Return the time of the store."""
        return self._store.clock()

    async def first(self, stream: Stream, event_type: str) -> Position | None:
        """Return the position of the first event of this type in a stream."""
        of_type = (each for each in self._store.log if each.event_type == event_type)
        found = (each.at for each in of_type if (each.stream_type, each.stream_id) == stream)
        return next(found, None)

    async def last_write(self, principal_id: UUID) -> Position | None:
        """Return the position of the last event of a principal."""
        own = (each.at for each in reversed(self._store.log) if each.principal_id == principal_id)
        return next(own, None)

    async def written_since(self, principal_id: UUID, event_type: str, since: datetime) -> int:
        """Return how many events of this type a principal has recorded since a time."""
        return sum(
            each.principal_id == principal_id
            and each.event_type == event_type
            and each.recorded_at >= since
            for stream in self._store.streams.values()
            for each in stream
        )
