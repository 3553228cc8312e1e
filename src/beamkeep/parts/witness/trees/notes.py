"""Signed notes of C2SP: checkpoints of a tree, their signatures, and co-signatures of witnesses."""

import re
from base64 import b64decode, b64encode
from collections.abc import Iterable, Sequence
from enum import IntEnum
from hashlib import sha256
from typing import NamedTuple

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

SIGNED = "\N{EM DASH} "
COSIGNED = "cosignature/v1\ntime {time}\n"
KEY_NAME = re.compile(r"[^\s+]+")
NOTE = re.compile(r"([^\n]+)\n(0|[1-9][0-9]{0,18})\n([^\n]{44})\n\n((?:[^\n]+\n)+)")
LINE = re.compile(rf"{SIGNED}({KEY_NAME.pattern}) (\S+)\n")
KEY = re.compile(rf"(PRIVATE\+KEY\+)?({KEY_NAME.pattern})\+([0-9a-f]{{8}})\+(\S{{44}})")
# A checkpoint and the signatures under it, or lines that are neither and that nobody can read.
NOTES = re.compile(rf"(?:(?!{SIGNED}).*\n)*(?:{SIGNED}.*\n)+|(?:(?!{SIGNED}).*\n)+")
ID_BYTES, TIME_BYTES = 4, 8


class InvalidNoteError(Exception):
    """The text is not a signed checkpoint or a key."""


class Form(IntEnum):
    """What a key signs: a note, or a note together with a time."""

    NOTE = 1
    COSIGNATURE = 4


class VerifierKey(NamedTuple):
    """A public key under a name."""

    name: str
    form: Form
    public: bytes

    @property
    def id(self) -> bytes:
        text = f"{self.name}\n".encode() + bytes([self.form]) + self.public
        return sha256(text).digest()[:ID_BYTES]

    @property
    def text(self) -> str:
        """Return the key as signed notes write it."""
        return f"{self.name}+{self.id.hex()}+{_text(bytes([self.form]) + self.public)}"

    def verifies(self, signature: bytes, message: str) -> bool:
        """Return whether this key has signed a message."""
        try:
            Ed25519PublicKey.from_public_bytes(self.public).verify(signature, message.encode())
        except InvalidSignature:
            return False
        return True


class NoteSigner(NamedTuple):
    """A private key under the name that others know its public key by."""

    name: str
    private: Ed25519PrivateKey

    def key(self, form: Form = Form.NOTE) -> VerifierKey:
        """Return the public key for one form."""
        return VerifierKey(self.name, form, self.private.public_key().public_bytes_raw())

    @property
    def secret_text(self) -> str:
        """Return the private key as signed notes write it."""
        secret = _text(bytes([Form.NOTE]) + self.private.private_bytes_raw())
        return f"PRIVATE+KEY+{self.name}+{self.key().id.hex()}+{secret}"


class Checkpoint(NamedTuple):
    """How large a tree was, and its root."""

    origin: str
    size: int
    root: bytes

    @property
    def text(self) -> str:
        """Return what is signed."""
        return f"{self.origin}\n{self.size}\n{_text(self.root)}\n"

    def signed(self, signers: Iterable[NoteSigner]) -> str:
        """Return the note with a signature of each."""
        message = self.text.encode()
        lines = [_line(signer.key(), signer.private.sign(message)) for signer in signers]
        return f"{self.text}\n{''.join(lines)}"

    def cosigned(self, signer: NoteSigner, time: int) -> str:
        """Return the signature line by which a witness says that it has seen the checkpoint."""
        signature = signer.private.sign((COSIGNED.format(time=time) + self.text).encode())
        return _line(signer.key(Form.COSIGNATURE), time.to_bytes(TIME_BYTES) + signature)


class Note(NamedTuple):
    """A checkpoint with its signatures: the name, and the bytes with the id of the key."""

    checkpoint: Checkpoint
    signatures: Sequence[tuple[str, bytes]]

    def signed_by(self, keys: Iterable[VerifierKey]) -> list[VerifierKey]:
        """Return which of these keys have signed or co-signed it."""
        return [key for key in keys if any(self._holds(key, *each) for each in self.signatures)]

    def _holds(self, key: VerifierKey, name: str, signed: bytes) -> bool:
        key_id, signature, text = signed[:ID_BYTES], signed[ID_BYTES:], self.checkpoint.text
        if key.form is Form.COSIGNATURE:
            time, signature = int.from_bytes(signature[:TIME_BYTES]), signature[TIME_BYTES:]
            text = COSIGNED.format(time=time) + text
        return (name, key_id) == (key.name, key.id) and key.verifies(signature, text)


def read_note(text: str) -> Note:
    """Return a signed checkpoint, of which no signature is checked yet."""
    if not (found := NOTE.fullmatch(text)):
        raise InvalidNoteError
    origin, size, root, lines = found.groups()
    signatures = LINE.findall(lines)
    if len(signatures) != lines.count("\n"):
        raise InvalidNoteError
    checkpoint = Checkpoint(origin, int(size), _bytes(root))
    return Note(checkpoint, [(name, _bytes(signature)) for name, signature in signatures])


def read_notes(text: str) -> list[str]:
    """Return the notes of a file to which they were appended one after another."""
    return NOTES.findall(text if text.endswith("\n") else f"{text}\n")


def read_root(text: str) -> bytes:
    """Return the root that a line has."""
    return _bytes(text)


def read_key(text: str) -> VerifierKey:
    """Return a verifier key; its id must be that of its name and bytes."""
    name, key_id, raw = _key(text, is_private=False)
    if raw[0] not in [*Form] or (key := VerifierKey(name, Form(raw[0]), raw[1:])).id != key_id:
        raise InvalidNoteError
    return key


def read_signer(text: str) -> NoteSigner:
    """Return a private key; its id must be that of its name and public key."""
    name, key_id, raw = _key(text, is_private=True)
    signer = NoteSigner(name, Ed25519PrivateKey.from_private_bytes(raw[1:]))
    if raw[0] != Form.NOTE or signer.key().id != key_id:
        raise InvalidNoteError
    return signer


def _key(text: str, is_private: bool) -> tuple[str, bytes, bytes]:
    found = KEY.fullmatch(text)
    if not found or bool(found[1]) != is_private:
        raise InvalidNoteError
    return found[2], bytes.fromhex(found[3]), _bytes(found[4])


def _line(key: VerifierKey, signature: bytes) -> str:
    return f"{SIGNED}{key.name} {_text(key.id + signature)}\n"


def _text(value: bytes) -> str:
    return b64encode(value).decode()


def _bytes(text: str) -> bytes:
    """Decode base64 that is written as it would be written here."""
    try:
        value = b64decode(text, validate=True)
    except ValueError:
        raise InvalidNoteError from None
    if _text(value) != text:
        raise InvalidNoteError
    return value
