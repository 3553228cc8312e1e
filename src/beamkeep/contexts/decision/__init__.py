"""Decision: recorded choices of people and agents, with reasons and ratings."""

from . import decision, evidence, logbook

OPERATIONS = (*decision.OPERATIONS, *logbook.OPERATIONS)
QUESTIONS = (*decision.QUESTIONS, *logbook.QUESTIONS, *evidence.QUESTIONS)
