"""Subject: a sample, specimen, part or target, from its receipt until it leaves."""

from enum import StrEnum
from typing import Annotated
from uuid import UUID

from beamkeep.contexts.equipment.asset import Asset, AssetLifecycle, AssetNotFoundError, assets
from beamkeep.contexts.seams.belonging import GivenTeam, OfTeam
from beamkeep.contexts.seams.outside import Identifier
from beamkeep.contexts.seams.place import with_all_below
from beamkeep.contexts.trust.belonging import OF_TEAM
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
from beamkeep.kernel.values import FreeText, Name, Reason, Trimmed

SCHEMES = ("igsn:", "doi:", "http:", "https:")


class SubjectStatus(StrEnum):
    RECEIVED = "Received"
    MOUNTED = "Mounted"
    MEASURED = "Measured"
    REMOVED = "Removed"
    RETURNED = "Returned"
    STORED = "Stored"
    DISCARDED = "Discarded"


class SubjectExternalIdNamespace(StrEnum):
    IGSN = "igsn"


# Events are stored for ever: add a field with a default; never rename or drop one.
class SubjectEvent(Event):
    subject_id: UUID


class SubjectRegistered(SubjectEvent):
    name: str
    team_id: UUID | None = None
    visit_id: UUID | None = None


class SubjectMounted(SubjectEvent):
    asset_id: UUID
    reason: FreeText


class SubjectMeasured(SubjectEvent): ...


class SubjectDismounted(SubjectEvent):
    from_asset_id: UUID | None
    reason: FreeText


class SubjectRemoved(SubjectEvent):
    from_asset_id: UUID | None


class SubjectReturned(SubjectEvent): ...


class SubjectStored(SubjectEvent): ...


class SubjectDiscarded(SubjectEvent):
    reason: FreeText


class SubjectExternalIdAssigned(SubjectEvent):
    external_id_namespace: SubjectExternalIdNamespace
    external_id: str


type SubjectUnmounted = SubjectDismounted | SubjectRemoved
type SubjectDisposed = SubjectReturned | SubjectStored | SubjectDiscarded
type SubjectMoved = SubjectMounted | SubjectMeasured | SubjectUnmounted | SubjectDisposed


class SubjectNotFoundError(NotFound): ...


class InvalidSubjectNameError(Blank): ...


class InvalidSubjectReasonError(Blank): ...


class InvalidSubjectExternalIdError(Invalid):
    """External identifier must be a value without the prefix igsn:, doi:, http: or https:."""


class SubjectCannotMountError(Cannot):
    """Only a received subject that is on no asset can be mounted."""


class SubjectMountTargetUnavailableError(Cannot):
    """A subject can be mounted only on an active asset; activate the asset or choose another."""


class SubjectCannotMeasureError(Cannot):
    """Only a mounted subject can be marked as measured."""


class SubjectCannotDismountError(Cannot):
    """Only a subject on an asset can be dismounted."""


class SubjectCannotRemoveError(Cannot):
    """Only a received, mounted or measured subject can be removed."""


class SubjectCannotReturnError(Cannot):
    """Only a removed subject can be returned."""


class SubjectCannotStoreError(Cannot):
    """Only a removed subject can be stored."""


class SubjectCannotDiscardError(Cannot):
    """Only a removed subject can be discarded."""


class SubjectCannotAssignExternalIdError(Cannot):
    """External identifier of a subject cannot be changed."""


S = SubjectStatus
ON_ASSET = frozenset({S.MOUNTED, S.MEASURED})

STATUS: Axis[SubjectStatus, SubjectMoved] = Axis(
    "status",
    # event, allowed from, leads to, refused with
    (SubjectMounted, {S.RECEIVED}, S.MOUNTED, SubjectCannotMountError),
    (SubjectMeasured, {S.MOUNTED}, S.MEASURED, SubjectCannotMeasureError),
    (SubjectDismounted, ON_ASSET, S.RECEIVED, SubjectCannotDismountError),
    (SubjectRemoved, ON_ASSET | {S.RECEIVED}, S.REMOVED, SubjectCannotRemoveError),
    (SubjectReturned, {S.REMOVED}, S.RETURNED, SubjectCannotReturnError),
    (SubjectStored, {S.REMOVED}, S.STORED, SubjectCannotStoreError),
    (SubjectDiscarded, {S.REMOVED}, S.DISCARDED, SubjectCannotDiscardError),
)


class Subject(Record):
    id: UUID
    name: str
    status: SubjectStatus = SubjectStatus.RECEIVED
    mounted_on_asset_id: UUID | None = None
    external_id: str | None = None
    external_id_namespace: SubjectExternalIdNamespace | None = None
    team_id: UUID | None = None
    visit_id: UUID | None = None


def begin(event: SubjectRegistered) -> Subject:
    return Subject.of(event, id=event.subject_id)


def evolve(subject: Subject, event: SubjectMoved | SubjectExternalIdAssigned) -> Subject:
    match event:
        case SubjectMounted():
            return replace(subject, status=STATUS.after(event), mounted_on_asset_id=event.asset_id)
        case SubjectMeasured():
            return replace(subject, status=STATUS.after(event))
        case SubjectExternalIdAssigned():
            namespace = event.external_id_namespace
            return replace(subject, external_id=event.external_id, external_id_namespace=namespace)
        case _:
            return replace(subject, status=STATUS.after(event), mounted_on_asset_id=None)


class RegisterSubject(GivenTeam):
    name: Annotated[Name, Trimmed(InvalidSubjectNameError)]
    """Label of the subject; need not be unique, must not name a person."""


class SubjectCommand(Command):
    subject_id: UUID


class SubjectCommandWithReason(SubjectCommand):
    reason: Annotated[Reason, Trimmed(InvalidSubjectReasonError)]


class MountSubject(SubjectCommandWithReason):
    asset_id: UUID
    """Active asset that the subject is mounted on."""


class MeasureSubject(SubjectCommand): ...


class DismountSubject(SubjectCommandWithReason): ...


class RemoveSubject(SubjectCommand): ...


class ReturnSubject(SubjectCommand): ...


class StoreSubject(SubjectCommand): ...


class DiscardSubject(SubjectCommandWithReason): ...


class AssignSubjectExternalId(SubjectCommand):
    external_id_namespace: SubjectExternalIdNamespace
    external_id: Annotated[Name, Identifier(InvalidSubjectExternalIdError)]
    """Value without prefix, for example 10.58052/IEJCK00AB for an IGSN."""


def register_subject(command: RegisterSubject, call: Call) -> list[SubjectRegistered]:
    """Register a subject that was received."""
    return [SubjectRegistered.of(command, occurred_at=call.now, subject_id=call.new_id)]


def mount_subject(
    subject: Subject, command: MountSubject, given: Asset, call: Call
) -> list[SubjectMounted]:
    """Mount a subject on an asset."""
    STATUS.require(subject.status, SubjectMounted)
    if given.lifecycle is not AssetLifecycle.ACTIVE:
        detail = f"Asset {given.name} is {given.lifecycle}."
        raise SubjectMountTargetUnavailableError(detail, lifecycle=given.lifecycle)
    return [SubjectMounted.of(command, occurred_at=call.now)]


def measure_subject(subject: Subject, command: MeasureSubject, call: Call) -> list[SubjectMeasured]:
    """Mark a mounted subject as measured."""
    return [STATUS.allow(subject.status, SubjectMeasured(call.now, subject.id))]


def dismount_subject(
    subject: Subject, command: DismountSubject, call: Call
) -> list[SubjectDismounted]:
    """Dismount a subject from its asset; the subject can be mounted again."""
    asset_id = subject.mounted_on_asset_id
    dismounted = SubjectDismounted.of(command, occurred_at=call.now, from_asset_id=asset_id)
    return [STATUS.allow(subject.status, dismounted)]


def remove_subject(subject: Subject, command: RemoveSubject, call: Call) -> list[SubjectRemoved]:
    """Remove a subject from handling, and from its asset when it is mounted."""
    removed = SubjectRemoved(call.now, subject.id, subject.mounted_on_asset_id)
    return [STATUS.allow(subject.status, removed)]


def return_subject(subject: Subject, command: ReturnSubject, call: Call) -> list[SubjectReturned]:
    """Return a removed subject to its sender."""
    return [STATUS.allow(subject.status, SubjectReturned(call.now, subject.id))]


def store_subject(subject: Subject, command: StoreSubject, call: Call) -> list[SubjectStored]:
    """Store a removed subject."""
    return [STATUS.allow(subject.status, SubjectStored(call.now, subject.id))]


def discard_subject(
    subject: Subject, command: DiscardSubject, call: Call
) -> list[SubjectDiscarded]:
    """Discard a removed subject permanently."""
    return [STATUS.allow(subject.status, SubjectDiscarded(call.now, subject.id, command.reason))]


def assign_subject_external_id(
    subject: Subject, command: AssignSubjectExternalId, call: Call
) -> list[SubjectExternalIdAssigned]:
    """Record the external identifier of a subject, once."""
    if command.external_id.lower().startswith(SCHEMES):
        raise InvalidSubjectExternalIdError(f"The value is {command.external_id}.")
    if subject.external_id is not None:
        raise SubjectCannotAssignExternalIdError(f"The identifier is {subject.external_id}.")
    return [SubjectExternalIdAssigned.of(command, occurred_at=call.now)]


subjects = Aggregate(
    "Subject",
    begin,
    evolve,
    absent=SubjectNotFoundError,
    axes=(STATUS,),
    team=lambda _: Sources(),
)

# fmt: off
OPERATIONS = (
    subjects.creates("POST /subjects", RegisterSubject, register_subject, *OF_TEAM),
    subjects.changes("POST /subjects/{subject_id}/mount", MountSubject, mount_subject,
        AssetNotFoundError, SubjectCannotMountError, SubjectMountTargetUnavailableError,
        given=lambda _, command, read: read.one(assets, command.asset_id)),
    subjects.changes("POST /subjects/{subject_id}/measure", MeasureSubject, measure_subject,
        SubjectCannotMeasureError),
    subjects.changes("POST /subjects/{subject_id}/dismount", DismountSubject, dismount_subject,
        SubjectCannotDismountError),
    subjects.changes("POST /subjects/{subject_id}/remove", RemoveSubject, remove_subject,
        SubjectCannotRemoveError, destructive=True),
    subjects.changes("POST /subjects/{subject_id}/return", ReturnSubject, return_subject,
        SubjectCannotReturnError, destructive=True),
    subjects.changes("POST /subjects/{subject_id}/store", StoreSubject, store_subject,
        SubjectCannotStoreError, destructive=True),
    subjects.changes("POST /subjects/{subject_id}/discard", DiscardSubject, discard_subject,
        SubjectCannotDiscardError, destructive=True),
    subjects.changes("POST /subjects/{subject_id}/assign-external-id", AssignSubjectExternalId,
        assign_subject_external_id, SubjectCannotAssignExternalIdError),
)
# fmt: on


class ListSubjects(OfTeam, Listing):
    """List subjects, newest first."""

    status: frozenset[SubjectStatus] | None = None
    mounted_on_asset_id: UUID | None = None
    under_asset_id: UUID | None = None
    """Subjects that are mounted on this asset or on an asset below it."""


MOVES = {"last_status_changed_at": tuple(STATUS.moves)}
QUESTIONS = reads(
    "/subjects",
    subjects,
    ListSubjects,
    milestones=MOVES,
    expanded={"under_asset_id": with_all_below},
    aliases={"under_asset_id": "mounted_on_asset_id"},
    version=2,
    directory=DirectoryEntry(
        lambda it: it.name, status=lambda it: it.status, keywords=lambda it: (it.external_id,)
    ),
)
