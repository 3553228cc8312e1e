"""Opaque access tokens, verified by introspection at their provider (RFC 7662)."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Literal, Self
from urllib.parse import quote_plus

import httpx2
import structlog
from pydantic import BaseModel, SecretStr, model_validator

from beamkeep.runtime.tokens import (
    IdentityProviderUnavailableError,
    InvalidTokenError,
    VerifiedPrincipal,
)

from .cache import VerifiedToken
from .claims import (
    LEEWAY,
    Claims,
    audience_matches,
    numeric_date,
    parse_claims,
    printable_name,
)
from .endpoint import PROVIDER_CONFIG, RESPONSE_TIMEOUT, NonEmptyText, ProviderAddress, request

log: structlog.stdlib.BoundLogger = structlog.get_logger()

MAX_CACHED_SECONDS = 30.0
CONCURRENT_REQUESTS = 32
"""Concurrent introspection requests to one provider; further ones wait."""


class IntrospectionProvider(BaseModel):
    """An identity provider with an introspection endpoint (RFC 7662)."""

    model_config = PROVIDER_CONFIG

    kind: Literal["introspection"] = "introspection"
    """The provider verifies its tokens itself."""

    issuer: NonEmptyText
    """The name of the provider: the issuer of all its subjects."""

    endpoint: ProviderAddress
    """The introspection endpoint: https, or http on loopback."""

    client_id: NonEmptyText
    """The client that this service authenticates as."""

    client_secret: SecretStr | None = None
    """The secret of that client."""

    client_secret_file: Path | None = None
    """A file that contains that secret; it is read for every request."""

    audiences: tuple[NonEmptyText, ...]
    """The resource identifiers of this service. A token must name one of them in `aud`.

    Leave it empty only for a provider that names no audience and serves no other service.
    """

    client_credentials: bool = False
    """Whether a token without `sub` identifies the client in its `client_id`.

    Set it only for a provider whose tokens for people always have a `sub`: otherwise all people
    who log in through one client would be the same actor.
    """

    @model_validator(mode="after")
    def _one_source_of_the_secret(self) -> Self:
        if (self.client_secret is None) == (self.client_secret_file is None):
            raise ValueError("Set exactly one of client_secret and client_secret_file.")
        return self


class IntrospectionVerifier:
    """Verifies the opaque tokens of one provider."""

    def __init__(
        self,
        provider: IntrospectionProvider,
        http: httpx2.AsyncClient,
        *,
        clock: Callable[[], float],
        stopwatch: Callable[[], float],
    ) -> None:
        self._provider = provider
        self._http = http
        self._clock, self._stopwatch = clock, stopwatch
        self._slots = asyncio.Semaphore(CONCURRENT_REQUESTS)

    async def verify(self, token: str) -> VerifiedToken:
        """Return the principal of a token and how long to cache it, or refuse the token."""
        try:
            async with asyncio.timeout(RESPONSE_TIMEOUT):
                await self._slots.acquire()
        except TimeoutError:
            raise IdentityProviderUnavailableError from None
        try:
            requested_at = self._stopwatch()
            principal = self._check(await self._introspect(token))
            return VerifiedToken(principal, requested_at + MAX_CACHED_SECONDS)
        finally:
            self._slots.release()

    async def outage(self) -> str | None:
        """Return why tokens cannot be verified now, or None when they can."""
        if await asyncio.to_thread(_client_secret, self._provider) is None:
            return (
                f"The client secret of {self._provider.issuer} cannot be read from"
                f" {self._provider.client_secret_file}. Create the file and make it readable."
            )
        return None

    async def fault(self) -> str | None:
        """Send a request to the provider and return what is wrong with it, or None."""
        if outage := await self.outage():
            return outage
        try:
            await self._introspect("beamkeep-check")
        except InvalidTokenError:
            return None
        except IdentityProviderUnavailableError:
            return (
                f"{self._provider.issuer} does not answer {self._provider.client_id} at"
                f" {self._provider.endpoint}. Check the address, the client and its secret."
            )
        return None

    async def _introspect(self, token: str) -> Claims:
        secret = await asyncio.to_thread(_client_secret, self._provider)
        if secret is None:
            raise IdentityProviderUnavailableError
        response = await request(
            self._http,
            "POST",
            self._provider.endpoint,
            form={"token": token, "token_type_hint": "access_token"},
            # RFC 6749 2.3.1: client id and secret are form-encoded before they are joined.
            auth=httpx2.BasicAuth(quote_plus(self._provider.client_id), quote_plus(secret)),
        )
        status, body = response or (0, b"")
        claims = parse_claims(body)
        if status == 200 and claims is not None:
            return claims
        # The provider does not introspect tokens of this type.
        if status == 400 and claims and claims.get("error") == "unsupported_token_type":
            raise InvalidTokenError
        raise IdentityProviderUnavailableError

    def _check(self, claims: Claims) -> VerifiedPrincipal:
        now = self._clock()
        expires = numeric_date(claims.get("exp"))
        kind = claims.get("token_type", "Bearer")
        if (
            claims.get("active") is not True
            or claims.get("iss", self._provider.issuer) != self._provider.issuer
            or not self._is_audience(claims)
            or not isinstance(kind, str)
            or kind.lower() != "bearer"
            or expires is None
            or expires + LEEWAY <= now
            or not all(_has_begun(claims[each], now) for each in ("iat", "nbf") if each in claims)
            # We do not verify the binding to the sender's key, so such a token proves nothing.
            or "cnf" in claims
            or ("client_id" in claims and printable_name(claims["client_id"]) is None)
        ):
            raise InvalidTokenError
        subject = printable_name(claims.get("sub") if "sub" in claims else self._client(claims))
        if subject is None:
            raise InvalidTokenError
        return VerifiedPrincipal(self._provider.issuer, subject, expires)

    def _client(self, claims: Claims) -> object:
        """Return the client id of a token without `sub`, if it may be used as the subject."""
        if "username" in claims:
            reason = "The token has a username: it was issued to a person."
        elif not self._provider.client_credentials:
            reason = "The provider's entry does not set client_credentials to true."
        else:
            return claims.get("client_id")
        log.warning("token without subject refused", issuer=self._provider.issuer, reason=reason)
        return None

    def _is_audience(self, claims: Claims) -> bool:
        if "aud" not in claims:
            return not self._provider.audiences
        return audience_matches(claims["aud"], self._provider.audiences)


def _has_begun(value: object, now: float) -> bool:
    begins = numeric_date(value)
    return begins is not None and begins - LEEWAY <= now


def _client_secret(provider: IntrospectionProvider) -> str | None:
    if provider.client_secret is not None:
        return provider.client_secret.get_secret_value()
    try:
        return (provider.client_secret_file or Path()).read_text().strip()
    except (OSError, ValueError):
        return None
