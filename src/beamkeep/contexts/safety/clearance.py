"""Clearance: a reviewed safety form that allows work on certain things for a certain time."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Annotated
from uuid import UUID

from annotated_types import MaxLen, MinLen
from pydantic import Field

from beamkeep.contexts.equipment.asset import AssetNotFoundError, assets
from beamkeep.contexts.federation import facility
from beamkeep.contexts.federation.facility import Facility, FacilityCode, FacilityNotFoundError
from beamkeep.contexts.operation.procedure import ProcedureNotFoundError, procedures
from beamkeep.contexts.run.run import RunNotFoundError, runs
from beamkeep.contexts.seams.belonging import GivenTeam, OfTeam
from beamkeep.contexts.seams.installation import Reader
from beamkeep.contexts.seams.place import PLACES
from beamkeep.contexts.seams.protecting import WHOLE
from beamkeep.contexts.subject.subject import SubjectNotFoundError, subjects
from beamkeep.contexts.trust.belonging import OF_TEAM
from beamkeep.kernel import (
    Advice,
    Aggregate,
    Axis,
    Blank,
    Call,
    Cannot,
    Command,
    Created,
    DirectoryEntry,
    Event,
    Invalid,
    Listing,
    MayContainPersonalData,
    NotFound,
    Period,
    Record,
    Sources,
    reads,
    replace,
)
from beamkeep.kernel.values import FreeText, Name, Reason, ReferenceValue, Tag, Timestamp, Trimmed

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


class InvalidClearanceBindingsError(Invalid):
    """A clearance needs at least one binding, each binding once and without blank texts."""


class InvalidClearanceHazardsError(Invalid):
    """A clearance has at most 50 hazards, and their texts must not be blank."""


class ClearanceBinding(Record, tag_field="kind"):
    """One thing that a clearance covers."""

    @property
    def kind(self) -> BindingKind:
        return BindingKind(self.__struct_config__.tag)


class ObjectBinding(ClearanceBinding):
    id: UUID


class SubjectBinding(ObjectBinding, tag="Subject"): ...


class AssetBinding(ObjectBinding, tag="Asset"):
    """An asset with everything below it."""


class RunBinding(ObjectBinding, tag="Run"): ...


class ProcedureBinding(ObjectBinding, tag="Procedure"): ...


class ExternalBinding(ClearanceBinding, tag="External"):
    """Something that Beamkeep does not record, such as a proposal."""

    scheme: Annotated[Tag, Trimmed(InvalidClearanceBindingsError)]
    value: Annotated[ReferenceValue, Trimmed(InvalidClearanceBindingsError)]


type Binding = Annotated[
    SubjectBinding | AssetBinding | RunBinding | ProcedureBinding | ExternalBinding,
    Field(discriminator="kind"),
]


type HazardCode = Annotated[str, MinLen(1), MaxLen(100)]


class Hazard(Record):
    scheme: Annotated[Tag, Trimmed(InvalidClearanceHazardsError)]
    """The scheme that defines the code: ghs, nfpa704 or a local scheme."""
    code: Annotated[HazardCode, Trimmed(InvalidClearanceHazardsError)]
    mitigation: Annotated[Reason, Trimmed(InvalidClearanceHazardsError)] | None = None
    """The measure taken against the hazard."""


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
    team_id: UUID | None = None
    visit_id: UUID | None = None


class ClearanceSubmitted(ClearanceEvent): ...


class ClearanceReviewStarted(ClearanceEvent): ...


class ClearanceReviewStepAppended(ClearanceEvent):
    """Review step added."""

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


type ClearanceMoved = ClearanceSubmitted | ClearanceReviewStarted | ClearanceActivated
type ClearanceDecided = ClearanceReviewStepAppended | ClearanceApproved | ClearanceRejected
type ClearanceEnded = ClearanceExpired | ClearanceSuperseded
type ClearanceChanged = ClearanceMoved | ClearanceDecided | ClearanceEnded


class ClearanceNotFoundError(NotFound): ...


class InvalidClearanceKindError(Blank): ...


class InvalidClearanceTitleError(Blank): ...


class InvalidClearanceValidityError(Invalid):
    """The clearance has an invalid validity period."""


class InvalidClearanceRoleError(Blank): ...


class InvalidClearanceNotesError(Invalid):
    """Notes must not be blank; leave out the field if there are no notes."""


class InvalidClearanceReasonError(Blank): ...


class ClearanceCannotSubmitError(Cannot):
    """Only a Defined clearance can be submitted."""


class ClearanceCannotStartReviewError(Cannot):
    """Only the review of a Submitted clearance can be started."""


class ClearanceCannotAppendReviewStepError(Cannot):
    """Review steps can be added only while the clearance is UnderReview."""


class ClearanceCannotApproveError(Cannot):
    """Only a clearance that is UnderReview, with Approved as its last step, can be approved."""


class ClearanceCannotRejectError(Cannot):
    """Only a clearance that is UnderReview can be rejected."""


class ClearanceCannotActivateError(Cannot):
    """The clearance cannot be activated."""


class ClearanceCannotExpireError(Cannot):
    """Only an Active clearance can be expired."""


class ClearanceCannotAmendError(Cannot):
    """Only an Active clearance without an open amendment can be amended."""


S = ClearanceStatus
REVIEWED = S.UNDER_REVIEW
UNDECIDED = frozenset({S.DEFINED, S.SUBMITTED, S.UNDER_REVIEW, S.APPROVED})

STATUS: Axis[ClearanceStatus, ClearanceChanged] = Axis(
    "status",
    # event, allowed from, leads to, refused with
    (ClearanceSubmitted, {S.DEFINED}, S.SUBMITTED, ClearanceCannotSubmitError),
    (ClearanceReviewStarted, {S.SUBMITTED}, REVIEWED, ClearanceCannotStartReviewError),
    (ClearanceReviewStepAppended, {REVIEWED}, REVIEWED, ClearanceCannotAppendReviewStepError),
    (ClearanceApproved, {REVIEWED}, S.APPROVED, ClearanceCannotApproveError),
    (ClearanceRejected, {REVIEWED}, S.REJECTED, ClearanceCannotRejectError),
    (ClearanceActivated, {S.APPROVED}, S.ACTIVE, ClearanceCannotActivateError),
    (ClearanceExpired, {S.ACTIVE}, S.EXPIRED, ClearanceCannotExpireError),
    (ClearanceSuperseded, {S.ACTIVE}, S.SUPERSEDED, ClearanceCannotActivateError),
)
STATUS_CHANGES = tuple(e for e in STATUS.moves if e is not ClearanceReviewStepAppended)


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
    """The clearance that this one amends."""
    status: ClearanceStatus = ClearanceStatus.DEFINED
    review_steps: tuple[ReviewStep, ...] = ()
    superseded_by_clearance_id: UUID | None = None
    last_status_reason: str | None = None
    team_id: UUID | None = None
    visit_id: UUID | None = None


def begin(event: ClearanceRegistered) -> Clearance:
    return Clearance.of(event, id=event.clearance_id)


def evolve(clearance: Clearance, event: ClearanceChanged) -> Clearance:
    moved = replace(clearance, status=STATUS.after(event))
    match event:
        case ClearanceReviewStepAppended():
            step = ReviewStep.of(event)
            return replace(moved, review_steps=(*clearance.review_steps, step))
        case ClearanceApproved():
            return replace(moved, valid_from=event.valid_from, valid_until=event.valid_until)
        case ClearanceRejected() | ClearanceExpired():
            return replace(moved, last_status_reason=event.reason)
        case ClearanceSuperseded():
            return replace(moved, superseded_by_clearance_id=event.superseded_by_clearance_id)
        case ClearanceSubmitted() | ClearanceReviewStarted() | ClearanceActivated():
            return moved


class ClearanceForm(Command):
    """The fields of a new clearance and of an amendment."""

    title: Annotated[Name, Trimmed(InvalidClearanceTitleError)]
    """A title that names no person."""
    bindings: Annotated[tuple[Binding, ...], MaxLen(MOST_BINDINGS)]
    """What the clearance covers; it cannot be changed later."""
    hazards: tuple[Hazard, ...] = ()
    risk_band: RiskBand | None = None
    valid_from: Timestamp | None = None
    """The start of validity (default: no start)."""
    valid_until: Timestamp | None = None
    """The end of validity (default: no end)."""


class RegisterClearance(ClearanceForm, GivenTeam):
    kind: Annotated[Tag, Trimmed(InvalidClearanceKindError)]
    """The type of form, for example experiment_safety or radiation."""
    facility_code: FacilityCode
    """The facility that issues the form."""


class ClearanceCommand(Command):
    clearance_id: UUID


class SubmitClearance(ClearanceCommand): ...


class StartClearanceReview(ClearanceCommand): ...


type Notes = Annotated[str, MinLen(1), MaxLen(2000)]


class AppendClearanceReviewStep(ClearanceCommand):
    role: Annotated[Tag, Trimmed(InvalidClearanceRoleError)]
    """The role in which the caller decides, for example radiation_officer."""
    decision: ReviewDecision
    notes: Annotated[Notes, Trimmed(InvalidClearanceNotesError)] | None = None


class ApproveClearance(ClearanceCommand):
    """A time that is left out keeps its registered value; null removes the limit."""

    valid_from: Timestamp | None = None
    valid_until: Timestamp | None = None


class RejectClearance(ClearanceCommand):
    reason: Annotated[Reason, Trimmed(InvalidClearanceReasonError)]


class ActivateClearance(ClearanceCommand): ...


class ExpireClearance(ClearanceCommand):
    reason: Annotated[Reason, Trimmed(InvalidClearanceReasonError)]


class AmendClearance(ClearanceCommand, ClearanceForm): ...


class ClearanceMade(Created):
    clearance_id: UUID


async def issuer(command: RegisterClearance, read: Reader) -> Facility:
    found = await facility.facility_by_code(command.facility_code, read)
    await _require_bound(command.bindings, read)
    return found


async def amendments(
    clearance: Clearance, command: AmendClearance, read: Reader
) -> Sequence[Clearance]:
    """Return every amendment of the clearance."""
    await _require_bound(command.bindings, read)
    found = await read.matching(ListClearances(parent_id=clearance.id))
    return list((await read.many(clearances, found)).values())


async def parent(
    clearance: Clearance, command: ActivateClearance, read: Reader
) -> Clearance | None:
    return await read.one(clearances, clearance.parent_id) if clearance.parent_id else None


def _ids(bindings: Sequence[Binding], kind: type[ObjectBinding]) -> list[UUID]:
    return [each.id for each in bindings if isinstance(each, kind)]


async def _require_bound(bindings: Sequence[Binding], read: Reader) -> None:
    """Raise when something that is named in a binding does not exist."""
    await read.many(subjects, _ids(bindings, SubjectBinding))
    await read.many(assets, _ids(bindings, AssetBinding))
    await read.many(runs, _ids(bindings, RunBinding))
    await read.many(procedures, _ids(bindings, ProcedureBinding))


def register_clearance(
    command: RegisterClearance, given: Facility, call: Call
) -> list[ClearanceRegistered]:
    """Register a clearance; it is in force only after review, approval and activation."""
    return [_registered(command, call, kind=command.kind, facility_code=given.code)]


def submit_clearance(
    clearance: Clearance, command: SubmitClearance, call: Call
) -> list[ClearanceSubmitted]:
    """Submit a clearance for review."""
    return [STATUS.allow(clearance.status, ClearanceSubmitted(call.now, clearance.id))]


def start_clearance_review(
    clearance: Clearance, command: StartClearanceReview, call: Call
) -> list[ClearanceReviewStarted]:
    """Start the review of a submitted clearance."""
    return [STATUS.allow(clearance.status, ClearanceReviewStarted(call.now, clearance.id))]


def append_clearance_review_step(
    clearance: Clearance, command: AppendClearanceReviewStep, call: Call
) -> list[ClearanceReviewStepAppended]:
    """Add a review step with the caller's decision to a clearance under review."""
    step = {"step_index": len(clearance.review_steps), "decided_by": call.principal_id}
    appended = ClearanceReviewStepAppended.of(command, occurred_at=call.now, **step)
    return [STATUS.allow(clearance.status, appended)]


def approve_clearance(
    clearance: Clearance, command: ApproveClearance, call: Call
) -> list[ClearanceApproved]:
    """Approve a clearance whose last review step is Approved."""
    changed = command.model_fields_set
    since = command.valid_from if "valid_from" in changed else clearance.valid_from
    until = command.valid_until if "valid_until" in changed else clearance.valid_until
    _require_order(since, until)
    if _passed(until, call):
        raise InvalidClearanceValidityError(f"valid_until ({until}) has passed; give a later time.")
    STATUS.require(clearance.status, ClearanceApproved)
    last = clearance.review_steps[-1].decision if clearance.review_steps else None
    if last is not ReviewDecision.APPROVED:
        found = f"The last review step is {last}." if last else "There is no review step yet."
        raise ClearanceCannotApproveError(f"{found} Append a review step with decision Approved.")
    return [ClearanceApproved(call.now, clearance.id, valid_from=since, valid_until=until)]


def reject_clearance(
    clearance: Clearance, command: RejectClearance, call: Call
) -> list[ClearanceRejected]:
    """Reject a clearance permanently."""
    event = ClearanceRejected(call.now, clearance.id, command.reason)
    return [STATUS.allow(clearance.status, event)]


def activate_clearance(
    clearance: Clearance, command: ActivateClearance, given: Clearance | None, call: Call
) -> list[ClearanceActivated | ClearanceSuperseded]:
    """Put an approved clearance into force; the clearance it amends becomes Superseded."""
    activated = STATUS.allow(clearance.status, ClearanceActivated(call.now, clearance.id))
    if _passed(clearance.valid_until, call):
        detail = f"valid_until ({clearance.valid_until}) has passed. Register a new clearance."
        raise ClearanceCannotActivateError(detail)
    if given is None or given.status is ClearanceStatus.EXPIRED:
        return [activated]
    if given.status is ClearanceStatus.SUPERSEDED:
        other = given.superseded_by_clearance_id
        detail = (
            f"Clearance {other} has already superseded clearance {given.id}, which this clearance"
            f" amends. Amend clearance {other} instead."
        )
        raise ClearanceCannotActivateError(detail, superseded_by_clearance_id=other)
    since = clearance.valid_from
    if since is not None and since > call.now:
        detail = (
            f"valid_from ({since}) is in the future, and activation would end clearance {given.id}"
            " now. Activate the clearance at or after valid_from."
        )
        raise ClearanceCannotActivateError(detail, valid_from=since)
    return [activated, ClearanceSuperseded(call.now, given.id, clearance.id)]


def expire_clearance(
    clearance: Clearance, command: ExpireClearance, call: Call
) -> list[ClearanceExpired]:
    """End an active clearance, even before its valid_until."""
    event = ClearanceExpired(call.now, clearance.id, command.reason)
    return [STATUS.allow(clearance.status, event)]


def amend_clearance(
    clearance: Clearance, command: AmendClearance, given: Sequence[Clearance], call: Call
) -> list[ClearanceRegistered | ClearanceMade | Advice]:
    """Register an amendment, which supersedes this clearance when it is activated."""
    kind, code = clearance.kind, clearance.facility_code
    amended = _registered(command, call, kind=kind, facility_code=code, parent_id=clearance.id)
    STATUS.require_in(clearance.status, {ClearanceStatus.ACTIVE}, ClearanceCannotAmendError)
    if ahead := [each.id for each in given if each.status in UNDECIDED]:
        first = f"Clearance {ahead[0]} is an open amendment of this clearance."
        detail = f"{first} Activate or reject it."
        raise ClearanceCannotAmendError(detail, clearance_ids=ahead)
    new, rule = {*command.bindings}, "name what the clearance covers, unless its cover is to end"
    # Named by their places, because the caller may not be allowed to read the clearance.
    dropped = [(n, it) for n, it in enumerate(clearance.bindings) if it not in new]
    left_out = [f"binding {n} of the clearance ({it.kind}) is left out" for n, it in dropped]
    warned = [Advice("$.bindings", f"{rule}: {each}") for each in left_out]
    return [amended, ClearanceMade(call.new_id), *warned]


def _registered(form: ClearanceForm, call: Call, **more: str | UUID) -> ClearanceRegistered:
    """Return the event of a valid form, or raise what is wrong with the form."""
    if not form.bindings:
        raise InvalidClearanceBindingsError("There is no binding.")
    if len({*form.bindings}) < len(form.bindings):
        raise InvalidClearanceBindingsError("A binding occurs more than once.")
    if len(form.hazards) > MOST_HAZARDS:
        raise InvalidClearanceHazardsError(f"There are {len(form.hazards)} hazards.")
    _require_order(form.valid_from, form.valid_until)
    new = {"occurred_at": call.now, "clearance_id": call.new_id, "parent_id": None}
    return ClearanceRegistered.of(form, **new | more)


def _require_order(since: datetime | None, until: datetime | None) -> None:
    if since and until and until <= since:
        detail = f"valid_from ({since}) must be before valid_until ({until})."
        raise InvalidClearanceValidityError(detail)


def _passed(until: datetime | None, call: Call) -> bool:
    return until is not None and until <= call.now


def team_of(event: ClearanceRegistered) -> Sources:
    about = (*_ids(event.bindings, SubjectBinding), event.parent_id)
    return Sources(about=about, several=True)


clearances = Aggregate(
    "Clearance",
    begin,
    evolve=evolve,
    absent=ClearanceNotFoundError,
    axes=(STATUS,),
    snapshots_from=WHOLE,
    team=team_of,
)

# fmt: off
OPERATIONS = (
    clearances.creates("POST /clearances", RegisterClearance, register_clearance,
        FacilityNotFoundError, SubjectNotFoundError, AssetNotFoundError, RunNotFoundError,
        ProcedureNotFoundError, InvalidClearanceValidityError, *OF_TEAM, given=issuer),
    clearances.changes("POST /clearances/{clearance_id}/submit", SubmitClearance, submit_clearance,
        ClearanceCannotSubmitError),
    clearances.changes("POST /clearances/{clearance_id}/start-review", StartClearanceReview,
        start_clearance_review, ClearanceCannotStartReviewError),
    clearances.changes("POST /clearances/{clearance_id}/append-review-step",
        AppendClearanceReviewStep, append_clearance_review_step,
        ClearanceCannotAppendReviewStepError, first_hand=True),
    clearances.changes("POST /clearances/{clearance_id}/approve", ApproveClearance,
        approve_clearance, InvalidClearanceValidityError, ClearanceCannotApproveError,
        first_hand=True),
    clearances.changes("POST /clearances/{clearance_id}/reject", RejectClearance, reject_clearance,
        ClearanceCannotRejectError, destructive=True, first_hand=True),
    clearances.changes("POST /clearances/{clearance_id}/activate", ActivateClearance,
        activate_clearance, ClearanceCannotActivateError, given=parent),
    clearances.changes("POST /clearances/{clearance_id}/expire", ExpireClearance, expire_clearance,
        ClearanceCannotExpireError, destructive=True),
    clearances.changes("POST /clearances/{clearance_id}/amend", AmendClearance, amend_clearance,
        SubjectNotFoundError, AssetNotFoundError, RunNotFoundError, ProcedureNotFoundError,
        InvalidClearanceValidityError, ClearanceCannotAmendError, *OF_TEAM,
        given=amendments),
)
# fmt: on


class ListClearances(OfTeam, Listing):
    """List clearances, newest first."""

    status: frozenset[ClearanceStatus] | None = None
    kind: Tag | None = None
    facility_code: FacilityCode | None = None
    risk_band: RiskBand | None = None
    parent_id: UUID | None = None
    """Amendments of this clearance."""
    binding_kind: BindingKind | None = None
    binding_id: frozenset[UUID] | None = None
    """Clearances with a binding to one of these ids."""
    covering_asset_id: UUID | None = None
    """Clearances with a binding to this asset or to one of its ancestors."""
    in_force: bool | None = None
    valid_until_before: Timestamp | None = None
    """Clearances whose valid_until is this time or earlier."""
    valid_until_from: Timestamp | None = None
    """Clearances whose valid_until is this time or later."""


async def asset_and_ancestors(asset_id: UUID, read: Reader) -> Iterable[object]:
    return {asset_id, *await read.above(PLACES, [asset_id])}


IN_FORCE = Period("in_force", status=S.ACTIVE, since="valid_from", until="valid_until")

VALID_UNTIL = {
    "valid_until_before": ("valid_until", "<="),
    "valid_until_from": ("valid_until", ">="),
}
QUESTIONS = reads(
    "/clearances",
    clearances,
    ListClearances,
    directory=DirectoryEntry(
        lambda it: it.title,
        status=lambda it: it.status,
        keywords=lambda it: (it.kind,),
        scope=lambda it: it.facility_code,
        version=2,
    ),
    milestones={"last_status_changed_at": STATUS_CHANGES},
    facets={
        "binding_kind": lambda clearance: {each.kind for each in clearance.bindings},
        "binding_id": lambda clearance: _ids(clearance.bindings, ObjectBinding),
        "covering_asset_id": lambda clearance: _ids(clearance.bindings, AssetBinding),
    },
    expanded={"covering_asset_id": asset_and_ancestors},
    compared=VALID_UNTIL,
    period=IN_FORCE,
    version=2,
)
