"""Custody: how well data are kept, and checks of their copies."""

from beamkeep.parts.part import Part


def _wiring():
    from .wiring import WIRING

    return WIRING


PART = Part("custody", _wiring)
