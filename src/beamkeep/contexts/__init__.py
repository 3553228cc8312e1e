"""Every bounded context of the service, and so everything it can do."""

from . import access, trust

OPERATIONS = (*access.OPERATIONS, *trust.OPERATIONS)
QUESTIONS = (*access.QUESTIONS, *trust.QUESTIONS)
