"""The HTTP server: whom it believes, how many it lets in, and what it serves beside."""

import asyncio
import os
import signal
from collections.abc import Sequence
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


async def test_connections_beyond_the_limit_are_let_go_and_those_before_are_served():
    async with listening(config(telling, limit_concurrency=10)) as port:
        opened = [await asyncio.open_connection("127.0.0.1", port) for _ in range(10)]
        for _ in range(3):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            assert (await reader.read()).startswith(b"HTTP/1.1 503 ")
            writer.close()
        for reader, writer in opened:
            writer.write(b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
            assert (await reader.read()).startswith(b"HTTP/1.1 200 ")
            writer.close()
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        assert (await reader.read()).startswith(b"HTTP/1.1 200 ")
        writer.close()


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
