from datetime import timedelta
from uuid import UUID

from beamkeep.contexts.proposal.proposal import (
    OPEN_PROPOSAL,
    OPERATIONS,
    ApproveProposal,
    Proposal,
    ProposalApproved,
    ProposalCannotApproveError,
    ProposalCannotRejectError,
    ProposalCannotWithdrawError,
    ProposalCarriedOut,
    ProposalExpiredError,
    ProposalNotYoursToApproveError,
    ProposalRegistered,
    ProposalRejected,
    ProposalStatus,
    ProposalWithdrawn,
    RejectProposal,
    WithdrawProposal,
    begin,
    claims_of,
    evolve,
)
from beamkeep.kernel import (
    ActorKind,
    ApprovedCommand,
    Claim,
    Event,
    SurfaceKind,
    WrittenStream,
    free,
    replace,
)
from beamkeep.schemas import JsonObject
from beamkeep.testing.past import CALL, LATER, ME, NOW
from beamkeep.testing.scenario import Example, Scenario, matrix

ID, PAUL, FAMILY = UUID(int=50), UUID(int=51), UUID(int=52)
ARGUMENTS: JsonObject = {"name": "Hexapod"}
registered = ProposalRegistered(
    NOW,
    ID,
    command_name="define_family",
    arguments=ARGUMENTS,
    digest="d" * 64,
    target=None,
    required_version=3,
    basis="b" * 64,
    would_write=("FamilyDefined",),
    note="For the night",
    proposed_by=PAUL,
    decision_id=None,
    decision_by_proposer=None,
    expires_at=LATER,
)
WRITTEN = (
    WrittenStream("Asset", UUID(int=2), 7),
    WrittenStream("Asset", UUID(int=3), 1),
    WrittenStream("Family", UUID(int=1), 1),
)
approved = ProposalApproved(NOW, ID, ME, written=WRITTEN)
rejected = ProposalRejected(NOW, ID, ME, reason="Not tonight")
withdrawn = ProposalWithdrawn(NOW, ID)
FREED = free(OPEN_PROPOSAL, PAUL, "d" * 64)
APPROVE = ApproveProposal(proposal_id=ID, basis="c" * 64)
REJECT = RejectProposal(proposal_id=ID, reason=" Not tonight ")
WITHDRAW = WithdrawProposal(proposal_id=ID)
BY_ME = replace(CALL, surface_kind=SurfaceKind.HTTP)
BY_PAUL = replace(BY_ME, principal_id=PAUL)


def given(*history: Event) -> Scenario:
    return Scenario(OPERATIONS, (registered, *history))


def carried_out(command: ApprovedCommand) -> object:
    """Write these streams, in no order, and answer 201."""
    return (WRITTEN[2], WRITTEN[1], WRITTEN[0]), 201, {"family_id": str(FAMILY)}


def test_an_approval_says_what_the_command_wrote_and_answered():
    given().when(APPROVE, call=BY_ME, outside=carried_out).then(
        approved, FREED, ProposalCarriedOut(ID, 201, {"family_id": str(FAMILY)})
    )


def test_the_command_is_the_one_that_was_proposed():
    approving = {each.command: each for each in OPERATIONS}[ApproveProposal]
    command = approving.rule(begin(registered), APPROVE, ARGUMENTS, BY_ME)
    assert isinstance(command, ApprovedCommand)
    assert (command.command_name, command.arguments) == ("define_family", ARGUMENTS)
    assert (command.proposed_by, command.required_version) == (PAUL, 3)
    assert command.basis == "c" * 64
    assert command.lapsed is ProposalCannotApproveError


def test_only_another_person_approves_and_only_over_http():
    for call in (
        BY_PAUL,
        replace(BY_ME, delegated=True),
        replace(BY_ME, surface_kind=SurfaceKind.MCP_STREAMABLE_HTTP),
        replace(BY_ME, surface_kind=SurfaceKind.MCP_STDIO),
        replace(BY_ME, surface_kind=None),
        replace(BY_ME, principal_kind=ActorKind.AGENT),
        replace(BY_ME, principal_kind=ActorKind.SERVICE_ACCOUNT),
    ):
        for history in ((), (rejected,)):
            given(*history).when(APPROVE, call=call).refused(ProposalNotYoursToApproveError)


def test_a_closed_proposal_is_not_approved_even_if_it_has_expired():
    late = replace(BY_ME, now=LATER)
    for closed in (approved, rejected, withdrawn):
        given(closed).when(APPROVE, call=late).refused(ProposalCannotApproveError)


def test_a_proposal_expires_at_the_time_it_names():
    just_before = replace(BY_ME, now=LATER - timedelta(microseconds=1))
    assert given().when(APPROVE, call=just_before, outside=carried_out).decided()
    given().when(APPROVE, call=replace(BY_ME, now=LATER)).refused(
        ProposalExpiredError, saying="2030-01-02 00:00:00 UTC"
    )


def test_an_expired_proposal_can_be_rejected_or_withdrawn():
    late = LATER + timedelta(days=1)
    given().when(REJECT, call=replace(BY_ME, now=late)).then(
        replace(rejected, occurred_at=late), FREED
    )
    given().when(WITHDRAW, call=replace(BY_PAUL, now=late)).then(
        replace(withdrawn, occurred_at=late), FREED
    )


def test_the_proposer_withdraws_and_others_reject():
    given().when(REJECT, call=BY_PAUL).refused(ProposalCannotRejectError, saying="withdraw it")
    given().when(WITHDRAW, call=BY_ME).refused(ProposalCannotWithdrawError, saying="reject it")


def test_a_rejection_and_a_withdrawal_are_possible_on_every_surface():
    for kind in (*SurfaceKind, None):
        assert given().when(REJECT, call=replace(BY_ME, surface_kind=kind)).decided()
        assert given().when(WITHDRAW, call=replace(BY_PAUL, surface_kind=kind)).decided()


def test_a_proposal_tells_how_it_was_closed():
    first = begin(registered)
    assert evolve(first, approved) == replace(
        first, status=ProposalStatus.APPROVED, closed_by=ME, written=WRITTEN
    )
    assert evolve(first, rejected) == replace(
        first, status=ProposalStatus.REJECTED, closed_by=ME, closed_reason="Not tonight"
    )
    assert evolve(first, withdrawn) == replace(
        first, status=ProposalStatus.WITHDRAWN, closed_by=PAUL
    )


def test_only_an_open_proposal_has_its_claim():
    first = begin(registered)
    (claim,) = claims_of(first)
    assert isinstance(claim.row, Claim)
    assert claim.row.holder == ID
    for closed in (approved, rejected, withdrawn):
        assert claims_of(evolve(first, closed)) == ()


STATUS = """
           approve_proposal  reject_proposal  withdraw_proposal
Open       Approved          Rejected         Withdrawn
Approved   -                 -                -
Rejected   -                 -                -
Withdrawn  -                 -                -
"""


def in_status(status: ProposalStatus) -> Proposal:
    return replace(begin(registered), status=status)


def test_the_status_moves_as_the_table_says():
    examples = [
        Example(APPROVE, ARGUMENTS, BY_ME),
        Example(REJECT, call=BY_ME),
        Example(WITHDRAW, call=BY_PAUL),
    ]
    matrix(OPERATIONS, ProposalStatus, examples, in_status, lambda it: it.status, STATUS)
