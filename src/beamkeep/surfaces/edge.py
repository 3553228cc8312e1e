"""What REST and `/mcp` share before a call is believed: who calls, how much, how fast."""

import re
import time
from collections.abc import Callable, Hashable, Sequence
from contextlib import AbstractContextManager
from typing import NamedTuple
from uuid import UUID

from starlette.types import Receive, Scope, Send

from beamkeep.kernel import Refusal, SurfaceKind
from beamkeep.runtime.admission import Caller
from beamkeep.runtime.codec import encode
from beamkeep.runtime.tokens import (
    Asking,
    IdentityProviderUnavailableError,
    InvalidTokenError,
    MalformedCredentialsError,
    MissingTokenError,
    TokenRefusal,
    TokenVerifier,
    VerifiedPrincipal,
)

from .head import Header, correlation_id_of, head_of, path_of
from .hosts import Hosts
from .limits import (
    BodyIncompleteError,
    BodyTooLargeError,
    Buckets,
    Concurrent,
    HeadersTooLargeError,
    Limits,
    Toll,
    UrlTooLongError,
    read_body,
)
from .problem import problem

METADATA = "/.well-known/oauth-protected-resource"
CREDENTIALS = re.compile(rb"(?i:bearer) +([A-Za-z0-9._~+/-]+=*)")
JSON: Header = (b"content-type", b"application/json")
PROBLEM: Header = (b"content-type", b"application/problem+json")


class Reply(NamedTuple):
    """What is sent back, but for the headers every answer has."""

    status: int
    headers: Sequence[Header]
    body: bytes


class Edge:
    """Lets a call in, or refuses it before anything costly happens."""

    def __init__(
        self,
        verifier: TokenVerifier | None,
        developer_id: UUID | None,
        limits: Limits,
        resource_url: str,
        clock: Callable[[], float] = time.monotonic,
        authorization_servers: Sequence[str] = (),
        allowed_hosts: Sequence[str] = (),
    ) -> None:
        self._verifier, self._developer_id = verifier, developer_id
        self.limits, self.resource_url = limits, resource_url.rstrip("/")
        self._authorization_servers = tuple(authorization_servers)
        self._principals = Buckets(limits.per_principal_rate, limits.per_principal_burst, clock)
        self._addresses = Buckets(limits.per_address_rate, limits.per_address_burst, clock)
        self._calls = Concurrent(limits.concurrent_per_principal)
        self._questions = Concurrent(limits.questions_per_address)
        self.hosts = Hosts(self.resource_url, allowed_hosts)
        self._headers: list[Header] = [
            (b"cache-control", b"no-store"),
            (b"x-content-type-options", b"nosniff"),
        ]
        if self.resource_url.startswith("https://"):
            self._headers.append((b"strict-transport-security", b"max-age=31536000"))

    async def identify(self, scope: Scope, transport: SurfaceKind) -> Caller:
        """Say who calls and from where, or refuse: sizes, credentials, pace, in this order."""
        head = head_of(scope)
        self._require_short(scope)
        toll = Toll(scope, self._addresses, self._questions)
        try:
            verified = await self._verified(head.get(b"authorization"), toll.asking)
        except (TokenRefusal, IdentityProviderUnavailableError):
            toll.charge()
            raise
        toll.refund()
        surface = head.get(b"x-surface-id")
        caller = Caller(
            correlation_id_of(scope),
            verified and (verified.issuer, verified.subject),
            None if verified else self._developer_id,
            transport,
            None if surface is None else surface.decode("latin-1"),
        )
        self._principals.take(_key(caller))
        return caller

    def in_flight(self, caller: Caller) -> AbstractContextManager[None]:
        """Hold one of the principal's places while its call is answered."""
        return self._calls.held(_key(caller))

    async def read_body(self, scope: Scope, receive: Receive) -> bytes:
        """The whole body, never more of it than the limit."""
        return await read_body(scope, receive, self.limits)

    def refused(self, refusal: Refusal, transport: SurfaceKind = SurfaceKind.HTTP) -> Reply:
        """A refusal as it is sent."""
        headers = [PROBLEM]
        if isinstance(refusal, TokenRefusal):
            headers.append((b"www-authenticate", self._challenge(refusal, transport)))
        if refusal.retry_after is not None:
            headers.append((b"retry-after", str(refusal.retry_after).encode()))
        if isinstance(refusal, BodyIncompleteError | BodyTooLargeError):
            headers.append((b"connection", b"close"))
        return Reply(refusal.status, headers, encode(problem(refusal)))

    def headers_for(self, scope: Scope) -> list[Header]:
        """What every answer to this call has."""
        return [*self._headers, (b"x-correlation-id", str(correlation_id_of(scope)).encode())]

    async def send(self, reply: Reply, scope: Scope, send: Send) -> None:
        """Send an answer with the headers every answer has."""
        status, own, body = reply
        headers = [*self.headers_for(scope), *own]
        if status != 204:
            headers.append((b"content-length", b"%d" % len(body)))
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    def metadata(self, path: str = "") -> dict[str, object]:
        """What this resource server says of itself (RFC 9728)."""
        return {
            "resource": self.resource_url + path,
            "authorization_servers": self._authorization_servers,
            "bearer_methods_supported": ["header"],
        }

    async def _verified(
        self, credentials: bytes | None, asking: Asking
    ) -> VerifiedPrincipal | None:
        if credentials is None:
            if self._developer_id is None:
                raise MissingTokenError
            return None
        if not (found := CREDENTIALS.fullmatch(credentials)):
            raise MalformedCredentialsError
        if self._verifier is None:
            raise InvalidTokenError
        return await self._verifier.verify(found[1].decode(), asking)

    def _require_short(self, scope: Scope) -> None:
        if len(path_of(scope)) + len(scope["query_string"]) > self.limits.url_bytes:
            raise UrlTooLongError
        size = sum([len(name) + len(value) for name, value in scope["headers"]])
        if size > self.limits.header_bytes:
            raise HeadersTooLargeError

    def _challenge(self, refusal: TokenRefusal, transport: SurfaceKind) -> bytes:
        path = "/mcp" if transport is SurfaceKind.MCP_STREAMABLE_HTTP else ""
        error = f'error="{refusal.challenge}", ' if refusal.challenge else ""
        return f'Bearer {error}resource_metadata="{self.resource_url}{METADATA}{path}"'.encode()


def _key(caller: Caller) -> Hashable:
    return caller.identity or caller.principal_id
