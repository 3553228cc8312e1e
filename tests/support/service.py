"""The names of beamkeep.testing that tests of contexts and surfaces still import from here."""

from beamkeep.testing.service import INSTALLATION, ISSUER, Doing, by, call, memory_service

__all__ = ["INSTALLATION", "ISSUER", "Doing", "by", "call", "memory_service"]
