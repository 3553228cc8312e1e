"""Run: one execution of a plan, from its start to its end."""

from beamkeep.kernel import Operation, Question

OPERATIONS: tuple[Operation, ...] = ()
QUESTIONS: tuple[Question, ...] = ()
