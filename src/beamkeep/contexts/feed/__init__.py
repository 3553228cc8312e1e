"""Feed: what happened, in the order of the log."""

from beamkeep.kernel import Operation

from . import events

OPERATIONS: tuple[Operation, ...] = ()
QUESTIONS = events.QUESTIONS
