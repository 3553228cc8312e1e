"""The settings of the exchange with other facilities."""

from pathlib import Path
from typing import Annotated, Self

from annotated_types import Ge, Le
from pydantic import (
    SecretStr,
    model_validator,
)

from beamkeep.parts.settings import CoreSettings, require_whole

from .signers.signing import Pkcs11Token


class ExchangeSettings(CoreSettings):
    """The settings of the exchange with other facilities."""

    signing_key_directory: Path | None = None
    """Directory of the private keys that sign for the own site, one Ed25519 key for each file, as
    unencrypted PEM with mode 0600. The `secret_ref` of a credential is the name of its file."""
    signing_pkcs11_module: Path | None = None
    """PKCS#11 library of the token that signs for the own site, such as
    /usr/lib/softhsm/libsofthsm2.so. The `secret_ref` of a credential is the label of its key.
    Required, with the two settings below, to sign with a token."""
    signing_pkcs11_token: str | None = None
    """Label of the PKCS#11 token."""
    signing_pkcs11_pin: SecretStr | None = None
    """PIN of the user of the PKCS#11 token."""
    import_max_age_days: Annotated[int, Ge(1), Le(365)] = 7
    """Days for which an artifact that a peer has exported can be imported."""

    @model_validator(mode="after")
    def signer_is_whole(self) -> Self:
        """Raise ValueError when the token that signs is named in part, or with a directory."""
        parts = {
            "SIGNING_PKCS11_MODULE": self.signing_pkcs11_module,
            "SIGNING_PKCS11_TOKEN": self.signing_pkcs11_token,
            "SIGNING_PKCS11_PIN": self.signing_pkcs11_pin,
        }
        require_whole(parts, "a token is reached with all three.")
        if any(parts.values()) and self.signing_key_directory:
            raise ValueError(
                "SIGNING_KEY_DIRECTORY and SIGNING_PKCS11_MODULE are both set. Unset one of them."
            )
        return self

    @property
    def signing_token(self) -> Pkcs11Token | None:
        """The token that signs for the own site, if there is one."""
        module, label, pin = (
            self.signing_pkcs11_module,
            self.signing_pkcs11_token,
            self.signing_pkcs11_pin,
        )
        if not module or not label or not pin:
            return None
        return Pkcs11Token(module, label, pin=pin.get_secret_value())
