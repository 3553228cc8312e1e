"""The agents of the service itself: what each one looks at, and what it decides."""

from typing import TYPE_CHECKING

from beamkeep.parts.part import Part

if TYPE_CHECKING:
    from beamkeep.parts.wiring import Wiring

    from .settings import AgentSettings


def _wiring() -> "Wiring[AgentSettings]":
    from .wiring import WIRING

    return WIRING


PART = Part("agents", _wiring)
