"""The agents of the service itself: what each one looks at, and what it decides."""

from beamkeep.parts.part import Part


def _wiring():
    from .wiring import WIRING

    return WIRING


PART = Part("agents", _wiring)
