"""Exchange: signatures of records that other facilities import."""

from beamkeep.parts.part import Part


def _wiring():
    from .wiring import WIRING

    return WIRING


PART = Part("exchange", _wiring)
