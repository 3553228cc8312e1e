"""Finds the layout of a copy, for checks of the format."""

from urllib.parse import quote

from beamkeep.contexts.data.attestation import CheckFailure, ScanLayout
from beamkeep.contexts.data.check import FindLayout
from beamkeep.contexts.data.scan_file import (
    InvalidScanFileError,
    InvalidScanLocatorError,
    ScanFileNotFoundError,
    ScanFileUnstableError,
)

from .reading import ScanReader

MOST_MASTERS = 8
"""How many files of a dataset are looked at to find the one that has a layout."""


class LayoutStep:
    """Finds layouts with the reader of scan files."""

    def __init__(self, reader: ScanReader) -> None:
        self._reader = reader

    async def __call__(self, request: FindLayout) -> ScanLayout | CheckFailure | None:
        """Return the layout of a copy, None if it has no known one, or why it cannot be read."""
        copy = request.copy
        names = [""] if copy.parts is None else [quote(path) for path in copy.parts[:MOST_MASTERS]]
        for name in names:
            try:
                return ScanLayout((await self._reader.found(copy.uri + name)).layout)
            except InvalidScanFileError:
                continue
            except ScanFileUnstableError:
                return CheckFailure.CORRUPT
            except ScanFileNotFoundError:
                return CheckFailure.NOT_FOUND
            except InvalidScanLocatorError:
                return CheckFailure.OUTSIDE_ROOTS
        return None
