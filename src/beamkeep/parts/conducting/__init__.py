"""Conducts: control systems, observers, the walk, compute, actions and advisors."""

from typing import TYPE_CHECKING

from beamkeep.parts.part import Part

if TYPE_CHECKING:
    from beamkeep.parts.wiring import Wiring

    from .settings import ConductingSettings


def _wiring() -> "Wiring[ConductingSettings]":
    from .wiring import WIRING

    return WIRING


PART = Part("conducting", _wiring)
