"""Private keys in files that only the user of the service can read."""

import asyncio
import re
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from beamkeep.adapters.files.private_files import OpenKeyFileError, read_private
from beamkeep.contexts.federation.signatures import SignerUnavailableError

NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}")


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
            text = read_private(self._directory / secret_ref, follows_links=False)
        except OpenKeyFileError as error:
            raise SignerUnavailableError(str(error)) from None
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
