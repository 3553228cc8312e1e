"""The names of beamkeep.testing that tests of contexts and surfaces still import from here."""

from beamkeep.testing.appends import CODEC, append, at

__all__ = ["CODEC", "append", "at"]
