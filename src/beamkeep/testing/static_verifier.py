"""A token verifier for tests: a token is the name of a known subject."""

from contextlib import nullcontext

from beamkeep.runtime.tokens import Asking, InvalidTokenError, VerifiedPrincipal

from .installation import ISSUER


class StaticVerifier:
    """Accepts the tokens of a fixed set of subjects."""

    def __init__(self, *subjects: str) -> None:
        self._subjects = frozenset(subjects)

    async def verify(self, token: str, asking: Asking = nullcontext) -> VerifiedPrincipal:
        """Return the principal of a token."""
        if token not in self._subjects:
            raise InvalidTokenError
        return VerifiedPrincipal(ISSUER, token, float("inf"))
