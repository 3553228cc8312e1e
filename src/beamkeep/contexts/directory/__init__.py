"""Directory: objects of every kind, found by name, and who it is that asks."""

from beamkeep.kernel import Operation

from . import caller, finding

OPERATIONS: tuple[Operation, ...] = ()
QUESTIONS = (*finding.QUESTIONS, *caller.QUESTIONS)
