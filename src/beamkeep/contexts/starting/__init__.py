"""Starting: the gates before an execution starts, the start of a run, and its readiness."""

from . import readiness, start

OPERATIONS = start.OPERATIONS
QUESTIONS = readiness.QUESTIONS
