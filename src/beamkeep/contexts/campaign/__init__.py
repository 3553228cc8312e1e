"""Campaign: runs that belong together."""

from beamkeep.kernel import Operation, Question

OPERATIONS: tuple[Operation, ...] = ()
QUESTIONS: tuple[Question, ...] = ()
