"""Acquisition: which asset captured a dataset, and how a wrong record is corrected."""

import asyncio
from datetime import timedelta
from typing import Any
from uuid import UUID

from tests.unit.contexts.data.around import DATASET, RUN, Part, a_dataset, a_run, dataset_registered

from beamkeep.contexts.calibration.quantity import DIALECT
from beamkeep.contexts.data import acquired
from beamkeep.contexts.data.acquisition import (
    OPERATIONS,
    QUESTIONS,
    Acquisition,
    AcquisitionAlreadyCorrectedError,
    AcquisitionCannotCorrectError,
    AcquisitionContext,
    AcquisitionCorrection,
    AcquisitionDatasetDiscardedError,
    AcquisitionNotFoundError,
    AcquisitionRecorded,
    AcquisitionRequiresCapturingError,
    AcquisitionRunMismatchError,
    CapturedBy,
    InvalidAcquisitionCapturedAtError,
    InvalidAcquisitionEvidenceError,
    InvalidAcquisitionSettingsError,
    RecordAcquisition,
    begin,
    corrections,
    rows_of,
)
from beamkeep.contexts.data.dataset import DatasetDiscarded, DatasetNotFoundError
from beamkeep.contexts.data.dataset import begin as begin_dataset
from beamkeep.contexts.equipment.asset import (
    AssetFamilyAdded,
    AssetNotFoundError,
    AssetRegistered,
    AssetTier,
)
from beamkeep.contexts.equipment.asset import begin as begin_asset
from beamkeep.contexts.equipment.family import Affordance, FamilyDefined
from beamkeep.contexts.run.run import RunNotFoundError
from beamkeep.contexts.seams.lineage import EDGES, ProvenanceEdge
from beamkeep.contexts.seams.lineage import ProvenanceRelation as Relation
from beamkeep.kernel import Many, Refusal, SideWrite, claim, replace
from beamkeep.parts.scans.layouts import DATA_EXCHANGE, NXMX, NXTOMO
from beamkeep.schemas import Json, JsonObject
from beamkeep.schemas.declaring import declare
from beamkeep.testing.past import ABSENT, LATER, NEW, NOW, Past
from beamkeep.testing.scenario import Scenario

CAMERA, STAGE, CAMERAS, STAGES = (UUID(int=number) for number in range(120, 124))
WRONG, OTHER, OTHER_DATASET, OTHER_RUN = (UUID(int=number) for number in range(130, 134))
SETTINGS: JsonObject = {"exposure_time": 0.1}
EVIDENCE: JsonObject = {"frame_count": 1500}


def device(id: UUID, name: str) -> AssetRegistered:
    return AssetRegistered(NOW, id, name, AssetTier.DEVICE, ABSENT, None, (), None, None, ())


def asset(id: UUID, name: str, *family_ids: UUID) -> tuple[Part, ...]:
    return device(id, name), *(AssetFamilyAdded(NOW, id, family_id) for family_id in family_ids)


def family(id: UUID, name: str, *affordances: Affordance) -> Part:
    return FamilyDefined(NOW, id, affordances=affordances, settings_schema=None, name=name)


AROUND = (
    family(STAGES, "Stage", Affordance.ROTATABLE),
    family(CAMERAS, "Camera", Affordance.CAPTURING),
    *asset(CAMERA, "Camera 1", STAGES, CAMERAS),
    *asset(STAGE, "Stage 1", STAGES),
    *a_dataset(),
)
recorded = AcquisitionRecorded(
    NOW,
    NEW,
    dataset_id=DATASET,
    producing_asset_id=CAMERA,
    producing_run_id=None,
    captured_at=NOW,
    settings=SETTINGS,
    evidence=EVIDENCE,
    corrects_acquisition_id=None,
)
RECORD = RecordAcquisition(
    dataset_id=DATASET,
    producing_asset_id=CAMERA,
    captured_at=NOW,
    settings=SETTINGS,
    evidence=EVIDENCE,
)


def given(*history: Part) -> Scenario:
    return Scenario(OPERATIONS, (*AROUND, *history))


def recording(**changes: object) -> RecordAcquisition:
    return RECORD.model_copy(update=changes)


def edge(acquisition_id: UUID, asset_id: UUID = CAMERA) -> ProvenanceEdge:
    return ProvenanceEdge(DATASET, Relation.ACQUIRED_BY, asset_id, source_id=acquisition_id)


def correction(of: UUID, by: UUID) -> SideWrite:
    loser = AcquisitionAlreadyCorrectedError
    return claim("acquisition-correction", of, holder=by, loser=loser)


def an_acquisition(id: UUID, **changes: Any) -> tuple[Part, ...]:
    """An acquisition with the rows that are written with it."""
    event = replace(recorded, acquisition_id=id, **changes)
    return event, *rows_of(begin(event))


def test_an_acquisition_is_recorded_with_which_asset_captured_the_dataset():
    given().when(RECORD).then(recorded, EDGES.insert(edge(NEW)))


def test_settings_and_evidence_are_empty_unless_given():
    bare = RecordAcquisition(dataset_id=DATASET, producing_asset_id=CAMERA, captured_at=NOW)
    given().when(bare).then(replace(recorded, settings={}, evidence={}), EDGES.insert(edge(NEW)))


def test_the_run_of_an_acquisition_is_that_of_the_dataset_if_both_are_known():
    made = a_dataset(OTHER_DATASET, producing_run_id=RUN)
    around = (a_run(), a_run(OTHER_RUN), *made)
    for dataset_id, run_id in ((OTHER_DATASET, RUN), (OTHER_DATASET, None), (DATASET, OTHER_RUN)):
        command = recording(dataset_id=dataset_id, producing_run_id=run_id)
        (event, *_) = given(*around).when(command).decided()
        assert event == replace(recorded, dataset_id=dataset_id, producing_run_id=run_id)
    given(*around).when(recording(dataset_id=OTHER_DATASET, producing_run_id=OTHER_RUN)).refused(
        AcquisitionRunMismatchError, saying=f"Run {RUN} produced the dataset."
    )


def test_only_an_asset_that_captures_captured_a_dataset():
    given().when(recording(producing_asset_id=STAGE)).refused(
        AcquisitionRequiresCapturingError, saying="No family of asset 'Stage 1' has it."
    )
    bare = asset(OTHER, "Lens")
    given(*bare).when(recording(producing_asset_id=OTHER)).refused(
        AcquisitionRequiresCapturingError
    )


def test_the_acquisition_of_a_discarded_dataset_is_not_recorded():
    given(DatasetDiscarded(NOW, DATASET, "out of focus")).when(RECORD).refused(
        AcquisitionDatasetDiscardedError
    )


def test_a_dataset_is_not_captured_in_the_future():
    for captured_at in (NOW - timedelta(days=9_000), NOW + timedelta(seconds=60)):
        (event, *_) = given().when(recording(captured_at=captured_at)).decided()
        assert event == replace(recorded, captured_at=captured_at)
    soon = NOW + timedelta(seconds=60, microseconds=1)
    given().when(recording(captured_at=soon)).refused(
        InvalidAcquisitionCapturedAtError, saying=f"captured_at is {soon}."
    )


def nested(levels: int) -> JsonObject:
    """An object of so many levels, of which the innermost holds a number."""
    value: Json = 1
    for _ in range(levels - 1):
        value = {"a": value}
    assert isinstance(value, dict)
    return value


def test_settings_and_evidence_have_32_levels_and_64_kib_at_most():
    for name, refusal in (
        ("settings", InvalidAcquisitionSettingsError),
        ("evidence", InvalidAcquisitionEvidenceError),
    ):
        (event, *_) = given().when(recording(**{name: nested(32)})).decided()
        assert event == replace(recorded, **{name: nested(32)})
        given().when(recording(**{name: nested(33)})).refused(
            refusal, saying="the value is over 32 levels deep"
        )
        given().when(recording(**{name: {"a": "x" * 65_528}})).decided()
        given().when(recording(**{name: {"a": "x" * 65_529}})).refused(refusal)


def test_a_wrong_record_is_corrected_by_a_new_one_that_takes_its_place_in_provenance():
    wrong = an_acquisition(WRONG, producing_asset_id=STAGE)
    given(*wrong).when(recording(corrects_acquisition_id=WRONG)).then(
        replace(recorded, corrects_acquisition_id=WRONG),
        EDGES.insert(edge(NEW)),
        correction(WRONG, NEW),
        EDGES.delete(DATASET, Relation.ACQUIRED_BY, STAGE, WRONG),
    )


def test_only_a_record_of_the_same_dataset_is_corrected():
    elsewhere = (*a_dataset(OTHER_DATASET), *an_acquisition(WRONG, dataset_id=OTHER_DATASET))
    given(*elsewhere).when(recording(corrects_acquisition_id=WRONG)).refused(
        AcquisitionCannotCorrectError, saying=f"Acquisition {WRONG} is of dataset {OTHER_DATASET}."
    )


def test_a_record_is_corrected_once_and_then_its_correction_is():
    past = (*an_acquisition(WRONG), *an_acquisition(OTHER, corrects_acquisition_id=WRONG))
    refused = (
        given(*past)
        .when(recording(corrects_acquisition_id=WRONG))
        .refused(AcquisitionAlreadyCorrectedError, saying=f"It is corrected by {OTHER}.")
    )
    assert refused.facts == {"acquisition_id": OTHER}
    outcome = given(*past).when(recording(corrects_acquisition_id=OTHER)).decided()
    assert correction(OTHER, NEW) in outcome


def test_of_two_corrections_at_once_one_is_refused():
    camera = CapturedBy(begin_asset(device(CAMERA, "Camera 1")), frozenset({Affordance.CAPTURING}))
    wrong = begin(replace(recorded, acquisition_id=WRONG))
    before = AcquisitionContext(
        begin_dataset(dataset_registered), camera, corrected=wrong, corrected_by_id=None
    )
    command = recording(corrects_acquisition_id=WRONG)
    given(correction(WRONG, OTHER)).when(command, given=before).refused(
        AcquisitionAlreadyCorrectedError
    )


def test_faults_of_an_acquisition_are_reported_in_order():
    past = (
        *(a_run(), a_run(OTHER_RUN), *a_dataset(OTHER_DATASET, producing_run_id=RUN)),
        DatasetDiscarded(NOW, DATASET, "out of focus"),
        *an_acquisition(WRONG),
        correction(WRONG, OTHER),
    )
    wrong: dict[str, object] = {
        "dataset_id": ABSENT,
        "producing_asset_id": ABSENT,
        "producing_run_id": ABSENT,
        "corrects_acquisition_id": ABSENT,
        "captured_at": LATER,
        "settings": nested(33),
        "evidence": nested(33),
    }
    rights: list[tuple[dict[str, object], type[Refusal]]] = [
        ({"dataset_id": DATASET}, DatasetNotFoundError),
        ({"producing_asset_id": STAGE}, AssetNotFoundError),
        ({"producing_run_id": OTHER_RUN}, RunNotFoundError),
        ({"corrects_acquisition_id": WRONG}, AcquisitionNotFoundError),
        ({"captured_at": NOW}, InvalidAcquisitionCapturedAtError),
        ({"settings": {}}, InvalidAcquisitionSettingsError),
        ({"evidence": {}}, InvalidAcquisitionEvidenceError),
        ({"producing_asset_id": CAMERA}, AcquisitionRequiresCapturingError),
        ({"dataset_id": OTHER_DATASET}, AcquisitionDatasetDiscardedError),
        ({"producing_run_id": RUN}, AcquisitionRunMismatchError),
    ]
    for right, refusal in rights:
        given(*past).when(recording(**wrong)).refused(refusal)
        wrong |= right
    given(*past).when(recording(**wrong)).refused(AcquisitionCannotCorrectError)


def test_an_acquisition_is_what_its_event_says():
    assert begin(replace(recorded, occurred_at=LATER)) == Acquisition(
        NEW,
        dataset_id=DATASET,
        producing_asset_id=CAMERA,
        producing_run_id=None,
        captured_at=NOW,
        settings=SETTINGS,
        evidence=EVIDENCE,
        corrects_acquisition_id=None,
        created_at=LATER,
    )


def test_an_acquisition_is_shown_with_what_corrects_it():
    past = Past([*an_acquisition(OTHER, corrects_acquisition_id=WRONG)])
    assert asyncio.run(corrections([WRONG, OTHER], past)) == {
        WRONG: AcquisitionCorrection(OTHER),
        OTHER: AcquisitionCorrection(None),
    }


def test_a_list_finds_an_acquisition_by_what_captured_what():
    source = QUESTIONS[2].source
    assert isinstance(source, Many)
    event = replace(recorded, producing_run_id=RUN)
    assert set(source.view.facets_of(begin(event))) >= {
        *(f"dataset_id={DATASET}", f"producing_asset_id={CAMERA}", f"producing_run_id={RUN}"),
    }


def test_what_has_a_declared_unit_is_a_number_and_everything_else_is_free():
    for name, wrong, refusal in (
        ("settings", {"exposure_time": "0.1 s"}, InvalidAcquisitionSettingsError),
        ("settings", {"energy": None}, InvalidAcquisitionSettingsError),
        ("evidence", {"angle_last": {"degree": 180}}, InvalidAcquisitionEvidenceError),
        ("evidence", {"frame_count": 0.5}, InvalidAcquisitionEvidenceError),
    ):
        (field,) = wrong
        given().when(recording(**{name: wrong})).refused(refusal, saying=f"At $.{field}: ")
    free = {"gain": "high", "exposure": "0.1 s", "energy": 19}
    (event, *_) = given().when(recording(settings=free)).decided()
    assert event == replace(recorded, settings=free)


def test_every_physical_fact_of_an_ingested_scan_has_a_unit():
    ingested = {name for layout in (NXTOMO, NXMX, DATA_EXCHANGE) for name, _ in layout.settings}
    assert ingested <= acquired.SETTINGS.keys()
    angles = {
        name for name in acquired.EVIDENCE if name.startswith("angle_") and name != "angle_count"
    }
    with_unit = {
        name
        for facts in (acquired.SETTINGS, acquired.EVIDENCE)
        for name, node in facts.items()
        if isinstance(node, dict) and "unit" in node
    }
    assert with_unit == {*acquired.SETTINGS} | angles
    for facts in (acquired.SETTINGS, acquired.EVIDENCE):
        declare({"$schema": DIALECT, **acquired.schema_of(facts)}, InvalidAcquisitionSettingsError)
