"""Which control system the signals are read from."""

from beamkeep.adapters.extras import MissingExtraError

from .signals import SignalSource


def control_system(silence_seconds: float) -> SignalSource:
    """Return the source of the signals, or raise when its library is not installed."""
    try:
        from .epics import EpicsSignals  # noqa: PLC0415
    except ImportError:
        raise MissingExtraError(
            "OBSERVED_ENCLOSURES or OBSERVED_SUPPLIES names signals. Install beamkeep[epics]."
        ) from None
    return EpicsSignals(silence_seconds=silence_seconds)
