"""The HTTP server: whom it believes, how many it lets in, and what it serves beside."""

import asyncio
import os
import re
import signal
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Any

import httpx2
import pytest
from starlette.types import ASGIApp, Receive, Scope, Send
from tests.support.listening import listening

from beamkeep.adapters.http_server import HttpServer, serve_both
from beamkeep.testing.server import free_port

pytestmark = pytest.mark.anyio


async def telling(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer from where a call came."""
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": scope["client"][0].encode()})


@pytest.mark.parametrize(
    ("trusted", "forwarded", "told"),
    [
        ((), ["203.0.113.9"], "127.0.0.1"),
        (("192.0.2.0/24",), ["203.0.113.9"], "127.0.0.1"),
        (("127.0.0.1",), [], "127.0.0.1"),
        (("127.0.0.1",), ["203.0.113.9"], "203.0.113.9"),
        # Whoever calls may put something before what the proxy adds.
        (("127.0.0.1",), ["198.51.100.1, 203.0.113.9"], "203.0.113.9"),
        (("127.0.0.1",), ["198.51.100.1", "203.0.113.9"], "203.0.113.9"),
        (("127.0.0.1",), ["127.0.0.1, 203.0.113.9"], "203.0.113.9"),
        (("127.0.0.0/8", "10.0.0.5"), ["203.0.113.9, 10.0.0.5"], "203.0.113.9"),
    ],
)
async def test_only_a_trusted_proxy_says_where_a_call_comes_from(
    trusted: Sequence[str], forwarded: Sequence[str], told: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("FORWARDED_ALLOW_IPS", "*")
    async with (
        listening(telling, trusted_proxies=trusted) as port,
        httpx2.AsyncClient() as http,
    ):
        headers = [("x-forwarded-for", value) for value in forwarded]
        answer = await http.get(f"http://127.0.0.1:{port}/", headers=headers)
    assert answer.text == told


async def test_every_response_tells_the_time_of_the_service():
    async with listening(telling) as port, httpx2.AsyncClient() as http:
        answer = await http.get(f"http://127.0.0.1:{port}/")
    told = parsedate_to_datetime(answer.headers["date"])
    assert abs(datetime.now(UTC) - told) < timedelta(minutes=1)


class Client:
    """A connection of a client."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    async def asks(self) -> str:
        """The status of the answer to a request, which leaves the connection open."""
        self.writer.write(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        return await self.told()

    def begins(self) -> "Client":
        """Send a part of a head."""
        self.writer.write(b"GET / HTTP/1.1\r\nHost: a\r\nX-Odd: ")
        return self

    async def ends(self) -> str:
        """The status of the answer when the rest of the head is sent."""
        self.writer.write(b"a\r\n\r\n")
        return await self.told()

    async def told(self) -> str:
        """The status of the next answer; nothing when the connection was closed without one."""
        try:
            head = await self.reader.readuntil(b"\r\n\r\n")
            if b"transfer-encoding: chunked" in head.lower():
                await self.reader.readuntil(b"0\r\n\r\n")
        except (asyncio.IncompleteReadError, ConnectionError):
            return ""
        return head.split()[1].decode()


type Connect = Callable[..., Awaitable[Client]]


@pytest.fixture
async def connect() -> AsyncGenerator[Connect]:
    """Connects from an address of this machine; the connections end with the test."""
    clients = list[Client]()

    async def connected(port: int, source: str = "127.0.0.1") -> Client:
        opened = await asyncio.open_connection("127.0.0.1", port, local_addr=(source, 0))
        clients.append(Client(*opened))
        return clients[-1]

    yield connected
    for client in clients:
        client.writer.transport.abort()
        with suppress(ConnectionError):
            await client.writer.wait_closed()


async def test_a_half_open_connection_gives_way_when_there_are_too_many(connect: Connect):
    async with listening(telling, limit_concurrency=10) as port:
        used = await connect(port)
        assert await used.asks() == "200"
        halves = [(await connect(port)).begins() for _ in range(9)]
        late = [await connect(port) for _ in range(3)]
        assert [await client.asks() for client in late] == ["200"] * 3
        assert [await half.ends() for half in halves] == ["503"] * 3 + ["200"] * 6
        assert await used.asks() == "200"


async def test_connections_give_way_in_the_order_in_which_they_were_last_used(connect: Connect):
    async with listening(telling, limit_concurrency=4) as port:
        clients = [await connect(port) for _ in range(4)]
        for each in (3, 1, 0, 2):
            assert await clients[each].asks() == "200"
        for _ in range(2):
            assert await (await connect(port)).asks() == "200"
        assert [await client.asks() for client in clients] == ["200", "", "200", ""]


async def test_a_connection_is_refused_only_when_all_others_are_being_answered(connect: Connect):
    reached, leave = asyncio.Semaphore(0), asyncio.Event()

    async def waiting(scope: Scope, receive: Receive, send: Send) -> None:
        reached.release()
        await leave.wait()
        await telling(scope, receive, send)

    async with listening(waiting, limit_concurrency=4) as port:
        clients = [await connect(port) for _ in range(4)]
        asking = [asyncio.create_task(client.asks()) for client in clients]
        for _ in clients:
            await reached.acquire()
        assert await (await connect(port)).told() == "503"
        leave.set()
        assert await asyncio.gather(*asking) == ["200"] * 4


async def test_an_address_has_only_so_many_connections(connect: Connect):
    async with listening(telling, limit_concurrency=9, connections_per_address=5) as port:
        others = [await connect(port, "127.0.0.2") for _ in range(3)]
        halves = [(await connect(port)).begins() for _ in range(20)]
        assert [await half.told() for half in halves[:15]] == ["503"] * 15
        # Of all, the address with the most gives way.
        for source in ("127.0.0.3", "127.0.0.4"):
            assert await (await connect(port, source)).asks() == "200"
        assert [await half.ends() for half in halves[15:]] == ["503"] + ["200"] * 4
        assert [await other.asks() for other in others] == ["200"] * 3


async def test_a_trusted_proxy_has_as_many_connections_as_there_are(connect: Connect):
    bounds: dict[str, Any] = {"limit_concurrency": 8, "connections_per_address": 2}
    async with listening(telling, **bounds, trusted_proxies=["127.0.0.0/31"]) as port:
        clients = [(await connect(port)).begins() for _ in range(8)]
        assert [await client.ends() for client in clients] == ["200"] * 8


async def test_a_client_that_does_not_read_gives_way(connect: Connect):
    stuck, more = asyncio.Semaphore(0), {"type": "http.response.body", "more_body": True}

    async def either(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] == "/":
            return await telling(scope, receive, send)
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({**more, "body": bytes(32 * 1024 * 1024)})
        stuck.release()
        await send({**more, "body": b"end"})
        return await send({"type": "http.response.body"})

    async with listening(either, limit_concurrency=4, deadline_seconds=60) as port:
        clients = [await connect(port) for _ in range(4)]
        for client in clients:
            assert await client.asks() == "200"
            client.writer.write(b"GET /much HTTP/1.1\r\nHost: a\r\n\r\n")
            await stuck.acquire()
        assert await (await connect(port)).asks() == "200"
        rest = await clients[0].reader.read()
        assert not rest.endswith(b"\r\n0\r\n\r\n")
        for client in clients:
            client.writer.transport.abort()


async def test_one_signal_ends_both_of_two_servers():
    ports = [free_port(), free_port()]
    servers = [
        HttpServer(telling, host="127.0.0.1", port=port, deadline_seconds=1, limit_concurrency=100)
        for port in ports
    ]
    serving = asyncio.create_task(serve_both(*servers))
    async with httpx2.AsyncClient() as http:
        for port in ports:
            while not await answers(http, port):
                await asyncio.sleep(0.005)
    os.kill(os.getpid(), signal.SIGTERM)
    await asyncio.wait_for(serving, 30)


async def answers(http: httpx2.AsyncClient, port: int) -> bool:
    try:
        return (await http.get(f"http://127.0.0.1:{port}/")).status_code == 200
    except httpx2.ConnectError:
        return False


async def said(app: ASGIApp, *parts: bytes) -> bytes:
    """Everything that is answered to these parts, each sent when the one before was read."""
    async with listening(app, deadline_seconds=0.5) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for part in parts:
            writer.write(part)
            await writer.drain()
        answer = await asyncio.wait_for(reader.read(), 30)
        writer.close()
    return answer


async def named(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer with the path and the body of the request."""
    body = b""
    while (message := await receive()).get("more_body"):
        body += message["body"]
    text = scope["raw_path"] + body + message.get("body", b"")
    head = [(b"content-length", b"%d" % len(text))]
    await send({"type": "http.response.start", "status": 200, "headers": head})
    await send({"type": "http.response.body", "body": text})


def request(path: bytes, *headers: bytes, method: bytes = b"GET", version: bytes = b"1.1") -> bytes:
    lines = [b"%b %b HTTP/%b" % (method, path, version), b"Host: a", *headers]
    return b"\r\n".join([*lines, b"", b""])


async def test_requests_sent_at_once_are_answered_in_their_order_before_what_is_malformed():
    posted = request(b"/b", b"Content-Length: 3", method=b"POST") + b"two"
    answer = await said(named, request(b"/a") + posted + request(b"/c") + b"no request\r\n\r\n")
    assert re.findall(rb"HTTP/1.1 (\d+)", answer) == [b"200", b"200", b"200", b"400"]
    assert answer.index(b"/a") < answer.index(b"/btwo") < answer.index(b"/c")


async def test_nothing_is_answered_after_the_last_request_of_a_connection():
    answer = await said(named, request(b"/a", b"Connection: close") + request(b"/b"))
    assert answer.count(b"HTTP/1.1 200") == 1
    assert b"connection: close\r\n" in answer


async def test_an_offered_protocol_is_declined_by_an_answer_that_ends_the_connection():
    offer = b"Connection: upgrade", b"Upgrade: websocket"
    answer = await said(named, request(b"/a", *offer), request(b"/b"))
    assert answer.count(b"HTTP/1.1 200") == 1
    assert b"connection: close\r\n" in answer


async def test_a_client_that_waits_for_leave_to_send_its_body_gets_it_once():
    head = request(b"/a", b"Content-Length: 3", b"Expect: 100-continue", method=b"POST")
    async with listening(named, deadline_seconds=0.5) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(head)
        assert await reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
        writer.write(b"o")
        await writer.drain()
        writer.write(b"ne")
        answer = await asyncio.wait_for(reader.read(), 30)
        writer.close()
    assert answer.startswith(b"HTTP/1.1 200 ")
    assert answer.endswith(b"/aone")


async def test_a_head_alone_is_sent_where_only_a_head_was_asked_for():
    answer = await said(named, request(b"/a", method=b"HEAD"))
    assert b"content-length: 2\r\n" in answer
    assert answer.endswith(b"\r\n\r\n")


async def flowing(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer in two parts, of no length known before."""
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"one", "more_body": True})
    await send({"type": "http.response.body", "body": b"two"})


async def test_an_answer_of_no_known_length_comes_in_chunks_or_ends_with_the_connection():
    newer = await said(flowing, request(b"/a"))
    assert newer.endswith(b"\r\n\r\n3\r\none\r\n3\r\ntwo\r\n0\r\n\r\n")
    older = await said(flowing, request(b"/a", version=b"1.0"))
    assert b"transfer-encoding" not in older
    assert older.endswith(b"connection: close\r\n\r\nonetwo")


@pytest.mark.parametrize(
    ("headers", "body", "begins"),
    [
        ([(b"location", b"/a\r\nset-cookie: a")], b"", b"HTTP/1.1 500 "),
        ([(b"location", b"/a\nb")], b"", b"HTTP/1.1 500 "),
        ([(b"content-length", b"3")], b"four", b"HTTP/1.1 500 "),
        ([(b"content-length", b"5")], b"four", b"HTTP/1.1 500 "),
    ],
)
async def test_an_answer_that_would_mislead_the_client_is_not_sent(
    headers: list[tuple[bytes, bytes]], body: bytes, begins: bytes
):
    async def wrong(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    assert (await said(wrong, request(b"/a") + request(b"/b"))).startswith(begins)


async def test_a_stop_waits_for_the_answer_under_way_and_closes_idle_connections(connect: Connect):
    reached, leave = asyncio.Event(), asyncio.Event()

    async def waiting(scope: Scope, receive: Receive, send: Send) -> None:
        reached.set()
        await leave.wait()
        await telling(scope, receive, send)

    server = HttpServer(waiting, host="127.0.0.1", port=0, deadline_seconds=30, limit_concurrency=9)
    async with server.listening(leave.set) as port:
        idle, busy = await connect(port), await connect(port)
        asking = asyncio.create_task(busy.asks())
        await reached.wait()
    assert await asking == "200"
    assert await idle.told() == ""


async def test_a_call_that_never_ends_is_cut_off_when_the_server_stops(connect: Connect):
    reached = asyncio.Event()

    async def endless(scope: Scope, receive: Receive, send: Send) -> None:
        reached.set()
        await asyncio.get_running_loop().create_future()

    async with listening(endless, deadline_seconds=0.2) as port:
        asking = asyncio.create_task((await connect(port)).asks())
        await reached.wait()
    assert await asking == ""
