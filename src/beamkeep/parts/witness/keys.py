"""The keys of the witness on this host, and what each of them has signed last."""

import fcntl
import os
from base64 import b64decode, b64encode
from pathlib import Path
from typing import NamedTuple

import msgspec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from beamkeep.adapters.files.private_files import OpenKeyFileError, read_private

from .trees.notes import KEY_NAME, InvalidNoteError, NoteSigner, read_signer

MAKE_KEY = "Make a key with `beamkeep witness-key`."


class SignedTree(NamedTuple):
    """A tree that was signed."""

    number: int
    size: int
    root: bytes


class TreeFile:
    """Remembers trees by name in a file. It outlives the database."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def last(self, name: str) -> SignedTree | None:
        """Return the tree that was remembered last."""
        if (found := self._read().get(name)) is None:
            return None
        number, size, root = found
        return SignedTree(number, size, b64decode(root))

    def advance(self, name: str, seen: SignedTree | None, to: SignedTree) -> bool:
        """Remember a tree on disk, unless another process has remembered one since it was read."""
        with self._path.with_name(f"{self._path.name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if self.last(name) != seen:
                return False
            entry = to.number, to.size, b64encode(to.root).decode()
            _replace(self._path, msgspec.json.encode(self._read() | {name: entry}))
        return True

    def _read(self) -> dict[str, tuple[int, int, str]]:
        content = self._path.read_bytes() if self._path.exists() else b"{}"
        return msgspec.json.decode(content, type=dict[str, tuple[int, int, str]])


class SigningKey(NamedTuple):
    """A key, and what it has signed last of each tree."""

    signer: NoteSigner
    memory: TreeFile


def signing_key(path: Path) -> SigningKey:
    """Return the key in a file, with its memory. Raise ValueError when the file has none."""
    try:
        signer = read_signer(read_private(path).decode().strip())
    except OpenKeyFileError as error:
        raise ValueError(f"{path} is not used: {error}") from None
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}. {MAKE_KEY}") from None
    except (InvalidNoteError, UnicodeDecodeError):
        raise ValueError(f"{path} has no key of a witness. {MAKE_KEY}") from None
    return SigningKey(signer, TreeFile(path.with_name(f"{path.name}.signed")))


def make_key(name: str, path: Path) -> NoteSigner:
    """Write a new key to a new file. Raise ValueError when the name cannot be used."""
    if not KEY_NAME.fullmatch(name):
        raise ValueError("The name must have neither blanks nor +.")
    signer = NoteSigner(name, Ed25519PrivateKey.generate())
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(f"{signer.secret_text}\n")
    return signer


def _replace(path: Path, content: bytes) -> None:
    """Replace a file, and return when it is on disk."""
    new = path.with_name(f"{path.name}.new")
    with new.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    new.rename(path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
