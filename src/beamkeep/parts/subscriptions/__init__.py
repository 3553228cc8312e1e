"""Subscriptions: events sent to programs of others by signed requests."""

from beamkeep.parts.part import Part


def _wiring():
    from .wiring import WIRING

    return WIRING


PART = Part("subscriptions", _wiring)
