"""Safety: formal clearances, their review, and what they cover."""

from . import clearance

OPERATIONS = clearance.OPERATIONS
QUESTIONS = clearance.QUESTIONS
