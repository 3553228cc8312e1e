"""Scan files: what is asked of their reader, what it answers, and why it refuses a file."""

from collections.abc import Mapping
from uuid import UUID

from beamkeep.kernel import Cannot, Invalid, NotFound, Record
from beamkeep.schemas import JsonObject

from .shapes import Checksum, DatasetPart

PROFILES = {
    "NXtomo": "https://manual.nexusformat.org/classes/applications/NXtomo.html",
    "NXmx": "https://manual.nexusformat.org/classes/applications/NXmx.html",
    "DataExchange": "https://doi.org/10.1107/S160057751401604X",
}
"""The address of the definition of each layout."""


class InvalidScanLocatorError(Invalid):
    """Locator must be the file URI of a file beneath one of the data roots of the service."""


class ScanFileNotFoundError(NotFound):
    """The scan file, or a file that it points to, does not exist."""


class ScanFileUnstableError(Cannot, retry_after=5):
    """The scan file is still being written. Ingest it when its writer has closed it."""


class InvalidScanFileError(Invalid):
    """The file cannot be read as a scan."""


class InvalidScanChecksumError(Invalid):
    """The checksum and the parts must describe exactly the files of the scan."""


class ReadScanFile(Record):
    """A request to read a scan file and the files that it points to."""

    locator: str
    entry: str | None
    """The path of one entry; None for all."""
    checksum: Checksum | None
    """As its writer computed it; None to compute it now."""
    parts: tuple[DatasetPart, ...]
    within: tuple[str, ...] | None = None
    """The directories in which all its files must lie; None for all data roots."""
    principal_id: UUID | None = None
    """Who asks; None for the service itself."""


class ScanEntry(Record):
    """What a file tells of one scan."""

    entry: str
    title: str | None
    start: str | None
    end: str | None
    settings: Mapping[str, float]
    evidence: JsonObject


class ScanReading(Record):
    """What was read of a scan file: its scans, and the bytes they are in."""

    layout: str
    entries: tuple[ScanEntry, ...]
    uri: str
    """Of the file, or of the directory that contains all files."""
    master: str
    """The path of the file itself below that directory."""
    checksum: Checksum
    byte_size: int
    parts: tuple[DatasetPart, ...]
    """Empty when the scan is one file."""
    reader: str
    """The name and the version of what read the file."""
    ingested_as: UUID | None = None
    """The dataset of the same bytes, if they are ingested already."""
    place_taken_by: UUID | None = None
    """The copy that already is at the place."""
