"""Clearance: the reviewed paper that says which work is allowed on what, and for how long."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Annotated
from uuid import UUID

from annotated_types import MaxLen, MinLen
from pydantic import Field

from beamkeep.contexts.equipment.asset import AssetNotFoundError, assets
from beamkeep.contexts.equipment.place import PLACES
from beamkeep.contexts.federation.facility import (
    Facility,
    FacilityCode,
    FacilityNotFoundError,
    facility_by_code,
)
from beamkeep.contexts.run.procedure import ProcedureNotFoundError
from beamkeep.contexts.run.run import RunNotFoundError, runs
from beamkeep.contexts.subject.subject import SubjectNotFoundError, subjects
from beamkeep.kernel import (
    Aggregate,
    Axis,
    Call,
    Cannot,
    Command,
    Created,
    Event,
    Invalid,
    Listing,
    MayContainPersonalData,
    NotFound,
    Period,
    Reader,
    Record,
    reads,
    replace,
)
from beamkeep.kernel.values import FreeText, Name, Reason, Timestamp, trimmed, trimmed_or_none

MOST_BINDINGS = 50
MOST_HAZARDS = 50


class ClearanceStatus(StrEnum):
    DEFINED = "Defined"
    SUBMITTED = "Submitted"
    UNDER_REVIEW = "UnderReview"
    APPROVED = "Approved"
    ACTIVE = "Active"
    REJECTED = "Rejected"
    EXPIRED = "Expired"
    SUPERSEDED = "Superseded"


class RiskBand(StrEnum):
    GREEN = "Green"
    YELLOW = "Yellow"
    RED = "Red"


class ReviewDecision(StrEnum):
    APPROVED = "Approved"
    REJECTED = "Rejected"
    REQUESTED_CHANGES = "RequestedChanges"


class BindingKind(StrEnum):
    SUBJECT = "Subject"
    ASSET = "Asset"
    RUN = "Run"
    PROCEDURE = "Procedure"
    EXTERNAL = "External"


type ShortText = Annotated[str, MinLen(1), MaxLen(50)]


class Bound(Record, tag_field="kind"):
    """One thing a clearance covers."""

    @property
    def kind(self) -> BindingKind:
        return BindingKind(self.__struct_config__.tag)


class SubjectBinding(Bound, tag="Subject"):
    id: UUID


class AssetBinding(Bound, tag="Asset"):
    """The asset, with everything below it."""

    id: UUID


class RunBinding(Bound, tag="Run"):
    id: UUID


class ProcedureBinding(Bound, tag="Procedure"):
    id: UUID


class ExternalBinding(Bound, tag="External"):
    """What is not on record here, such as a proposal."""

    scheme: ShortText
    value: Annotated[str, MinLen(1), MaxLen(200)]


type Binding = Annotated[
    SubjectBinding | AssetBinding | RunBinding | ProcedureBinding | ExternalBinding,
    Field(discriminator="kind"),
]


class Hazard(Record):
    scheme: ShortText
    """Whose code it is: ghs, nfpa704, or a local one."""
    code: Annotated[str, MinLen(1), MaxLen(100)]
    mitigation: Reason | None = None
    """What is done about it."""


class ReviewStep(Record):
    step_index: int
    role: str
    decision: ReviewDecision
    notes: str | None
    decided_by: UUID


# Events are stored for ever: add a field with a default; never rename or drop one.
class ClearanceEvent(Event):
    clearance_id: UUID


class ClearanceRegistered(ClearanceEvent):
    kind: str
    facility_code: str
    title: FreeText
    bindings: tuple[Binding, ...]
    hazards: Annotated[tuple[Hazard, ...], MayContainPersonalData()]
    risk_band: RiskBand | None
    valid_from: datetime | None
    valid_until: datetime | None
    parent_id: UUID | None


class ClearanceSubmitted(ClearanceEvent): ...


class ClearanceReviewStarted(ClearanceEvent): ...


class ClearanceReviewStepAppended(ClearanceEvent):
    step_index: int
    role: FreeText
    decision: ReviewDecision
    notes: FreeText | None
    decided_by: UUID


class ClearanceApproved(ClearanceEvent):
    valid_from: datetime | None
    valid_until: datetime | None


class ClearanceRejected(ClearanceEvent):
    reason: FreeText


class ClearanceActivated(ClearanceEvent): ...


class ClearanceExpired(ClearanceEvent):
    reason: FreeText


class ClearanceSuperseded(ClearanceEvent):
    superseded_by_clearance_id: UUID


type ClearanceMoved = (
    ClearanceSubmitted
    | ClearanceReviewStarted
    | ClearanceApproved
    | ClearanceRejected
    | ClearanceActivated
    | ClearanceExpired
    | ClearanceSuperseded
)
type ClearanceChanged = ClearanceMoved | ClearanceReviewStepAppended


class ClearanceNotFoundError(NotFound):
    """The clearance does not exist."""


class InvalidClearanceKindError(Invalid):
    """The kind of form is not usable."""


class InvalidClearanceTitleError(Invalid):
    """The clearance's title is not usable."""


class InvalidClearanceBindingsError(Invalid):
    """A clearance covers at least one thing, and names each of them once."""


class InvalidClearanceHazardsError(Invalid):
    """The hazards are not usable: each has a scheme and a code."""


class InvalidClearanceValidityError(Invalid):
    """A clearance is valid from a time before the one it is valid until."""


class InvalidClearanceRoleError(Invalid):
    """The reviewer's role is not usable."""


class InvalidClearanceNotesError(Invalid):
    """The notes are not usable; leave them out or write some."""


class InvalidClearanceReasonError(Invalid):
    """The reason is not usable."""


class ClearanceCannotSubmitError(Cannot):
    """The clearance cannot be submitted: it has been before."""


class ClearanceCannotStartReviewError(Cannot):
    """The review cannot start: only that of a submitted clearance can."""


class ClearanceCannotAppendReviewStepError(Cannot):
    """The review takes no step: only one under way does."""


class ClearanceCannotApproveError(Cannot):
    """The clearance cannot be approved: its review must be under way and end in approval."""


class ClearanceCannotRejectError(Cannot):
    """The clearance cannot be rejected: only one under review can."""


class ClearanceCannotActivateError(Cannot):
    """The clearance cannot be put into force."""


class ClearanceCannotExpireError(Cannot):
    """The clearance cannot be ended: only an active one can."""


class ClearanceCannotAmendError(Cannot):
    """The clearance cannot be amended: only an active one can, by one amendment at a time."""


S = ClearanceStatus
UNDECIDED = frozenset({S.DEFINED, S.SUBMITTED, S.UNDER_REVIEW, S.APPROVED})

STATUS: Axis[ClearanceStatus, ClearanceChanged] = Axis(
    "status",
    # event, allowed from, leads to, refused with
    (ClearanceSubmitted, {S.DEFINED}, S.SUBMITTED, ClearanceCannotSubmitError),
    (ClearanceReviewStarted, {S.SUBMITTED}, S.UNDER_REVIEW, ClearanceCannotStartReviewError),
    (
        ClearanceReviewStepAppended,
        {S.UNDER_REVIEW},
        S.UNDER_REVIEW,
        ClearanceCannotAppendReviewStepError,
    ),
    (ClearanceApproved, {S.UNDER_REVIEW}, S.APPROVED, ClearanceCannotApproveError),
    (ClearanceRejected, {S.UNDER_REVIEW}, S.REJECTED, ClearanceCannotRejectError),
    (ClearanceActivated, {S.APPROVED}, S.ACTIVE, ClearanceCannotActivateError),
    (ClearanceExpired, {S.ACTIVE}, S.EXPIRED, ClearanceCannotExpireError),
    (ClearanceSuperseded, {S.ACTIVE}, S.SUPERSEDED, ClearanceCannotActivateError),
)


class Clearance(Record):
    id: UUID
    kind: str
    facility_code: str
    title: str
    bindings: tuple[Binding, ...]
    hazards: tuple[Hazard, ...]
    risk_band: RiskBand | None
    valid_from: datetime | None
    valid_until: datetime | None
    parent_id: UUID | None
    """The clearance this one amends."""
    status: ClearanceStatus = ClearanceStatus.DEFINED
    review_steps: tuple[ReviewStep, ...] = ()
    superseded_by_clearance_id: UUID | None = None
    last_status_reason: str | None = None


def begin(event: ClearanceRegistered) -> Clearance:
    return Clearance(
        event.clearance_id,
        event.kind,
        event.facility_code,
        event.title,
        event.bindings,
        event.hazards,
        event.risk_band,
        event.valid_from,
        event.valid_until,
        event.parent_id,
    )


def evolve(clearance: Clearance, event: ClearanceChanged) -> Clearance:
    moved = replace(clearance, status=STATUS.after(event))
    match event:
        case ClearanceReviewStepAppended():
            step = ReviewStep(
                event.step_index, event.role, event.decision, event.notes, event.decided_by
            )
            return replace(moved, review_steps=(*clearance.review_steps, step))
        case ClearanceApproved():
            return replace(moved, valid_from=event.valid_from, valid_until=event.valid_until)
        case ClearanceRejected() | ClearanceExpired():
            return replace(moved, last_status_reason=event.reason)
        case ClearanceSuperseded():
            return replace(moved, superseded_by_clearance_id=event.superseded_by_clearance_id)
        case ClearanceSubmitted() | ClearanceReviewStarted() | ClearanceActivated():
            return moved


class Form(Command):
    """What is filled in, of a new clearance and of an amendment."""

    title: Name
    """It must not name a person."""
    bindings: Annotated[tuple[Binding, ...], MaxLen(MOST_BINDINGS)]
    """What it covers, for good."""
    hazards: tuple[Hazard, ...] = ()
    risk_band: RiskBand | None = None
    valid_from: Timestamp | None = None
    valid_until: Timestamp | None = None
    """Left out or null, it is open on that side."""


class RegisterClearance(Form):
    kind: ShortText
    """The type of form: experiment_safety, radiation, …"""
    facility_code: FacilityCode
    """Whose form it is."""


class ClearanceCommand(Command):
    clearance_id: UUID


class SubmitClearance(ClearanceCommand): ...


class StartClearanceReview(ClearanceCommand): ...


class AppendClearanceReviewStep(ClearanceCommand):
    role: ShortText
    """In which capacity the caller decides."""
    decision: ReviewDecision
    notes: Annotated[str, MinLen(1), MaxLen(2000)] | None = None


class ApproveClearance(ClearanceCommand):
    """A time left out stays as it was registered; null opens that side."""

    valid_from: Timestamp | None = None
    valid_until: Timestamp | None = None


class RejectClearance(ClearanceCommand):
    reason: Reason


class ActivateClearance(ClearanceCommand): ...


class ExpireClearance(ClearanceCommand):
    reason: Reason


class AmendClearance(ClearanceCommand, Form): ...


class ClearanceMade(Created):
    clearance_id: UUID


async def facility(command: RegisterClearance, read: Reader) -> Facility:
    found = await facility_by_code(command.facility_code, read)
    await _require_bound(command.bindings, read)
    return found


async def amendments(
    clearance: Clearance, command: AmendClearance, read: Reader
) -> Sequence[Clearance]:
    """Every amendment there is of it; its facility is on record, as it was for itself."""
    await _require_bound(command.bindings, read)
    found = await read.matching(ListClearances(parent_id=clearance.id))
    return list((await read.many(clearances, found)).values())


async def parent(
    clearance: Clearance, command: ActivateClearance, read: Reader
) -> Clearance | None:
    return await read.one(clearances, clearance.parent_id) if clearance.parent_id else None


async def _require_bound(bindings: Sequence[Binding], read: Reader) -> None:
    """Refuse bindings of things that do not exist."""
    await read.many(subjects, [each.id for each in bindings if isinstance(each, SubjectBinding)])
    await read.many(assets, [each.id for each in bindings if isinstance(each, AssetBinding)])
    await read.many(runs, [each.id for each in bindings if isinstance(each, RunBinding)])
    if any(isinstance(each, ProcedureBinding) for each in bindings):
        raise ProcedureNotFoundError


def register_clearance(
    command: RegisterClearance, given: Facility, call: Call
) -> list[ClearanceRegistered]:
    """Register a clearance that is yet to be reviewed."""
    kind = trimmed(command.kind, InvalidClearanceKindError)
    return [_registered(command, kind, given.code, None, call)]


def submit_clearance(
    clearance: Clearance, command: SubmitClearance, call: Call
) -> list[ClearanceSubmitted]:
    """Hand a clearance in for review."""
    STATUS.require(clearance.status, ClearanceSubmitted)
    return [ClearanceSubmitted(call.now, clearance.id)]


def start_clearance_review(
    clearance: Clearance, command: StartClearanceReview, call: Call
) -> list[ClearanceReviewStarted]:
    """Take a submitted clearance up for review."""
    STATUS.require(clearance.status, ClearanceReviewStarted)
    return [ClearanceReviewStarted(call.now, clearance.id)]


def append_clearance_review_step(
    clearance: Clearance, command: AppendClearanceReviewStep, call: Call
) -> list[ClearanceReviewStepAppended]:
    """Record what the caller decides on a clearance under review."""
    role = trimmed(command.role, InvalidClearanceRoleError)
    notes = trimmed_or_none(command.notes, InvalidClearanceNotesError)
    STATUS.require(clearance.status, ClearanceReviewStepAppended)
    index, who = len(clearance.review_steps), call.principal_id
    return [
        ClearanceReviewStepAppended(
            call.now, clearance.id, index, role, command.decision, notes, who
        )
    ]


def approve_clearance(
    clearance: Clearance, command: ApproveClearance, call: Call
) -> list[ClearanceApproved]:
    """Approve a clearance whose last review step approves it."""
    changed = command.model_fields_set
    since = command.valid_from if "valid_from" in changed else clearance.valid_from
    until = command.valid_until if "valid_until" in changed else clearance.valid_until
    _require_order(since, until)
    if _passed(until, call):
        raise InvalidClearanceValidityError(f"Until {until} has passed; give a later time.")
    STATUS.require(clearance.status, ClearanceApproved)
    last = clearance.review_steps[-1].decision if clearance.review_steps else None
    if last is not ReviewDecision.APPROVED:
        raise ClearanceCannotApproveError(
            f"The last decision is {last}." if last else "Nobody has decided yet."
        )
    return [ClearanceApproved(call.now, clearance.id, since, until)]


def reject_clearance(
    clearance: Clearance, command: RejectClearance, call: Call
) -> list[ClearanceRejected]:
    """Reject a clearance, for good."""
    reason = trimmed(command.reason, InvalidClearanceReasonError)
    STATUS.require(clearance.status, ClearanceRejected)
    return [ClearanceRejected(call.now, clearance.id, reason)]


def activate_clearance(
    clearance: Clearance, command: ActivateClearance, given: Clearance | None, call: Call
) -> list[ClearanceActivated | ClearanceSuperseded]:
    """Put an approved clearance into force, in place of the one it amends."""
    STATUS.require(clearance.status, ClearanceActivated)
    if _passed(clearance.valid_until, call):
        raise ClearanceCannotActivateError(f"It was valid until {clearance.valid_until}.")
    activated = ClearanceActivated(call.now, clearance.id)
    if given is None or given.status is ClearanceStatus.EXPIRED:
        return [activated]
    if given.status is ClearanceStatus.SUPERSEDED:
        other = given.superseded_by_clearance_id
        raise ClearanceCannotActivateError(
            f"Clearance {other} took the place of the one it amends; amend that one.",
            superseded_by_clearance_id=other,
        )
    if clearance.valid_from is not None and clearance.valid_from > call.now:
        raise ClearanceCannotActivateError(
            f"It is valid from {clearance.valid_from} and would end clearance {given.id} before"
            " then; activate it from that time on.",
            valid_from=clearance.valid_from,
        )
    return [activated, ClearanceSuperseded(call.now, given.id, clearance.id)]


def expire_clearance(
    clearance: Clearance, command: ExpireClearance, call: Call
) -> list[ClearanceExpired]:
    """End a clearance, whether or not its time has run out."""
    reason = trimmed(command.reason, InvalidClearanceReasonError)
    STATUS.require(clearance.status, ClearanceExpired)
    return [ClearanceExpired(call.now, clearance.id, reason)]


def amend_clearance(
    clearance: Clearance, command: AmendClearance, given: Sequence[Clearance], call: Call
) -> list[ClearanceRegistered | ClearanceMade]:
    """Register a clearance that takes the place of this one once it is in force."""
    amended = _registered(command, clearance.kind, clearance.facility_code, clearance.id, call)
    if clearance.status is not ClearanceStatus.ACTIVE:
        raise ClearanceCannotAmendError(f"The status is {clearance.status}; it must be Active.")
    if ahead := [each.id for each in given if each.status in UNDECIDED]:
        raise ClearanceCannotAmendError(
            f"Clearance {ahead[0]} amends it already and is not in force yet.", clearance_ids=ahead
        )
    return [amended, ClearanceMade(call.new_id)]


def _registered(
    form: Form, kind: str, facility_code: str, parent_id: UUID | None, call: Call
) -> ClearanceRegistered:
    """A form filled in as it should be."""
    title = trimmed(form.title, InvalidClearanceTitleError)
    bindings = tuple(_trimmed(each) for each in form.bindings)
    if not bindings or len(set(bindings)) < len(bindings):
        raise InvalidClearanceBindingsError
    if len(form.hazards) > MOST_HAZARDS:
        raise InvalidClearanceHazardsError(f"There are over {MOST_HAZARDS}.")
    wrong = InvalidClearanceHazardsError
    hazards = tuple(
        Hazard(
            trimmed(each.scheme, wrong),
            trimmed(each.code, wrong),
            trimmed_or_none(each.mitigation, wrong),
        )
        for each in form.hazards
    )
    _require_order(form.valid_from, form.valid_until)
    return ClearanceRegistered(
        call.now,
        call.new_id,
        kind,
        facility_code,
        title,
        bindings,
        hazards,
        form.risk_band,
        form.valid_from,
        form.valid_until,
        parent_id,
    )


def _trimmed(binding: Binding) -> Binding:
    if not isinstance(binding, ExternalBinding):
        return binding
    wrong = InvalidClearanceBindingsError
    return ExternalBinding(trimmed(binding.scheme, wrong), trimmed(binding.value, wrong))


def _require_order(since: datetime | None, until: datetime | None) -> None:
    if since and until and until <= since:
        raise InvalidClearanceValidityError


def _passed(until: datetime | None, call: Call) -> bool:
    return until is not None and until <= call.now


clearances = Aggregate("Clearance", begin, evolve, ClearanceNotFoundError)

# fmt: off
OPERATIONS = (
    clearances.creates("POST /clearances", RegisterClearance, register_clearance,
        FacilityNotFoundError, SubjectNotFoundError, AssetNotFoundError, RunNotFoundError,
        ProcedureNotFoundError, InvalidClearanceKindError, InvalidClearanceTitleError,
        InvalidClearanceBindingsError, InvalidClearanceHazardsError,
        InvalidClearanceValidityError, given=facility),
    clearances.changes("POST /clearances/{clearance_id}/submit", SubmitClearance, submit_clearance,
        ClearanceCannotSubmitError),
    clearances.changes("POST /clearances/{clearance_id}/start-review", StartClearanceReview,
        start_clearance_review, ClearanceCannotStartReviewError),
    clearances.changes("POST /clearances/{clearance_id}/append-review-step",
        AppendClearanceReviewStep, append_clearance_review_step, InvalidClearanceRoleError,
        InvalidClearanceNotesError, ClearanceCannotAppendReviewStepError),
    clearances.changes("POST /clearances/{clearance_id}/approve", ApproveClearance,
        approve_clearance, InvalidClearanceValidityError, ClearanceCannotApproveError),
    clearances.changes("POST /clearances/{clearance_id}/reject", RejectClearance, reject_clearance,
        InvalidClearanceReasonError, ClearanceCannotRejectError),
    clearances.changes("POST /clearances/{clearance_id}/activate", ActivateClearance,
        activate_clearance, ClearanceCannotActivateError, given=parent),
    clearances.changes("POST /clearances/{clearance_id}/expire", ExpireClearance, expire_clearance,
        InvalidClearanceReasonError, ClearanceCannotExpireError),
    clearances.changes("POST /clearances/{clearance_id}/amend", AmendClearance, amend_clearance,
        SubjectNotFoundError, AssetNotFoundError, RunNotFoundError, ProcedureNotFoundError,
        InvalidClearanceTitleError, InvalidClearanceBindingsError, InvalidClearanceHazardsError,
        InvalidClearanceValidityError, ClearanceCannotAmendError, given=amendments),
)
# fmt: on


class ListClearances(Listing):
    """List clearances, by age."""

    status: frozenset[ClearanceStatus] | None = None
    kind: ShortText | None = None
    facility_code: FacilityCode | None = None
    risk_band: RiskBand | None = None
    parent_id: UUID | None = None
    """The amendments of this clearance."""
    binding_kind: BindingKind | None = None
    binding_id: frozenset[UUID] | None = None
    """Those bound to one of these themselves."""
    covering_asset_id: UUID | None = None
    """Those bound to this asset, or to one that it stands under."""
    in_force: bool | None = None
    valid_until_before: Timestamp | None = None
    """Those that end at this time or before."""
    valid_until_from: Timestamp | None = None
    """Those that end at this time or later."""


async def with_all_above(asset_id: UUID, read: Reader) -> Iterable[object]:
    return {asset_id, *await read.above(PLACES, [asset_id])}


IN_FORCE = Period(
    "in_force", status=ClearanceStatus.ACTIVE, since="valid_from", until="valid_until"
)

QUESTIONS = reads(
    "/clearances",
    clearances,
    ListClearances,
    milestones={
        "last_status_changed_at": tuple(
            event for event in STATUS.moves if event is not ClearanceReviewStepAppended
        )
    },
    facets={
        "binding_kind": lambda clearance: {each.kind for each in clearance.bindings},
        "binding_id": lambda clearance: [
            each.id for each in clearance.bindings if not isinstance(each, ExternalBinding)
        ],
        "covering_asset_id": lambda clearance: [
            each.id for each in clearance.bindings if isinstance(each, AssetBinding)
        ],
    },
    expanded={"covering_asset_id": with_all_above},
    compared={
        "valid_until_before": ("valid_until", "<="),
        "valid_until_from": ("valid_until", ">="),
    },
    period=IN_FORCE,
)
