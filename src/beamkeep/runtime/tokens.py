"""The token-verifier seam: from a bearer token to an issuer and a subject."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import ClassVar, Protocol

from beamkeep.kernel import Record, Refusal


class TokenRefusal(Refusal):
    """The bearer token does not open this service."""

    status = 401
    challenge: ClassVar[str | None] = "invalid_token"
    """The RFC 6750 error code of the challenge; none when no credentials were sent."""


class MissingTokenError(TokenRefusal):
    """This service answers only to a bearer token."""

    challenge = None


class InvalidTokenError(TokenRefusal):
    """The access token is malformed, expired, revoked or not meant for this service."""


class MalformedCredentialsError(TokenRefusal):
    """The Authorization header is not one `Bearer <token>`."""

    status = 400
    challenge = "invalid_request"


class IdentityProviderUnavailableError(Refusal, status=503, retry_after=2):
    """The identity provider that must vouch for this token does not answer."""


class VerifiedPrincipal(Record):
    """The owner of a valid token, kept for one request and never logged."""

    issuer: str
    subject: str
    expires_at: float
    """Seconds since 1970."""


type Asking = Callable[[], AbstractContextManager[object]]
"""Entered before a question goes to an identity provider; refuses where there are too many."""


class TokenVerifier(Protocol):
    """Checks a bearer token and says whose it is, or raises a `TokenRefusal`."""

    async def verify(self, token: str, asking: Asking = nullcontext) -> VerifiedPrincipal: ...
