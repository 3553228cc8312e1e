"""Starting a run: everything that is checked first, and whether it would pass."""

from . import readiness, start

OPERATIONS = start.OPERATIONS
QUESTIONS = readiness.QUESTIONS
