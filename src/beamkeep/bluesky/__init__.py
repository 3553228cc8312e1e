"""Bluesky runs, recorded as Beamkeep runs."""

from .recorder import Recorder

__all__ = ["Recorder"]
