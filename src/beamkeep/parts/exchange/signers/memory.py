"""Private keys in memory, for tests and demonstrations."""

from collections.abc import Mapping

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from beamkeep.contexts.federation.signatures import SignerUnavailableError


class MemorySigner:
    """Signs with keys that it was given."""

    def __init__(self, keys: Mapping[str, Ed25519PrivateKey]) -> None:
        self._keys, self.is_away = dict(keys), False

    async def sign(self, secret_ref: str, message: bytes) -> bytes | None:
        """Return the signature over a message, or None if there is no such key."""
        if self.is_away:
            raise SignerUnavailableError("It is switched off.")
        key = self._keys.get(secret_ref)
        return key.sign(message) if key else None
