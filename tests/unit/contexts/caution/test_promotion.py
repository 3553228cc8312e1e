"""A caution that an agent proposed: who may make it, from what, and once."""

from uuid import UUID

from beamkeep.contexts.caution.caution import (
    CautionCannotSupersedeError,
    CautionCategory,
    CautionNotFoundError,
    CautionRegistered,
    CautionRetired,
    CautionSeverity,
    CautionSuperseded,
    RetireReason,
    Target,
    TargetKind,
)
from beamkeep.contexts.caution.promotion import (
    OPERATIONS,
    CautionPromotionOperatorGatedError,
    CautionProposalAlreadyPromotedError,
    CautionProposalMalformedError,
    CautionProposalNotActionableError,
    DecisionNotCautionProposalError,
    PromoteCautionProposal,
)
from beamkeep.contexts.decision.decision import (
    DecisionNotFoundError,
    DecisionPromoted,
    DecisionRegistered,
)
from beamkeep.contexts.equipment.asset import AssetNotFoundError, AssetRegistered, AssetTier
from beamkeep.contexts.operation.procedure import ProcedureNotFoundError
from beamkeep.kernel import (
    CLAIMS,
    ActorKind,
    Call,
    Claim,
    Event,
    Refusal,
    SideWrite,
    claim_key,
    replace,
)
from beamkeep.schemas import Json, JsonObject
from beamkeep.testing.past import ABSENT, CALL, ME, NEW, NOW
from beamkeep.testing.scenario import Scenario

DECISION, DRAFTER, OLD, OTHER = UUID(int=2), UUID(int=3), UUID(int=4), UUID(int=5)
STAGE, LENS = UUID(int=30), UUID(int=31)
ON_STAGE = Target(TargetKind.ASSET, STAGE)
PROMOTE = PromoteCautionProposal(decision_id=DECISION)
BY_AGENT = replace(CALL, principal_kind=ActorKind.AGENT)
BY_MACHINE = replace(CALL, principal_kind=ActorKind.SERVICE_ACCOUNT)

AROUND = tuple(
    AssetRegistered(NOW, id, "Asset", AssetTier.DEVICE, None, "ring", (), None, None, ())
    for id in (STAGE, LENS)
)
DRAFT: JsonObject = {
    "target_kind": "Asset",
    "target_id": str(STAGE),
    "category": "OperationalWindow",
    "severity": "Notice",
    "text": " It stalls after a soak. ",
    "workaround": " Wait ten minutes. ",
    "tags": ["thermal", " slow "],
    "propagate_to_children": True,
    "supersedes_caution_id": None,
}
REPLACING: JsonObject = {"supersedes_caution_id": str(OLD)}
promoted = CautionRegistered(
    *(NOW, NEW, ON_STAGE, CautionCategory.OPERATIONAL_WINDOW, CautionSeverity.NOTICE),
    *("It stalls after a soak.", "Wait ten minutes.", ("slow", "thermal")),
    *(None, True, ME, None, DECISION),
)
old = replace(promoted, caution_id=OLD, promoted_from_decision_id=None)
noted = DecisionPromoted(NOW, DECISION, NEW)
claimed = CLAIMS.insert(Claim("caution-promotion", claim_key(DECISION), NEW))


def decided(choice: str, inputs: JsonObject | None, context: str = "CautionProposal") -> Event:
    return DecisionRegistered(
        NOW, DECISION, DRAFTER, context, choice, None, None, None, None, None, None, (), inputs, ()
    )


def proposal(choice: str = "ProposeNotice", **changes: Json) -> Event:
    return decided(choice, {"proposed_caution": DRAFT | changes})


def given(*history: Event | SideWrite) -> Scenario:
    return Scenario(OPERATIONS, (*AROUND, *history))


def malformed(event: Event, *keys: str) -> None:
    """The proposal cannot be used, and these of its keys are named."""
    refusal = given(event, old).when(PROMOTE).refused(CautionProposalMalformedError)
    assert refusal.facts == {"keys": list(keys)}


def test_a_proposal_becomes_a_caution_of_its_promoter():
    given(proposal()).when(PROMOTE).then(promoted, noted, claimed)


def test_a_proposal_is_promoted_with_the_severity_it_names():
    for severity in CautionSeverity:
        choice = f"Propose{severity}"
        given(proposal(choice, severity=severity)).when(PROMOTE).then(
            replace(promoted, severity=severity), noted, claimed
        )


def test_a_proposal_may_put_a_caution_in_the_place_of_another():
    event = proposal("ProposeSupersede", severity="Warning", supersedes_caution_id=str(OLD))
    given(event, old).when(PROMOTE).then(
        CautionSuperseded(NOW, OLD, NEW),
        replace(promoted, severity=CautionSeverity.WARNING, parent_id=OLD),
        noted,
        claimed,
    )


def test_a_proposal_may_leave_out_its_tags_and_how_far_it_reaches():
    short = {n: v for n, v in DRAFT.items() if n not in {"tags", "propagate_to_children"}}
    given(decided("ProposeNotice", {"proposed_caution": short})).when(PROMOTE).then(
        replace(promoted, tags=(), propagate_to_children=False), noted, claimed
    )


def test_a_promoted_caution_does_not_end_by_itself_whatever_the_proposal_says():
    given(proposal(expires_at="2031-01-01T00:00:00Z")).when(PROMOTE).then(promoted, noted, claimed)


def test_a_decision_that_does_not_exist_is_not_promoted():
    given().when(PROMOTE).refused(DecisionNotFoundError)


def test_only_a_proposal_of_a_caution_is_promoted():
    draft: JsonObject = {"proposed_caution": DRAFT}
    for context in ("RunHold", "CautionPromotion", "cautionproposal"):
        given(decided("ProposeNotice", draft, context)).when(PROMOTE).refused(
            DecisionNotCautionProposalError, saying=f"is {context}; it must be CautionProposal."
        )


def test_where_nothing_is_proposed_nothing_is_promoted():
    for choice in ("NoAction", "CautionDraftConflicted"):
        given(proposal(choice)).when(PROMOTE).refused(
            CautionProposalNotActionableError,
            saying=f"The choice is {choice}; it must be ProposeNotice or ",
        )


def test_an_agent_promotes_notices_only():
    given(proposal()).when(PROMOTE, call=BY_AGENT).then(promoted, noted, claimed)
    for event in (
        proposal("ProposeCaution", severity="Caution"),
        proposal("ProposeWarning", severity="Warning"),
        proposal("ProposeSupersede", **REPLACING),
    ):
        given(event, old).when(PROMOTE, call=BY_AGENT).refused(CautionPromotionOperatorGatedError)


def test_a_service_account_promotes_like_a_person():
    event = proposal("ProposeWarning", severity="Warning")
    given(event).when(PROMOTE, call=BY_MACHINE).then(
        replace(promoted, severity=CautionSeverity.WARNING), noted, claimed
    )


def test_a_proposal_without_a_draft_is_not_promoted():
    malformed(decided("ProposeNotice", None), "proposed_caution")
    malformed(decided("ProposeNotice", {}), "proposed_caution")
    malformed(decided("ProposeNotice", {"proposed_caution": "stalls"}), "proposed_caution")


def test_a_draft_lacks_nothing_that_is_needed():
    for key in DRAFT.keys() - {"tags", "propagate_to_children"}:
        short = {name: value for name, value in DRAFT.items() if name != key}
        malformed(decided("ProposeNotice", {"proposed_caution": short}), key)


def test_a_draft_is_within_its_bounds():
    wrong: list[tuple[str, Json]] = [
        ("target_kind", "Run"),
        ("target_id", "stage"),
        ("category", "Weather"),
        ("severity", "Fatal"),
        ("text", " "),
        ("text", "x" * 2001),
        ("text", 7),
        ("workaround", " "),
        ("workaround", "x" * 2001),
        ("tags", "thermal"),
        ("tags", [" "]),
        ("tags", ["x" * 51]),
        ("tags", [str(number) for number in range(21)]),
        ("propagate_to_children", "yes"),
        ("supersedes_caution_id", "the old one"),
    ]
    for key, value in wrong:
        malformed(decided("ProposeNotice", {"proposed_caution": DRAFT | {key: value}}), key)


def test_everything_wrong_with_a_draft_is_named():
    malformed(proposal(text="", category="Weather"), "category", "text")


def test_a_draft_is_as_severe_as_the_choice_says():
    malformed(proposal("ProposeNotice", severity="Caution"), "severity")
    malformed(proposal("ProposeWarning", severity="Notice"), "severity")


def test_a_draft_supersedes_a_caution_just_where_the_choice_says_so():
    malformed(proposal("ProposeSupersede"), "supersedes_caution_id")
    malformed(proposal("ProposeNotice", **REPLACING), "supersedes_caution_id")


def test_a_draft_about_a_procedure_reaches_nothing_below():
    malformed(proposal(target_kind="Procedure"), "propagate_to_children")


def test_a_draft_is_about_what_the_caution_it_supersedes_is_about():
    malformed(proposal("ProposeSupersede", target_id=str(LENS), **REPLACING), "target_id")


def test_what_a_draft_is_about_must_exist():
    given(proposal(target_id=str(ABSENT))).when(PROMOTE).refused(AssetNotFoundError)
    on_procedure = proposal(target_kind="Procedure", propagate_to_children=False)
    given(on_procedure).when(PROMOTE).refused(ProcedureNotFoundError)


def test_the_caution_that_a_draft_supersedes_must_exist():
    given(proposal("ProposeSupersede", **REPLACING)).when(PROMOTE).refused(CautionNotFoundError)


def test_a_proposal_is_promoted_once():
    held = replace(claimed, row=Claim("caution-promotion", claim_key(DECISION), OTHER))
    for call in (CALL, BY_AGENT):
        again = given(proposal(), held).when(PROMOTE, call=call)
        refusal = again.refused(CautionProposalAlreadyPromotedError, saying=f"caution {OTHER}.")
        assert refusal.facts == {"caution_id": OTHER}


def test_what_has_ended_is_not_superseded_by_a_promotion():
    ended = CautionRetired(NOW, OLD, RetireReason.RESOLVED)
    given(proposal("ProposeSupersede", **REPLACING), old, ended).when(PROMOTE).refused(
        CautionCannotSupersedeError
    )


def test_reasons_against_a_promotion_are_reported_in_order():
    nowhere: JsonObject = {"target_id": str(ABSENT), "supersedes_caution_id": str(ABSENT)}
    ended = CautionRetired(NOW, OLD, RetireReason.RESOLVED)
    held = replace(claimed, row=Claim("caution-promotion", claim_key(DECISION), OTHER))
    past = (old, ended, held)
    wrong: JsonObject = {"proposed_caution": DRAFT | {"text": ""} | nowhere}
    replacing = decided("ProposeSupersede", wrong)
    here = nowhere | {"target_id": str(STAGE)}
    told: list[tuple[Event, Call, type[Refusal]]] = [
        (decided("NoAction", wrong, "RunHold"), BY_AGENT, DecisionNotCautionProposalError),
        (decided("NoAction", wrong), BY_AGENT, CautionProposalNotActionableError),
        (replacing, BY_AGENT, CautionPromotionOperatorGatedError),
        (replacing, CALL, CautionProposalMalformedError),
        (proposal("ProposeSupersede", **nowhere), CALL, AssetNotFoundError),
        (proposal("ProposeSupersede", **here), CALL, CautionNotFoundError),
        (proposal("ProposeSupersede", **REPLACING), CALL, CautionProposalAlreadyPromotedError),
    ]
    for event, call, refusal in told:
        given(event, *past).when(PROMOTE, call=call).refused(refusal)
