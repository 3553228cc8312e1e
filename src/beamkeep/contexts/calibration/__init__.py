"""Calibration: the constants of equipment at an operating point, revision by revision."""

from . import calibration, revision

OPERATIONS = calibration.OPERATIONS
QUESTIONS = (*calibration.QUESTIONS, *revision.QUESTIONS)
