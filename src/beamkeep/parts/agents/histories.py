"""Histories: the newest event of a kind in a stream, with its envelope."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

from beamkeep.kernel import Aggregate, Event
from beamkeep.runtime.codec import Codec
from beamkeep.runtime.store import Envelope, EventStore

READ_BACK = 50
"""The events that one statement reads; the newest events come first."""


class Histories:
    """Reads streams backwards."""

    def __init__(self, store: EventStore, codec: Codec) -> None:
        self._store, self._codec = store, codec

    async def newest[E: Event](
        self,
        of: Aggregate[Any, Any, Any],
        id: UUID,
        version: int,
        types: tuple[type[E], ...],
        fits: Callable[[E], bool] = lambda _: True,
    ) -> tuple[Envelope, E] | None:
        """Return the newest event of these types that fits, up to a version of the stream."""
        while version > 0:
            first = max(0, version - READ_BACK)
            page = await self._store.history((of.name, id), first, version - first)
            for envelope in reversed(page):
                (event,) = self._codec.decode(of.name, [envelope.recorded])
                if isinstance(event, types) and fits(event):
                    return envelope, event
            version = first
        return None
