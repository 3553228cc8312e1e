"""Shapes of data: what a checksum, a digest, an encoding and a list of files may be."""

from datetime import UTC, date, datetime, timedelta, timezone
from hashlib import sha256

import pytest
from tests.unit.contexts.data.around import NXTOMO, SUM, TREE

from beamkeep.contexts.data.dataset import (
    InvalidDatasetChecksumError,
    InvalidDatasetDigestsError,
    InvalidDatasetEncodingError,
    InvalidDatasetPartsError,
)
from beamkeep.contexts.data.shapes import (
    HEX_LENGTHS,
    Checksum,
    ChecksumAlgorithm,
    DatasetPart,
    DigestAlgorithm,
    Encoding,
    is_over,
    require_checksum,
    require_digests,
    require_encoding,
    require_parts,
    strength_of,
    tree_digest,
)
from beamkeep.kernel import replace

WRONG_HEX = ("", "a" * 63, "a" * 65, "A" * 64, "g" * 64, " " + "a" * 63, "a" * 63 + "\n", "á" * 64)
ZEROS = "0" * 64


def part(path: str, byte_size: int = 1, digest: str = ZEROS) -> DatasetPart:
    return DatasetPart(path, byte_size, digest)


def sealing(*parts: DatasetPart) -> Checksum:
    """The checksum of these parts."""
    return Checksum(ChecksumAlgorithm.SHA256_TREE, tree_digest(parts))


def refused_parts(*parts: DatasetPart, byte_size: int | None = None) -> str:
    size = sum(each.byte_size for each in parts) if byte_size is None else byte_size
    with pytest.raises(InvalidDatasetPartsError) as refused:
        require_parts(parts, sealing(*parts), size, InvalidDatasetPartsError)
    return str(refused.value)


def test_a_checksum_is_64_lowercase_hexadecimal_characters():
    for good in (SUM, TREE):
        assert require_checksum(good, InvalidDatasetChecksumError) == good
    for value in WRONG_HEX:
        with pytest.raises(InvalidDatasetChecksumError, match="64 lowercase hexadecimal"):
            require_checksum(replace(SUM, value=value), InvalidDatasetChecksumError)


STRENGTHS = """
sha256       Cryptographic
sha256-tree  Cryptographic
sha512       Cryptographic
blake3       Cryptographic
sha1         Integrity
md5          Integrity
crc32c       Integrity
crc64nvme    Integrity
adler32      Integrity
xxh3-64      Integrity
"""


def test_every_algorithm_has_its_strength():
    every = (*ChecksumAlgorithm, *DigestAlgorithm)
    found = [[str(each), str(strength_of(each))] for each in every]
    assert found == [line.split() for line in STRENGTHS.strip().splitlines()]


LENGTHS = {
    "sha512": 128,
    "blake3": 64,
    "sha1": 40,
    "md5": 32,
    "crc32c": 8,
    "crc64nvme": 16,
    "adler32": 8,
    "xxh3-64": 16,
}


def test_a_digest_has_the_length_of_its_algorithm():
    assert {str(algorithm): length for algorithm, length in HEX_LENGTHS.items()} == LENGTHS
    for algorithm in DigestAlgorithm:
        length = LENGTHS[algorithm]
        good = {algorithm: "f" * length}
        assert require_digests(good, SUM, InvalidDatasetDigestsError) == {algorithm: "f" * length}
        for value in ("f" * (length - 1), "f" * (length + 1), "F" * length):
            with pytest.raises(InvalidDatasetDigestsError, match=f"{algorithm} must have {length}"):
                require_digests({algorithm: value}, SUM, InvalidDatasetDigestsError)


def test_digests_are_sorted_by_the_name_of_their_algorithm():
    given = {DigestAlgorithm.XXH3_64: "0" * 16, DigestAlgorithm.MD5: "1" * 32}
    assert [*require_digests(given, SUM, InvalidDatasetDigestsError)] == ["md5", "xxh3-64"]


def test_a_dataset_of_several_files_has_no_digests():
    assert require_digests({}, TREE, InvalidDatasetDigestsError) == {}
    with pytest.raises(InvalidDatasetDigestsError, match="one file"):
        require_digests({DigestAlgorithm.MD5: "0" * 32}, TREE, InvalidDatasetDigestsError)


def test_an_encoding_is_trimmed_and_its_formats_are_a_sorted_set():
    given = Encoding(" image/tiff\n", ("urn:b:2", NXTOMO, "urn:a:1", NXTOMO))
    assert require_encoding(given, InvalidDatasetEncodingError) == Encoding(
        "image/tiff", (NXTOMO, "urn:a:1", "urn:b:2")
    )


def test_a_media_type_has_one_slash_and_a_format_is_an_absolute_address():
    for media_type in ("tiff", "/tiff", "image/", "image/tiff/2", " ", "image/a b"):
        with pytest.raises(InvalidDatasetEncodingError, match="type/subtype"):
            require_encoding(Encoding(media_type), InvalidDatasetEncodingError)
    for uri in ("", "NXtomo", "//host/path", "manual/NXtomo.html", "1a:b", "https:", "urn:a b"):
        with pytest.raises(InvalidDatasetEncodingError, match="not an absolute address"):
            require_encoding(Encoding("a/b", (NXTOMO, uri)), InvalidDatasetEncodingError)


def test_the_digest_of_a_list_of_files_is_that_of_its_lines():
    text = f"{'1' * 64}  B/one.h5\n{'2' * 64}  a/two.h5\n{'3' * 64}  á.h5\n"
    files = [
        part("á.h5", 1, "3" * 64),
        part("a/two.h5", 1, "2" * 64),
        part("B/one.h5", 1, "1" * 64),
    ]
    assert tree_digest(files) == sha256(text.encode()).hexdigest()


def test_parts_are_sorted_by_path():
    files = (part("b", 2), part("a/b"), part("a"), part("B"), part("é"))
    kept = require_parts(files, sealing(*files), 6, InvalidDatasetPartsError)
    assert [each.path for each in kept] == ["B", "a", "a/b", "b", "é"]


def test_only_a_dataset_of_several_files_has_parts():
    with pytest.raises(InvalidDatasetPartsError, match="Only a dataset with algorithm sha256-tree"):
        require_parts([part("a")], SUM, 1, InvalidDatasetPartsError)


def test_the_path_of_a_part_stays_below_the_base_directory():
    for path in ("/a", "a/", "a//b", ".", "./a", "a/.", "..", "a/../b", "../a"):
        assert "has a component that is empty, . or .." in refused_parts(part(path))
    for path in ("a\nb", "a\x00", "\x7f", "a\x85b"):
        assert "contains a control character" in refused_parts(part(path))
    assert "is not in Unicode form NFC" in refused_parts(part("e\u0301.h5"))
    for path in ("a/b.c", "..a", "a..", "...", "a b", "é.h5", "\\", "x" * 1_024, "é" * 512):
        require_parts([part(path)], sealing(part(path)), 1, InvalidDatasetPartsError)
    for path in ("x" * 1_025, "é" * 513):
        assert "is longer than 1024 bytes" in refused_parts(part(path))


def test_a_part_is_what_the_checksum_and_the_size_say():
    assert "The SHA-256 of 'a' is malformed." in refused_parts(part("a", 1, "A" * 64))
    assert "A path occurs twice." in refused_parts(part("a"), part("b"), part("a"))
    assert "The parts have 3 bytes; the dataset has 4." in refused_parts(
        part("a"), part("b", 2), byte_size=4
    )
    with pytest.raises(InvalidDatasetPartsError, match="is not the checksum of the dataset"):
        require_parts([part("a"), part("b")], sealing(part("a")), 2, InvalidDatasetPartsError)


def test_a_day_has_come_by_the_calendar_of_utc():
    day, east = date(2030, 1, 31), timezone(timedelta(hours=9))
    assert is_over(None, datetime(2030, 1, 1, tzinfo=UTC))
    assert not is_over(day, datetime(2030, 1, 30, 23, 59, 59, tzinfo=UTC))
    assert not is_over(day, datetime(2030, 1, 31, 8, 59, tzinfo=east))
    assert is_over(day, datetime(2030, 1, 31, tzinfo=UTC))
    assert is_over(day, datetime(2030, 2, 1, tzinfo=UTC))
