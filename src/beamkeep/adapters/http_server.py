"""The HTTP server, with limits for connections that uvicorn does not have."""

import asyncio
import os
import socket
from asyncio import TimerHandle, Transport
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Any

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

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

    def _unsupported_upgrade_warning(self) -> None:
        """Log nothing: uvicorn would recommend installing a library for web sockets."""

    def connection_made(self, transport: Transport) -> None:
        """Start the time limit for the first request, or refuse one connection too many."""
        super().connection_made(transport)
        # uvicorn would wait for the head, and then refuse requests on older connections too.
        most, self.limit_concurrency = self.limit_concurrency, None
        if most is not None and len(self.connections) > most:
            transport.write(TOO_MANY)
            transport.close()
            return
        self._expect_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Cancel the time limits."""
        _cancel(self._head_due)
        _cancel(self._fetch_due)
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
        super().on_headers_complete()

    def on_response_complete(self) -> None:
        """Start the time limit for the next request."""
        super().on_response_complete()
        self._expect_head()

    def pause_writing(self) -> None:
        """Start the time limit for the client to read the response."""
        super().pause_writing()
        self._fetch_due = self._later(self.transport.abort)

    def resume_writing(self) -> None:
        """Cancel the time limit for the response."""
        _cancel(self._fetch_due)
        super().resume_writing()

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        self._answering = cycle
        super()._start_asgi_task(cycle, app)

    def _expect_head(self) -> None:
        _cancel(self._head_due)
        self._head_due = self._later(self._close_idle)

    def _close_idle(self) -> None:
        # A pipelined request may be running.
        if self.cycle is None or self.cycle.response_complete:  # pyright: ignore[reportUnnecessaryComparison]
            self.transport.abort()

    def _later(self, action: Callable[[], None]) -> TimerHandle:
        return self.loop.call_later(self.config.timeout_graceful_shutdown or 0, action)


def configured(
    application: ASGIApp,
    *,
    host: str,
    port: int,
    deadline_seconds: float,
    limit_concurrency: int,
    trusted_proxies: Sequence[str] = (),
) -> uvicorn.Config:
    """Return the configuration of the HTTP server; nothing is left to uvicorn's environment."""
    return uvicorn.Config(
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
        limit_concurrency=limit_concurrency,
        timeout_graceful_shutdown=int(deadline_seconds),
        # Longer than clients keep an idle connection (5 seconds is usual): a request that
        # a client sends while the server closes the connection gets no answer.
        timeout_keep_alive=int(deadline_seconds),
    )


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
