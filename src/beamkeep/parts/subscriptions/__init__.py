"""Subscriptions: events sent to programs of others by signed requests."""

from typing import TYPE_CHECKING

from beamkeep.parts.part import Part

if TYPE_CHECKING:
    from beamkeep.parts.wiring import Wiring

    from .settings import SubscriptionSettings


def _wiring() -> "Wiring[SubscriptionSettings]":
    from .wiring import WIRING

    return WIRING


PART = Part("subscriptions", _wiring)
