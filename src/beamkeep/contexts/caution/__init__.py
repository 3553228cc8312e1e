"""Caution: known quirks of equipment, shown to operators before they start work."""

from . import caution, promotion

OPERATIONS = (*caution.OPERATIONS, *promotion.OPERATIONS)
QUESTIONS = caution.QUESTIONS
