"""How the reader of scan files is wired into a deployment."""

from collections.abc import Mapping

import structlog

from beamkeep.adapters.files.data_roots import DataRoots
from beamkeep.contexts.data.check import FindLayout
from beamkeep.contexts.data.scan_file import ReadScanFile
from beamkeep.contexts.seams.installation import Facts
from beamkeep.kernel import Record, replace
from beamkeep.parts.wiring import Grounds, Wiring
from beamkeep.runtime.dispatch import OutsideStep

from .ingesting import ScanStep
from .reading import ScanReader
from .sandbox import landlock_version
from .settings import ScanSettings
from .validating import LayoutStep

log: structlog.stdlib.BoundLogger = structlog.get_logger()


def facts(own: ScanSettings, here: Facts) -> Facts:
    """Let rules know whether layouts can be found, and the zone of times without an offset."""
    return replace(here, reads_layouts=bool(own.data_roots), scan_timezone=own.scan_timezone)


def outside(grounds: Grounds, own: ScanSettings) -> Mapping[type[Record], OutsideStep]:
    """Return what reads scan files; say if the kernel protects the reading only in part."""
    if own.data_roots and not landlock_version():
        log.warning("scan files are read without Landlock", remedy="Use Linux 5.13 or later.")
    reader = ScanReader(
        DataRoots(own.data_roots, owned=tuple(own.data_owners)),
        own.ingest_quiet_seconds,
        most_hashed=own.ingest_hash_bytes,
    )
    return {
        ReadScanFile: ScanStep(reader, grounds.store),
        FindLayout: LayoutStep(reader),
    }


WIRING = Wiring(ScanSettings, facts=facts, outside=outside)
