"""Import of a described beamline: parse a file, preview the changes, apply them."""

from beamkeep.parts.part import Part

from .verbs import VERBS


def _wiring():
    from .wiring import WIRING

    return WIRING


PART = Part("importing", _wiring, VERBS)
