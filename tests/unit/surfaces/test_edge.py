"""Who is let in, how much of it, and how fast."""

import asyncio
from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import asynccontextmanager, nullcontext
from typing import Any
from urllib.parse import unquote
from uuid import UUID, uuid4

import httpx2
import pytest
from starlette.types import Message, Receive, Scope

from beamkeep.kernel import Refusal, Route, SurfaceKind
from beamkeep.runtime.admission import Caller
from beamkeep.runtime.tokens import (
    Asking,
    IdentityProviderUnavailableError,
    InvalidTokenError,
    MalformedCredentialsError,
    MissingTokenError,
    VerifiedPrincipal,
)
from beamkeep.surfaces.http.edge import Edge, EdgeOptions
from beamkeep.surfaces.http.limits import MOST_BUCKETS, Limits, TokenBuckets
from beamkeep.surfaces.http.messages import HttpRequest, address_of
from beamkeep.surfaces.http.pages import application, metrics_application
from beamkeep.surfaces.http.reference_page import reference_page_routes
from beamkeep.surfaces.http.refusals import (
    BodyIncompleteError,
    BodyTooLargeError,
    HeadersTooLargeError,
    TooManyRequestsError,
    UnsupportedMediaTypeError,
    UrlTooLongError,
)
from beamkeep.surfaces.http.routes import HttpResponse, HttpRoute
from beamkeep.testing.installation import ISSUER
from beamkeep.testing.service import memory_service
from beamkeep.testing.static_verifier import StaticVerifier
from beamkeep.testing.tokens import Clock
from beamkeep.testing.web import RESOURCE, always_ready, http_client, rest_application

pytestmark = pytest.mark.anyio

DEVELOPER = UUID("00000000-0000-7000-8000-000000000003")
HTTP = SurfaceKind.HTTP
JSON = ("content-type", "application/json")
ADA = ("authorization", "Bearer ada")
BOB = ("authorization", "Bearer bob")


def options(
    limits: Limits | None = None, developer_id: UUID | None = None, clock: Clock | None = None
) -> EdgeOptions:
    return EdgeOptions(
        RESOURCE,
        StaticVerifier("ada", "bob"),
        developer_id,
        limits=limits or Limits(),
        clock=clock or Clock(),
    )


def edge(limits: Limits | None = None, **more: Any) -> Edge:
    return Edge(options(limits, **more))


def scope(*headers: tuple[str, str], path: str = "/zones", address: str = "192.0.2.1") -> Scope:
    return {
        "type": "http",
        "method": "POST",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "headers": [
            (b"host", b"beamkeep.test"),
            *((name.encode(), value.encode("latin-1")) for name, value in headers),
        ],
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


async def nothing(request: HttpRequest) -> HttpResponse:
    raise AssertionError


CALL = HttpRoute("define_zone", Route("POST", "/zones"), nothing)


async def identify(one: Edge, sent: Scope) -> Caller:
    return await one.identify(HttpRequest(sent, whole(b""), one.options.limits), CALL)


async def refuses(refusal: type[Refusal], one: Edge, sent: Scope) -> None:
    with pytest.raises(refusal):
        await identify(one, sent)


async def read_json(sent: Scope, receive: Receive, limits: Limits | None = None) -> bytes:
    return await HttpRequest(sent, receive, limits or Limits()).json()


async def test_a_good_token_says_who_calls_and_a_header_says_from_where():
    surface, correlation = str(uuid4()), uuid4()
    sent = scope(ADA, ("x-surface-id", surface), ("x-correlation-id", str(correlation)))
    caller = await identify(edge(), sent)
    assert (caller.identity, caller.principal_id) == ((ISSUER, "ada"), None)
    assert (caller.transport, caller.selected_surface) == (HTTP, surface)
    assert caller.correlation_id == correlation


async def test_a_correlation_id_that_is_no_uuid_is_replaced_by_a_fresh_one():
    sent = scope(ADA, ("x-correlation-id", "<script>"))
    caller = await identify(edge(), sent)
    assert caller.correlation_id.version == 7
    assert (await identify(edge(), scope(ADA))).correlation_id != caller.correlation_id


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
    await refuses(MalformedCredentialsError, edge(), scope(("authorization", credentials)))


async def test_two_tokens_are_one_too_many():
    await refuses(MalformedCredentialsError, edge(), scope(ADA, ADA))


async def test_the_scheme_is_read_in_any_case():
    caller = await identify(edge(), scope(("authorization", "BEARER ada")))
    assert caller.identity == (ISSUER, "ada")


async def test_without_token_only_a_service_open_for_development_answers():
    await refuses(MissingTokenError, edge(), scope())
    caller = await identify(edge(developer_id=DEVELOPER), scope())
    assert (caller.identity, caller.principal_id) == (None, DEVELOPER)
    known = await identify(edge(developer_id=DEVELOPER), scope(ADA))
    assert (known.identity, known.principal_id) == ((ISSUER, "ada"), None)


async def test_a_bad_token_is_refused_even_when_none_is_needed():
    await refuses(
        InvalidTokenError, edge(developer_id=DEVELOPER), scope(("authorization", "Bearer x"))
    )
    nobody_to_ask = Edge(EdgeOptions(RESOURCE, None, DEVELOPER))
    await refuses(InvalidTokenError, nobody_to_ask, scope(ADA))


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
        await identify(one, scope(ADA))
    await refuses(TooManyRequestsError, one, scope(ADA, path="/actors"))
    await identify(one, scope(("authorization", "Bearer bob")))
    clock.now += 0.5
    await identify(one, scope(ADA))
    await refuses(TooManyRequestsError, one, scope(ADA))
    assert dict(one.refused(TooManyRequestsError()).headers)[b"retry-after"] == b"1"


async def test_an_address_without_a_good_token_is_slowed_down_and_nobody_else():
    one = edge(Limits(per_address_rate=1, per_address_burst=2))
    for sent in (scope(), scope(("authorization", "Bearer x"))):
        with pytest.raises((MissingTokenError, InvalidTokenError)):
            await identify(one, sent)
    await refuses(TooManyRequestsError, one, scope())
    await identify(one, scope(ADA))
    await refuses(MissingTokenError, one, scope(address="192.0.2.2"))


class Provider:
    """A verifier that asks a provider about every token, and counts how often it does."""

    def __init__(self, answer: Exception | None = None, asks: bool = True) -> None:
        self.answer, self.asks, self.asked, self.gate = answer, asks, 0, asyncio.Event()
        self.gate.set()

    async def verify(self, token: str, asking: Asking = nullcontext) -> VerifiedPrincipal:
        with asking() if self.asks else nullcontext():
            self.asked += 1
            await self.gate.wait()
        if self.answer:
            raise self.answer
        return VerifiedPrincipal(ISSUER, token, float("inf"))


def asking(provider: Provider, **limits: Any) -> Edge:
    most = Limits(**{"per_address_burst": 2, **limits})
    return Edge(EdgeOptions(RESOURCE, provider, limits=most, clock=Clock()))


def with_token(name: str, address: str = "192.0.2.1") -> Scope:
    return scope(("authorization", f"Bearer {name}"), address=address)


@pytest.mark.parametrize("answer", [InvalidTokenError(), IdentityProviderUnavailableError()])
async def test_an_address_pays_before_a_provider_is_asked_whatever_it_answers(answer: Refusal):
    provider = Provider(answer)
    one = asking(provider)
    for number in range(2):
        await refuses(type(answer), one, with_token(f"fresh{number}"))
    for number in range(100):
        await refuses(TooManyRequestsError, one, with_token(f"more{number}"))
    assert provider.asked == 2
    await refuses(type(answer), one, with_token("elsewhere", address="192.0.2.2"))


async def test_an_address_pays_for_a_provider_that_is_away_also_where_nobody_was_asked():
    one = asking(Provider(IdentityProviderUnavailableError(), asks=False))
    for _ in range(2):
        await refuses(IdentityProviderUnavailableError, one, with_token("fresh"))
    await refuses(TooManyRequestsError, one, with_token("fresh"))


async def test_an_address_gets_back_what_it_paid_for_a_good_token():
    provider = Provider()
    one = asking(provider)
    for number in range(50):
        await identify(one, with_token(f"good{number}"))
    assert provider.asked == 50


async def test_an_address_has_only_so_many_questions_under_way():
    provider = Provider()
    one = asking(provider, questions_per_address=2, per_address_burst=100)
    provider.gate.clear()
    waiting = [
        asyncio.create_task(identify(one, with_token("t1", address)))
        for address in ("192.0.2.1", "192.0.2.1", "192.0.2.2")
    ]
    await asyncio.sleep(0)
    with pytest.raises(TooManyRequestsError):
        await asyncio.wait_for(identify(one, with_token("t3")), 30)
    provider.gate.set()
    await asyncio.gather(*waiting)
    await identify(one, with_token("t4"))
    assert provider.asked == 4


@pytest.mark.parametrize(
    ("first", "second", "alike"),
    [
        ("2001:db8::1", "2001:db8::ffff:1", True),
        ("2001:db8::1", "2001:db8:0:1::1", False),
        ("192.0.2.1", "192.0.2.2", False),
        ("::ffff:192.0.2.1", "192.0.2.1", True),
        ("unix", "", False),
    ],
)
def test_a_host_with_a_network_of_addresses_is_one_caller(first: str, second: str, alike: bool):
    found = {address_of(scope(address=address)) for address in (first, second)}
    assert (len(found) == 1) is alike


def test_a_bucket_holds_no_more_than_its_burst_however_long_it_rests():
    clock = Clock()
    buckets = TokenBuckets(1, 2, clock)
    buckets.take("a")
    clock.now += 1000
    buckets.take("a")
    buckets.take("a")
    with pytest.raises(TooManyRequestsError):
        buckets.take("a")


def test_the_bucket_unused_longest_is_forgotten_first():
    buckets = TokenBuckets(1, 1, Clock())
    for key in range(MOST_BUCKETS):
        buckets.take(key)
    with pytest.raises(TooManyRequestsError):
        buckets.take(0)
    buckets.take(MOST_BUCKETS)
    with pytest.raises(TooManyRequestsError):
        buckets.take(0)
    buckets.take(1)


async def test_a_principal_has_only_so_many_calls_at_once():
    reached, leave = asyncio.Semaphore(0), asyncio.Event()

    async def waiting(request: HttpRequest) -> HttpResponse:
        reached.release()
        await leave.wait()
        return HttpResponse(200, {}, b"")

    route = HttpRoute("wait", Route("GET", "/wait"), waiting)
    async with await calling(Limits(concurrent_per_principal=2), [route]) as http:
        under_way = [asyncio.create_task(http.get("/wait")) for _ in range(2)]
        under_way.append(asyncio.create_task(http.get("/wait", headers=dict([BOB]))))
        for _ in under_way:
            await reached.acquire()
        refused = await http.get("/wait")
        assert (refused.status_code, refused.json()["code"]) == (429, "TooManyRequestsError")
        leave.set()
        assert [answer.status_code for answer in await asyncio.gather(*under_way)] == [200] * 3
        assert (await http.get("/wait")).status_code == 200


async def test_an_address_or_head_that_is_too_long_is_refused_before_the_token_is_read():
    one = edge(Limits(url_bytes=20, header_bytes=57))
    await refuses(UrlTooLongError, one, scope(path="/" + "z" * 20))
    await refuses(UrlTooLongError, one, {**scope(), "query_string": b"a=" + b"z" * 20})
    await refuses(HeadersTooLargeError, one, scope(("x-odd", "z" * 40)))


async def test_a_body_is_read_in_parts_up_to_its_limit():
    parts: list[Message] = [
        {"type": "http.request", "body": b'{"a"', "more_body": True},
        {"type": "http.request", "body": b":1 }"},
    ]

    async def receive() -> Message:
        return parts.pop(0)

    assert await read_json(scope(JSON), receive, Limits(body_bytes=8)) == b'{"a":1 }'


async def test_a_body_beyond_the_limit_is_refused_while_it_arrives():
    with pytest.raises(BodyTooLargeError):
        await read_json(scope(JSON), arriving([b"12345", b"6789"]), Limits(body_bytes=8))


async def test_a_body_announced_beyond_the_limit_is_not_read_at_all():
    announced = scope(JSON, ("content-length", "9"))
    with pytest.raises(BodyTooLargeError):
        await read_json(announced, arriving([]), Limits(body_bytes=8))


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
        await read_json(scope(JSON), receive)


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
        await read_json(scope(*headers), whole(b"{}"))


@pytest.mark.parametrize(
    "headers",
    [
        [JSON],
        [("content-type", "Application/JSON; charset=utf-8")],
        [JSON, ("content-encoding", "identity")],
    ],
)
async def test_plain_json_is_read(headers: list[tuple[str, str]]):
    assert await read_json(scope(*headers), whole(b"{}")) == b"{}"


async def test_no_body_needs_no_media_type():
    assert await read_json(scope(), whole(b"")) == b""
    assert await read_json(scope(("content-type", "text/plain")), whole(b"")) == b""


async def calling(limits: Limits, routes: Sequence[HttpRoute] = ()) -> httpx2.AsyncClient:
    service, _ = await memory_service()
    return http_client(rest_application(service, limits, routes), headers=[ADA])


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
async def test_what_is_too_much_is_answered_with_a_problem(
    limits: Limits, request_of: dict[str, Any], status: int, code: str
):
    async with await calling(limits) as http:
        answer = await http.post("/zones", **request_of)
    assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert answer.headers["content-type"] == "application/problem+json"
    assert ("retry-after" in answer.headers) == (status == 429)
    assert (answer.headers.get("connection") == "close") == (status == 413)


@pytest.mark.parametrize("path", ["/zones", "/nowhere", "/health", "/docs", "/mcp"])
async def test_every_answer_has_the_same_protective_headers(path: str):
    correlation_id = str(uuid4())
    async with await calling(Limits()) as http:
        answer = await http.get(path, headers={"x-correlation-id": correlation_id})
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["strict-transport-security"] == "max-age=31536000"
    assert answer.headers["x-correlation-id"] == correlation_id


async def test_transport_security_is_not_promised_where_there_is_none():
    service, _ = await memory_service()
    plain = EdgeOptions("http://localhost:8000")
    app = application(service, plain, ready=always_ready, metrics=bytes)
    async with http_client(app, plain.resource_url) as http:
        answer = await http.get("/.well-known/oauth-protected-resource/mcp")
    assert answer.json()["resource"] == "http://localhost:8000/mcp"
    assert "strict-transport-security" not in answer.headers


HOSTILE_PATHS = [
    "/%6dcp",
    "/%6Dcp",
    "/mcp%2f",
    "/mcp/",
    "//mcp",
    "/./mcp",
    "/%2e/mcp",
    "/x/../mcp",
    "/x/%2e%2e/mcp",
    "/mcp%00",
    "/mcp;a=b",
    "/%6detrics",
    "/metrics%3fa",
    "/%68ealth",
    "/%72eady",
    "/doc%73",
    "/openapi%2ejson",
    "/.well-known%2foauth-protected-resource",
    "/%7aones",
    "/zones%2f",
]


@pytest.mark.parametrize("path", HOSTILE_PATHS)
async def test_a_path_spelt_otherwise_reaches_nothing(path: str):
    """A rule that a proxy has for a path must hold however the path is spelt."""
    answer = await raw_answer(path)
    assert (answer["status"], b"RouteNotFoundError" in answer["body"]) == (404, True)


@pytest.mark.parametrize("id", ["a%2fb", "%2e%2e%2factors", "..", "%2fstart", "%00", "%ff"])
async def test_an_id_spelt_otherwise_stays_an_id(id: str):
    answer = await raw_answer(f"/zones/{id}")
    assert (answer["status"], b"MalformedRequestError" in answer["body"]) == (422, True)


async def raw_answer(path: str, **more: Any) -> dict[str, Any]:
    """What is answered to a path that is sent exactly so, as the server decodes it."""
    service, _ = await memory_service()
    app = application(service, options(), ready=always_ready, metrics=bytes)
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    asked = {**scope(ADA, path=unquote(path)), "raw_path": path.encode(), "method": "GET", **more}
    await app(asked, whole(b""), send)
    return {**sent[0], **sent[1]}


HOSTS = [
    ("beamkeep.test", True),
    ("BeamKeep.test:443", True),
    ("127.0.0.1:8000", True),
    ("lab.test:8443", True),
    ("lab.test", False),
    ("lab.test:1", False),
    ("evil.test", False),
    ("evil.test:8000", False),
    ("beamkeep.test.evil.test", False),
    ("beamkeep.test:443.evil.test", False),
    ("beamkeep.test@evil.test", False),
    ("127.0.0.1", False),
    ("127.0.0.1:", False),
    ("127.0.0.1:*", False),
    ("*", False),
    ("", False),
    (None, False),
]


@asynccontextmanager
async def known_by_name() -> AsyncGenerator[httpx2.AsyncClient]:
    service, _ = await memory_service()
    allowed = ("127.0.0.1:*", "lab.test:8443")
    named = EdgeOptions(RESOURCE, StaticVerifier("ada"), allowed_hosts=allowed)
    page = [*reference_page_routes(service.catalogue)]
    app = application(service, named, ready=always_ready, metrics=bytes, routes=page)
    async with http_client(app, headers=[ADA]) as http:
        yield http


@pytest.mark.parametrize(("host", "answered"), HOSTS)
@pytest.mark.parametrize("path", ["/zones", "/mcp", "/metrics", "/openapi.json", "/docs"])
async def test_a_call_for_another_host_is_refused_everywhere(
    path: str, host: str | None, answered: bool
):
    async with known_by_name() as http:
        asked = http.build_request("GET", path)
        if host is None:
            del asked.headers["host"]
        else:
            asked.headers["host"] = host
        answer = await http.send(asked)
    if answered:
        assert answer.status_code == (405 if path == "/mcp" else 200)
    else:
        assert (answer.status_code, answer.json()["code"]) == (421, "MisdirectedRequestError")
        assert answer.headers["content-type"] == "application/problem+json"


async def test_two_hosts_are_one_too_many():
    two = scope(ADA, ("host", "beamkeep.test"))
    answer = await raw_answer("/zones", headers=two["headers"])
    assert answer["status"] == 421


@pytest.mark.parametrize("path", ["/health", "/ready"])
async def test_a_probe_is_answered_by_any_name(path: str):
    async with known_by_name() as http:
        assert (await http.get(path, headers={"host": "10.1.2.3:8000"})).status_code == 200


async def test_metrics_with_an_address_of_their_own_are_nowhere_else():
    service, _ = await memory_service()
    served = application(service, options(), ready=always_ready, metrics=None)
    apart = metrics_application(options(), lambda: b"up 1")
    for app, path, status in (
        (served, "/metrics", 404),
        (served, "/health", 200),
        (apart, "/metrics", 200),
        (apart, "/zones", 404),
        (apart, "/%6detrics", 404),
    ):
        async with http_client(app) as http:
            assert (await http.get(path)).status_code == status, path


async def test_a_service_that_is_not_ready_says_what_is_missing():
    service, _ = await memory_service()

    async def migrating() -> str | None:
        return "The schema is two migrations behind."

    app = application(service, options(), ready=migrating, metrics=bytes)
    async with http_client(app) as http:
        answer = await http.get("/ready")
        alive = await http.get("/health")
    assert (answer.status_code, answer.text) == (503, "The schema is two migrations behind.")
    assert alive.status_code == 200
