"""Connections to PostgreSQL: a bounded stack of open ones, and what to make of a lost one."""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
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
ON_THE_WAY, LONGEST_STATEMENT = 3.0, 10.0
"""How long an answer may be under way, and a statement take where the server sets it no limit."""

# Held until it is let go, but not for long by a process that is stopped meanwhile. Those who wait
# are many, so that the time limit of locks is too short for them; that of statements holds.
HOLD = """
SELECT CASE WHEN pg_try_advisory_lock(hashtextextended($1, 3)) THEN false
            WHEN set_config('lock_timeout', '0', true) = '0'
            THEN pg_advisory_lock(hashtextextended($1, 3))::text = '' END,
       set_config('idle_session_timeout', '2000', false)
"""
LET_GO = """
SELECT pg_advisory_unlock(hashtextextended($1, 3)), set_config('idle_session_timeout', '0', false)
"""


class Connections:
    """At most `most` open connections, the one used last handed out first."""

    def __init__(self, url: str, most: int, **settings: str) -> None:
        self._url, self._most, self._settings = url, most, PLANNING | settings
        limit = settings.get("statement_timeout")
        # A server that can be reached has answered by then. Without this a connection that was
        # lost unseen would take as long as whoever waits for it has time.
        self._answered_within = ON_THE_WAY + (int(limit) / 1000 if limit else LONGEST_STATEMENT)
        self._idle: list[asyncpg.Connection] = []
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._open = self._holding = 0

    async def fetch(self, statement: str, *arguments: Any) -> list[asyncpg.Record]:
        """The rows of one statement, each in a transaction of its own."""
        connection = await self._take()
        try:
            rows: list[asyncpg.Record] = await connection.fetch(statement, *arguments)
        except BaseException as error:
            if isinstance(error, TimeoutError):
                self._end_idle()
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
        except TimeoutError:
            self._end_idle()
            raise
        finally:
            self._give_back(connection, broken)

    @asynccontextmanager
    async def holding(self, name: str) -> AsyncGenerator[bool]:
        """Hold a name that one process can hold at a time, if it is to be had soon.

        Tells whether another had it. No more than a third of the connections hold names.
        """
        held, waited = None, False
        if self._holding < self._most // 3:
            with suppress(*LOST, *FULL):
                held, waited = await self._hold(name)
        try:
            yield waited
        finally:
            if held:
                await self._let_go(held, name)

    async def close(self) -> None:
        """Close every idle connection."""
        while self._idle:
            with suppress(TimeoutError):
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

    async def _hold(self, name: str) -> tuple[asyncpg.Connection, bool]:
        self._holding += 1
        connection = None
        try:
            connection = await self._take()
            rows = await connection.fetch(HOLD, name)
        except BaseException:
            self._holding -= 1
            if connection:
                # It may have the name all the same, and a name goes with its connection.
                self._give_back(connection, broken=True)
            raise
        return connection, rows[0][0]

    async def _let_go(self, connection: asyncpg.Connection, name: str) -> None:
        broken = True
        try:
            with suppress(*LOST, *FULL):
                await connection.fetch(LET_GO, name)
                broken = False
        finally:
            self._holding -= 1
            self._give_back(connection, broken)

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
                self._url,
                timeout=PATIENCE,
                command_timeout=self._answered_within,
                server_settings=self._settings,
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

    def _end_idle(self) -> None:
        """End every idle connection: where one is lost unseen, so are those beside it."""
        while self._idle:
            self._give_back(self._idle.pop(), broken=True)

    def _wake(self) -> None:
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                return
