"""Logbooks: entries copied to the logbook of the facility."""

from typing import TYPE_CHECKING

from beamkeep.parts.part import Part

if TYPE_CHECKING:
    from beamkeep.parts.wiring import Wiring

    from .settings import LogbookSettings


def _wiring() -> "Wiring[LogbookSettings]":
    from .wiring import WIRING

    return WIRING


PART = Part("logbook", _wiring)
