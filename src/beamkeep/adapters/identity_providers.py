"""The registry of identity providers: which of them vouches for a token, and for how long."""

import asyncio
import re
from collections import OrderedDict
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
    VerifiedPrincipal,
)

from .introspection_verifier import IntrospectionProvider, IntrospectionVerifier
from .jwt_verifier import JwtProvider, JwtVerifier, read_jwt, resembles_jwt
from .vouching import VerifiedToken

__all__ = ["IdentityProvider", "IdentityProviders", "IntrospectionProvider", "JwtProvider"]

LONGEST_TOKEN = 8 * 1024
MOST_KEPT = 10_000
REFUSAL_KEPT = 5.0
BEARER_TOKEN = re.compile(r"[A-Za-z0-9\-._~+/]+=*")
"""What may follow `Bearer` (RFC 6750 2.1)."""

type IdentityProvider = Annotated[JwtProvider | IntrospectionProvider, Field(discriminator="kind")]


class IdentityProviders:
    """Verifies a token with the one configured provider that may vouch for it."""

    def __init__(
        self,
        providers: Iterable[JwtProvider | IntrospectionProvider],
        default_introspection_issuer: str | None,
        http: httpx2.AsyncClient,
        clock: Callable[[], float],
        stopwatch: Callable[[], float] | None = None,
    ) -> None:
        # What is remembered ages by a stopwatch, which nobody can set back.
        stopwatch = stopwatch or clock
        self._clock, self._stopwatch = clock, stopwatch
        self._verifiers: dict[str, JwtVerifier | IntrospectionVerifier] = {}
        for provider in providers:
            if provider.issuer in self._verifiers:
                raise ValueError(f"two identity providers have the issuer {provider.issuer}")
            self._verifiers[provider.issuer] = (
                JwtVerifier(provider, http, clock, stopwatch)
                if isinstance(provider, JwtProvider)
                else IntrospectionVerifier(provider, http, clock, stopwatch)
            )
        self._default = None
        if default_introspection_issuer is not None:
            default = self._verifiers.get(default_introspection_issuer)
            if not isinstance(default, IntrospectionVerifier):
                raise ValueError(
                    "the default introspection issuer is no configured introspection provider: "
                    f"{default_introspection_issuer}"
                )
            self._default = default
        self._verified = _Kept[VerifiedPrincipal]()
        # Apart, so that a flood of worthless tokens pushes no good one out.
        self._refused = _Kept[bool]()
        self._under_way: dict[bytes, asyncio.Task[VerifiedToken]] = {}

    async def verify(self, token: str, asking: Asking = nullcontext) -> VerifiedPrincipal:
        """Say whose token it is, from memory where that is still good, or refuse it."""
        if len(token) > LONGEST_TOKEN:
            raise InvalidTokenError
        if not token.isascii():
            raise MalformedCredentialsError
        digest = sha256(token.encode()).digest()
        now = self._stopwatch()
        principal = self._verified.get(digest, now)
        if principal is not None and self._clock() < principal.expires_at:
            return principal
        if self._refused.get(digest, now):
            raise InvalidTokenError
        vouched = await self._check(token, digest, asking)
        self._verified.keep(digest, vouched.principal, vouched.keep_until)
        return vouched.principal

    async def missing(self) -> list[str]:
        """Why each provider that could not check a token now could not, in words."""
        found = await asyncio.gather(*(each.missing() for each in self._verifiers.values()))
        return [told for told in found if told]

    async def any_vouches(self) -> bool:
        """Whether the tokens of some provider can be checked now, if there are providers."""
        return not self._verifiers or len(await self.missing()) < len(self._verifiers)

    async def faults(self) -> list[str]:
        """Everything that is wrong with the providers, each of them asked, in words."""
        found = await asyncio.gather(*(each.fault() for each in self._verifiers.values()))
        return [told for told in found if told]

    async def _check(self, token: str, digest: bytes, asking: Asking) -> VerifiedToken:
        if not BEARER_TOKEN.fullmatch(token):
            raise MalformedCredentialsError
        verifier = self._default
        if resembles_jwt(token):
            jwt = read_jwt(token)
            issuer = None if jwt is None else jwt.claims.get("iss")
            verifier = self._verifiers.get(issuer) if isinstance(issuer, str) else None
            if jwt is not None and isinstance(verifier, JwtVerifier):
                return await verifier.verify(jwt)
        if not isinstance(verifier, IntrospectionVerifier):
            raise InvalidTokenError
        # Whoever sends the same token meanwhile waits for the same answer.
        if (question := self._under_way.get(digest)) is None:
            question = asyncio.create_task(self._ask(verifier, token, digest, asking))
            self._under_way[digest] = question
            question.add_done_callback(_looked_at)
        # A caller that gives up must not take the answer away from the others.
        return await asyncio.shield(question)

    async def _ask(
        self, verifier: IntrospectionVerifier, token: str, digest: bytes, asking: Asking
    ) -> VerifiedToken:
        asked_at = self._stopwatch()
        try:
            with asking():
                return await verifier.verify(token)
        except InvalidTokenError:
            self._refused.keep(digest, True, asked_at + REFUSAL_KEPT)
            raise
        finally:
            del self._under_way[digest]


def _looked_at(question: asyncio.Task[VerifiedToken]) -> None:
    """Take note of how a question ended, so that nothing is logged when nobody waits any more."""
    if not question.cancelled():
        question.exception()


class _Kept[Answer]:
    """The answers used last, by the digest of their token, each until its moment."""

    def __init__(self) -> None:
        self._entries: OrderedDict[bytes, tuple[float, Answer]] = OrderedDict()

    def get(self, digest: bytes, now: float) -> Answer | None:
        entry = self._entries.get(digest)
        if entry is None:
            return None
        if entry[0] <= now:
            del self._entries[digest]
            return None
        self._entries.move_to_end(digest)
        return entry[1]

    def keep(self, digest: bytes, answer: Answer, until: float) -> None:
        self._entries[digest] = (until, answer)
        self._entries.move_to_end(digest)
        if len(self._entries) > MOST_KEPT:
            self._entries.popitem(last=False)
