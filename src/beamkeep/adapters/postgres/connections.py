"""Connections to PostgreSQL: a bounded stack of open ones, and what to make of a lost one."""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import asyncpg

from beamkeep.runtime.store import StoreUnavailableError

# The planner is told nothing of the values and must not scan: a plan made on an empty table is
# kept for the life of a connection, and a sequential scan in it would grow with the log.
PLANNING = {"plan_cache_mode": "force_generic_plan", "enable_seqscan": "off", "jit": "off"}

LOST = (
    asyncpg.PostgresConnectionError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
    asyncpg.AdminShutdownError,
    asyncpg.CrashShutdownError,
    asyncpg.CannotConnectNowError,
    OSError,
    EOFError,
    TimeoutError,
)
"""Errors after which a connection is gone, and with it the word on what it was doing."""

FULL = (
    asyncpg.InsufficientResourcesError,
    asyncpg.QueryCanceledError,
    asyncpg.ReadOnlySQLTransactionError,
)
"""Errors by which the server says that it did nothing and cannot at present."""

PATIENCE = 5.0


class Connections:
    """At most `most` open connections, the one used last handed out first."""

    def __init__(self, url: str, most: int, **settings: str) -> None:
        self._url, self._most, self._settings = url, most, PLANNING | settings
        self._idle: list[asyncpg.Connection] = []
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._open = 0

    async def fetch(self, statement: str, *arguments: Any) -> list[asyncpg.Record]:
        """The rows of one statement, each in a transaction of its own."""
        connection = await self._take()
        try:
            rows: list[asyncpg.Record] = await connection.fetch(statement, *arguments)
        except BaseException as error:
            self._give_back(connection, broken=not isinstance(error, asyncpg.PostgresError))
            raise
        self._give_back(connection, broken=False)
        return rows

    async def read(self, statement: str, *arguments: Any) -> list[asyncpg.Record]:
        """As `fetch`, for a statement that only reads: a lost connection is simply replaced."""
        deadline = asyncio.get_running_loop().time() + PATIENCE
        while True:
            try:
                return await self.fetch(statement, *arguments)
            except LOST:
                if asyncio.get_running_loop().time() > deadline:
                    raise StoreUnavailableError from None
            except FULL:
                raise StoreUnavailableError from None
            await asyncio.sleep(0.02)

    @asynccontextmanager
    async def connection(self) -> AsyncGenerator[asyncpg.Connection]:
        """One connection for several statements."""
        connection = await self._take()
        broken = True
        try:
            yield connection
            broken = False
        except asyncpg.PostgresError:
            broken = connection.is_closed() or connection.is_in_transaction()
            raise
        finally:
            self._give_back(connection, broken)

    async def close(self) -> None:
        """Close every idle connection."""
        while self._idle:
            await self._idle.pop().close()
            self._open -= 1

    async def _take(self) -> asyncpg.Connection:
        deadline = asyncio.get_running_loop().time() + PATIENCE
        while True:
            while self._idle:
                connection = self._idle.pop()
                if not connection.is_closed():
                    return connection
                self._open -= 1
            if self._open < self._most:
                return await self._connect()
            await self._wait(deadline)

    async def _wait(self, deadline: float) -> None:
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            async with asyncio.timeout_at(deadline):
                await turn
        except BaseException as error:
            if turn in self._waiting:
                self._waiting.remove(turn)
            elif not turn.cancelled():
                # Whoever leaves when it is just its turn lets the next one have it.
                self._wake()
            if isinstance(error, TimeoutError):
                raise StoreUnavailableError("Every connection is busy.") from None
            raise

    async def _connect(self) -> asyncpg.Connection:
        self._open += 1
        try:
            return await asyncpg.connect(
                self._url, timeout=PATIENCE, server_settings=self._settings
            )
        except BaseException:
            self._open -= 1
            self._wake()
            raise

    def _give_back(self, connection: asyncpg.Connection, broken: bool) -> None:
        if broken or connection.is_closed():
            connection.terminate()
            self._open -= 1
        else:
            self._idle.append(connection)
        self._wake()

    def _wake(self) -> None:
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                return
