"""Which requests are let in, and what every response has in common."""

import re
import time
from collections.abc import Callable, Hashable, Sequence
from contextlib import AbstractContextManager
from uuid import UUID

from beamkeep.kernel import Refusal, SurfaceKind
from beamkeep.runtime import tokens
from beamkeep.runtime.admission import Caller
from beamkeep.runtime.codec import encode
from beamkeep.surfaces.problem import problem

from .limits import (
    AddressCharge,
    BodyIncompleteError,
    BodyTooLargeError,
    ConcurrencyLimit,
    HeadersTooLargeError,
    Limits,
    TokenBuckets,
    UrlTooLongError,
)
from .origins import AllowedNames, Cors, ForeignOriginError, MisdirectedRequestError, hosts_of
from .request import Headers, HttpRequest, address_of
from .routes import CallRoute, HttpResponse, MethodNotAllowedError, StreamRoute

METADATA = "/.well-known/oauth-protected-resource"
CREDENTIALS = re.compile(rb"(?i:bearer) +([A-Za-z0-9._~+/-]+=*)")


class Edge:
    """Lets a request in, or refuses it before anything costly happens."""

    def __init__(
        self,
        verifier: tokens.TokenVerifier | None,
        developer_id: UUID | None,
        limits: Limits,
        resource_url: str,
        clock: Callable[[], float] = time.monotonic,
        *,
        authorization_servers: Sequence[str] = (),
        allowed_hosts: Sequence[str] = (),
        cors_origins: Sequence[str] = (),
    ) -> None:
        self._verifier, self._developer_id = verifier, developer_id
        self.limits, self.resource_url = limits, resource_url.rstrip("/")
        self._authorization_servers = tuple(authorization_servers)
        self._hosts = AllowedNames([*hosts_of(self.resource_url), *allowed_hosts])
        self._cors = Cors(cors_origins)
        self._principals = TokenBuckets(
            limits.per_principal_rate, limits.per_principal_burst, clock
        )
        self._addresses = TokenBuckets(limits.per_address_rate, limits.per_address_burst, clock)
        self._calls = ConcurrencyLimit(limits.concurrent_per_principal)
        self._streams = ConcurrencyLimit(limits.streams_per_principal)
        self._questions = ConcurrencyLimit(limits.questions_per_address)
        self._headers = {b"cache-control": b"no-store", b"x-content-type-options": b"nosniff"}
        if self.resource_url.startswith("https://"):
            self._headers[b"strict-transport-security"] = b"max-age=31536000"

    def require_host(self, request: HttpRequest) -> None:
        """Raise MisdirectedRequestError when the request was meant for another host."""
        if request.headers.get(b"host", b"") not in self._hosts:
            raise MisdirectedRequestError

    async def identify(self, request: HttpRequest, route: CallRoute) -> Caller:
        """Return who calls, after checking origin, sizes, credentials and rate, in this order."""
        origin = request.headers.get(b"origin")
        if origin and route.origins is not None and origin not in route.origins:
            raise ForeignOriginError
        self._require_short(request)
        address = AddressCharge(address_of(request.scope), self._addresses, self._questions)
        try:
            verified = await self._verify(request.headers.get(b"authorization"), address.asking)
        except (tokens.TokenRefusal, tokens.IdentityProviderUnavailableError):
            address.charge()
            raise
        address.refund()
        caller = Caller(
            request.correlation_id,
            identity=verified and (verified.issuer, verified.subject),
            principal_id=None if verified else self._developer_id,
            transport=route.surface,
            selected_surface=request.text(b"x-surface-id"),
        )
        self._principals.take(_key(caller))
        return caller

    def slot(self, caller: Caller, route: CallRoute) -> AbstractContextManager[None]:
        """Hold one of the caller's slots while its call, or its stream, is answered."""
        slots = self._streams if isinstance(route, StreamRoute) else self._calls
        return slots.held(_key(caller))

    def refused(self, refusal: Refusal, surface: SurfaceKind = SurfaceKind.HTTP) -> HttpResponse:
        """Return the response to a refused request."""
        headers = {b"content-type": b"application/problem+json"}
        if isinstance(refusal, tokens.TokenRefusal):
            headers[b"www-authenticate"] = self._challenge(refusal, surface)
        if refusal.retry_after is not None:
            headers[b"retry-after"] = b"%d" % refusal.retry_after
        if isinstance(refusal, BodyIncompleteError | BodyTooLargeError):
            headers[b"connection"] = b"close"
        if isinstance(refusal, MethodNotAllowedError):
            headers[b"allow"] = refusal.allow
        return HttpResponse(refusal.status, headers, encode(problem(refusal)))

    def preflight(self, request: HttpRequest, refusal: Refusal) -> HttpResponse | None:
        """Return the response to a CORS preflight request, where the request is one."""
        if not isinstance(refusal, MethodNotAllowedError):
            return None
        headers = self._cors.preflight(request, refusal.allow)
        return HttpResponse(204, headers, b"") if headers else None

    def headers(self, request: HttpRequest) -> Headers:
        """Return the headers that every response to this request has."""
        correlation_id = str(request.correlation_id).encode()
        return {
            **self._headers,
            **self._cors.headers(request),
            b"x-correlation-id": correlation_id,
        }

    def metadata(self, path: str = "") -> dict[str, object]:
        """Return the protected resource metadata (RFC 9728)."""
        return {
            "resource": self.resource_url + path,
            "authorization_servers": self._authorization_servers,
            "bearer_methods_supported": ["header"],
        }

    async def _verify(
        self, credentials: bytes | None, asking: tokens.Asking
    ) -> tokens.VerifiedPrincipal | None:
        if credentials is None:
            if self._developer_id is None:
                raise tokens.MissingTokenError
            return None
        if not (found := CREDENTIALS.fullmatch(credentials)):
            raise tokens.MalformedCredentialsError
        if self._verifier is None:
            raise tokens.InvalidTokenError
        return await self._verifier.verify(found[1].decode(), asking)

    def _require_short(self, request: HttpRequest) -> None:
        if len(request.path) + len(request.scope["query_string"]) > self.limits.url_bytes:
            raise UrlTooLongError(f"The limit is {self.limits.url_bytes} bytes.")
        size = sum([len(name) + len(value) for name, value in request.scope["headers"]])
        if size > self.limits.header_bytes:
            raise HeadersTooLargeError(f"The limit is {self.limits.header_bytes} bytes.")

    def _challenge(self, refusal: tokens.TokenRefusal, surface: SurfaceKind) -> bytes:
        path = "/mcp" if surface is SurfaceKind.MCP_STREAMABLE_HTTP else ""
        error = f'error="{refusal.challenge}", ' if refusal.challenge else ""
        return f'Bearer {error}resource_metadata="{self.resource_url}{METADATA}{path}"'.encode()


def _key(caller: Caller) -> Hashable:
    return caller.identity or caller.principal_id
