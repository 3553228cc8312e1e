"""Signatures: what a key of a facility signs, and how keys and signatures are written."""

import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Mapping
from enum import StrEnum
from hashlib import sha256
from math import isfinite
from typing import Annotated, NamedTuple, Protocol, cast

from annotated_types import MaxLen, MinLen
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from beamkeep.kernel import Outcome, Outside, Record, Refusal
from beamkeep.schemas import Json, JsonObject, canonical_text

KEY_BYTES, SIGNATURE_BYTES = 32, 64
MOST_BYTES, MOST_LEVELS, LARGEST_INTEGER = 512 * 1024, 32, 2**53 - 1
_ALPHABET = re.compile(r"[A-Za-z0-9_-]*")
_SURROGATE = re.compile("[\ud800-\udfff]")

SMALL_ORDER = frozenset(
    bytes.fromhex(first + middle * 30 + last)
    for first, middle, last in (
        *(("00", "00", last) for last in ("00", "80")),
        *(("01", "00", last) for last in ("00", "80")),
        *((first, "ff", last) for first in ("ec", "ed", "ee") for last in ("7f", "ff")),
    )
) | frozenset(
    bytes.fromhex(text + last)
    for text, lasts in (
        ("26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc", ("05", "85")),
        ("c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03", ("7a", "fa")),
    )
    for last in lasts
)
"""The 14 encodings of points of small order. With such a key, one signature fits every message."""

type PublicKeyText = Annotated[str, MinLen(1), MaxLen(100)]
type SignatureText = Annotated[str, MinLen(1), MaxLen(200)]


class SignaturePrefix(StrEnum):
    """What a signature is for: a signature under one prefix does not verify under another."""

    ARTIFACT = "beamkeep/artifact/v1"
    SEAL_POINTER = "beamkeep/seal-pointer/v1"
    SEAL_ROTATION = "beamkeep/seal-rotation/v1"
    KEY_CHECK = "beamkeep/key-check/v1"


class SignedContent(NamedTuple):
    """What a signature covers."""

    prefix: SignaturePrefix
    signed: Mapping[str, Json]


class SignMessage(Record):
    """A message to be signed by the private key that the signer knows by this reference."""

    secret_ref: str
    message: bytes


class Signer(Protocol):
    """Signs with private keys that the service itself never sees."""

    async def sign(self, secret_ref: str, message: bytes) -> bytes | None:
        """Return the signature over a message, or None if there is no such key.

        Raise SignerUnavailableError when the keys cannot be reached or must not be used.
        """
        ...


class SignerUnavailableError(Refusal, status=503, retry_after=5):
    """The signer cannot sign; nothing was written. Check the signer of the deployment."""


def message_of(prefix: SignaturePrefix, signed: Mapping[str, Json]) -> bytes:
    """Return the bytes that a signature covers: the prefix, a line feed and canonical JSON."""
    return f"{prefix}\n{canonical_text(dict(signed))}".encode()


def verifies(
    public_key: str, signature: str, prefix: SignaturePrefix, signed: Mapping[str, Json]
) -> bool:
    """Return whether a signature over this JSON was made by the private key of a public key."""
    key, made = decoded_key(public_key), decoded_signature(signature)
    if key is None or made is None:
        return False
    try:
        Ed25519PublicKey.from_public_bytes(key).verify(made, message_of(prefix, signed))
    except (InvalidSignature, ValueError):
        return False
    return True


def signed_outside(
    secret_ref: str,
    public_key: str,
    content: SignedContent,
    then: Callable[[str], Outcome],
    *,
    refusal: type[Refusal] = SignerUnavailableError,
) -> Outside[bytes | None]:
    """Return the step in which the signer signs; `then` gets only a signature that verifies."""

    def verified(signature: bytes | None) -> Outcome:
        text = encoded(signature or b"")
        if not verifies(public_key, text, *content):
            raise refusal("The signer has no key under this name, or one with another public key.")
        return then(text)

    return Outside(SignMessage(secret_ref, message_of(*content)), verified)


def decoded_key(text: str) -> bytes | None:
    """Return a public key as bytes, or None if the text is not one that may be used."""
    key = _decoded(text, KEY_BYTES)
    return None if key in SMALL_ORDER else key


def decoded_signature(text: str) -> bytes | None:
    """Return a signature as bytes, or None if the text is not one."""
    return _decoded(text, SIGNATURE_BYTES)


def encoded(value: bytes) -> str:
    """Return bytes as base64url without padding."""
    return urlsafe_b64encode(value).rstrip(b"=").decode()


def key_fingerprint(public_key: str) -> str:
    """Return the SHA-256 of a public key, in hexadecimal."""
    return sha256(decoded_key(public_key) or b"").hexdigest()


def require_signable(value: object) -> JsonObject:
    """Return a JSON object that every implementation canonicalises alike.

    Raise ValueError in words when the object is too large or too deep, has a text that is not
    Unicode, or has a number that other readers would round.
    """
    if not isinstance(value, dict):
        raise ValueError("the signed value must be a JSON object")
    level: list[object] = [value]
    for _ in range(MOST_LEVELS):
        level = [part for each in level for part in _parts(each)]
        if not level:
            break
    else:
        raise ValueError(f"the signed JSON is over {MOST_LEVELS} levels deep")
    checked = cast("JsonObject", value)
    if len(canonical_text(checked).encode()) > MOST_BYTES:
        raise ValueError(f"the signed JSON has more than {MOST_BYTES:,} bytes")
    return checked


def _parts(value: object) -> list[object]:
    """Return what a container has; raise ValueError when a scalar cannot be signed."""
    match value:
        case dict():
            held = cast("JsonObject", value)
            return [*held.keys(), *held.values()]
        case list():
            return cast("list[object]", value)
        case str() if _SURROGATE.search(value):
            raise ValueError("a text in the signed JSON is not Unicode")
        case int() if abs(value) > LARGEST_INTEGER:
            raise ValueError(f"an integer in the signed JSON is beyond {LARGEST_INTEGER:,}")
        case float() if not isfinite(value):
            raise ValueError("a number in the signed JSON is not finite")
        case None | bool() | str() | int() | float():
            return []
        case _:
            raise ValueError(f"{type(value).__name__} is not a type of JSON")


def _decoded(text: str, length: int) -> bytes | None:
    """Return the bytes of a text; None if it has another length, or is one of several texts."""
    # The last character leaves bits open, so that several texts decode to the same bytes.
    if not _ALPHABET.fullmatch(text) or len(text) != (length * 8 + 5) // 6:
        return None
    value = urlsafe_b64decode(text + "=" * (-len(text) % 4))
    return value if encoded(value) == text else None
