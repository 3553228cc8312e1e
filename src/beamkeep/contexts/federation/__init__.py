"""Federation: the facilities that a deployment knows, its own and its peers."""

from . import facility

OPERATIONS = facility.OPERATIONS
QUESTIONS = facility.QUESTIONS
