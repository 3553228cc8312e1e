"""Leases: numbered parts of work, each done by one worker at a time."""

from collections.abc import Sequence
from contextlib import suppress

import asyncpg

from .connections import CONNECTION_ERRORS

TIMEOUT = 10.0
# The server releases the parts of an unreachable worker only when it notices the dead connection.
KEEPALIVE = {
    "tcp_keepalives_idle": "5",
    "tcp_keepalives_interval": "2",
    "tcp_keepalives_count": "3",
    "tcp_user_timeout": "10000",
}


class PostgresLease:
    """The parts that one worker holds, until its connection ends."""

    def __init__(self, url: str, name: str, wanted: Sequence[int]) -> None:
        self._url, self._name, self._wanted = url, name, wanted
        self._connection: asyncpg.Connection | None = None
        self._held: list[int] = []

    async def __call__(self) -> Sequence[int]:
        """Try to acquire the parts that this worker lacks, and return all parts that it holds."""
        try:
            return await self._acquire()
        except TimeoutError:
            # The connection may be dead without notice.
            self._drop()
            raise
        except CONNECTION_ERRORS:
            # The server ended the connection, and with it the locks.
            self._drop()
            return await self._acquire()

    async def _acquire(self) -> Sequence[int]:
        if self._connection is None or self._connection.is_closed():
            # Session locks without a transaction: they end with the session, even if it crashes.
            self._connection, self._held = await _connected(self._url), []
        await self._connection.execute("SELECT 1")
        for part in self._wanted:
            if part not in self._held and await self._connection.fetchval(
                "SELECT pg_try_advisory_lock(hashtextextended($1, $2))", self._name, part
            ):
                self._held.append(part)
        return tuple(self._held)

    def _drop(self) -> None:
        if self._connection:
            self._connection.terminate()
        self._connection, self._held = None, []

    async def close(self) -> None:
        """Release all parts."""
        if self._connection:
            with suppress(TimeoutError):
                await self._connection.close()
            self._connection = None


async def _connected(url: str) -> asyncpg.Connection:
    return await asyncpg.connect(
        url, timeout=TIMEOUT, command_timeout=TIMEOUT, server_settings=KEEPALIVE
    )
