"""Private keys in files that only the user of the service can read."""

import asyncio
import os
import re
import stat
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from beamkeep.contexts.federation.signatures import SignerUnavailableError

NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}")
MOST_BYTES = 4096


class KeyFileSigner:
    """Signs with the Ed25519 key in the file of a directory that a reference names."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    async def sign(self, secret_ref: str, message: bytes) -> bytes | None:
        """Return the signature over a message, or None if there is no such file."""
        return await asyncio.to_thread(self._sign, secret_ref, message)

    def _sign(self, secret_ref: str, message: bytes) -> bytes | None:
        if not NAME.fullmatch(secret_ref):
            return None
        try:
            text = self._read(secret_ref)
        except FileNotFoundError:
            if self._directory.is_dir():
                return None
            raise SignerUnavailableError("SIGNING_KEY_DIRECTORY does not exist.") from None
        except OSError as error:
            raise SignerUnavailableError(
                f"The key file cannot be read: {error.strerror}."
            ) from None
        try:
            key = load_pem_private_key(text, password=None)
        except (ValueError, TypeError):
            key = None
        if not isinstance(key, Ed25519PrivateKey):
            raise SignerUnavailableError("The key file has no Ed25519 key as unencrypted PEM.")
        return key.sign(message)

    def _read(self, name: str) -> bytes:
        # Opened first and judged by its descriptor: the file cannot be exchanged in between.
        descriptor = os.open(self._directory / name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with os.fdopen(descriptor, "rb") as file:
            found = os.fstat(descriptor)
            is_own = found.st_uid == os.geteuid() and stat.S_IMODE(found.st_mode) & 0o177 == 0
            if not stat.S_ISREG(found.st_mode) or not is_own:
                raise SignerUnavailableError(
                    "The key must be in a regular file with mode 0600 of the service's own user."
                )
            return file.read(MOST_BYTES)
