"""The HTTP server: HTTP/1.1 for an ASGI application, with limits for connections and their time."""

import asyncio
import os
import signal
import time
from collections import deque
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager, nullcontext
from email.utils import formatdate
from http import HTTPStatus
from typing import cast

import httptools
import structlog
from starlette.types import ASGIApp, Message, Scope

from .connection_shares import ConnectionShares, TrustedProxies

log: structlog.stdlib.BoundLogger = structlog.get_logger()

HEAD_BYTES = 64 * 1024
BUFFERED_BYTES = 64 * 1024
"""How much of a body is read before the application asks for it."""
WAITING_CONNECTIONS = 2048
STOPPING = signal.SIGINT, signal.SIGTERM
TOO_MANY = (
    b"HTTP/1.1 503 Service Unavailable\r\n"
    b"retry-after: 1\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
)
TOO_LARGE = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\n"
    b"content-length: 0\r\nconnection: close\r\n\r\n"
)
MALFORMED = (
    b"HTTP/1.1 400 Bad Request\r\ncontent-type: text/plain; charset=utf-8\r\n"
    b"content-length: 31\r\nconnection: close\r\n\r\nInvalid HTTP request received.\n"
)
FAILED = b"HTTP/1.1 500 Internal Server Error\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
STATUS_LINES = {
    status.value: b"HTTP/1.1 %d %s" % (status, status.phrase.encode()) for status in HTTPStatus
}
WITHOUT_BODY = frozenset({204, 304})
DISCONNECT: Message = {"type": "http.disconnect"}


class HttpConnection(asyncio.Protocol):
    """One connection of a client. Its requests are answered one after another, by one task.

    A client has the deadline of calls to send a head, and to read an answer. While a call runs,
    its own deadline applies.
    """

    address = ""
    """Of the client; empty for a trusted proxy, which stands for many."""
    has_answered = False
    is_unread = False
    """Whether the client does not read the answer that is sent to it."""

    def __init__(self, server: "HttpServer") -> None:
        self._server, self._loop = server, asyncio.get_running_loop()
        self._parser = httptools.HttpRequestParser(self)
        # What follows a request with "Connection: close" is not read.
        self._parser.set_dangerous_leniencies(lenient_data_after_close=True)
        self._requests = deque[_Exchange]()
        self._parsed: _Exchange | None = None
        """The request of which something may still arrive."""
        self._answered: _Exchange | None = None
        """The request that is being answered."""
        self._work: asyncio.Task[None] | None = None
        self._next: asyncio.Future[None] | None = None
        self._writable: asyncio.Future[None] | None = None
        self._in_head, self._head_bytes, self._reads = False, 0, True
        self._is_malformed = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Start the time limit for the first request, or refuse one connection too many."""
        self.transport = cast("asyncio.Transport", transport)
        self._peer: tuple[str, int] = (transport.get_extra_info("peername") or ("", 0))[:2]
        self._local: tuple[str, int] = (transport.get_extra_info("sockname") or ("", 0))[:2]
        self._server.connections.add(self)
        self._head_by = self._loop.time() + self._server.deadline_seconds
        self._timer = self._loop.call_at(self._head_by, self._look_at_head)
        self._unread_timer: asyncio.TimerHandle | None = None
        if self._server.shares.admits(self, self._peer[0]):
            self._server.shares.waits(self)
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

    def close_when_answered(self) -> None:
        """Close the connection now, or when the request that is being answered has its answer."""
        if exchange := self._answered or next(iter(self._requests), None):
            exchange.keeps_alive = False
        else:
            self.transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """Let the application know, which finishes what it has begun."""
        self._timer.cancel()
        if self._unread_timer:
            self._unread_timer.cancel()
        self._server.connections.discard(self)
        self._server.shares.forget(self)
        for exchange in (self._answered, self._parsed):
            if exchange:
                exchange.lose()
        self._requests.clear()
        self.resume_writing()
        self._wake()

    def data_received(self, data: bytes) -> None:
        """Parse the data, or refuse a head that is malformed or too large."""
        if self._is_malformed or self.transport.is_closing():
            return
        was_in_head = self._in_head
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            # The request is answered as if nothing had been offered. What follows is not HTTP.
            last = self._parsed or (self._requests[-1] if self._requests else self._answered)
            if last:
                last.keeps_alive = False
        except httptools.HttpParserError:
            self._refuse_malformed()
            return
        if was_in_head and self._in_head:
            self._head_bytes += len(data)
            if self._head_bytes > HEAD_BYTES:
                self.transport.write(TOO_LARGE)
                self.transport.close()

    def on_message_begin(self) -> None:
        """Note the beginning of a head."""
        self._in_head, self._head_bytes = True, 0
        self._url, self._headers = b"", list[tuple[bytes, bytes]]()

    def on_url(self, url: bytes) -> None:
        """Note a part of the address."""
        self._url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        """Note a header of the head. Those after a body in chunks are ignored."""
        if self._in_head:
            self._headers.append((name.lower(), value))

    def on_headers_complete(self) -> None:
        """Have the request answered after those before it."""
        self._in_head, version = False, self._parser.get_http_version()
        target = httptools.parse_url(self._url)
        scope: Scope = {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.3"},
            "http_version": version,
            "method": self._parser.get_method().decode("ascii"),
            "scheme": "http",
            "path": target.path.decode("ascii"),
            "raw_path": target.path,
            "query_string": target.query or b"",
            "root_path": "",
            "headers": self._headers,
            "client": self._client(),
            "server": self._local,
        }
        keeps_alive = version == "1.1" and self._parser.should_keep_alive()
        expected = dict(self._headers).get(b"expect", b"")
        self._parsed = _Exchange(
            self,
            scope,
            keeps_alive=keeps_alive,
            expects_continue=expected.lower() == b"100-continue",
        )
        self._requests.append(self._parsed)
        self._server.shares.answers(self)
        if self._work is None:
            self._work = self._loop.create_task(self._answer())
            self._server.working.add(self._work)
            self._work.add_done_callback(self._server.working.discard)
        elif self._answered:
            self.read(False)
        else:
            self._wake()

    def on_body(self, body: bytes) -> None:
        """Pass a part of the body on."""
        if self._parsed:
            self._parsed.add(body)

    def on_message_complete(self) -> None:
        """Note that the request is complete."""
        if self._parsed:
            self._parsed.complete()
            self._parsed = None

    def pause_writing(self) -> None:
        """Start the time limit for the client to read the answer."""
        self.is_unread = True
        self._server.shares.waits(self)
        self._writable = self._loop.create_future()
        self._unread_timer = self._loop.call_later(
            self._server.deadline_seconds, self.transport.abort
        )

    def resume_writing(self) -> None:
        """Let the application continue to write."""
        self.is_unread = False
        if self._unread_timer:
            self._unread_timer.cancel()
        if self._answered:
            self._server.shares.answers(self)
        if self._writable and not self._writable.done():
            self._writable.set_result(None)
        self._writable = None

    def date(self) -> bytes:
        """Return the header with the time, without its line break."""
        return self._server.date()

    async def writable(self) -> None:
        """Wait while the client does not read."""
        if self._writable:
            await self._writable

    def read_on(self) -> None:
        """Read from the client again, unless another request waits to be answered."""
        if not self._requests:
            self.read(True)

    def read(self, wanted: bool) -> None:
        """Read from the client, or not until somebody asks for it."""
        if wanted is not self._reads and not self.transport.is_closing():
            self._reads = wanted
            (self.transport.resume_reading if wanted else self.transport.pause_reading)()

    def _wake(self) -> None:
        if self._next and not self._next.done():
            self._next.set_result(None)

    async def _answer(self) -> None:
        """Answer one request after another until the connection closes."""
        try:
            while not self.transport.is_closing():
                if self._requests:
                    exchange = self._answered = self._requests.popleft()
                    await exchange.answer(self._server.application)
                    self._answered, self.has_answered = None, True
                    if not exchange.keeps_alive:
                        return
                    self.read_on()
                elif self._is_malformed:
                    self.transport.write(MALFORMED)
                    return
                else:
                    self._head_by = self._loop.time() + self._server.deadline_seconds
                    self._server.shares.waits(self)
                    self._next = self._loop.create_future()
                    await self._next
        finally:
            self.transport.close()

    def _look_at_head(self) -> None:
        """Close the connection if the head of its next request takes too long."""
        is_idle = not (self._answered or self._requests)
        if is_idle and self._loop.time() >= self._head_by:
            self.transport.abort()
            return
        again = max(self._head_by, self._loop.time() + self._server.deadline_seconds / 10)
        self._timer = self._loop.call_at(again, self._look_at_head)

    def _refuse_malformed(self) -> None:
        self._is_malformed = True
        broken, self._parsed = self._parsed, None
        if broken in self._requests:
            self._requests.remove(broken)
        if self._requests or self._answered not in {None, broken}:
            # The answers to the requests before it come first.
            self.read(False)
            return
        if not (broken and broken.has_begun):
            self.transport.write(MALFORMED)
        self.transport.close()

    def _client(self) -> tuple[str, int]:
        if self.address or not (host := self._server.proxies.client_of(self._headers)):
            return self._peer
        return host, 0


class _Exchange:
    """One request and its answer."""

    def __init__(
        self, connection: HttpConnection, scope: Scope, keeps_alive: bool, expects_continue: bool
    ) -> None:
        self._connection, self._scope = connection, scope
        self.keeps_alive, self._expects_continue = keeps_alive, expects_continue
        self._body, self._is_complete, self._was_read = b"", False, False
        self._arrived: asyncio.Future[None] | None = None
        self._head = b""
        """The head of an answer of known length, which is sent with the first part of it."""
        self._left: int | None = None
        """How much of that length is not sent yet."""
        self._is_chunked = self.has_begun = self._is_answered = self._is_lost = False

    async def answer(self, application: ASGIApp) -> None:
        """Have the application answer. Close the connection if it does not."""
        transport = self._connection.transport
        try:
            await application(self._scope, self.receive, self.send)
            if not (self._is_answered or self._is_lost or transport.is_closing()):
                raise RuntimeError("The application ended without a whole answer.")
        except Exception:
            log.exception("application failed")
            if not (self.has_begun or self._is_lost):
                transport.write(FAILED)
            self.keeps_alive = False

    def add(self, body: bytes) -> None:
        """Add a part of the body."""
        if not self._is_answered:
            self._body += body
            if len(self._body) > BUFFERED_BYTES:
                self._connection.read(False)
            self._notify()

    def complete(self) -> None:
        """Note that the body is complete."""
        self._is_complete = True
        self._notify()

    def lose(self) -> None:
        """Note that the client is gone."""
        self._is_lost = True
        self._notify()

    async def receive(self) -> Message:
        """Return the next part of the body, or that the client is gone."""
        if self._expects_continue and not (self._is_complete or self.has_begun):
            self._connection.transport.write(CONTINUE)
        self._expects_continue = False
        while not (self._is_lost or self._is_answered):
            if not self._was_read and (self._body or self._is_complete):
                body, self._body, self._was_read = self._body, b"", self._is_complete
                return {"type": "http.request", "body": body, "more_body": not self._was_read}
            self._connection.read_on()
            self._arrived = asyncio.get_running_loop().create_future()
            await self._arrived
        return DISCONNECT

    async def send(self, message: Message) -> None:
        """Send the head, or a part of the body. Names of headers are in lower case."""
        connection = self._connection
        if connection.is_unread:
            await connection.writable()
        if self._is_lost or connection.transport.is_closing():
            return
        if message["type"] == "http.response.start":
            self._begin(message["status"], message["headers"])
        else:
            self._continue(message.get("body", b""), message.get("more_body", False))

    def _begin(self, status: int, headers: Sequence[tuple[bytes, bytes]]) -> None:
        if self._head or self.has_begun:
            raise RuntimeError("The answer has begun already.")
        fields = dict(headers)
        if (length := fields.get(b"content-length")) is not None:
            self._left = int(length)
        if b"connection" in fields:
            if (b"connection", b"close") in headers:
                self.keeps_alive = False
            headers = [field for field in headers if field != (b"connection", b"close")]
        lines = [STATUS_LINES[status], self._connection.date(), *map(b": ".join, headers)]
        if self._left is None and self._has_body(status):
            if self._scope["http_version"] == "1.1":
                self._is_chunked = True
                lines.append(b"transfer-encoding: chunked")
            else:
                self.keeps_alive = False
        if not self.keeps_alive:
            lines.append(b"connection: close")
        head = b"\r\n".join(lines)
        if not head.count(b"\n") == head.count(b"\r") == len(lines) - 1 or b"\0" in head:
            raise RuntimeError("A header has a line break.")
        self._head = head + b"\r\n\r\n"
        if not self._has_body(status):
            self._left = 0
        if self._left is None:
            self._write(b"")

    def _has_body(self, status: int) -> bool:
        return status not in WITHOUT_BODY and self._scope["method"] != "HEAD"

    def _continue(self, body: bytes, more: bool) -> None:
        if self._is_answered or not (self._head or self.has_begun):
            raise RuntimeError("The answer is complete, or has not begun.")
        if self._is_chunked:
            body = b"%x\r\n%b\r\n" % (len(body), body) if body else b""
            body += b"" if more else b"0\r\n\r\n"
        elif self._scope["method"] == "HEAD":
            body = b""
        elif self._left is not None:
            self._left -= len(body)
            if self._left < 0 or (self._left and not more):
                raise RuntimeError("The answer has another length than its head says.")
        self._write(body)
        if not more:
            self._is_answered = True
            self._notify()

    def _write(self, body: bytes) -> None:
        head, self._head, self.has_begun = self._head, b"", True
        if head or body:
            self._connection.transport.write(head + body)

    def _notify(self) -> None:
        if self._arrived and not self._arrived.done():
            self._arrived.set_result(None)


class HttpServer:
    """An application that listens on a port."""

    def __init__(
        self,
        application: ASGIApp,
        *,
        host: str,
        port: int,
        deadline_seconds: float,
        limit_concurrency: int,
        connections_per_address: int | None = None,
        trusted_proxies: Sequence[str] = (),
    ) -> None:
        self.application, self._host, self._port = application, host, port
        # Clients keep an idle connection for less (5 seconds is usual): a request that a client
        # sends while the server closes the connection gets no answer.
        self.deadline_seconds = deadline_seconds
        self.proxies = TrustedProxies(trusted_proxies)
        of_address = connections_per_address or limit_concurrency
        self.shares = ConnectionShares(limit_concurrency, of_address, self.proxies)
        self.connections = set[HttpConnection]()
        self.working = set[asyncio.Task[None]]()
        """What answers the requests of each connection."""
        self._date = 0, b""

    @asynccontextmanager
    async def listening(self, on_stop: Callable[[], None] = lambda: None) -> AsyncGenerator[int]:
        """Listen, and yield the port. Then call `on_stop`, and wait for the answers under way."""
        loop = asyncio.get_running_loop()
        listener = await loop.create_server(
            lambda: HttpConnection(self), self._host, self._port, backlog=WAITING_CONNECTIONS
        )
        try:
            yield listener.sockets[0].getsockname()[1]
        finally:
            on_stop()
            listener.close()
            for connection in [*self.connections]:
                connection.close_when_answered()
            if working := [*self.working]:
                _, late = await asyncio.wait(working, timeout=self.deadline_seconds)
                for task in late:
                    task.cancel()

    def date(self) -> bytes:
        """Return the header with the time, without its line break."""
        if self._date[0] != (now := int(time.time())):
            self._date = now, f"date: {formatdate(now, usegmt=True)}".encode()
        return self._date[1]


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
    main: HttpServer, secondary: HttpServer | None, *, on_stop: Callable[[], None] = lambda: None
) -> None:
    """Serve until a signal stops the main application, and the secondary one as long.

    `on_stop` is called before the main server waits for the answers under way.
    """
    loop, stopped = asyncio.get_running_loop(), asyncio.Event()
    for number in STOPPING:
        loop.add_signal_handler(number, stopped.set)
    async with secondary.listening() if secondary else nullcontext(), main.listening(on_stop):
        await stopped.wait()
        # A second signal ends the process at once.
        for number in STOPPING:
            loop.remove_signal_handler(number)
