"""Visit: how it goes on, and who controls its surface."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

from beamkeep.contexts.seams.belonging import OBJECT_TEAMS, ObjectTeam
from beamkeep.contexts.trust.policy import PolicyDefined, PolicyNotFoundError
from beamkeep.contexts.trust.policy import begin as begin_policy
from beamkeep.contexts.trust.surface import (
    SURFACE_CONTROL,
    SurfaceControl,
    SurfaceDefined,
    SurfaceNotFoundError,
)
from beamkeep.contexts.trust.team import (
    MemberRole,
    Membership,
    TeamClosed,
    TeamMemberRemoved,
    TeamNotFoundError,
    TeamRegistered,
    TeamReopened,
)
from beamkeep.contexts.trust.visit import (
    OPERATIONS,
    QUESTIONS,
    AbortVisit,
    CancelVisit,
    CompleteVisit,
    HoldVisit,
    InvalidVisitExternalRefsError,
    InvalidVisitPeopleError,
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
    VisitReferences,
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
from beamkeep.kernel import (
    Command,
    Event,
    Many,
    ObjectScope,
    Refusal,
    SideWrite,
    SurfaceKind,
    replace,
)
from beamkeep.testing.past import ABSENT, CALL, LATER, ME, NEW, NOW
from beamkeep.testing.scenario import Example, Scenario, matrix

ID, PARENT, STRANGER = NEW, UUID(int=2), UUID(int=3)
ENTRY, CONSOLE, OTHER_CONSOLE = UUID(int=20), UUID(int=30), UUID(int=31)
POLICY, OTHER_POLICY = UUID(int=40), UUID(int=41)
TEAM, OTHER_TEAM, THIRD_TEAM = UUID(int=50), UUID(int=51), UUID(int=52)
START = datetime(2030, 3, 1, tzinfo=UTC)
END = datetime(2030, 3, 2, tzinfo=UTC)


def policy(id: UUID, surface_id: UUID) -> PolicyDefined:
    return PolicyDefined(NOW, id, "Staff", ENTRY, surface_id, (ME,), ("*",), ObjectScope.ALL)


def registration(
    id: UUID, parent_id: UUID | None = None, surface_id: UUID = CONSOLE
) -> VisitRegistered:
    return VisitRegistered(
        NOW, id, POLICY, surface_id, VisitType.USER, START, END, parent_id, {"proposal": "P1"}
    )


def team(*members: Membership, id: UUID = TEAM) -> TeamRegistered:
    return TeamRegistered(NOW, id, "Cracks in glass", {}, members)


def of_team(visit: VisitRegistered, team_id: UUID = TEAM) -> VisitRegistered:
    """The same visit, of a team instead of a policy."""
    return replace(visit, policy_id=None, team_id=team_id)


AROUND = (
    SurfaceDefined(NOW, CONSOLE, "Console", SurfaceKind.HTTP, ENTRY),
    SurfaceDefined(NOW, OTHER_CONSOLE, "Other console", SurfaceKind.HTTP, ENTRY),
    policy(POLICY, CONSOLE),
    policy(OTHER_POLICY, OTHER_CONSOLE),
    team(Membership(ME)),
    team(id=OTHER_TEAM),
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
    policy_id=POLICY,
    parent_surface_id=CONSOLE,
    type=VisitType.USER,
    planned_start_at=START,
    planned_end_at=END,
    external_refs={" proposal ": " P1 "},
)


OF_TEAM = {"policy_id": None, "team_id": TEAM}
BELONGS = OBJECT_TEAMS.insert(ObjectTeam(ID, "Visit", team_id=TEAM, visit_id=ID))


def given(*history: Event | SideWrite) -> Scenario:
    return Scenario(OPERATIONS, (*AROUND, *history))


def registering(**changes: object) -> RegisterVisit:
    return REGISTER.model_copy(update=changes)


def test_a_visit_is_registered_with_its_references_trimmed():
    given().when(REGISTER).then(registered)


def test_a_visit_of_a_team_is_registered_and_belongs_to_the_team():
    given().when(registering(**OF_TEAM)).then(of_team(registered), BELONGS)


def test_a_visit_names_a_team_or_a_policy_and_not_both():
    given().when(registering(team_id=TEAM)).refused(
        InvalidVisitPeopleError, saying="This visit names both."
    )
    given().when(registering(policy_id=None)).refused(
        InvalidVisitPeopleError, saying="This visit names neither."
    )


def test_a_visit_of_a_team_is_on_any_surface():
    elsewhere = registering(**OF_TEAM, parent_surface_id=OTHER_CONSOLE)
    there = replace(of_team(registered), parent_surface_id=OTHER_CONSOLE)
    given().when(elsewhere).then(there, BELONGS)


def test_a_team_without_members_has_visits():
    row = OBJECT_TEAMS.insert(ObjectTeam(ID, "Visit", team_id=OTHER_TEAM, visit_id=ID))
    asked = given().when(registering(policy_id=None, team_id=OTHER_TEAM))
    asked.then(of_team(registered, OTHER_TEAM), row)


def test_a_closed_team_gets_no_visits_until_it_is_reopened():
    closed = TeamClosed(NOW, TEAM)
    refusal = (
        given(closed)
        .when(registering(**OF_TEAM))
        .refused(
            VisitCannotRegisterError,
            saying="Team 'Cracks in glass' is closed; reopen the team first.",
        )
    )
    assert refusal.facts == {"team_id": TEAM}
    reopened = TeamReopened(NOW, TEAM)
    given(closed, reopened).when(registering(**OF_TEAM)).then(of_team(registered), BELONGS)


def test_a_visit_of_a_team_is_part_of_a_visit_of_the_same_team_or_of_a_policy():
    for parent in (registration(PARENT), of_team(registration(PARENT))):
        given(parent).when(registering(**OF_TEAM, parent_id=PARENT)).then(
            of_team(registration(ID, PARENT)), BELONGS
        )


def test_a_visit_of_a_team_is_not_part_of_a_visit_of_another_team():
    parent = of_team(registration(PARENT), OTHER_TEAM)
    given(parent).when(registering(**OF_TEAM, parent_id=PARENT)).refused(
        VisitCannotRegisterError,
        saying=f"The parent visit is of team {OTHER_TEAM}; name that team or a policy.",
    )


def test_a_visit_of_a_policy_is_part_of_a_visit_of_a_team():
    given(of_team(registration(PARENT))).when(registering(parent_id=PARENT)).then(
        registration(ID, PARENT)
    )


def test_a_visit_of_a_team_is_on_the_surface_of_its_parent_which_has_not_ended():
    elsewhere = of_team(registration(PARENT, surface_id=OTHER_CONSOLE))
    part = registering(**OF_TEAM, parent_id=PARENT)
    given(elsewhere).when(part).refused(
        VisitCannotRegisterError, saying="The parent visit is on surface "
    )
    over = of_team(registration(PARENT)), replace(completed, visit_id=PARENT)
    given(*over).when(part).refused(VisitCannotRegisterError, saying="has ended")


def test_a_visit_is_registered_as_part_of_another():
    for history in ((), (VisitArrived(NOW, PARENT), VisitStarted(NOW, PARENT))):
        given(registration(PARENT), *history).when(registering(parent_id=PARENT)).then(
            registration(ID, PARENT)
        )


def test_what_a_visit_refers_to_must_exist():
    given().when(registering(policy_id=ABSENT)).refused(PolicyNotFoundError)
    given().when(registering(policy_id=None, team_id=ABSENT)).refused(TeamNotFoundError)
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
    given().when(registering(policy_id=OTHER_POLICY)).refused(
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
        "policy_id": OTHER_POLICY,
        "planned_end_at": START,
        "external_refs": {" ": " "},
    }
    given().when(registering(**wrong, parent_id=ABSENT)).refused(VisitNotFoundError)
    given().when(registering(**wrong, team_id=TEAM)).refused(InvalidVisitPeopleError)
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


def taking_as(member: Membership, now: datetime = NOW) -> Scenario:
    """A visit of a team with this member, of which I take control."""
    visit = of_team(registered, THIRD_TEAM)
    past = given(team(member, id=THIRD_TEAM), visit, arrived)
    return past.when(TAKE, call=replace(CALL, now=now))


def test_every_current_member_takes_control_for_the_team():
    for role in MemberRole:
        taking_as(Membership(ME, role)).then(taken, in_control)


def test_only_a_current_member_of_the_team_takes_control():
    told = "The caller is not a current member of team "
    taking_as(Membership(STRANGER)).refused(VisitCannotTakeControlError, told + str(THIRD_TEAM))
    removed = TeamMemberRemoved(NOW, TEAM, ME, "left the group")
    past = given(removed, of_team(registered), arrived)
    past.when(TAKE).refused(VisitCannotTakeControlError, told + str(TEAM))


def test_a_member_takes_control_from_the_start_until_the_end_of_the_membership():
    moment = timedelta(microseconds=1)
    member = Membership(ME, since=NOW, until=LATER)
    taking_as(member, NOW - moment).refused(VisitCannotTakeControlError)
    taking_as(member, NOW).then(taken, in_control)
    last = LATER - moment
    taking_as(member, last).then(
        replace(taken, occurred_at=last),
        SURFACE_CONTROL.insert(SurfaceControl(CONSOLE, ID, last)),
    )
    taking_as(member, LATER).refused(VisitCannotTakeControlError)


def test_whom_a_policy_permits_takes_no_control_for_a_team():
    past = given(of_team(registered, OTHER_TEAM), arrived)
    past.when(TAKE).refused(VisitCannotTakeControlError, saying="not a current member")


def test_a_member_takes_no_control_for_a_visit_of_a_policy():
    permits_nobody = replace(policy(UUID(int=42), CONSOLE), permitted_principal_ids=())
    visit = replace(registered, policy_id=permits_nobody.policy_id)
    past = given(permits_nobody, visit, arrived)
    past.when(TAKE).refused(VisitCannotTakeControlError, saying="does not permit the caller")


def test_a_visit_of_nobody_gives_nobody_control():
    nobodys = VisitReferences(policy=None, team=None, other=None)
    past = given(replace(registered, policy_id=None), arrived)
    past.when(TAKE, given=nobodys).refused(VisitCannotTakeControlError)


def test_a_visit_of_a_closed_team_takes_control():
    past = given(TeamClosed(NOW, TEAM), of_team(registered), arrived)
    past.when(TAKE).then(taken, in_control)


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
        policy_id=POLICY,
        parent_surface_id=CONSOLE,
        type=VisitType.USER,
        planned_start_at=START,
        planned_end_at=END,
        parent_id=PARENT,
        external_refs={"proposal": "P1"},
        status=VisitStatus.PLANNED,
        controlling=False,
        last_status_reason=None,
        team_id=None,
    )
    visit = begin(of_team(registered))
    assert (visit.team_id, visit.policy_id) == (TEAM, None)


def test_a_visit_from_before_there_were_teams_has_none():
    before = VisitRegistered(
        *(NOW, ID, POLICY, CONSOLE, VisitType.USER, START, END, None), external_refs={}
    )
    assert begin(before).team_id is None


def test_visits_are_listed_by_their_team():
    source = QUESTIONS[2].source
    assert isinstance(source, Many)
    facets = source.view.facets_of(begin(of_team(registered)))
    assert f"team_id={TEAM}" in facets
    assert not any(each.startswith("policy_id=") for each in facets)


def test_the_last_reason_stays():
    visit = evolve(evolve(begin(registered), held), resumed)
    assert visit.last_status_reason == "beam lost"
    assert evolve(visit, aborted).last_status_reason == "leak"


PERMITTING = VisitReferences(begin_policy(policy(POLICY, CONSOLE)), team=None, other=None)
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
