"""Promotion: a caution that an agent proposed in a decision, made by whoever agrees."""

from typing import Annotated
from uuid import UUID

from annotated_types import MaxLen
from pydantic import StrictBool, StringConstraints, ValidationError

from beamkeep.contexts.decision.decision import Decision, DecisionNotFoundError, decisions
from beamkeep.contexts.equipment.asset import AssetNotFoundError
from beamkeep.contexts.run.procedure import ProcedureNotFoundError
from beamkeep.kernel import (
    CLAIMS,
    ActorKind,
    Call,
    Cannot,
    Claim,
    Command,
    Insert,
    NotFound,
    Reader,
    Record,
    Refusal,
    SideWrite,
    claim_key,
    replace,
)

from .caution import (
    MOST_TAGS,
    Caution,
    CautionCannotSupersedeError,
    CautionNotFoundError,
    CautionRegistered,
    CautionSeverity,
    CautionSuperseded,
    Target,
    TargetKind,
    Wording,
    begin,
    cautions,
    in_place_of,
    registered,
    require_target,
)

CONTEXT, DRAFT = "CautionProposal", "proposed_caution"
PROMOTIONS = "caution-promotion"
NOTICE = "ProposeNotice"
SEVERITIES: dict[str, CautionSeverity | None] = {
    NOTICE: CautionSeverity.NOTICE,
    "ProposeCaution": CautionSeverity.CAUTION,
    "ProposeWarning": CautionSeverity.WARNING,
    "ProposeSupersede": None,
}
"""The choices that propose something, and how severe each says it is; the last does not."""


class DecisionNotCautionProposalError(Cannot):
    """The decision proposes no caution."""


class CautionProposalNotActionableError(Cannot):
    """The decision is that there is nothing to do."""


class CautionPromotionOperatorGatedError(Refusal, status=403):
    """An agent promotes notices only. Let a person decide on this one."""


class CautionProposalMalformedError(Cannot):
    """The proposal on record cannot be made a caution; register one instead."""


class CautionProposalAlreadyPromotedError(Cannot):
    """The proposal has been made a caution before."""


class PromoteCautionProposal(Command):
    decision_id: UUID


type Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=2000)]
type Tag = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=50)]


class Draft(Wording, extra="ignore"):
    """A caution as a proposal carries it; what is wrong with it the caller cannot mend."""

    target_kind: TargetKind
    target_id: UUID
    text: Text
    workaround: Text
    tags: Annotated[frozenset[Tag], MaxLen(MOST_TAGS)] = frozenset()
    propagate_to_children: StrictBool = False
    supersedes_caution_id: UUID | None

    @property
    def target(self) -> Target:
        return Target(self.target_kind, self.target_id)


class Proposed(Record):
    """What a promotion rests on."""

    decision: Decision
    draft: Draft | Refusal
    """Or why there is none that can be used, which is told after who may promote it."""
    superseded: Caution | None = None
    promoted_to: UUID | None = None


async def proposed(command: PromoteCautionProposal, read: Reader) -> Proposed:
    decision = await read.one(decisions, command.decision_id)
    claims = await read.rows(CLAIMS, scope=PROMOTIONS, key=claim_key(decision.id))
    promoted_to = claims[0].holder if claims else None
    try:
        draft, superseded = _draft_of(decision), None
        await require_target(draft.target, read)
        if draft.supersedes_caution_id:
            superseded = await read.one(cautions, draft.supersedes_caution_id)
            if superseded.target != draft.target:
                raise _malformed("target_id")
    except (CautionProposalMalformedError, NotFound) as refusal:
        return Proposed(decision, refusal)
    return Proposed(decision, draft, superseded, promoted_to)


def promote_caution_proposal(
    command: PromoteCautionProposal, given: Proposed, call: Call
) -> list[CautionSuperseded | CautionRegistered | SideWrite]:
    """Make the caution that an agent proposed, in the place of the one it names, if any."""
    decision, draft, old = given.decision, given.draft, given.superseded
    if decision.context != CONTEXT:
        raise DecisionNotCautionProposalError(f"It is about {decision.context}.")
    if decision.choice not in SEVERITIES:
        raise CautionProposalNotActionableError(f"Namely, {decision.choice}.")
    if call.principal_kind is ActorKind.AGENT and decision.choice != NOTICE:
        raise CautionPromotionOperatorGatedError
    if isinstance(draft, Refusal):
        raise draft
    if given.promoted_to:
        raise CautionProposalAlreadyPromotedError(
            f"It is caution {given.promoted_to}.", caution_id=given.promoted_to
        )
    new = registered(draft, draft.target, None, call)
    new = replace(new, promoted_from_decision_id=decision.id)
    return [*(in_place_of(old, new) if old else (new,)), *claims_of(begin(new))]


def claims_of(caution: Caution) -> tuple[Insert, ...]:
    """The proposal it was made of, if it was."""
    proposal = caution.promoted_from_decision_id
    # Whoever loses the claim decides again, and then finds the caution that it holds.
    made = CLAIMS.insert(Claim(PROMOTIONS, claim_key(proposal), caution.id))
    return (made,) if proposal else ()


def _draft_of(decision: Decision) -> Draft:
    try:
        draft = Draft.model_validate((decision.inputs or {}).get(DRAFT))
    except ValidationError as error:
        raise _malformed(
            *(str(at[0]) for fault in error.errors() if (at := fault["loc"]))
        ) from None
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
    return CautionProposalMalformedError(f"Look at {', '.join(keys)}.", keys=keys)


# fmt: off
OPERATIONS = (
    cautions.creates("POST /decisions/{decision_id}/promote", PromoteCautionProposal,
        promote_caution_proposal, DecisionNotFoundError, DecisionNotCautionProposalError,
        CautionProposalNotActionableError, CautionPromotionOperatorGatedError,
        CautionProposalMalformedError, AssetNotFoundError, ProcedureNotFoundError,
        CautionNotFoundError, CautionProposalAlreadyPromotedError, CautionCannotSupersedeError,
        given=proposed),
)
# fmt: on
