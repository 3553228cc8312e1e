"""A recorder of Bluesky runs as Beamkeep runs."""

from .recorder import Recorder

__all__ = ["Recorder"]
