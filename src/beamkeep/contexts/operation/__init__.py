"""Operation: procedures, which people drive by hand or a conductor walks."""

from . import activity, procedure

OPERATIONS = (*procedure.OPERATIONS, *activity.OPERATIONS)
QUESTIONS = (*procedure.QUESTIONS, *activity.QUESTIONS)
