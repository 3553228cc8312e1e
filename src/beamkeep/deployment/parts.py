"""The parts of a deployment."""

from functools import cache
from typing import TYPE_CHECKING, Any

from beamkeep.parts import (
    agents,
    conducting,
    custody,
    exchange,
    importing,
    logbook,
    publishing,
    relay,
    scans,
    subscriptions,
    witness,
)
from beamkeep.parts.part import Part

if TYPE_CHECKING:
    from beamkeep.parts.wiring import Wiring

PARTS: tuple[Part, ...] = (
    conducting.PART,
    agents.PART,
    subscriptions.PART,
    relay.PART,
    logbook.PART,
    publishing.PART,
    scans.PART,
    custody.PART,
    witness.PART,
    exchange.PART,
    importing.PART,
)


@cache
def wirings() -> "tuple[Wiring[Any], ...]":
    """Return how each part is wired into a deployment."""
    return tuple(part.wiring() for part in PARTS)
