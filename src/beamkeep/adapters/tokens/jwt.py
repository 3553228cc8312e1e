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
from beamkeep.runtime.tokens import VerifiedPrincipal

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
from .claims import Claims, audience_matches, parse_claims
from .endpoint import PROVIDER_CONFIG, NonEmptyText, ProviderAddress, unreachable
from .faults import any_of, refused, shown
from .keys import IssuerKeys, keys_from_address, keys_from_file
from .metadata import metadata_fault

MAX_LIFETIME = 24 * 3600.0
MAX_CACHED_SECONDS = 300.0

ACCESS_TOKEN, PLAIN_JWT = "at+jwt", "JWT"
ID_TOKEN_CLAIMS = frozenset({"at_hash", "c_hash"})
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

    token_types: Annotated[tuple[Literal["at+jwt", "JWT"], ...], Field(min_length=1)] = ("at+jwt",)
    """The values of the header `typ` that this provider may use.

    Add `JWT` only for a provider that cannot set `at+jwt`. The client of such a token may be named
    in `azp`. It is refused if its audience is its own client, if its claim `typ` is not `Bearer`,
    or if it has a claim that only ID tokens have: a login is no permission to call this service.
    """

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
        self._provider, self._http = provider, http
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
        principal = self._check_claims(jwt.claims, _token_type(jwt.header) == PLAIN_JWT)
        # 2. The key comes only from the key set of this issuer.
        key, trusted_until = await self._keys.find(kid, algorithm)
        # 3. The signature covers the same text that the claims were parsed from.
        if not self._is_signed(jwt, key, algorithm):
            raise refused(
                "signature",
                "signature",
                expected=f"a signature by the key {shown(kid)}",
                found="another one",
                remedy="The token was changed, or another provider uses the same key id.",
            )
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
        """Fetch keys and metadata of the provider and return what is wrong with it, or None."""
        provider = self._provider
        outage = await self.outage()
        if provider.jwks_uri is None:
            return outage
        if outage:
            reason = await unreachable(self._http, provider.jwks_uri)
            return f"{outage} There was no answer: {reason}." if reason else outage
        return await metadata_fault(self._http, provider.issuer, "jwks_uri", provider.jwks_uri)

    def _check_header(self, header: Claims) -> tuple[str, str]:
        provider, algorithm, kid = self._provider, header.get("alg"), header.get("kid")
        if _token_type(header) not in provider.token_types:
            raise refused(
                "typ",
                "header typ",
                expected=any_of(provider.token_types),
                found=shown(header.get("typ")),
                remedy=(
                    "Send an access token, not an ID token. If the provider cannot set at+jwt, add"
                    ' "JWT" to token_types of its entry in IDENTITY_PROVIDERS.'
                ),
            )
        if not isinstance(algorithm, str) or algorithm not in provider.algorithms:
            raise refused(
                "alg",
                "header alg",
                expected=any_of(provider.algorithms),
                found=shown(algorithm),
                remedy="Set algorithms of the provider's entry to the one that it signs with.",
            )
        if not isinstance(kid, str) or not KEY_ID.fullmatch(kid):
            raise refused(
                "kid",
                "header kid",
                expected="1 to 256 visible ASCII characters",
                found=shown(kid),
                remedy="Configure the provider to name its signing key in kid.",
            )
        if not REFUSED_HEADERS.isdisjoint(header):
            raise refused(
                "header",
                "header",
                expected=f"none of {', '.join(sorted(REFUSED_HEADERS))}",
                found=", ".join(sorted(REFUSED_HEADERS & header.keys())),
                remedy="Configure the provider to leave these header members out.",
            )
        return algorithm, kid

    def _check_claims(self, claims: Claims, plain: bool) -> VerifiedPrincipal:
        now = self._clock()
        require_issuer(claims, self._provider.issuer)
        require_audience(claims, self._provider.audiences)
        subject = require_name(claims, "sub")
        # A provider that cannot set the type of RFC 9068 names the client as OpenID Connect does.
        client = require_name(claims, "azp" if plain and "client_id" not in claims else "client_id")
        require_name(claims, "jti")
        expires, issued = require_time(claims, "exp"), require_time(claims, "iat")
        require_unexpired(expires, now)
        require_begun(issued, "iat", now)
        if "nbf" in claims:
            require_begun(require_time(claims, "nbf"), "nbf", now)
        if expires - issued > MAX_LIFETIME:
            raise refused(
                "lifetime",
                "exp",
                expected=f"at most {MAX_LIFETIME:.0f} seconds after iat",
                found=f"{expires - issued:.0f} seconds after iat",
                remedy="Shorten the lifetime of access tokens at the provider.",
            )
        refuse_bound(claims)
        if plain:
            _refuse_id_token(claims, client)
        issuer, delegated = self._provider.issuer, "act" in claims
        return VerifiedPrincipal(issuer, subject, expires, delegated=delegated)

    def _is_signed(self, jwt: UnverifiedJwt, key: PyJWK, algorithm: str) -> bool:
        try:
            self._jws.decode(jwt.text, key, algorithms=[algorithm])
        except (PyJWTError, ValueError, TypeError):
            return False
        return True


def _token_type(header: Claims) -> str:
    """Return the header `typ` in the spelling of the settings; empty when it is not a text."""
    named = header.get("typ")
    kind = named.lower().removeprefix("application/") if isinstance(named, str) else ""
    return PLAIN_JWT if kind == PLAIN_JWT.lower() else kind


def _refuse_id_token(claims: Claims, client: str) -> None:
    """Raise InvalidTokenError for a token without a telling type that is an ID token."""
    found = None
    if claims.get("typ", "Bearer") != "Bearer":
        found = f"the claim typ {shown(claims['typ'])}"
    elif ID_TOKEN_CLAIMS & claims.keys():
        found = f"the claim {min(ID_TOKEN_CLAIMS & claims.keys())}"
    elif audience_matches(claims.get("aud"), (client,)):
        found = f"an aud that names the token's own client {shown(client)}"
    if found:
        raise refused(
            "id_token",
            "claims",
            expected="an access token",
            found=f"{found}, as in an ID token",
            remedy="Send the access token. Give this service an audience that is no client.",
        )
