"""Private keys in a hardware security module or smart card, reached by PKCS#11."""

import asyncio
from pathlib import Path
from threading import Lock

import pkcs11
from pkcs11.exceptions import MultipleObjectsReturned, NoSuchKey, PKCS11Error
from pkcs11.types import SignMixin

from beamkeep.contexts.federation.signatures import SignerUnavailableError

LONGEST_SECONDS = 10.0


class Pkcs11Signer:
    """Signs with the Ed25519 key of a token whose label a reference is."""

    def __init__(self, module: Path, token_label: str, pin: str) -> None:
        self._module, self._token_label, self._pin = module, token_label, pin
        self._lock = Lock()

    async def sign(self, secret_ref: str, message: bytes) -> bytes | None:
        """Return the signature over a message, or None if the token has no such key."""
        try:
            async with asyncio.timeout(LONGEST_SECONDS):
                return await asyncio.to_thread(self._sign, secret_ref, message)
        except TimeoutError:
            raise SignerUnavailableError("The PKCS#11 token does not answer.") from None

    def _sign(self, secret_ref: str, message: bytes) -> bytes | None:
        # A login holds for the whole process, so that two sessions at once would end each other's.
        with self._lock:
            try:
                token = pkcs11.lib(str(self._module)).get_token(token_label=self._token_label)
                with token.open(user_pin=self._pin) as session:
                    key = session.get_key(
                        object_class=pkcs11.ObjectClass.PRIVATE_KEY, label=secret_ref
                    )
                    if not isinstance(key, SignMixin):
                        raise SignerUnavailableError("The key of the token does not sign.")
                    return key.sign(message, mechanism=pkcs11.Mechanism.EDDSA)
            except NoSuchKey:
                return None
            except MultipleObjectsReturned:
                raise SignerUnavailableError("Two keys of the token have this label.") from None
            except (PKCS11Error, RuntimeError, OSError) as error:
                detail = f"The PKCS#11 token failed with {type(error).__name__}."
                raise SignerUnavailableError(detail) from None
