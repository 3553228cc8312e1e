"""Starting: the gates before an execution starts, the starts of runs and procedures, readiness."""

from . import conducting, procedure, readiness, resume, start

OPERATIONS = (*start.OPERATIONS, *resume.OPERATIONS, *procedure.OPERATIONS, *conducting.OPERATIONS)
QUESTIONS = readiness.QUESTIONS
