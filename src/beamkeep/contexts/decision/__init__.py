"""Decision: the consequential choices, who made them, and why."""

from . import decision

OPERATIONS = decision.OPERATIONS
QUESTIONS = decision.QUESTIONS
