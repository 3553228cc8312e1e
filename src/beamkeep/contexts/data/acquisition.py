"""Acquisition: the fact that an asset captured a dataset, with its settings."""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Annotated
from uuid import UUID

from pydantic import Field

from beamkeep.contexts.equipment.asset import Asset, AssetNotFoundError, assets
from beamkeep.contexts.equipment.family import Affordance, families
from beamkeep.contexts.run.run import RunNotFoundError, runs
from beamkeep.contexts.seams.belonging import OfTeam
from beamkeep.contexts.seams.installation import Reader
from beamkeep.contexts.seams.lineage import EDGES, ProvenanceEdge, edges_from, inserted, key_of
from beamkeep.contexts.seams.lineage import ProvenanceRelation as Relation
from beamkeep.kernel import (
    CLAIMS,
    Aggregate,
    Call,
    Cannot,
    Command,
    Event,
    Insert,
    Invalid,
    MayContainPersonalData,
    NotFound,
    Record,
    SideWrite,
    Sources,
    claim,
    claim_key,
    reads,
    unchanging,
)
from beamkeep.kernel.values import Timestamp
from beamkeep.schemas import Json, JsonObject, carry_whole
from beamkeep.schemas.bounds import require_bounded

from .acquired import EVIDENCE, SETTINGS, declares, schema_of
from .dataset import Dataset, DatasetNotFoundError, DatasetStatus, datasets

CORRECTIONS = "acquisition-correction"
CLOCK_LEEWAY = timedelta(seconds=60)
MOST_LEVELS = 32

type AcquisitionSettings = Annotated[JsonObject, declares(SETTINGS)]
type AcquisitionEvidence = Annotated[JsonObject, declares(EVIDENCE)]


# Events are stored for ever: add a field with a default; never rename or drop one.
class AcquisitionRecorded(Event):
    acquisition_id: UUID
    dataset_id: UUID
    producing_asset_id: UUID
    producing_run_id: UUID | None
    captured_at: datetime
    settings: Annotated[AcquisitionSettings, MayContainPersonalData()]
    evidence: Annotated[AcquisitionEvidence, MayContainPersonalData()]
    corrects_acquisition_id: UUID | None
    team_id: UUID | None = None
    visit_id: UUID | None = None


class AcquisitionNotFoundError(NotFound): ...


class InvalidAcquisitionCapturedAtError(Invalid):
    """Time of capture must not be in the future."""


class InvalidAcquisitionSettingsError(Invalid):
    """Settings must be a JSON object of at most 64 KiB, with numbers in the declared units."""


class InvalidAcquisitionEvidenceError(Invalid):
    """Evidence must be a JSON object of at most 64 KiB, with numbers in the declared units."""


class AcquisitionRequiresCapturingError(Cannot):
    """A dataset is captured by an asset of which a family has the affordance Capturing."""


class AcquisitionRunMismatchError(Cannot):
    """The run of an acquisition must be the run that produced the dataset."""


class AcquisitionDatasetDiscardedError(Cannot):
    """The acquisition of a discarded dataset cannot be recorded."""


class AcquisitionCannotCorrectError(Cannot):
    """An acquisition can correct only an acquisition of the same dataset."""


class AcquisitionAlreadyCorrectedError(Cannot):
    """An acquisition can be corrected once; correct the correction instead."""


class Acquisition(Record):
    id: UUID
    dataset_id: UUID
    producing_asset_id: UUID
    producing_run_id: UUID | None
    captured_at: datetime
    settings: AcquisitionSettings
    evidence: AcquisitionEvidence
    corrects_acquisition_id: UUID | None
    created_at: datetime
    team_id: UUID | None = None
    visit_id: UUID | None = None


def begin(event: AcquisitionRecorded) -> Acquisition:
    return Acquisition.of(event, id=event.acquisition_id, created_at=event.occurred_at)


def edges_of(acquisition: Acquisition) -> tuple[ProvenanceEdge, ...]:
    """Return that the dataset was acquired by the asset."""
    asset_id, id = acquisition.producing_asset_id, acquisition.id
    return edges_from(acquisition.dataset_id, Relation.ACQUIRED_BY, asset_id, source_id=id)


class RecordAcquisition(Command):
    dataset_id: UUID
    producing_asset_id: UUID
    """The asset that captured the dataset, such as a camera."""
    producing_run_id: UUID | None = None
    captured_at: Timestamp
    """When the asset captured the dataset."""
    settings: AcquisitionSettings = Field(default_factory=dict[str, Json])
    """The settings of the asset, such as the exposure time."""
    evidence: AcquisitionEvidence = Field(default_factory=dict[str, Json])
    """What was counted or measured, such as the number of frames."""
    corrects_acquisition_id: UUID | None = None
    """The wrong record that this one replaces."""


class CapturedBy(Record):
    """The asset of a new acquisition, and what its families can do."""

    asset: Asset
    affordances: frozenset[Affordance]


class AcquisitionContext(Record):
    dataset: Dataset
    captured_by: CapturedBy
    corrected: Acquisition | None
    corrected_by_id: UUID | None


async def capturing_asset(asset_id: UUID, read: Reader) -> CapturedBy:
    """Return an asset with what its families can do."""
    asset = await read.one(assets, asset_id)
    found = await read.many(families, sorted(asset.family_ids))
    return CapturedBy(asset, frozenset(it for each in found.values() for it in each.affordances))


async def acquisition_context(command: RecordAcquisition, read: Reader) -> AcquisitionContext:
    dataset = await read.one(datasets, command.dataset_id)
    captured_by = await capturing_asset(command.producing_asset_id, read)
    if command.producing_run_id:
        await read.one(runs, command.producing_run_id)
    if (wrong := command.corrects_acquisition_id) is None:
        return AcquisitionContext(dataset, captured_by, None, corrected_by_id=None)
    corrected = await read.one(acquisitions, wrong, to_show=True)
    rows = await read.rows(CLAIMS, scope=CORRECTIONS, key=claim_key(wrong))
    by_id = rows[0].holder if rows else None
    return AcquisitionContext(dataset, captured_by, corrected, corrected_by_id=by_id)


def record_acquisition(
    command: RecordAcquisition, given: AcquisitionContext, call: Call
) -> list[AcquisitionRecorded | SideWrite]:
    """Record that an asset captured a dataset, or correct such a record."""
    require_captured_at(command.captured_at, call)
    settings = _facts(command.settings, SETTINGS, InvalidAcquisitionSettingsError)
    evidence = _facts(command.evidence, EVIDENCE, InvalidAcquisitionEvidenceError)
    dataset = given.dataset
    require_capturing(given.captured_by)
    if dataset.status is DatasetStatus.DISCARDED:
        raise AcquisitionDatasetDiscardedError
    run_id, made_by = command.producing_run_id, dataset.producing_run_id
    if run_id and made_by and run_id != made_by:
        raise AcquisitionRunMismatchError(f"Run {made_by} produced the dataset.")
    if given.corrected and given.corrected.dataset_id != dataset.id:
        detail = f"Acquisition {given.corrected.id} is of dataset {given.corrected.dataset_id}."
        raise AcquisitionCannotCorrectError(detail)
    if by_id := given.corrected_by_id:
        raise AcquisitionAlreadyCorrectedError(f"It is corrected by {by_id}.", acquisition_id=by_id)
    recorded = AcquisitionRecorded.of(
        command,
        occurred_at=call.now,
        acquisition_id=call.new_id,
        settings=settings,
        evidence=evidence,
    )
    corrected = given.corrected
    wrong = [EDGES.delete(*key_of(edge)) for edge in edges_of(corrected)] if corrected else []
    return [recorded, *rows_of(begin(recorded)), *wrong]


def _facts(values: JsonObject, facts: Mapping[str, Json], refusal: type[Invalid]) -> JsonObject:
    """Return the values; raise the refusal when one that is declared does not fit."""
    bounded = require_bounded(values, refusal, MOST_LEVELS)
    declared = {name: bounded[name] for name in bounded.keys() & facts.keys()}
    carry_whole(declared, schema_of(facts), refusal)
    return bounded


def require_captured_at(captured_at: datetime, call: Call) -> None:
    """Raise when a time of capture is in the future."""
    if captured_at > call.now + CLOCK_LEEWAY:
        detail = f"captured_at is {captured_at}."
        raise InvalidAcquisitionCapturedAtError(detail)


def require_capturing(captured_by: CapturedBy) -> None:
    """Raise when an asset cannot capture data."""
    if Affordance.CAPTURING not in captured_by.affordances:
        detail = f"No family of asset '{captured_by.asset.name}' has it."
        raise AcquisitionRequiresCapturingError(detail)


def rows_of(acquisition: Acquisition) -> tuple[SideWrite, ...]:
    """Return the rows that are written with an acquisition."""
    return *inserted(edges_of(acquisition)), *claims_of(acquisition)


def claims_of(acquisition: Acquisition) -> tuple[Insert, ...]:
    """Return the claim of a correction on the acquisition that it corrects."""
    if (wrong := acquisition.corrects_acquisition_id) is None:
        return ()
    loser = AcquisitionAlreadyCorrectedError
    return (claim(CORRECTIONS, wrong, holder=acquisition.id, loser=loser),)


class AcquisitionCorrection(Record):
    corrected_by_acquisition_id: UUID | None


async def corrections(ids: Iterable[UUID], read: Reader) -> Mapping[UUID, AcquisitionCorrection]:
    """Return by which acquisition each of these is corrected."""
    keys = {claim_key(id): id for id in ids}
    rows = await read.rows(CLAIMS, scope=CORRECTIONS, key=frozenset(keys))
    by_id = {keys[row.key]: row.holder for row in rows}
    return {id: AcquisitionCorrection(by_id.get(id)) for id in keys.values()}


acquisitions = Aggregate(
    "Acquisition",
    begin,
    unchanging,
    absent=AcquisitionNotFoundError,
    team=lambda event: Sources(part_of=(event.dataset_id,)),
)

# fmt: off
OPERATIONS = (
    acquisitions.creates("POST /acquisitions", RecordAcquisition, record_acquisition,
        DatasetNotFoundError, AssetNotFoundError, RunNotFoundError, AcquisitionNotFoundError,
        InvalidAcquisitionCapturedAtError, InvalidAcquisitionSettingsError,
        InvalidAcquisitionEvidenceError, AcquisitionRequiresCapturingError,
        AcquisitionDatasetDiscardedError, AcquisitionRunMismatchError,
        AcquisitionCannotCorrectError, AcquisitionAlreadyCorrectedError,
        given=acquisition_context),
)
# fmt: on


class ListAcquisitions(OfTeam):
    """List acquisitions, newest first."""

    dataset_id: UUID | None = None
    producing_asset_id: UUID | None = None
    producing_run_id: UUID | None = None
    captured_from: Timestamp | None = None
    captured_to: Timestamp | None = None


PERIOD = {"captured_from": ("captured_at", ">="), "captured_to": ("captured_at", "<")}
QUESTIONS = reads(
    "/acquisitions",
    acquisitions,
    ListAcquisitions,
    compared=PERIOD,
    shown_with=corrections,
    version=2,
)
