"""Checks of copies by the service: asked for here, carried out by a worker."""

from datetime import datetime
from uuid import UUID

from beamkeep.contexts.seams.installation import Reader
from beamkeep.contexts.seams.work import WORK_STATES, WORK_TURNS, WorkTurn
from beamkeep.kernel import (
    INTERNAL,
    WORK,
    Accepted,
    Call,
    Cannot,
    Fenced,
    Page,
    Record,
    SideWrite,
    Table,
    Work,
    entries,
    replace,
)

from .attestation import PROFILES, AttestationFormatUnsupportedError
from .distribution import (
    FILES,
    PRESENT,
    STATUS,
    AccessProtocol,
    CheckKind,
    Distribution,
    DistributionCheckRequested,
    DistributionCommand,
    distributions,
)
from .shapes import ChecksumAlgorithm

CHECKING = "check"
"""The kind of the durable work that a check is."""


class DistributionCheck(Record):
    """A check that waits or runs, and how far it is; when it ends, an attestation remains."""

    distribution_id: UUID
    kind: CheckKind
    check_id: UUID
    requested_at: datetime
    byte_size: int
    bytes_read: int = 0
    percent: int = 0
    bytes_per_second: int = 0
    """Since the worker began or went on with the check."""
    started_at: datetime | None = None
    """When the reading began; null while the check waits for a worker."""
    updated_at: datetime | None = None


class ReadFile(Record):
    """A file of a directory that a check has read, so that a restarted check continues after it."""

    check_id: UUID
    path: str
    sha256: str
    mark: str
    """The state in which the file was read."""


class CopyToRead(Record):
    """Where a copy is, and how its bytes are compared."""

    uri: str
    algorithm: ChecksumAlgorithm
    byte_size: int
    parts: tuple[str, ...] | None
    """The files of the dataset below the place; None for all that are there."""


class FindLayout(Record):
    """Asks for the layout of a copy of a scan."""

    copy: CopyToRead


CHECKS = Table("distribution_check", DistributionCheck, key=("distribution_id", "kind"))
READ_FILES = Table("distribution_check_file", ReadFile, key=("check_id", "path"))


class DistributionCannotRequestCheckError(Cannot):
    """A discarded copy is not checked any more."""


class AttestationProtocolUnsupportedError(Cannot):
    """The service cannot read this copy; a client next to the bytes can record an attestation."""


class DistributionCheckPendingError(Cannot):
    """A check of this kind already waits or runs."""


class DistributionCheckNotActiveError(Cannot):
    """This check has ended."""


class RequestDistributionCheck(DistributionCommand):
    kind: CheckKind = CheckKind.CHECKSUM_VERIFIED


class CheckAccepted(Accepted):
    check_id: UUID


class CheckContext(Record):
    """What the service can check, and the check of the same kind that has not ended."""

    reads_layouts: bool
    check_id: UUID | None = None
    is_left: bool = False
    """Whether workers gave that check up."""


async def check_context(
    distribution: Distribution, command: RequestDistributionCheck, read: Reader
) -> CheckContext:
    found = CheckContext(read.facts.reads_layouts)
    where = {"distribution_id": distribution.id, "kind": command.kind}
    for row in await read.rows(CHECKS, **where):
        states = await read.rows(WORK_STATES, work_id=row.check_id)
        is_left = all(state.is_left for state in states)
        found = replace(found, check_id=row.check_id, is_left=is_left)
    return found


def request_distribution_check(
    distribution: Distribution,
    command: RequestDistributionCheck,
    given: CheckContext,
    call: Call,
) -> list[DistributionCheckRequested | SideWrite | CheckAccepted]:
    """Ask the service to read a copy and to record what it found."""
    STATUS.require_in(distribution.status, PRESENT, DistributionCannotRequestCheckError)
    _require_readable(distribution, command.kind, given)
    if given.check_id and not given.is_left:
        detail = f"It is check {given.check_id}."
        raise DistributionCheckPendingError(detail, check_id=given.check_id)
    id, now = call.new_id, call.now
    row = DistributionCheck(
        distribution.id,
        command.kind,
        check_id=id,
        requested_at=now,
        byte_size=distribution.byte_size,
    )
    # The stream of the copy tells two requests at once apart: one of them decides again.
    ended: list[SideWrite] = []
    if given.check_id:
        turn = WorkTurn(given.check_id, ended_at=now, due_at=now)
        ended = [WORK_TURNS.replace(turn), READ_FILES.delete(given.check_id)]
    return [
        DistributionCheckRequested(now, distribution.id, check_id=id, kind=command.kind),
        *ended,
        CHECKS.upsert(row),
        WORK.insert(Work(id, CHECKING, distribution.id)),
        CheckAccepted(id),
    ]


def _require_readable(distribution: Distribution, kind: CheckKind, given: CheckContext) -> None:
    protocol, is_format = distribution.access_protocol, kind is CheckKind.FORMAT_VALIDATED
    is_tree = distribution.checksum.algorithm is ChecksumAlgorithm.SHA256_TREE
    over_https = protocol is AccessProtocol.HTTPS and not is_tree and not is_format
    if protocol not in FILES and not over_https:
        detail = f"The access protocol is {protocol}."
        if protocol is AccessProtocol.HTTPS:
            detail = "By HTTPS only the checksum of a single file can be checked."
        raise AttestationProtocolUnsupportedError(detail)
    if is_format and {*PROFILES.values()}.isdisjoint(distribution.encoding.conforms_to):
        raise AttestationFormatUnsupportedError
    if is_format and not given.reads_layouts:
        raise AttestationFormatUnsupportedError("This deployment cannot read layouts.")


class EndDistributionCheck(DistributionCommand):
    kind: CheckKind
    check_id: UUID
    claim: int
    owner: UUID
    """The worker process that holds the claim."""


async def active_check(
    distribution: Distribution, command: EndDistributionCheck, read: Reader
) -> bool:
    where = {"distribution_id": distribution.id, "kind": command.kind}
    return any(row.check_id == command.check_id for row in await read.rows(CHECKS, **where))


def end_distribution_check(
    distribution: Distribution, command: EndDistributionCheck, given: bool, call: Call
) -> list[SideWrite | Fenced]:
    """End a check while its worker holds it; sent with the attestation."""
    if not given:
        raise DistributionCheckNotActiveError
    return [
        CHECKS.delete(distribution.id, command.kind),
        READ_FILES.delete(command.check_id),
        Fenced(command.check_id, command.claim, command.owner, ends=True),
    ]


# fmt: off
OPERATIONS = (
    distributions.changes("POST /distributions/{distribution_id}/request-check",
        RequestDistributionCheck, request_distribution_check,
        DistributionCannotRequestCheckError, AttestationProtocolUnsupportedError,
        AttestationFormatUnsupportedError, DistributionCheckPendingError, given=check_context,
        title="Request a check of a copy"),
    distributions.changes(INTERNAL, EndDistributionCheck, end_distribution_check,
        DistributionCheckNotActiveError, given=active_check),
)
# fmt: on


class ListDistributionChecks(Page):
    """List the checks of a copy that wait or run, with their progress."""


# fmt: off
QUESTIONS = (
    entries("GET /distributions/{distribution_id}/checks", ListDistributionChecks, distributions,
        CHECKS, by=("kind",)),
)
# fmt: on
