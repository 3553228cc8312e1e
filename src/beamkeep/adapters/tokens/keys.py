"""The key sets of issuers (RFC 7517): parsed strictly, cached, and refreshed at a bounded rate."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, cast

import httpx2
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from jwt import PyJWK
from jwt.exceptions import PyJWTError

from beamkeep.runtime.tokens import IdentityProviderUnavailableError

from .claims import Claims, parse_claims
from .endpoint import MAX_RESPONSE_BYTES, request
from .faults import refused, shown, unavailable

FRESH_SECONDS = 600.0
USABLE_SECONDS = 3600.0
"""Keys are fetched again when they are no longer fresh, and trusted as long as they are usable."""
REFRESH_INTERVAL = 60.0
REFRESH_INTERVAL_WITHOUT_KEYS = float(IdentityProviderUnavailableError.retry_after or 1)
RSA_BITS = range(2048, 8193)

KEY_SHAPES: Mapping[str, tuple[str, str | None]] = {
    "RS256": ("RSA", None),
    "PS256": ("RSA", None),
    "ES256": ("EC", "P-256"),
    "EdDSA": ("OKP", "Ed25519"),
}
"""The key type of each algorithm, and the curve if the type has curves."""

type KeySource = Callable[[], Awaitable[bytes | None]]
"""Returns the text of a key set, or None when it cannot be read."""


class IssuerKeys:
    """The keys of one issuer, fetched on demand by one request at a time."""

    def __init__(
        self, fetch: KeySource, algorithms: tuple[str, ...], stopwatch: Callable[[], float]
    ) -> None:
        self._fetch = fetch
        self._algorithms = algorithms
        self._stopwatch = stopwatch
        self._keys: dict[tuple[str, str], PyJWK] = {}
        self._fetched_at = float("-inf")
        self._tried_at = float("-inf")
        self._refreshing: asyncio.Task[None] | None = None

    async def find(self, kid: str, algorithm: str) -> tuple[PyJWK, float]:
        """Return the key, and until when a verification with this key may be cached."""
        wanted = (kid, algorithm)
        if wanted not in self._keys or self._age() >= FRESH_SECONDS:
            await self._refresh()
        if wanted in self._keys and self._age() < USABLE_SECONDS:
            return self._keys[wanted], self._trusted_until()
        if self._age() >= USABLE_SECONDS or self._tried_at > self._fetched_at:
            # The last fetch failed, and the issuer may have published this key meanwhile.
            raise unavailable(
                "keys",
                "key set",
                expected="a JSON Web Key Set",
                found="none that can be read",
                remedy="Run `beamkeep check`, which names the address or the file of the keys.",
            )
        published = ", ".join(f"{shown(kid)} ({name})" for kid, name in list(self._keys)[:5])
        raise refused(
            "unknown_key",
            "header kid",
            expected=f"one of the published keys: {published or 'none'}",
            found=f"{shown(kid)} ({algorithm})",
            remedy=(
                "Obtain a new token. If the keys come from a file, copy the current key set of the"
                " provider to it. Otherwise check that jwks_uri belongs to this issuer."
            ),
        )

    async def are_available(self) -> bool:
        """Whether there are usable keys; fetch the keys first when there are none."""
        if not self._usable():
            await self._refresh()
        return self._usable()

    def _usable(self) -> bool:
        return bool(self._keys) and self._age() < USABLE_SECONDS

    def _trusted_until(self) -> float:
        if self._age() < FRESH_SECONDS:
            return self._fetched_at + FRESH_SECONDS
        return min(self._tried_at + REFRESH_INTERVAL, self._fetched_at + USABLE_SECONDS)

    def _age(self) -> float:
        return self._stopwatch() - self._fetched_at

    async def _refresh(self) -> None:
        if self._refreshing is None:
            usable = self._age() < USABLE_SECONDS
            pause = REFRESH_INTERVAL if usable else REFRESH_INTERVAL_WITHOUT_KEYS
            if self._stopwatch() < self._tried_at + pause:
                return
            self._tried_at = self._stopwatch()
            self._refreshing = asyncio.create_task(self._replace_keys(self._tried_at))
        # A call that is cancelled does not cancel the fetch of the other calls.
        await asyncio.shield(self._refreshing)

    async def _replace_keys(self, requested_at: float) -> None:
        try:
            keys = parse_key_set(await self._fetch() or b"", self._algorithms)
            if keys is not None:
                self._keys, self._fetched_at = keys, requested_at
        finally:
            self._refreshing = None


def keys_from_address(http: httpx2.AsyncClient, address: str) -> KeySource:
    """Return a source that fetches the key set from the provider."""

    async def fetch() -> bytes | None:
        response = await request(http, "GET", address)
        return response[1] if response is not None and response[0] == 200 else None

    return fetch


def keys_from_file(path: Path) -> KeySource:
    """Return a source that reads the key set from a file."""

    async def read() -> bytes | None:
        return await asyncio.to_thread(_read_file, path)

    return read


def _read_file(path: Path) -> bytes | None:
    try:
        with path.open("rb") as file:
            return file.read(MAX_RESPONSE_BYTES)
    except OSError:
        return None


def parse_key_set(text: bytes, algorithms: tuple[str, ...]) -> dict[tuple[str, str], PyJWK] | None:
    """Return the usable keys by id and algorithm, or None when the text is not a key set."""
    document = parse_claims(text)
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
        # With a published private key anybody can sign.
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
