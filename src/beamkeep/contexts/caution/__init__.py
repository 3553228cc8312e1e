"""Caution: what operators know about quirks, shown to the next shift."""

from . import caution, promotion

OPERATIONS = (*caution.OPERATIONS, *promotion.OPERATIONS)
QUESTIONS = caution.QUESTIONS
