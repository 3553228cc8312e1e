"""Recipe: how work is to be done, as capabilities, methods, practices, plans and recipes."""

from . import capability, method, plan, practice, recipe

OPERATIONS = (
    *capability.OPERATIONS,
    *method.OPERATIONS,
    *practice.OPERATIONS,
    *plan.OPERATIONS,
    *recipe.OPERATIONS,
)
QUESTIONS = (
    *capability.QUESTIONS,
    *method.QUESTIONS,
    *practice.QUESTIONS,
    *plan.QUESTIONS,
    *recipe.QUESTIONS,
)
