"""The step outside the rules that ingesting a scan takes: read the file, and see what is known."""

from beamkeep.contexts.data.distribution import PLACES
from beamkeep.contexts.data.scan import SCANS
from beamkeep.contexts.data.scan_file import ReadScanFile, ScanReading
from beamkeep.kernel import CLAIMS, claim_key, replace
from beamkeep.runtime.store import EventStore

from .reading import ScanReader


class ScanStep:
    """Reads scan files, and tells which dataset and which copy already have the bytes."""

    def __init__(self, reader: ScanReader, store: EventStore) -> None:
        self._reader, self._store = reader, store

    async def __call__(self, request: ReadScanFile) -> ScanReading:
        """Return what a file tells. Raise the refusal of a file that is no complete scan."""
        reading = await self._reader.read(request)
        value = reading.checksum.value
        scan = claim_key(value)
        place = claim_key(reading.uri, value if reading.parts else None)
        scopes, keys = frozenset({SCANS, PLACES}), frozenset({scan, place})
        rows = await self._store.rows(CLAIMS, {"scope": scopes, "key": keys})
        holders = {(row.scope, row.key): row.holder for row in rows}
        return replace(
            reading,
            ingested_as=holders.get((SCANS, scan)),
            place_taken_by=holders.get((PLACES, place)),
        )
