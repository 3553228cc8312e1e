"""Opaque access tokens, verified by introspection at their provider (RFC 7662)."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Literal, Self
from urllib.parse import quote_plus

import httpx2
from pydantic import BaseModel, SecretStr, model_validator

from beamkeep.runtime.tokens import (
    IdentityProviderUnavailableError,
    InvalidTokenError,
    VerifiedPrincipal,
)

from .cache import VerifiedToken
from .checks import (
    refuse_bound,
    require_audience,
    require_begun,
    require_issuer,
    require_name,
    require_time,
    require_unexpired,
)
from .claims import Claims, parse_claims
from .endpoint import PROVIDER_CONFIG, RESPONSE_TIMEOUT, NonEmptyText, ProviderAddress, request
from .faults import refused, shown, unavailable
from .metadata import metadata_fault

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
            raise unavailable(
                "busy",
                "endpoint",
                expected=f"an answer within {RESPONSE_TIMEOUT:g} seconds",
                found=f"{CONCURRENT_REQUESTS} questions that wait for an answer",
                remedy=f"Find out why {self._provider.endpoint} is slow.",
            ) from None
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
            pass
        except IdentityProviderUnavailableError as refusal:
            return (
                f"{self._provider.issuer} does not answer {self._provider.client_id} at"
                f" {self._provider.endpoint}: {refusal.fault.found}. {refusal.fault.remedy}"
            )
        here = self._provider
        return await metadata_fault(
            self._http, here.issuer, "introspection_endpoint", here.endpoint
        )

    async def _introspect(self, token: str) -> Claims:
        provider = self._provider
        secret = await asyncio.to_thread(_client_secret, provider)
        if secret is None:
            raise unavailable(
                "client_secret",
                "client_secret_file",
                expected=f"a readable file {provider.client_secret_file}",
                found="none",
                remedy="Create the file and make it readable.",
            )
        response = await request(
            self._http,
            "POST",
            provider.endpoint,
            form={"token": token, "token_type_hint": "access_token"},
            # RFC 6749 2.3.1: client id and secret are form-encoded before they are joined.
            auth=httpx2.BasicAuth(quote_plus(provider.client_id), quote_plus(secret)),
        )
        status, body = response or (0, b"")
        claims = parse_claims(body)
        if status == 200 and claims is not None:
            return claims
        if status == 400 and claims and claims.get("error") == "unsupported_token_type":
            raise refused(
                "not_introspected",
                "token",
                expected=f"a token that {provider.issuer} introspects",
                found="unsupported_token_type",
                remedy="Add an entry of kind jwt for the signed tokens of this provider.",
            )
        if status in {401, 403}:
            raise unavailable(
                "introspection_client",
                "client_secret",
                expected=f"a client {provider.client_id} that may introspect",
                found=f"status {status}",
                remedy="Check client_id and its secret, and permit the client to introspect.",
            )
        raise unavailable(
            "introspection",
            "endpoint",
            expected="a JSON object with status 200",
            found=f"status {status}" if response else "no answer",
            remedy="Check the address, and that this host can reach it.",
        )

    def _check(self, claims: Claims) -> VerifiedPrincipal:
        now, provider, kind = self._clock(), self._provider, claims.get("token_type", "Bearer")
        if claims.get("active") is not True:
            raise refused(
                "inactive",
                "active",
                expected="true",
                found="false" if claims.get("active") is False else shown(claims.get("active")),
                remedy="Obtain a new token. This one expired, was revoked or is of another issuer.",
            )
        if "iss" in claims:
            require_issuer(claims, provider.issuer)
        if "aud" in claims or provider.audiences:
            require_audience(claims, provider.audiences)
        if not isinstance(kind, str) or kind.lower() != "bearer":
            raise refused(
                "token_type",
                "token_type",
                expected="Bearer",
                found=shown(kind),
                remedy="Turn off DPoP for this client at the provider.",
            )
        expires = require_time(claims, "exp")
        require_unexpired(expires, now)
        for claim in ("iat", "nbf"):
            if claim in claims:
                require_begun(require_time(claims, claim), claim, now)
        refuse_bound(claims)
        if "client_id" in claims:
            require_name(claims, "client_id")
        subject = require_name(claims, "sub") if "sub" in claims else self._client(claims)
        return VerifiedPrincipal(provider.issuer, subject, expires, delegated="act" in claims)

    def _client(self, claims: Claims) -> str:
        """Return the client id of a token without `sub`, if it may be used as the subject."""
        if "username" in claims or not self._provider.client_credentials:
            person = "a username: the token was issued to a person"
            raise refused(
                "sub",
                "sub",
                expected="the subject of the token",
                found=f"nothing, and {person}" if "username" in claims else "nothing",
                remedy=(
                    "Configure the provider to answer sub. If its tokens without sub belong to"
                    " machines, set client_credentials of its entry to true."
                ),
            )
        return require_name(claims, "client_id")


def _client_secret(provider: IntrospectionProvider) -> str | None:
    if provider.client_secret is not None:
        return provider.client_secret.get_secret_value()
    try:
        return (provider.client_secret_file or Path()).read_text().strip()
    except (OSError, ValueError):
        return None
