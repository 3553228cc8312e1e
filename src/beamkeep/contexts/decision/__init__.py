"""Decision: the consequential choices, who made them, and why."""

from . import decision, logbook

OPERATIONS = (*decision.OPERATIONS, *logbook.OPERATIONS)
QUESTIONS = (*decision.QUESTIONS, *logbook.QUESTIONS)
