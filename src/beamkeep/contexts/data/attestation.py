"""Attestation: the report of a check on one copy of a dataset."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Annotated
from uuid import UUID

import msgspec
from annotated_types import Ge, MaxLen, MinLen

from beamkeep.contexts.seams.belonging import OfTeam
from beamkeep.contexts.seams.custody_rules import ChecksumStrength, VerifiedBy
from beamkeep.contexts.seams.installation import Reader
from beamkeep.contexts.trust import trigger
from beamkeep.kernel import (
    ActorKind,
    Aggregate,
    Blank,
    Call,
    Cannot,
    Command,
    Event,
    Invalid,
    NotFound,
    Record,
    SideWrite,
    Sources,
    reads,
    replace,
    unchanging,
)
from beamkeep.kernel.values import Timestamp, Trimmed
from beamkeep.schemas import Json, JsonObject

from . import distribution
from .dataset import Dataset, DatasetDigestsConfirmed, datasets
from .distribution import (
    PRESENT,
    Copy,
    Distribution,
    DistributionAlreadyExistsError,
    DistributionMarkedStale,
    DistributionMarkedUnreachable,
    DistributionNotFoundError,
    DistributionStatus,
    DistributionVerified,
    FileIdentity,
    copy_of,
    distributions,
    holder_of,
    place_of,
    require_free_place,
)
from .shapes import (
    MOST_DIGESTS,
    ByteSize,
    ChecksumAlgorithm,
    DigestAlgorithm,
    HexText,
    strength_of,
)
from .sharing import sharing

CLOCK_LEEWAY = timedelta(seconds=60)


class ScanLayout(StrEnum):
    """The layouts of HDF5 files whose content the service knows."""

    NXTOMO = "NXtomo"
    NXMX = "NXmx"
    DATA_EXCHANGE = "DataExchange"


PROFILES = {
    ScanLayout.NXTOMO: "https://manual.nexusformat.org/classes/applications/NXtomo.html",
    ScanLayout.NXMX: "https://manual.nexusformat.org/classes/applications/NXmx.html",
    ScanLayout.DATA_EXCHANGE: "https://doi.org/10.1107/S160057751401604X",
}


class AttestationKind(StrEnum):
    CHECKSUM_VERIFIED = "ChecksumVerified"
    """The bytes were read."""
    TRANSFER_VERIFIED = "TransferVerified"
    """A transfer service compared the bytes on the far side."""
    FORMAT_VALIDATED = "FormatValidated"


class AttestationOutcome(StrEnum):
    MATCH = "Match"
    MISMATCH = "Mismatch"
    UNREACHABLE = "Unreachable"


class CheckFailure(StrEnum):
    """Why a check could not read a copy."""

    NOT_FOUND = "NotFound"
    PERMISSION_DENIED = "PermissionDenied"
    OUTSIDE_ROOTS = "OutsideRoots"
    TIMEOUT = "Timeout"
    TRANSPORT_ERROR = "TransportError"
    CORRUPT = "Corrupt"


# Events are stored for ever: add a field with a default; never rename or drop one.
class AttestationRecorded(Event):
    attestation_id: UUID
    dataset_id: UUID
    distribution_id: UUID
    kind: AttestationKind
    verified_by: VerifiedBy
    outcome: AttestationOutcome
    strength: ChecksumStrength | None
    checked_at: datetime
    evidence: JsonObject
    team_id: UUID | None = None
    visit_id: UUID | None = None


class AttestationNotFoundError(NotFound): ...


class InvalidAttestationCheckerError(Blank):
    """Checker must not be blank."""


class InvalidAttestationFoundError(Invalid):
    """A check reports what it found or why it found nothing, in the fields of its kind."""


class InvalidAttestationCheckedAtError(Invalid):
    """Time of the check must not be in the future."""


class AttestationDistributionDiscardedError(Cannot):
    """A check of a discarded copy cannot be recorded."""


class AttestationAlgorithmUnknownError(Cannot):
    """The dataset has no sum of the algorithm that the check used."""


class AttestationTransferNotTrustedError(Cannot):
    """Only a service account that TRANSFER_ACCOUNTS names can report what a transfer compared."""


class AttestationPlaceLeavesError(Cannot):
    """A copy that a cleaner may delete has bytes of this copy."""


class AttestationFormatUnsupportedError(Cannot):
    """The format of a dataset can be checked only if the dataset conforms to a known layout."""


class Attestation(Record):
    id: UUID
    dataset_id: UUID
    distribution_id: UUID
    kind: AttestationKind
    verified_by: VerifiedBy
    outcome: AttestationOutcome
    strength: ChecksumStrength | None
    checked_at: datetime
    evidence: JsonObject
    created_at: datetime
    team_id: UUID | None = None
    visit_id: UUID | None = None


def begin(event: AttestationRecorded) -> Attestation:
    return Attestation.of(event, id=event.attestation_id, created_at=event.occurred_at)


class FoundSum(Record):
    """The sum of the bytes that a check read; of a format check, the layout."""

    algorithm: ChecksumAlgorithm | DigestAlgorithm | None = None
    value: HexText | None = None
    byte_size: ByteSize | None = None
    file_count: Annotated[int, Ge(1)] | None = None
    layout: ScanLayout | None = None
    file: FileIdentity | None = None
    """The file that was read; of several files, the one with the lowest inode."""
    digests: Annotated[Mapping[DigestAlgorithm, HexText], MaxLen(MOST_DIGESTS)] = {}
    """Further sums of the bytes that were read."""


type CheckerName = Annotated[str, MinLen(1), MaxLen(100), Trimmed(InvalidAttestationCheckerError)]


class RecordAttestation(Command):
    distribution_id: UUID
    kind: AttestationKind
    checked_at: Timestamp
    """When the check began."""
    checker: CheckerName
    """Name and version of the program that checked."""
    found: FoundSum | None = None
    """What the check read; without it, `failure` is required."""
    failure: CheckFailure | None = None
    """Why the check could not read the copy."""
    service: Annotated[str, MinLen(1), MaxLen(100)] | None = None
    """The transfer service, of a check by one."""
    task_id: Annotated[str, MinLen(1), MaxLen(200)] | None = None
    """The task of the transfer service."""


class CheckedCopy(Record):
    distribution: Distribution
    dataset: Dataset
    holder: Distribution | None
    """The copy that holds the place of a copy that has lost it."""
    leaving: Copy | None
    """A discarded copy that has bytes of this copy."""
    transfer_accounts: frozenset[UUID]


async def checked_copy(command: RecordAttestation, read: Reader) -> CheckedCopy:
    checked = await read.one(distributions, command.distribution_id, to_show=True)
    dataset = await read.one(datasets, checked.dataset_id)
    holder = None if checked.has_place else await holder_of(place_of(checked), read)
    file = command.found.file if command.found else None
    copy = copy_of(replace(checked, file=file or checked.file))
    leaving = await sharing([copy], lambda it: it.may_leave(command.checked_at), read)
    return CheckedCopy(
        checked,
        dataset,
        holder,
        leaving=leaving.get(checked.id),
        transfer_accounts=read.facts.transfer_accounts,
    )


def record_attestation(
    command: RecordAttestation, given: CheckedCopy, call: Call
) -> list[
    AttestationRecorded
    | DistributionVerified
    | DistributionMarkedStale
    | DistributionMarkedUnreachable
    | DatasetDigestsConfirmed
    | SideWrite
]:
    """Record what a check of a copy found; the copy becomes verified, stale or unreachable."""
    _require_fitting(command)
    _require_trusted(command, given, call)
    if command.checked_at > call.now + CLOCK_LEEWAY:
        detail = f"checked_at is {command.checked_at}."
        raise InvalidAttestationCheckedAtError(detail)
    if given.distribution.status not in PRESENT:
        detail = f"The status is {given.distribution.status}."
        raise AttestationDistributionDiscardedError(detail)
    is_format = command.kind is AttestationKind.FORMAT_VALIDATED
    compare = _format_evidence if is_format else _sum_evidence
    outcome, evidence = compare(command, given.dataset)
    algorithm = command.found.algorithm if command.found else None
    matched = outcome is AttestationOutcome.MATCH and algorithm is not None
    recorded = AttestationRecorded(
        call.now,
        attestation_id=call.new_id,
        dataset_id=given.dataset.id,
        distribution_id=given.distribution.id,
        kind=command.kind,
        verified_by=_verified_by(command, call),
        outcome=outcome,
        strength=strength_of(algorithm) if matched and algorithm else None,
        checked_at=command.checked_at,
        evidence={**evidence, "checker": command.checker, "failure": command.failure},
    )
    if is_format:
        return [recorded]
    return [
        recorded,
        *_moves(recorded, command, given, call),
        *_confirmed(recorded, command, given.dataset, call),
    ]


def _require_trusted(command: RecordAttestation, given: CheckedCopy, call: Call) -> None:
    if command.kind is not AttestationKind.TRANSFER_VERIFIED:
        return
    is_named = call.principal_id in given.transfer_accounts
    if not is_named or call.principal_kind is not ActorKind.SERVICE_ACCOUNT:
        raise AttestationTransferNotTrustedError


def _confirmed(
    recorded: AttestationRecorded, command: RecordAttestation, dataset: Dataset, call: Call
) -> list[DatasetDigestsConfirmed]:
    """Return which further digests of a dataset one reading has found with its checksum."""
    found = command.found
    is_whole = found is not None and found.algorithm == dataset.checksum.algorithm
    if found is None or not is_whole or recorded.outcome is not AttestationOutcome.MATCH:
        return []
    equal = {
        str(name) for name, value in found.digests.items() if dataset.digests.get(name) == value
    }
    if not (new := tuple(sorted(equal - dataset.confirmed_digests))):
        return []
    id = recorded.attestation_id
    return [DatasetDigestsConfirmed(call.now, dataset.id, algorithms=new, attestation_id=id)]


def _require_fitting(command: RecordAttestation) -> None:
    refusal, found = InvalidAttestationFoundError, command.found
    if (found is None) is (command.failure is None):
        raise refusal("Enter either found or failure.")
    is_transfer = command.kind is AttestationKind.TRANSFER_VERIFIED
    if is_transfer is (command.service is None) or is_transfer is (command.task_id is None):
        raise refusal("service and task_id belong to TransferVerified, which needs both.")
    if found is None:
        return
    sums = found.algorithm, found.value, found.byte_size
    if command.kind is AttestationKind.FORMAT_VALIDATED:
        if any(each is not None for each in (*sums, found.file_count)):
            raise refusal("FormatValidated reports layout alone.")
    elif found.layout is not None or any(each is None for each in sums):
        raise refusal(f"{command.kind} reports algorithm, value and byte_size.")


def _verified_by(command: RecordAttestation, call: Call) -> VerifiedBy:
    if command.kind is AttestationKind.TRANSFER_VERIFIED:
        return VerifiedBy.TRANSFER
    # Only a call from inside has no surface.
    is_own = call.surface_id is None and call.principal_kind is ActorKind.SERVICE_ACCOUNT
    return VerifiedBy.SERVICE if is_own else VerifiedBy.CLIENT


def _sum_evidence(
    command: RecordAttestation, dataset: Dataset
) -> tuple[AttestationOutcome, dict[str, Json]]:
    found, named = command.found, {"service": command.service, "task_id": command.task_id}
    more: dict[str, Json] = {name: text for name, text in named.items() if text is not None}
    if found is None:
        value = dataset.checksum.value
        nothing = {"algorithm": dataset.checksum.algorithm, "expected_value": value}
        return AttestationOutcome.UNREACHABLE, {**nothing, "found_value": None, **more}
    expected = _expected_value(command, found, dataset)
    equal = found.value == expected and found.byte_size == dataset.byte_size
    evidence: dict[str, Json] = {
        "algorithm": found.algorithm,
        "expected_value": expected,
        "found_value": found.value,
        "byte_size_read": found.byte_size,
        "file_count": found.file_count,
        "file": msgspec.to_builtins(found.file),
    }
    outcome = AttestationOutcome.MATCH if equal else AttestationOutcome.MISMATCH
    return outcome, evidence | more


def _expected_value(command: RecordAttestation, found: FoundSum, dataset: Dataset) -> str:
    is_transfer = command.kind is AttestationKind.TRANSFER_VERIFIED
    if found.algorithm == dataset.checksum.algorithm:
        is_tree = found.algorithm is ChecksumAlgorithm.SHA256_TREE
        if is_tree and is_transfer:
            # A transfer service compares files one by one, so it must know which files there are.
            if not dataset.of_parts:
                raise AttestationAlgorithmUnknownError("A transfer compares the files of parts.")
            if found.file_count != dataset.file_count:
                detail = f"The dataset has {dataset.file_count} files, not {found.file_count}."
                raise AttestationAlgorithmUnknownError(detail)
        return dataset.checksum.value
    if found.algorithm is not None and (value := dataset.digests.get(found.algorithm)):
        if found.algorithm not in dataset.confirmed_digests:
            detail = f"No check has found its {found.algorithm} together with its"
            raise AttestationAlgorithmUnknownError(f"{detail} {dataset.checksum.algorithm} yet.")
        return value
    known = ", ".join([dataset.checksum.algorithm, *dataset.digests])
    raise AttestationAlgorithmUnknownError(f"It has {known}; the check used {found.algorithm}.")


def _format_evidence(
    command: RecordAttestation, dataset: Dataset
) -> tuple[AttestationOutcome, dict[str, Json]]:
    profiles = [uri for uri in dataset.encoding.conforms_to if uri in PROFILES.values()]
    if not profiles:
        raise AttestationFormatUnsupportedError
    layout = command.found.layout if command.found else None
    evidence: dict[str, Json] = {"expected_profiles": [*profiles], "found_layout": layout}
    if command.failure:
        return AttestationOutcome.UNREACHABLE, evidence
    matches = layout is not None and PROFILES[layout] in profiles
    return AttestationOutcome.MATCH if matches else AttestationOutcome.MISMATCH, evidence


def _moves(
    recorded: AttestationRecorded, command: RecordAttestation, given: CheckedCopy, call: Call
) -> list[
    DistributionVerified | DistributionMarkedStale | DistributionMarkedUnreachable | SideWrite
]:
    """Return what a check of the bytes changes of the copy."""
    checked, id = given.distribution, recorded.attestation_id
    source, file = trigger.source_of(call), command.found.file if command.found else None
    barriers = [it for it in (checked.marked_stale_at, checked.checks_count_from) if it]
    match recorded.outcome:
        case AttestationOutcome.UNREACHABLE if checked.unreachable_since is None:
            return distribution.moved(
                checked,
                DistributionMarkedUnreachable(
                    call.now,
                    checked.id,
                    trigger=source,
                    attestation_id=id,
                    failure=str(command.failure),
                    checked_at=recorded.checked_at,
                ),
            )
        case AttestationOutcome.MISMATCH if checked.status is not DistributionStatus.STALE:
            stale = DistributionMarkedStale(
                call.now,
                checked.id,
                trigger=source,
                reason="checksum mismatch",
                attestation_id=id,
                file=file,
                frees_place=not checked.has_place,
            )
            return distribution.moved(checked, stale)
        # An old good check never overrules a later finding.
        case AttestationOutcome.MATCH if all(recorded.checked_at >= it for it in barriers):
            require_free_place(given.holder)
            if (leaving := given.leaving) is not None:
                text = f"It is copy {leaving.distribution_id}. Restore it, or record its removal."
                if leaving.is_present:
                    until = leaving.checks_count_from
                    text = f"Copy {leaving.distribution_id} was restored lately. Check at {until}."
                raise AttestationPlaceLeavesError(text, distribution_id=leaving.distribution_id)
            verified = DistributionVerified.of(
                recorded, occurred_at=call.now, distribution_id=checked.id, file=file
            )
            return distribution.moved(checked, verified)
        case _:
            return []


attestations = Aggregate(
    "Attestation",
    begin,
    unchanging,
    absent=AttestationNotFoundError,
    team=lambda event: Sources(part_of=(event.distribution_id,)),
)

# fmt: off
OPERATIONS = (
    attestations.creates("POST /attestations", RecordAttestation, record_attestation,
        DistributionNotFoundError, InvalidAttestationFoundError,
        InvalidAttestationCheckedAtError, AttestationDistributionDiscardedError,
        AttestationTransferNotTrustedError, AttestationAlgorithmUnknownError,
        AttestationFormatUnsupportedError, DistributionAlreadyExistsError,
        AttestationPlaceLeavesError, given=checked_copy, first_hand=True),
)
# fmt: on


class ListAttestations(OfTeam):
    """List attestations, newest first."""

    dataset_id: UUID | None = None
    distribution_id: UUID | None = None
    kind: AttestationKind | None = None
    verified_by: VerifiedBy | None = None
    outcome: AttestationOutcome | None = None


QUESTIONS = reads("/attestations", attestations, ListAttestations, version=2)
