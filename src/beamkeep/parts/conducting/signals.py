"""The seam to control systems: the values of their signals."""

from collections.abc import AsyncGenerator, Collection
from typing import Protocol

from beamkeep.kernel import Record


class SignalReading(Record):
    """The value of one signal, or the reason why it has none."""

    signal: str
    value: str | None
    """The value as text; none when it is invalid or the signal is not connected."""
    reason: str
    """The reason that is recorded: the alarm, the lost connection, or the value itself."""


class SignalSource(Protocol):
    """Follows the signals of one control system."""

    def readings(self, signals: Collection[str]) -> AsyncGenerator[SignalReading]:
        """Yield one reading of every signal at first, then one for every change, in order.

        The readings end only when they are closed.
        """
        ...
