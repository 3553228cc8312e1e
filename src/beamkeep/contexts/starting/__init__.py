"""Starting: the gates before an execution starts, the starts of runs and procedures, readiness."""

from . import procedure, readiness, start

OPERATIONS = (*start.OPERATIONS, *procedure.OPERATIONS)
QUESTIONS = readiness.QUESTIONS
