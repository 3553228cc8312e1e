"""Supply: what work depends on without cease, such as beam, cryogen, vacuum or power."""

from . import supply

OPERATIONS = supply.OPERATIONS
QUESTIONS = supply.QUESTIONS
