"""Import of a described beamline: parse a file, preview the changes, apply them."""

from typing import TYPE_CHECKING

from beamkeep.parts.part import Part

from .verbs import VERBS

if TYPE_CHECKING:
    from beamkeep.parts.settings import CoreSettings
    from beamkeep.parts.wiring import Wiring


def _wiring() -> "Wiring[CoreSettings]":
    from .wiring import WIRING

    return WIRING


PART = Part("importing", _wiring, VERBS)
