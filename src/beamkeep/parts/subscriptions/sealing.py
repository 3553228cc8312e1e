"""Secrets of subscriptions, encrypted with AES-256-GCM under the key of the deployment."""

import os
from base64 import b64decode, b64encode
from pathlib import Path
from uuid import UUID, uuid4

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from beamkeep.adapters.files.private_files import read_private
from beamkeep.contexts.seams.receivers import NewSecret

KEY_BYTES, NONCE_BYTES, SECRET_BYTES = 32, 12, 32
PREFIX = "whsec_"
"""How Standard Webhooks mark a signing secret."""


class AesSecretKeeper:
    """Seals texts for one subscription; the id of the subscription is authenticated with them."""

    def __init__(self, key: bytes) -> None:
        if len(key) != KEY_BYTES:
            raise ValueError(f"The key must have {KEY_BYTES} bytes; it has {len(key)}.")
        self._cipher = AESGCM(key)

    def new(self) -> NewSecret:
        """Return a new random secret."""
        return NewSecret(uuid4(), PREFIX + b64encode(os.urandom(SECRET_BYTES)).decode())

    def seal(self, text: str, subscription_id: UUID) -> str:
        """Return a text in encrypted form."""
        nonce = os.urandom(NONCE_BYTES)
        sealed = self._cipher.encrypt(nonce, text.encode(), subscription_id.bytes)
        return b64encode(nonce + sealed).decode()

    def open(self, sealed: str, subscription_id: UUID) -> str:
        """Return a sealed text. Raise ValueError when another key or subscription sealed it."""
        both = b64decode(sealed)
        nonce, text = both[:NONCE_BYTES], both[NONCE_BYTES:]
        try:
            return self._cipher.decrypt(nonce, text, subscription_id.bytes).decode()
        except InvalidTag:
            raise ValueError("It was sealed with another key.") from None


def secret_keeper(path: Path) -> AesSecretKeeper:
    """Return a keeper with the key in a file. Raise ValueError when the file has no such key."""
    return AesSecretKeeper(b64decode(read_private(path).strip(), validate=True))
