"""The HTTP server, with limits for connections that uvicorn does not have."""

import asyncio
import os
import socket
from asyncio import TimerHandle, Transport
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from ipaddress import ip_address, ip_network
from typing import Any, cast

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from beamkeep.contexts.seams.addresses import network_of

HEAD_BYTES = 64 * 1024
TOO_MANY = (
    b"HTTP/1.1 503 Service Unavailable\r\n"
    b"retry-after: 1\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
)
TOO_LARGE = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\n"
    b"content-length: 0\r\nconnection: close\r\n\r\n"
)


class BoundedConnection(HttpToolsProtocol):
    """A connection with time limits for receiving a request head and for sending a response.

    Both limits are the graceful shutdown timeout of the server, which is the deadline of calls.
    While a call runs, its own deadline applies.
    """

    _head_due: TimerHandle | None = None
    _fetch_due: TimerHandle | None = None
    _in_head = False
    _head_bytes = 0
    _answering: RequestResponseCycle | None = None
    address = ""
    """Of the client; empty for a trusted proxy, which stands for many."""
    has_answered = False
    is_unread = False
    """Whether the client does not read the answer that is sent to it."""

    @property
    def shares(self) -> "ConnectionShares":
        """The connections of the server."""
        return cast("_BoundedConfig", self.config).shares

    def _unsupported_upgrade_warning(self) -> None:
        """Log nothing: uvicorn would recommend installing a library for web sockets."""

    def connection_made(self, transport: Transport) -> None:
        """Start the time limit for the first request, or refuse one connection too many."""
        super().connection_made(transport)
        if self.shares.admits(self, self.client[0] if self.client else ""):
            self._expect_head()
        else:
            self.give_way()

    def give_way(self) -> None:
        """Close the connection, because there are too many."""
        if self.is_unread:
            self.transport.abort()
            return
        # On a connection that was used, a client would take this for the next answer.
        if not self.has_answered:
            self.transport.write(TOO_MANY)
        self.transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """Cancel the time limits."""
        _cancel(self._head_due)
        _cancel(self._fetch_due)
        self.shares.forget(self)
        if self._answering:
            # uvicorn notifies only the newest of several pipelined requests.
            self._answering.disconnected = True
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse the data, or refuse a head that is too large."""
        was_in_head = self._in_head
        super().data_received(data)
        if was_in_head and self._in_head:
            self._head_bytes += len(data)
            if self._head_bytes > HEAD_BYTES and not self.transport.is_closing():
                self.transport.write(TOO_LARGE)
                self.transport.close()

    def on_message_begin(self) -> None:
        """Note the beginning of a head."""
        super().on_message_begin()
        self._in_head, self._head_bytes = True, 0

    def on_header(self, name: bytes, value: bytes) -> None:
        """Accept headers only in the head: uvicorn would add trailers of a chunked body."""
        if self._in_head:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Cancel the time limit for the head, and start the call."""
        self._in_head = False
        _cancel(self._head_due)
        self.shares.answers(self)
        super().on_headers_complete()

    def on_response_complete(self) -> None:
        """Start the time limit for the next request."""
        self.has_answered = True
        super().on_response_complete()
        self._expect_head()

    def pause_writing(self) -> None:
        """Start the time limit for the client to read the response."""
        super().pause_writing()
        self.is_unread = True
        self.shares.waits(self)
        self._fetch_due = self._later(self.transport.abort)

    def resume_writing(self) -> None:
        """Cancel the time limit for the response."""
        _cancel(self._fetch_due)
        self.is_unread = False
        if not self._is_idle:
            self.shares.answers(self)
        super().resume_writing()

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        self._answering = cycle
        super()._start_asgi_task(cycle, app)

    def _expect_head(self) -> None:
        _cancel(self._head_due)
        self._head_due = self._later(self._close_idle)
        if self._is_idle:
            self.shares.waits(self)

    def _close_idle(self) -> None:
        if self._is_idle:
            self.transport.abort()

    @property
    def _is_idle(self) -> bool:
        # A pipelined request may be running.
        return self.cycle is None or self.cycle.response_complete  # pyright: ignore[reportUnnecessaryComparison]

    def _later(self, action: Callable[[], None]) -> TimerHandle:
        return self.loop.call_later(self.config.timeout_graceful_shutdown or 0, action)


class ConnectionShares:
    """The open connections of a server, and which of them gives way to a new one.

    A connection gives way only while it waits for its client. Those that have had no answer yet
    come first, then those that wait longest, of the address that has the most of them.
    """

    def __init__(self, most: int, of_address: int, proxies: Sequence[str] = ()) -> None:
        self._most, self._of_address = most, of_address
        self._proxies = [ip_network(proxy) for proxy in proxies]
        self._open: dict[str, set[BoundedConnection]] = {}
        self._waiting: dict[str, dict[BoundedConnection, None]] = {}
        self._count = 0

    def admits(self, connection: BoundedConnection, host: str) -> bool:
        """Return whether a new connection may stay. Close another one for it if necessary."""
        address = connection.address = "" if self._is_proxy(host) else network_of(host)
        waiting = self._waiting.get(address, {})
        if address and len(self._open.get(address, ())) >= self._of_address:
            crowd = waiting
        elif self._count >= self._most:
            crowd = max(self._waiting.values(), key=len, default=waiting)
        else:
            crowd = None
        if crowd is not None and not self._makes_room(crowd):
            return False
        self._open.setdefault(address, set()).add(connection)
        self._count += 1
        return True

    def waits(self, connection: BoundedConnection) -> None:
        """Note that a connection waits for its client from now on."""
        address = connection.address
        if connection in self._open.get(address, ()):
            self._waiting.setdefault(address, {})[connection] = None

    def answers(self, connection: BoundedConnection) -> None:
        """Note that a connection does not wait for its client any more."""
        waiting = self._waiting.get(connection.address, {})
        waiting.pop(connection, None)
        if not waiting:
            self._waiting.pop(connection.address, None)

    def forget(self, connection: BoundedConnection) -> None:
        """Note that a connection is closed."""
        self.answers(connection)
        opened = self._open.get(connection.address, set())
        if connection in opened:
            opened.remove(connection)
            self._count -= 1
        if not opened:
            self._open.pop(connection.address, None)

    def _makes_room(self, crowd: Mapping[BoundedConnection, None]) -> bool:
        unused = (each for each in crowd if each.is_unread or not each.has_answered)
        leaving = next(unused, next(iter(crowd), None))
        if leaving is None:
            return False
        self.forget(leaving)
        leaving.give_way()
        return True

    def _is_proxy(self, host: str) -> bool:
        try:
            return any(ip_address(host) in proxy for proxy in self._proxies)
        except ValueError:
            return False


class _BoundedConfig(uvicorn.Config):
    """A configuration with the connections of its server."""

    shares: ConnectionShares


def configured(
    application: ASGIApp,
    *,
    host: str,
    port: int,
    deadline_seconds: float,
    limit_concurrency: int,
    connections_per_address: int | None = None,
    trusted_proxies: Sequence[str] = (),
) -> uvicorn.Config:
    """Return the configuration of the HTTP server; nothing is left to uvicorn's environment."""
    config = _BoundedConfig(
        application,
        host=host,
        port=port,
        http=BoundedConnection,
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=True,
        # By default uvicorn would trust the forwarded address of any client on loopback.
        proxy_headers=bool(trusted_proxies),
        forwarded_allow_ips=list(trusted_proxies),
        timeout_graceful_shutdown=int(deadline_seconds),
        # Longer than clients keep an idle connection (5 seconds is usual): a request that
        # a client sends while the server closes the connection gets no answer.
        timeout_keep_alive=int(deadline_seconds),
    )
    of_address = connections_per_address or limit_concurrency
    config.shares = ConnectionShares(limit_concurrency, of_address, trusted_proxies)
    return config


async def taken(host: str, port: int) -> str | None:
    """Return why nothing can listen on a port, if nothing can."""
    try:
        server = await asyncio.get_running_loop().create_server(asyncio.Protocol, host, port)
    except OSError as error:
        why = os.strerror(error.errno) if error.errno else str(error)
        return f"Nothing can listen on port {port} of {host}: {why}."
    server.close()
    return None


async def serve_both(
    main: uvicorn.Config,
    secondary: uvicorn.Config | None,
    *,
    on_stop: Callable[[], None] = lambda: None,
) -> None:
    """Serve until a signal stops the main application, and the secondary one as long.

    `on_stop` is called before the main server waits for the answers under way.
    """
    first = MainServer(main, on_stop)
    if secondary is None:
        await first.serve()
        return
    second = _SecondaryServer(secondary)
    serving = asyncio.create_task(second.serve())
    try:
        await first.serve()
    finally:
        second.should_exit = True
        await serving


class MainServer(uvicorn.Server):
    """A server that calls a function when it begins to stop, so that streams can end."""

    def __init__(self, config: uvicorn.Config, on_stop: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_stop = on_stop

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Call the function, then wait for the answers under way, then stop."""
        self._on_stop()
        await super().shutdown(sockets)


class _SecondaryServer(uvicorn.Server):
    """A server that leaves the signals of the process to the main server."""

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        yield


def _cancel(due: TimerHandle | None) -> None:
    if due:
        due.cancel()
