"""Evidence of a decision: what the agent had been answered when it decided."""

from collections.abc import Sequence

from beamkeep.contexts.seams.evidence import (
    DecisionEvidence,
    ListDecisionEvidence,
    VerifiedEvidence,
    VerifyDecisionEvidence,
)
from beamkeep.contexts.seams.installation import Reader, present
from beamkeep.kernel import listed

from .decision import decisions


async def list_decision_evidence(
    query: ListDecisionEvidence, read: Reader
) -> Sequence[DecisionEvidence]:
    """Return what the agent had been answered."""
    return await present(read.readers.evidence).page(query, read)


async def verify_decision_evidence(
    query: VerifyDecisionEvidence, read: Reader
) -> Sequence[VerifiedEvidence]:
    """Return whether what the agent had been answered reads the same now."""
    return await present(read.readers.evidence).verify(query, read)


# fmt: off
QUESTIONS = (
    listed("GET /decisions/{decision_id}/evidence", ListDecisionEvidence, list_decision_evidence,
        DecisionEvidence, of=decisions, about="decision_id"),
    listed("GET /decisions/{decision_id}/evidence/verify", VerifyDecisionEvidence,
        verify_decision_evidence, VerifiedEvidence, of=decisions, about="decision_id"),
)
# fmt: on
