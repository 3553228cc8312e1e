"""Publishing: DOIs of datasets and editions, and the pages they lead to."""

from beamkeep.parts.part import Part


def _wiring():
    from .wiring import WIRING

    return WIRING


PART = Part("publishing", _wiring)
