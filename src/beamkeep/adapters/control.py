"""Which control system the signals are read from."""

from beamkeep.workers.signals import SignalSource


class MissingExtraError(Exception):
    """The settings ask for something that is not installed."""


def control_system(silence_seconds: float) -> SignalSource:
    """Return the source of the signals, or raise when its library is not installed."""
    try:
        from .epics import EpicsSignals  # noqa: PLC0415
    except ImportError:
        raise MissingExtraError(
            "OBSERVED_ENCLOSURES or OBSERVED_SUPPLIES names signals. Install beamkeep[epics]."
        ) from None
    return EpicsSignals(silence_seconds=silence_seconds)
