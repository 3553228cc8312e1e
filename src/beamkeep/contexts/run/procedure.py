"""Procedure: what a phase of work is called before procedures themselves are on record."""

from beamkeep.kernel import NotFound


# No procedure can be registered yet, so whoever names one is told this, always.
class ProcedureNotFoundError(NotFound):
    """The procedure does not exist."""
