"""Visit: how it goes on, and who controls its surface."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

from beamkeep.contexts.trust.policy import PolicyDefined, PolicyNotFoundError
from beamkeep.contexts.trust.policy import begin as begin_policy
from beamkeep.contexts.trust.surface import (
    SURFACE_CONTROL,
    SurfaceControl,
    SurfaceDefined,
    SurfaceNotFoundError,
)
from beamkeep.contexts.trust.visit import (
    OPERATIONS,
    AbortVisit,
    CancelVisit,
    CompleteVisit,
    HoldVisit,
    InvalidVisitExternalRefsError,
    InvalidVisitPlannedPeriodError,
    RecordVisitArrival,
    RegisterVisit,
    ReleaseVisitSurfaceControl,
    ResumeVisit,
    StartVisit,
    TakeVisitSurfaceControl,
    Visit,
    VisitAborted,
    VisitArrived,
    VisitCancelled,
    VisitCannotAbortError,
    VisitCannotCancelError,
    VisitCannotCompleteError,
    VisitCannotHoldError,
    VisitCannotRecordArrivalError,
    VisitCannotRegisterError,
    VisitCannotReleaseControlError,
    VisitCannotResumeError,
    VisitCannotStartError,
    VisitCannotTakeControlError,
    VisitCannotVoidError,
    VisitCompleted,
    VisitHeld,
    VisitNotFoundError,
    VisitRegistered,
    VisitResumed,
    VisitStarted,
    VisitStatus,
    VisitSurfaceControlReleased,
    VisitSurfaceControlTaken,
    VisitType,
    VisitVoided,
    VoidVisit,
    begin,
    evolve,
)
from beamkeep.kernel import Command, Event, ObjectScope, Refusal, SideWrite, SurfaceKind, replace
from beamkeep.testing.past import ABSENT, CALL, LATER, ME, NEW, NOW
from beamkeep.testing.scenario import Example, Scenario, matrix

ID, PARENT, STRANGER = NEW, UUID(int=2), UUID(int=3)
ENTRY, CONSOLE, OTHER_CONSOLE = UUID(int=20), UUID(int=30), UUID(int=31)
TEAM, OTHER_TEAM = UUID(int=40), UUID(int=41)
START = datetime(2030, 3, 1, tzinfo=UTC)
END = datetime(2030, 3, 2, tzinfo=UTC)


def policy(id: UUID, surface_id: UUID) -> PolicyDefined:
    return PolicyDefined(NOW, id, "Team", ENTRY, surface_id, (ME,), ("*",), ObjectScope.ALL)


def registration(
    id: UUID, parent_id: UUID | None = None, surface_id: UUID = CONSOLE
) -> VisitRegistered:
    return VisitRegistered(
        NOW, id, TEAM, surface_id, VisitType.USER, START, END, parent_id, {"proposal": "P1"}
    )


AROUND = (
    SurfaceDefined(NOW, CONSOLE, "Console", SurfaceKind.HTTP, ENTRY),
    SurfaceDefined(NOW, OTHER_CONSOLE, "Other console", SurfaceKind.HTTP, ENTRY),
    policy(TEAM, CONSOLE),
    policy(OTHER_TEAM, OTHER_CONSOLE),
)
registered = registration(ID)
arrived = VisitArrived(NOW, ID)
started = VisitStarted(NOW, ID)
held = VisitHeld(NOW, ID, "beam lost")
resumed = VisitResumed(NOW, ID)
completed = VisitCompleted(NOW, ID)
cancelled = VisitCancelled(NOW, ID, "ill")
aborted = VisitAborted(NOW, ID, "leak")
voided = VisitVoided(NOW, ID, "typing error")
taken = VisitSurfaceControlTaken(NOW, ID, CONSOLE)
released = VisitSurfaceControlReleased(NOW, ID, CONSOLE, None)
in_control = SURFACE_CONTROL.insert(SurfaceControl(CONSOLE, ID, NOW))
UNDER_WAY = (registered, arrived, started)
CONTROLLED = (registered, arrived, taken, in_control)

ARRIVE = RecordVisitArrival(visit_id=ID)
BEGIN = StartVisit(visit_id=ID)
HOLD = HoldVisit(visit_id=ID, reason="beam lost")
RESUME = ResumeVisit(visit_id=ID)
COMPLETE = CompleteVisit(visit_id=ID)
CANCEL = CancelVisit(visit_id=ID, reason="ill")
ABORT = AbortVisit(visit_id=ID, reason="leak")
VOID = VoidVisit(visit_id=ID, reason="typing error")
TAKE = TakeVisitSurfaceControl(visit_id=ID)
RELEASE = ReleaseVisitSurfaceControl(visit_id=ID)
REGISTER = RegisterVisit(
    policy_id=TEAM,
    parent_surface_id=CONSOLE,
    type=VisitType.USER,
    planned_start_at=START,
    planned_end_at=END,
    external_refs={" proposal ": " P1 "},
)


def given(*history: Event | SideWrite) -> Scenario:
    return Scenario(OPERATIONS, (*AROUND, *history))


def registering(**changes: object) -> RegisterVisit:
    return REGISTER.model_copy(update=changes)


def test_a_visit_is_registered_with_its_references_trimmed():
    given().when(REGISTER).then(registered)


def test_a_visit_is_registered_as_part_of_another():
    for history in ((), (VisitArrived(NOW, PARENT), VisitStarted(NOW, PARENT))):
        given(registration(PARENT), *history).when(registering(parent_id=PARENT)).then(
            registration(ID, PARENT)
        )


def test_what_a_visit_refers_to_must_exist():
    given().when(registering(policy_id=ABSENT)).refused(PolicyNotFoundError)
    given().when(registering(parent_surface_id=ABSENT)).refused(SurfaceNotFoundError)
    given().when(registering(parent_id=ABSENT)).refused(VisitNotFoundError)


def test_a_visit_ends_after_it_starts():
    for end in (START, START - timedelta(microseconds=1)):
        given().when(registering(planned_end_at=end)).refused(InvalidVisitPlannedPeriodError)
    moment = START + timedelta(microseconds=1)
    given().when(registering(planned_end_at=moment)).then(
        replace(registered, planned_end_at=moment)
    )


def test_an_outside_reference_is_not_blank_and_names_its_scheme_once():
    for refs, saying in (
        ({" ": "P1"}, "Enter at least one visible character."),
        ({"proposal": " "}, "Enter at least one visible character."),
        ({"proposal": "P1", "proposal ": "P2"}, "The scheme proposal occurs twice"),
        ({"proposal": " Proposal:P1"}, "Remove the prefix proposal: from the value."),
    ):
        asked = given().when(registering(external_refs=refs))
        asked.refused(InvalidVisitExternalRefsError, saying)


def test_a_visit_is_on_the_surface_of_its_policy():
    given().when(registering(policy_id=OTHER_TEAM)).refused(
        VisitCannotRegisterError, saying="The policy is for surface "
    )


def test_a_policy_for_calls_from_inside_has_no_visits():
    inside = replace(policy(UUID(int=42), CONSOLE), surface_id=None)
    given(inside).when(registering(policy_id=inside.policy_id)).refused(VisitCannotRegisterError)


def test_a_visit_is_on_the_surface_of_the_visit_it_is_part_of():
    given(registration(PARENT, surface_id=OTHER_CONSOLE)).when(
        registering(parent_id=PARENT)
    ).refused(VisitCannotRegisterError, saying="The parent visit is on surface ")


def test_a_visit_that_is_over_gets_no_more_parts():
    for over in (cancelled, voided, completed, aborted):
        past = given(registration(PARENT), replace(over, visit_id=PARENT))
        asked = past.when(registering(parent_id=PARENT))
        asked.refused(VisitCannotRegisterError, saying="has ended")


def test_faults_of_a_registration_are_reported_in_order():
    wrong: dict[str, object] = {
        "policy_id": OTHER_TEAM,
        "planned_end_at": START,
        "external_refs": {" ": " "},
    }
    given().when(registering(**wrong, parent_id=ABSENT)).refused(VisitNotFoundError)
    given().when(registering(**wrong)).refused(InvalidVisitPlannedPeriodError)
    wrong |= {"planned_end_at": END}
    given().when(registering(**wrong)).refused(InvalidVisitExternalRefsError)


def test_every_move_is_one_event():
    given(registered).when(ARRIVE).then(arrived)
    given(registered, arrived).when(BEGIN).then(started)
    given(*UNDER_WAY).when(HOLD).then(held)
    given(*UNDER_WAY, held).when(RESUME).then(resumed)
    given(*UNDER_WAY).when(COMPLETE).then(completed)
    given(registered).when(CANCEL).then(cancelled)
    given(*UNDER_WAY).when(ABORT).then(aborted)
    given(registered).when(VOID).then(voided)


def test_a_completed_visit_does_not_move():
    moves: list[tuple[Command, type[Refusal]]] = [
        (ARRIVE, VisitCannotRecordArrivalError),
        (BEGIN, VisitCannotStartError),
        (HOLD, VisitCannotHoldError),
        (RESUME, VisitCannotResumeError),
        (COMPLETE, VisitCannotCompleteError),
        (CANCEL, VisitCannotCancelError),
        (ABORT, VisitCannotAbortError),
        (VOID, VisitCannotVoidError),
        (TAKE, VisitCannotTakeControlError),
    ]
    for command, refusal in moves:
        given(*UNDER_WAY, completed).when(command).refused(
            refusal, saying="The status is Completed; it must be "
        )


def test_a_refusal_says_what_the_status_must_be():
    told = "Only a visit that has started can be completed. "
    status = "The status is Planned; it must be InProgress or OnHold."
    given(registered).when(COMPLETE).refused(VisitCannotCompleteError, told + status)


def test_a_visit_that_does_not_exist_does_not_move():
    given().when(ARRIVE).refused(VisitNotFoundError)


def in_control_of(visit: VisitRegistered) -> tuple[Event | SideWrite, ...]:
    """A visit that has arrived and controls the console."""
    id = visit.visit_id
    row = SURFACE_CONTROL.insert(SurfaceControl(CONSOLE, id, NOW))
    return visit, VisitArrived(NOW, id), VisitSurfaceControlTaken(NOW, id, CONSOLE), row


def test_a_visit_takes_control_of_a_free_surface():
    given(registered, arrived).when(TAKE).then(taken, in_control)


def test_control_of_another_surface_is_not_in_the_way():
    elsewhere = SURFACE_CONTROL.insert(SurfaceControl(OTHER_CONSOLE, STRANGER, NOW))
    given(registered, arrived, elsewhere).when(TAKE).then(taken, in_control)


def test_a_visit_does_not_take_control_twice():
    given(*CONTROLLED).when(TAKE).refused(
        VisitCannotTakeControlError, saying="The current state is controlling."
    )


def test_a_visit_that_has_not_arrived_does_not_take_control():
    given(registered).when(TAKE).refused(
        VisitCannotTakeControlError,
        saying="The status is Planned; it must be Arrived or InProgress or OnHold.",
    )


def test_only_whom_the_policy_permits_takes_control():
    given(registered, arrived).when(TAKE, call=replace(CALL, principal_id=ABSENT)).refused(
        VisitCannotTakeControlError, saying="does not permit the caller"
    )


def test_a_surface_held_by_a_stranger_is_not_taken_and_the_stranger_is_named():
    told = f"Visit {STRANGER} controls the surface"
    taking = given(registered, arrived, *in_control_of(registration(STRANGER))).when(TAKE)
    refusal = taking.refused(VisitCannotTakeControlError, saying=told)
    assert refusal.facts == {"held_by_visit_id": STRANGER}


def test_a_parent_does_not_take_control_from_its_child():
    child = in_control_of(registration(STRANGER, parent_id=ID))
    given(registered, arrived, *child).when(TAKE).refused(VisitCannotTakeControlError)


def test_a_child_takes_control_from_its_parent_in_one_append_to_both_streams():
    parent = in_control_of(registration(PARENT))
    later = replace(CALL, now=LATER)
    given(*parent, registration(ID, PARENT), arrived).when(TAKE, call=later).then(
        VisitSurfaceControlReleased(LATER, PARENT, CONSOLE, ID),
        VisitSurfaceControlTaken(LATER, ID, CONSOLE),
        SURFACE_CONTROL.replace(SurfaceControl(CONSOLE, ID, LATER)),
    )


def test_a_parent_that_released_while_its_child_read_the_row_does_not_release_again():
    parent = in_control_of(registration(PARENT))
    gone = VisitSurfaceControlReleased(NOW, PARENT, CONSOLE, None)
    given(*parent, gone, registration(ID, PARENT), arrived).when(TAKE).then(taken, in_control)


def test_anybody_who_may_call_it_releases_the_surface():
    anybody = replace(CALL, principal_id=ABSENT)
    freed = SURFACE_CONTROL.delete(CONSOLE)
    given(*CONTROLLED).when(RELEASE, call=anybody).then(released, freed)


def test_a_surface_not_controlled_is_not_released():
    given(registered, arrived).when(RELEASE).refused(VisitCannotReleaseControlError)


def test_the_end_of_a_controlling_visit_releases_the_surface_first():
    freed = SURFACE_CONTROL.delete(CONSOLE)
    controlling = (*UNDER_WAY, taken, in_control)
    given(*controlling).when(COMPLETE).then(released, freed, completed)
    given(*controlling).when(ABORT).then(released, freed, aborted)
    given(*controlling).when(VOID).then(released, freed, voided)
    given(*CONTROLLED).when(CANCEL).then(released, freed, cancelled)


def test_a_move_that_is_not_the_end_keeps_the_surface():
    controlling = (*UNDER_WAY, taken, in_control)
    given(*controlling).when(HOLD).then(held)
    given(*controlling, held).when(RESUME).then(resumed)


def test_a_visit_is_what_its_first_event_says():
    assert begin(registration(ID, PARENT)) == Visit(
        id=ID,
        policy_id=TEAM,
        parent_surface_id=CONSOLE,
        type=VisitType.USER,
        planned_start_at=START,
        planned_end_at=END,
        parent_id=PARENT,
        external_refs={"proposal": "P1"},
        status=VisitStatus.PLANNED,
        controlling=False,
        last_status_reason=None,
    )


def test_the_last_reason_stays():
    visit = evolve(evolve(begin(registered), held), resumed)
    assert visit.last_status_reason == "beam lost"
    assert evolve(visit, aborted).last_status_reason == "leak"


PERMITTING = (begin_policy(policy(TEAM, CONSOLE)), None)
MOVES = [
    Example(command) for command in (ARRIVE, BEGIN, HOLD, RESUME, COMPLETE, CANCEL, ABORT, VOID)
]
CONTROL = [Example(TAKE, PERMITTING), Example(RELEASE)]

STATUS = """
            record_visit_arrival  start_visit  hold_visit  resume_visit  complete_visit  cancel_visit  abort_visit  void_visit
Planned     Arrived               -            -           -             -               Cancelled     -            Voided
Arrived     -                     InProgress   -           -             -               Cancelled     -            Voided
InProgress  -                     -            OnHold      -             Completed       -             Aborted      Voided
OnHold      -                     -            -           InProgress    Completed       -             Aborted      Voided
Completed   -                     -            -           -             -               -             -            -
Cancelled   -                     -            -           -             -               -             -            -
Aborted     -                     -            -           -             -               -             -            -
Voided      -                     -            -           -             -               -             -            -
"""  # noqa: E501


def in_status(status: VisitStatus) -> Visit:
    return replace(begin(registered), status=status)


def test_every_move_from_every_status():
    matrix(OPERATIONS, VisitStatus, MOVES, in_status, lambda visit: visit.status, STATUS)


CONTROLLING = """
       take_visit_surface_control  release_visit_surface_control
False  True                        -
True   -                           False
"""


def test_control_is_taken_and_released():
    matrix(
        OPERATIONS,
        (False, True),
        CONTROL,
        lambda controlling: replace(in_status(VisitStatus.ARRIVED), controlling=controlling),
        lambda visit: visit.controlling,
        CONTROLLING,
    )


CONTROLLING_BY_STATUS = """
            take_visit_surface_control
Planned     -
Arrived     True
InProgress  True
OnHold      True
Completed   -
Cancelled   -
Aborted     -
Voided      -
"""


def test_control_is_taken_while_the_visitors_are_there():
    matrix(
        OPERATIONS,
        VisitStatus,
        CONTROL[:1],
        in_status,
        lambda visit: visit.controlling,
        CONTROLLING_BY_STATUS,
    )


CONTROLLING_AFTER_A_MOVE = """
            record_visit_arrival  start_visit  hold_visit  resume_visit  complete_visit  cancel_visit  abort_visit  void_visit
Arrived     -                     True         -           -             -               False         -            False
InProgress  -                     -            True        -             False           -             False        False
OnHold      -                     -            -           True          False           -             False        False
"""  # noqa: E501


def test_no_visit_that_is_over_controls_a_surface():
    matrix(
        OPERATIONS,
        (VisitStatus.ARRIVED, VisitStatus.IN_PROGRESS, VisitStatus.ON_HOLD),
        MOVES,
        lambda status: replace(in_status(status), controlling=True),
        lambda visit: visit.controlling,
        CONTROLLING_AFTER_A_MOVE,
    )


def test_every_command_is_tried_in_some_matrix():
    tried = {type(example.command) for example in (*MOVES, *CONTROL)}
    assert tried == {operation.command for operation in OPERATIONS if not operation.genesis}
