"""The token-verifier seam: from a bearer token to an issuer and a subject."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from datetime import UTC, datetime
from typing import ClassVar, Protocol, Self

from beamkeep.kernel import Record, Refusal


class TokenFault(Record):
    """Why a token is not accepted: for the log and `beamkeep check`, never for the caller."""

    reason: str
    """The label of the metric."""
    part: str
    """The claim, the header member or the setting that is wrong."""
    expected: str
    found: str
    remedy: str


def token_fault(reason: str, part: str, expected: str, found: str, remedy: str) -> TokenFault:
    """Return the cause of a refusal."""
    return TokenFault(reason=reason, part=part, expected=expected, found=found, remedy=remedy)


class Unverified(Refusal):
    """The bearer token could not be verified."""

    fault = token_fault(
        "invalid", "token", "a token of a known provider", "another one", "Obtain a new token."
    )

    def because(self, fault: TokenFault) -> Self:
        """Return this refusal with its cause."""
        self.fault = fault
        return self


class TokenRefusal(Unverified):
    """The bearer token does not open this service."""

    status = 401
    challenge: ClassVar[str | None] = "invalid_token"
    """The RFC 6750 error code of the challenge; none when no credentials were sent."""


class MissingTokenError(TokenRefusal):
    """This service answers only to a bearer token."""

    challenge = None
    fault = token_fault(
        "missing", "Authorization", "Bearer and a token", "nothing", "Send an access token."
    )


class InvalidTokenError(TokenRefusal):
    """The access token is malformed, expired, revoked or not meant for this service."""


class UnregisteredLoginError(InvalidTokenError):
    """The access token is valid, but its login is not registered here. Ask an administrator."""

    fault = token_fault(
        "unregistered", "login", "a bound login", "none", "Register an actor with this login."
    )


class MalformedCredentialsError(TokenRefusal):
    """The Authorization header is not one `Bearer <token>`."""

    status = 400
    challenge = "invalid_request"
    fault = token_fault(
        "malformed_credentials", "Authorization", "one Bearer token", "else", "Send it unquoted."
    )


class IdentityProviderUnavailableError(Unverified, status=503, retry_after=2):
    """The identity provider that must vouch for this token does not answer."""


class VerifiedPrincipal(Record):
    """The owner of a valid token, kept for one request and never logged."""

    issuer: str
    subject: str
    expires_at: float
    """Seconds since 1970."""
    delegated: bool = False
    """Whether somebody else acts for the owner: the claim `act` of RFC 8693."""

    @property
    def ends_at(self) -> datetime | None:
        """When the token ends; None after the year 9999."""
        try:
            return datetime.fromtimestamp(self.expires_at, UTC)
        except (OverflowError, ValueError, OSError):
            return None


type Asking = Callable[[], AbstractContextManager[object]]
"""Entered before a question goes to an identity provider; refuses where there are too many."""


class TokenVerifier(Protocol):
    """Checks a bearer token and says whose it is, or raises a `TokenRefusal`."""

    async def verify(self, token: str, asking: Asking = nullcontext) -> VerifiedPrincipal: ...
