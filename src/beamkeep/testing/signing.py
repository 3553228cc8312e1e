"""Keys of facilities for tests: private keys that follow from their names."""

from collections.abc import Iterable, Mapping
from hashlib import sha256
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from beamkeep.contexts.federation.signatures import (
    SignaturePrefix,
    SignMessage,
    encoded,
    key_fingerprint,
    message_of,
)
from beamkeep.parts.exchange.signers.memory import MemorySigner
from beamkeep.parts.exchange.signers.signing import SigningStep
from beamkeep.schemas import Json

OWN_KEYS = ("own-1", "own-2", "own-3", "own-4")
"""The keys that the signer of a test deployment has."""


def private_key(name: str) -> Ed25519PrivateKey:
    """Return the private key of a name."""
    return Ed25519PrivateKey.from_private_bytes(sha256(name.encode()).digest())


def public_key(name: str) -> str:
    """Return the public key of a name, as credentials have it."""
    return encoded(private_key(name).public_key().public_bytes_raw())


def signed(name: str, prefix: SignaturePrefix, value: Mapping[str, Json]) -> str:
    """Return the signature of a key over signed JSON."""
    return encoded(private_key(name).sign(message_of(prefix, value)))


def key_check(name: str, facility_code: str, audience: str, purpose: str) -> str:
    """Return the signature by which a key shows that its private half exists."""
    fingerprint = key_fingerprint(public_key(name))
    value = {"facility_code": facility_code, "audience": audience, "purpose": purpose}
    return signed(name, SignaturePrefix.KEY_CHECK, {**value, "credential_key_check": fingerprint})


def sign(request: SignMessage) -> bytes:
    """Return the signature of the key that a request names."""
    return private_key(request.secret_ref).sign(request.message)


SIGNING = SigningStep(MemorySigner({name: private_key(name) for name in OWN_KEYS}))
"""The step by which a test deployment in memory signs."""


def write_keys(directory: Path, names: Iterable[str] = OWN_KEYS) -> Path:
    """Write the keys of a test deployment as a signer reads them, and return their directory."""
    directory.mkdir(mode=0o700)
    for name in names:
        path = directory / name
        path.touch(mode=0o600)
        path.write_bytes(
            private_key(name).private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        )
    return directory
