"""Custody: how well data are kept, and checks of their copies."""

from typing import TYPE_CHECKING

from beamkeep.parts.part import Part

if TYPE_CHECKING:
    from beamkeep.parts.wiring import Wiring

    from .settings import CustodySettings


def _wiring() -> "Wiring[CustodySettings]":
    from .wiring import WIRING

    return WIRING


PART = Part("custody", _wiring)
