"""Answers and bodies that are streams: of any length, authorized and ended by the same edge."""

import asyncio
import os
import signal
import socket
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest
from starlette.types import Scope
from structlog.testing import capture_logs

from beamkeep.adapters.http_server import HttpServer, serve_both
from beamkeep.deployment.settings import Settings
from beamkeep.kernel import ObjectScope, Route, replace
from beamkeep.surfaces.http.deadlines import Deadlines
from beamkeep.surfaces.http.edge import Edge
from beamkeep.surfaces.http.limits import Limits
from beamkeep.surfaces.http.messages import HttpRequest, HttpResponse, StreamResponse
from beamkeep.surfaces.http.routes import HttpRoute, StreamRoute
from beamkeep.testing.installation import ISSUER
from beamkeep.testing.service import call, memory_service
from beamkeep.testing.web import GENEROUS, rest_application

pytestmark = pytest.mark.anyio

SSE = {b"content-type": b"text/event-stream", b"x-accel-buffering": b"no"}
ADA, BOB = {"authorization": "Bearer ada"}, {"authorization": "Bearer bob"}
PATIENCE = 30.0
MEBIBYTE = bytes(1024 * 1024)


class Feed:
    """A stream of whatever the test tells, which remembers how it went."""

    def __init__(self) -> None:
        self.told: asyncio.Queue[bytes | Exception | None] = asyncio.Queue()
        self.opened, self.closed = 0, asyncio.Event()
        self.route = StreamRoute("follow_zones", Route("GET", "/zones/{zone}/stream"), self.follow)

    async def follow(self, request: HttpRequest) -> StreamResponse:
        assert request.admitted.scope is ObjectScope.ALL
        assert request.values == {"zone": "7"}
        self.opened += 1
        return StreamResponse(200, SSE, self.parts(), at_shutdown=b"event: end\n\n")

    async def parts(self) -> AsyncGenerator[bytes]:
        try:
            while (part := await self.told.get()) is not None:
                if isinstance(part, Exception):
                    raise part
                yield part
        finally:
            self.closed.set()


@asynccontextmanager
async def listening(app: Edge, deadline_seconds: float = 5) -> AsyncGenerator[str]:
    server = HttpServer(
        app, host="127.0.0.1", port=0, deadline_seconds=deadline_seconds, limit_concurrency=100
    )
    async with server.listening(app.stop_streams) as port:
        yield f"http://127.0.0.1:{port}"


@asynccontextmanager
async def serving(
    *routes: HttpRoute, limits: Limits = GENEROUS
) -> AsyncGenerator[httpx2.AsyncClient]:
    """A client of a service with these routes besides its own, where Bob has no grant."""
    service, _ = await memory_service()
    bob = {"name": "Bob", "identities": [{"issuer": ISSUER, "subject": "bob"}]}
    await call(service, "register_actor", bob)
    async with (
        listening(rest_application(service, limits, routes)) as url,
        httpx2.AsyncClient(base_url=url, headers=ADA, timeout=PATIENCE) as http,
    ):
        yield http


async def read(parts: Any) -> bytes:
    return await asyncio.wait_for(anext(parts), PATIENCE)


async def test_the_headers_come_first_and_each_part_when_it_is_there():
    feed = Feed()
    async with serving(feed.route) as http, http.stream("GET", "/zones/7/stream") as answer:
        assert answer.status_code == 200
        assert answer.headers["content-type"] == "text/event-stream"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert "content-length" not in answer.headers
        parts = answer.aiter_raw()
        for part in (b"data: 1\n\n", b"data: 2\n\n"):
            feed.told.put_nowait(part)
            assert await read(parts) == part
        feed.told.put_nowait(None)
        assert [part async for part in parts] == []
        await asyncio.wait_for(feed.closed.wait(), PATIENCE)


async def test_a_client_that_disconnects_closes_the_stream():
    feed = Feed()
    async with serving(feed.route) as http:
        async with http.stream("GET", "/zones/7/stream") as answer:
            feed.told.put_nowait(b"data: 1\n\n")
            await read(answer.aiter_raw())
            assert not feed.closed.is_set()
        await asyncio.wait_for(feed.closed.wait(), PATIENCE)


async def test_a_service_that_stops_ends_its_streams_with_their_last_part():
    feed = Feed()
    service, _ = await memory_service()
    app = rest_application(service, routes=[feed.route])
    async with httpx2.AsyncClient(headers=ADA, timeout=PATIENCE) as http:
        async with listening(app, deadline_seconds=10 * PATIENCE) as url:
            sent = http.build_request("GET", f"{url}/zones/7/stream")
            answer = await http.send(sent, stream=True)
        # It has stopped, long before the time that it gives to calls under way.
        assert await answer.aread() == b"event: end\n\n"
    assert feed.closed.is_set()


async def test_a_signal_ends_the_streams_too():
    feed = Feed()
    service, _ = await memory_service()
    app = rest_application(service, routes=[feed.route])
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    server = HttpServer(
        app, host="127.0.0.1", port=port, deadline_seconds=10 * PATIENCE, limit_concurrency=100
    )
    running = asyncio.create_task(serve_both(server, None, on_stop=app.stop_streams))
    transport = httpx2.AsyncHTTPTransport(retries=10)
    async with httpx2.AsyncClient(transport=transport, headers=ADA, timeout=PATIENCE) as http:
        sent = http.build_request("GET", f"http://127.0.0.1:{port}/zones/7/stream")
        answer = await http.send(sent, stream=True)
        os.kill(os.getpid(), signal.SIGTERM)
        assert await answer.aread() == b"event: end\n\n"
    await asyncio.wait_for(running, PATIENCE)


async def test_a_caller_has_only_so_many_streams_and_they_are_not_counted_as_calls():
    feed = Feed()
    limits = replace(GENEROUS, streams_per_principal=1, concurrent_per_principal=1)
    async with serving(feed.route, limits=limits) as http:
        async with http.stream("GET", "/zones/7/stream"):
            refused = await http.get("/zones/7/stream")
            assert (refused.status_code, refused.json()["code"]) == (429, "TooManyRequestsError")
            assert (await http.get("/zones")).status_code == 200
        await asyncio.wait_for(feed.closed.wait(), PATIENCE)
        async with http.stream("GET", "/zones/7/stream") as again:
            assert again.status_code == 200


async def test_a_client_that_does_not_read_holds_no_memory_and_is_let_go():
    produced, closed = 0, asyncio.Event()

    async def endless() -> AsyncGenerator[bytes]:
        nonlocal produced
        try:
            while True:
                produced += len(MEBIBYTE)
                yield MEBIBYTE
        finally:
            closed.set()

    # Kept, so that nothing but the edge closes it.
    parts = endless()

    async def follow(request: HttpRequest) -> StreamResponse:
        return StreamResponse(200, {}, parts)

    service, _ = await memory_service()
    app = rest_application(service, routes=[StreamRoute("all", Route("GET", "/all"), follow)])
    async with listening(app, deadline_seconds=1) as url:
        with socket.create_connection(("127.0.0.1", int(url.rpartition(":")[2]))) as silent:
            head = b"GET /all HTTP/1.1\r\nHost: 127.0.0.1:1\r\nAuthorization: Bearer ada\r\n\r\n"
            silent.sendall(head)
            await asyncio.wait_for(closed.wait(), PATIENCE)
    # What the sockets of the system hold, and no more.
    assert produced < 64 * len(MEBIBYTE)


@pytest.mark.parametrize(
    ("headers", "status", "code"),
    [
        ({"authorization": ""}, 400, "MalformedCredentialsError"),
        ({"authorization": "Bearer nobody"}, 401, "InvalidTokenError"),
        (BOB, 403, "UnauthorizedError"),
        ({"x-surface-id": "nowhere"}, 400, "InvalidSurfaceIdError"),
        ({"host": "evil.test"}, 421, "MisdirectedRequestError"),
    ],
)
async def test_a_stream_is_opened_only_by_who_is_granted_it(
    headers: dict[str, str], status: int, code: str
):
    feed = Feed()
    async with serving(feed.route) as http:
        answer = await http.get("/zones/7/stream", headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert answer.headers["content-type"] == "application/problem+json"
    assert feed.opened == 0


async def test_who_was_denied_a_stream_is_on_record():
    feed = Feed()
    conduit = {"conduit_id": "00000000-0000-7000-8000-000000000020"}
    async with serving(feed.route) as http:
        await http.get("/zones/7/stream", headers=BOB)
        denials = await http.get(f"/conduits/{conduit['conduit_id']}/denials")
    assert [denial["command_name"] for denial in denials.json()["items"]] == ["follow_zones"]


async def test_a_stream_that_fails_is_cut_off_and_counted_so():
    feed = Feed()
    async with serving(feed.route) as http:
        with capture_logs() as lines:
            async with http.stream("GET", "/zones/7/stream") as answer:
                feed.told.put_nowait(RuntimeError("secret"))
                with pytest.raises(httpx2.RemoteProtocolError):
                    await answer.aread()
        metrics = (await http.get("/metrics")).text
    assert feed.closed.is_set()
    assert [line["outcome"] for line in lines if line["event"] == "call"] == ["cut off"]
    labels = 'name="follow_zones",outcome="cut off",surface="HTTP"'
    assert f"beamkeep_calls_total{{{labels}}} 1.0" in metrics


async def test_a_refusal_before_the_stream_is_a_problem():
    async def too_many(request: HttpRequest) -> StreamResponse:
        raise RuntimeError("secret")

    async with serving(StreamRoute("all", Route("GET", "/all"), too_many)) as http:
        answer = await http.get("/all")
    assert (answer.status_code, answer.json()["code"]) == (500, "InternalError")
    assert "secret" not in answer.text


def receiving(limit: int | None) -> tuple[StreamRoute, Callable[[], int]]:
    """A route that takes a file, and how much of it has come."""
    size = 0

    async def receive(request: HttpRequest) -> HttpResponse:
        nonlocal size
        async for part in request.stream(limit):
            size += len(part)
        return HttpResponse(201, {}, b"%d" % size)

    return StreamRoute("put_file", Route("PUT", "/files/{name}"), receive), lambda: size


async def test_a_file_is_taken_and_given_whatever_its_length_and_type():
    async def download(request: HttpRequest) -> StreamResponse:
        async def parts() -> AsyncGenerator[bytes]:
            for _ in range(4):
                yield MEBIBYTE

        headers = {b"content-length": b"%d" % (4 * len(MEBIBYTE)), b"etag": b'"1"'}
        return StreamResponse(200, headers, parts())

    upload, _ = receiving(None)
    given = StreamRoute("get_file", Route("GET", "/files/{name}"), download)
    async with serving(upload, given, limits=replace(GENEROUS, body_bytes=1024)) as http:
        body = 8 * MEBIBYTE
        stored = await http.put("/files/a", content=body, headers={"content-type": "image/tiff"})
        assert (stored.status_code, stored.text) == (201, str(len(body)))
        fetched = await http.get("/files/a")
    assert fetched.headers["content-length"] == str(4 * len(MEBIBYTE))
    assert fetched.content == 4 * MEBIBYTE


@pytest.mark.parametrize(
    ("head", "body"),
    [
        ("content-length: 1001", b""),
        ("transfer-encoding: chunked", b"3e8\r\n" + bytes(1000) + b"\r\n1\r\n\0\r\n"),
    ],
)
async def test_a_file_beyond_the_limit_of_its_route_is_refused_while_it_arrives(
    head: str, body: bytes
):
    upload, received = receiving(1000)
    async with serving(upload) as http:
        answer = await put_and_wait(http, head, body)
    assert answer.startswith(b"HTTP/1.1 413 ")
    assert b"BodyTooLargeError" in answer
    assert b"The limit is 1000 bytes." in answer
    assert received() <= 1000


async def put_and_wait(http: httpx2.AsyncClient, head: str, body: bytes) -> bytes:
    """Everything that is answered to the beginning of a file that never ends."""
    reader, writer = await asyncio.open_connection(http.base_url.host, http.base_url.port)
    lines = ["PUT /files/a HTTP/1.1", "host: 127.0.0.1:1", "authorization: Bearer ada", head]
    writer.write("\r\n".join([*lines, "", ""]).encode() + body)
    answer = await asyncio.wait_for(reader.read(), PATIENCE)
    writer.close()
    return answer


async def test_a_file_may_take_its_time_as_long_as_it_keeps_coming():
    messages = [{"type": "http.request", "body": b"a", "more_body": more} for more in (True, False)]

    async def receive() -> Any:
        return messages.pop(0)

    scope: Scope = {"method": "PUT", "path": "/files/a", "headers": []}
    request = HttpRequest(scope, receive, Limits(deadline_seconds=100))
    with Deadlines(100).limit() as request.deadline:
        before = request.deadline.when()
        async for _ in request.stream():
            after = request.deadline.when()
            assert after > before


async def test_a_file_that_stops_coming_is_given_up():
    upload, received = receiving(None)
    async with serving(upload, limits=replace(GENEROUS, deadline_seconds=0.2)) as http:
        answer = await put_and_wait(http, "content-length: 10", b"a")
    assert answer.startswith(b"HTTP/1.1 408 ")
    assert b"BodyIncompleteError" in answer
    assert received() == 1


def test_an_idle_connection_stays_open_longer_than_clients_keep_it():
    deadline: float = Settings.model_fields["deadline_seconds"].default
    by_client = httpx2.Limits().keepalive_expiry
    assert by_client is not None
    assert deadline > by_client
