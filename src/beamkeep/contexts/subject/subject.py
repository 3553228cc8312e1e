"""Subject: one sample, specimen, part or target, and where it is in its handling."""

from enum import StrEnum
from typing import Annotated
from uuid import UUID

from annotated_types import MaxLen, MinLen

from beamkeep.contexts.equipment.asset import Asset, AssetLifecycle, AssetNotFoundError, assets
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
from beamkeep.kernel.values import FreeText, Name, Reason, trimmed

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


type SubjectMoved = (
    SubjectMounted
    | SubjectMeasured
    | SubjectDismounted
    | SubjectRemoved
    | SubjectReturned
    | SubjectStored
    | SubjectDiscarded
)


class SubjectNotFoundError(NotFound):
    """The subject does not exist."""


class InvalidSubjectNameError(Invalid):
    """The subject's name is not usable."""


class InvalidSubjectReasonError(Invalid):
    """The reason is not usable."""


class InvalidSubjectExternalIdError(Invalid):
    """An external identifier is the bare value; leave out igsn:, doi:, http: or https:."""


class SubjectCannotMountError(Cannot):
    """The subject cannot be mounted: only one that was received and sits nowhere can."""


class SubjectMountTargetUnavailableError(Cannot):
    """The subject cannot be mounted on this asset; activate the asset or choose another."""


class SubjectCannotMeasureError(Cannot):
    """The subject cannot be marked measured: mount it first; once since then is enough."""


class SubjectCannotDismountError(Cannot):
    """The subject cannot be dismounted: it sits on no asset."""


class SubjectCannotRemoveError(Cannot):
    """The subject cannot be removed: it is already."""


class SubjectCannotReturnError(Cannot):
    """The subject cannot be returned: only one that was removed can."""


class SubjectCannotStoreError(Cannot):
    """The subject cannot be stored: only one that was removed can."""


class SubjectCannotDiscardError(Cannot):
    """The subject cannot be discarded: only one that was removed can."""


class SubjectCannotAssignExternalIdError(Cannot):
    """The subject has its external identifier; a published one is never changed."""


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


def begin(event: SubjectRegistered) -> Subject:
    return Subject(event.subject_id, event.name)


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


class RegisterSubject(Command):
    name: Name
    """A label, not necessarily its own; it names no person."""


class SubjectCommand(Command):
    subject_id: UUID


class SubjectCommandWithReason(SubjectCommand):
    reason: Reason


class MountSubject(SubjectCommandWithReason):
    asset_id: UUID
    """The asset it is put on, which must be active."""


class MeasureSubject(SubjectCommand): ...


class DismountSubject(SubjectCommandWithReason): ...


class RemoveSubject(SubjectCommand): ...


class ReturnSubject(SubjectCommand): ...


class StoreSubject(SubjectCommand): ...


class DiscardSubject(SubjectCommandWithReason): ...


class AssignSubjectExternalId(SubjectCommand):
    external_id_namespace: SubjectExternalIdNamespace
    external_id: Annotated[str, MinLen(1), MaxLen(200)]
    """The bare value, as 10.58052/IEJCK00AB for an IGSN."""


async def target(subject: Subject, command: MountSubject, read: Reader) -> Asset:
    return await read.one(assets, command.asset_id)


def register_subject(command: RegisterSubject, call: Call) -> list[SubjectRegistered]:
    """Register a subject that has arrived."""
    name = trimmed(command.name, InvalidSubjectNameError)
    return [SubjectRegistered(call.now, call.new_id, name)]


def mount_subject(
    subject: Subject, command: MountSubject, given: Asset, call: Call
) -> list[SubjectMounted]:
    """Put a subject on an asset."""
    reason = trimmed(command.reason, InvalidSubjectReasonError)
    STATUS.require(subject.status, SubjectMounted)
    if given.lifecycle is not AssetLifecycle.ACTIVE:
        raise SubjectMountTargetUnavailableError(
            f"Asset {given.name} is {given.lifecycle}.", lifecycle=given.lifecycle
        )
    return [SubjectMounted(call.now, subject.id, given.id, reason)]


def measure_subject(subject: Subject, command: MeasureSubject, call: Call) -> list[SubjectMeasured]:
    """Say of a mounted subject that it has been measured."""
    STATUS.require(subject.status, SubjectMeasured)
    return [SubjectMeasured(call.now, subject.id)]


def dismount_subject(
    subject: Subject, command: DismountSubject, call: Call
) -> list[SubjectDismounted]:
    """Take a subject off its asset; it can be mounted again."""
    reason = trimmed(command.reason, InvalidSubjectReasonError)
    STATUS.require(subject.status, SubjectDismounted)
    return [SubjectDismounted(call.now, subject.id, subject.mounted_on_asset_id, reason)]


def remove_subject(subject: Subject, command: RemoveSubject, call: Call) -> list[SubjectRemoved]:
    """Take a subject out of handling, and off its asset if it sits on one."""
    STATUS.require(subject.status, SubjectRemoved)
    return [SubjectRemoved(call.now, subject.id, subject.mounted_on_asset_id)]


def return_subject(subject: Subject, command: ReturnSubject, call: Call) -> list[SubjectReturned]:
    """Give a removed subject back to whoever sent it."""
    STATUS.require(subject.status, SubjectReturned)
    return [SubjectReturned(call.now, subject.id)]


def store_subject(subject: Subject, command: StoreSubject, call: Call) -> list[SubjectStored]:
    """Keep a removed subject in store."""
    STATUS.require(subject.status, SubjectStored)
    return [SubjectStored(call.now, subject.id)]


def discard_subject(
    subject: Subject, command: DiscardSubject, call: Call
) -> list[SubjectDiscarded]:
    """Destroy a removed subject, for good."""
    reason = trimmed(command.reason, InvalidSubjectReasonError)
    STATUS.require(subject.status, SubjectDiscarded)
    return [SubjectDiscarded(call.now, subject.id, reason)]


def assign_subject_external_id(
    subject: Subject, command: AssignSubjectExternalId, call: Call
) -> list[SubjectExternalIdAssigned]:
    """Record the identifier a subject was given outside, once."""
    external_id = trimmed(command.external_id, InvalidSubjectExternalIdError)
    if external_id.lower().startswith(SCHEMES):
        raise InvalidSubjectExternalIdError
    if subject.external_id is not None:
        raise SubjectCannotAssignExternalIdError(f"It is {subject.external_id}.")
    namespace = command.external_id_namespace
    return [SubjectExternalIdAssigned(call.now, subject.id, namespace, external_id)]


subjects = Aggregate("Subject", begin, evolve, SubjectNotFoundError)

# fmt: off
OPERATIONS = (
    subjects.creates("POST /subjects", RegisterSubject, register_subject, InvalidSubjectNameError),
    subjects.changes("POST /subjects/{subject_id}/mount", MountSubject, mount_subject,
        AssetNotFoundError, InvalidSubjectReasonError, SubjectCannotMountError,
        SubjectMountTargetUnavailableError, given=target),
    subjects.changes("POST /subjects/{subject_id}/measure", MeasureSubject, measure_subject,
        SubjectCannotMeasureError),
    subjects.changes("POST /subjects/{subject_id}/dismount", DismountSubject, dismount_subject,
        InvalidSubjectReasonError, SubjectCannotDismountError),
    subjects.changes("POST /subjects/{subject_id}/remove", RemoveSubject, remove_subject,
        SubjectCannotRemoveError),
    subjects.changes("POST /subjects/{subject_id}/return", ReturnSubject, return_subject,
        SubjectCannotReturnError),
    subjects.changes("POST /subjects/{subject_id}/store", StoreSubject, store_subject,
        SubjectCannotStoreError),
    subjects.changes("POST /subjects/{subject_id}/discard", DiscardSubject, discard_subject,
        InvalidSubjectReasonError, SubjectCannotDiscardError),
    subjects.changes("POST /subjects/{subject_id}/assign-external-id", AssignSubjectExternalId,
        assign_subject_external_id, InvalidSubjectExternalIdError,
        SubjectCannotAssignExternalIdError),
)
# fmt: on


class ListSubjects(Listing):
    """List subjects, by age."""

    status: SubjectStatus | None = None
    mounted_on_asset_id: UUID | None = None


QUESTIONS = reads(
    "/subjects",
    subjects,
    ListSubjects,
    milestones={"last_status_changed_at": tuple(STATUS.moves)},
)
