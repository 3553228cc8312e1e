"""Run: one execution of a plan, from its start to its end."""

from . import logbook, observation, run, series

OPERATIONS = (*run.OPERATIONS, *observation.OPERATIONS, *logbook.OPERATIONS)
QUESTIONS = (*run.QUESTIONS, *observation.QUESTIONS, *series.QUESTIONS, *logbook.QUESTIONS)
