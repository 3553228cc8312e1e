"""Access: the principals, their personal data and their logins."""

from . import actor

OPERATIONS = actor.OPERATIONS
QUESTIONS = actor.QUESTIONS
