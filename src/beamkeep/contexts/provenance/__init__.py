"""Provenance: what an object came of, and what came of it."""

from . import lineage, provenance

OPERATIONS = ()
QUESTIONS = (*lineage.QUESTIONS, *provenance.QUESTIONS)
