"""Publishing: DOIs of datasets and editions, and the pages they lead to."""

from typing import TYPE_CHECKING

from beamkeep.parts.part import Part

if TYPE_CHECKING:
    from beamkeep.parts.wiring import Wiring

    from .settings import PublishingSettings


def _wiring() -> "Wiring[PublishingSettings]":
    from .wiring import WIRING

    return WIRING


PART = Part("publishing", _wiring)
