"""Operation: procedures, which people drive by hand or a conductor walks."""

from . import activity, conduct, procedure, reports, stopping

OPERATIONS = (
    *procedure.OPERATIONS,
    *stopping.OPERATIONS,
    *activity.OPERATIONS,
    *conduct.OPERATIONS,
)
QUESTIONS = (*procedure.QUESTIONS, *activity.QUESTIONS, *reports.QUESTIONS)
