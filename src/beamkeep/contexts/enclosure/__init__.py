"""Enclosure: what the personnel-safety systems report of the volumes they guard."""

from . import enclosure

OPERATIONS = enclosure.OPERATIONS
QUESTIONS = enclosure.QUESTIONS
