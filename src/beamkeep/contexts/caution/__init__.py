"""Caution: what operators know about quirks, shown to the next shift."""

from . import caution

OPERATIONS = caution.OPERATIONS
QUESTIONS = caution.QUESTIONS
