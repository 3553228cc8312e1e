"""The seam to control systems: what control systems say of their signals."""

from collections.abc import AsyncGenerator, Collection
from typing import Protocol

from beamkeep.kernel import Record


class Reading(Record):
    """What a control system says of one signal, or that it says nothing."""

    signal: str
    value: str | None
    """The value as text; none when it cannot be trusted or cannot be had."""
    reason: str
    """Why, in words for the record: the alarm, the lost connection, or the value itself."""


class SignalSource(Protocol):
    """Follows the signals of one control system."""

    def readings(self, signals: Collection[str]) -> AsyncGenerator[Reading]:
        """One reading for every signal at first, then one for every change, in order.

        They end only when they are closed.
        """
        ...
