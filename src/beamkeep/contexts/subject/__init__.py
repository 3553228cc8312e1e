"""Subject: what the facility measures, and where it sits."""

from . import subject

OPERATIONS = subject.OPERATIONS
QUESTIONS = subject.QUESTIONS
