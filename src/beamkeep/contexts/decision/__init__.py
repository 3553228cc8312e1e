"""Decision: the consequential choices, who made them, and why."""

from beamkeep.kernel import Operation, Question

OPERATIONS: tuple[Operation, ...] = ()
QUESTIONS: tuple[Question, ...] = ()
