"""Enclosure: the permits that personnel-safety systems report for the volumes they guard."""

from . import enclosure

OPERATIONS = enclosure.OPERATIONS
QUESTIONS = enclosure.QUESTIONS
