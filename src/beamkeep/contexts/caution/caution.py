"""Caution: a quirk of equipment or of a procedure, and what to do about it."""

from collections.abc import Iterable
from datetime import datetime
from enum import StrEnum
from typing import Annotated
from uuid import UUID

from annotated_types import MaxLen, MinLen

from beamkeep.contexts.equipment.asset import AssetNotFoundError, assets
from beamkeep.contexts.equipment.place import PLACES
from beamkeep.contexts.run.procedure import ProcedureNotFoundError
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
    NotFound,
    Period,
    Reader,
    Record,
    reads,
    replace,
)
from beamkeep.kernel.values import FreeText, Timestamp, trimmed

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
    """From the least to the greatest: be aware; do it differently; harm if ignored."""

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
    """What a caution is about."""

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


class CautionNotFoundError(NotFound):
    """The caution does not exist."""


class InvalidCautionTextError(Invalid):
    """The text is not usable: say what is the matter."""


class InvalidCautionWorkaroundError(Invalid):
    """The workaround is not usable: say what to do."""


class InvalidCautionTagsError(Invalid):
    """The tags are not usable."""


class InvalidCautionExpiresAtError(Invalid):
    """A caution ends later than now; give a time ahead, or none."""


class InvalidCautionPropagateToChildrenError(Invalid):
    """Only a caution about an asset reaches what stands under it."""


class CautionCannotSupersedeError(Cannot):
    """The caution cannot be superseded: only one that is active can."""


class CautionCannotRetireError(Cannot):
    """The caution cannot be retired: only one that is active can."""


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
    """The caution this one superseded."""
    promoted_from_decision_id: UUID | None
    superseded_by_caution_id: UUID | None = None
    status: CautionStatus = CautionStatus.ACTIVE
    retire_reason: RetireReason | None = None


def begin(event: CautionRegistered) -> Caution:
    return Caution(
        event.caution_id,
        event.target,
        event.category,
        event.severity,
        event.text,
        event.workaround,
        event.tags,
        event.expires_at,
        event.propagate_to_children,
        event.authored_by,
        event.parent_id,
        event.promoted_from_decision_id,
    )


def evolve(caution: Caution, event: CautionEnded) -> Caution:
    ended = replace(caution, status=STATUS.after(event))
    match event:
        case CautionSuperseded():
            return replace(ended, superseded_by_caution_id=event.superseded_by_caution_id)
        case CautionRetired():
            return replace(ended, retire_reason=event.retire_reason)


type LongText = Annotated[str, MinLen(1), MaxLen(2000)]
type Tag = Annotated[str, MinLen(1), MaxLen(50)]


class Wording(Command):
    """What a caution says, however it comes about."""

    category: CautionCategory
    severity: CautionSeverity
    text: LongText
    """What is the matter."""
    workaround: LongText
    """What to do about it."""
    tags: frozenset[Tag] = frozenset()
    propagate_to_children: bool = False
    """Whether it also holds for everything that stands under its asset."""


class RegisterCaution(Wording):
    target: Target
    """What it is about, for good."""
    expires_at: Timestamp | None = None


class SupersedeCaution(Wording):
    caution_id: UUID
    expires_at: Timestamp | None = None


class RetireCaution(Command):
    caution_id: UUID
    retire_reason: RetireReason


class CautionMade(Created):
    caution_id: UUID


async def require_target(target: Target, read: Reader) -> None:
    """Refuse a target that does not exist."""
    if target.kind is TargetKind.PROCEDURE:
        raise ProcedureNotFoundError(f"There is no procedure {target.id}.")
    await read.one(assets, target.id)


async def target_found(command: RegisterCaution, read: Reader) -> None:
    await require_target(command.target, read)


def register_caution(command: RegisterCaution, given: None, call: Call) -> list[CautionRegistered]:
    """Write down a quirk, for whoever works next on the same thing."""
    return [registered(command, command.target, command.expires_at, call)]


def supersede_caution(
    caution: Caution, command: SupersedeCaution, call: Call
) -> list[CautionSuperseded | CautionRegistered | CautionMade]:
    """Put a new caution about the same thing in the place of this one."""
    new = registered(command, caution.target, command.expires_at, call)
    return [*in_place_of(caution, new), CautionMade(call.new_id)]


def retire_caution(caution: Caution, command: RetireCaution, call: Call) -> list[CautionRetired]:
    """Take a caution out of use that holds no longer, or never did."""
    STATUS.require(caution.status, CautionRetired)
    return [CautionRetired(call.now, caution.id, command.retire_reason)]


def registered(
    wording: Wording, target: Target, expires_at: datetime | None, call: Call
) -> CautionRegistered:
    """A caution worded as it should be, by the caller."""
    text = trimmed(wording.text, InvalidCautionTextError)
    workaround = trimmed(wording.workaround, InvalidCautionWorkaroundError)
    tags = {trimmed(tag, InvalidCautionTagsError) for tag in wording.tags}
    if len(tags) > MOST_TAGS:
        raise InvalidCautionTagsError(f"There are over {MOST_TAGS}.")
    if expires_at is not None and expires_at <= call.now:
        raise InvalidCautionExpiresAtError
    if wording.propagate_to_children and target.kind is not TargetKind.ASSET:
        raise InvalidCautionPropagateToChildrenError
    return CautionRegistered(
        call.now,
        call.new_id,
        target,
        wording.category,
        wording.severity,
        text,
        workaround,
        tuple(sorted(tags)),
        expires_at,
        wording.propagate_to_children,
        call.principal_id,
        None,
        None,
    )


def in_place_of(
    caution: Caution, new: CautionRegistered
) -> tuple[CautionSuperseded, CautionRegistered]:
    """The end of a caution, and the new one that follows it."""
    STATUS.require(caution.status, CautionSuperseded)
    ended = CautionSuperseded(new.occurred_at, caution.id, new.caution_id)
    return ended, replace(new, parent_id=caution.id)


cautions = Aggregate("Caution", begin, evolve, CautionNotFoundError)

WORDED_BADLY = (
    InvalidCautionTextError,
    InvalidCautionWorkaroundError,
    InvalidCautionTagsError,
    InvalidCautionExpiresAtError,
    InvalidCautionPropagateToChildrenError,
)
# fmt: off
OPERATIONS = (
    cautions.creates("POST /cautions", RegisterCaution, register_caution, AssetNotFoundError,
        ProcedureNotFoundError, *WORDED_BADLY, given=target_found),
    cautions.changes("POST /cautions/{caution_id}/supersede", SupersedeCaution, supersede_caution,
        *WORDED_BADLY, CautionCannotSupersedeError),
    cautions.changes("POST /cautions/{caution_id}/retire", RetireCaution, retire_caution,
        CautionCannotRetireError),
)
# fmt: on


class ListCautions(Listing):
    """List cautions, by age."""

    status: CautionStatus | None = None
    target_kind: TargetKind | None = None
    target_id: frozenset[UUID] | None = None
    """Those about one of these themselves."""
    covering_asset_id: UUID | None = None
    """Those about this asset, and those that reach it from one it stands under."""
    category: CautionCategory | None = None
    min_severity: CautionSeverity | None = None
    """Those at least as severe."""
    tag: Tag | None = None
    authored_by: UUID | None = None
    in_effect: bool | None = None


def _reaching(asset_id: UUID) -> str:
    return f"below {asset_id}"


def covered(caution: Caution) -> Iterable[object]:
    """How a list finds the assets that a caution covers."""
    if caution.target.kind is TargetKind.ASSET:
        if caution.propagate_to_children:
            yield _reaching(caution.target.id)
        yield caution.target.id


async def covering(asset_id: UUID, read: Reader) -> Iterable[object]:
    above = await read.above(PLACES, [asset_id])
    return {asset_id, *(_reaching(id) for id in above)}


IN_EFFECT = Period("in_effect", status=CautionStatus.ACTIVE, since=None, until="expires_at")

QUESTIONS = reads(
    "/cautions",
    cautions,
    ListCautions,
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
