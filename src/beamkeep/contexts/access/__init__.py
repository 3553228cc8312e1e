"""Access: who the principals are, what is known of them as people, and how they log in."""

from . import actor

OPERATIONS = (*actor.OPERATIONS,)
QUESTIONS = (*actor.QUESTIONS,)
