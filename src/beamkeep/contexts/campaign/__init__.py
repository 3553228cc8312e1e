"""Campaign: runs that belong together."""

from . import campaign

OPERATIONS = campaign.OPERATIONS
QUESTIONS = campaign.QUESTIONS
