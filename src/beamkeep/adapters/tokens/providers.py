"""The registry of identity providers: which of them verifies a token, and for how long."""

import asyncio
import re
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from hashlib import sha256
from typing import Annotated

import httpx2
from pydantic import Field

from beamkeep.runtime.tokens import (
    Asking,
    InvalidTokenError,
    MalformedCredentialsError,
    TokenFault,
    VerifiedPrincipal,
)

from .cache import TokenCache, VerifiedToken
from .faults import any_of, refused, shown
from .introspection import IntrospectionProvider, IntrospectionVerifier
from .jwt import JwtProvider, JwtVerifier, parse_jwt, resembles_jwt

__all__ = ["IdentityProvider", "IdentityProviders", "IntrospectionProvider", "JwtProvider"]

MAX_TOKEN_LENGTH = 8 * 1024
REFUSAL_CACHED_SECONDS = 5.0
BEARER_TOKEN = re.compile(r"[A-Za-z0-9\-._~+/]+=*")
"""What may follow `Bearer` (RFC 6750 2.1)."""

type IdentityProvider = Annotated[JwtProvider | IntrospectionProvider, Field(discriminator="kind")]


class IdentityProviders:
    """Verifies each token with the configured provider that issued it."""

    def __init__(
        self,
        providers: Iterable[JwtProvider | IntrospectionProvider],
        default_introspection_issuer: str | None,
        http: httpx2.AsyncClient,
        clock: Callable[[], float],
        stopwatch: Callable[[], float] | None = None,
    ) -> None:
        # The stopwatch is monotonic: setting the wall clock back does not prolong the cache.
        stopwatch = stopwatch or clock
        self._clock, self._stopwatch = clock, stopwatch
        self._verifiers: dict[str, JwtVerifier | IntrospectionVerifier] = {}
        for provider in providers:
            if provider.issuer in self._verifiers:
                raise ValueError(
                    f"Two identity providers have the issuer {provider.issuer}. Remove one."
                )
            self._verifiers[provider.issuer] = (
                JwtVerifier(provider, http, clock=clock, stopwatch=stopwatch)
                if isinstance(provider, JwtProvider)
                else IntrospectionVerifier(provider, http, clock=clock, stopwatch=stopwatch)
            )
        self._default = None
        if default_introspection_issuer is not None:
            default = self._verifiers.get(default_introspection_issuer)
            if not isinstance(default, IntrospectionVerifier):
                raise ValueError(
                    "The default introspection issuer is not a configured introspection provider:"
                    f" {default_introspection_issuer}. Name the issuer of one."
                )
            self._default = default
        self._verified = TokenCache[VerifiedPrincipal]()
        # A cache of its own, so that a flood of invalid tokens evicts no valid one.
        self._refused = TokenCache[TokenFault]()
        self._in_flight: dict[bytes, asyncio.Task[VerifiedToken]] = {}

    async def verify(self, token: str, asking: Asking = nullcontext) -> VerifiedPrincipal:
        """Return the principal of a token, from the cache if possible, or refuse the token."""
        if len(token) > MAX_TOKEN_LENGTH:
            raise refused(
                "too_long",
                "token",
                expected=f"at most {MAX_TOKEN_LENGTH} characters",
                found=f"{len(token)} characters",
                remedy="Configure the provider to put fewer claims into its access tokens.",
            )
        if not token.isascii():
            raise MalformedCredentialsError
        digest = sha256(token.encode()).digest()
        now = self._stopwatch()
        principal = self._verified.get(digest, now)
        if principal is not None and self._clock() < principal.expires_at:
            return principal
        if fault := self._refused.get(digest, now):
            raise InvalidTokenError().because(fault)
        verified = await self._verify(token, digest, asking)
        self._verified.put(digest, verified.principal, verified.cached_until)
        return verified.principal

    async def outages(self) -> list[str]:
        """Return why each provider that cannot verify tokens now cannot do so."""
        found = await asyncio.gather(*(each.outage() for each in self._verifiers.values()))
        return [outage for outage in found if outage]

    async def any_available(self) -> bool:
        """Whether at least one provider can verify tokens now, or none is configured."""
        return not self._verifiers or len(await self.outages()) < len(self._verifiers)

    async def faults(self) -> list[str]:
        """Send a request to each provider and return what is wrong with it."""
        found = await asyncio.gather(*(each.fault() for each in self._verifiers.values()))
        return [fault for fault in found if fault]

    async def _verify(self, token: str, digest: bytes, asking: Asking) -> VerifiedToken:
        if not BEARER_TOKEN.fullmatch(token):
            raise MalformedCredentialsError
        verifier = self._default
        if resembles_jwt(token):
            jwt = parse_jwt(token)
            if jwt is None:
                raise _malformed(token)
            issuer = jwt.claims.get("iss")
            verifier = self._verifiers.get(issuer) if isinstance(issuer, str) else None
            if isinstance(verifier, JwtVerifier):
                return await verifier.verify(jwt)
            if verifier is None:
                raise refused(
                    "unknown_issuer",
                    "iss",
                    expected=any_of(tuple(self._verifiers)) or "nothing: no provider is configured",
                    found=shown(issuer),
                    remedy="Add the issuer to IDENTITY_PROVIDERS, spelled exactly so.",
                )
        if not isinstance(verifier, IntrospectionVerifier):
            raise refused(
                "opaque",
                "token",
                expected="a signed token",
                found="an opaque token",
                remedy="Set DEFAULT_INTROSPECTION_ISSUER to the provider that issues these tokens.",
            )
        # Concurrent calls with the same token share one introspection request.
        if (request := self._in_flight.get(digest)) is None:
            request = asyncio.create_task(self._introspect(verifier, token, digest, asking))
            self._in_flight[digest] = request
            request.add_done_callback(_retrieve_exception)
        # A call that is cancelled does not cancel the request of the other calls.
        return await asyncio.shield(request)

    async def _introspect(
        self, verifier: IntrospectionVerifier, token: str, digest: bytes, asking: Asking
    ) -> VerifiedToken:
        requested_at = self._stopwatch()
        try:
            with asking():
                return await verifier.verify(token)
        except InvalidTokenError as refusal:
            self._refused.put(digest, refusal.fault, requested_at + REFUSAL_CACHED_SECONDS)
            raise
        finally:
            del self._in_flight[digest]


def _malformed(token: str) -> InvalidTokenError:
    parts = token.count(".") + 1
    encrypted = "an encrypted token of 5 parts"
    return refused(
        "malformed",
        "token",
        expected="header, claims and signature: 3 parts of base64url, 2 of them JSON objects",
        found=encrypted if parts == 5 else f"{parts} parts, not all of them readable",
        remedy="Send the token as the provider issued it, signed and not encrypted.",
    )


def _retrieve_exception(request: asyncio.Task[VerifiedToken]) -> None:
    """Retrieve the exception, so that asyncio logs nothing when every caller was cancelled."""
    if not request.cancelled():
        request.exception()
