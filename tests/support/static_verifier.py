"""The names of beamkeep.testing that tests of contexts and surfaces still import from here."""

from beamkeep.testing.static_verifier import StaticVerifier

__all__ = ["StaticVerifier"]
