"""Procedure: the refusal of a command that names one; procedures cannot be registered yet."""

from beamkeep.kernel import NotFound


class ProcedureNotFoundError(NotFound): ...
