"""Signed access tokens (RFC 9068), checked with the keys their issuer publishes."""

import asyncio
import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self, cast

import httpx2
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from jwt import PyJWK, PyJWS
from jwt.exceptions import PyJWTError
from pydantic import BaseModel, Field, model_validator

from beamkeep.kernel import Record
from beamkeep.runtime.tokens import (
    IdentityProviderUnavailableError,
    InvalidTokenError,
    VerifiedPrincipal,
)

from .vouching import (
    LEEWAY,
    LONGEST_ANSWER,
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

LONGEST_LIFETIME = 24 * 3600.0
LONGEST_KEPT = 300.0
KEYS_FRESH = 600.0
KEYS_STALE = 3600.0
BETWEEN_REFRESHES = 60.0
BETWEEN_REFRESHES_WITHOUT_KEYS = float(IdentityProviderUnavailableError.retry_after or 1)
RSA_BITS = range(2048, 8193)

TOKEN_TYPES = frozenset({"at+jwt", "application/at+jwt"})
REFUSED_HEADERS = frozenset({"b64", "crit", "enc", "jku", "jwk", "x5c", "x5u", "zip"})
KEY_ID = re.compile(r"[\x21-\x7e]{1,256}")
SEGMENT = re.compile(r"[A-Za-z0-9_-]+")

type Algorithm = Literal["RS256", "PS256", "ES256", "EdDSA"]

KEY_SHAPES: Mapping[str, tuple[str, str | None]] = {
    "RS256": ("RSA", None),
    "PS256": ("RSA", None),
    "ES256": ("EC", "P-256"),
    "EdDSA": ("OKP", "Ed25519"),
}
"""For each algorithm the key type, and the curve where the type has curves."""


class JwtProvider(BaseModel):
    """An identity provider that signs its access tokens (RFC 9068)."""

    model_config = PROVIDER_CONFIG

    kind: Literal["jwt"] = "jwt"
    """Tokens are checked here, with the provider's published keys."""

    issuer: Name
    """The `iss` claim of its tokens, compared letter by letter."""

    audiences: Annotated[tuple[Name, ...], Field(min_length=1)]
    """Our resource identifiers; a token must name at least one of them in `aud`."""

    algorithms: Annotated[tuple[Algorithm, ...], Field(min_length=1)] = ("RS256",)
    """The signature algorithms this provider may use."""

    jwks_uri: ProviderAddress | None = None
    """Where the provider publishes its keys: https, or http on loopback."""

    jwks_file: Path | None = None
    """A file with the provider's keys, for a site without a network route to it."""

    @model_validator(mode="after")
    def _one_source_of_keys(self) -> Self:
        if (self.jwks_uri is None) == (self.jwks_file is None):
            raise ValueError("give exactly one of jwks_uri and jwks_file")
        return self


class UnverifiedJwt(Record):
    """A signed token taken apart and not yet believed."""

    text: str
    header: Claims
    claims: Claims


def resembles_jwt(token: str) -> bool:
    """Whether a token opens like a signed or encrypted JSON token, well formed or not."""
    head, dot, _ = token.partition(".")
    # Lenient on purpose: a token that any reader could take for a signed one is not opaque.
    try:
        opening = urlsafe_b64decode(head[: len(head) // 4 * 4])
    except ValueError:
        return False
    return bool(dot) and opening.lstrip().startswith(b"{")


def read_jwt(token: str) -> UnverifiedJwt | None:
    """Take a signed token apart, or nothing when it is not exactly one."""
    segments = token.split(".")
    if len(segments) != 3:
        return None
    header, claims, signature = map(_decode, segments)
    if header is None or claims is None or signature is None:
        return None
    header, claims = read_object(header), read_object(claims)
    if header is None or claims is None:
        return None
    return UnverifiedJwt(token, header, claims)


def _decode(segment: str) -> bytes | None:
    if len(segment) % 4 == 1 or not SEGMENT.fullmatch(segment):
        return None
    decoded = urlsafe_b64decode(segment + "=" * (-len(segment) % 4))
    # Unused low bits would give one signature many spellings.
    return decoded if urlsafe_b64encode(decoded).rstrip(b"=") == segment.encode() else None


class JwtVerifier:
    """Checks the signed tokens of one issuer."""

    def __init__(
        self,
        provider: JwtProvider,
        http: httpx2.AsyncClient,
        clock: Callable[[], float],
        stopwatch: Callable[[], float],
    ) -> None:
        self._provider = provider
        self._clock, self._stopwatch = clock, stopwatch
        self._keys = IssuerKeys(_source_of_keys(provider, http), provider.algorithms, stopwatch)
        self._jws = PyJWS(provider.algorithms)

    async def verify(self, jwt: UnverifiedJwt) -> VerifiedToken:
        """Say whose token it is and how long that may be kept, or refuse it."""
        # 1. What can be judged without a key: a hopeless token costs no fetch.
        algorithm, kid = self._check_header(jwt.header)
        principal = self._check_claims(jwt.claims)
        # 2. The key, from this issuer's set only.
        key, trusted_until = await self._keys.find(kid, algorithm)
        # 3. The signature, over the same text the claims were read from.
        if not self._is_signed(jwt, key, algorithm):
            raise InvalidTokenError
        return VerifiedToken(principal, min(self._stopwatch() + LONGEST_KEPT, trusted_until))

    async def missing(self) -> str | None:
        """Say in words why no token could be checked now; nothing where some could."""
        if await self._keys.at_hand():
            return None
        provider = self._provider
        where = provider.jwks_uri or provider.jwks_file
        wanted = ", ".join(provider.algorithms)
        return (
            f"The keys of {provider.issuer} could not be had from {where}."
            f" It must hold a key set that we may read, with a key for {wanted}."
        )

    async def fault(self) -> str | None:
        """Say in words what is wrong with the provider, having asked it; else nothing."""
        return await self.missing()

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
        subject = name(claims.get("sub"))
        expires, issued = moment(claims.get("exp")), moment(claims.get("iat"))
        begins = moment(claims.get("nbf", issued))
        if (
            claims.get("iss") != self._provider.issuer
            or not names_one_of(claims.get("aud"), self._provider.audiences)
            or subject is None
            or name(claims.get("client_id")) is None
            or name(claims.get("jti")) is None
            or expires is None
            or issued is None
            or begins is None
            or expires + LEEWAY <= now
            or max(issued, begins) - LEEWAY > now
            or expires - issued > LONGEST_LIFETIME
            # A token bound to its sender's key is worth nothing unless that binding is checked.
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


class IssuerKeys:
    """The keys of one issuer, fetched on need, by one fetch at a time, never in a flood."""

    def __init__(
        self,
        fetch: Callable[[], Awaitable[bytes | None]],
        algorithms: tuple[str, ...],
        stopwatch: Callable[[], float],
    ) -> None:
        self._fetch = fetch
        self._algorithms = algorithms
        self._stopwatch = stopwatch
        self._keys: dict[tuple[str, str], PyJWK] = {}
        self._fetched_at = float("-inf")
        self._tried_at = float("-inf")
        self._refreshing: asyncio.Task[None] | None = None

    async def find(self, kid: str, algorithm: str) -> tuple[PyJWK, float]:
        """The key, and the moment until which a check made with it may be kept."""
        wanted = (kid, algorithm)
        if wanted not in self._keys or self._age() >= KEYS_FRESH:
            await self._refresh()
        if self._age() >= KEYS_STALE:
            raise IdentityProviderUnavailableError
        if wanted in self._keys:
            return self._keys[wanted], self._trusted_until()
        if self._tried_at > self._fetched_at:
            # The issuer may have published this key since; only it can tell.
            raise IdentityProviderUnavailableError
        raise InvalidTokenError

    async def at_hand(self) -> bool:
        """Whether there are keys to check with, having asked for them where there are none."""
        if not self._usable():
            await self._refresh()
        return self._usable()

    def _usable(self) -> bool:
        return bool(self._keys) and self._age() < KEYS_STALE

    def _trusted_until(self) -> float:
        if self._age() < KEYS_FRESH:
            return self._fetched_at + KEYS_FRESH
        return min(self._tried_at + BETWEEN_REFRESHES, self._fetched_at + KEYS_STALE)

    def _age(self) -> float:
        return self._stopwatch() - self._fetched_at

    async def _refresh(self) -> None:
        if self._refreshing is None:
            usable = self._age() < KEYS_STALE
            pause = BETWEEN_REFRESHES if usable else BETWEEN_REFRESHES_WITHOUT_KEYS
            if self._stopwatch() < self._tried_at + pause:
                return
            self._tried_at = self._stopwatch()
            self._refreshing = asyncio.create_task(self._replace_keys(self._tried_at))
        # A caller that gives up must not take the fetch away from the others.
        await asyncio.shield(self._refreshing)

    async def _replace_keys(self, asked_at: float) -> None:
        try:
            keys = read_keys(await self._fetch() or b"", self._algorithms)
            if keys is not None:
                self._keys, self._fetched_at = keys, asked_at
        finally:
            self._refreshing = None


def _source_of_keys(
    provider: JwtProvider, http: httpx2.AsyncClient
) -> Callable[[], Awaitable[bytes | None]]:
    async def from_address() -> bytes | None:
        answer = await answer_of(http, "GET", provider.jwks_uri or "")
        return answer[1] if answer is not None and answer[0] == 200 else None

    async def from_file() -> bytes | None:
        return await asyncio.to_thread(_read_file, provider.jwks_file or Path())

    return from_address if provider.jwks_file is None else from_file


def _read_file(path: Path) -> bytes | None:
    try:
        with path.open("rb") as file:
            return file.read(LONGEST_ANSWER)
    except OSError:
        return None


def read_keys(text: bytes, algorithms: tuple[str, ...]) -> dict[tuple[str, str], PyJWK] | None:
    """The usable keys of a key set by id and algorithm, or nothing when it is no key set."""
    document = read_object(text)
    listed = None if document is None else document.get("keys")
    if not isinstance(listed, list):
        return None
    members = [
        cast("dict[str, Any]", member)
        for member in cast("list[object]", listed)
        if isinstance(member, dict)
    ]
    found = {
        (cast("str", member["kid"]), algorithm): _key(member, algorithm)
        for member in members
        for algorithm in algorithms
        if _fits(member, algorithm)
    }
    return {wanted: key for wanted, key in found.items() if key is not None}


def _fits(member: Claims, algorithm: str) -> bool:
    kid, operations = member.get("kid"), member.get("key_ops", ["verify"])
    kty, crv = KEY_SHAPES[algorithm]
    return (
        isinstance(kid, str)
        and member.get("kty") == kty
        and member.get("crv") == crv
        and member.get("use", "sig") == "sig"
        and member.get("alg", algorithm) == algorithm
        and isinstance(operations, list)
        and "verify" in operations
        # A private key that lies open signs for everybody.
        and "d" not in member
    )


def _key(member: dict[str, Any], algorithm: str) -> PyJWK | None:
    try:
        key = PyJWK(member, algorithm)
    except (PyJWTError, ValueError, TypeError, KeyError):
        return None
    if isinstance(key.key, RSAPublicKey) and key.key.key_size not in RSA_BITS:
        return None
    return key
