"""Shift: what one shift leaves to the next."""

from beamkeep.kernel import Operation

from . import handover

OPERATIONS: tuple[Operation, ...] = ()
QUESTIONS = handover.QUESTIONS
