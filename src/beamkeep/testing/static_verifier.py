"""A token verifier for tests: the token is the subject, if it is one of those it knows."""

from contextlib import nullcontext

from beamkeep.runtime.tokens import Asking, InvalidTokenError, VerifiedPrincipal

from .tokens import ISSUER


class StaticVerifier:
    """Vouches for a fixed set of subjects."""

    def __init__(self, *subjects: str) -> None:
        self._subjects = frozenset(subjects)

    async def verify(self, token: str, asking: Asking = nullcontext) -> VerifiedPrincipal:
        """The principal whose token this is."""
        if token not in self._subjects:
            raise InvalidTokenError
        return VerifiedPrincipal(ISSUER, token, float("inf"))
