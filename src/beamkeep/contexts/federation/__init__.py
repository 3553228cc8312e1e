"""Federation: facilities, their keys, and what is exchanged with other facilities."""

from . import credential, facility, permit, seal, trust_anchor

GIVES_KEYS = (
    *trust_anchor.OPERATIONS,
    *credential.OPERATIONS,
    *permit.OPERATIONS,
    *seal.OPERATIONS,
)
OPERATIONS = (*facility.OPERATIONS, *GIVES_KEYS)
QUESTIONS = (
    *facility.QUESTIONS,
    *credential.QUESTIONS,
    *permit.QUESTIONS,
    *seal.QUESTIONS,
)
