"""Calibration: one constant of one asset at one operating point, revision by revision."""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Annotated
from uuid import UUID

from annotated_types import MaxLen
from pydantic import AfterValidator, TypeAdapter

from beamkeep.contexts.access.actor import ActorNotFoundError, actors
from beamkeep.contexts.decision.decision import DecisionNotFoundError, decisions
from beamkeep.contexts.equipment.asset import Asset, AssetLifecycle, AssetNotFoundError, assets
from beamkeep.contexts.run.procedure import ProcedureNotFoundError
from beamkeep.kernel import (
    CLAIMS,
    Aggregate,
    Call,
    Cannot,
    Claim,
    Command,
    Created,
    Event,
    Insert,
    Invalid,
    Listing,
    NotFound,
    Reader,
    Record,
    SideWrite,
    claim_key,
    reads,
    replace,
)
from beamkeep.kernel.values import FreeText, Timestamp
from beamkeep.schemas import JsonObject, canonical_text, carry_whole

from .quantity import QUANTITIES, Quantity

IDENTITY, REVISION = "calibration", "calibration-revision"
CLOCK_LEEWAY = timedelta(seconds=60)
POINTS: TypeAdapter[JsonObject] = TypeAdapter(JsonObject)


class RevisionStatus(StrEnum):
    PROVISIONAL = "Provisional"
    VERIFIED = "Verified"


class CurrentStatus(StrEnum):
    """The status of the current revision, and how a list is asked for those without any."""

    PROVISIONAL = "Provisional"
    VERIFIED = "Verified"
    NONE = "None"


class SourceKind(StrEnum):
    MEASURED = "Measured"
    COMPUTED = "Computed"
    ASSERTED = "Asserted"


class MeasuredSource(Record, tag_field="kind", tag="Measured"):
    procedure_id: UUID


class ComputedSource(Record, tag_field="kind", tag="Computed"):
    dataset_id: UUID


class AssertedSource(Record, tag_field="kind", tag="Asserted"):
    actor_id: UUID


type Source = MeasuredSource | ComputedSource | AssertedSource
KINDS: Mapping[type[Source], SourceKind] = {
    MeasuredSource: SourceKind.MEASURED,
    ComputedSource: SourceKind.COMPUTED,
    AssertedSource: SourceKind.ASSERTED,
}


# Events are stored for ever: add a field with a default; never rename or drop one.
class CalibrationEvent(Event):
    calibration_id: UUID


class CalibrationDefined(CalibrationEvent):
    asset_id: UUID
    quantity: Quantity
    operating_point: JsonObject
    description: FreeText | None


class CalibrationRevisionAppended(CalibrationEvent):
    revision_id: UUID
    value: JsonObject
    status: RevisionStatus
    source: Source
    established_at: datetime
    supersedes_revision_id: UUID | None
    decided_by_decision_id: UUID | None


class CalibrationDescriptionUpdated(CalibrationEvent):
    description: FreeText | None


class CalibrationNotFoundError(NotFound):
    """The calibration does not exist."""


class CalibrationRevisionNotFoundError(NotFound):
    """The calibration revision does not exist here."""


# No dataset can be registered yet, so whoever names one is told this, always.
class DatasetNotFoundError(NotFound):
    """The dataset does not exist."""


class InvalidCalibrationOperatingPointError(Invalid):
    """The operating point is not one of this quantity; see which keys it has."""


class InvalidCalibrationValueError(Invalid):
    """The value is not one of this quantity; see which keys it has."""


class InvalidCalibrationSourceError(Invalid):
    """A source names exactly one thing: what its kind calls for."""


class InvalidCalibrationEstablishedAtError(Invalid):
    """A value is not established in the future; check the clock it was read from."""


class CalibrationAssetDecommissionedError(Cannot):
    """A decommissioned asset gets no new calibration; revise one it has."""


class CalibrationAlreadyExistsError(Cannot):
    """The asset has a calibration of this quantity at this operating point; revise that one."""


class CalibrationRevisionAlreadySupersededError(Cannot):
    """The revision is superseded already; supersede the one that did."""


class CalibrationCannotUpdateDescriptionError(Cannot):
    """The calibration has this description already."""


class Revision(Record):
    revision_id: UUID
    value: JsonObject
    status: RevisionStatus
    source: Source
    established_at: datetime
    supersedes_revision_id: UUID | None
    decided_by_decision_id: UUID | None
    superseded_by_revision_id: UUID | None = None


class Calibration(Record):
    id: UUID
    asset_id: UUID
    quantity: Quantity
    operating_point: JsonObject
    description: str | None
    created_at: datetime
    revisions: tuple[Revision, ...] = ()
    revision_count: int = 0
    current_revision_id: UUID | None = None
    current_status: RevisionStatus | None = None
    current_source_kind: SourceKind | None = None
    last_revised_at: datetime | None = None


def begin(event: CalibrationDefined) -> Calibration:
    return Calibration(
        event.calibration_id,
        event.asset_id,
        event.quantity,
        event.operating_point,
        event.description,
        event.occurred_at,
    )


def evolve(
    calibration: Calibration, event: CalibrationRevisionAppended | CalibrationDescriptionUpdated
) -> Calibration:
    match event:
        case CalibrationDescriptionUpdated():
            return replace(calibration, description=event.description)
        case CalibrationRevisionAppended():
            return _revised(calibration, event)


def _revised(calibration: Calibration, event: CalibrationRevisionAppended) -> Calibration:
    new = Revision(
        event.revision_id,
        event.value,
        event.status,
        event.source,
        event.established_at,
        event.supersedes_revision_id,
        event.decided_by_decision_id,
    )
    revisions = [*calibration.revisions, new]
    if old := event.supersedes_revision_id:
        place = next(n for n, each in enumerate(revisions) if each.revision_id == old)
        revisions[place] = replace(revisions[place], superseded_by_revision_id=new.revision_id)
    revised = replace(
        calibration,
        revisions=tuple(revisions),
        revision_count=len(revisions),
        last_revised_at=event.occurred_at,
    )
    if not _takes_over(calibration, new):
        return revised
    return replace(
        revised,
        current_revision_id=new.revision_id,
        current_status=new.status,
        current_source_kind=KINDS[type(new.source)],
    )


def _takes_over(calibration: Calibration, new: Revision) -> bool:
    """Whether a new revision becomes current; otherwise the one that is current stays so.

    Current is the newest verified revision, or what superseded it, followed to its end; without
    any verified one, the newest that nothing supersedes.
    """
    verified = RevisionStatus.VERIFIED
    return (
        new.status is verified
        or new.supersedes_revision_id == calibration.current_revision_id
        or all(each.status is not verified for each in calibration.revisions)
    )


def claims_of(calibration: Calibration) -> tuple[Insert, ...]:
    """What it alone calibrates, and the ids of its revisions."""
    id, point = calibration.id, calibration.operating_point
    identity = _identity(calibration.asset_id, calibration.quantity, point)
    return (
        # Whoever loses the race decides again, and can then say which one there is.
        CLAIMS.insert(Claim(IDENTITY, identity, id)),
        *(_revision_claim(revision.revision_id, id) for revision in calibration.revisions),
    )


type Description = Annotated[str, MaxLen(2000)]


class DefineCalibration(Command):
    asset_id: UUID
    quantity: Quantity
    operating_point: JsonObject
    """At what the constant holds: the keys that the quantity has."""
    description: Description | None = None


class CalibrationCommand(Command):
    calibration_id: UUID


class SourceGiven(Record):
    """Where a value comes from: what its kind calls for, and nothing else."""

    kind: SourceKind
    procedure_id: UUID | None = None
    dataset_id: UUID | None = None
    actor_id: UUID | None = None


class AppendCalibrationRevision(CalibrationCommand):
    value: JsonObject
    """The keys that the quantity has."""
    status: RevisionStatus
    source: SourceGiven
    established_at: Timestamp | None = None
    """When the value was obtained; left out, now."""
    supersedes_revision_id: UUID | None = None
    """The revision it takes the place of, which nothing supersedes yet."""
    decided_by_decision_id: UUID | None = None


class UpdateCalibrationDescription(CalibrationCommand):
    description: Description | None
    """Null, or a blank text, clears it."""


class Referred(Record):
    """What a new calibration refers to, and the one there is of its kind."""

    asset: Asset
    existing_id: UUID | None


async def referred(command: DefineCalibration, read: Reader) -> Referred:
    asset = await read.one(assets, command.asset_id)
    key = _identity(command.asset_id, command.quantity, command.operating_point)
    rows = await read.rows(CLAIMS, scope=IDENTITY, key=key)
    return Referred(asset, rows[0].holder if rows else None)


async def superseded(
    calibration: Calibration, command: AppendCalibrationRevision, read: Reader
) -> Revision | None:
    """The revision a new one takes the place of; everything else it names must exist too."""
    match command.source:
        case SourceGiven(SourceKind.MEASURED, procedure_id=UUID() as id):
            raise ProcedureNotFoundError(f"There is no procedure {id}.")
        case SourceGiven(SourceKind.COMPUTED, dataset_id=UUID() as id):
            raise DatasetNotFoundError(f"There is no dataset {id}.")
        case SourceGiven(SourceKind.ASSERTED, actor_id=UUID() as id):
            await read.one(actors, id)
        case _:
            pass
    if command.decided_by_decision_id is not None:
        await read.one(decisions, command.decided_by_decision_id)
    if command.supersedes_revision_id is None:
        return None
    return revision_of(calibration, command.supersedes_revision_id)


async def calibration_ids(revision_ids: Iterable[UUID], read: Reader) -> Mapping[UUID, UUID]:
    """The calibration each revision is of; the first that does not exist is refused."""
    keys = {claim_key(id): id for id in revision_ids}
    rows = await read.rows(CLAIMS, scope=REVISION, key=frozenset(keys))
    found = {keys[row.key]: row.holder for row in rows if row.holder is not None}
    for id in keys.values():
        if id not in found:
            raise _absent(id)
    return found


def revision_of(calibration: Calibration, revision_id: UUID) -> Revision:
    """One revision of a calibration, or the refusal that it has none such."""
    for revision in calibration.revisions:
        if revision.revision_id == revision_id:
            return revision
    raise _absent(revision_id)


def define_calibration(
    command: DefineCalibration, given: Referred, call: Call
) -> list[CalibrationDefined | SideWrite]:
    """Define a constant of an asset at an operating point; its values follow as revisions."""
    schema = QUANTITIES[command.quantity].operating_point
    point = carry_whole(
        _trimmed(command.operating_point), schema, InvalidCalibrationOperatingPointError
    )
    if given.asset.lifecycle is AssetLifecycle.DECOMMISSIONED:
        raise CalibrationAssetDecommissionedError(f"It is {given.asset.name}.")
    if given.existing_id is not None:
        raise CalibrationAlreadyExistsError(
            f"It is {given.existing_id}.", calibration_id=given.existing_id
        )
    description = _description(command.description)
    defined = CalibrationDefined(
        call.now, call.new_id, command.asset_id, command.quantity, point, description
    )
    return [defined, *claims_of(begin(defined))]


class RevisionMade(Created):
    revision_id: UUID


def append_calibration_revision(
    calibration: Calibration, command: AppendCalibrationRevision, given: Revision | None, call: Call
) -> list[CalibrationRevisionAppended | SideWrite | RevisionMade]:
    """Append a value of the constant; earlier ones stay as they are."""
    schema = QUANTITIES[calibration.quantity].value
    value = carry_whole(command.value, schema, InvalidCalibrationValueError)
    source = _source(command.source)
    established_at = command.established_at or call.now
    if established_at > call.now + CLOCK_LEEWAY:
        raise InvalidCalibrationEstablishedAtError
    if given is not None and (successor := given.superseded_by_revision_id):
        raise CalibrationRevisionAlreadySupersededError(
            f"Revision {successor} did.", superseded_by_revision_id=successor
        )
    return [
        CalibrationRevisionAppended(
            call.now,
            calibration.id,
            call.new_id,
            value,
            command.status,
            source,
            established_at,
            command.supersedes_revision_id,
            command.decided_by_decision_id,
        ),
        _revision_claim(call.new_id, calibration.id),
        RevisionMade(call.new_id),
    ]


def update_calibration_description(
    calibration: Calibration, command: UpdateCalibrationDescription, call: Call
) -> list[CalibrationDescriptionUpdated]:
    """Describe a calibration anew, or no more."""
    description = _description(command.description)
    if description == calibration.description:
        raise CalibrationCannotUpdateDescriptionError
    return [CalibrationDescriptionUpdated(call.now, calibration.id, description)]


def _absent(revision_id: UUID) -> CalibrationRevisionNotFoundError:
    return CalibrationRevisionNotFoundError(f"There is no calibration revision {revision_id}.")


def _identity(asset_id: UUID, quantity: Quantity, operating_point: JsonObject) -> str:
    """What no other calibration has."""
    return claim_key(asset_id, quantity, canonical_text(_trimmed(operating_point)))


def _revision_claim(revision_id: UUID, calibration_id: UUID) -> Insert:
    return CLAIMS.insert(Claim(REVISION, claim_key(revision_id), calibration_id))


def _trimmed(point: JsonObject) -> JsonObject:
    return {name: each.strip() if isinstance(each, str) else each for name, each in point.items()}


def _point_text(text: str) -> str:
    """The operating point that a filter names, as the list knows it."""
    try:
        return canonical_text(_trimmed(POINTS.validate_json(text)))
    except ValueError:
        raise ValueError("it is not a JSON object") from None


def _description(text: str | None) -> str | None:
    return text.strip() or None if text is not None else None


def _source(given: SourceGiven) -> Source:
    match given:
        case SourceGiven(SourceKind.MEASURED, UUID() as id, None, None):
            return MeasuredSource(id)
        case SourceGiven(SourceKind.COMPUTED, None, UUID() as id, None):
            return ComputedSource(id)
        case SourceGiven(SourceKind.ASSERTED, None, None, UUID() as id):
            return AssertedSource(id)
        case _:
            called_for = {"Measured": "procedure_id", "Computed": "dataset_id"}
            field = called_for.get(given.kind, "actor_id")
            raise InvalidCalibrationSourceError(f"{given.kind} calls for {field} alone.")


calibrations = Aggregate("Calibration", begin, evolve, CalibrationNotFoundError)

# fmt: off
OPERATIONS = (
    calibrations.creates("POST /calibrations", DefineCalibration, define_calibration,
        AssetNotFoundError, InvalidCalibrationOperatingPointError,
        CalibrationAssetDecommissionedError, CalibrationAlreadyExistsError, given=referred),
    calibrations.changes("POST /calibrations/{calibration_id}/append-revision",
        AppendCalibrationRevision, append_calibration_revision, ProcedureNotFoundError,
        DatasetNotFoundError, ActorNotFoundError, DecisionNotFoundError,
        CalibrationRevisionNotFoundError, InvalidCalibrationValueError,
        InvalidCalibrationSourceError, InvalidCalibrationEstablishedAtError,
        CalibrationRevisionAlreadySupersededError, given=superseded),
    calibrations.changes("POST /calibrations/{calibration_id}/update-description",
        UpdateCalibrationDescription, update_calibration_description,
        CalibrationCannotUpdateDescriptionError),
)
# fmt: on


class ListCalibrations(Listing):
    """List calibrations, by age."""

    asset_id: UUID | None = None
    quantity: Quantity | None = None
    current_status: CurrentStatus | None = None
    current_source_kind: SourceKind | None = None
    operating_point: Annotated[str, MaxLen(2000), AfterValidator(_point_text)] | None = None
    """A JSON object; neither the order of its keys nor how its numbers are written matters."""


QUESTIONS = reads(
    "/calibrations",
    calibrations,
    ListCalibrations,
    facets={
        "current_status": lambda it: (it.current_status or CurrentStatus.NONE,),
        "operating_point": lambda it: (canonical_text(it.operating_point),),
    },
    version=2,
)
