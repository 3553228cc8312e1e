"""Dataset: what it came of, how far it is trusted, and how long it is kept."""

from datetime import date, timedelta
from hashlib import sha256
from typing import Any
from uuid import UUID

from tests.unit.contexts.data.around import (
    DATASET,
    HDF5,
    OTHER_REVISION,
    REVISION,
    RUN,
    SIZE,
    SUBJECT,
    SUM,
    Part,
    a_dataset,
    a_run,
    dataset_registered,
)

from beamkeep.contexts.data.dataset import (
    OPERATIONS,
    PARTS,
    QUESTIONS,
    STANDINGS,
    Dataset,
    DatasetArchived,
    DatasetCalibrationsNotPinnedError,
    DatasetCannotDemoteError,
    DatasetCannotDiscardError,
    DatasetCannotPromoteError,
    DatasetCannotUpdateRetentionError,
    DatasetChanged,
    DatasetCommand,
    DatasetDemoted,
    DatasetDerivedFromDiscardedError,
    DatasetDiscarded,
    DatasetHasDerivedProductionError,
    DatasetInEditionError,
    DatasetNeedsSecondPersonError,
    DatasetNotFoundError,
    DatasetOrigin,
    DatasetPromoted,
    DatasetRegistered,
    DatasetReleasedFromEdition,
    DatasetRetainedError,
    DatasetRetentionUpdated,
    DatasetSealedIntoEdition,
    DatasetStanding,
    DatasetStatus,
    DatasetSubjectMismatchError,
    DemoteDataset,
    DerivedProduction,
    DiscardDataset,
    InvalidDatasetChecksumError,
    InvalidDatasetDigestsError,
    InvalidDatasetEncodingError,
    InvalidDatasetPartsError,
    InvalidDatasetRetentionError,
    PartRow,
    PromoteDataset,
    RegisterDataset,
    UpdateDatasetRetention,
    begin,
    evolve,
    standing_of,
)
from beamkeep.contexts.data.shapes import (
    Checksum,
    ChecksumAlgorithm,
    DatasetPart,
    DigestAlgorithm,
    Encoding,
)
from beamkeep.contexts.run.run import (
    RunAborted,
    RunCompleted,
    RunHeld,
    RunNotFoundError,
    RunStopped,
    RunTruncated,
)
from beamkeep.contexts.seams.custody_rules import DatasetIntent
from beamkeep.contexts.seams.lineage import EDGES, ProvenanceEdge
from beamkeep.contexts.seams.lineage import ProvenanceRelation as Relation
from beamkeep.contexts.subject.subject import SubjectNotFoundError, SubjectRegistered
from beamkeep.kernel import Event, Many, Refusal, SideWrite, replace
from beamkeep.testing.installation import FACTS
from beamkeep.testing.past import ABSENT, CALL, LATER, NEW, NOW
from beamkeep.testing.scenario import Example, Scenario, matrix, misshapen

OTHER_SUBJECT, RAW, FLAT, EDITION = (UUID(int=number) for number in range(100, 104))
KEPT_UNTIL, OPEN_FROM = date(2040, 1, 31), date(2031, 6, 1)
TRIAL, PRODUCTION, RETRACTED = DatasetIntent
REGISTERED, ARCHIVED, DISCARDED = DatasetStatus

archived = DatasetArchived(NOW, DATASET)
discarded = DatasetDiscarded(NOW, DATASET, "out of focus")
promoted = DatasetPromoted(NOW, DATASET, "looked at by two")
demoted = DatasetDemoted(NOW, DATASET, "wrong center")
sealed = DatasetSealedIntoEdition(NOW, DATASET, EDITION)
released = DatasetReleasedFromEdition(NOW, DATASET, EDITION)
updated = DatasetRetentionUpdated(NOW, DATASET, KEPT_UNTIL, OPEN_FROM, "by the policy")

REGISTER = RegisterDataset(name=" Fossil 7, overview ", checksum=SUM, byte_size=SIZE, encoding=HDF5)
DISCARD = DiscardDataset(dataset_id=DATASET, reason=" out of focus ")
PROMOTE = PromoteDataset(dataset_id=DATASET, reason=" looked at by two ")
DEMOTE = DemoteDataset(dataset_id=DATASET, reason=" wrong center ")
RETAIN = UpdateDatasetRetention(
    dataset_id=DATASET, retain_until=KEPT_UNTIL, reason=" by the policy "
)
new = replace(dataset_registered, dataset_id=NEW)


def given(*history: Part) -> Scenario:
    return Scenario(OPERATIONS, (SubjectRegistered(NOW, SUBJECT, "Fossil 7"), *history))


def registering(**changes: object) -> RegisterDataset:
    return REGISTER.model_copy(update=changes)


def standing(dataset_id: UUID = DATASET, **changes: Any) -> SideWrite:
    """The row that says how a dataset stands."""
    row = DatasetStanding(
        dataset_id,
        intent=TRIAL,
        status=REGISTERED,
        byte_size=SIZE,
        producing_run_id=None,
        retain_until=None,
        sealed=False,
    )
    return STANDINGS.upsert(replace(row, **changes))


def edge(relation: Relation, to_id: UUID) -> SideWrite:
    return EDGES.insert(ProvenanceEdge(NEW, relation, to_id, source_id=NEW))


# Registering.


def test_a_dataset_is_registered_with_its_name_trimmed():
    given().when(REGISTER).then(new, standing(NEW))


def test_a_dataset_is_registered_with_all_that_it_came_of():
    command = registering(
        producing_run_id=RUN,
        subject_id=SUBJECT,
        derived_from=frozenset({FLAT, RAW}),
        used_calibration_ids=frozenset({OTHER_REVISION, REVISION}),
        retain_until=KEPT_UNTIL,
        available_from=OPEN_FROM,
        digests={DigestAlgorithm.MD5: "0" * 32},
    )
    run = a_run(pinned=(REVISION, OTHER_REVISION, UUID(int=73)))
    given(run, *a_dataset(RAW), *a_dataset(FLAT)).when(command).then(
        replace(
            new,
            producing_run_id=RUN,
            subject_id=SUBJECT,
            derived_from=(RAW, FLAT),
            used_calibration_ids=(REVISION, OTHER_REVISION),
            retain_until=KEPT_UNTIL,
            available_from=OPEN_FROM,
            digests={"md5": "0" * 32},
        ),
        standing(NEW, producing_run_id=RUN, retain_until=KEPT_UNTIL),
        edge(Relation.DERIVED_FROM, RAW),
        edge(Relation.DERIVED_FROM, FLAT),
        edge(Relation.PRODUCED_BY, RUN),
        edge(Relation.ABOUT, SUBJECT),
        edge(Relation.USED_CALIBRATION, REVISION),
        edge(Relation.USED_CALIBRATION, OTHER_REVISION),
    )


def test_the_subject_is_that_of_the_run_unless_the_run_has_none():
    from_run = registering(producing_run_id=RUN)
    (event, *_) = given(a_run()).when(from_run).decided()
    assert event == replace(new, producing_run_id=RUN, subject_id=SUBJECT)
    without = a_run(subject_id=None)
    (event, *_) = given(without).when(from_run).decided()
    assert event == replace(new, producing_run_id=RUN)
    said = registering(producing_run_id=RUN, subject_id=SUBJECT)
    (event, *_) = given(without).when(said).decided()
    assert event == replace(new, producing_run_id=RUN, subject_id=SUBJECT)


def test_a_dataset_of_parts_keeps_them_as_rows_and_not_in_the_event():
    parts = DatasetPart("b.h5", 400, "2" * 64), DatasetPart("a/1.h5", 600, "1" * 64)
    text = f"{'1' * 64}  a/1.h5\n{'2' * 64}  b.h5\n"
    whole = Checksum(ChecksumAlgorithm.SHA256_TREE, sha256(text.encode()).hexdigest())
    given().when(registering(checksum=whole, parts=parts, file_count=7)).then(
        replace(new, checksum=whole, file_count=2, of_parts=True),
        standing(NEW),
        PARTS.insert(PartRow("a/1.h5", 600, "1" * 64, NEW)),
        PARTS.insert(PartRow("b.h5", 400, "2" * 64, NEW)),
    )


def test_the_number_of_files_is_one_or_as_given():
    tree = Checksum(ChecksumAlgorithm.SHA256_TREE, "0" * 64)
    for checksum, told, kept in ((SUM, None, 1), (SUM, 5, 1), (tree, None, None), (tree, 5, 5)):
        (event, *_) = given().when(registering(checksum=checksum, file_count=told)).decided()
        assert event == replace(new, checksum=checksum, file_count=kept)


def test_what_a_dataset_names_must_exist():
    given().when(registering(producing_run_id=ABSENT)).refused(RunNotFoundError)
    given().when(registering(subject_id=ABSENT)).refused(SubjectNotFoundError)
    given(*a_dataset(RAW)).when(registering(derived_from=frozenset({RAW, ABSENT}))).refused(
        DatasetNotFoundError
    )


def test_nothing_is_derived_from_a_discarded_dataset():
    gone = DatasetDiscarded(NOW, FLAT, "out of focus")
    derived = registering(derived_from=frozenset({RAW, FLAT}))
    refused = (
        given(*a_dataset(RAW), *a_dataset(FLAT), gone)
        .when(derived)
        .refused(DatasetDerivedFromDiscardedError, saying=f"Dataset {FLAT} is Discarded.")
    )
    assert refused.facts == {"dataset_id": FLAT}


def test_the_subject_is_not_another_than_that_of_the_run():
    other = SubjectRegistered(NOW, OTHER_SUBJECT, "Fossil 8")
    given(a_run(), other).when(registering(producing_run_id=RUN, subject_id=OTHER_SUBJECT)).refused(
        DatasetSubjectMismatchError,
        saying=f"The run is about subject {SUBJECT}, not {OTHER_SUBJECT}.",
    )


def test_the_run_has_pinned_every_revision_that_a_dataset_used():
    used = registering(used_calibration_ids=frozenset({OTHER_REVISION, REVISION}))
    by_run = used.model_copy(update={"producing_run_id": RUN})
    refused = (
        given(a_run())
        .when(by_run)
        .refused(
            DatasetCalibrationsNotPinnedError, saying=f"Run {RUN} does not pin {OTHER_REVISION}."
        )
    )
    assert refused.facts == {"calibration_revision_ids": [OTHER_REVISION]}
    given().when(used).refused(
        DatasetCalibrationsNotPinnedError,
        saying=f"Without a run nothing pins {REVISION}, {OTHER_REVISION}.",
    )


def test_faults_of_a_dataset_are_reported_in_order():
    gone = DatasetDiscarded(NOW, RAW, "out of focus")
    past = (a_run(), SubjectRegistered(NOW, OTHER_SUBJECT, "Fossil 8"), *a_dataset(RAW), gone)
    wrong: dict[str, object] = {
        "producing_run_id": ABSENT,
        "subject_id": ABSENT,
        "derived_from": frozenset({ABSENT}),
        "checksum": replace(SUM, value="AB"),
        "digests": {DigestAlgorithm.MD5: "0"},
        "encoding": Encoding("hdf5"),
        "parts": (DatasetPart("a", 1, "0" * 64),),
        "used_calibration_ids": frozenset({OTHER_REVISION}),
    }
    rights: list[tuple[dict[str, object], type[Refusal]]] = [
        ({"producing_run_id": RUN}, RunNotFoundError),
        ({"subject_id": OTHER_SUBJECT}, SubjectNotFoundError),
        ({"derived_from": frozenset({RAW})}, DatasetNotFoundError),
        ({"checksum": SUM}, InvalidDatasetChecksumError),
        ({"digests": {}}, InvalidDatasetDigestsError),
        ({"encoding": HDF5}, InvalidDatasetEncodingError),
        ({"parts": ()}, InvalidDatasetPartsError),
        ({"derived_from": frozenset[UUID]()}, DatasetDerivedFromDiscardedError),
        ({"subject_id": None}, DatasetSubjectMismatchError),
    ]
    for right, refusal in rights:
        given(*past).when(registering(**wrong)).refused(refusal)
        wrong |= right
    given(*past).when(registering(**wrong)).refused(DatasetCalibrationsNotPinnedError)


def test_the_day_of_a_dataset_is_a_day():
    sent: dict[str, Any] = {
        "name": "Fossil 7",
        "checksum": {"algorithm": "sha256", "value": "0" * 64},
        "byte_size": 1,
        "encoding": {"media_type": "a/b"},
    }
    RegisterDataset.model_validate(sent | {"retain_until": "2040-01-31"})
    for wrong in (0, 2_208_988_800, 1.5, "2040-01-31T00:00:00Z", "2040-1-31", "tomorrow"):
        misshapen(RegisterDataset, "retain_until", **sent, retain_until=wrong)


# Discarding.


def test_a_dataset_is_discarded_with_its_reason():
    for past in ((), (archived,), (promoted,), (promoted, demoted)):
        outcome = given(*a_dataset(), *past).when(DISCARD).decided()
        assert outcome[0] == discarded
    given(*a_dataset(), promoted).when(DISCARD).then(
        discarded, standing(status=DISCARDED, intent=PRODUCTION)
    )


def test_a_dataset_in_an_edition_is_not_discarded_until_every_edition_is_withdrawn():
    other = DatasetSealedIntoEdition(NOW, DATASET, UUID(int=99))
    refused = (
        given(*a_dataset(), sealed, other)
        .when(DISCARD)
        .refused(
            DatasetInEditionError, saying=f"It is in edition {UUID(int=99)}, edition {EDITION}."
        )
    )
    assert refused.facts == {"edition_ids": [UUID(int=99), EDITION]}
    given(*a_dataset(), sealed, other, released).when(DISCARD).refused(DatasetInEditionError)
    given(*a_dataset(), sealed, released).when(DISCARD).then(discarded, standing(status=DISCARDED))


def test_a_dataset_is_not_discarded_before_its_retention_ends():
    today, tomorrow = NOW.date(), NOW.date() + timedelta(days=1)
    refused = (
        given(*a_dataset(retain_until=tomorrow))
        .when(DISCARD)
        .refused(DatasetRetainedError, saying=f"Keep it until {tomorrow}, or change the date.")
    )
    assert refused.facts == {"retain_until": tomorrow}
    given(*a_dataset(retain_until=today)).when(DISCARD).then(
        discarded, standing(status=DISCARDED, retain_until=today)
    )


def test_reasons_against_a_discard_are_reported_in_order():
    kept = a_dataset(retain_until=KEPT_UNTIL)
    given(*kept, sealed, discarded).when(DISCARD).refused(
        DatasetCannotDiscardError, saying="The status is Discarded"
    )
    given(*kept, sealed).when(DISCARD).refused(DatasetInEditionError)
    given(*kept).when(DISCARD).refused(DatasetRetainedError)


# Trust.


def test_a_dataset_of_a_run_that_left_data_is_promoted():
    ended = (
        RunCompleted(NOW, RUN),
        RunStopped(NOW, RUN, "enough", None),
        RunTruncated(NOW, RUN, "power cut", None, None),
    )
    for end in ended:
        outcome = given(a_run(), end, *a_dataset(producing_run_id=RUN)).when(PROMOTE).decided()
        assert outcome == [promoted, standing(producing_run_id=RUN, intent=PRODUCTION)]


def test_a_dataset_of_a_run_that_is_open_or_was_aborted_is_not_promoted():
    going: list[tuple[tuple[Event, ...], str]] = [
        ((), "Running"),
        ((RunHeld(NOW, RUN, None, None),), "Held"),
        ((RunAborted(NOW, RUN, "smoke", None),), "Aborted"),
    ]
    for moves, status in going:
        given(a_run(), *moves, *a_dataset(producing_run_id=RUN)).when(PROMOTE).refused(
            DatasetCannotPromoteError,
            saying=f"Run {RUN} is {status}; it must be Completed or Stopped or Truncated.",
        )


def test_a_dataset_is_promoted_after_everything_that_it_is_derived_from():
    derived = a_dataset(derived_from=(RAW, FLAT))
    trusted = (DatasetPromoted(NOW, RAW, "seen"), DatasetPromoted(NOW, FLAT, "seen"))
    around = (*a_dataset(RAW), *a_dataset(FLAT), *derived)
    given(*around, *trusted).when(PROMOTE).then(promoted, standing(intent=PRODUCTION))
    retracted = DatasetDemoted(NOW, FLAT, "wrong")
    gone = DatasetDiscarded(NOW, FLAT, "wrong")
    for past, state in (
        ((trusted[0],), "Trial"),
        ((*trusted, retracted), "Retracted"),
        ((*trusted, gone), "Discarded"),
        ((trusted[0], gone), "Discarded"),
    ):
        given(*around, *past).when(PROMOTE).refused(
            DatasetCannotPromoteError,
            saying=f"Dataset {FLAT}, from which it is derived, is {state}.",
        )


def test_only_a_trial_dataset_is_promoted():
    given(*a_dataset(), promoted).when(PROMOTE).refused(
        DatasetCannotPromoteError, saying="The intent is Production; it must be Trial."
    )
    given(*a_dataset(), promoted, demoted).when(PROMOTE).refused(DatasetCannotPromoteError)


def test_a_production_dataset_is_retracted_while_what_was_derived_from_it_stays():
    derived = a_dataset(RAW, derived_from=(DATASET,))
    past = (*a_dataset(), promoted, *derived, DatasetPromoted(NOW, RAW, "seen"))
    given(*past).when(DEMOTE).then(demoted, standing(intent=RETRACTED))


def test_a_discarded_dataset_is_neither_promoted_nor_demoted():
    given(*a_dataset(), discarded).when(PROMOTE).refused(
        DatasetCannotPromoteError, saying="The dataset is Discarded."
    )
    given(*a_dataset(), promoted, discarded).when(DEMOTE).refused(
        DatasetCannotDemoteError, saying="The dataset is Discarded."
    )


# Retention.


def retaining(**dates: object) -> UpdateDatasetRetention:
    return UpdateDatasetRetention.model_validate(
        {"dataset_id": DATASET, "reason": "by the policy", **dates}
    )


def test_a_date_that_is_not_given_stays_and_null_removes_one():
    later = date(2041, 1, 31)
    before = a_dataset(retain_until=KEPT_UNTIL, available_from=OPEN_FROM)
    earlier, me = date(2026, 1, 1), CALL.principal_id
    # The command, the dates after it, and who released the dataset by it.
    changes: list[tuple[UpdateDatasetRetention, date | None, date | None, UUID | None]] = [
        (retaining(retain_until=later), later, OPEN_FROM, None),
        (retaining(retain_until=None), None, OPEN_FROM, me),
        (retaining(retain_until=earlier), earlier, OPEN_FROM, me),
        (retaining(available_from=later), KEPT_UNTIL, later, None),
        (retaining(available_from=None), KEPT_UNTIL, None, me),
        (retaining(available_from=earlier), KEPT_UNTIL, earlier, me),
        (retaining(retain_until=None, available_from=None), None, None, me),
    ]
    for command, until, available, by in changes:
        given(*before).when(command).then(
            replace(updated, retain_until=until, available_from=available, released_by=by),
            standing(retain_until=until),
        )


def test_who_released_production_data_from_its_dates_does_not_discard_it():
    released = replace(updated, retain_until=None, released_by=CALL.principal_id)
    both = replace(FACTS, discard_needs_two=True)
    past = (*a_dataset(), promoted, released)
    Scenario(OPERATIONS, past, both).when(DISCARD).refused(DatasetNeedsSecondPersonError)
    prolonged = replace(updated, released_by=None)
    Scenario(OPERATIONS, (*past, prolonged), both).when(DISCARD).refused(DatasetRetainedError)
    another = replace(CALL, principal_id=ABSENT)
    for scenario in (
        Scenario(OPERATIONS, past, both).when(DISCARD, call=another),
        Scenario(OPERATIONS, (*a_dataset(), released), both).when(DISCARD),
        Scenario(OPERATIONS, past, FACTS).when(DISCARD),
    ):
        assert scenario.decided()[0] == discarded


def test_production_data_derived_from_a_dataset_is_named_before_the_dataset_is_discarded():
    derived = a_dataset(RAW, derived_from=(DATASET,))
    registered = replace(dataset_registered, dataset_id=RAW, derived_from=(DATASET,))
    row = replace(standing_of(begin(registered)), intent=PRODUCTION)
    past = (*a_dataset(), *derived, STANDINGS.upsert(row))
    refused = (
        given(*past)
        .when(DISCARD)
        .refused(DatasetHasDerivedProductionError, saying=f"There are 1: {RAW}.")
    )
    assert refused.facts == {"dataset_ids": (RAW,)}
    knowing = DISCARD.model_copy(update={"despite_derived": True})
    assert given(*past).when(knowing).decided()[0] == discarded
    for harmless in (replace(row, intent=TRIAL), replace(row, status=DISCARDED)):
        assert given(*past, STANDINGS.upsert(harmless)).when(DISCARD).decided()[0] == discarded


def test_at_least_one_date_is_given():
    given(*a_dataset()).when(retaining()).refused(InvalidDatasetRetentionError)
    given(*a_dataset(), discarded).when(retaining()).refused(InvalidDatasetRetentionError)


def test_dates_that_would_not_change_are_not_written():
    before = a_dataset(retain_until=KEPT_UNTIL)
    for command in (RETAIN, retaining(available_from=None)):
        given(*before).when(command).refused(
            DatasetCannotUpdateRetentionError, saying="The dates would not change."
        )


def test_the_dates_of_a_discarded_dataset_do_not_change():
    given(*a_dataset(), discarded).when(RETAIN).refused(
        DatasetCannotUpdateRetentionError, saying="The dataset is Discarded."
    )


def test_a_dataset_that_does_not_exist_does_not_change():
    commands: tuple[DatasetCommand, ...] = (DISCARD, PROMOTE, DEMOTE, RETAIN)
    for command in commands:
        given().when(command).refused(DatasetNotFoundError)


# What a dataset is.


def test_a_dataset_is_what_its_first_event_says():
    event: DatasetRegistered = replace(
        dataset_registered, occurred_at=LATER, derived_from=(RAW,), retain_until=KEPT_UNTIL
    )
    assert begin(event) == Dataset(
        DATASET,
        name="Fossil 7, overview",
        checksum=SUM,
        byte_size=SIZE,
        encoding=HDF5,
        digests={},
        file_count=1,
        of_parts=False,
        was_ingested=False,
        producing_run_id=None,
        subject_id=None,
        derived_from=(RAW,),
        used_calibration_ids=(),
        retain_until=KEPT_UNTIL,
        available_from=None,
        created_at=LATER,
        status=REGISTERED,
        intent=TRIAL,
        sealed_edition_ids=frozenset(),
    )


def test_each_event_changes_one_thing_of_a_dataset():
    first, other = begin(dataset_registered), UUID(int=99)
    in_one = replace(first, sealed_edition_ids=frozenset({EDITION}))
    in_two = replace(first, sealed_edition_ids=frozenset({EDITION, other}))
    changes: list[tuple[Dataset, DatasetChanged, Dataset]] = [
        (first, archived, replace(first, status=ARCHIVED)),
        (first, discarded, replace(first, status=DISCARDED)),
        (first, promoted, replace(first, intent=PRODUCTION)),
        (first, demoted, replace(first, intent=RETRACTED)),
        (first, sealed, in_one),
        (in_one, replace(sealed, edition_id=other), in_two),
        (in_two, replace(released, edition_id=other), in_one),
        (first, updated, replace(first, retain_until=KEPT_UNTIL, available_from=OPEN_FROM)),
    ]
    for before, event, after in changes:
        assert evolve(before, event) == after


def in_status(status: DatasetStatus) -> Dataset:
    return replace(begin(dataset_registered), status=status, intent=PRODUCTION)


def in_intent(intent: DatasetIntent) -> Dataset:
    return replace(begin(dataset_registered), intent=intent)


NO_ORIGIN = DatasetOrigin(None, {})

NO_DERIVED = DerivedProduction(needs_two=False, number=0, shown_ids=())
STATUS = """
            discard_dataset  demote_dataset  update_dataset_retention
Registered  Discarded        Registered      Registered
Archived    Discarded        Archived        Archived
Discarded   -                -               -
"""

INTENT = """
            promote_dataset  demote_dataset  discard_dataset  update_dataset_retention
Trial       Production       -               Trial            Trial
Production  -                Retracted       Production       Production
Retracted   -                -               Retracted        Retracted
"""


def test_every_move_from_every_status():
    moves = [Example(DISCARD, given=NO_DERIVED), Example(DEMOTE), Example(RETAIN)]
    matrix(OPERATIONS, DatasetStatus, moves, in_status, lambda it: it.status, STATUS)


def test_every_move_from_every_intent():
    others = (Example(DEMOTE), Example(DISCARD, given=NO_DERIVED), Example(RETAIN))
    moves = [Example(PROMOTE, given=NO_ORIGIN), *others]
    matrix(OPERATIONS, DatasetIntent, moves, in_intent, lambda it: it.intent, INTENT)


def test_a_list_finds_a_dataset_by_what_it_is_and_came_of():
    source = QUESTIONS[2].source
    assert isinstance(source, Many)
    assert {name: set(events) for name, events in source.view.milestones.items()} == {
        "archived_at": {DatasetArchived},
        "discarded_at": {DatasetDiscarded},
        "promoted_at": {DatasetPromoted},
        "demoted_at": {DatasetDemoted},
    }
    event = replace(
        dataset_registered,
        producing_run_id=RUN,
        subject_id=SUBJECT,
        derived_from=(RAW, FLAT),
        used_calibration_ids=(REVISION,),
    )
    assert set(source.view.facets_of(begin(event))) >= {
        *("status=Registered", "intent=Trial", "media_type=application/x-hdf5"),
        *(f"producing_run_id={RUN}", f"subject_id={SUBJECT}", f"derived_from={RAW}"),
        *(f"derived_from={FLAT}", f"used_calibration_id={REVISION}"),
        f"checksum_value={'ab' * 32}",
    }
