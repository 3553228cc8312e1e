"""The reader of scan files: HDF5 is parsed in a child process that can open nothing by itself."""

from beamkeep.parts.part import Part


def _wiring():
    from .wiring import WIRING

    return WIRING


PART = Part("scans", _wiring)
