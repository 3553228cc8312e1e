"""The HTTP server: whom it believes, how many it lets in, and what it serves beside."""

import asyncio
import os
import signal
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Any

import httpx2
import pytest
import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send
from tests.support.listening import listening

from beamkeep.adapters.http_server import configured, serve_both
from beamkeep.testing.server import free_port

pytestmark = pytest.mark.anyio


async def telling(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer from where a call came."""
    if scope["type"] == "http":
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": scope["client"][0].encode()})


def config(app: ASGIApp, port: int = 0, **more: Any) -> uvicorn.Config:
    settings: dict[str, Any] = {"deadline_seconds": 1, "limit_concurrency": 100, **more}
    made = configured(app, host="127.0.0.1", port=port, **settings)
    made.lifespan = "off"
    return made


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
        listening(config(telling, trusted_proxies=trusted)) as port,
        httpx2.AsyncClient() as http,
    ):
        headers = [("x-forwarded-for", value) for value in forwarded]
        answer = await http.get(f"http://127.0.0.1:{port}/", headers=headers)
    assert answer.text == told


async def test_every_response_tells_the_time_of_the_service():
    async with listening(config(telling)) as port, httpx2.AsyncClient() as http:
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
    async with listening(config(telling, limit_concurrency=10)) as port:
        used = await connect(port)
        assert await used.asks() == "200"
        halves = [(await connect(port)).begins() for _ in range(9)]
        late = [await connect(port) for _ in range(3)]
        assert [await client.asks() for client in late] == ["200"] * 3
        assert [await half.ends() for half in halves] == ["503"] * 3 + ["200"] * 6
        assert await used.asks() == "200"


async def test_connections_give_way_in_the_order_in_which_they_were_last_used(connect: Connect):
    async with listening(config(telling, limit_concurrency=4)) as port:
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

    async with listening(config(waiting, limit_concurrency=4)) as port:
        clients = [await connect(port) for _ in range(4)]
        asking = [asyncio.create_task(client.asks()) for client in clients]
        for _ in clients:
            await reached.acquire()
        assert await (await connect(port)).told() == "503"
        leave.set()
        assert await asyncio.gather(*asking) == ["200"] * 4


async def test_an_address_has_only_so_many_connections(connect: Connect):
    bounded = config(telling, limit_concurrency=9, connections_per_address=5)
    async with listening(bounded) as port:
        others = [await connect(port, "127.0.0.2") for _ in range(3)]
        halves = [(await connect(port)).begins() for _ in range(20)]
        assert [await half.told() for half in halves[:15]] == ["503"] * 15
        # Of all, the address with the most gives way.
        for source in ("127.0.0.3", "127.0.0.4"):
            assert await (await connect(port, source)).asks() == "200"
        assert [await half.ends() for half in halves[15:]] == ["503"] + ["200"] * 4
        assert [await other.asks() for other in others] == ["200"] * 3


async def test_a_trusted_proxy_has_as_many_connections_as_there_are(connect: Connect):
    bounded = config(
        telling, limit_concurrency=8, connections_per_address=2, trusted_proxies=["127.0.0.0/31"]
    )
    async with listening(bounded) as port:
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

    async with listening(config(either, limit_concurrency=4, deadline_seconds=60)) as port:
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
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, lambda: None)
    ports = [free_port(), free_port()]
    serving = asyncio.create_task(serve_both(*(config(telling, port) for port in ports)))
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
