"""Logbooks: entries copied to the logbook of the facility."""

from beamkeep.parts.part import Part


def _wiring():
    from .wiring import WIRING

    return WIRING


PART = Part("logbook", _wiring)
