"""Evidence of a decision: what the agent had been answered when it decided."""

from collections.abc import Sequence

from beamkeep.contexts.seams.evidence import (
    DecisionEvidence,
    EvidenceReader,
    ListDecisionEvidence,
    VerifiedEvidence,
    VerifyDecisionEvidence,
)
from beamkeep.contexts.seams.installation import installation
from beamkeep.kernel import Reader, listed

from .decision import decisions


async def list_decision_evidence(
    query: ListDecisionEvidence, read: Reader
) -> Sequence[DecisionEvidence]:
    """Return what the agent had been answered."""
    return await _evidence(read).page(query, read)


async def verify_decision_evidence(
    query: VerifyDecisionEvidence, read: Reader
) -> Sequence[VerifiedEvidence]:
    """Return whether what the agent had been answered reads the same now."""
    return await _evidence(read).verify(query, read)


def _evidence(read: Reader) -> EvidenceReader:
    evidence = installation(read).evidence
    assert evidence is not None, "a service keeps evidence"  # noqa: S101
    return evidence


# fmt: off
QUESTIONS = (
    listed("GET /decisions/{decision_id}/evidence", ListDecisionEvidence, list_decision_evidence,
        DecisionEvidence, of=decisions, about="decision_id"),
    listed("GET /decisions/{decision_id}/evidence/verify", VerifyDecisionEvidence,
        verify_decision_evidence, VerifiedEvidence, of=decisions, about="decision_id"),
)
# fmt: on
