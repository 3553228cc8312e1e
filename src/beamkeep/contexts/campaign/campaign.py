"""Campaign: runs that belong together, led by someone; its end freezes who is a member."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated
from uuid import UUID

from annotated_types import MaxLen, MinLen
from pydantic import Field

from beamkeep.contexts.access.actor import ActorNotFoundError, actors
from beamkeep.contexts.run.run import (
    Run,
    RunAddedToCampaign,
    RunNotFoundError,
    RunRemovedFromCampaign,
    runs,
)
from beamkeep.contexts.subject.subject import SubjectNotFoundError, subjects
from beamkeep.kernel import (
    Aggregate,
    Axis,
    Call,
    Cannot,
    Command,
    Event,
    Invalid,
    Listing,
    NotFound,
    Reader,
    Record,
    reads,
    replace,
)
from beamkeep.kernel.values import (
    FreeText,
    Name,
    Reason,
    outside_references,
    trimmed,
    trimmed_or_none,
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


class CampaignNotFoundError(NotFound):
    """The campaign does not exist."""


class InvalidCampaignNameError(Invalid):
    """The campaign's name is not usable."""


class InvalidCampaignDescriptionError(Invalid):
    """The campaign's description is not usable."""


class InvalidCampaignTagsError(Invalid):
    """The tags are not usable."""


class InvalidCampaignExternalRefsError(Invalid):
    """An outside reference has a scheme and a value, and the value does not repeat the scheme."""


class InvalidCampaignReasonError(Invalid):
    """The reason is not usable."""


class CampaignCannotStartError(Cannot):
    """The campaign cannot start."""


class CampaignCannotHoldError(Cannot):
    """The campaign cannot be put on hold."""


class CampaignCannotResumeError(Cannot):
    """The campaign cannot be resumed."""


class CampaignCannotCloseError(Cannot):
    """The campaign cannot be closed; one that never started is abandoned."""


class CampaignCannotAbandonError(Cannot):
    """The campaign cannot be abandoned: it is over."""


class CampaignCannotAddRunError(Cannot):
    """The campaign takes no more runs: it is over."""


class CampaignRunAlreadyMemberError(Cannot):
    """The run is a member of this campaign already."""


class RunAlreadyAssignedToCampaignError(Cannot):
    """The run is a member of another campaign; remove it there first."""


class CampaignCannotRemoveRunError(Cannot):
    """The campaign's members stay as they are: it is over."""


class CampaignRunNotMemberError(Cannot):
    """The run is not a member of this campaign."""


S = CampaignStatus
OPEN = frozenset({S.PLANNED, S.ACTIVE, S.HELD})
"""The campaigns whose members may change."""

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


def begin(event: CampaignRegistered) -> Campaign:
    return Campaign(
        event.campaign_id,
        event.name,
        event.intent,
        event.lead_actor_id,
        event.subject_id,
        event.description,
        frozenset(event.tags),
        event.external_refs,
    )


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


type Tag = Annotated[str, MinLen(1), MaxLen(50)]
type RefScheme = Annotated[str, MinLen(1), MaxLen(50)]
type RefValue = Annotated[str, MinLen(1), MaxLen(200)]


class RegisterCampaign(Command):
    name: Name
    intent: CampaignIntent
    """A series repeats over time, a sweep varies parameters, a coordination joins techniques or
    subjects, a block is a stretch of allotted time."""
    lead_actor_id: UUID
    subject_id: UUID | None = None
    """What it is about; its runs may be of other subjects."""
    description: Annotated[str, MinLen(1), MaxLen(2000)] | None = None
    tags: frozenset[Tag] = frozenset()
    """At most 20."""
    external_refs: dict[RefScheme, RefValue] = Field(default_factory=dict)
    """What other systems call it, by scheme: proposal, cycle, …; at most 20."""


class CampaignCommand(Command):
    campaign_id: UUID


class CampaignCommandWithReason(CampaignCommand):
    reason: Reason


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


async def run(
    campaign: Campaign, command: AddRunToCampaign | RemoveRunFromCampaign, read: Reader
) -> Run:
    return await read.one(runs, command.run_id)


def register_campaign(
    command: RegisterCampaign, given: None, call: Call
) -> list[CampaignRegistered]:
    """Register a campaign, yet to be started, with the person who leads it."""
    name = trimmed(command.name, InvalidCampaignNameError)
    description = trimmed_or_none(command.description, InvalidCampaignDescriptionError)
    tags = {trimmed(tag, InvalidCampaignTagsError) for tag in command.tags}
    if len(tags) > MOST_TAGS:
        raise InvalidCampaignTagsError(f"There are over {MOST_TAGS}.")
    return [
        CampaignRegistered(
            call.now,
            call.new_id,
            name,
            command.intent,
            command.lead_actor_id,
            command.subject_id,
            description,
            tuple(sorted(tags)),
            outside_references(command.external_refs, InvalidCampaignExternalRefsError),
        )
    ]


def start_campaign(campaign: Campaign, command: StartCampaign, call: Call) -> list[CampaignStarted]:
    """Start a campaign; no run starts by this."""
    STATUS.require(campaign.status, CampaignStarted)
    return [CampaignStarted(call.now, campaign.id)]


def hold_campaign(campaign: Campaign, command: HoldCampaign, call: Call) -> list[CampaignHeld]:
    """Interrupt a campaign until it is resumed; its runs go on, and more may join."""
    reason = trimmed(command.reason, InvalidCampaignReasonError)
    STATUS.require(campaign.status, CampaignHeld)
    return [CampaignHeld(call.now, campaign.id, reason)]


def resume_campaign(
    campaign: Campaign, command: ResumeCampaign, call: Call
) -> list[CampaignResumed]:
    """Go on with a campaign that was on hold."""
    STATUS.require(campaign.status, CampaignResumed)
    return [CampaignResumed(call.now, campaign.id)]


def close_campaign(campaign: Campaign, command: CloseCampaign, call: Call) -> list[CampaignClosed]:
    """End a campaign that did what it was for; its members stay as they are."""
    STATUS.require(campaign.status, CampaignClosed)
    return [CampaignClosed(call.now, campaign.id)]


def abandon_campaign(
    campaign: Campaign, command: AbandonCampaign, call: Call
) -> list[CampaignAbandoned]:
    """Give a campaign up; its members stay as they are."""
    reason = trimmed(command.reason, InvalidCampaignReasonError)
    STATUS.require(campaign.status, CampaignAbandoned)
    return [CampaignAbandoned(call.now, campaign.id, reason)]


def add_run_to_campaign(
    campaign: Campaign, command: AddRunToCampaign, given: Run, call: Call
) -> list[CampaignRunAdded | RunAddedToCampaign]:
    """Make a run a member of a campaign, whether it is still to start, going on or over."""
    _require_open(campaign, CampaignCannotAddRunError)
    if given.campaign_id == campaign.id:
        raise CampaignRunAlreadyMemberError
    if given.campaign_id is not None:
        raise RunAlreadyAssignedToCampaignError(
            f"It is in campaign {given.campaign_id}.", campaign_id=given.campaign_id
        )
    return [
        CampaignRunAdded(call.now, campaign.id, given.id),
        RunAddedToCampaign(call.now, given.id, campaign.id),
    ]


def remove_run_from_campaign(
    campaign: Campaign, command: RemoveRunFromCampaign, given: Run, call: Call
) -> list[CampaignRunRemoved | RunRemovedFromCampaign]:
    """End a run's membership of a campaign."""
    reason = trimmed(command.reason, InvalidCampaignReasonError)
    _require_open(campaign, CampaignCannotRemoveRunError)
    if given.campaign_id != campaign.id:
        raise CampaignRunNotMemberError
    return [
        CampaignRunRemoved(call.now, campaign.id, given.id, reason),
        RunRemovedFromCampaign(call.now, given.id, campaign.id, reason),
    ]


def _with_members(campaign: Campaign, run_ids: frozenset[UUID]) -> Campaign:
    return replace(campaign, run_ids=run_ids, run_count=len(run_ids))


def _require_open(campaign: Campaign, refusal: type[Cannot]) -> None:
    if campaign.status not in OPEN:
        raise refusal(f"The status is {campaign.status}.")


campaigns = Aggregate("Campaign", begin, evolve, CampaignNotFoundError)

# fmt: off
OPERATIONS = (
    campaigns.creates("POST /campaigns", RegisterCampaign, register_campaign, ActorNotFoundError,
        SubjectNotFoundError, InvalidCampaignNameError, InvalidCampaignDescriptionError,
        InvalidCampaignTagsError, InvalidCampaignExternalRefsError, given=lead_and_subject),
    campaigns.changes("POST /campaigns/{campaign_id}/start", StartCampaign, start_campaign,
        CampaignCannotStartError),
    campaigns.changes("POST /campaigns/{campaign_id}/hold", HoldCampaign, hold_campaign,
        InvalidCampaignReasonError, CampaignCannotHoldError),
    campaigns.changes("POST /campaigns/{campaign_id}/resume", ResumeCampaign, resume_campaign,
        CampaignCannotResumeError),
    campaigns.changes("POST /campaigns/{campaign_id}/close", CloseCampaign, close_campaign,
        CampaignCannotCloseError),
    campaigns.changes("POST /campaigns/{campaign_id}/abandon", AbandonCampaign, abandon_campaign,
        InvalidCampaignReasonError, CampaignCannotAbandonError),
    campaigns.changes("POST /campaigns/{campaign_id}/add-run", AddRunToCampaign,
        add_run_to_campaign, RunNotFoundError, CampaignCannotAddRunError,
        CampaignRunAlreadyMemberError, RunAlreadyAssignedToCampaignError, given=run),
    campaigns.changes("POST /campaigns/{campaign_id}/remove-run", RemoveRunFromCampaign,
        remove_run_from_campaign, RunNotFoundError, InvalidCampaignReasonError,
        CampaignCannotRemoveRunError, CampaignRunNotMemberError, given=run),
)
# fmt: on


class ListCampaigns(Listing):
    """List campaigns, by age."""

    status: frozenset[CampaignStatus] | None = None
    intent: CampaignIntent | None = None
    lead_actor_id: UUID | None = None
    subject_id: UUID | None = None
    tag: Tag | None = None


QUESTIONS = reads(
    "/campaigns",
    campaigns,
    ListCampaigns,
    milestones={
        "started_at": (CampaignStarted,),
        "last_status_changed_at": tuple(STATUS.moves),
    },
    facets={"tag": lambda campaign: campaign.tags},
)
