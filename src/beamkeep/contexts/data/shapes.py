"""Shapes of data: checksums, digests, parts, encodings and dates of datasets and their copies."""

import re
import unicodedata
from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime
from enum import StrEnum
from typing import Annotated

from annotated_types import Ge, Le, MaxLen, MinLen
from pydantic import BeforeValidator

from beamkeep.contexts.seams.custody_rules import ChecksumStrength
from beamkeep.kernel import Invalid, Record
from beamkeep_client.shared import checksums

MOST_BYTES = 2**53 - 1
MOST_PARTS = 2_000
MOST_DIGESTS = 8
MOST_PATH_BYTES = 1_024
MEDIA_TYPE = re.compile(r"[^/\s]+/[^/\s]+")
ABSOLUTE_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:\S+")
LOWER_HEX = re.compile(r"[0-9a-f]+")


class ChecksumAlgorithm(StrEnum):
    SHA256 = "sha256"
    SHA256_TREE = "sha256-tree"


class DigestAlgorithm(StrEnum):
    """Further sums of the same bytes, by which other systems name them."""

    SHA512 = "sha512"
    BLAKE3 = "blake3"
    SHA1 = "sha1"
    MD5 = "md5"
    CRC32C = "crc32c"
    CRC64NVME = "crc64nvme"
    ADLER32 = "adler32"
    XXH3_64 = "xxh3-64"


HEX_LENGTHS = {
    DigestAlgorithm.SHA512: 128,
    DigestAlgorithm.BLAKE3: 64,
    DigestAlgorithm.SHA1: 40,
    DigestAlgorithm.MD5: 32,
    DigestAlgorithm.CRC32C: 8,
    DigestAlgorithm.CRC64NVME: 16,
    DigestAlgorithm.ADLER32: 8,
    DigestAlgorithm.XXH3_64: 16,
}


CRYPTOGRAPHIC = frozenset({*ChecksumAlgorithm, DigestAlgorithm.SHA512, DigestAlgorithm.BLAKE3})

type ByteSize = Annotated[int, Ge(0), Le(MOST_BYTES)]
type HexText = Annotated[str, MinLen(1), MaxLen(200)]


class Checksum(Record):
    """The identity of bytes: SHA-256 of one file, or of the list of several files."""

    algorithm: ChecksumAlgorithm
    value: HexText
    """64 lowercase hexadecimal characters."""


class Encoding(Record):
    media_type: Annotated[str, MinLen(1), MaxLen(200)]
    conforms_to: Annotated[tuple[Annotated[str, MaxLen(2048)], ...], MaxLen(16)] = ()
    """Addresses of the format definitions that the bytes follow."""


class DatasetPart(Record):
    """One file of a dataset of several files."""

    path: Annotated[str, MinLen(1), MaxLen(MOST_PATH_BYTES)]
    """Relative to the base directory."""
    byte_size: ByteSize
    sha256: HexText


def _day(value: object) -> object:
    if isinstance(value, int | float) or (isinstance(value, str) and len(value) != 10):
        raise ValueError("a date is a day, for example 2030-01-31")
    return value


type Day = Annotated[date, BeforeValidator(_day)]


def strength_of(algorithm: ChecksumAlgorithm | DigestAlgorithm) -> ChecksumStrength:
    """Return whether a sum of this algorithm finds substitution or accidents only."""
    strong = algorithm in CRYPTOGRAPHIC
    return ChecksumStrength.CRYPTOGRAPHIC if strong else ChecksumStrength.INTEGRITY


def require_checksum(given: Checksum, refusal: type[Invalid]) -> Checksum:
    """Return the checksum; raise the refusal when its value is no SHA-256."""
    if not _is_hex(given.value, 64):
        raise refusal("The value must be 64 lowercase hexadecimal characters.")
    return given


def require_digests(
    given: Mapping[DigestAlgorithm, str], checksum: Checksum, refusal: type[Invalid]
) -> dict[str, str]:
    """Return the further digests of one file; raise the refusal when one has another length."""
    if given and checksum.algorithm is not ChecksumAlgorithm.SHA256:
        raise refusal("Only a dataset of one file, with algorithm sha256, has further digests.")
    for algorithm, value in given.items():
        if not _is_hex(value, HEX_LENGTHS[algorithm]):
            length = HEX_LENGTHS[algorithm]
            raise refusal(f"{algorithm} must have {length} lowercase hexadecimal characters.")
    return {str(algorithm): given[algorithm] for algorithm in sorted(given)}


def require_encoding(given: Encoding, refusal: type[Invalid]) -> Encoding:
    """Return the encoding, its formats sorted; raise the refusal when it is malformed."""
    media_type = given.media_type.strip()
    if not MEDIA_TYPE.fullmatch(media_type):
        raise refusal("The media type must have the form type/subtype.")
    for uri in given.conforms_to:
        if not ABSOLUTE_URI.fullmatch(uri):
            raise refusal(f"'{uri[:200]}' is not an absolute address.")
    return Encoding(media_type, tuple(sorted({*given.conforms_to})))


def require_parts(
    parts: Iterable[DatasetPart], checksum: Checksum, byte_size: int, refusal: type[Invalid]
) -> tuple[DatasetPart, ...]:
    """Return the parts by path; raise the refusal when they are not what the checksum seals."""
    given = tuple(sorted(parts, key=lambda part: part.path.encode()))
    if checksum.algorithm is not ChecksumAlgorithm.SHA256_TREE:
        raise refusal("Only a dataset with algorithm sha256-tree has parts.")
    for part in given:
        if (wrong := _wrong_path(part.path)) is not None:
            raise refusal(f"The path '{part.path[:200]}' {wrong}.")
        if not _is_hex(part.sha256, 64):
            raise refusal(f"The SHA-256 of '{part.path[:200]}' is malformed.")
    if len({part.path for part in given}) < len(given):
        raise refusal("A path occurs twice.")
    if tree_digest(given) != checksum.value:
        raise refusal("The digest of the parts is not the checksum of the dataset.")
    if (total := sum(part.byte_size for part in given)) != byte_size:
        raise refusal(f"The parts have {total} bytes; the dataset has {byte_size}.")
    return given


def tree_digest(parts: Iterable[DatasetPart]) -> str:
    """Return the SHA-256 of the list of files, as `sha256-tree` defines it."""
    return checksums.tree_digest((part.path, part.sha256) for part in parts)


def is_over(day: date | None, now: datetime) -> bool:
    """Return whether a day has come, by the calendar of UTC; no day is always over."""
    return day is None or day <= now.astimezone(UTC).date()


def _is_hex(value: str, length: int) -> bool:
    return len(value) == length and LOWER_HEX.fullmatch(value) is not None


def _wrong_path(path: str) -> str | None:
    if len(path.encode()) > MOST_PATH_BYTES:
        return f"is longer than {MOST_PATH_BYTES} bytes"
    if unicodedata.normalize("NFC", path) != path:
        return "is not in Unicode form NFC"
    if any(unicodedata.category(each) in {"Cc", "Cs"} for each in path):
        return "contains a control character"
    if not {"", ".", ".."}.isdisjoint(path.split("/")):
        return "has a component that is empty, . or .."
    return None
