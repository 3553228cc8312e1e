"""An identity provider behind a mocked transport, and our verifier of its tokens."""

import anyio
import httpx2
import pytest

from beamkeep.adapters.tokens.providers import (
    IdentityProviders,
    IntrospectionProvider,
    JwtProvider,
)
from beamkeep.runtime.tokens import (
    IdentityProviderUnavailableError,
    InvalidTokenError,
    VerifiedPrincipal,
)
from beamkeep.testing.tokens import NOW, Clock

OPAQUE = "opaque"


class ProviderHarness:
    """A provider that answers as it is set, and our verifier that asks it, on one clock."""

    def __init__(
        self, provider: JwtProvider | IntrospectionProvider, asked_by_default: str | None = None
    ) -> None:
        self.clock, self.set_back = Clock(), 0.0
        self.answer: httpx2.Response | Exception | None = None
        self.gate: anyio.Event | None = None
        self.requests: list[httpx2.Request] = []
        self.http = httpx2.AsyncClient(transport=httpx2.MockTransport(self._serve))
        self.providers = IdentityProviders(
            [provider], asked_by_default, self.http, self.wall_clock, self.clock
        )

    async def _serve(self, request: httpx2.Request) -> httpx2.Response:
        self.requests.append(request)
        if self.gate is not None:
            await self.gate.wait()
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer or httpx2.Response(200, json=self.usual_answer())

    def usual_answer(self) -> dict[str, object]:
        """What the provider answers unless it is set otherwise."""
        raise NotImplementedError

    def wall_clock(self) -> float:
        return self.clock.now - self.set_back

    def after(self, seconds: float) -> None:
        self.clock.now = NOW + seconds

    async def accepts(self, token: str = OPAQUE) -> VerifiedPrincipal:
        return await self.providers.verify(token)

    async def refuses(self, token: str = OPAQUE) -> None:
        with pytest.raises(InvalidTokenError):
            await self.providers.verify(token)

    async def cannot_tell(self, token: str = OPAQUE) -> None:
        with pytest.raises(IdentityProviderUnavailableError):
            await self.providers.verify(token)
