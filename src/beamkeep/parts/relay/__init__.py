"""The relay: every event on a message bus."""

from beamkeep.parts.part import Part

from .verbs import VERBS


def _wiring():
    from .wiring import WIRING

    return WIRING


PART = Part("relay", _wiring, VERBS)
