"""Safety: clearances, their review, and the work that they cover."""

from . import clearance

OPERATIONS = clearance.OPERATIONS
QUESTIONS = clearance.QUESTIONS
