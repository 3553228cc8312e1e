"""The relay: every event on a message bus."""

from typing import TYPE_CHECKING

from beamkeep.parts.part import Part

from .verbs import VERBS

if TYPE_CHECKING:
    from beamkeep.parts.wiring import Wiring

    from .settings import RelaySettings


def _wiring() -> "Wiring[RelaySettings]":
    from .wiring import WIRING

    return WIRING


PART = Part("relay", _wiring, VERBS)
