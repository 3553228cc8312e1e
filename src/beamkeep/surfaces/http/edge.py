"""The edge: every request takes the same steps, whatever answers it."""

import asyncio
import re
import time
from collections.abc import AsyncGenerator, Callable, Generator, Hashable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from uuid import UUID

import msgspec
import structlog
from starlette.types import Receive, Scope, Send

from beamkeep.kernel import Record, Refusal, SurfaceKind
from beamkeep.runtime import tokens
from beamkeep.runtime.admission import Admission, Caller
from beamkeep.runtime.codec import encode
from beamkeep.surfaces.problem import problem
from beamkeep.telemetry import CallRecord, Telemetry

from . import refusals
from .deadlines import Deadlines
from .limits import ConcurrencyLimit, Limits, TokenBuckets
from .messages import HttpRequest, HttpResponse, StreamResponse, address_of, combined
from .origins import AllowedNames, Cors, hosts_of
from .routes import HttpRoute, PublicRoute, Router, StreamRoute

log: structlog.stdlib.BoundLogger = structlog.get_logger()

METADATA = "/.well-known/oauth-protected-resource"
PART_BYTES = 32 * 1024
"""How much of an answer is sent before the edge waits for a client that does not read."""
CLOSE = {b"connection": b"close"}
PROBES = frozenset({b"/health", b"/ready"})
CREDENTIALS = re.compile(rb"(?i:bearer) +([A-Za-z0-9._~+/-]+=*)")


class EdgeOptions(Record):
    """Who may call a deployment, and how often."""

    resource_url: str
    """The base URL of the service, without a slash at its end."""
    verifier: tokens.TokenVerifier | None = None
    developer_id: UUID | None = None
    """The principal of calls without a token, where none is required."""
    limits: Limits = Limits()
    authorization_servers: tuple[str, ...] = ()
    cli_client_id: str | None = None
    allowed_hosts: tuple[str, ...] = ()
    cors_origins: tuple[str, ...] = ()
    clock: Callable[[], float] = time.monotonic


class Edge:
    """The ASGI application. Plain ASGI: the objects of a framework cost more than a command."""

    def __init__(
        self,
        options: EdgeOptions,
        routes: Iterable[HttpRoute] = (),
        admission: Admission | None = None,
        telemetry: Telemetry | None = None,
    ) -> None:
        most, clock = options.limits, options.clock
        self.options, self._router, self._admission = options, Router(routes), admission
        self._telemetry, self._stopping = telemetry or Telemetry(), asyncio.Event()
        self._principals = TokenBuckets(most.per_principal_rate, most.per_principal_burst, clock)
        self._addresses = TokenBuckets(most.per_address_rate, most.per_address_burst, clock)
        self._deadlines = Deadlines(most.deadline_seconds)
        self._calls = ConcurrencyLimit(most.concurrent_per_principal)
        self._large = ConcurrencyLimit(most.large_bodies_per_principal)
        self._all_large = ConcurrencyLimit(most.large_bodies)
        self._parsing = ThreadPoolExecutor(1, "parsing")
        self._streams = ConcurrencyLimit(most.streams_per_principal)
        self._questions = ConcurrencyLimit(most.questions_per_address)
        self._hosts = AllowedNames([*hosts_of(options.resource_url), *options.allowed_hosts])
        self._cors = Cors(options.cors_origins)
        self._headers = {b"cache-control": b"no-store", b"x-content-type-options": b"nosniff"}
        if options.resource_url.startswith("https://"):
            self._headers[b"strict-transport-security"] = b"max-age=31536000"

    def stop_streams(self) -> None:
        """End every stream, because the service stops."""
        self._stopping.set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        request = HttpRequest(scope, receive, self.options.limits)
        try:
            # 1. The host, except for probes, which often know only an IP address.
            if request.path not in PROBES and request.headers.get(b"host", b"") not in self._hosts:
                raise refusals.MisdirectedRequestError
            # 2. The route. A browser asks for its methods before it calls from another origin.
            route, request.values = self._router.find(request.method, request.path)
        except Refusal as refusal:
            response = self.refused(refusal)
            if isinstance(refusal, refusals.MethodNotAllowedError):
                response = self._cors.preflight(request, refusal.allow) or response
            await self._send(response, request, send)
            return
        id, surface = request.correlation_id, route.surface
        # The slots are held while the client reads: an answer that nobody reads takes memory.
        try:
            with self._telemetry.call(route.name, surface, id) as record:
                code = None
                try:
                    response = await self._answer(route, request, record)
                except Exception as error:
                    refusal = _refusal(error, request, route.name)
                    if isinstance(refusal, tokens.Unverified):
                        self._telemetry.refuse_token(**msgspec.to_builtins(refusal.fault))
                    response, code = self.refused(refusal, surface), type(refusal).__name__
                    if request.is_large and not request.was_read:
                        # To read what is thrown away would cost more than the refusal.
                        response = response._replace(headers={**response.headers, **CLOSE})
                # 7. The response. A stream is part of its call, and cut off if it fails.
                if isinstance(response, StreamResponse):
                    await self._send(response, request, send)
                record.answered(response.status, code)
            if isinstance(response, HttpResponse):
                await self._send(response, request, send)
        finally:
            request.slots.release()

    async def _answer(
        self, route: HttpRoute, request: HttpRequest, record: CallRecord
    ) -> HttpResponse | StreamResponse:
        with self._deadlines.limit() as request.deadline:
            if not isinstance(route, PublicRoute):
                # 3. The caller.
                caller = request.caller = await self.identify(request, route)
                # 4. A free slot.
                slots = self._streams if isinstance(route, StreamRoute) else self._calls
                request.slots.hold(slots, _key(caller))
                if request.is_large and not isinstance(route, StreamRoute):
                    request.slots.hold(self._large, _key(caller))
                    request.slots.hold(self._all_large, None)
                    request.parsing = self._parsing
                # 5. The grant. Operations, questions and tools look for it themselves,
                # before they read a large body.
                if isinstance(route, StreamRoute):
                    assert self._admission is not None, "streams are authorized"  # noqa: S101
                    request.admitted = await self._admission.admit(route.name, caller)
            # 6. The answer.
            if not route.recorded:
                record.discard()
            return await route.answer(request)

    async def identify(self, request: HttpRequest, route: HttpRoute) -> Caller:
        """Return who calls, after checking origin, sizes, credentials and rate, in this order."""
        origin = request.headers.get(b"origin")
        if origin and route.origins is not None and origin not in route.origins:
            raise refusals.ForeignOriginError
        request.require_short()
        charge = _AddressCharge(request.scope, self._addresses, self._questions)
        try:
            verified = await self._verify(request.headers.get(b"authorization"), charge.asking)
        except (tokens.TokenRefusal, tokens.IdentityProviderUnavailableError):
            charge.pay()
            raise
        charge.refund()
        caller = Caller(
            request.correlation_id,
            identity=verified and (verified.issuer, verified.subject),
            token_ends_at=verified and verified.ends_at,
            delegated=verified is not None and verified.delegated,
            principal_id=None if verified else self.options.developer_id,
            transport=route.surface,
            selected_surface=request.text(b"x-surface-id"),
        )
        self._principals.take(_key(caller))
        return caller

    async def _verify(
        self, credentials: bytes | None, asking: tokens.Asking
    ) -> tokens.VerifiedPrincipal | None:
        if credentials is None:
            if self.options.developer_id is None:
                raise tokens.MissingTokenError
            return None
        if not (found := CREDENTIALS.fullmatch(credentials)):
            raise tokens.MalformedCredentialsError
        if self.options.verifier is None:
            raise tokens.InvalidTokenError
        return await self.options.verifier.verify(found[1].decode(), asking)

    def refused(self, refusal: Refusal, surface: SurfaceKind = SurfaceKind.HTTP) -> HttpResponse:
        """Return the response to a refused request."""
        headers = {b"content-type": b"application/problem+json"}
        if isinstance(refusal, tokens.TokenRefusal):
            where = self.options.resource_url + METADATA
            where += "/mcp" if surface is SurfaceKind.MCP_STREAMABLE_HTTP else ""
            error = f'error="{refusal.challenge}", ' if refusal.challenge else ""
            headers[b"www-authenticate"] = f'Bearer {error}resource_metadata="{where}"'.encode()
        if refusal.retry_after is not None:
            headers[b"retry-after"] = b"%d" % refusal.retry_after
        if isinstance(refusal, refusals.BodyIncompleteError | refusals.BodyTooLargeError):
            headers |= CLOSE
        if isinstance(refusal, refusals.MethodNotAllowedError):
            headers[b"allow"] = refusal.allow
        return HttpResponse(refusal.status, headers, encode(problem(refusal)))

    async def _send(
        self, response: HttpResponse | StreamResponse, request: HttpRequest, send: Send
    ) -> None:
        headers = {**self._headers, **response.headers}
        if cors := self._cors.headers(request):
            headers = combined([*headers.items(), *cors.items()])
        headers[b"x-correlation-id"] = encode(request.correlation_id)[1:-1]
        is_stream = isinstance(response, StreamResponse)
        if not is_stream and response.status != 204:
            headers[b"content-length"] = b"%d" % len(response.body)
        fields = list(headers.items())
        await send({"type": "http.response.start", "status": response.status, "headers": fields})
        if is_stream:
            await self._stream(response, request, send)
        elif len(body := response.body) <= PART_BYTES:
            await send({"type": "http.response.body", "body": body})
        else:
            for begin in range(0, len(body) - PART_BYTES, PART_BYTES):
                part = body[begin : begin + PART_BYTES]
                await send({"type": "http.response.body", "body": part, "more_body": True})
            rest = body[(len(body) - 1) // PART_BYTES * PART_BYTES :]
            await send({"type": "http.response.body", "body": rest})

    async def _stream(self, response: StreamResponse, request: HttpRequest, send: Send) -> None:
        sending = asyncio.create_task(_send_parts(response.parts, send))
        gone = asyncio.create_task(request.disconnected())
        tasks = [sending, gone, asyncio.create_task(self._stopping.wait())]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            connected, complete = not gone.done(), sending.done()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
            await response.parts.aclose()
        if complete:
            sending.result()
        if connected:
            last = b"" if complete else response.at_shutdown
            await send({"type": "http.response.body", "body": last})


class _AddressCharge:
    """The token that a request costs its address until its credentials prove valid."""

    def __init__(self, scope: Scope, buckets: TokenBuckets, questions: ConcurrencyLimit) -> None:
        self._scope, self._buckets, self._questions = scope, buckets, questions
        self._paid_by: str | None = None

    @contextmanager
    def asking(self) -> Generator[None]:
        """Pay before an identity provider is asked, and hold one of the address's slots."""
        with self._questions.held(self.pay()):
            yield

    def pay(self) -> str:
        """Pay once, and return the address."""
        if self._paid_by is None:
            address = address_of(self._scope)
            self._buckets.take(address)
            self._paid_by = address
        return self._paid_by

    def refund(self) -> None:
        if self._paid_by is not None:
            self._buckets.refund(self._paid_by)


async def _send_parts(parts: AsyncGenerator[bytes], send: Send) -> None:
    # Sending waits while the client does not read, so nothing piles up here.
    async for part in parts:
        await send({"type": "http.response.body", "body": part, "more_body": True})
        # It does not wait for a client that is gone; the task that notices that must get its turn.
        await asyncio.sleep(0)


def _refusal(error: Exception, request: HttpRequest, name: str) -> Refusal:
    """Return the refusal that answers an error. Log the error unless it is a refusal."""
    if isinstance(error, Refusal):
        return error
    expired = request.deadline and request.deadline.expired()
    if expired and request.reading:
        return refusals.BodyIncompleteError()
    log.error("call failed", name=name, correlation_id=request.correlation_id, exc_info=error)
    return refusals.DeadlineExceededError() if expired else refusals.InternalError()


def _key(caller: Caller) -> Hashable:
    return caller.identity or caller.principal_id
