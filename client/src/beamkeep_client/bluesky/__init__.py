"""A recorder of Bluesky runs as Beamkeep runs."""

from .recorder import NotReadyError, Recorder
from .sender import Flushed

__all__ = ["Flushed", "NotReadyError", "Recorder"]
