"""Opaque access tokens, checked by asking the provider that issued them (RFC 7662)."""

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

from .vouching import (
    ANSWER_SECONDS,
    LEEWAY,
    PROVIDER_CONFIG,
    Claims,
    Name,
    ProviderAddress,
    VerifiedToken,
    answer_of,
    moment,
    name,
    names_one_of,
    read_object,
)

log: structlog.stdlib.BoundLogger = structlog.get_logger()

LONGEST_KEPT = 30.0
QUESTIONS_AT_ONCE = 32
"""The most questions that one provider is asked at the same time; the others wait."""


class IntrospectionProvider(BaseModel):
    """An identity provider that is asked about each of its tokens (RFC 7662)."""

    model_config = PROVIDER_CONFIG

    kind: Literal["introspection"] = "introspection"
    """Tokens are checked by the provider."""

    issuer: Name
    """The provider's name: the issuer of every subject it vouches for."""

    endpoint: ProviderAddress
    """Its introspection endpoint: https, or http on loopback."""

    client_id: Name
    """The client as which this service asks."""

    client_secret: SecretStr | None = None
    """The secret of that client."""

    client_secret_file: Path | None = None
    """A file with that secret, read again for every question."""

    audiences: tuple[Name, ...]
    """Our resource identifiers; a token must name at least one of them in `aud`.

    Empty only for a provider that names no audience and serves no other service.
    """

    client_credentials: bool = False
    """Whether a token without `sub` stands for the client named by its `client_id`.

    Only for a provider whose tokens for people always have a `sub`: otherwise everybody who logs
    in by one client would be one actor.
    """

    @model_validator(mode="after")
    def _one_source_of_the_secret(self) -> Self:
        if (self.client_secret is None) == (self.client_secret_file is None):
            raise ValueError("give exactly one of client_secret and client_secret_file")
        return self


class IntrospectionVerifier:
    """Asks one provider whose token it is."""

    def __init__(
        self,
        provider: IntrospectionProvider,
        http: httpx2.AsyncClient,
        clock: Callable[[], float],
        stopwatch: Callable[[], float],
    ) -> None:
        self._provider = provider
        self._http = http
        self._clock, self._stopwatch = clock, stopwatch
        self._places = asyncio.Semaphore(QUESTIONS_AT_ONCE)

    async def verify(self, token: str) -> VerifiedToken:
        """Say whose token it is and how long that may be kept, or refuse it."""
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                await self._places.acquire()
        except TimeoutError:
            raise IdentityProviderUnavailableError from None
        try:
            asked_at = self._stopwatch()
            return VerifiedToken(self._check(await self._ask(token)), asked_at + LONGEST_KEPT)
        finally:
            self._places.release()

    async def missing(self) -> str | None:
        """Say in words why no token could be checked now; nothing where some could."""
        if await asyncio.to_thread(_secret_of, self._provider) is None:
            file = self._provider.client_secret_file
            return f"The client secret of {self._provider.issuer} could not be read from {file}."
        return None

    async def fault(self) -> str | None:
        """Say in words what keeps the provider from answering, having asked it; else nothing."""
        if told := await self.missing():
            return told
        try:
            await self._ask("beamkeep-check")
        except InvalidTokenError:
            return None
        except IdentityProviderUnavailableError:
            return (
                f"{self._provider.issuer} does not answer {self._provider.client_id} at"
                f" {self._provider.endpoint}. Check the address, the client and its secret."
            )
        return None

    async def _ask(self, token: str) -> Claims:
        secret = await asyncio.to_thread(_secret_of, self._provider)
        if secret is None:
            raise IdentityProviderUnavailableError
        answer = await answer_of(
            self._http,
            "POST",
            self._provider.endpoint,
            form={"token": token, "token_type_hint": "access_token"},
            # RFC 6749 2.3.1: both halves are form-encoded before they are joined.
            auth=httpx2.BasicAuth(quote_plus(self._provider.client_id), quote_plus(secret)),
        )
        status, body = answer or (0, b"")
        said = read_object(body)
        if status == 200 and said is not None:
            return said
        # The provider answers, and does not introspect tokens of this kind.
        if status == 400 and said is not None and said.get("error") == "unsupported_token_type":
            raise InvalidTokenError
        raise IdentityProviderUnavailableError

    def _check(self, said: Claims) -> VerifiedPrincipal:
        now = self._clock()
        expires = moment(said.get("exp"))
        kind = said.get("token_type", "Bearer")
        if (
            said.get("active") is not True
            or said.get("iss", self._provider.issuer) != self._provider.issuer
            or not self._is_for_us(said)
            or not isinstance(kind, str)
            or kind.lower() != "bearer"
            or expires is None
            or expires + LEEWAY <= now
            or not all(self._has_begun(said[each], now) for each in ("iat", "nbf") if each in said)
            # A token bound to its sender's key is worth nothing unless that binding is checked.
            or "cnf" in said
            or ("client_id" in said and name(said["client_id"]) is None)
        ):
            raise InvalidTokenError
        subject = name(said.get("sub") if "sub" in said else self._client(said))
        if subject is None:
            raise InvalidTokenError
        return VerifiedPrincipal(self._provider.issuer, subject, expires)

    def _client(self, said: Claims) -> object:
        """The client a token without a subject stands for, where it may."""
        if "username" in said:
            why = "It was issued to a person, by its username."
        elif not self._provider.client_credentials:
            why = "The provider's entry does not say client_credentials: true."
        else:
            return said.get("client_id")
        log.warning("token without subject refused", issuer=self._provider.issuer, reason=why)
        return None

    def _is_for_us(self, said: Claims) -> bool:
        if "aud" not in said:
            return not self._provider.audiences
        return names_one_of(said["aud"], self._provider.audiences)

    def _has_begun(self, value: object, now: float) -> bool:
        begins = moment(value)
        return begins is not None and begins - LEEWAY <= now


def _secret_of(provider: IntrospectionProvider) -> str | None:
    if provider.client_secret is not None:
        return provider.client_secret.get_secret_value()
    try:
        return (provider.client_secret_file or Path()).read_text().strip()
    except (OSError, ValueError):
        return None
