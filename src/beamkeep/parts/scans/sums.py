"""Checksums of scans: those that a caller gives must describe exactly the files that were found."""

from urllib.parse import quote

from beamkeep.contexts.data.scan_file import InvalidScanChecksumError
from beamkeep.contexts.data.shapes import Checksum, ChecksumAlgorithm, DatasetPart, tree_digest


def given_parts(
    checksum: Checksum, parts: tuple[DatasetPart, ...], sizes: dict[str, int], base: str
) -> tuple[DatasetPart, ...]:
    """Return the files with the sums that the caller gave; raise when these are other files."""
    if len(sizes) == 1:
        if checksum.algorithm is not ChecksumAlgorithm.SHA256 or parts:
            raise InvalidScanChecksumError("The scan is one file: send its sha256 and no parts.")
        return tuple(DatasetPart(path, size, checksum.value) for path, size in sizes.items())
    if {part.path: part.byte_size for part in parts} != sizes:
        found = ", ".join(f"{path} ({size} bytes)" for path, size in sorted(sizes.items())[:20])
        detail = f"Send sha256-tree and these parts: {found}."
        raise InvalidScanChecksumError(detail, **files_of(sizes, base))
    if checksum != Checksum(ChecksumAlgorithm.SHA256_TREE, tree_digest(parts)):
        raise InvalidScanChecksumError("The checksum is not the sha256-tree of the parts.")
    return parts


def files_of(sizes: dict[str, int], base: str) -> dict[str, object]:
    """Return the files of a scan as facts of a refusal, by which a client can sum them up."""
    parts = [{"path": path, "byte_size": size} for path, size in sorted(sizes.items())]
    return {"base": f"file://{quote(base)}/", "parts": parts}
