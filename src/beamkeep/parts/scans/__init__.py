"""The reader of scan files: HDF5 is parsed in a child process that can open nothing by itself."""

from typing import TYPE_CHECKING

from beamkeep.parts.part import Part

if TYPE_CHECKING:
    from beamkeep.parts.wiring import Wiring

    from .settings import ScanSettings


def _wiring() -> "Wiring[ScanSettings]":
    from .wiring import WIRING

    return WIRING


PART = Part("scans", _wiring)
