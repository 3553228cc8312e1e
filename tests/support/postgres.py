"""The names of beamkeep.testing that tests of contexts and surfaces still import from here."""

from beamkeep.testing.postgres import connected, postgres_service, until

__all__ = ["connected", "postgres_service", "until"]
