"""Leases: work that one worker does while the others stand by."""

from collections.abc import Sequence
from contextlib import suppress

import asyncpg

PATIENCE = 10.0
# The server must notice that a worker cannot be reached any more: until then nobody gets its parts.
KEPT_ALIVE = {
    "tcp_keepalives_idle": "5",
    "tcp_keepalives_interval": "2",
    "tcp_keepalives_count": "3",
    "tcp_user_timeout": "10000",
}


class Lease:
    """Numbered parts of a piece of work, each kept to one worker for as long as it lives."""

    def __init__(self, url: str, name: str, wanted: Sequence[int]) -> None:
        self._url, self._name, self._wanted = url, name, wanted
        self._connection: asyncpg.Connection | None = None
        self._held: list[int] = []

    async def __call__(self) -> Sequence[int]:
        """The parts this worker holds, having tried for those it lacks."""
        if self._connection is None or self._connection.is_closed():
            # A session's lock outside any transaction: it ends with the session, however that ends.
            self._connection, self._held = await _connected(self._url), []
        try:
            await self._connection.execute("SELECT 1")
            for part in self._wanted:
                if part not in self._held and await self._connection.fetchval(
                    "SELECT pg_try_advisory_lock(hashtextextended($1, $2))", self._name, part
                ):
                    self._held.append(part)
        except TimeoutError:
            # It may be lost unseen, and would then never answer again.
            self._connection.terminate()
            raise
        return tuple(self._held)

    async def close(self) -> None:
        """Leave the parts to others."""
        if self._connection:
            with suppress(TimeoutError):
                await self._connection.close()
            self._connection = None


async def _connected(url: str) -> asyncpg.Connection:
    return await asyncpg.connect(
        url, timeout=PATIENCE, command_timeout=PATIENCE, server_settings=KEPT_ALIVE
    )
