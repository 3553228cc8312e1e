"""Promotion: the registration of a caution that an agent proposed in a decision."""

from typing import Annotated
from uuid import UUID

from annotated_types import MaxLen
from pydantic import StrictBool, StringConstraints, ValidationError

from beamkeep.contexts.decision.decision import (
    Decision,
    DecisionNotFoundError,
    DecisionPromoted,
    decisions,
)
from beamkeep.contexts.equipment.asset import AssetNotFoundError
from beamkeep.contexts.operation.procedure import ProcedureNotFoundError
from beamkeep.contexts.seams.installation import Reader
from beamkeep.kernel import (
    CLAIMS,
    ActorKind,
    Call,
    Cannot,
    Claim,
    Command,
    Insert,
    NotFound,
    Record,
    Refusal,
    SideWrite,
    claim_key,
    replace,
)

from . import caution
from .caution import Caution, CautionRegistered, CautionSeverity, Target, TargetKind, cautions

CONTEXT, DRAFT = "CautionProposal", "proposed_caution"
PROMOTIONS = "caution-promotion"
NOTICE = "ProposeNotice"
SEVERITIES: dict[str, CautionSeverity | None] = {
    NOTICE: CautionSeverity.NOTICE,
    "ProposeCaution": CautionSeverity.CAUTION,
    "ProposeWarning": CautionSeverity.WARNING,
    "ProposeSupersede": None,
}
"""The choices that propose a caution, with its severity; ProposeSupersede has none."""


class DecisionNotCautionProposalError(Cannot):
    """The decision is not a caution proposal."""


class CautionProposalNotActionableError(Cannot):
    """The choice of the decision proposes no caution."""


class CautionPromotionOperatorGatedError(Refusal, status=403):
    """An agent can promote only ProposeNotice decisions; ask a person to promote this one."""


class CautionProposalMalformedError(Cannot):
    """The recorded proposal is not a valid caution."""


class CautionProposalAlreadyPromotedError(Cannot):
    """The proposal has already been promoted."""


class PromoteCautionProposal(Command):
    decision_id: UUID


STRIPPED = StringConstraints(strip_whitespace=True, min_length=1)
type DraftText = Annotated[str, STRIPPED, MaxLen(2000)]
type DraftTag = Annotated[str, STRIPPED, MaxLen(50)]


class CautionDraft(caution.CautionContent, extra="ignore"):
    """A caution as a proposal carries it; the caller cannot correct its faults."""

    target_kind: TargetKind
    target_id: UUID
    text: DraftText
    workaround: DraftText
    tags: Annotated[frozenset[DraftTag], MaxLen(caution.MOST_TAGS)] = frozenset()
    propagate_to_children: StrictBool = False
    supersedes_caution_id: UUID | None

    @property
    def target(self) -> Target:
        return Target(self.target_kind, self.target_id)


class CautionProposal(Record):
    """A decision that proposes a caution, and the state that its promotion depends on."""

    decision: Decision
    draft: CautionDraft | Refusal
    """The draft, or its fault, which is raised after the check of who may promote it."""
    superseded: Caution | None = None
    promoted_to: UUID | None = None


async def proposal(command: PromoteCautionProposal, read: Reader) -> CautionProposal:
    decision = await read.one(decisions, command.decision_id, to_show=True)
    claims = await read.rows(CLAIMS, scope=PROMOTIONS, key=claim_key(decision.id))
    promoted_to = claims[0].holder if claims else None
    try:
        draft, superseded = _draft_of(decision), None
        await caution.require_target(draft.target, read)
        if draft.supersedes_caution_id:
            superseded = await read.one(cautions, draft.supersedes_caution_id, to_show=True)
            if superseded.target != draft.target:
                raise _malformed("target_id")
    except (CautionProposalMalformedError, NotFound) as refusal:
        return CautionProposal(decision, refusal)
    return CautionProposal(decision, draft, superseded=superseded, promoted_to=promoted_to)


def promote_caution_proposal(
    command: PromoteCautionProposal, given: CautionProposal, call: Call
) -> list[caution.CautionSuperseded | CautionRegistered | DecisionPromoted | SideWrite]:
    """Register the caution that an agent proposed in a decision."""
    decision, draft, old = given.decision, given.draft, given.superseded
    if decision.context != CONTEXT:
        detail = f"The context of the decision is {decision.context}; it must be {CONTEXT}."
        raise DecisionNotCautionProposalError(detail)
    if decision.choice not in SEVERITIES:
        detail = f"The choice is {decision.choice}; it must be {' or '.join(SEVERITIES)}."
        raise CautionProposalNotActionableError(detail)
    if call.principal_kind is ActorKind.AGENT and decision.choice != NOTICE:
        raise CautionPromotionOperatorGatedError
    if isinstance(draft, Refusal):
        raise draft
    if given.promoted_to:
        detail = f"The proposal became caution {given.promoted_to}."
        raise CautionProposalAlreadyPromotedError(detail, caution_id=given.promoted_to)
    made = caution.registered(draft, draft.target, None, call)
    new = replace(made, promoted_from_decision_id=decision.id)
    events = caution.superseding(old, new) if old else (new,)
    promoted = DecisionPromoted(call.now, decision.id, new.caution_id)
    return [*events, promoted, *claims_of(caution.begin(new))]


def claims_of(made: Caution) -> tuple[Insert, ...]:
    """Return the claim on the proposal of a promoted caution."""
    decision_id = made.promoted_from_decision_id
    # The loser of the claim decides again, and then finds the caution that holds the claim.
    claim = CLAIMS.insert(Claim(PROMOTIONS, claim_key(decision_id), made.id))
    return (claim,) if decision_id else ()


def _draft_of(decision: Decision) -> CautionDraft:
    try:
        draft = CautionDraft.model_validate((decision.inputs or {}).get(DRAFT))
    except ValidationError as error:
        faulty = (str(at[0]) for fault in error.errors() if (at := fault["loc"]))
        raise _malformed(*faulty) from None
    severity = SEVERITIES.get(decision.choice)
    if severity not in {None, draft.severity}:
        raise _malformed("severity")
    if (draft.supersedes_caution_id is None) == (severity is None):
        raise _malformed("supersedes_caution_id")
    if draft.propagate_to_children and draft.target_kind is TargetKind.PROCEDURE:
        raise _malformed("propagate_to_children")
    return draft


def _malformed(*found: str) -> CautionProposalMalformedError:
    keys = sorted({*found}) or [DRAFT]
    detail = f"Invalid or missing: {', '.join(keys)}. Register a caution instead."
    return CautionProposalMalformedError(detail, keys=keys)


# fmt: off
OPERATIONS = (
    cautions.creates("POST /decisions/{decision_id}/promote", PromoteCautionProposal,
        promote_caution_proposal, DecisionNotFoundError, DecisionNotCautionProposalError,
        CautionProposalNotActionableError, CautionPromotionOperatorGatedError,
        CautionProposalMalformedError, AssetNotFoundError, ProcedureNotFoundError,
        caution.CautionNotFoundError, CautionProposalAlreadyPromotedError,
        caution.CautionCannotSupersedeError, given=proposal, title="Promote a caution proposal"),
)
# fmt: on
