"""Who is let in, how much of it, and how fast."""

import asyncio
from collections.abc import Iterable
from typing import Any
from uuid import UUID, uuid4

import httpx2
import pytest
from starlette.types import Message, Receive, Scope
from tests.support.rest_client import RESOURCE, always_ready, rest_application
from tests.support.service import ISSUER, memory_service
from tests.support.static_verifier import StaticVerifier
from tests.support.tokens import Clock

from beamkeep.kernel import Refusal, SurfaceKind
from beamkeep.runtime.tokens import (
    InvalidTokenError,
    MalformedCredentialsError,
    MissingTokenError,
)
from beamkeep.surfaces.edge import Edge
from beamkeep.surfaces.head import correlation_id_of
from beamkeep.surfaces.limits import (
    MOST_BUCKETS,
    BodyIncompleteError,
    BodyTooLargeError,
    Buckets,
    HeadersTooLargeError,
    Limits,
    TooManyRequestsError,
    UnsupportedMediaTypeError,
    UrlTooLongError,
)
from beamkeep.surfaces.rest import application

pytestmark = pytest.mark.anyio

DEVELOPER = UUID("00000000-0000-7000-8000-000000000003")
HTTP = SurfaceKind.HTTP
JSON = ("content-type", "application/json")
ADA = ("authorization", "Bearer ada")


def edge(
    limits: Limits | None = None, developer_id: UUID | None = None, clock: Clock | None = None
) -> Edge:
    return Edge(
        StaticVerifier("ada", "bob"), developer_id, limits or Limits(), RESOURCE, clock or Clock()
    )


def scope(*headers: tuple[str, str], path: str = "/zones", address: str = "192.0.2.1") -> Scope:
    return {
        "type": "http",
        "method": "POST",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "headers": [(name.encode(), value.encode("latin-1")) for name, value in headers],
        "client": (address, 4000),
    }


def arriving(parts: Iterable[bytes]) -> Receive:
    """A body that comes in parts and then stops coming."""
    messages: list[Message] = [
        {"type": "http.request", "body": part, "more_body": True} for part in parts
    ]

    async def receive() -> Message:
        if messages:
            return messages.pop(0)
        await asyncio.sleep(60)
        raise AssertionError

    return receive


def whole(body: bytes) -> Receive:
    async def receive() -> Message:
        return {"type": "http.request", "body": body}

    return receive


async def test_a_good_token_says_who_calls_and_a_header_says_from_where():
    surface, correlation = str(uuid4()), uuid4()
    sent = scope(ADA, ("x-surface-id", surface), ("x-correlation-id", str(correlation)))
    caller = await edge().identify(sent, HTTP)
    assert (caller.identity, caller.principal_id) == ((ISSUER, "ada"), None)
    assert (caller.transport, caller.selected_surface) == (HTTP, surface)
    assert caller.correlation_id == correlation


async def test_a_correlation_id_that_is_no_uuid_is_replaced_by_a_fresh_one():
    sent = scope(ADA, ("x-correlation-id", "<script>"))
    caller = await edge().identify(sent, HTTP)
    assert caller.correlation_id.version == 7
    assert correlation_id_of(sent) == caller.correlation_id
    assert (await edge().identify(scope(ADA), HTTP)).correlation_id != caller.correlation_id


@pytest.mark.parametrize(
    "credentials",
    [
        "ada",
        "Basic ada",
        "Bearer",
        "Bearer ",
        "Bearer a b",
        "Bearer ada,",
        "Bearer \xe4",
        "bearerada",
    ],
)
async def test_credentials_that_are_not_one_bearer_token_are_malformed(credentials: str):
    with pytest.raises(MalformedCredentialsError):
        await edge().identify(scope(("authorization", credentials)), HTTP)


async def test_two_tokens_are_one_too_many():
    with pytest.raises(MalformedCredentialsError):
        await edge().identify(scope(ADA, ADA), HTTP)


async def test_the_scheme_is_read_in_any_case():
    caller = await edge().identify(scope(("authorization", "BEARER ada")), HTTP)
    assert caller.identity == (ISSUER, "ada")


async def test_without_token_only_a_service_open_for_development_answers():
    with pytest.raises(MissingTokenError):
        await edge().identify(scope(), HTTP)
    caller = await edge(developer_id=DEVELOPER).identify(scope(), HTTP)
    assert (caller.identity, caller.principal_id) == (None, DEVELOPER)
    known = await edge(developer_id=DEVELOPER).identify(scope(ADA), HTTP)
    assert (known.identity, known.principal_id) == ((ISSUER, "ada"), None)


async def test_a_bad_token_is_refused_even_when_none_is_needed():
    with pytest.raises(InvalidTokenError):
        await edge(developer_id=DEVELOPER).identify(scope(("authorization", "Bearer x")), HTTP)
    nobody_to_ask = Edge(None, DEVELOPER, Limits(), RESOURCE)
    with pytest.raises(InvalidTokenError):
        await nobody_to_ask.identify(scope(ADA), HTTP)


@pytest.mark.parametrize(
    ("refusal", "transport", "challenge"),
    [
        (MissingTokenError(), HTTP, "Bearer resource_metadata="),
        (InvalidTokenError(), HTTP, 'Bearer error="invalid_token", resource_metadata='),
        (MalformedCredentialsError(), HTTP, 'Bearer error="invalid_request", resource_metadata='),
    ],
)
def test_a_challenge_says_what_was_wrong_and_where_to_learn_more(
    refusal: Refusal, transport: SurfaceKind, challenge: str
):
    where = f"{RESOURCE}/.well-known/oauth-protected-resource"
    answer = edge().refused(refusal, transport)
    assert dict(answer.headers)[b"www-authenticate"].decode() == f'{challenge}"{where}"'
    mcp = edge().refused(refusal, SurfaceKind.MCP_STREAMABLE_HTTP)
    assert dict(mcp.headers)[b"www-authenticate"].decode() == f'{challenge}"{where}/mcp"'


async def test_a_principal_has_a_burst_and_then_its_pace():
    clock = Clock()
    one = edge(Limits(per_principal_rate=2, per_principal_burst=3), clock=clock)
    for _ in range(3):
        await one.identify(scope(ADA), HTTP)
    with pytest.raises(TooManyRequestsError):
        await one.identify(scope(ADA, path="/actors"), HTTP)
    await one.identify(scope(("authorization", "Bearer bob")), HTTP)
    clock.now += 0.5
    await one.identify(scope(ADA), HTTP)
    with pytest.raises(TooManyRequestsError):
        await one.identify(scope(ADA), HTTP)
    assert dict(one.refused(TooManyRequestsError()).headers)[b"retry-after"] == b"1"


async def test_an_address_without_a_good_token_is_slowed_down_and_nobody_else():
    one = edge(Limits(per_address_rate=1, per_address_burst=2))
    for sent in (scope(), scope(("authorization", "Bearer x"))):
        with pytest.raises((MissingTokenError, InvalidTokenError)):
            await one.identify(sent, HTTP)
    with pytest.raises(TooManyRequestsError):
        await one.identify(scope(), HTTP)
    await one.identify(scope(ADA), HTTP)
    with pytest.raises(MissingTokenError):
        await one.identify(scope(address="192.0.2.2"), HTTP)


def test_a_bucket_holds_no_more_than_its_burst_however_long_it_rests():
    clock = Clock()
    buckets = Buckets(1, 2, clock)
    buckets.take("a")
    clock.now += 1000
    buckets.take("a")
    buckets.take("a")
    with pytest.raises(TooManyRequestsError):
        buckets.take("a")


def test_the_bucket_unused_longest_is_forgotten_first():
    buckets = Buckets(1, 1, Clock())
    for key in range(MOST_BUCKETS):
        buckets.take(key)
    with pytest.raises(TooManyRequestsError):
        buckets.take(0)
    buckets.take(MOST_BUCKETS)
    with pytest.raises(TooManyRequestsError):
        buckets.take(0)
    buckets.take(1)


async def test_a_principal_has_only_so_many_calls_at_once():
    one = edge(Limits(concurrent_per_principal=2))
    ada = await one.identify(scope(ADA), HTTP)
    bob = await one.identify(scope(("authorization", "Bearer bob")), HTTP)
    with (
        one.in_flight(ada),
        one.in_flight(ada),
        one.in_flight(bob),
        pytest.raises(TooManyRequestsError),
        one.in_flight(ada),
    ):
        pass
    with pytest.raises(RuntimeError), one.in_flight(ada):
        raise RuntimeError
    with one.in_flight(ada), one.in_flight(ada):
        pass


async def test_an_address_or_head_that_is_too_long_is_refused_before_the_token_is_read():
    one = edge(Limits(url_bytes=20, header_bytes=40))
    with pytest.raises(UrlTooLongError):
        await one.identify(scope(path="/" + "z" * 20), HTTP)
    with pytest.raises(UrlTooLongError):
        await one.identify({**scope(), "query_string": b"a=" + b"z" * 20}, HTTP)
    with pytest.raises(HeadersTooLargeError):
        await one.identify(scope(("x-odd", "z" * 40)), HTTP)


async def test_a_body_is_read_in_parts_up_to_its_limit():
    one = edge(Limits(body_bytes=8))
    parts: list[Message] = [
        {"type": "http.request", "body": b'{"a"', "more_body": True},
        {"type": "http.request", "body": b":1 }"},
    ]

    async def receive() -> Message:
        return parts.pop(0)

    assert await one.read_body(scope(JSON), receive) == b'{"a":1 }'


async def test_a_body_beyond_the_limit_is_refused_while_it_arrives():
    with pytest.raises(BodyTooLargeError):
        await edge(Limits(body_bytes=8)).read_body(scope(JSON), arriving([b"12345", b"6789"]))


async def test_a_body_announced_beyond_the_limit_is_not_read_at_all():
    announced = scope(JSON, ("content-length", "9"))
    with pytest.raises(BodyTooLargeError):
        await edge(Limits(body_bytes=8)).read_body(announced, arriving([]))


async def test_a_body_that_stops_coming_is_given_up():
    service, _ = await memory_service()
    app = rest_application(service, Limits(deadline_seconds=0.01))
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    await app(scope(ADA, JSON), arriving([b"{"]), send)
    assert sent[0]["status"] == 408
    assert b"BodyIncompleteError" in sent[1]["body"]
    assert dict(sent[0]["headers"])[b"connection"] == b"close"


async def test_a_caller_that_hangs_up_is_not_waited_for():
    async def receive() -> Message:
        return {"type": "http.disconnect"}

    with pytest.raises(BodyIncompleteError):
        await edge().read_body(scope(JSON), receive)


@pytest.mark.parametrize(
    "headers",
    [
        [("content-type", "text/plain")],
        [("content-type", "application/json-patch+json")],
        [],
        [JSON, ("content-encoding", "gzip")],
    ],
)
async def test_a_body_that_is_not_plain_json_is_refused(headers: list[tuple[str, str]]):
    with pytest.raises(UnsupportedMediaTypeError):
        await edge().read_body(scope(*headers), whole(b"{}"))


@pytest.mark.parametrize(
    "headers",
    [
        [JSON],
        [("content-type", "Application/JSON; charset=utf-8")],
        [JSON, ("content-encoding", "identity")],
    ],
)
async def test_plain_json_is_read(headers: list[tuple[str, str]]):
    assert await edge().read_body(scope(*headers), whole(b"{}")) == b"{}"


async def test_no_body_needs_no_media_type():
    assert await edge().read_body(scope(), whole(b"")) == b""
    assert await edge().read_body(scope(("content-type", "text/plain")), whole(b"")) == b""


async def calling(limits: Limits) -> httpx2.AsyncClient:
    service, _ = await memory_service()
    transport = httpx2.ASGITransport(rest_application(service, limits))
    return httpx2.AsyncClient(transport=transport, base_url=RESOURCE, headers=[ADA])


@pytest.mark.parametrize(
    ("limits", "request_of", "status", "code"),
    [
        (Limits(body_bytes=9), {"json": {"name": "Hutch"}}, 413, "BodyTooLargeError"),
        (Limits(url_bytes=3), {}, 414, "UrlTooLongError"),
        (Limits(), {"data": {"name": "Hutch"}}, 415, "UnsupportedMediaTypeError"),
        (Limits(per_principal_burst=0), {}, 429, "TooManyRequestsError"),
        (Limits(concurrent_per_principal=0), {}, 429, "TooManyRequestsError"),
        (Limits(header_bytes=9), {}, 431, "HeadersTooLargeError"),
    ],
)
async def test_what_is_too_much_is_told_as_a_problem(
    limits: Limits, request_of: dict[str, Any], status: int, code: str
):
    async with await calling(limits) as http:
        answer = await http.post("/zones", **request_of)
    assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert answer.headers["content-type"] == "application/problem+json"
    assert ("retry-after" in answer.headers) == (status == 429)
    assert (answer.headers.get("connection") == "close") == (status == 413)


@pytest.mark.parametrize("path", ["/zones", "/nowhere", "/health", "/docs"])
async def test_every_answer_has_the_same_protective_headers(path: str):
    correlation_id = str(uuid4())
    async with await calling(Limits()) as http:
        answer = await http.get(path, headers={"x-correlation-id": correlation_id})
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["strict-transport-security"] == "max-age=31536000"
    assert answer.headers["x-correlation-id"] == correlation_id


def test_transport_security_is_not_promised_where_there_is_none():
    plain = Edge(None, None, Limits(), "http://localhost:8000/")
    assert b"strict-transport-security" not in dict(plain.headers_for(scope()))
    assert plain.metadata("/mcp")["resource"] == "http://localhost:8000/mcp"


async def test_what_is_mounted_gets_the_same_headers_and_its_own_path():
    service, _ = await memory_service()
    seen: list[str] = []

    async def mcp(scope: Scope, receive: Receive, send: Any) -> None:
        seen.append(scope["path"])
        await send({"type": "http.response.start", "status": 202, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    app = application(service, edge(), ready=always_ready, metrics=bytes, mcp=mcp)
    transport = httpx2.ASGITransport(app)
    async with httpx2.AsyncClient(transport=transport, base_url=RESOURCE) as http:
        answer = await http.post("/mcp")
    assert (answer.status_code, answer.headers["cache-control"]) == (202, "no-store")
    assert seen == ["/mcp"]


async def test_a_service_that_is_not_ready_says_what_is_missing():
    service, _ = await memory_service()

    async def migrating() -> str | None:
        return "The schema is two migrations behind."

    app = application(service, edge(), ready=migrating, metrics=bytes)
    transport = httpx2.ASGITransport(app)
    async with httpx2.AsyncClient(transport=transport, base_url=RESOURCE) as http:
        answer = await http.get("/ready")
        alive = await http.get("/health")
    assert (answer.status_code, answer.text) == (503, "The schema is two migrations behind.")
    assert alive.status_code == 200
