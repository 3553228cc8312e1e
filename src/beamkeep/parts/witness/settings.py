"""The settings of the witness."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Self
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    model_validator,
)

from beamkeep.parts.settings import CoreSettings

from .keys import SigningKey, signing_key
from .trees.notes import InvalidNoteError, VerifierKey, read_key


def _witness_address(url: str) -> str:
    parts = urlsplit(url)
    if not parts.hostname or parts.scheme not in {"http", "https"} or parts.username:
        raise ValueError("must be like https://witness.example.org/add-checkpoint")
    return url


class WitnessSettings(CoreSettings):
    """The settings of the witness."""

    witness_key_file: Path | None = None
    """File with the private key that signs checkpoints of the log, made by `beamkeep witness-key`.
    What was signed last is remembered in a file next to it. Default: no checkpoints."""
    witness_next_key_file: Path | None = None
    """File with a second key, which also signs each checkpoint until it replaces the first."""
    witness_send_file: Path | None = None
    """File to which checkpoints are appended. It should be where the owner of the database cannot
    change it."""
    witness_send_url: Annotated[str, AfterValidator(_witness_address)] | None = None
    """Address to which checkpoints are posted. If it ends with /add-checkpoint, a witness there
    co-signs them, as C2SP tlog-witness describes."""
    witness_origins: Mapping[str, tuple[str, ...]] = {}
    """Logs of other deployments whose checkpoints this one co-signs, as a JSON object from origin
    to a list of verifier keys. Requires WITNESS_KEY_FILE. Default: none."""

    @model_validator(mode="after")
    def witness_can_sign(self) -> Self:
        """Raise ValueError when a key of the witness cannot be read."""
        if self.witness_key_file is None and (self.witness_next_key_file or self.witness_origins):
            raise ValueError("Set WITNESS_KEY_FILE too: checkpoints are signed with its key.")
        if self.witness_key_file and not self.witness_database_url:
            raise ValueError(
                "Set WITNESS_DATABASE_URL to the address of the database with the role bk_witness:"
                " only this role can write what the witness has signed."
            )
        try:
            self.witness_keys()
            _ = self.cosigned_origins
        except InvalidNoteError:
            raise ValueError("WITNESS_ORIGINS has a verifier key that cannot be read.") from None
        return self

    @property
    def witness_url(self) -> str:
        """The address of the database for the witness."""
        assert self.witness_database_url is not None, "a key requires it"  # noqa: S101
        return self.witness_database_url.get_secret_value()

    def witness_keys(self) -> list[SigningKey]:
        """Return the keys that sign checkpoints, if there are any."""
        paths = [self.witness_key_file, self.witness_next_key_file]
        return [signing_key(path) for path in paths if path]

    @property
    def cosigned_origins(self) -> dict[str, list[VerifierKey]]:
        """The origins whose checkpoints are co-signed, with their keys."""
        return {
            origin: [read_key(key) for key in keys] for origin, keys in self.witness_origins.items()
        }

    @property
    def witness_origin(self) -> str:
        """The beginning of the origins of this deployment's trees."""
        return f"{urlsplit(self.base_url).hostname}/{self.self_facility_code}"
