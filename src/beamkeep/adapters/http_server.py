"""The connections of the HTTP server, with the bounds it does not keep by itself."""

import asyncio
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
    """Waits for the head of a request, and for an answer to be fetched, no longer than for a call.

    How long that is, the server knows as the time it gives calls when it stops. While a call is
    under way, its own deadline holds.
    """

    _head_due: TimerHandle | None = None
    _fetch_due: TimerHandle | None = None
    _in_head = False
    _head_bytes = 0
    _answering: RequestResponseCycle | None = None

    def _unsupported_upgrade_warning(self) -> None:
        """Say nothing: nobody is to install what would make web sockets work."""

    def connection_made(self, transport: Transport) -> None:
        """Begin to wait for the first request, unless there are too many connections."""
        super().connection_made(transport)
        # The server itself would wait for the head, and then refuse those that were here before.
        most, self.limit_concurrency = self.limit_concurrency, None
        if most is not None and len(self.connections) > most:
            transport.write(TOO_MANY)
            transport.close()
            return
        self._expect_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait for nothing more."""
        _cancel(self._head_due)
        _cancel(self._fetch_due)
        if self._answering:
            # The server tells only the newest of the requests that were sent in one go.
            self._answering.disconnected = True
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read on, unless a head has no end."""
        was_in_head = self._in_head
        super().data_received(data)
        if was_in_head and self._in_head:
            self._head_bytes += len(data)
            if self._head_bytes > HEAD_BYTES and not self.transport.is_closing():
                self.transport.write(TOO_LARGE)
                self.transport.close()

    def on_message_begin(self) -> None:
        """A head begins."""
        super().on_message_begin()
        self._in_head, self._head_bytes = True, 0

    def on_header(self, name: bytes, value: bytes) -> None:
        """Keep what stands in the head; the trailer of a chunked body would be taken for it."""
        if self._in_head:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """A head is complete, and its call begins."""
        self._in_head = False
        _cancel(self._head_due)
        super().on_headers_complete()

    def on_response_complete(self) -> None:
        """Begin to wait for the next request."""
        super().on_response_complete()
        self._expect_head()

    def pause_writing(self) -> None:
        """Begin to wait for what was answered to be fetched."""
        super().pause_writing()
        self._fetch_due = self._later(self.transport.abort)

    def resume_writing(self) -> None:
        """Enough of it was fetched."""
        _cancel(self._fetch_due)
        super().resume_writing()

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        self._answering = cycle
        super()._start_asgi_task(cycle, app)

    def _expect_head(self) -> None:
        _cancel(self._head_due)
        self._head_due = self._later(self._give_up)

    def _give_up(self) -> None:
        # A request that came while the one before was answered may be under way.
        if self.cycle is None or self.cycle.response_complete:  # pyright: ignore[reportUnnecessaryComparison]
            self.transport.abort()

    def _later(self, what: Callable[[], None]) -> TimerHandle:
        return self.loop.call_later(self.config.timeout_graceful_shutdown or 0, what)


def configured(
    application: ASGIApp,
    *,
    host: str,
    port: int,
    deadline_seconds: float,
    limit_concurrency: int,
    trusted_proxies: Sequence[str] = (),
) -> uvicorn.Config:
    """How the HTTP server is run; what it would take from its own environment is said here."""
    return uvicorn.Config(
        application,
        host=host,
        port=port,
        http=BoundedConnection,
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=False,
        # Left out, whoever calls from loopback could say where a call comes from.
        proxy_headers=bool(trusted_proxies),
        forwarded_allow_ips=list(trusted_proxies),
        limit_concurrency=limit_concurrency,
        timeout_graceful_shutdown=int(deadline_seconds),
    )


async def serve_both(main: uvicorn.Config, beside: uvicorn.Config | None) -> None:
    """Serve until a signal says to stop, and a second application beside as long as the first."""
    if beside is None:
        await uvicorn.Server(main).serve()
        return
    second = _WithoutSignals(beside)
    serving = asyncio.create_task(second.serve())
    try:
        await uvicorn.Server(main).serve()
    finally:
        second.should_exit = True
        await serving


class _WithoutSignals(uvicorn.Server):
    """A server that leaves the signals of the process to the first one."""

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        yield


def _cancel(due: TimerHandle | None) -> None:
    if due:
        due.cancel()
