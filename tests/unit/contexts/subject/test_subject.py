"""Subject: where it sits, how it leaves, and what it is called outside."""

from uuid import UUID

from beamkeep.contexts.equipment.asset import (
    AssetActivated,
    AssetDecommissioned,
    AssetFaulted,
    AssetMaintenanceEntered,
    AssetNotFoundError,
    AssetRegistered,
    AssetTier,
)
from beamkeep.contexts.equipment.asset import begin as begin_asset
from beamkeep.contexts.equipment.asset import evolve as evolve_asset
from beamkeep.contexts.subject.subject import (
    ON_ASSET,
    OPERATIONS,
    QUESTIONS,
    AssignSubjectExternalId,
    DiscardSubject,
    DismountSubject,
    InvalidSubjectExternalIdError,
    MeasureSubject,
    MountSubject,
    RegisterSubject,
    RemoveSubject,
    ReturnSubject,
    StoreSubject,
    Subject,
    SubjectCannotAssignExternalIdError,
    SubjectCannotDiscardError,
    SubjectCannotDismountError,
    SubjectCannotMeasureError,
    SubjectCannotMountError,
    SubjectCannotRemoveError,
    SubjectCannotReturnError,
    SubjectCannotStoreError,
    SubjectCommand,
    SubjectDiscarded,
    SubjectDismounted,
    SubjectExternalIdAssigned,
    SubjectExternalIdNamespace,
    SubjectMeasured,
    SubjectMounted,
    SubjectMountTargetUnavailableError,
    SubjectNotFoundError,
    SubjectRegistered,
    SubjectRemoved,
    SubjectReturned,
    SubjectStatus,
    SubjectStored,
    begin,
    evolve,
)
from beamkeep.kernel import Event, Many, Refusal, replace
from beamkeep.testing.past import ABSENT, CALL, LATER, NEW, NOW
from beamkeep.testing.scenario import Example, Scenario, matrix

ID, STAGE, SPARE = NEW, UUID(int=30), UUID(int=31)
IGSN = SubjectExternalIdNamespace.IGSN


def asset(id: UUID, name: str) -> AssetRegistered:
    return AssetRegistered(NOW, id, name, AssetTier.UNIT, None, "ring", (), None, None, ())


AROUND = (asset(STAGE, "Stage"), AssetActivated(NOW, STAGE), asset(SPARE, "Spare"))
registered = SubjectRegistered(NOW, ID, "Fossil 7")
mounted = SubjectMounted(NOW, ID, STAGE, "next in line")
measured = SubjectMeasured(NOW, ID)
dismounted = SubjectDismounted(NOW, ID, STAGE, "turned over")
removed = SubjectRemoved(NOW, ID, None)
returned = SubjectReturned(NOW, ID)
stored = SubjectStored(NOW, ID)
discarded = SubjectDiscarded(NOW, ID, "broken")
assigned = SubjectExternalIdAssigned(NOW, ID, IGSN, "10.58052/IEJCK00AB")

REGISTER = RegisterSubject(name=" Fossil 7 ")
MOUNT = MountSubject(subject_id=ID, asset_id=STAGE, reason=" next in line ")
MEASURE = MeasureSubject(subject_id=ID)
DISMOUNT = DismountSubject(subject_id=ID, reason=" turned over ")
REMOVE = RemoveSubject(subject_id=ID)
RETURN = ReturnSubject(subject_id=ID)
STORE = StoreSubject(subject_id=ID)
DISCARD = DiscardSubject(subject_id=ID, reason=" broken ")
ASSIGN = AssignSubjectExternalId(
    subject_id=ID, external_id_namespace=IGSN, external_id=" 10.58052/IEJCK00AB "
)
WAYS_OUT = (returned, stored, discarded)
MOVES = (MOUNT, MEASURE, DISMOUNT, REMOVE, RETURN, STORE, DISCARD)


def given(*history: Event) -> Scenario:
    return Scenario(OPERATIONS, (*AROUND, *history))


def mounting(**changes: object) -> MountSubject:
    return MOUNT.model_copy(update=changes)


def assigning(external_id: str) -> AssignSubjectExternalId:
    return ASSIGN.model_copy(update={"external_id": external_id})


def test_two_subjects_may_be_registered_with_one_name():
    given().when(REGISTER).then(registered)
    another = UUID(int=5)
    given(registered).when(REGISTER, call=replace(CALL, new_id=another)).then(
        replace(registered, subject_id=another)
    )


def test_a_dismounted_subject_is_mounted_again_without_limit():
    round_trip = (mounted, measured, dismounted)
    given(registered, *round_trip, *round_trip).when(MOUNT).then(mounted)


def test_what_happens_to_a_subject_is_recorded_with_its_asset_and_reason():
    taken_off = replace(removed, from_asset_id=STAGE)
    moves: list[tuple[tuple[Event, ...], SubjectCommand, Event]] = [
        ((), MOUNT, mounted),
        ((mounted,), MEASURE, measured),
        ((mounted,), DISMOUNT, dismounted),
        ((mounted, measured), DISMOUNT, dismounted),
        ((), REMOVE, removed),
        ((mounted, dismounted), REMOVE, removed),
        ((mounted,), REMOVE, taken_off),
        ((mounted, measured), REMOVE, taken_off),
        ((removed,), RETURN, returned),
        ((removed,), STORE, stored),
        ((removed,), DISCARD, discarded),
    ]
    for past, command, event in moves:
        given(registered, *past).when(command).then(event)


def test_what_happens_is_recorded_with_its_time():
    given(registered, mounted).when(MEASURE, call=replace(CALL, now=LATER)).then(
        replace(measured, occurred_at=LATER)
    )


def test_a_subject_that_does_not_exist_does_not_move():
    for command in (*MOVES, ASSIGN):
        given().when(command).refused(SubjectNotFoundError)


def test_a_subject_is_mounted_on_no_asset_that_is_not_active():
    lifecycles: list[tuple[tuple[Event, ...], str]] = [
        ((), "Commissioned"),
        ((AssetActivated(NOW, SPARE), AssetMaintenanceEntered(NOW, SPARE)), "Maintenance"),
        ((AssetDecommissioned(NOW, SPARE),), "Decommissioned"),
    ]
    for past, lifecycle in lifecycles:
        refused = (
            given(registered, *past)
            .when(mounting(asset_id=SPARE))
            .refused(SubjectMountTargetUnavailableError, saying=f"Asset Spare is {lifecycle}.")
        )
        assert refused.facts == {"lifecycle": lifecycle}


def test_the_condition_of_the_asset_is_not_looked_at():
    given(registered, AssetFaulted(NOW, STAGE, "it drifts")).when(MOUNT).then(mounted)


def test_one_asset_carries_several_subjects():
    another = replace(registered, subject_id=UUID(int=5))
    beside = replace(mounted, subject_id=UUID(int=5))
    given(another, beside, registered).when(MOUNT).then(mounted)


def test_a_change_of_the_asset_does_not_hold_the_subject():
    given(registered, mounted, AssetDecommissioned(NOW, STAGE)).when(DISMOUNT).then(dismounted)


def test_faults_of_a_mount_are_reported_in_order():
    past = (registered, removed)
    given(*past).when(mounting(asset_id=ABSENT)).refused(AssetNotFoundError)
    given(*past).when(mounting(asset_id=SPARE)).refused(SubjectCannotMountError)
    given(registered).when(mounting(asset_id=SPARE)).refused(SubjectMountTargetUnavailableError)


def test_a_refusal_says_where_a_subject_must_be():
    given(registered, mounted).when(MOUNT).refused(
        SubjectCannotMountError, saying="The status is Mounted; it must be Received."
    )
    given(registered).when(DISMOUNT).refused(
        SubjectCannotDismountError, saying="The status is Received; it must be Measured or Mounted."
    )


def test_a_subject_is_marked_measured_once_each_time_it_is_mounted():
    given(registered, mounted, measured).when(MEASURE).refused(SubjectCannotMeasureError)
    given(registered, mounted, measured, dismounted, mounted).when(MEASURE).then(measured)


def test_a_subject_that_has_left_does_not_move():
    moves: list[tuple[SubjectCommand, type[Refusal]]] = [
        (MOUNT, SubjectCannotMountError),
        (MEASURE, SubjectCannotMeasureError),
        (DISMOUNT, SubjectCannotDismountError),
        (REMOVE, SubjectCannotRemoveError),
        (RETURN, SubjectCannotReturnError),
        (STORE, SubjectCannotStoreError),
        (DISCARD, SubjectCannotDiscardError),
    ]
    for end in WAYS_OUT:
        for command, refusal in moves:
            given(registered, removed, end).when(command).refused(refusal)


def test_an_external_identifier_is_recorded_in_every_status():
    for past in ((), (mounted,), (mounted, measured), (removed,)):
        given(registered, *past).when(ASSIGN).then(assigned)
    for end in WAYS_OUT:
        given(registered, removed, end).when(ASSIGN).then(assigned)


def test_a_second_external_identifier_is_refused():
    for value in ("10.58052/IEJCK00AB", "10.58052/IEJCK00AC"):
        given(registered, assigned).when(assigning(value)).refused(
            SubjectCannotAssignExternalIdError, saying="The identifier is 10.58052/IEJCK00AB."
        )


def test_an_external_identifier_is_the_bare_value():
    schemes = ("igsn:", "doi:", "http:", "https:", "IGSN:", " Doi:", "hTTps:")
    for scheme in schemes:
        wrong = assigning(f"{scheme}10.58052/IEJCK00AB")
        given(registered, assigned).when(wrong).refused(InvalidSubjectExternalIdError)


def test_an_external_identifier_may_hold_a_scheme_further_on():
    given(registered).when(assigning("10.58052/igsn:7")).then(
        replace(assigned, external_id="10.58052/igsn:7")
    )


def test_no_other_command_looks_at_the_external_identifier():
    given(registered, assigned).when(MOUNT).then(mounted)


def test_a_subject_is_what_its_first_event_says():
    assert begin(registered) == Subject(ID, "Fossil 7", SubjectStatus.RECEIVED)


def test_a_subject_knows_its_asset_exactly_while_it_sits_on_one():
    subject = begin(registered)
    for event in (mounted, measured, dismounted, mounted, replace(removed, from_asset_id=STAGE)):
        subject = evolve(subject, event)
        seated = STAGE if subject.status in ON_ASSET else None
        assert subject.mounted_on_asset_id == seated


def test_a_subject_keeps_its_external_identifier():
    assert evolve(begin(registered), assigned) == replace(
        begin(registered), external_id="10.58052/IEJCK00AB", external_id_namespace=IGSN
    )


def test_a_list_shows_when_the_status_last_changed():
    source = QUESTIONS[2].source
    assert isinstance(source, Many)
    assert {name: set(events) for name, events in source.view.milestones.items()} == {
        "last_status_changed_at": {
            *(SubjectMounted, SubjectMeasured, SubjectDismounted, SubjectRemoved),
            *(SubjectReturned, SubjectStored, SubjectDiscarded),
        }
    }
    assert source.view.filters == ("mounted_on_asset_id", "status", "team_id", "visit_id")


def in_status(status: SubjectStatus) -> Subject:
    asset_id = STAGE if status in ON_ASSET else None
    return replace(begin(registered), status=status, mounted_on_asset_id=asset_id)


STATUS = """
           mount_subject  measure_subject  dismount_subject  remove_subject  return_subject  store_subject  discard_subject
Received   Mounted        -                -                 Removed         -               -              -
Mounted    -              Measured         Received          Removed         -               -              -
Measured   -              -                Received          Removed         -               -              -
Removed    -              -                -                 -               Returned        Stored         Discarded
Returned   -              -                -                 -               -               -              -
Stored     -              -                -                 -               -               -              -
Discarded  -              -                -                 -               -               -              -
"""  # noqa: E501


def test_every_move_from_every_status():
    active = evolve_asset(begin_asset(asset(STAGE, "Stage")), AssetActivated(NOW, STAGE))
    moves = [Example(each, active if each is MOUNT else None) for each in MOVES]
    matrix(OPERATIONS, SubjectStatus, moves, in_status, lambda it: it.status, STATUS)


def test_every_command_but_the_name_outside_is_tried_in_the_matrix():
    tried = {type(command) for command in (*MOVES, ASSIGN)}
    assert tried == {operation.command for operation in OPERATIONS if not operation.genesis}
