"""Data: what came of the work, where its copies are, and which of them must stay."""

from . import (
    acquisition,
    attestation,
    check,
    citing,
    custody,
    custody_reads,
    dataset,
    dataset_identifier,
    distribution,
    edition,
    scan,
)

OPERATIONS = (
    *dataset.OPERATIONS,
    *distribution.OPERATIONS,
    *custody.OPERATIONS,
    *acquisition.OPERATIONS,
    *attestation.OPERATIONS,
    *check.OPERATIONS,
    *scan.OPERATIONS,
    *dataset_identifier.OPERATIONS,
    *edition.OPERATIONS,
)
QUESTIONS = (
    *dataset.QUESTIONS,
    *distribution.QUESTIONS,
    *custody_reads.QUESTIONS,
    *acquisition.QUESTIONS,
    *attestation.QUESTIONS,
    *check.QUESTIONS,
    *edition.QUESTIONS,
    *citing.QUESTIONS,
)
