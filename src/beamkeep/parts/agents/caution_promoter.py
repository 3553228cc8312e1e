"""CautionPromoter: turns notices that an agent proposed into cautions."""

from uuid import UUID

from beamkeep.contexts.caution.caution import CautionStatus, ListCautions, TargetKind, cautions
from beamkeep.contexts.caution.coverage import cautions_covering
from beamkeep.contexts.caution.promotion import (
    CONTEXT,
    NOTICE,
    SEVERITIES,
    CautionDraft,
    CautionProposalAlreadyPromotedError,
    PromoteCautionProposal,
    proposal,
)
from beamkeep.contexts.decision.decision import Decision
from beamkeep.contexts.seams.installation import Reader
from beamkeep.kernel import Record, Refusal
from beamkeep.schemas import Json

from .resolution import AgentIdentity, Resolution

PROMOTER = AgentIdentity(
    UUID("00000000-0000-7000-8000-000000000054"), "CautionPromoter", "CautionPromotion"
)
DEFERRED, CONFLICTED = "PromotionDeferred", "PromotionConflicted"


class PromotionRules(Record):
    """What a proposal must be to be promoted without a person."""

    min_confidence: float
    daily_most: int


class PromotionIds(Record):
    """The ids of the decision and of the caution that a promotion makes."""

    decision_id: UUID
    caution_id: UUID


class ProposedNotice(Record):
    """A proposal, and what its promotion depends on."""

    decision: Decision
    draft: CautionDraft | None
    """None if the recorded proposal is not a valid caution, or its target does not exist."""
    is_covered: bool = False
    """Whether a caution in effect covers the target."""
    was_retired: bool = False
    """Whether a caution of this target and category by this agent was retired."""
    promoted_lately: int = 0
    """The promotions of this agent in the last 24 hours."""


def react(seen: ProposedNotice, rules: PromotionRules, ids: PromotionIds) -> Resolution | None:
    """Return what to do about a proposal; None for a decision that proposes nothing."""
    decision, draft = seen.decision, seen.draft
    if decision.context != CONTEXT or decision.choice not in SEVERITIES:
        return None

    def resolved(choice: str, **inputs: Json) -> Resolution:
        return Resolution(
            ids.decision_id,
            choice,
            key=f"promotion:{decision.id}",
            inputs={"proposal_decision_id": str(decision.id), **inputs},
            parent_id=decision.id,
        )

    if decision.choice != NOTICE:
        return resolved(DEFERRED, reason="OperatorGated")
    if decision.confidence is None or decision.confidence < rules.min_confidence:
        return resolved(DEFERRED, reason="LowConfidence")
    if draft is None:
        return resolved(DEFERRED, reason="InvalidProposal")
    if seen.is_covered:
        return resolved(CONFLICTED, reason="TargetCovered")
    if seen.was_retired:
        return resolved(DEFERRED, reason="RetiredBefore")
    if seen.promoted_lately >= rules.daily_most:
        return resolved(DEFERRED, reason="TooMany")

    def denied(reason: str) -> Resolution:
        return resolved(DEFERRED, reason="Unauthorized")

    target: dict[str, Json] = {"kind": draft.target.kind, "id": str(draft.target.id)}
    made: dict[str, Json] = {
        "caution_id": str(ids.caution_id),
        "target": target,
        "severity": draft.severity,
    }
    promoted = resolved("Promote", **made)
    return Resolution.of(
        promoted,
        command=PromoteCautionProposal(decision_id=decision.id),
        new_id=ids.caution_id,
        denied=denied,
        refused={
            CautionProposalAlreadyPromotedError: resolved(CONFLICTED, reason="AlreadyPromoted")
        },
    )


async def proposed(decision_id: UUID, promoted_lately: int, read: Reader) -> ProposedNotice:
    """Return a proposal and everything that its promotion depends on."""
    found = await proposal(PromoteCautionProposal(decision_id=decision_id), read)
    draft = None if isinstance(found.draft, Refusal) else found.draft
    if draft is None or found.decision.choice != NOTICE:
        return ProposedNotice(found.decision, draft)
    procedure_id = draft.target_id if draft.target_kind is TargetKind.PROCEDURE else None
    asset_ids = [] if procedure_id else [draft.target_id]
    retired = ListCautions(
        status=frozenset({CautionStatus.RETIRED}),
        target_id=frozenset({draft.target_id}),
        category=draft.category,
        authored_by=PROMOTER.id,
    )
    # A retired caution stays retired, so the list may be believed; folded, it is on the basis.
    ended = await read.many(cautions, await read.matching(retired, most=1))
    return ProposedNotice(
        found.decision,
        draft,
        is_covered=bool(await cautions_covering(asset_ids, read, procedure_id)),
        was_retired=bool(ended),
        promoted_lately=promoted_lately,
    )
