"""Recipe: how work is done, declared before any of it is done."""

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
