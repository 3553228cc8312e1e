"""The settings of scan files."""

from typing import Annotated

from annotated_types import Ge, Le

from beamkeep.parts.settings import (
    CoreSettings,
    TimeZone,
)


class ScanSettings(CoreSettings):
    """The settings of scan files."""

    ingest_quiet_seconds: Annotated[float, Ge(0), Le(3600)] = 5
    """Seconds for which a scan file must not have been modified before it is ingested."""
    ingest_hash_bytes: Annotated[int, Ge(0), Le(1 << 40)] = 4 << 30
    """Size in bytes up to which `serve` computes the checksum of a scan itself. Larger scans need
    the checksum that their writer computed."""
    scan_timezone: TimeZone | None = None
    """IANA name of the time zone of times in scan files that have no offset, such as
    Europe/Zurich. Default: such times are refused."""
