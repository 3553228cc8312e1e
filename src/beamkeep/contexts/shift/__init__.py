"""Shift: the handover from one shift to the next."""

from beamkeep.kernel import Operation

from . import handover

OPERATIONS: tuple[Operation, ...] = ()
QUESTIONS = handover.QUESTIONS
