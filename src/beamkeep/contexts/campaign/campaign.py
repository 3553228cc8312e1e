"""Campaign: a group of runs with a lead, whose members are fixed when it ends."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated
from uuid import UUID

from annotated_types import MaxLen, MinLen
from pydantic import Field

from beamkeep.contexts.access.actor import ActorNotFoundError, actors
from beamkeep.contexts.run import run
from beamkeep.contexts.run.run import Run, RunNotFoundError, runs
from beamkeep.contexts.seams.belonging import GivenTeam, OfTeam
from beamkeep.contexts.seams.installation import Reader
from beamkeep.contexts.seams.outside import outside_references
from beamkeep.contexts.subject.subject import SubjectNotFoundError, subjects
from beamkeep.contexts.trust.belonging import OF_TEAM, TeamsDifferError, require_one_team
from beamkeep.kernel import (
    Aggregate,
    Axis,
    Blank,
    Call,
    Cannot,
    Command,
    DirectoryEntry,
    Event,
    Invalid,
    Listing,
    NotFound,
    Record,
    Sources,
    reads,
    replace,
)
from beamkeep.kernel.values import (
    FreeText,
    Name,
    Reason,
    References,
    Tag,
    Trimmed,
)

MOST_TAGS = 20


class CampaignIntent(StrEnum):
    SERIES = "Series"
    SWEEP = "Sweep"
    COORDINATION = "Coordination"
    BLOCK = "Block"


class CampaignStatus(StrEnum):
    PLANNED = "Planned"
    ACTIVE = "Active"
    HELD = "Held"
    CLOSED = "Closed"
    ABANDONED = "Abandoned"


# Events are stored for ever: add a field with a default; never rename or drop one.
class CampaignEvent(Event):
    campaign_id: UUID


class CampaignRegistered(CampaignEvent):
    name: str
    intent: CampaignIntent
    lead_actor_id: UUID
    subject_id: UUID | None
    description: FreeText | None
    tags: tuple[FreeText, ...]
    external_refs: dict[str, str]
    team_id: UUID | None = None
    visit_id: UUID | None = None


class CampaignStarted(CampaignEvent): ...


class CampaignHeld(CampaignEvent):
    reason: FreeText


class CampaignResumed(CampaignEvent): ...


class CampaignClosed(CampaignEvent): ...


class CampaignAbandoned(CampaignEvent):
    reason: FreeText


class CampaignRunAdded(CampaignEvent):
    run_id: UUID


class CampaignRunRemoved(CampaignEvent):
    run_id: UUID
    reason: FreeText


type CampaignMoved = (
    CampaignStarted | CampaignHeld | CampaignResumed | CampaignClosed | CampaignAbandoned
)
type CampaignChanged = CampaignMoved | CampaignRunAdded | CampaignRunRemoved


class CampaignNotFoundError(NotFound): ...


class InvalidCampaignNameError(Blank): ...


class InvalidCampaignDescriptionError(Blank): ...


class InvalidCampaignTagsError(Invalid):
    """Campaign must have at most 20 tags, none of them blank."""


class InvalidCampaignExternalRefsError(Invalid):
    """Each outside reference must have a scheme, and a value without the scheme as prefix."""


class InvalidCampaignReasonError(Blank): ...


class CampaignCannotStartError(Cannot):
    """Only a planned campaign can be started."""


class CampaignCannotHoldError(Cannot):
    """Only an active campaign can be held."""


class CampaignCannotResumeError(Cannot):
    """Only a held campaign can be resumed."""


class CampaignCannotCloseError(Cannot):
    """Only a campaign that has started can be closed; abandon a planned campaign instead."""


class CampaignCannotAbandonError(Cannot):
    """Only a campaign that has not ended can be abandoned."""


class CampaignCannotAddRunError(Cannot):
    """Runs can be added only to a campaign that has not ended."""


class CampaignRunAlreadyMemberError(Cannot):
    """The run is already a member of this campaign."""


class RunAlreadyAssignedToCampaignError(Cannot):
    """A run can be a member of one campaign only; remove the run from the other campaign first."""


class CampaignCannotRemoveRunError(Cannot):
    """Runs can be removed only from a campaign that has not ended."""


class CampaignRunNotMemberError(Cannot):
    """The run is not a member of this campaign."""


S = CampaignStatus
OPEN = frozenset({S.PLANNED, S.ACTIVE, S.HELD})
"""The statuses in which members can change."""

STATUS: Axis[CampaignStatus, CampaignMoved] = Axis(
    "status",
    # event, allowed from, leads to, refused with
    (CampaignStarted, {S.PLANNED}, S.ACTIVE, CampaignCannotStartError),
    (CampaignHeld, {S.ACTIVE}, S.HELD, CampaignCannotHoldError),
    (CampaignResumed, {S.HELD}, S.ACTIVE, CampaignCannotResumeError),
    (CampaignClosed, {S.ACTIVE, S.HELD}, S.CLOSED, CampaignCannotCloseError),
    (CampaignAbandoned, OPEN, S.ABANDONED, CampaignCannotAbandonError),
)


class Campaign(Record):
    id: UUID
    name: str
    intent: CampaignIntent
    lead_actor_id: UUID
    subject_id: UUID | None
    description: str | None
    tags: frozenset[str]
    external_refs: Mapping[str, str]
    run_ids: frozenset[UUID] = frozenset()
    run_count: int = 0
    status: CampaignStatus = CampaignStatus.PLANNED
    last_status_reason: str | None = None
    team_id: UUID | None = None
    visit_id: UUID | None = None


def begin(event: CampaignRegistered) -> Campaign:
    return Campaign.of(event, id=event.campaign_id, tags=frozenset(event.tags))


def evolve(campaign: Campaign, event: CampaignChanged) -> Campaign:
    match event:
        case CampaignStarted() | CampaignResumed() | CampaignClosed():
            return replace(campaign, status=STATUS.after(event))
        case CampaignHeld() | CampaignAbandoned():
            return replace(campaign, status=STATUS.after(event), last_status_reason=event.reason)
        case CampaignRunAdded():
            return _with_members(campaign, campaign.run_ids | {event.run_id})
        case CampaignRunRemoved():
            return _with_members(campaign, campaign.run_ids - {event.run_id})


type Description = Annotated[str, MinLen(1), MaxLen(2000)]


class RegisterCampaign(GivenTeam):
    name: Annotated[Name, Trimmed(InvalidCampaignNameError)]
    intent: CampaignIntent
    """Series repeats over time, Sweep varies parameters, Coordination joins techniques or
    subjects, Block is a period of allotted time."""
    lead_actor_id: UUID
    subject_id: UUID | None = None
    """Main subject of the campaign; its runs may have other subjects."""
    description: Annotated[Description, Trimmed(InvalidCampaignDescriptionError)] | None = None
    tags: frozenset[Annotated[Tag, Trimmed(InvalidCampaignTagsError)]] = frozenset()
    """At most 20 tags."""
    external_refs: References = Field(default_factory=dict)
    """References to the campaign in other systems, by scheme, for example proposal; at most 20."""


class CampaignCommand(Command):
    campaign_id: UUID


class CampaignCommandWithReason(CampaignCommand):
    reason: Annotated[Reason, Trimmed(InvalidCampaignReasonError)]


class StartCampaign(CampaignCommand): ...


class HoldCampaign(CampaignCommandWithReason): ...


class ResumeCampaign(CampaignCommand): ...


class CloseCampaign(CampaignCommand): ...


class AbandonCampaign(CampaignCommandWithReason): ...


class AddRunToCampaign(CampaignCommand):
    run_id: UUID


class RemoveRunFromCampaign(CampaignCommandWithReason):
    run_id: UUID


async def lead_and_subject(command: RegisterCampaign, read: Reader) -> None:
    await read.one(actors, command.lead_actor_id)
    if command.subject_id:
        await read.one(subjects, command.subject_id)


def register_campaign(
    command: RegisterCampaign, given: None, call: Call
) -> list[CampaignRegistered]:
    """Register a planned campaign with the actor who leads it."""
    if len(command.tags) > MOST_TAGS:
        raise InvalidCampaignTagsError(f"There are {len(command.tags)} tags.")
    refs = outside_references(command.external_refs, InvalidCampaignExternalRefsError)
    new = {"occurred_at": call.now, "campaign_id": call.new_id}
    tags = tuple(sorted(command.tags))
    return [CampaignRegistered.of(command, **new, tags=tags, external_refs=refs)]


def start_campaign(campaign: Campaign, command: StartCampaign, call: Call) -> list[CampaignStarted]:
    """Start a campaign; this starts no run."""
    return [STATUS.allow(campaign.status, CampaignStarted(call.now, campaign.id))]


def hold_campaign(campaign: Campaign, command: HoldCampaign, call: Call) -> list[CampaignHeld]:
    """Hold a campaign until it is resumed; its runs continue, and runs can still be added."""
    return [STATUS.allow(campaign.status, CampaignHeld(call.now, campaign.id, command.reason))]


def resume_campaign(
    campaign: Campaign, command: ResumeCampaign, call: Call
) -> list[CampaignResumed]:
    """Resume a held campaign."""
    return [STATUS.allow(campaign.status, CampaignResumed(call.now, campaign.id))]


def close_campaign(campaign: Campaign, command: CloseCampaign, call: Call) -> list[CampaignClosed]:
    """Close a campaign that is complete; its members can no longer change."""
    return [STATUS.allow(campaign.status, CampaignClosed(call.now, campaign.id))]


def abandon_campaign(
    campaign: Campaign, command: AbandonCampaign, call: Call
) -> list[CampaignAbandoned]:
    """Abandon a campaign; its members can no longer change."""
    return [STATUS.allow(campaign.status, CampaignAbandoned(call.now, campaign.id, command.reason))]


async def changed_run(
    campaign: Campaign, command: AddRunToCampaign | RemoveRunFromCampaign, read: Reader
) -> Run:
    return await read.one(runs, command.run_id, to_show=True)


def add_run_to_campaign(
    campaign: Campaign, command: AddRunToCampaign, given: Run, call: Call
) -> list[CampaignRunAdded | run.RunAddedToCampaign]:
    """Add a run in any status to a campaign."""
    _require_open(campaign, CampaignCannotAddRunError)
    if given.campaign_id == campaign.id:
        raise CampaignRunAlreadyMemberError
    if given.campaign_id is not None:
        detail = f"The run is in campaign {given.campaign_id}."
        raise RunAlreadyAssignedToCampaignError(detail, campaign_id=given.campaign_id)
    require_one_team(campaign, given)
    added = CampaignRunAdded(call.now, campaign.id, given.id)
    return [added, run.RunAddedToCampaign(call.now, given.id, campaign.id)]


def remove_run_from_campaign(
    campaign: Campaign, command: RemoveRunFromCampaign, given: Run, call: Call
) -> list[CampaignRunRemoved | run.RunRemovedFromCampaign]:
    """Remove a run from a campaign."""
    _require_open(campaign, CampaignCannotRemoveRunError)
    if given.campaign_id != campaign.id:
        raise CampaignRunNotMemberError
    removed = CampaignRunRemoved.of(command, occurred_at=call.now)
    return [removed, run.RunRemovedFromCampaign.of(command, occurred_at=call.now)]


def _with_members(campaign: Campaign, run_ids: frozenset[UUID]) -> Campaign:
    return replace(campaign, run_ids=run_ids, run_count=len(run_ids))


def _require_open(campaign: Campaign, refusal: type[Cannot]) -> None:
    if campaign.status not in OPEN:
        raise refusal(f"The status is {campaign.status}.")


campaigns = Aggregate(
    "Campaign",
    begin,
    evolve,
    absent=CampaignNotFoundError,
    axes=(STATUS,),
    team=lambda event: Sources(about=(event.subject_id,)),
)

# fmt: off
OPERATIONS = (
    campaigns.creates("POST /campaigns", RegisterCampaign, register_campaign, ActorNotFoundError,
        SubjectNotFoundError, InvalidCampaignExternalRefsError, *OF_TEAM,
        given=lead_and_subject),
    campaigns.changes("POST /campaigns/{campaign_id}/start", StartCampaign, start_campaign,
        CampaignCannotStartError),
    campaigns.changes("POST /campaigns/{campaign_id}/hold", HoldCampaign, hold_campaign,
        CampaignCannotHoldError),
    campaigns.changes("POST /campaigns/{campaign_id}/resume", ResumeCampaign, resume_campaign,
        CampaignCannotResumeError),
    campaigns.changes("POST /campaigns/{campaign_id}/close", CloseCampaign, close_campaign,
        CampaignCannotCloseError, destructive=True),
    campaigns.changes("POST /campaigns/{campaign_id}/abandon", AbandonCampaign, abandon_campaign,
        CampaignCannotAbandonError, destructive=True),
    campaigns.changes("POST /campaigns/{campaign_id}/add-run", AddRunToCampaign,
        add_run_to_campaign, RunNotFoundError, CampaignCannotAddRunError,
        CampaignRunAlreadyMemberError, RunAlreadyAssignedToCampaignError, TeamsDifferError,
        given=changed_run, title="Add a run to a campaign"),
    campaigns.changes("POST /campaigns/{campaign_id}/remove-run", RemoveRunFromCampaign,
        remove_run_from_campaign, RunNotFoundError, CampaignCannotRemoveRunError,
        CampaignRunNotMemberError,
        given=changed_run, title="Remove a run from its campaign"),
)
# fmt: on


class ListCampaigns(OfTeam, Listing):
    """List campaigns, newest first."""

    status: frozenset[CampaignStatus] | None = None
    intent: CampaignIntent | None = None
    lead_actor_id: UUID | None = None
    subject_id: UUID | None = None
    tag: Tag | None = None


TIMES = {"started_at": (CampaignStarted,), "last_status_changed_at": tuple(STATUS.moves)}
QUESTIONS = reads(
    "/campaigns",
    campaigns,
    ListCampaigns,
    milestones=TIMES,
    facets={"tag": lambda it: it.tags},
    version=2,
    composed_of=("Run",),
    directory=DirectoryEntry(
        lambda it: it.name,
        status=lambda it: it.status,
        keywords=lambda it: (*it.tags, *it.external_refs.values()),
    ),
)
