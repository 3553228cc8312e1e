"""Calibration: the constants of equipment at an operating point, revision by revision."""

from beamkeep.kernel import Operation, Question

OPERATIONS: tuple[Operation, ...] = ()
QUESTIONS: tuple[Question, ...] = ()
