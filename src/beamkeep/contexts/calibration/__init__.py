"""Calibration: the constants of assets at operating points, with their revisions."""

from . import calibration, revision

OPERATIONS = calibration.OPERATIONS
QUESTIONS = (*calibration.QUESTIONS, *revision.QUESTIONS)
