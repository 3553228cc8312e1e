"""Proposal: a command that its caller may not make, for somebody else to approve."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Annotated
from uuid import UUID

from annotated_types import MaxLen, MinLen
from msgspec.json import encode

from beamkeep.contexts.decision.decision import decisions
from beamkeep.contexts.seams.belonging import GivenTeam, OfTeam
from beamkeep.contexts.seams.installation import Reader
from beamkeep.contexts.trust.belonging import OF_TEAM
from beamkeep.kernel import (
    CLAIMS,
    Accepted,
    ActorKind,
    Aggregate,
    ApprovedCommand,
    Axis,
    Blank,
    Call,
    Cannot,
    Claim,
    Command,
    Delete,
    DirectoryEntry,
    Event,
    Insert,
    Invalid,
    Listing,
    MayContainPersonalData,
    NotFound,
    ObjectScope,
    Outcome,
    Period,
    Preview,
    Record,
    Refusal,
    Replace,
    Reply,
    Sources,
    SurfaceKind,
    WrittenStream,
    claim,
    claim_key,
    free,
    reads,
    replace,
)
from beamkeep.kernel.values import LAST, FreeText, Reason, Trimmed
from beamkeep.schemas import Json, JsonObject

OPEN_PROPOSAL = "open-proposal"
MOST_BYTES = 65_536
DECISION = "decided_by_decision_id"


class ProposalStatus(StrEnum):
    OPEN = "Open"
    APPROVED = "Approved"
    REJECTED = "Rejected"
    WITHDRAWN = "Withdrawn"


# Events are stored for ever: add a field with a default; never rename or drop one.
class ProposalEvent(Event):
    proposal_id: UUID


class ProposalRegistered(ProposalEvent):
    """Proposed."""

    command_name: str
    arguments: Annotated[JsonObject, MayContainPersonalData()]
    digest: str
    target: WrittenStream | None
    required_version: int | None
    basis: str
    would_write: tuple[str, ...]
    note: FreeText | None
    proposed_by: UUID
    decision_id: UUID | None
    decision_by_proposer: bool | None
    expires_at: datetime
    team_id: UUID | None = None
    visit_id: UUID | None = None


class ProposalApproved(ProposalEvent):
    approved_by: UUID
    written: tuple[WrittenStream, ...]


class ProposalRejected(ProposalEvent):
    rejected_by: UUID
    reason: FreeText


class ProposalWithdrawn(ProposalEvent): ...


type ProposalClosed = ProposalApproved | ProposalRejected | ProposalWithdrawn


class ProposalNotFoundError(NotFound): ...


class InvalidProposalReasonError(Blank): ...


class InvalidProposalArgumentsError(Invalid):
    """The arguments of a proposed command have at most 65,536 bytes."""


class ProposalAlreadyOpenError(Cannot):
    """You have proposed the same command with the same arguments, and that proposal is open."""


class ProposalTooManyOpenError(Cannot):
    """You have too many open proposals. Withdraw some, or wait until they are decided."""


class ProposalNotYoursToApproveError(Refusal, status=403):
    """Only a person who calls over HTTP with their own token can approve, and not the proposer."""


class ProposalCannotApproveError(Cannot):
    """Only an open proposal whose proposer could still make it can be approved."""


class ProposalExpiredError(Cannot):
    """The proposal has expired. Ask the proposer to propose the command again."""


class ProposalCannotRejectError(Cannot):
    """Only an open proposal can be rejected, and not by its proposer."""


class ProposalCannotWithdrawError(Cannot):
    """Only an open proposal can be withdrawn, and only by its proposer."""


S = ProposalStatus
STATUS: Axis[ProposalStatus, ProposalClosed] = Axis(
    "status",
    # event, allowed from, leads to, refused with
    (ProposalApproved, {S.OPEN}, S.APPROVED, ProposalCannotApproveError),
    (ProposalRejected, {S.OPEN}, S.REJECTED, ProposalCannotRejectError),
    (ProposalWithdrawn, {S.OPEN}, S.WITHDRAWN, ProposalCannotWithdrawError),
)


class Proposal(Record):
    """A proposal without arguments and note, which stay in its first event."""

    id: UUID
    command_name: str
    digest: str
    target: WrittenStream | None
    required_version: int | None
    basis: str
    would_write: tuple[str, ...]
    proposed_by: UUID
    decision_id: UUID | None
    decision_by_proposer: bool | None
    expires_at: datetime
    status: ProposalStatus = ProposalStatus.OPEN
    closed_by: UUID | None = None
    closed_reason: str | None = None
    written: tuple[WrittenStream, ...] = ()
    """The streams that the approval wrote."""
    team_id: UUID | None = None
    visit_id: UUID | None = None


def begin(event: ProposalRegistered) -> Proposal:
    return Proposal.of(event, id=event.proposal_id)


def evolve(proposal: Proposal, event: ProposalClosed) -> Proposal:
    closed = replace(proposal, status=STATUS.after(event))
    match event:
        case ProposalApproved():
            return replace(closed, closed_by=event.approved_by, written=event.written)
        case ProposalRejected():
            return replace(closed, closed_by=event.rejected_by, closed_reason=event.reason)
        case ProposalWithdrawn():
            return replace(closed, closed_by=proposal.proposed_by)


class RegisterProposal(GivenTeam):
    """A command that was decided as its proposer, in place of what it would have written."""

    command_name: str
    arguments: dict[str, Json]
    digest: str
    target: WrittenStream | None
    required_version: int | None
    basis: str
    would_write: tuple[str, ...]
    note: Annotated[str, MinLen(1), MaxLen(500)] | None


class ApproveProposal(Command):
    proposal_id: UUID
    basis: Annotated[str, MinLen(64), MaxLen(64)] | None = None
    """The basis that get_proposal showed under now. If it has changed, the approval is refused."""


class RejectProposal(Command):
    proposal_id: UUID
    reason: Annotated[Reason, Trimmed(InvalidProposalReasonError)]


class WithdrawProposal(Command):
    proposal_id: UUID


class ProposalMade(Accepted):
    """The answer to a command that was proposed; the id is that of the new proposal."""


class ProposalCarriedOut(Reply):
    """The answer to an approval."""

    proposal_id: UUID
    status: int
    """The status that the command answered."""
    answer: JsonObject | None
    """What the command answered."""


class EarlierProposals(Record):
    """What the proposer has proposed before, and what the deployment allows."""

    same: Proposal | None
    """The proposal of the same command that is not closed."""
    open_count: int
    most: int
    lives: timedelta
    own_decision: bool | None


async def earlier_proposals(command: RegisterProposal, read: Reader) -> EarlierProposals:
    me, here = read.principal_id, read.facts
    rows = await read.rows(CLAIMS, scope=OPEN_PROPOSAL, key=claim_key(me, command.digest))
    holder = rows[0].holder if rows else None
    most = here.proposals_open_most
    found = await read.matching(ListProposals(proposed_by=me, open=True), most=most)
    decision_id = _decision_id(command.arguments)
    own = await read.visible(decisions, [decision_id], ObjectScope.OWN) if decision_id else ()
    return EarlierProposals(
        same=await read.one(proposals, holder) if holder else None,
        open_count=len(found),
        most=most,
        lives=timedelta(hours=here.proposal_ttl_hours),
        own_decision=decision_id in own if decision_id else None,
    )


async def first_event(proposal: Proposal, command: ApproveProposal, read: Reader) -> JsonObject:
    """Return the arguments of a proposal."""
    return (await _registered([proposal.id], read))[proposal.id].arguments


def register_proposal(
    command: RegisterProposal, given: EarlierProposals, call: Call
) -> list[ProposalRegistered | ProposalWithdrawn | Insert | Replace | ProposalMade]:
    """Propose a command, for somebody else to approve."""
    if (size := len(encode(command.arguments))) > MOST_BYTES:
        raise InvalidProposalArgumentsError(f"There are {size} bytes.")
    me, same = call.principal_id, given.same
    if same and same.status is S.OPEN and call.now < same.expires_at:
        detail = f"It is proposal {same.id}."
        raise ProposalAlreadyOpenError(detail, proposal_id=str(same.id))
    if given.open_count >= given.most:
        raise ProposalTooManyOpenError(f"At most {given.most} can be open.")
    registered = ProposalRegistered.of(
        command,
        occurred_at=call.now,
        proposal_id=call.new_id,
        proposed_by=me,
        decision_id=_decision_id(command.arguments),
        decision_by_proposer=given.own_decision,
        expires_at=call.now + given.lives,
    )
    key, holder = (OPEN_PROPOSAL, me, command.digest), call.new_id
    if same is None:
        taken = claim(*key, holder=holder, loser=ProposalAlreadyOpenError)
        return [registered, taken, ProposalMade()]
    # The expired one is withdrawn in the same append, so that only one can take its place.
    moved = CLAIMS.replace(Claim(OPEN_PROPOSAL, claim_key(me, command.digest), holder))
    return [registered, ProposalWithdrawn(call.now, same.id), moved, ProposalMade()]


def approve_proposal(
    proposal: Proposal, command: ApproveProposal, given: JsonObject, call: Call
) -> list[ProposalApproved | Delete | ProposalCarriedOut] | ApprovedCommand:
    """Approve a proposal and carry out its command in your own name."""
    if call.surface_kind is not SurfaceKind.HTTP or call.delegated:
        raise ProposalNotYoursToApproveError
    if call.principal_kind is not ActorKind.HUMAN or call.principal_id == proposal.proposed_by:
        raise ProposalNotYoursToApproveError
    STATUS.require(proposal.status, ProposalApproved)
    if proposal.expires_at <= call.now:
        raise ProposalExpiredError(f"It expired at {proposal.expires_at:%Y-%m-%d %H:%M:%S} UTC.")

    def carried_out(
        streams: Sequence[WrittenStream], status: int, answer: Mapping[str, Json] | None
    ) -> Outcome:
        written = tuple(sorted(streams, key=lambda each: (each.stream_type, each.stream_id)))
        event = ProposalCarriedOut(proposal.id, status, dict(answer) if answer else None)
        me = call.principal_id
        return [
            ProposalApproved(call.now, proposal.id, me, written=written),
            _freed(proposal),
            event,
        ]

    return ApprovedCommand(
        command_name=proposal.command_name,
        arguments=given,
        proposed_by=proposal.proposed_by,
        required_version=proposal.required_version,
        basis=command.basis,
        lapsed=ProposalCannotApproveError,
        then=carried_out,
    )


def reject_proposal(
    proposal: Proposal, command: RejectProposal, call: Call
) -> list[ProposalRejected | Delete]:
    """Reject a proposal, so that its command is not carried out."""
    if call.principal_id == proposal.proposed_by:
        raise ProposalCannotRejectError("You proposed it; withdraw it instead.")
    rejected = ProposalRejected(call.now, proposal.id, call.principal_id, reason=command.reason)
    return [STATUS.allow(proposal.status, rejected), _freed(proposal)]


def withdraw_proposal(
    proposal: Proposal, command: WithdrawProposal, call: Call
) -> list[ProposalWithdrawn | Delete]:
    """Withdraw your own proposal."""
    if call.principal_id != proposal.proposed_by:
        raise ProposalCannotWithdrawError("Somebody else proposed it; reject it instead.")
    withdrawn = ProposalWithdrawn(call.now, proposal.id)
    return [STATUS.allow(proposal.status, withdrawn), _freed(proposal)]


def claims_of(proposal: Proposal) -> tuple[Insert, ...]:
    """Return the claim of a proposal that is not closed."""
    if proposal.status is not S.OPEN:
        return ()
    key = OPEN_PROPOSAL, proposal.proposed_by, proposal.digest
    return (claim(*key, holder=proposal.id, loser=ProposalAlreadyOpenError),)


def _freed(proposal: Proposal) -> Delete:
    return free(OPEN_PROPOSAL, proposal.proposed_by, proposal.digest)


def _decision_id(arguments: Mapping[str, Json]) -> UUID | None:
    """Return the decision that a command follows; its own parsing has checked that it is an id."""
    named = arguments.get(DECISION)
    return UUID(named) if isinstance(named, str) else None


async def _registered(ids: Sequence[UUID], read: Reader) -> dict[UUID, ProposalRegistered]:
    """Return the first event of each proposal."""
    events = await read.latest(proposals, ids, [ProposalRegistered], before=LAST)
    return {id: event for id, event in events.items() if isinstance(event, ProposalRegistered)}


def team_of(event: ProposalRegistered) -> Sources:
    # A command without a target is about nothing of a team but what it would create.
    id = event.target.stream_id if event.target else event.proposal_id
    return Sources(part_of=(id,), is_found=True)


proposals = Aggregate(
    "Proposal", begin, evolve, absent=ProposalNotFoundError, axes=(STATUS,), team=team_of
)

# Not an operation of the catalogue: the path sends it in place of the command that is proposed.
REGISTERING = proposals.creates(
    "INTERNAL /proposals", RegisterProposal, register_proposal, *OF_TEAM, given=earlier_proposals
)

# fmt: off
APPROVING = proposals.changes("POST /proposals/{proposal_id}/approve", ApproveProposal,
    approve_proposal, ProposalNotYoursToApproveError, ProposalCannotApproveError,
    ProposalExpiredError, given=first_event)
OPERATIONS = (
    APPROVING,
    proposals.changes("POST /proposals/{proposal_id}/reject", RejectProposal, reject_proposal,
        ProposalCannotRejectError, destructive=True),
    proposals.changes("POST /proposals/{proposal_id}/withdraw", WithdrawProposal,
        withdraw_proposal, ProposalCannotWithdrawError),
)
# fmt: on


class ListProposals(OfTeam, Listing):
    """List proposals, newest first."""

    status: frozenset[ProposalStatus] | None = None
    open: bool | None = None
    """Only proposals that can still be approved (true) or that cannot (false)."""
    command_name: Annotated[str, MaxLen(100)] | None = None
    proposed_by: UUID | None = None
    target_id: UUID | None = None
    """Only proposals that would change this object."""
    decision_id: UUID | None = None
    """Only proposals that follow this decision."""


class ShownProposal(Record):
    arguments: JsonObject
    note: str | None
    """What the proposer says; nobody has checked it."""
    now: Preview | None
    """What an approval by you would do at this moment; null for an earlier state and for a
    proposal that is closed."""


async def shown_proposals(ids: Sequence[UUID], read: Reader) -> Mapping[UUID, ShownProposal]:
    """Return what was proposed, and what it would do now."""
    shown: dict[UUID, ShownProposal] = {}
    for id, first in (await _registered(ids, read)).items():
        is_open = not read.shows_past and (await read.one(proposals, id)).status is S.OPEN
        now = await read.preview(id) if is_open else None
        shown[id] = ShownProposal(first.arguments, first.note, now)
    return shown


# fmt: off
QUESTIONS = reads("/proposals", proposals, ListProposals, shown_with=shown_proposals,
    composed_of=("Decision",), version=2,
    period=Period("open", status=S.OPEN, since=None, until="expires_at"),
    facets={"target_id": lambda it: (it.target.stream_id,) if it.target else ()},
    milestones={"closed_at": (ProposalApproved, ProposalRejected, ProposalWithdrawn)},
    directory=DirectoryEntry(lambda it: it.command_name, status=lambda it: it.status))
# fmt: on
