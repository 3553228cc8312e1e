"""Operation: procedures, which people drive by hand or a conductor walks."""

from . import activity, conduct, making_safe, procedure, reports, stopping

OPERATIONS = (
    *procedure.OPERATIONS,
    *stopping.OPERATIONS,
    *activity.OPERATIONS,
    *conduct.OPERATIONS,
    *making_safe.OPERATIONS,
)
QUESTIONS = (*procedure.QUESTIONS, *activity.QUESTIONS, *reports.QUESTIONS)
