"""The step outside the service by which a rule has a message signed."""

from pathlib import Path
from typing import NamedTuple

import structlog

from beamkeep.adapters.extras import MissingExtraError
from beamkeep.contexts.federation.signatures import Signer, SignerUnavailableError, SignMessage

from .key_files import KeyFileSigner

log: structlog.stdlib.BoundLogger = structlog.get_logger()


class Pkcs11Token(NamedTuple):
    """A token that signs, and the library by which it is reached."""

    module: Path
    label: str
    pin: str


def signer_of(directory: Path | None, token: Pkcs11Token | None) -> Signer | None:
    """Return the signer of a deployment. Raise MissingExtraError when its library is missing."""
    if token is None:
        return KeyFileSigner(directory) if directory else None
    try:
        from .pkcs11_token import Pkcs11Signer  # noqa: PLC0415
    except ImportError:
        raise MissingExtraError("SIGNING_PKCS11_MODULE is set. Install beamkeep[pkcs11].") from None
    return Pkcs11Signer(*token)


class SigningStep:
    """Has the signer of the deployment sign a message."""

    def __init__(self, signer: Signer | None) -> None:
        self._signer = signer

    async def __call__(self, request: SignMessage) -> bytes | None:
        """Return the signature, or None if there is no such key."""
        if self._signer is None:
            raise SignerUnavailableError(
                "SIGNING_KEY_DIRECTORY and SIGNING_PKCS11_MODULE are unset."
            )
        try:
            return await self._signer.sign(request.secret_ref, request.message)
        except SignerUnavailableError as error:
            log.warning("signer unavailable", secret_ref=request.secret_ref, reason=str(error))
            raise
