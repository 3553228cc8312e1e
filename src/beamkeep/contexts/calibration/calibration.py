"""Calibration: a constant of an asset at an operating point, with its revisions."""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Annotated
from uuid import UUID

from annotated_types import MaxLen
from pydantic import AfterValidator, TypeAdapter

from beamkeep.contexts.access.actor import ActorNotFoundError, actors
from beamkeep.contexts.data.dataset import Dataset, DatasetNotFoundError, DatasetStatus, datasets
from beamkeep.contexts.decision.decision import DecisionNotFoundError, decisions
from beamkeep.contexts.equipment.asset import Asset, AssetLifecycle, AssetNotFoundError, assets
from beamkeep.contexts.operation.procedure import ProcedureNotFoundError, procedures
from beamkeep.contexts.seams.installation import Reader
from beamkeep.contexts.seams.lineage import ProvenanceEdge, ProvenanceRelation, edges_from, inserted
from beamkeep.kernel import (
    CLAIMS,
    Aggregate,
    Call,
    Cannot,
    Claim,
    Command,
    Created,
    DirectoryEntry,
    Event,
    Insert,
    Invalid,
    Listing,
    NotFound,
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
    """The status of the current revision, with `None` for calibrations without a revision."""

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


type RevisionSource = MeasuredSource | ComputedSource | AssertedSource


# Events are stored for ever: add a field with a default; never rename or drop one.
class CalibrationEvent(Event):
    calibration_id: UUID


class CalibrationDefined(CalibrationEvent):
    asset_id: UUID
    quantity: Quantity
    operating_point: JsonObject
    description: FreeText | None


class CalibrationRevisionAppended(CalibrationEvent):
    """Revision added."""

    revision_id: UUID
    value: JsonObject
    status: RevisionStatus
    source: RevisionSource
    established_at: datetime
    supersedes_revision_id: UUID | None
    decided_by_decision_id: UUID | None


class CalibrationDescriptionUpdated(CalibrationEvent):
    description: FreeText | None


class CalibrationNotFoundError(NotFound): ...


class CalibrationRevisionNotFoundError(NotFound): ...


class InvalidCalibrationOperatingPointError(Invalid):
    """Operating point must match the schema of the quantity."""


class InvalidCalibrationValueError(Invalid):
    """Value must match the schema of the quantity."""


class InvalidCalibrationSourceError(Invalid):
    """Source must contain exactly the one id that its kind requires."""


class InvalidCalibrationEstablishedAtError(Invalid):
    """Time at which a value was established must not be in the future."""


class CalibrationAssetDecommissionedError(Cannot):
    """A calibration cannot be defined for a decommissioned asset."""


class CalibrationAlreadyExistsError(Cannot):
    """An asset can have one calibration of a quantity at an operating point."""


class CalibrationSourceDatasetDiscardedError(Cannot):
    """A value cannot be computed from a discarded dataset."""


class CalibrationRevisionAlreadySupersededError(Cannot):
    """A revision can be superseded only once."""


class CalibrationCannotUpdateDescriptionError(Cannot):
    """The new description must differ from the present one."""


class Revision(Record):
    revision_id: UUID
    value: JsonObject
    status: RevisionStatus
    source: RevisionSource
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
    return Calibration.of(event, id=event.calibration_id, created_at=event.occurred_at)


def evolve(
    calibration: Calibration, event: CalibrationRevisionAppended | CalibrationDescriptionUpdated
) -> Calibration:
    match event:
        case CalibrationDescriptionUpdated():
            return replace(calibration, description=event.description)
        case CalibrationRevisionAppended():
            return _revised(calibration, event)


def _revised(calibration: Calibration, event: CalibrationRevisionAppended) -> Calibration:
    new = Revision.of(event)
    revisions = [*calibration.revisions, new]
    if old := event.supersedes_revision_id:
        place = next(n for n, each in enumerate(revisions) if each.revision_id == old)
        revisions[place] = replace(revisions[place], superseded_by_revision_id=new.revision_id)
    revised = replace(calibration, revisions=tuple(revisions), revision_count=len(revisions))
    revised = replace(revised, last_revised_at=event.occurred_at)
    if not _takes_over(calibration, new):
        return revised
    current = replace(revised, current_revision_id=new.revision_id)
    kind = SourceKind(new.source.__struct_config__.tag)
    return replace(current, current_status=new.status, current_source_kind=kind)


def _takes_over(calibration: Calibration, new: Revision) -> bool:
    """Return whether a new revision becomes the current one.

    The current revision is the newest verified one, or the last in the chain of revisions that
    supersede it. Without a verified revision it is the newest that is not superseded.
    """
    verified = RevisionStatus.VERIFIED
    if new.status is verified or new.supersedes_revision_id == calibration.current_revision_id:
        return True
    return all(each.status is not verified for each in calibration.revisions)


def claims_of(calibration: Calibration) -> tuple[Insert, ...]:
    """Return the claims of the calibration's identity and of its revision ids."""
    id, point = calibration.id, calibration.operating_point
    identity = _identity(calibration.asset_id, calibration.quantity, point)
    return (
        # Without a loser a lost race decides again, and then names the calibration that won.
        CLAIMS.insert(Claim(IDENTITY, identity, id)),
        *(_claim(revision.revision_id, id) for revision in calibration.revisions),
    )


def edges_of(calibration: Calibration) -> tuple[ProvenanceEdge, ...]:
    """Return from which datasets revisions were computed."""
    return tuple(it for each in calibration.revisions for it in _edges(each, calibration.id))


def _edges(revision: Revision, calibration_id: UUID) -> tuple[ProvenanceEdge, ...]:
    source = revision.source
    dataset_id = source.dataset_id if isinstance(source, ComputedSource) else None
    relation = ProvenanceRelation.COMPUTED_FROM
    return edges_from(revision.revision_id, relation, dataset_id, source_id=calibration_id)


def _none_if_blank(text: str | None) -> str | None:
    return text.strip() or None if text is not None else None


type CalibrationDescription = Annotated[
    Annotated[str, MaxLen(2000)] | None, AfterValidator(_none_if_blank)
]


class DefineCalibration(Command):
    asset_id: UUID
    quantity: Quantity
    operating_point: JsonObject
    """Conditions under which the constant holds, by the schema of the quantity."""
    description: CalibrationDescription = None


class CalibrationCommand(Command):
    calibration_id: UUID


class SourceGiven(Record):
    """Origin of a value: Measured requires procedure_id, Computed dataset_id, Asserted actor_id."""

    kind: SourceKind
    procedure_id: UUID | None = None
    dataset_id: UUID | None = None
    actor_id: UUID | None = None


class AppendCalibrationRevision(CalibrationCommand):
    value: JsonObject
    """Value of the constant, by the schema of the quantity."""
    status: RevisionStatus
    source: SourceGiven
    established_at: Timestamp | None = None
    """Time at which the value was obtained (default: now)."""
    supersedes_revision_id: UUID | None = None
    """Revision that the new one replaces; no other revision may have replaced it."""
    decided_by_decision_id: UUID | None = None


class UpdateCalibrationDescription(CalibrationCommand):
    description: CalibrationDescription
    """New description; null or a blank text removes the description."""


async def asset_and_twin(command: DefineCalibration, read: Reader) -> tuple[Asset, UUID | None]:
    """Return the asset, and the calibration that already has the identity of the new one."""
    asset = await read.one(assets, command.asset_id)
    key = _identity(command.asset_id, command.quantity, command.operating_point)
    rows = await read.rows(CLAIMS, scope=IDENTITY, key=key)
    return asset, rows[0].holder if rows else None


class RevisionContext(Record):
    """The revision that a new one supersedes, and the dataset that it was computed from."""

    superseded: Revision | None
    dataset: Dataset | None


async def revision_context(
    calibration: Calibration, command: AppendCalibrationRevision, read: Reader
) -> RevisionContext:
    dataset = None
    match command.source:
        case SourceGiven(SourceKind.MEASURED, procedure_id=UUID() as id):
            await read.one(procedures, id)
        case SourceGiven(SourceKind.COMPUTED, dataset_id=UUID() as id):
            dataset = await read.one(datasets, id)
        case SourceGiven(SourceKind.ASSERTED, actor_id=UUID() as id):
            await read.one(actors, id)
        case _:
            pass
    if command.decided_by_decision_id is not None:
        await read.one(decisions, command.decided_by_decision_id)
    old_id = command.supersedes_revision_id
    return RevisionContext(revision_of(calibration, old_id) if old_id else None, dataset)


async def calibration_ids(revision_ids: Iterable[UUID], read: Reader) -> Mapping[UUID, UUID]:
    """Return the calibration of each revision; raise when a revision does not exist."""
    keys = {claim_key(id): id for id in revision_ids}
    rows = await read.rows(CLAIMS, scope=REVISION, key=frozenset(keys))
    found = {keys[row.key]: row.holder for row in rows if row.holder is not None}
    for id in keys.values():
        if id not in found:
            raise _absent(id)
    return found


def revision_of(calibration: Calibration, revision_id: UUID) -> Revision:
    """Return one revision; raise CalibrationRevisionNotFoundError when there is none."""
    for revision in calibration.revisions:
        if revision.revision_id == revision_id:
            return revision
    raise _absent(revision_id)


def define_calibration(
    command: DefineCalibration, given: tuple[Asset, UUID | None], call: Call
) -> list[CalibrationDefined | SideWrite]:
    """Define a constant of an asset at an operating point; append its values as revisions."""
    asset, twin_id = given
    schema, wrong = QUANTITIES[command.quantity], InvalidCalibrationOperatingPointError
    point = carry_whole(_trimmed(command.operating_point), schema.operating_point, wrong)
    if asset.lifecycle is AssetLifecycle.DECOMMISSIONED:
        detail = f"Asset {asset.name} is decommissioned; revise one of its calibrations instead."
        raise CalibrationAssetDecommissionedError(detail)
    if twin_id:
        detail = f"Append a revision to calibration {twin_id}."
        raise CalibrationAlreadyExistsError(detail, calibration_id=twin_id)
    new = {"calibration_id": call.new_id, "operating_point": point}
    defined = CalibrationDefined.of(command, occurred_at=call.now, **new)
    return [defined, *claims_of(begin(defined))]


class RevisionMade(Created):
    revision_id: UUID


def append_calibration_revision(
    calibration: Calibration,
    command: AppendCalibrationRevision,
    given: RevisionContext,
    call: Call,
) -> list[CalibrationRevisionAppended | SideWrite | RevisionMade]:
    """Append a value of the constant as a new revision; earlier revisions do not change."""
    schema, established_at = QUANTITIES[calibration.quantity], command.established_at or call.now
    value = carry_whole(command.value, schema.value, InvalidCalibrationValueError)
    source = _source(command.source)
    if established_at > call.now + CLOCK_LEEWAY:
        detail = f"The time is {established_at}, now is {call.now}."
        raise InvalidCalibrationEstablishedAtError(detail)
    if (dataset := given.dataset) and dataset.status is DatasetStatus.DISCARDED:
        raise CalibrationSourceDatasetDiscardedError(f"Dataset {dataset.id} is Discarded.")
    old = given.superseded
    if old is not None and (successor := old.superseded_by_revision_id):
        detail = f"Revision {old.revision_id} is superseded by {successor}; supersede {successor}."
        refusal = CalibrationRevisionAlreadySupersededError
        raise refusal(detail, superseded_by_revision_id=successor)
    appended = CalibrationRevisionAppended.of(
        command,
        occurred_at=call.now,
        revision_id=call.new_id,
        value=value,
        source=source,
        established_at=established_at,
    )
    edges = inserted(_edges(Revision.of(appended), calibration.id))
    return [appended, _claim(call.new_id, calibration.id), *edges, RevisionMade(call.new_id)]


def update_calibration_description(
    calibration: Calibration, command: UpdateCalibrationDescription, call: Call
) -> list[CalibrationDescriptionUpdated]:
    """Change or remove the description of a calibration."""
    if command.description == calibration.description:
        raise CalibrationCannotUpdateDescriptionError
    return [CalibrationDescriptionUpdated(call.now, calibration.id, command.description)]


def _absent(revision_id: UUID) -> CalibrationRevisionNotFoundError:
    return CalibrationRevisionNotFoundError(f"There is no calibration revision {revision_id}.")


def _identity(asset_id: UUID, quantity: Quantity, operating_point: JsonObject) -> str:
    """Return the key that is unique among calibrations."""
    return claim_key(asset_id, quantity, canonical_text(_trimmed(operating_point)))


def _claim(revision_id: UUID, calibration_id: UUID) -> Insert:
    return CLAIMS.insert(Claim(REVISION, claim_key(revision_id), calibration_id))


def _trimmed(point: JsonObject) -> JsonObject:
    return {name: each.strip() if isinstance(each, str) else each for name, each in point.items()}


def _point_text(text: str) -> str:
    """Return the operating point of a filter in the form that the list stores."""
    try:
        return canonical_text(_trimmed(POINTS.validate_json(text)))
    except ValueError:
        raise ValueError("must be a JSON object") from None


def _source(given: SourceGiven) -> RevisionSource:
    match given:
        case SourceGiven(SourceKind.MEASURED, UUID() as id, None, None):
            return MeasuredSource(id)
        case SourceGiven(SourceKind.COMPUTED, None, UUID() as id, None):
            return ComputedSource(id)
        case SourceGiven(SourceKind.ASSERTED, None, None, UUID() as id):
            return AssertedSource(id)
        case _:
            required = {"Measured": "procedure_id", "Computed": "dataset_id"}
            field = required.get(given.kind, "actor_id")
            raise InvalidCalibrationSourceError(f"Kind {given.kind} requires {field} alone.")


calibrations = Aggregate("Calibration", begin, evolve, absent=CalibrationNotFoundError)

# fmt: off
OPERATIONS = (
    calibrations.creates("POST /calibrations", DefineCalibration, define_calibration,
        AssetNotFoundError, InvalidCalibrationOperatingPointError,
        CalibrationAssetDecommissionedError, CalibrationAlreadyExistsError, given=asset_and_twin),
    calibrations.changes("POST /calibrations/{calibration_id}/append-revision",
        AppendCalibrationRevision, append_calibration_revision, ProcedureNotFoundError,
        DatasetNotFoundError, ActorNotFoundError, DecisionNotFoundError,
        CalibrationRevisionNotFoundError, InvalidCalibrationValueError,
        InvalidCalibrationSourceError, InvalidCalibrationEstablishedAtError,
        CalibrationSourceDatasetDiscardedError,
        CalibrationRevisionAlreadySupersededError, given=revision_context),
    calibrations.changes("POST /calibrations/{calibration_id}/update-description",
        UpdateCalibrationDescription, update_calibration_description,
        CalibrationCannotUpdateDescriptionError),
)
# fmt: on


class ListCalibrations(Listing):
    """List calibrations, newest first."""

    asset_id: UUID | None = None
    quantity: Quantity | None = None
    current_status: frozenset[CurrentStatus] | None = None
    current_source_kind: SourceKind | None = None
    operating_point: Annotated[str, MaxLen(2000), AfterValidator(_point_text)] | None = None
    """JSON object; the order of keys and the notation of numbers do not matter."""


FACETS: Mapping[str, Callable[[Calibration], Iterable[object]]] = {
    "current_status": lambda it: (it.current_status or CurrentStatus.NONE,),
    "operating_point": lambda it: (canonical_text(it.operating_point),),
}
QUESTIONS = reads(
    "/calibrations",
    calibrations,
    ListCalibrations,
    facets=FACETS,
    version=2,
    directory=DirectoryEntry(
        lambda it: it.quantity,
        status=lambda it: it.current_status,
        scope=lambda it: (it.asset_id,),
        version=2,
    ),
)
