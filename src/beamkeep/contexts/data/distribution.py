"""Distribution: one copy of a dataset's bytes at one place, and what checks found there."""

import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Annotated
from urllib.parse import urlsplit
from uuid import UUID

from annotated_types import Ge, MaxLen, MinLen

from beamkeep.contexts.seams.belonging import OfTeam
from beamkeep.contexts.seams.custody_rules import ChecksumStrength, VerifiedBy
from beamkeep.contexts.seams.data_places import NOT_YOURS, PermittedPlaces
from beamkeep.contexts.seams.installation import Reader
from beamkeep.contexts.supply.supply import Supply, SupplyNotFoundError, SupplyStatus, supplies
from beamkeep.contexts.trust import trigger
from beamkeep.contexts.trust.trigger import TriggerSource
from beamkeep.kernel import (
    CLAIMS,
    Aggregate,
    Axis,
    Blank,
    Call,
    Cannot,
    Command,
    DirectoryEntry,
    Event,
    Insert,
    Invalid,
    Listing,
    NotFound,
    Record,
    SideWrite,
    Sources,
    Table,
    claim,
    claim_key,
    free,
    reads,
    replace,
)
from beamkeep.kernel.values import FreeText, Reason, Timestamp, Trimmed

from .address import MalformedAddressError, canonical
from .dataset import Dataset, DatasetNotFoundError, DatasetStatus, datasets
from .shapes import (
    ByteSize,
    Checksum,
    ChecksumAlgorithm,
    Encoding,
    require_checksum,
)

DELETED_WITHIN = timedelta(hours=1)
"""How long after its discard a cleaner may delete a copy, and how long its plan is valid."""
PLACES = "distribution"
"""The scope of the claims on places: one place holds one thing."""
MOST_COPIES = 64
STORAGE = "storage"
GONE = "NotFound"
"""The failure of a check that has found no file."""
URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:\S[^\x00-\x1f\x7f]*")
FORBIDDEN_SCHEMES = frozenset({"javascript", "vbscript", "data", "about", "view-source"})


class AccessProtocol(StrEnum):
    HTTPS = "HTTPS"
    GLOBUS = "Globus"
    S3 = "S3"
    POSIX = "POSIX"
    NFS = "NFS"
    XROOTD = "XRootD"
    OAI_PMH = "OAI_PMH"
    OFFLINE = "Offline"
    """Bytes that somebody must fetch before they can be read, such as a tape on a shelf."""


SCHEMES: Mapping[AccessProtocol, tuple[str, ...]] = {
    AccessProtocol.POSIX: ("file",),
    AccessProtocol.NFS: ("file",),
    AccessProtocol.HTTPS: ("https",),
    AccessProtocol.S3: ("s3",),
    AccessProtocol.GLOBUS: ("globus",),
    AccessProtocol.XROOTD: ("root", "roots"),
}

FILES = frozenset({AccessProtocol.POSIX, AccessProtocol.NFS})
"""Protocols by which a copy is at a path of a host."""


class DistributionStatus(StrEnum):
    REGISTERED = "Registered"
    VERIFIED = "Verified"
    STALE = "Stale"
    DISCARDED = "Discarded"
    REMOVED = "Removed"
    OVERWRITTEN = "Overwritten"


class FileIdentity(Record, gc=False):
    """By what a file is recognised, whatever its address is."""

    host: Annotated[str, MaxLen(255)]
    """The host that has the file system; empty if the device names a server."""
    device: Annotated[str, MinLen(1), MaxLen(1024)]
    """The file system: its number on the host, or the server and the path there."""
    inode: Annotated[str, MinLen(1), MaxLen(20)]
    """Of several files, that of their base directory."""
    links: Annotated[int, Ge(1)] = 1
    """How many names the file has; of several files, the most."""

    @property
    def key(self) -> str:
        """The identity as one text."""
        return f"{self.host} {self.device} {self.inode}"


# A report reads millions of these, and without cycles the garbage collector has no use for them.
class GoodCheck(Record, gc=False):
    verified_by: VerifiedBy
    strength: ChecksumStrength
    checked_at: datetime
    file: FileIdentity | None = None


class CheckKind(StrEnum):
    """What the service can check of a copy itself."""

    CHECKSUM_VERIFIED = "ChecksumVerified"
    FORMAT_VALIDATED = "FormatValidated"


# Events are stored for ever: add a field with a default; never rename or drop one.
class DistributionEvent(Event):
    distribution_id: UUID


class DistributionRegistered(DistributionEvent):
    dataset_id: UUID
    supply_id: UUID | None
    uri: FreeText
    checksum: Checksum
    byte_size: int
    encoding: Encoding
    access_protocol: AccessProtocol
    of_parts: bool
    """Whether the dataset is some files below the place, which it shares with others."""
    team_id: UUID | None = None
    visit_id: UUID | None = None


class DistributionCheckRequested(DistributionEvent):
    check_id: UUID
    kind: CheckKind


class DistributionVerified(DistributionEvent):
    attestation_id: UUID
    verified_by: VerifiedBy
    strength: ChecksumStrength
    checked_at: datetime
    file: FileIdentity | None = None


class DistributionMarkedStale(DistributionEvent):
    """Stale."""

    trigger: TriggerSource
    reason: FreeText
    attestation_id: UUID | None
    file: FileIdentity | None = None
    frees_place: bool = True
    """Whether another copy can be registered at the place; no longer so of new events."""


class DistributionMarkedUnreachable(DistributionEvent):
    """Unreachable."""

    trigger: TriggerSource
    attestation_id: UUID
    failure: str
    checked_at: datetime


class DistributionDiscarded(DistributionEvent):
    reason: FreeText
    frees_place: bool = True


class DistributionRestored(DistributionEvent):
    reason: FreeText
    checks_count_from: datetime
    """Until then a cleaner may still delete what it was asked to delete."""


class DistributionRemoved(DistributionEvent):
    removed_at: datetime


class DistributionMarkedOverwritten(DistributionEvent):
    """Overwritten."""

    reason: FreeText


type DistributionMoved = (
    DistributionVerified
    | DistributionMarkedStale
    | DistributionDiscarded
    | DistributionRestored
    | DistributionRemoved
    | DistributionMarkedOverwritten
)
type DistributionChanged = (
    DistributionMoved | DistributionMarkedUnreachable | DistributionCheckRequested
)


class DistributionNotFoundError(NotFound): ...


class InvalidDistributionUriError(Invalid):
    """Address must be absolute, fit the access protocol and contain no secret."""


class InvalidDistributionChecksumError(Invalid):
    """Checksum must be a SHA-256, or a SHA-256 of the list of files."""


class InvalidDistributionReasonError(Blank): ...


class InvalidDistributionRemovedAtError(Invalid):
    """Time of removal must not be in the future."""


class DistributionDatasetDiscardedError(Cannot):
    """A copy of a discarded dataset cannot be registered."""


class DistributionSupplyNotStorageError(Cannot):
    """A copy can be registered only on a supply of the kind storage."""


class DistributionSupplyDecommissionedError(Cannot):
    """A copy cannot be registered on a decommissioned supply."""


class DistributionChecksumMismatchError(Cannot):
    """The checksum of a copy must be that of its dataset."""


class DistributionByteSizeMismatchError(Cannot):
    """The size of a copy must be that of its dataset."""


class DistributionLimitError(Cannot):
    """A dataset can have 64 copies; discard one first."""


class DistributionAlreadyExistsError(Cannot):
    """Another copy holds this place until its bytes are removed."""


class DistributionCannotVerifyError(Cannot):
    """A discarded copy is not checked any more."""


class DistributionCannotMarkStaleError(Cannot):
    """Only a registered or verified copy can be marked stale."""


class DistributionCannotDiscardError(Cannot):
    """The copy is already discarded."""


class DistributionCannotRestoreError(Cannot):
    """Only a discarded copy whose removal is not recorded can be restored."""


class DistributionCannotRecordRemovalError(Cannot):
    """The removal can be recorded of a discarded copy only; discard the copy before deleting it."""


class DistributionCannotMarkOverwrittenError(Cannot):
    """Only a copy that no cleaner may delete any more can be marked overwritten."""


S = DistributionStatus
PRESENT = frozenset({S.REGISTERED, S.VERIFIED, S.STALE})
LEFT = PRESENT | {S.DISCARDED}
"""The copy may still have bytes at its place."""

STATUS: Axis[DistributionStatus, DistributionMoved] = Axis(
    "status",
    # event, allowed from, leads to, refused with
    (DistributionVerified, PRESENT, S.VERIFIED, DistributionCannotVerifyError),
    (DistributionMarkedStale, PRESENT - {S.STALE}, S.STALE, DistributionCannotMarkStaleError),
    (DistributionDiscarded, PRESENT, S.DISCARDED, DistributionCannotDiscardError),
    (DistributionRestored, {S.DISCARDED}, S.REGISTERED, DistributionCannotRestoreError),
    (DistributionRemoved, {S.DISCARDED}, S.REMOVED, DistributionCannotRecordRemovalError),
    (DistributionMarkedOverwritten, PRESENT, S.OVERWRITTEN, DistributionCannotMarkOverwrittenError),
)


class Distribution(Record):
    id: UUID
    dataset_id: UUID
    supply_id: UUID | None
    uri: str
    checksum: Checksum
    byte_size: int
    encoding: Encoding
    access_protocol: AccessProtocol
    of_parts: bool
    created_at: datetime
    status: DistributionStatus = DistributionStatus.REGISTERED
    good_checks: tuple[GoodCheck, ...] = ()
    """For each kind of checker and strength, the latest check that found the right bytes."""
    verified_by: VerifiedBy | None = None
    verified_strength: ChecksumStrength | None = None
    verified_at: datetime | None = None
    marked_stale_at: datetime | None = None
    unreachable_since: datetime | None = None
    file: FileIdentity | None = None
    """The file that the last check has read, whatever it contained."""
    checks_count_from: datetime | None = None
    """An earlier check does not verify a copy that was restored."""
    keeps_place: bool = False
    """Whether a stale or discarded copy holds its place, as all do that became so lately."""
    team_id: UUID | None = None
    visit_id: UUID | None = None

    @property
    def has_place(self) -> bool:
        """Whether no other copy can be registered at the place."""
        return self.status in {S.REGISTERED, S.VERIFIED} or self.keeps_place


class Copy(Record, gc=False):
    """Of a copy, what decides whether a copy of its dataset may be deleted."""

    distribution_id: UUID
    dataset_id: UUID
    supply_id: UUID | None
    status: DistributionStatus
    access_protocol: AccessProtocol
    byte_size: int
    uri: str
    good_checks: tuple[GoodCheck, ...]
    unreachable_since: datetime | None
    of_parts: bool
    file_key: str | None
    """The file that the last check has read."""
    checks_count_from: datetime | None
    """Until then a cleaner may still delete a copy that was restored."""

    @property
    def is_present(self) -> bool:
        """Whether nobody has permitted to delete the copy."""
        return self.status in PRESENT

    def may_leave(self, at: datetime) -> bool:
        """Return whether a cleaner may delete what is at the place at a time or later."""
        since = self.checks_count_from
        return self.status is S.DISCARDED or (since is not None and at < since)


COPIES = Table("dataset_copy", Copy, key=("distribution_id",))


def begin(event: DistributionRegistered) -> Distribution:
    return Distribution.of(event, id=event.distribution_id, created_at=event.occurred_at)


def evolve(distribution: Distribution, event: DistributionChanged) -> Distribution:
    match event:
        case DistributionCheckRequested():
            return distribution
        case DistributionMarkedUnreachable():
            # The number of a file that is gone may be that of another file next.
            file = None if event.failure == GONE else distribution.file
            return replace(distribution, unreachable_since=event.checked_at, file=file)
        case DistributionVerified():
            return _verified(distribution, event)
        case DistributionMarkedStale():
            file, keeps_place = event.file or distribution.file, not event.frees_place
            stale = replace(_unverified(distribution, event), file=file, keeps_place=keeps_place)
            return replace(stale, marked_stale_at=event.occurred_at)
        case DistributionDiscarded():
            keeps_place = not event.frees_place
            return replace(distribution, status=STATUS.after(event), keeps_place=keeps_place)
        case DistributionRestored():
            restored = _unverified(distribution, event)
            since = event.checks_count_from
            return replace(restored, checks_count_from=since, keeps_place=False)
        case DistributionRemoved() | DistributionMarkedOverwritten():
            return replace(distribution, status=STATUS.after(event), keeps_place=False)


def _unverified(
    distribution: Distribution, event: DistributionMarkedStale | DistributionRestored
) -> Distribution:
    """Return a copy that counts for nothing until it is checked again."""
    left = replace(distribution, status=STATUS.after(event), good_checks=())
    return replace(left, verified_by=None, verified_strength=None, verified_at=None)


def _verified(distribution: Distribution, event: DistributionVerified) -> Distribution:
    new = GoodCheck.of(event)
    latest = {(it.verified_by, it.strength): it for it in distribution.good_checks}
    before = latest.get((new.verified_by, new.strength), new)
    latest[new.verified_by, new.strength] = max(before, new, key=lambda it: it.checked_at)
    checks = tuple(latest[key] for key in sorted(latest))
    # A weaker check never takes the place of a stronger one.
    strong = [it for it in checks if it.strength is ChecksumStrength.CRYPTOGRAPHIC]
    best = max(strong or checks, key=lambda it: it.checked_at)
    since = distribution.unreachable_since
    return replace(
        distribution,
        status=STATUS.after(event),
        good_checks=checks,
        verified_by=best.verified_by,
        verified_strength=best.strength,
        verified_at=best.checked_at,
        unreachable_since=since if since and new.checked_at < since else None,
        file=event.file or distribution.file,
        keeps_place=False,
    )


def place_of(distribution: Distribution) -> tuple[str, str | None]:
    """Return the place that a copy takes; copies of parts share a directory."""
    value = distribution.checksum.value
    return distribution.uri, value if distribution.of_parts else None


def claims_of(distribution: Distribution) -> tuple[Insert, ...]:
    """Return the claim on the place that a copy takes."""
    if not distribution.has_place:
        return ()
    loser = DistributionAlreadyExistsError
    return (claim(PLACES, *place_of(distribution), holder=distribution.id, loser=loser),)


def copy_of(distribution: Distribution) -> Copy:
    """Return what decides on a copy."""
    file_key = distribution.file.key if distribution.file else None
    return Copy.of(distribution, distribution_id=distribution.id, file_key=file_key)


def copies_of(distribution: Distribution) -> tuple[Copy, ...]:
    """Return the row of a copy, which is kept while the copy may have bytes at its place."""
    return (copy_of(distribution),) if distribution.status in LEFT else ()


def moved[E: DistributionChanged](distribution: Distribution, event: E) -> list[E | SideWrite]:
    """Return an event of a copy with the row and the claim that it changes."""
    after = evolve(distribution, event)
    had, has = claims_of(distribution), claims_of(after)
    row = COPIES.upsert(copy_of(after)) if copies_of(after) else COPIES.delete(after.id)
    claims: list[SideWrite] = []
    if had and not has:
        claims = [free(PLACES, *place_of(distribution))]
    elif has and not had:
        claims = [*has]
    return [event, row, *claims]


type DistributionUri = Annotated[str, MinLen(1), MaxLen(2048)]


class RegisterDistribution(Command):
    dataset_id: UUID
    supply_id: UUID | None = None
    """The storage that holds the copy."""
    uri: DistributionUri
    """Where the bytes are; of several files, the base directory, which ends in a slash."""
    checksum: Checksum
    """The checksum of the dataset."""
    byte_size: ByteSize
    """The size of the dataset."""
    access_protocol: AccessProtocol
    """How the bytes are read; Offline if they need hands or a recall."""


class DistributionCommand(Command):
    distribution_id: UUID


class MarkDistributionStale(DistributionCommand):
    reason: Annotated[Reason, Trimmed(InvalidDistributionReasonError)]


class RestoreDistribution(DistributionCommand):
    reason: Annotated[Reason, Trimmed(InvalidDistributionReasonError)]


class MarkDistributionOverwritten(DistributionCommand):
    reason: Annotated[Reason, Trimmed(InvalidDistributionReasonError)]


class RecordDistributionRemoval(DistributionCommand):
    removed_at: Timestamp | None = None
    """When the bytes were deleted (default: now)."""


class NewCopy(Record):
    """The dataset and the storage of a new copy, and the other copies."""

    dataset: Dataset
    supply: Supply | None
    copies: int
    holder: Distribution | None
    """The copy that holds the place."""
    places: PermittedPlaces = PermittedPlaces()


async def its_dataset(command: RegisterDistribution, read: Reader) -> NewCopy:
    dataset = await read.one(datasets, command.dataset_id)
    supply = await read.one(supplies, command.supply_id) if command.supply_id else None
    value = command.checksum.value if dataset.of_parts else None
    places = read.facts.data_places.open_to(read.only)
    rows = await read.rows(COPIES, dataset_id=dataset.id)
    with suppress(InvalidDistributionUriError):
        uri = require_uri(command.uri, command.access_protocol, command.checksum.algorithm)
        holder = await holder_of((uri, value), read)
        present = sum(row.is_present for row in rows)
        return NewCopy(dataset, supply, present, holder=holder, places=places)
    return NewCopy(dataset, supply, copies=0, holder=None)


async def holder_of(place: tuple[str, str | None], read: Reader) -> Distribution | None:
    """Return the copy that holds a place, if there is one."""
    rows = await read.rows(CLAIMS, scope=PLACES, key=claim_key(*place))
    holder_id = rows[0].holder if rows else None
    return await read.one(distributions, holder_id) if holder_id else None


def require_free_place(holder: Distribution | None) -> None:
    """Raise when a copy holds the place of a new one, and say how the place becomes free."""
    if holder is None:
        return
    ways = "If other bytes are there now, call mark_distribution_overwritten for it."
    if holder.status is S.DISCARDED:
        ways = (
            "Call record_distribution_removal once it is deleted, or restore_distribution if it is"
            " to stay; an hour after that, mark_distribution_overwritten ends it."
        )
    detail = f"It is copy {holder.id}, which is {holder.status}. {ways}"
    raise DistributionAlreadyExistsError(detail, distribution_id=holder.id)


def register_distribution(
    command: RegisterDistribution, given: NewCopy, call: Call
) -> list[DistributionRegistered | SideWrite]:
    """Register a copy of a dataset; it counts once a check has found the right bytes."""
    require_checksum(command.checksum, InvalidDistributionChecksumError)
    uri = require_uri(command.uri, command.access_protocol, command.checksum.algorithm)
    if not given.places.permits_address(uri):
        raise InvalidDistributionUriError(f"{NOT_YOURS}.")
    dataset = given.dataset
    require_storage(given.supply)
    if dataset.status is DatasetStatus.DISCARDED:
        raise DistributionDatasetDiscardedError
    if command.checksum != dataset.checksum:
        detail = f"The dataset has {dataset.checksum.algorithm} {dataset.checksum.value}."
        raise DistributionChecksumMismatchError(detail)
    if command.byte_size != dataset.byte_size:
        detail = f"The dataset has {dataset.byte_size} bytes, the copy {command.byte_size}."
        raise DistributionByteSizeMismatchError(detail)
    if given.copies >= MOST_COPIES:
        raise DistributionLimitError
    require_free_place(given.holder)
    registered = DistributionRegistered.of(
        command,
        occurred_at=call.now,
        distribution_id=call.new_id,
        uri=uri,
        encoding=dataset.encoding,
        of_parts=dataset.of_parts,
    )
    return [registered, *rows_of(begin(registered))]


def rows_of(distribution: Distribution) -> tuple[SideWrite, ...]:
    """Return the rows that are written with a new copy."""
    return COPIES.insert(copy_of(distribution)), *claims_of(distribution)


def require_storage(supply: Supply | None) -> None:
    """Raise when a copy cannot be registered on a supply."""
    if supply and supply.kind != STORAGE:
        raise DistributionSupplyNotStorageError(f"'{supply.name}' is a supply of {supply.kind}.")
    if supply and supply.status is SupplyStatus.DECOMMISSIONED:
        raise DistributionSupplyDecommissionedError(f"'{supply.name}' is {supply.status}.")


def require_uri(given: str, protocol: AccessProtocol, algorithm: ChecksumAlgorithm) -> str:
    """Return the address of a copy; raise when it does not fit or contains a secret."""
    refusal, uri = InvalidDistributionUriError, given.strip()
    try:
        split = urlsplit(uri)
        has_user = split.username is not None or split.password is not None
    except ValueError:
        raise refusal("The address is malformed.") from None
    if not URI.fullmatch(uri) or split.scheme.lower() in FORBIDDEN_SCHEMES:
        raise refusal("Enter an address with a scheme, such as file:///data/scan.h5.")
    if has_user or split.query or split.fragment or "?" in uri or "#" in uri:
        raise refusal("Remove the user, the query and the fragment.")
    schemes = SCHEMES.get(protocol, ())
    if schemes and split.scheme.lower() not in schemes:
        raise refusal(f"The scheme of {protocol} is {' or '.join(schemes)}.")
    if algorithm is ChecksumAlgorithm.SHA256_TREE and not uri.endswith("/"):
        raise refusal("The address of several files is their base directory and ends in a slash.")
    try:
        return canonical(uri, is_directory=algorithm is ChecksumAlgorithm.SHA256_TREE)
    except MalformedAddressError as error:
        raise refusal(str(error)) from None


def mark_distribution_stale(
    distribution: Distribution, command: MarkDistributionStale, call: Call
) -> list[DistributionMarkedStale | SideWrite]:
    """Record that the bytes of a copy are not those of the dataset any more."""
    source, reason = trigger.source_of(call), command.reason
    stale = DistributionMarkedStale(
        call.now,
        distribution.id,
        trigger=source,
        reason=reason,
        attestation_id=None,
        frees_place=not distribution.has_place,
    )
    return moved(distribution, STATUS.allow(distribution.status, stale))


def restore_distribution(
    distribution: Distribution, command: RestoreDistribution, call: Call
) -> list[DistributionRestored | SideWrite]:
    """Take back the permission to delete a copy; the copy counts once it is checked again."""
    restored = DistributionRestored(
        call.now, distribution.id, command.reason, checks_count_from=call.now + DELETED_WITHIN
    )
    return moved(distribution, STATUS.allow(distribution.status, restored))


def mark_distribution_overwritten(
    distribution: Distribution, command: MarkDistributionOverwritten, call: Call
) -> list[DistributionMarkedOverwritten | SideWrite]:
    """End a copy whose place has other bytes or none, and free the place for another copy."""
    overwritten = DistributionMarkedOverwritten(call.now, distribution.id, command.reason)
    STATUS.require(distribution.status, DistributionMarkedOverwritten)
    until = distribution.checks_count_from
    if until is not None and call.now < until:
        detail = f"The copy was restored, and a cleaner may delete what is there until {until}."
        raise DistributionCannotMarkOverwrittenError(detail)
    return moved(distribution, overwritten)


def record_distribution_removal(
    distribution: Distribution, command: RecordDistributionRemoval, call: Call
) -> list[DistributionRemoved | SideWrite]:
    """Record that the bytes of a discarded copy were deleted."""
    removed_at = command.removed_at or call.now
    if removed_at > call.now:
        detail = f"removed_at is {removed_at}."
        raise InvalidDistributionRemovedAtError(detail)
    removed = DistributionRemoved(call.now, distribution.id, removed_at)
    return moved(distribution, STATUS.allow(distribution.status, removed))


distributions = Aggregate(
    "Distribution",
    begin,
    evolve,
    absent=DistributionNotFoundError,
    axes=(STATUS,),
    team=lambda event: Sources(part_of=(event.dataset_id,)),
)

# fmt: off
OPERATIONS = (
    distributions.creates("POST /distributions", RegisterDistribution, register_distribution,
        DatasetNotFoundError, SupplyNotFoundError, InvalidDistributionChecksumError,
        InvalidDistributionUriError, DistributionSupplyNotStorageError,
        DistributionSupplyDecommissionedError, DistributionDatasetDiscardedError,
        DistributionChecksumMismatchError, DistributionByteSizeMismatchError,
        DistributionLimitError, DistributionAlreadyExistsError, given=its_dataset),
    distributions.changes("POST /distributions/{distribution_id}/mark-stale",
        MarkDistributionStale, mark_distribution_stale, DistributionCannotMarkStaleError,
        destructive=True, title="Mark a copy stale"),
    distributions.changes("POST /distributions/{distribution_id}/restore",
        RestoreDistribution, restore_distribution, DistributionCannotRestoreError,
        DistributionAlreadyExistsError, title="Restore a copy"),
    distributions.changes("POST /distributions/{distribution_id}/mark-overwritten",
        MarkDistributionOverwritten, mark_distribution_overwritten,
        DistributionCannotMarkOverwrittenError, destructive=True,
        title="Mark a copy overwritten"),
    distributions.changes("POST /distributions/{distribution_id}/record-removal",
        RecordDistributionRemoval, record_distribution_removal,
        InvalidDistributionRemovedAtError, DistributionCannotRecordRemovalError,
        title="Record the removal of a copy"),
)
# fmt: on


class ListDistributions(OfTeam, Listing):
    """List copies of datasets, newest first."""

    dataset_id: UUID | None = None
    supply_id: UUID | None = None
    status: frozenset[DistributionStatus] | None = None
    access_protocol: AccessProtocol | None = None
    unreachable: bool | None = None
    """Copies whose last check could not read them, or not."""
    verified_before: Timestamp | None = None
    """Copies whose last good check is older."""


FACETS: Mapping[str, Callable[[Distribution], Iterable[object]]] = {
    "unreachable": lambda it: (it.unreachable_since is not None,),
}
# fmt: off
QUESTIONS = reads("/distributions", distributions, ListDistributions,
    milestones={
        "discarded_at": (DistributionDiscarded,), "restored_at": (DistributionRestored,),
        "removed_at": (DistributionRemoved,), "overwritten_at": (DistributionMarkedOverwritten,)},
    facets=FACETS, composed_of=("Attestation", "Dataset"), version=2,
    compared={"verified_before": ("verified_at", "<")},
    directory=DirectoryEntry(
        lambda it: it.uri.rstrip("/").rpartition("/")[2] or it.uri,
        status=lambda it: it.status,
        scope=lambda it: (it.dataset_id,)))
# fmt: on
