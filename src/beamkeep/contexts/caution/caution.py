"""Caution: a quirk of equipment or of a procedure, and what to do about it."""

from collections.abc import Iterable
from datetime import datetime
from enum import StrEnum
from typing import Annotated
from uuid import UUID

from annotated_types import MaxLen, MinLen

from beamkeep.contexts.equipment.asset import AssetNotFoundError, assets
from beamkeep.contexts.operation.procedure import ProcedureNotFoundError, procedures
from beamkeep.contexts.seams.installation import Reader
from beamkeep.contexts.seams.place import PLACES
from beamkeep.kernel import (
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
    NotFound,
    Period,
    Record,
    reads,
    replace,
)
from beamkeep.kernel.values import FreeText, Tag, Timestamp, Trimmed

MOST_TAGS = 20


class TargetKind(StrEnum):
    ASSET = "Asset"
    PROCEDURE = "Procedure"


class CautionCategory(StrEnum):
    WEAR = "Wear"
    CALIBRATION = "Calibration"
    WIRING = "Wiring"
    OPERATIONAL_WINDOW = "OperationalWindow"
    INTERLOCK_QUIRK = "InterlockQuirk"
    PROCEDURE_GOTCHA = "ProcedureGotcha"


class CautionSeverity(StrEnum):
    """In ascending order: be aware; work differently; harm if ignored."""

    NOTICE = "Notice"
    CAUTION = "Caution"
    WARNING = "Warning"

    @property
    def rank(self) -> int:
        return list(CautionSeverity).index(self)


class CautionStatus(StrEnum):
    ACTIVE = "Active"
    SUPERSEDED = "Superseded"
    RETIRED = "Retired"


class RetireReason(StrEnum):
    RESOLVED = "Resolved"
    NO_LONGER_APPLIES = "NoLongerApplies"
    WRONG_TARGET = "WrongTarget"


class Target(Record):
    """The asset or procedure that a caution is about."""

    kind: TargetKind
    id: UUID


# Events are stored for ever: add a field with a default; never rename or drop one.
class CautionEvent(Event):
    caution_id: UUID


class CautionRegistered(CautionEvent):
    target: Target
    category: CautionCategory
    severity: CautionSeverity
    text: FreeText
    workaround: FreeText
    tags: tuple[FreeText, ...]
    expires_at: datetime | None
    propagate_to_children: bool
    authored_by: UUID
    parent_id: UUID | None
    promoted_from_decision_id: UUID | None


class CautionSuperseded(CautionEvent):
    superseded_by_caution_id: UUID


class CautionRetired(CautionEvent):
    retire_reason: RetireReason


type CautionEnded = CautionSuperseded | CautionRetired


class CautionNotFoundError(NotFound): ...


class InvalidCautionTextError(Blank): ...


class InvalidCautionWorkaroundError(Blank): ...


class InvalidCautionTagsError(Invalid):
    """A caution has at most 20 tags, and a tag must not be blank."""


class InvalidCautionExpiresAtError(Invalid):
    """The expiry time of a caution must be in the future; leave it out for no expiry."""


class InvalidCautionPropagateToChildrenError(Invalid):
    """Only a caution about an asset can propagate to children."""


class CautionCannotSupersedeError(Cannot):
    """Only an Active caution can be superseded."""


class CautionCannotRetireError(Cannot):
    """Only an Active caution can be retired."""


S = CautionStatus
STATUS: Axis[CautionStatus, CautionEnded] = Axis(
    "status",
    # event, allowed from, leads to, refused with
    (CautionSuperseded, {S.ACTIVE}, S.SUPERSEDED, CautionCannotSupersedeError),
    (CautionRetired, {S.ACTIVE}, S.RETIRED, CautionCannotRetireError),
)


class Caution(Record):
    id: UUID
    target: Target
    category: CautionCategory
    severity: CautionSeverity
    text: str
    workaround: str
    tags: tuple[str, ...]
    expires_at: datetime | None
    propagate_to_children: bool
    authored_by: UUID
    parent_id: UUID | None
    """The caution that this one superseded."""
    promoted_from_decision_id: UUID | None
    superseded_by_caution_id: UUID | None = None
    status: CautionStatus = CautionStatus.ACTIVE
    retire_reason: RetireReason | None = None


def begin(event: CautionRegistered) -> Caution:
    return Caution.of(event, id=event.caution_id)


def evolve(caution: Caution, event: CautionEnded) -> Caution:
    ended = replace(caution, status=STATUS.after(event))
    match event:
        case CautionSuperseded():
            return replace(ended, superseded_by_caution_id=event.superseded_by_caution_id)
        case CautionRetired():
            return replace(ended, retire_reason=event.retire_reason)


type LongText = Annotated[str, MinLen(1), MaxLen(2000)]


class CautionContent(Command):
    """The content of a caution, registered or proposed."""

    category: CautionCategory
    severity: CautionSeverity
    text: Annotated[LongText, Trimmed(InvalidCautionTextError)]
    """What is wrong."""
    workaround: Annotated[LongText, Trimmed(InvalidCautionWorkaroundError)]
    """What to do instead."""
    tags: frozenset[Annotated[Tag, Trimmed(InvalidCautionTagsError)]] = frozenset()
    propagate_to_children: bool = False
    """Whether the caution also applies to everything below its asset."""


class NewCaution(CautionContent):
    expires_at: Timestamp | None = None
    """When the new caution ends (default: never)."""


class RegisterCaution(NewCaution):
    target: Target
    """The asset or procedure that the caution is about; it cannot be changed later."""


class SupersedeCaution(NewCaution):
    caution_id: UUID


class RetireCaution(Command):
    caution_id: UUID
    retire_reason: RetireReason


class CautionMade(Created):
    caution_id: UUID


async def require_target(target: Target, read: Reader) -> None:
    """Raise when the target does not exist."""
    if target.kind is TargetKind.PROCEDURE:
        await read.one(procedures, target.id)
    else:
        await read.one(assets, target.id)


async def target_found(command: RegisterCaution, read: Reader) -> None:
    await require_target(command.target, read)


def register_caution(command: RegisterCaution, given: None, call: Call) -> list[CautionRegistered]:
    """Register a caution about an asset or a procedure."""
    return [registered(command, command.target, command.expires_at, call)]


def supersede_caution(
    caution: Caution, command: SupersedeCaution, call: Call
) -> list[CautionSuperseded | CautionRegistered | CautionMade]:
    """Replace a caution with a new one about the same target."""
    new = registered(command, caution.target, command.expires_at, call)
    return [*superseding(caution, new), CautionMade(call.new_id)]


def retire_caution(caution: Caution, command: RetireCaution, call: Call) -> list[CautionRetired]:
    """Retire a caution that does not apply, or no longer applies."""
    retired = CautionRetired(call.now, caution.id, command.retire_reason)
    return [STATUS.allow(caution.status, retired)]


def registered(
    content: CautionContent, target: Target, expires_at: datetime | None, call: Call
) -> CautionRegistered:
    """Return the event of a valid caution, or raise what is wrong with its content."""
    if len(content.tags) > MOST_TAGS:
        raise InvalidCautionTagsError(f"There are {len(content.tags)} tags.")
    if expires_at is not None and expires_at <= call.now:
        detail = f"expires_at is {expires_at}; the current time is {call.now}."
        raise InvalidCautionExpiresAtError(detail)
    if content.propagate_to_children and target.kind is not TargetKind.ASSET:
        detail = f"The target is a {target.kind}; leave propagate_to_children out."
        raise InvalidCautionPropagateToChildrenError(detail)
    return CautionRegistered.of(
        content,
        occurred_at=call.now,
        caution_id=call.new_id,
        target=target,
        tags=tuple(sorted(content.tags)),
        expires_at=expires_at,
        authored_by=call.principal_id,
        parent_id=None,
        promoted_from_decision_id=None,
    )


def superseding(
    caution: Caution, new: CautionRegistered
) -> tuple[CautionSuperseded, CautionRegistered]:
    """Return the events that replace a caution with a new one."""
    ended = CautionSuperseded(new.occurred_at, caution.id, new.caution_id)
    return STATUS.allow(caution.status, ended), replace(new, parent_id=caution.id)


cautions = Aggregate("Caution", begin, evolve=evolve, absent=CautionNotFoundError, axes=(STATUS,))

# fmt: off
OPERATIONS = (
    cautions.creates("POST /cautions", RegisterCaution, register_caution, AssetNotFoundError,
        ProcedureNotFoundError, InvalidCautionExpiresAtError,
        InvalidCautionPropagateToChildrenError, given=target_found),
    cautions.changes("POST /cautions/{caution_id}/supersede", SupersedeCaution, supersede_caution,
        InvalidCautionExpiresAtError, InvalidCautionPropagateToChildrenError,
        CautionCannotSupersedeError, destructive=True),
    cautions.changes("POST /cautions/{caution_id}/retire", RetireCaution, retire_caution,
        CautionCannotRetireError, destructive=True),
)
# fmt: on


class ListCautions(Listing):
    """List cautions, newest first."""

    status: frozenset[CautionStatus] | None = None
    target_kind: TargetKind | None = None
    target_id: frozenset[UUID] | None = None
    """Cautions whose target is one of these ids."""
    covering_asset_id: UUID | None = None
    """Cautions about this asset, or propagated to it from an ancestor."""
    category: CautionCategory | None = None
    min_severity: CautionSeverity | None = None
    """Cautions of this severity or higher."""
    tag: Tag | None = None
    authored_by: UUID | None = None
    in_effect: bool | None = None


def _reaching(asset_id: UUID) -> str:
    return f"below {asset_id}"


def covered(caution: Caution) -> Iterable[object]:
    """Return the values by which a list finds the assets that a caution covers."""
    if caution.target.kind is TargetKind.ASSET:
        if caution.propagate_to_children:
            yield _reaching(caution.target.id)
        yield caution.target.id


async def covering(asset_id: UUID, read: Reader) -> Iterable[object]:
    return {asset_id, *map(_reaching, await read.above(PLACES, [asset_id]))}


IN_EFFECT = Period("in_effect", status=CautionStatus.ACTIVE, since=None, until="expires_at")

QUESTIONS = reads(
    "/cautions",
    cautions,
    ListCautions,
    directory=DirectoryEntry(
        lambda it: it.text,
        status=lambda it: it.status,
        keywords=lambda it: it.tags,
        scope=lambda it: (it.target.id,),
        version=2,
    ),
    milestones={"last_status_changed_at": tuple(STATUS.moves)},
    facets={
        "target_kind": lambda caution: (caution.target.kind,),
        "target_id": lambda caution: (caution.target.id,),
        "covering_asset_id": covered,
        "min_severity": lambda caution: [*CautionSeverity][: caution.severity.rank + 1],
        "tag": lambda caution: caution.tags,
    },
    expanded={"covering_asset_id": covering},
    period=IN_EFFECT,
)
