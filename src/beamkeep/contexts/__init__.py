"""Every bounded context of the service, and so everything it can do."""

from beamkeep.kernel import Catalogue

from . import access, trust

OPERATIONS = (*access.OPERATIONS, *trust.OPERATIONS)
QUESTIONS = (*access.QUESTIONS, *trust.QUESTIONS)
CATALOGUE = Catalogue(OPERATIONS, QUESTIONS)
