"""Board: how beamlines stand now, composed when asked."""

from beamkeep.kernel import Operation

from . import board, status

OPERATIONS: tuple[Operation, ...] = ()
QUESTIONS = (*board.QUESTIONS, *status.QUESTIONS)
