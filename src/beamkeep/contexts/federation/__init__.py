"""Federation: the facilities that a deployment knows, its own and others."""

from . import facility

OPERATIONS = facility.OPERATIONS
QUESTIONS = facility.QUESTIONS
