"""A reader of the tail that only remembers what it saw."""

import asyncio
from typing import Any

import asyncpg

from beamkeep.adapters.postgres.connections import Connections
from beamkeep.adapters.postgres.tail import PAGE, PostgresTail
from beamkeep.feed.tail import WHOLE_LOG, TailEvent
from beamkeep.kernel import Refusal
from beamkeep.runtime.store import BEGINNING

XMIN_RULE = "AND e.transaction_id < pg_snapshot_xmin(pg_current_snapshot())"


class Recorder:
    """Follows the whole log through the adapter's own page."""

    def __init__(self, connections: Connections) -> None:
        self._connections, self._tail = connections, PostgresTail(connections)
        self.seen: list[TailEvent] = []

    async def run(self, stop: asyncio.Event) -> None:
        """Read on until told to stop, and then to the end."""
        # The place is kept in memory, so it is the last event seen and not the watermark: a
        # crash may give the ids of transactions that left nothing behind to new ones.
        while True:
            after = self.seen[-1].at if self.seen else BEGINNING
            last = stop.is_set()
            try:
                page = await self._tail.page(WHOLE_LOG, after, 200)
            except Refusal:
                continue
            self.seen += page.events
            if not page.events:
                if last:
                    break
                await asyncio.sleep(0.005)
        await self._connections.close()


class CarelessConnections(Connections):
    """Sends every page without the rule that waits for older transactions."""

    async def read(self, statement: str, *arguments: Any) -> list[asyncpg.Record]:
        assert XMIN_RULE in PAGE
        return await super().read(statement.replace(XMIN_RULE, ""), *arguments)
