"""Notices that the log has grown, which each process sends to all processes."""

import asyncio
from collections.abc import Callable
from contextlib import suppress

import asyncpg

from .lease import KEEPALIVE

CHANNEL = "bk_log"
TIMEOUT, LONGEST_WAIT, SHORTEST_PAUSE = 10.0, 0.25, 0.01


class PostgresLogNotices:
    """Sends and receives notices on one connection; a notice that is lost is not repeated.

    A notice is sent after the commit: within it, notices would make all appends wait in a row.
    """

    def __init__(self, url: str) -> None:
        self._url, self._due = url, asyncio.Event()
        self._connection: asyncpg.Connection | None = None
        self.on_notice: Callable[[], None] | None = None

    def appended(self) -> None:
        """Let the next turn send a notice."""
        self._due.set()

    async def turn(self) -> float:
        """Wait a while for a notice to be due, and send it."""
        if self._connection is None or self._connection.is_closed():
            self._connection = await asyncpg.connect(
                self._url, timeout=TIMEOUT, command_timeout=TIMEOUT, server_settings=KEEPALIVE
            )
            if self.on_notice:
                await self._connection.add_listener(CHANNEL, self._received)
        with suppress(TimeoutError):
            async with asyncio.timeout(LONGEST_WAIT):
                await self._due.wait()
            self._due.clear()
            await self._connection.execute(f"NOTIFY {CHANNEL}")
            return SHORTEST_PAUSE
        return 0

    async def close(self) -> None:
        """Close the connection."""
        if self._connection:
            with suppress(TimeoutError):
                await self._connection.close()
            self._connection = None

    def _received(self, *_: object) -> None:
        if self.on_notice:
            self.on_notice()
