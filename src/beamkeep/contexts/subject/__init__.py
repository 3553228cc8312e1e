"""Subject: the samples that a facility measures, and the assets they are mounted on."""

from . import subject

OPERATIONS = subject.OPERATIONS
QUESTIONS = subject.QUESTIONS
