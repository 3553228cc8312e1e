"""Campaign: groups of runs."""

from . import campaign

OPERATIONS = campaign.OPERATIONS
QUESTIONS = campaign.QUESTIONS
