"""Conducts: control systems, observers, the walk, compute, actions and advisors."""

from beamkeep.parts.part import Part


def _wiring():
    from .wiring import WIRING

    return WIRING


PART = Part("conducting", _wiring)
