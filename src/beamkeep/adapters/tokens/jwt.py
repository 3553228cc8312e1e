"""Signed access tokens (RFC 9068), verified with the published keys of their issuer."""

import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Literal, Self

import httpx2
from jwt import PyJWK, PyJWS
from jwt.exceptions import PyJWTError
from pydantic import BaseModel, Field, model_validator

from beamkeep.kernel import Record
from beamkeep.runtime.tokens import InvalidTokenError, VerifiedPrincipal

from .cache import VerifiedToken
from .claims import (
    LEEWAY,
    Claims,
    audience_matches,
    numeric_date,
    parse_claims,
    printable_name,
)
from .endpoint import PROVIDER_CONFIG, NonEmptyText, ProviderAddress
from .keys import IssuerKeys, keys_from_address, keys_from_file

MAX_LIFETIME = 24 * 3600.0
MAX_CACHED_SECONDS = 300.0

TOKEN_TYPES = frozenset({"at+jwt", "application/at+jwt"})
REFUSED_HEADERS = frozenset({"b64", "crit", "enc", "jku", "jwk", "x5c", "x5u", "zip"})
KEY_ID = re.compile(r"[\x21-\x7e]{1,256}")
SEGMENT = re.compile(r"[A-Za-z0-9_-]+")

type Algorithm = Literal["RS256", "PS256", "ES256", "EdDSA"]


class JwtProvider(BaseModel):
    """An identity provider that signs its access tokens (RFC 9068)."""

    model_config = PROVIDER_CONFIG

    kind: Literal["jwt"] = "jwt"
    """This service verifies the tokens with the published keys of the provider."""

    issuer: NonEmptyText
    """The `iss` claim of its tokens; it must match exactly."""

    audiences: Annotated[tuple[NonEmptyText, ...], Field(min_length=1)]
    """The resource identifiers of this service. A token must name one of them in `aud`."""

    algorithms: Annotated[tuple[Algorithm, ...], Field(min_length=1)] = ("RS256",)
    """The signature algorithms that this provider may use."""

    jwks_uri: ProviderAddress | None = None
    """The address of the provider's key set: https, or http on loopback."""

    jwks_file: Path | None = None
    """A file that contains the provider's key set, for a site without a route to the provider."""

    @model_validator(mode="after")
    def _one_source_of_keys(self) -> Self:
        if (self.jwks_uri is None) == (self.jwks_file is None):
            raise ValueError("Set exactly one of jwks_uri and jwks_file.")
        return self


class UnverifiedJwt(Record):
    """A parsed token whose signature and claims are not verified."""

    text: str
    header: Claims
    claims: Claims


def resembles_jwt(token: str) -> bool:
    """Whether a token begins like a signed or encrypted JSON token, well-formed or not."""
    head, dot, _ = token.partition(".")
    # Lenient on purpose: a token that any reader could parse as a JWT is not opaque.
    try:
        opening = urlsafe_b64decode(head[: len(head) // 4 * 4])
    except ValueError:
        return False
    return bool(dot) and opening.lstrip().startswith(b"{")


def parse_jwt(token: str) -> UnverifiedJwt | None:
    """Return the parts of a signed token, or None when the token is malformed."""
    segments = token.split(".")
    if len(segments) != 3:
        return None
    header, claims, signature = map(_decode, segments)
    if header is None or claims is None or signature is None:
        return None
    header, claims = parse_claims(header), parse_claims(claims)
    if header is None or claims is None:
        return None
    return UnverifiedJwt(token, header, claims)


def _decode(segment: str) -> bytes | None:
    if len(segment) % 4 == 1 or not SEGMENT.fullmatch(segment):
        return None
    decoded = urlsafe_b64decode(segment + "=" * (-len(segment) % 4))
    # The unused low bits must be zero: otherwise one signature has many encodings.
    return decoded if urlsafe_b64encode(decoded).rstrip(b"=") == segment.encode() else None


class JwtVerifier:
    """Verifies the signed tokens of one issuer."""

    def __init__(
        self,
        provider: JwtProvider,
        http: httpx2.AsyncClient,
        *,
        clock: Callable[[], float],
        stopwatch: Callable[[], float],
    ) -> None:
        self._provider = provider
        self._clock, self._stopwatch = clock, stopwatch
        fetch = (
            keys_from_address(http, provider.jwks_uri)
            if provider.jwks_uri
            else keys_from_file(provider.jwks_file or Path())
        )
        self._keys = IssuerKeys(fetch, provider.algorithms, stopwatch)
        self._jws = PyJWS(provider.algorithms)

    async def verify(self, jwt: UnverifiedJwt) -> VerifiedToken:
        """Return the principal of a token and how long to cache it, or refuse the token."""
        # 1. Header and claims need no key: a token that fails here causes no fetch.
        algorithm, kid = self._check_header(jwt.header)
        principal = self._check_claims(jwt.claims)
        # 2. The key comes only from the key set of this issuer.
        key, trusted_until = await self._keys.find(kid, algorithm)
        # 3. The signature covers the same text that the claims were parsed from.
        if not self._is_signed(jwt, key, algorithm):
            raise InvalidTokenError
        return VerifiedToken(principal, min(self._stopwatch() + MAX_CACHED_SECONDS, trusted_until))

    async def outage(self) -> str | None:
        """Return why tokens cannot be verified now, or None when they can."""
        if await self._keys.are_available():
            return None
        provider = self._provider
        return (
            f"The keys of {provider.issuer} cannot be read from"
            f" {provider.jwks_uri or provider.jwks_file}. Provide a readable key set there with a"
            f" key for {', '.join(provider.algorithms)}."
        )

    async def fault(self) -> str | None:
        """Fetch the keys of the provider and return what is wrong with it, or None."""
        return await self.outage()

    def _check_header(self, header: Claims) -> tuple[str, str]:
        kind, algorithm, kid = header.get("typ"), header.get("alg"), header.get("kid")
        if (
            not isinstance(kind, str)
            or kind.lower() not in TOKEN_TYPES
            or not isinstance(algorithm, str)
            or algorithm not in self._provider.algorithms
            or not isinstance(kid, str)
            or not KEY_ID.fullmatch(kid)
            or not REFUSED_HEADERS.isdisjoint(header)
        ):
            raise InvalidTokenError
        return algorithm, kid

    def _check_claims(self, claims: Claims) -> VerifiedPrincipal:
        now = self._clock()
        subject = printable_name(claims.get("sub"))
        expires, issued = numeric_date(claims.get("exp")), numeric_date(claims.get("iat"))
        begins = numeric_date(claims.get("nbf", issued))
        if (
            claims.get("iss") != self._provider.issuer
            or not audience_matches(claims.get("aud"), self._provider.audiences)
            or subject is None
            or printable_name(claims.get("client_id")) is None
            or printable_name(claims.get("jti")) is None
            or expires is None
            or issued is None
            or begins is None
            or expires + LEEWAY <= now
            or max(issued, begins) - LEEWAY > now
            or expires - issued > MAX_LIFETIME
            # We do not verify the binding to the sender's key, so such a token proves nothing.
            or "cnf" in claims
        ):
            raise InvalidTokenError
        return VerifiedPrincipal(self._provider.issuer, subject, expires)

    def _is_signed(self, jwt: UnverifiedJwt, key: PyJWK, algorithm: str) -> bool:
        try:
            self._jws.decode(jwt.text, key, algorithms=[algorithm])
        except (PyJWTError, ValueError, TypeError):
            return False
        return True
