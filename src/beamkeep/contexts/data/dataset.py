"""Dataset: one product of the facility, with its origin, its trust and how long it is kept."""

from collections.abc import Callable, Iterable, Mapping
from datetime import date, datetime
from enum import StrEnum
from typing import Annotated
from uuid import UUID

from annotated_types import Ge, MaxLen

from beamkeep.contexts.run.run import Run, RunNotFoundError, RunStatus, runs
from beamkeep.contexts.seams.belonging import GivenTeam, OfTeam
from beamkeep.contexts.seams.custody_rules import DatasetIntent
from beamkeep.contexts.seams.installation import Reader
from beamkeep.contexts.seams.lineage import EDGES, ProvenanceEdge, edges_from, inserted
from beamkeep.contexts.seams.lineage import ProvenanceRelation as Relation
from beamkeep.contexts.subject.subject import SubjectNotFoundError, subjects
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
    Insert,
    Invalid,
    Listing,
    NotFound,
    Page,
    Record,
    SideWrite,
    Sources,
    Table,
    Upcast,
    Upsert,
    entries,
    reads,
    replace,
)
from beamkeep.kernel.values import FreeText, Name, Reason, Trimmed

from . import external_id
from .authorship import Contributor
from .external_id import DoiNamespace, DoiText, ExternalIdState
from .shapes import (
    MOST_DIGESTS,
    MOST_PARTS,
    ByteSize,
    Checksum,
    ChecksumAlgorithm,
    DatasetPart,
    Day,
    DigestAlgorithm,
    Encoding,
    HexText,
    is_over,
    require_checksum,
    require_digests,
    require_encoding,
    require_parts,
)

MOST_ORIGINS = 64


class DatasetStatus(StrEnum):
    REGISTERED = "Registered"
    ARCHIVED = "Archived"
    DISCARDED = "Discarded"


# Events are stored for ever: add a field with a default; never rename or drop one.
class DatasetEvent(Event):
    dataset_id: UUID


class DatasetRegistered(DatasetEvent):
    name: FreeText
    checksum: Checksum
    byte_size: int
    encoding: Encoding
    digests: Mapping[str, str]
    file_count: int | None
    of_parts: bool
    producing_run_id: UUID | None
    subject_id: UUID | None
    derived_from: tuple[UUID, ...]
    used_calibration_ids: tuple[UUID, ...]
    retain_until: date | None
    available_from: date | None
    was_ingested: bool = False
    """Whether the service read the files itself; the same bytes are then ingested once."""
    team_id: UUID | None = None
    visit_id: UUID | None = None


class DatasetDigestsConfirmed(DatasetEvent):
    algorithms: tuple[str, ...]
    """The further digests that one reading has found together with the checksum."""
    attestation_id: UUID


class DatasetArchived(DatasetEvent): ...


class DatasetEventWithReason(DatasetEvent):
    reason: FreeText


class DatasetDiscarded(DatasetEventWithReason): ...


class DatasetPromoted(DatasetEventWithReason): ...


class DatasetDemoted(DatasetEventWithReason): ...


class DatasetRetentionUpdated(DatasetEvent):
    retain_until: date | None
    available_from: date | None
    reason: FreeText
    released_by: UUID | None = None
    """Who removed or advanced a date; null if both dates stay or become later."""


class DatasetSealedIntoEdition(DatasetEvent):
    """Sealed into an edition."""

    edition_id: UUID


class DatasetReleasedFromEdition(DatasetEvent):
    """Released from an edition."""

    edition_id: UUID


class DatasetExternalIdRequested(DatasetEvent):
    external_id: str
    creator_ids: tuple[UUID, ...]
    contributors: tuple[Contributor, ...]
    publisher_facility_code: str
    publication_year: int
    license: str | None
    external_id_namespace: DoiNamespace = DoiNamespace.DOI


class DatasetExternalIdAssigned(DatasetEvent):
    external_id: str
    external_id_namespace: DoiNamespace = DoiNamespace.DOI


class DatasetExternalIdRefused(DatasetEvent):
    """External id refused by the registry."""

    external_id: str
    status: int
    """The status of the registry's answer."""


class DatasetExternalIdHidden(DatasetEventWithReason): ...


type DatasetMoved = DatasetArchived | DatasetDiscarded
type DatasetJudged = DatasetPromoted | DatasetDemoted
type DatasetHeld = DatasetSealedIntoEdition | DatasetReleasedFromEdition
type DatasetIdentified = (
    DatasetExternalIdRequested
    | DatasetExternalIdAssigned
    | DatasetExternalIdRefused
    | DatasetExternalIdHidden
)
type DatasetChanged = (
    DatasetMoved
    | DatasetJudged
    | DatasetHeld
    | DatasetRetentionUpdated
    | DatasetDigestsConfirmed
    | DatasetIdentified
)


class DatasetNotFoundError(NotFound): ...


class InvalidDatasetNameError(Blank): ...


class InvalidDatasetReasonError(Blank): ...


class InvalidDatasetChecksumError(Invalid):
    """Checksum must be a SHA-256, or a SHA-256 of the list of files."""


class InvalidDatasetDigestsError(Invalid):
    """Digests must be lowercase hexadecimal texts of the length of their algorithm."""


class InvalidDatasetEncodingError(Invalid):
    """Encoding must have a media type and addresses of formats."""


class InvalidDatasetPartsError(Invalid):
    """Parts must be the files that the checksum and the size of the dataset describe."""


class InvalidDatasetRetentionError(Invalid):
    """Enter retain_until or available_from; null removes the date."""


class DatasetDerivedFromDiscardedError(Cannot):
    """A dataset cannot be derived from a discarded dataset."""


class DatasetSubjectMismatchError(Cannot):
    """The subject of a dataset must be the subject of the run that produced it."""


class DatasetCalibrationsNotPinnedError(Cannot):
    """The calibration revisions of a dataset must be pinned by the run that produced it."""


class DatasetCannotArchiveError(Cannot):
    """Only a registered dataset can be archived."""


class DatasetCannotDiscardError(Cannot):
    """The dataset is already discarded."""


class DatasetInEditionError(Cannot):
    """A dataset in a sealed or published edition cannot be discarded; withdraw the edition."""


class DatasetRetainedError(Cannot):
    """A dataset cannot be discarded before the date until which it must be kept."""


class DatasetNeedsSecondPersonError(Cannot):
    """Who released a production dataset from its dates cannot discard it or its copies."""


class DatasetHasDerivedProductionError(Cannot):
    """Production data was derived from the dataset; set despite_derived to discard it anyway."""


class DatasetCannotPromoteError(Cannot):
    """Only a trial dataset of a finished run and of production data can be promoted."""


class DatasetCannotDemoteError(Cannot):
    """Only a production dataset that is not discarded can be demoted."""


class DatasetCannotUpdateRetentionError(Cannot):
    """The dates of a dataset can change until the dataset is discarded."""


S, T = DatasetStatus, DatasetIntent

STATUS: Axis[DatasetStatus, DatasetMoved] = Axis(
    "status",
    # event, allowed from, leads to, refused with
    (DatasetArchived, {S.REGISTERED}, S.ARCHIVED, DatasetCannotArchiveError),
    (DatasetDiscarded, {S.REGISTERED, S.ARCHIVED}, S.DISCARDED, DatasetCannotDiscardError),
)
INTENT: Axis[DatasetIntent, DatasetJudged] = Axis(
    "intent",
    (DatasetPromoted, {T.TRIAL}, T.PRODUCTION, DatasetCannotPromoteError),
    (DatasetDemoted, {T.PRODUCTION}, T.RETRACTED, DatasetCannotDemoteError),
)
WITH_DATA = frozenset({RunStatus.COMPLETED, RunStatus.STOPPED, RunStatus.TRUNCATED})


class Dataset(Record):
    id: UUID
    name: str
    checksum: Checksum
    byte_size: int
    encoding: Encoding
    digests: Mapping[str, str]
    file_count: int | None
    of_parts: bool
    """Whether the dataset is exactly the files that `list_dataset_parts` shows."""
    producing_run_id: UUID | None
    subject_id: UUID | None
    derived_from: tuple[UUID, ...]
    used_calibration_ids: tuple[UUID, ...]
    retain_until: date | None
    available_from: date | None
    was_ingested: bool
    """Whether the service read the files itself; the same bytes are then ingested once."""
    created_at: datetime
    status: DatasetStatus = DatasetStatus.REGISTERED
    intent: DatasetIntent = DatasetIntent.TRIAL
    sealed_edition_ids: frozenset[UUID] = frozenset()
    """The sealed and published editions that contain the dataset."""
    external_id: str | None = None
    external_id_namespace: DoiNamespace | None = None
    external_id_state: ExternalIdState | None = None
    pending_external_id: str | None = None
    """The identifier that is being registered."""
    confirmed_digests: frozenset[str] = frozenset()
    """The further digests that a check has found together with the checksum."""
    released_by: UUID | None = None
    """Who last removed or advanced a date until which the dataset is kept or closed."""
    team_id: UUID | None = None
    visit_id: UUID | None = None


class DatasetStanding(Record, gc=False):
    """Of a dataset, what decides on its copies."""

    dataset_id: UUID
    intent: DatasetIntent
    status: DatasetStatus
    byte_size: int
    producing_run_id: UUID | None
    retain_until: date | None
    sealed: bool


STANDINGS = Table("dataset_standing", DatasetStanding, key=("dataset_id",))


class PartRow(DatasetPart):
    dataset_id: UUID


PARTS = Table("dataset_part", PartRow, key=("dataset_id", "path"))


def begin(event: DatasetRegistered) -> Dataset:
    return Dataset.of(event, id=event.dataset_id, created_at=event.occurred_at)


def evolve(dataset: Dataset, event: DatasetChanged) -> Dataset:
    match event:
        case DatasetArchived() | DatasetDiscarded():
            return replace(dataset, status=STATUS.after(event))
        case DatasetPromoted() | DatasetDemoted():
            return replace(dataset, intent=INTENT.after(event))
        case DatasetSealedIntoEdition():
            sealed = dataset.sealed_edition_ids | {event.edition_id}
            return replace(dataset, sealed_edition_ids=sealed)
        case DatasetReleasedFromEdition():
            sealed = dataset.sealed_edition_ids - {event.edition_id}
            return replace(dataset, sealed_edition_ids=sealed)
        case DatasetRetentionUpdated():
            until, available = event.retain_until, event.available_from
            by = event.released_by or dataset.released_by
            return replace(dataset, retain_until=until, available_from=available, released_by=by)
        case DatasetDigestsConfirmed():
            confirmed = dataset.confirmed_digests.union(event.algorithms)
            return replace(dataset, confirmed_digests=confirmed)
        case DatasetExternalIdRequested():
            return external_id.requested(dataset, event.external_id)
        case DatasetExternalIdRefused():
            return external_id.refused(dataset)
        case DatasetExternalIdAssigned():
            return external_id.assigned(dataset, event.external_id, event.external_id_namespace)
        case DatasetExternalIdHidden():
            return external_id.hidden(dataset)


def edges_of(dataset: Dataset) -> tuple[ProvenanceEdge, ...]:
    """Return what a dataset came of."""
    id = dataset.id
    return (
        *edges_from(id, Relation.DERIVED_FROM, *dataset.derived_from),
        *edges_from(id, Relation.PRODUCED_BY, dataset.producing_run_id),
        *edges_from(id, Relation.ABOUT, dataset.subject_id),
        *edges_from(id, Relation.USED_CALIBRATION, *dataset.used_calibration_ids),
    )


def standing_of(dataset: Dataset) -> DatasetStanding:
    """Return what decides on the copies of a dataset."""
    sealed = bool(dataset.sealed_edition_ids)
    return DatasetStanding.of(dataset, dataset_id=dataset.id, sealed=sealed)


def moved[E: DatasetMoved | DatasetJudged | DatasetHeld | DatasetRetentionUpdated](
    dataset: Dataset, event: E
) -> list[E | Upsert]:
    """Return an event of a dataset with the row that it changes."""
    return [event, STANDINGS.upsert(standing_of(evolve(dataset, event)))]


class RegisterDataset(GivenTeam):
    name: Annotated[Name, Trimmed(InvalidDatasetNameError)]
    checksum: Checksum
    """The SHA-256 of the one file, or of the list of files."""
    byte_size: ByteSize
    """The number of bytes of all files."""
    encoding: Encoding
    """The media type, and the formats that the bytes follow."""
    digests: Annotated[Mapping[DigestAlgorithm, HexText], MaxLen(MOST_DIGESTS)] = {}
    """Other sums of the same bytes, by which other systems name them."""
    file_count: Annotated[int, Ge(1)] | None = None
    """The number of files, if there are several and they are not listed."""
    parts: Annotated[tuple[DatasetPart, ...], MaxLen(MOST_PARTS)] = ()
    """The files of the dataset, if it is not everything below its base directory."""
    producing_run_id: UUID | None = None
    subject_id: UUID | None = None
    """The sample (default: the subject of the run)."""
    derived_from: Annotated[frozenset[UUID], MaxLen(MOST_ORIGINS)] = frozenset()
    """The datasets from which this one was computed."""
    used_calibration_ids: Annotated[frozenset[UUID], MaxLen(MOST_ORIGINS)] = frozenset()
    """The calibration revisions used, which the run has pinned."""
    retain_until: Day | None = None
    """The dataset cannot be discarded before this day."""
    available_from: Day | None = None
    """The day on which an embargo ends."""


class DatasetCommand(Command):
    dataset_id: UUID


class DatasetCommandWithReason(DatasetCommand):
    reason: Annotated[Reason, Trimmed(InvalidDatasetReasonError)]


class DiscardDataset(DatasetCommandWithReason):
    despite_derived: bool = False
    """Whether production data derived from the dataset is known and stays without its source."""


class PromoteDataset(DatasetCommandWithReason): ...


class DemoteDataset(DatasetCommandWithReason): ...


class UpdateDatasetRetention(DatasetCommandWithReason):
    retain_until: Day | None = None
    """The dataset cannot be discarded before this day; null removes the day."""
    available_from: Day | None = None
    """The day on which an embargo ends; null removes the day."""


class DatasetOrigin(Record):
    """What a dataset is said to come of."""

    run: Run | None
    derived_from: Mapping[UUID, Dataset]


async def named_origin(
    run_id: UUID | None, subject_id: UUID | None, derived_from: Iterable[UUID], read: Reader
) -> DatasetOrigin:
    """Return the origin of a dataset; raise when anything that it names does not exist."""
    run = await read.one(runs, run_id) if run_id else None
    if subject_id:
        await read.one(subjects, subject_id)
    return DatasetOrigin(run, await read.many(datasets, sorted(derived_from)))


async def registered_origin(command: RegisterDataset, read: Reader) -> DatasetOrigin:
    run_id, subject_id = command.producing_run_id, command.subject_id
    return await named_origin(run_id, subject_id, command.derived_from, read)


async def present_origin(dataset: Dataset, command: PromoteDataset, read: Reader) -> DatasetOrigin:
    return await named_origin(dataset.producing_run_id, None, dataset.derived_from, read)


def register_dataset(
    command: RegisterDataset, given: DatasetOrigin, call: Call
) -> list[DatasetRegistered | SideWrite]:
    """Register a dataset whose bytes are complete; its intent is Trial at first."""
    checksum = require_checksum(command.checksum, InvalidDatasetChecksumError)
    digests = require_digests(command.digests, checksum, InvalidDatasetDigestsError)
    encoding = require_encoding(command.encoding, InvalidDatasetEncodingError)
    parts = command.parts
    if parts:
        parts = require_parts(parts, checksum, command.byte_size, InvalidDatasetPartsError)
    subject_id = require_origin(
        given, command.subject_id, command.used_calibration_ids, command.derived_from
    )
    is_one_file = checksum.algorithm is ChecksumAlgorithm.SHA256
    registered = DatasetRegistered.of(
        command,
        occurred_at=call.now,
        dataset_id=call.new_id,
        digests=digests,
        encoding=encoding,
        file_count=1 if is_one_file else len(parts) or command.file_count,
        of_parts=bool(parts),
        subject_id=subject_id,
        derived_from=tuple(sorted(command.derived_from)),
        used_calibration_ids=tuple(sorted(command.used_calibration_ids)),
    )
    return [registered, *rows_of(begin(registered), parts)]


def rows_of(dataset: Dataset, parts: Iterable[DatasetPart]) -> tuple[Insert | Upsert, ...]:
    """Return the rows that are written with a new dataset."""
    return (
        STANDINGS.upsert(standing_of(dataset)),
        *(PARTS.insert(PartRow.of(part, dataset_id=dataset.id)) for part in parts),
        *inserted(edges_of(dataset)),
    )


def require_origin(
    origin: DatasetOrigin,
    subject_id: UUID | None,
    used_calibration_ids: Iterable[UUID],
    derived_from: Iterable[UUID],
) -> UUID | None:
    """Return the subject of a dataset; raise when its run and origins contradict it."""
    run = origin.run
    for id in sorted(derived_from):
        if origin.derived_from[id].status is S.DISCARDED:
            raise DatasetDerivedFromDiscardedError(f"Dataset {id} is Discarded.", dataset_id=id)
    of_run = run.subject_id if run else None
    if subject_id and of_run and subject_id != of_run:
        detail = f"The run is about subject {of_run}, not {subject_id}."
        raise DatasetSubjectMismatchError(detail)
    missing = sorted({*used_calibration_ids}.difference(run.pinned_calibration_ids if run else ()))
    if missing:
        pins = f"Run {run.id} does not pin" if run else "Without a run nothing pins"
        detail = f"{pins} {', '.join(map(str, missing))}."
        raise DatasetCalibrationsNotPinnedError(detail, calibration_revision_ids=missing)
    return subject_id or of_run


class DerivedProduction(Record):
    """Whether two persons are needed, and the production data derived from a dataset."""

    needs_two: bool
    number: int
    shown_ids: tuple[UUID, ...]
    """Those that the caller may see."""


async def derived_production(
    dataset: Dataset, command: DiscardDataset, read: Reader
) -> DerivedProduction:
    needs_two = read.facts.discard_needs_two
    edges = await read.rows(EDGES, to_id=dataset.id, relation=Relation.DERIVED_FROM)
    ids = frozenset(edge.from_id for edge in edges)
    rows = await read.rows(STANDINGS, dataset_id=ids) if ids else ()
    derived = [
        row.dataset_id
        for row in rows
        if row.intent is T.PRODUCTION and row.status is not S.DISCARDED
    ]
    shown = await read.visible(datasets, derived)
    return DerivedProduction(needs_two, len(derived), shown_ids=tuple(sorted(shown)))


def require_second_person(dataset: Dataset, needs_two: bool, call: Call) -> None:
    """Raise when the caller has released a production dataset from its dates."""
    is_same = dataset.released_by == call.principal_id
    if needs_two and dataset.intent is T.PRODUCTION and is_same:
        raise DatasetNeedsSecondPersonError


def discard_dataset(
    dataset: Dataset, command: DiscardDataset, given: DerivedProduction, call: Call
) -> list[DatasetDiscarded | Upsert]:
    """Discard a dataset; from then on, each of its copies may be discarded."""
    discarded = DatasetDiscarded(call.now, dataset.id, command.reason)
    STATUS.require(dataset.status, DatasetDiscarded)
    if sealed := sorted(dataset.sealed_edition_ids):
        detail = f"It is in {', '.join(f'edition {id}' for id in sealed)}."
        raise DatasetInEditionError(detail, edition_ids=sealed)
    if not is_over(dataset.retain_until, call.now):
        detail = f"Keep it until {dataset.retain_until}, or change the date."
        raise DatasetRetainedError(detail, retain_until=dataset.retain_until)
    require_second_person(dataset, given.needs_two, call)
    if given.number and not command.despite_derived:
        named = ", ".join(str(id) for id in given.shown_ids) or "of others"
        detail = f"There are {given.number}: {named}."
        raise DatasetHasDerivedProductionError(detail, dataset_ids=given.shown_ids)
    return moved(dataset, discarded)


def promote_dataset(
    dataset: Dataset, command: PromoteDataset, given: DatasetOrigin, call: Call
) -> list[DatasetPromoted | Upsert]:
    """Promote a trial dataset to production data."""
    refusal = DatasetCannotPromoteError
    _require_present(dataset, refusal)
    INTENT.require(dataset.intent, DatasetPromoted)
    if given.run and given.run.status not in WITH_DATA:
        ended = " or ".join(sorted(WITH_DATA))
        raise refusal(f"Run {given.run.id} is {given.run.status}; it must be {ended}.")
    for id, origin in given.derived_from.items():
        if origin.status is S.DISCARDED or origin.intent is not T.PRODUCTION:
            state = origin.status if origin.status is S.DISCARDED else origin.intent
            raise refusal(f"Dataset {id}, from which it is derived, is {state}.")
    return moved(dataset, DatasetPromoted(call.now, dataset.id, command.reason))


def demote_dataset(
    dataset: Dataset, command: DemoteDataset, call: Call
) -> list[DatasetDemoted | Upsert]:
    """Retract a production dataset; datasets derived from it do not change."""
    _require_present(dataset, DatasetCannotDemoteError)
    demoted = DatasetDemoted(call.now, dataset.id, command.reason)
    return moved(dataset, INTENT.allow(dataset.intent, demoted))


def update_dataset_retention(
    dataset: Dataset, command: UpdateDatasetRetention, call: Call
) -> list[DatasetRetentionUpdated | Upsert]:
    """Change until when a dataset is kept, and from when it is available."""
    given = command.model_fields_set & {"retain_until", "available_from"}
    if not given:
        raise InvalidDatasetRetentionError
    _require_present(dataset, DatasetCannotUpdateRetentionError)
    dates = {"retain_until": dataset.retain_until, "available_from": dataset.available_from}
    new = dates | {name: getattr(command, name) for name in given}
    if new == dates:
        raise DatasetCannotUpdateRetentionError("The dates would not change.")
    is_earlier = any(_is_earlier(new[name], dates[name]) for name in dates)
    return moved(
        dataset,
        DatasetRetentionUpdated.of(
            command,
            occurred_at=call.now,
            released_by=call.principal_id if is_earlier else None,
            **new,
        ),
    )


def _is_earlier(new: date | None, old: date | None) -> bool:
    return old is not None and (new is None or new < old)


def _require_present(dataset: Dataset, refusal: type[Cannot]) -> None:
    if dataset.status is S.DISCARDED:
        raise refusal("The dataset is Discarded.")


def with_of_parts(fields: dict[str, object]) -> dict[str, object]:
    """Return the first form of DatasetRegistered with the name that its boolean has now."""
    of_parts = fields.pop("has_parts")
    return {**fields, "of_parts": of_parts}


def team_of(event: DatasetRegistered) -> Sources:
    made_of = (event.producing_run_id, *event.derived_from)
    return Sources(part_of=made_of, about=(event.subject_id,))


datasets = Aggregate(
    "Dataset",
    begin,
    evolve,
    absent=DatasetNotFoundError,
    upcasts=(Upcast(DatasetRegistered.__name__, 1, with_of_parts),),
    axes=(STATUS, INTENT),
    team=team_of,
)

# fmt: off
OPERATIONS = (
    datasets.creates("POST /datasets", RegisterDataset, register_dataset, RunNotFoundError,
        SubjectNotFoundError, DatasetNotFoundError, InvalidDatasetChecksumError,
        InvalidDatasetDigestsError, InvalidDatasetEncodingError, InvalidDatasetPartsError,
        DatasetDerivedFromDiscardedError, DatasetSubjectMismatchError,
        DatasetCalibrationsNotPinnedError, *OF_TEAM, given=registered_origin),
    datasets.changes("POST /datasets/{dataset_id}/discard", DiscardDataset, discard_dataset,
        DatasetCannotDiscardError, DatasetInEditionError, DatasetRetainedError,
        DatasetNeedsSecondPersonError, DatasetHasDerivedProductionError,
        given=derived_production, destructive=True),
    datasets.changes("POST /datasets/{dataset_id}/promote", PromoteDataset, promote_dataset,
        DatasetCannotPromoteError, given=present_origin),
    datasets.changes("POST /datasets/{dataset_id}/demote", DemoteDataset, demote_dataset,
        DatasetCannotDemoteError, destructive=True),
    datasets.changes("POST /datasets/{dataset_id}/update-retention", UpdateDatasetRetention,
        update_dataset_retention, InvalidDatasetRetentionError,
        DatasetCannotUpdateRetentionError),
)
# fmt: on


class ListDatasets(OfTeam, Listing):
    """List datasets, newest first."""

    status: frozenset[DatasetStatus] | None = None
    intent: DatasetIntent | None = None
    producing_run_id: UUID | None = None
    subject_id: UUID | None = None
    used_calibration_id: UUID | None = None
    """Datasets made with this calibration revision."""
    derived_from: UUID | None = None
    """Datasets computed from this dataset."""
    checksum_value: Annotated[str, MaxLen(64)] | None = None
    media_type: Annotated[str, MaxLen(200)] | None = None
    external_id: DoiText | None = None


class ListDatasetParts(Page):
    """List the files of a dataset, by path."""


FACETS: Mapping[str, Callable[[Dataset], Iterable[object]]] = {
    "used_calibration_id": lambda it: it.used_calibration_ids,
    "derived_from": lambda it: it.derived_from,
    "checksum_value": lambda it: (it.checksum.value,),
    "media_type": lambda it: (it.encoding.media_type,),
}
# fmt: off
QUESTIONS = (
    *reads("/datasets", datasets, ListDatasets,
        milestones={
            "archived_at": (DatasetArchived,), "discarded_at": (DatasetDiscarded,),
            "promoted_at": (DatasetPromoted,), "demoted_at": (DatasetDemoted,)},
        facets=FACETS, composed_of=("Run",), version=2,
        directory=DirectoryEntry(
            lambda it: it.name, status=lambda it: it.status,
            keywords=lambda it: (it.checksum.value, it.external_id),
            scope=lambda it: (it.producing_run_id,) if it.producing_run_id else None)),
    entries("GET /datasets/{dataset_id}/parts", ListDatasetParts, datasets, PARTS, by=("path",)),
)
# fmt: on
