"""Every bounded context of the service, and so everything it can do."""

from beamkeep.kernel import Catalogue

from . import access, enclosure, equipment, federation, supply, trust

OPERATIONS = (
    *access.OPERATIONS,
    *trust.OPERATIONS,
    *federation.OPERATIONS,
    *enclosure.OPERATIONS,
    *equipment.OPERATIONS,
    *supply.OPERATIONS,
)
QUESTIONS = (
    *access.QUESTIONS,
    *trust.QUESTIONS,
    *federation.QUESTIONS,
    *enclosure.QUESTIONS,
    *equipment.QUESTIONS,
    *supply.QUESTIONS,
)
CATALOGUE = Catalogue(OPERATIONS, QUESTIONS)
