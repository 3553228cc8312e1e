"""Calibration: which constant it is, its values, and which of them counts."""

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given as given_any
from hypothesis import settings
from hypothesis import strategies as st
from pydantic import ValidationError
from tests.unit.contexts.data.around import DATASET, a_dataset
from tests.unit.contexts.operation.procedures import PROCEDURE, a_procedure

from beamkeep.contexts.access.actor import ActorNotFoundError, ActorRegistered
from beamkeep.contexts.calibration.calibration import (
    OPERATIONS,
    QUESTIONS,
    AppendCalibrationRevision,
    AssertedSource,
    Calibration,
    CalibrationAlreadyExistsError,
    CalibrationAssetDecommissionedError,
    CalibrationCannotUpdateDescriptionError,
    CalibrationCommand,
    CalibrationDefined,
    CalibrationDescriptionUpdated,
    CalibrationNotFoundError,
    CalibrationRevisionAlreadySupersededError,
    CalibrationRevisionAppended,
    CalibrationRevisionNotFoundError,
    CalibrationSourceDatasetDiscardedError,
    ComputedSource,
    CurrentStatus,
    DefineCalibration,
    InvalidCalibrationEstablishedAtError,
    InvalidCalibrationOperatingPointError,
    InvalidCalibrationSourceError,
    InvalidCalibrationValueError,
    ListCalibrations,
    MeasuredSource,
    Revision,
    RevisionContext,
    RevisionMade,
    RevisionStatus,
    SourceGiven,
    SourceKind,
    UpdateCalibrationDescription,
    begin,
    edges_of,
    evolve,
)
from beamkeep.contexts.calibration.quantity import Quantity
from beamkeep.contexts.data.dataset import DatasetDiscarded, DatasetNotFoundError
from beamkeep.contexts.decision.decision import DecisionNotFoundError, DecisionRegistered
from beamkeep.contexts.equipment.asset import (
    AssetDecommissioned,
    AssetNotFoundError,
    AssetRegistered,
    AssetTier,
)
from beamkeep.contexts.operation.procedure import ProcedureNotFoundError
from beamkeep.contexts.seams.lineage import EDGES, ProvenanceEdge, ProvenanceRelation
from beamkeep.kernel import CLAIMS, ActorKind, Claim, Event, Many, Refusal, SideWrite, View, replace
from beamkeep.schemas import JsonObject
from beamkeep.testing.past import ABSENT, CALL, LATER, ME, NEW, NOW
from beamkeep.testing.scenario import Scenario, misshapen

ID, CAMERA, OTHER_CAMERA, WHY = UUID(int=7), UUID(int=30), UUID(int=31), UUID(int=40)
R1, R2 = UUID(int=51), UUID(int=52)
PROVISIONAL, VERIFIED = RevisionStatus.PROVISIONAL, RevisionStatus.VERIFIED
AT_25: JsonObject = {"energy": 25.0, "optics_config": "5x"}
CENTER: JsonObject = {"center": 1023.5, "uncertainty": 0.2}


def asset(id: UUID, name: str) -> AssetRegistered:
    return AssetRegistered(NOW, id, name, AssetTier.UNIT, None, "ring", (), None, None, ())


AROUND = (
    asset(CAMERA, "Camera"),
    asset(OTHER_CAMERA, "Other camera"),
    ActorRegistered(NOW, ME, ActorKind.HUMAN),
    DecisionRegistered(
        NOW, WHY, ME, "Alignment", "Accept", None, None, None, None, None, None, (), None, ()
    ),
)
defined = CalibrationDefined(NOW, ID, CAMERA, Quantity.ROTATION_CENTER, AT_25, None)
AT_25_TEXT = '{"energy":25,"optics_config":"5x"}'
IDENTITY = f'["{CAMERA}","rotation_center","{{\\"energy\\":25,\\"optics_config\\":\\"5x\\"}}"]'
claimed = CLAIMS.insert(Claim("calibration", IDENTITY, ID))
asserted = AssertedSource(ME)
appended = CalibrationRevisionAppended(NOW, ID, NEW, CENTER, VERIFIED, asserted, NOW, None, None)
revision_claimed = CLAIMS.insert(Claim("calibration-revision", f'["{NEW}"]', ID))

DEFINE = DefineCalibration(
    asset_id=CAMERA, quantity=Quantity.ROTATION_CENTER, operating_point=AT_25
)
SENT: dict[str, object] = {
    "calibration_id": str(ID),
    "value": CENTER,
    "status": "Verified",
    "source": {"kind": "Asserted", "actor_id": str(ME)},
}
APPEND = AppendCalibrationRevision.model_validate(SENT)
DESCRIBE = UpdateCalibrationDescription(calibration_id=ID, description=" By the edge of a pin ")


def given(*history: Event | SideWrite) -> Scenario:
    return Scenario(OPERATIONS, (*AROUND, *history))


def defining(**changes: object) -> DefineCalibration:
    return DEFINE.model_copy(update=changes)


def appending(**changes: object) -> AppendCalibrationRevision:
    return APPEND.model_copy(update=changes)


def revision(
    id: UUID, status: RevisionStatus = VERIFIED, supersedes: UUID | None = None
) -> CalibrationRevisionAppended:
    return replace(appended, revision_id=id, status=status, supersedes_revision_id=supersedes)


def identity(point: str, asset_id: UUID = CAMERA, quantity: str = "rotation_center") -> SideWrite:
    quoted = point.replace('"', '\\"')
    return CLAIMS.insert(Claim("calibration", f'["{asset_id}","{quantity}","{quoted}"]', NEW))


FROM_DATASET = SourceGiven(SourceKind.COMPUTED, dataset_id=DATASET)


def computed_from(revision_id: UUID, dataset_id: UUID = DATASET) -> SideWrite:
    relation = ProvenanceRelation.COMPUTED_FROM
    return EDGES.insert(ProvenanceEdge(revision_id, relation, dataset_id, source_id=ID))


# Defining.


def test_a_calibration_is_defined_with_its_texts_trimmed():
    blanks: JsonObject = {"energy": 25.0, "optics_config": " 5x\n"}
    for given_text, kept in ((None, None), (" \n", None), ("", None), (" The axis ", "The axis")):
        command = defining(operating_point=blanks, description=given_text)
        given().when(command, call=replace(CALL, new_id=ID)).then(
            replace(defined, description=kept), claimed
        )


def test_an_operating_point_has_the_keys_of_its_quantity():
    wrong: list[JsonObject] = [
        {},
        {"energy": 25.0},
        {"energy": 25.0, "optics_config": " "},
        {"energy": 25.0, "optics_config": "x" * 101},
        {"energy": 0, "optics_config": "5x"},
        {"energy": "25", "optics_config": "5x"},
        {**AT_25, "colour": "red"},
        {**AT_25, "energy": {"mean": 25}},
    ]
    for point in wrong:
        given().when(defining(operating_point=point)).refused(InvalidCalibrationOperatingPointError)


def test_the_operating_point_of_another_quantity_does_not_do():
    given().when(defining(quantity=Quantity.MAGNIFICATION)).refused(
        InvalidCalibrationOperatingPointError, saying="is not declared"
    )


def test_a_text_of_an_operating_point_is_measured_without_blanks_around_it():
    long, kept = f" {'x' * 100} ", {"energy": 25, "optics_config": "x" * 100}
    given().when(defining(operating_point={"energy": 25, "optics_config": long})).then(
        replace(defined, calibration_id=NEW, operating_point=kept),
        identity(f'{{"energy":25,"optics_config":"{"x" * 100}"}}'),
    )


def test_no_two_calibrations_are_of_one_constant():
    refused = (
        given(defined, claimed)
        .when(DEFINE)
        .refused(CalibrationAlreadyExistsError, saying=f"Append a revision to calibration {ID}.")
    )
    assert refused.facts == {"calibration_id": ID}


def test_how_an_operating_point_is_written_does_not_make_another():
    same: list[JsonObject] = [
        {"optics_config": "5x", "energy": 25},
        {"energy": 2.5e1, "optics_config": " 5x "},
    ]
    for point in same:
        given(defined, claimed).when(defining(operating_point=point)).refused(
            CalibrationAlreadyExistsError
        )


def test_another_operating_point_asset_or_quantity_is_another_calibration():
    axis, quantity = {"axis": "x"}, Quantity.ROTARY_ENCODER_OFFSET
    point: JsonObject = {"energy": 25.5, "optics_config": "5x"}
    others: list[tuple[dict[str, Any], SideWrite]] = [
        ({"operating_point": point}, identity('{"energy":25.5,"optics_config":"5x"}')),
        ({"asset_id": OTHER_CAMERA}, identity(AT_25_TEXT, asset_id=OTHER_CAMERA)),
        (
            {"quantity": quantity, "operating_point": axis},
            identity('{"axis":"x"}', quantity="rotary_encoder_offset"),
        ),
    ]
    taken = identity('{"axis":"x"}', quantity="linear_encoder_offset")
    for changes, made in others:
        given(defined, claimed, taken).when(defining(**changes)).then(
            replace(defined, calibration_id=NEW, **changes), made
        )


def test_faults_of_a_definition_are_reported_in_order():
    past = (defined, claimed, AssetDecommissioned(NOW, CAMERA))
    given(*past).when(defining(asset_id=ABSENT, operating_point={})).refused(AssetNotFoundError)
    given(*past).when(defining(operating_point={})).refused(InvalidCalibrationOperatingPointError)
    given(*past).when(DEFINE).refused(CalibrationAssetDecommissionedError, saying="Camera")


# Revising.


def test_a_value_is_appended_as_of_now_also_when_the_asset_is_decommissioned():
    for past in ((defined,), (defined, AssetDecommissioned(NOW, CAMERA))):
        given(*past).when(APPEND).then(appended, revision_claimed, RevisionMade(NEW))


def test_a_value_is_appended_with_all_that_can_be_said_of_it():
    earlier = NOW - timedelta(days=3)
    command = appending(
        status=PROVISIONAL,
        established_at=earlier,
        supersedes_revision_id=R1,
        decided_by_decision_id=WHY,
    )
    given(defined, revision(R1)).when(command).then(
        CalibrationRevisionAppended(NOW, ID, NEW, CENTER, PROVISIONAL, asserted, earlier, R1, WHY),
        revision_claimed,
        RevisionMade(NEW),
    )


def test_a_calibration_that_does_not_exist_is_not_changed():
    commands: tuple[CalibrationCommand, ...] = (APPEND, DESCRIBE)
    for command in commands:
        given().when(command).refused(CalibrationNotFoundError)


def test_the_source_of_a_value_must_exist():
    for source, refusal in (
        (SourceGiven(SourceKind.MEASURED, procedure_id=ABSENT), ProcedureNotFoundError),
        (SourceGiven(SourceKind.COMPUTED, dataset_id=ABSENT), DatasetNotFoundError),
    ):
        given(defined).when(appending(source=source)).refused(refusal)


def test_a_procedure_in_any_status_measures_a_value():
    source = SourceGiven(SourceKind.MEASURED, procedure_id=PROCEDURE)
    outcome = given(defined, a_procedure(PROCEDURE)).when(appending(source=source)).decided()
    assert outcome[0] == replace(appended, source=MeasuredSource(PROCEDURE))


def test_a_value_computed_from_a_dataset_is_appended_with_its_edge():
    given(defined, *a_dataset()).when(appending(source=FROM_DATASET)).then(
        replace(appended, source=ComputedSource(DATASET)),
        revision_claimed,
        computed_from(NEW),
        RevisionMade(NEW),
    )


def test_a_value_is_not_computed_from_a_discarded_dataset():
    gone = DatasetDiscarded(NOW, DATASET, "out of focus")
    given(defined, *a_dataset(), gone).when(appending(source=FROM_DATASET)).refused(
        CalibrationSourceDatasetDiscardedError, saying=f"Dataset {DATASET} is Discarded."
    )


def test_what_is_superseded_is_a_revision_of_the_same_calibration():
    another = replace(defined, calibration_id=ABSENT)
    elsewhere = replace(revision(R1), calibration_id=ABSENT)
    given(defined, another, elsewhere).when(appending(supersedes_revision_id=R1)).refused(
        CalibrationRevisionNotFoundError, saying=str(R1)
    )


def test_what_is_superseded_is_not_superseded_again():
    past = (defined, revision(R1), revision(R2, supersedes=R1))
    refused = (
        given(*past)
        .when(appending(supersedes_revision_id=R1))
        .refused(CalibrationRevisionAlreadySupersededError, saying=f"is superseded by {R2};")
    )
    assert refused.facts == {"superseded_by_revision_id": R2}
    given(*past).when(appending(supersedes_revision_id=R2)).then(
        replace(appended, supersedes_revision_id=R2), revision_claimed, RevisionMade(NEW)
    )


def test_a_value_has_the_keys_of_its_quantity():
    wrong: list[JsonObject] = [
        {},
        {"uncertainty": 0.2},
        {"center": "left"},
        {"center": True},
        {"center": 1023.5, "uncertainty": -0.1},
        {"center": 1023.5, "row": 7},
    ]
    for value in wrong:
        given(defined).when(appending(value=value)).refused(InvalidCalibrationValueError)


def test_a_source_names_what_its_kind_calls_for_and_nothing_else():
    wrong = {
        SourceGiven(SourceKind.MEASURED): "Kind Measured requires procedure_id alone.",
        SourceGiven(SourceKind.MEASURED, actor_id=ME): "procedure_id",
        SourceGiven(SourceKind.COMPUTED): "Kind Computed requires dataset_id alone.",
        SourceGiven(SourceKind.COMPUTED, procedure_id=R1): "dataset_id",
        SourceGiven(SourceKind.ASSERTED): "Kind Asserted requires actor_id alone.",
        SourceGiven(SourceKind.ASSERTED, procedure_id=R1, actor_id=ME): "actor_id",
        SourceGiven(SourceKind.ASSERTED, dataset_id=R1, actor_id=ME): "actor_id",
    }
    for source, saying in wrong.items():
        given(defined).when(appending(source=source)).refused(
            InvalidCalibrationSourceError, saying=saying
        )


def test_a_source_is_stored_with_what_its_kind_requires():
    kept = {
        SourceGiven(SourceKind.MEASURED, procedure_id=R1): MeasuredSource(R1),
        SourceGiven(SourceKind.COMPUTED, dataset_id=R1): ComputedSource(R1),
        SourceGiven(SourceKind.ASSERTED, actor_id=R1): AssertedSource(R1),
    }
    (first,) = evolve(begin(defined), revision(R1)).revisions
    for source, expected in kept.items():
        command = appending(source=source, supersedes_revision_id=R1)
        edges = [computed_from(NEW, R1)] if source.kind is SourceKind.COMPUTED else []
        # Given what is superseded, nothing else is looked up.
        superseding = RevisionContext(first, None)
        given(defined, revision(R1)).when(command, given=superseding).then(
            replace(appended, source=expected, supersedes_revision_id=R1),
            revision_claimed,
            *edges,
            RevisionMade(NEW),
        )


def test_a_value_is_not_established_in_the_future():
    soon = NOW + timedelta(seconds=60)
    given(defined).when(appending(established_at=soon)).then(
        replace(appended, established_at=soon), revision_claimed, RevisionMade(NEW)
    )
    given(defined).when(appending(established_at=soon + timedelta(microseconds=1))).refused(
        InvalidCalibrationEstablishedAtError
    )


def test_faults_of_a_value_are_reported_in_order():
    gone = (*a_dataset(), DatasetDiscarded(NOW, DATASET, "out of focus"))
    past = (defined, *gone, revision(R1), revision(R2, supersedes=R1))
    wrong: dict[str, object] = {
        "source": SourceGiven(SourceKind.ASSERTED, dataset_id=ABSENT, actor_id=ABSENT),
        "decided_by_decision_id": ABSENT,
        "supersedes_revision_id": ABSENT,
        "value": {},
        "established_at": LATER,
    }
    unclear = SourceGiven(SourceKind.ASSERTED, dataset_id=ABSENT, actor_id=ME)
    rights: list[tuple[dict[str, object], type[Refusal]]] = [
        ({"source": unclear}, ActorNotFoundError),
        ({"decided_by_decision_id": WHY}, DecisionNotFoundError),
        ({"supersedes_revision_id": R1}, CalibrationRevisionNotFoundError),
        ({"value": CENTER}, InvalidCalibrationValueError),
        ({"source": FROM_DATASET}, InvalidCalibrationSourceError),
        ({"established_at": NOW}, InvalidCalibrationEstablishedAtError),
        ({"source": APPEND.source}, CalibrationSourceDatasetDiscardedError),
    ]
    for right, refusal in rights:
        given(*past).when(appending(**wrong)).refused(refusal)
        wrong |= right
    given(*past).when(appending(**wrong)).refused(CalibrationRevisionAlreadySupersededError)


def test_the_shape_of_a_source():
    for wrong in (
        {"actor_id": str(ME)},
        {"kind": "Guessed", "actor_id": str(ME)},
        {"kind": "Asserted", "actor_id": str(ME), "name": "Ada"},
        {"kind": "Asserted", "actor_id": "Ada"},
    ):
        misshapen(AppendCalibrationRevision, "source", **SENT | {"source": wrong})


# Describing.


def test_a_description_is_replaced_and_null_or_a_blank_text_clears_it():
    pin = "By the edge of a pin"
    for text, kept in ((f" {pin} ", pin), (None, None), ("", None), (" ", None)):
        command = DESCRIBE.model_copy(update={"description": text})
        given(replace(defined, description="Old")).when(command).then(
            CalibrationDescriptionUpdated(NOW, ID, kept)
        )


def test_the_description_there_is_is_not_written_again():
    described = CalibrationDescriptionUpdated(NOW, ID, "By the edge of a pin")
    given(defined, described).when(DESCRIBE).refused(CalibrationCannotUpdateDescriptionError)
    for nothing in (None, "", " "):
        command = DESCRIBE.model_copy(update={"description": nothing})
        given(defined).when(command).refused(CalibrationCannotUpdateDescriptionError)


# What a calibration is.


def after(*events: CalibrationRevisionAppended | CalibrationDescriptionUpdated) -> Calibration:
    calibration = begin(defined)
    for event in events:
        calibration = evolve(calibration, event)
    return calibration


def test_a_calibration_is_what_its_first_event_says():
    assert begin(replace(defined, description="Old")) == Calibration(
        id=ID,
        asset_id=CAMERA,
        quantity=Quantity.ROTATION_CENTER,
        operating_point=AT_25,
        description="Old",
        created_at=NOW,
    )


def test_a_calibration_keeps_its_revisions_in_order():
    second = replace(
        revision(R2, PROVISIONAL, supersedes=R1), source=MeasuredSource(WHY), occurred_at=LATER
    )
    assert after(revision(R1), second) == replace(
        begin(defined),
        revisions=(
            Revision(R1, CENTER, VERIFIED, asserted, NOW, None, None, superseded_by_revision_id=R2),
            Revision(R2, CENTER, PROVISIONAL, MeasuredSource(WHY), NOW, R1, None, None),
        ),
        revision_count=2,
        current_revision_id=R2,
        current_status=PROVISIONAL,
        current_source_kind=SourceKind.MEASURED,
        last_revised_at=LATER,
    )


def test_a_calibration_tells_from_which_datasets_its_values_were_computed():
    computed = replace(revision(R1), source=ComputedSource(DATASET))
    assert [EDGES.insert(edge) for edge in edges_of(after(computed, revision(R2)))] == [
        computed_from(R1)
    ]


def test_a_description_changes_nothing_else():
    described = CalibrationDescriptionUpdated(LATER, ID, "New")
    assert after(revision(R1), described) == replace(after(revision(R1)), description="New")


# Each line: the revisions in the order they were appended, then the number of the current one.
# V is Verified, P is Provisional, and ">2" says that it supersedes the second.
CURRENT = """
P                     1
P  P                  2
P  P>1                2
P  P  P>1             3
V                     1
V  V                  2
V  P                  1
V  P  P               1
V  P>1                2
V  P>1 P              2
V  P>1 P>2            3
V  P>1 P>2 P          3
V  P   P>2            1
V  P   P    P>1       4
V  V>1                2
V  V   P>1            2
V  V   P>2            3
V  V   P>2  P         3
V  V   P>2  P>1       3
V  V   P>2  V         4
V  V   P>2  V>1       4
V  V   P>2  V>3       4
P  V>1                2
P  V                  2
P  V   P>1            2
P  V   P>2            3
P  V>1 P              2
"""


def revisions(line: str) -> list[CalibrationRevisionAppended]:
    """The revisions that a line of the table tells."""
    parts = [text.partition(">") for text in line.split()]
    return [
        revision(UUID(int=n), VERIFIED if status == "V" else PROVISIONAL, numbered(supersedes))
        for n, (status, _, supersedes) in enumerate(parts, 1)
    ]


def numbered(text: str) -> UUID | None:
    return UUID(int=int(text)) if text else None


def test_the_newest_verified_revision_or_what_superseded_it_is_current():
    for case in CURRENT.strip().splitlines():
        line, _, current = case.strip().rpartition(" ")
        calibration = after(*revisions(line))
        assert calibration.current_revision_id == numbered(current), case
        (chosen,) = (r for r in calibration.revisions if r.revision_id == numbered(current))
        assert calibration.current_status == chosen.status


@settings(max_examples=200, deadline=None, database=None)
@given_any(st.lists(st.tuples(st.booleans(), st.integers(0, 30)), max_size=12))
def test_an_older_value_never_becomes_current_again(told: list[tuple[bool, int]]):
    calibration, before = begin(defined), 0
    for number, (verified, choice) in enumerate(told, 1):
        # Only what nothing supersedes is superseded, as the rule has it; or nothing is.
        free = [r.revision_id for r in calibration.revisions if not r.superseded_by_revision_id]
        supersedes = [None, *free][choice % (len(free) + 1)]
        status = VERIFIED if verified else PROVISIONAL
        calibration = evolve(calibration, revision(UUID(int=number), status, supersedes))
        current = calibration.current_revision_id
        assert current is not None
        assert current.int in (before, number)
        assert current == defined_as_current(calibration)
        before = current.int


def defined_as_current(calibration: Calibration) -> UUID:
    """The current revision as the pages define it, found from all there are."""
    known = {each.revision_id: each for each in calibration.revisions}
    newest_first = [*reversed(calibration.revisions)]
    found = next((each for each in newest_first if each.status is VERIFIED), None)
    if found is None:
        found = next(each for each in newest_first if each.superseded_by_revision_id is None)
    while found.superseded_by_revision_id is not None:
        found = known[found.superseded_by_revision_id]
    return found.revision_id


def test_every_kind_of_source_is_named():
    kinds = {
        MeasuredSource(R1): SourceKind.MEASURED,
        ComputedSource(R1): SourceKind.COMPUTED,
        AssertedSource(R1): SourceKind.ASSERTED,
    }
    for source, kind in kinds.items():
        assert after(replace(appended, source=source)).current_source_kind is kind


# What a list finds.


def view() -> "View[Calibration]":
    source = QUESTIONS[2].source
    assert isinstance(source, Many)
    return source.view


def test_a_list_finds_a_calibration_without_a_value():
    assert set(view().facets_of(begin(defined))) == {
        f"asset_id={CAMERA}",
        "quantity=rotation_center",
        "name=rotation_center",
        "current_status=None",
        'operating_point={"energy":25,"optics_config":"5x"}',
    }


def test_a_list_finds_a_calibration_by_its_current_value():
    found = set(view().facets_of(after(revision(R1, PROVISIONAL))))
    assert {"current_status=Provisional", "current_source_kind=Asserted"} <= found


def test_a_list_is_asked_for_every_status_there_is_and_for_none():
    assert {*CurrentStatus} == {*RevisionStatus, "None"}


def test_an_operating_point_is_looked_for_however_it_is_written():
    for text in (
        '{"energy":25,"optics_config":"5x"}',
        '{"optics_config": " 5x ", "energy": 2.50e1}',
    ):
        query = ListCalibrations(operating_point=text)
        assert query.operating_point == '{"energy":25,"optics_config":"5x"}'


def test_what_is_no_json_object_is_not_looked_for():
    wrong = ("", "5x", "[]", "25", "null", '{"energy":NaN}', '{"a":1e999}', '{"a":"\\ud800"}')
    for text in (*wrong, '{"a":' * 400, " " * 1999 + "{}"):
        with pytest.raises(ValidationError):
            ListCalibrations(operating_point=text)
