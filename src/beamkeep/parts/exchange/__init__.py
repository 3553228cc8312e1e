"""Exchange: signatures of records that other facilities import."""

from typing import TYPE_CHECKING

from beamkeep.parts.part import Part

if TYPE_CHECKING:
    from beamkeep.parts.wiring import Wiring

    from .settings import ExchangeSettings


def _wiring() -> "Wiring[ExchangeSettings]":
    from .wiring import WIRING

    return WIRING


PART = Part("exchange", _wiring)
