"""Caution: what operators know about quirks, shown to the next shift."""

from beamkeep.kernel import Operation, Question

OPERATIONS: tuple[Operation, ...] = ()
QUESTIONS: tuple[Question, ...] = ()
