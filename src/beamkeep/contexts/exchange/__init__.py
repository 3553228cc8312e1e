"""Exchange: signed copies of records that are sent to peers and taken from them."""

from . import exporting, importing, ledger

OPERATIONS = (*exporting.OPERATIONS, *importing.OPERATIONS)
QUESTIONS = ledger.QUESTIONS
