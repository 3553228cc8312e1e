"""Recipe: how work is done, declared before any of it is done."""

from . import capability, method, plan, practice

OPERATIONS = (
    *capability.OPERATIONS,
    *method.OPERATIONS,
    *practice.OPERATIONS,
    *plan.OPERATIONS,
)
QUESTIONS = (
    *capability.QUESTIONS,
    *method.QUESTIONS,
    *practice.QUESTIONS,
    *plan.QUESTIONS,
)
