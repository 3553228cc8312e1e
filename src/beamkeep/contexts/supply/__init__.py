"""Supply: continuous resources that work needs, such as beam, cryogen, vacuum or power."""

from . import supply

OPERATIONS = supply.OPERATIONS
QUESTIONS = supply.QUESTIONS
