"""Artifacts: the checksum and the size of a file or a directory that a job made."""

import hashlib
import mimetypes
import stat
from pathlib import Path
from unicodedata import category, is_normalized

from .seam import Artifact, ComputeArtifactMissingError

LONGEST_PATH = 1024


def artifact_at(path: Path) -> Artifact:
    """Return what a file or a directory contains.

    Raise `ComputeArtifactMissingError` when it is neither, or contains what no checksum covers.
    """
    mode = path.lstat().st_mode if path.exists(follow_symlinks=False) else 0
    if stat.S_ISREG(mode):
        return Artifact(
            uri=path.as_uri(),
            checksum_algorithm="sha256",
            checksum_value=_digest(path),
            byte_size=path.stat().st_size,
            media_type=mimetypes.guess_type(path.name)[0] or "application/octet-stream",
            entry_count=1,
        )
    if not stat.S_ISDIR(mode):
        raise ComputeArtifactMissingError(f"There is no file or directory at {path.as_uri()}.")
    files = sorted((_name(path, each), each) for each in path.rglob("*") if _is_file(each))
    lines = b"".join(f"{_digest(file)}  ".encode() + name + b"\n" for name, file in files)
    return Artifact(
        uri=path.as_uri(),
        checksum_algorithm="sha256-tree",
        checksum_value=hashlib.sha256(lines).hexdigest(),
        byte_size=sum(file.stat().st_size for _, file in files),
        media_type="inode/directory",
        entry_count=len(files),
    )


def _digest(file: Path) -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def _is_file(path: Path) -> bool:
    mode = path.lstat().st_mode
    # A link can lead outside the directory, and a pipe never ends.
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise ComputeArtifactMissingError(f"{path.as_uri()} is not a regular file.")
    return stat.S_ISREG(mode)


def _name(base: Path, file: Path) -> bytes:
    name = file.relative_to(base).as_posix()
    try:
        written = name.encode()
    except UnicodeEncodeError:
        written = b""
    is_plain = is_normalized("NFC", name) and not any(category(each) == "Cc" for each in name)
    if not is_plain or not 1 <= len(written) <= LONGEST_PATH:
        raise ComputeArtifactMissingError(f"The name {name!a} cannot be part of a checksum.")
    return written
