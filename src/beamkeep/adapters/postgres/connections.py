"""A bounded pool of connections to PostgreSQL that replaces lost ones."""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from time import monotonic
from typing import Any

import asyncpg

from beamkeep.runtime.store import StoreUnavailableError

from .prepared import PreparedConnection

# Plans are generic and must not scan: a plan that was made on an empty table is used for the life
# of the connection, and a sequential scan in it would become slower as the log grows.
PLANNING = {"plan_cache_mode": "force_generic_plan", "enable_seqscan": "off", "jit": "off"}

CONNECTION_ERRORS = (
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
"""Errors after which the connection is gone and the outcome of its statement is unknown."""

UNAVAILABLE_ERRORS = (
    asyncpg.InsufficientResourcesError,
    asyncpg.QueryCanceledError,
    asyncpg.ReadOnlySQLTransactionError,
)
"""Errors by which the server reports that it did nothing and cannot do it at present."""

WAIT_TIMEOUT = 5.0
NETWORK_SECONDS, STATEMENT_SECONDS = 3.0, 10.0
"""The time allowed for the network, and for a statement if the server sets no statement timeout."""

# A session lock; the idle timeout releases it soon if this process is suspended. Many may wait for
# it, so that the lock timeout would be too short; the statement timeout applies.
ACQUIRE_LOCK = """
SELECT CASE WHEN pg_try_advisory_lock(hashtextextended($1, 3)) THEN false
            WHEN set_config('lock_timeout', '0', true) = '0'
            THEN pg_advisory_lock(hashtextextended($1, 3))::text = '' END,
       set_config('idle_session_timeout', '2000', false)
"""
RELEASE_LOCK = """
SELECT pg_advisory_unlock(hashtextextended($1, 3)), set_config('idle_session_timeout', '0', false)
"""


class Connections:
    """At most `most` open connections; the most recently used one is taken first."""

    def __init__(self, url: str, most: int, **settings: str) -> None:
        self._url, self._most, self._settings = url, most, PLANNING | settings
        limit = settings.get("statement_timeout")
        # Without this timeout a caller would wait for a dead connection until its own deadline.
        self._command_timeout = NETWORK_SECONDS + (
            int(limit) / 1000 if limit else STATEMENT_SECONDS
        )
        self._idle: list[asyncpg.Connection] = []
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._open = self._locked = 0
        self.lost = 0
        """How many connections were lost or given up."""

    async def fetch(self, statement: str, *arguments: Any) -> list[asyncpg.Record]:
        """Return the rows of one statement, which is a transaction of its own."""
        connection = await self._take()
        try:
            rows: list[asyncpg.Record] = await connection.fetch(statement, *arguments)
        except BaseException as error:
            if isinstance(error, TimeoutError):
                self._close_idle()
            self._give_back(connection, broken=not isinstance(error, asyncpg.PostgresError))
            raise
        self._give_back(connection, broken=False)
        return rows

    async def read(self, statement: str, *arguments: Any) -> list[asyncpg.Record]:
        """Return the rows of a statement that may be repeated when its connection is lost."""
        since = monotonic()
        while True:
            try:
                return await self.fetch(statement, *arguments)
            except CONNECTION_ERRORS:
                if monotonic() > since + WAIT_TIMEOUT:
                    raise StoreUnavailableError from None
            except UNAVAILABLE_ERRORS:
                raise StoreUnavailableError from None
            await asyncio.sleep(0.02)

    @asynccontextmanager
    async def connection(self) -> AsyncGenerator[asyncpg.Connection]:
        """Provide one connection for several statements."""
        connection = await self._take()
        broken = True
        try:
            yield connection
            broken = False
        except asyncpg.PostgresError:
            broken = connection.is_closed() or connection.is_in_transaction()
            raise
        except TimeoutError:
            self._close_idle()
            raise
        finally:
            self._give_back(connection, broken)

    @asynccontextmanager
    async def advisory_lock(self, name: str) -> AsyncGenerator[bool]:
        """Hold a lock by name, if it can be acquired soon; yield whether another process had it.

        At most a third of the connections hold locks; without a free one, no lock is held.
        """
        held, waited = None, False
        if self._locked < self._most // 3:
            with suppress(*CONNECTION_ERRORS, *UNAVAILABLE_ERRORS):
                held, waited = await self._acquire(name)
        try:
            yield waited
        finally:
            if held:
                await self._release(held, name)

    async def close(self) -> None:
        """Close every idle connection."""
        while self._idle:
            with suppress(TimeoutError):
                await self._idle.pop().close()
            self._open -= 1

    async def _take(self) -> asyncpg.Connection:
        deadline = None
        while True:
            while self._idle:
                connection = self._idle.pop()
                if not connection.is_closed():
                    return connection
                self._open -= 1
                self.lost += 1
            if self._open < self._most:
                return await self._connect()
            deadline = deadline or asyncio.get_running_loop().time() + WAIT_TIMEOUT
            await self._wait(deadline)

    async def _acquire(self, name: str) -> tuple[asyncpg.Connection, bool]:
        self._locked += 1
        connection = None
        try:
            connection = await self._take()
            rows = await connection.fetch(ACQUIRE_LOCK, name)
        except BaseException:
            self._locked -= 1
            if connection:
                # The server may have granted the lock; closing the connection releases it.
                self._give_back(connection, broken=True)
            raise
        return connection, rows[0][0]

    async def _release(self, connection: asyncpg.Connection, name: str) -> None:
        broken = True
        try:
            with suppress(*CONNECTION_ERRORS, *UNAVAILABLE_ERRORS):
                await connection.fetch(RELEASE_LOCK, name)
                broken = False
        finally:
            self._locked -= 1
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
                # This waiter was woken and leaves: wake the next one instead.
                self._wake()
            if isinstance(error, TimeoutError):
                raise StoreUnavailableError("Every connection is busy. Try again.") from None
            raise

    async def _connect(self) -> asyncpg.Connection:
        self._open += 1
        try:
            return await asyncpg.connect(
                self._url,
                timeout=WAIT_TIMEOUT,
                command_timeout=self._command_timeout,
                server_settings=self._settings,
                connection_class=PreparedConnection,
            )
        except BaseException as error:
            self._open -= 1
            self._wake()
            if isinstance(error, asyncpg.InternalServerError):
                # Such as: a server that restarts on a full disk cannot write its init file.
                raise asyncpg.CannotConnectNowError(str(error)) from None
            raise

    def _give_back(self, connection: asyncpg.Connection, broken: bool) -> None:
        # A connection that the server closed is found when it is taken again.
        if broken:
            connection.terminate()
            self._open -= 1
            self.lost += 1
        else:
            self._idle.append(connection)
        self._wake()

    def _close_idle(self) -> None:
        """Close every idle connection: when one timed out, the others are probably dead too."""
        while self._idle:
            self._give_back(self._idle.pop(), broken=True)

    def _wake(self) -> None:
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                return


class OneConnection(Connections):
    """One connection, which is not replaced when it is lost."""

    def __init__(self, url: str, **settings: str) -> None:
        super().__init__(url, 1, **settings)
        self._has_begun = False

    async def _connect(self) -> asyncpg.Connection:
        if self._has_begun:
            raise StoreUnavailableError
        connection = await super()._connect()
        self._has_begun = True
        return connection
