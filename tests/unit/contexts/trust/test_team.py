"""Team: who belongs to it and when, and who may change that."""

import asyncio
from datetime import datetime, timedelta
from uuid import UUID

import pytest

from beamkeep.contexts.access.actor import (
    Actor,
    ActorDeactivated,
    ActorNotFoundError,
    ActorRegistered,
)
from beamkeep.contexts.seams.belonging import OBJECT_TEAMS, TEAM_MEMBERS, ObjectTeam, TeamMember
from beamkeep.contexts.trust.team import (
    MOST_MEMBERS,
    OPERATIONS,
    QUESTIONS,
    AddTeamMember,
    ChangeTeamMember,
    CloseTeam,
    InvalidTeamExternalRefsError,
    InvalidTeamMemberPeriodError,
    ListTeams,
    MemberRole,
    Membership,
    NewMember,
    RegisterTeam,
    RemoveTeamMember,
    ReopenTeam,
    Team,
    TeamCannotAddMemberError,
    TeamCannotChangeMemberError,
    TeamCannotCloseError,
    TeamCannotRemoveMemberError,
    TeamCannotReopenError,
    TeamClosed,
    TeamLeaderRequiredError,
    TeamMemberAdded,
    TeamMemberChanged,
    TeamMemberRemoved,
    TeamNotFoundError,
    TeamRegistered,
    TeamReopened,
    begin,
    current_members,
    evolve,
    leader_required,
    new_member,
    rows_of,
)
from beamkeep.kernel import ActorKind, Command, Event, Many, SideWrite, Sight, replace
from beamkeep.testing.past import ABSENT, LATER, ME, NEW, NOW, Past
from beamkeep.testing.scenario import Example, Scenario, matrix, misshapen

ID, OTHER = NEW, UUID(int=2)
LISE, FRITZ, GONE = UUID(int=10), UUID(int=11), UUID(int=12)
MOMENT = timedelta(microseconds=1)
LEADER, MEMBER, CONTACT = MemberRole.LEADER, MemberRole.MEMBER, MemberRole.LOCAL_CONTACT


def person(id: UUID) -> ActorRegistered:
    return ActorRegistered(NOW, id, ActorKind.HUMAN)


AROUND = (*map(person, (ME, LISE, FRITZ, GONE)), ActorDeactivated(NOW, GONE))


def a_team(*members: Membership, id: UUID = ID) -> TeamRegistered:
    return TeamRegistered(NOW, id, "Cracks in glass", {"proposal": "20300131"}, members)


def itself(id: UUID = ID) -> SideWrite:
    """The row by which a team belongs to itself."""
    return OBJECT_TEAMS.insert(ObjectTeam(id, "Team", team_id=id, visit_id=None))


def row(
    id: UUID, role: str, since: datetime | None = None, until: datetime | None = None
) -> TeamMember:
    return TeamMember(ID, id, role=role, since_at=since, until_at=until)


lise = Membership(LISE, LEADER)
fritz = Membership(FRITZ, MEMBER, since=NOW, until=LATER)
registered = a_team(lise, fritz)
added = TeamMemberAdded(NOW, ID, FRITZ, MEMBER, since=None, until=None)
changed = TeamMemberChanged(NOW, ID, FRITZ, CONTACT, since=NOW, until=LATER)
removed = TeamMemberRemoved(NOW, ID, FRITZ, "left the group")
closed = TeamClosed(NOW, ID)
reopened = TeamReopened(NOW, ID)

REGISTER = RegisterTeam(
    title=" Cracks in glass ", external_refs={" proposal ": " 20300131 "}, members=(lise, fritz)
)
ADD = AddTeamMember(team_id=ID, principal_id=FRITZ)
CHANGE = ChangeTeamMember(team_id=ID, principal_id=FRITZ, role=CONTACT, since=NOW, until=LATER)
REMOVE = RemoveTeamMember(team_id=ID, principal_id=FRITZ, reason=" left the group ")
CLOSE = CloseTeam(team_id=ID)
REOPEN = ReopenTeam(team_id=ID)


def given(*history: Event | SideWrite) -> Scenario:
    return Scenario(OPERATIONS, (*AROUND, *history))


def registering(**changes: object) -> RegisterTeam:
    return REGISTER.model_copy(update=changes)


def test_a_team_is_registered_with_its_members_and_belongs_to_itself():
    given().when(REGISTER).then(
        registered,
        itself(),
        TEAM_MEMBERS.insert(row(LISE, "Leader")),
        TEAM_MEMBERS.insert(row(FRITZ, "Member", NOW, LATER)),
    )


def test_a_team_is_registered_without_members_and_references():
    given().when(RegisterTeam(title="Cracks in glass")).then(
        replace(a_team(), external_refs={}), itself()
    )


def test_two_teams_may_have_one_title():
    given(a_team(id=OTHER)).when(registering(members=())).then(a_team(), itself())


def test_an_outside_reference_is_not_blank_and_names_its_scheme_once():
    for refs, saying in (
        ({" ": "P1"}, "Enter at least one visible character."),
        ({"proposal": " "}, "Enter at least one visible character."),
        ({"proposal": "P1", "proposal ": "P2"}, "The scheme proposal occurs twice"),
        ({"proposal": " Proposal:P1"}, "Remove the prefix proposal: from the value."),
    ):
        asked = given().when(registering(external_refs=refs))
        asked.refused(InvalidTeamExternalRefsError, saying)


def test_a_team_has_at_most_twenty_references():
    refs = {f"scheme{number}": "P1" for number in range(21)}
    misshapen(RegisterTeam, "external_refs", title="Cracks in glass", external_refs=refs)


def test_the_first_members_exist_and_are_active():
    given().when(registering(members=(lise, Membership(ABSENT)))).refused(ActorNotFoundError)
    given().when(registering(members=(lise, Membership(GONE)))).refused(
        TeamCannotAddMemberError, saying=f"Actor {GONE} is not active."
    )


def test_an_actor_is_among_the_first_members_once():
    given().when(registering(members=(lise, fritz, Membership(LISE)))).refused(
        TeamCannotAddMemberError, saying=f"Actor {LISE} is a member already."
    )


def test_a_membership_ends_after_it_starts():
    for until in (NOW, NOW - MOMENT):
        wrong = {"since": NOW, "until": until}
        for command in (
            registering(members=(lise, replace(fritz, **wrong))),
            ADD.model_copy(update=wrong),
            CHANGE.model_copy(update=wrong),
        ):
            history = () if isinstance(command, RegisterTeam) else (a_team(lise),)
            given(*history).when(command).refused(
                InvalidTeamMemberPeriodError, saying=f"Start is {NOW}, end is {until}."
            )


def test_a_membership_may_last_for_a_moment_and_may_be_open_on_one_side():
    for since, until in ((NOW, NOW + MOMENT), (LATER, None), (None, NOW)):
        command = ADD.model_copy(update={"since": since, "until": until})
        given(a_team(lise)).when(command).then(
            replace(added, since=since, until=until),
            TEAM_MEMBERS.insert(row(FRITZ, "Member", since, until)),
        )


def test_faults_of_a_registration_are_reported_in_order():
    wrong: dict[str, object] = {
        "external_refs": {" ": " "},
        "members": (Membership(GONE, since=LATER, until=NOW),),
    }
    given().when(registering(**wrong)).refused(InvalidTeamExternalRefsError)
    del wrong["external_refs"]
    given().when(registering(**wrong)).refused(InvalidTeamMemberPeriodError)


def test_a_member_is_added_as_member_unless_another_role_is_named():
    given(a_team(lise)).when(ADD).then(added, TEAM_MEMBERS.insert(row(FRITZ, "Member")))
    contact = ADD.model_copy(update={"role": CONTACT})
    given(a_team(lise)).when(contact).then(
        replace(added, role=CONTACT), TEAM_MEMBERS.insert(row(FRITZ, "LocalContact"))
    )


def test_only_an_active_actor_who_is_no_member_is_added():
    nobody = ADD.model_copy(update={"principal_id": ABSENT})
    given(a_team(lise)).when(nobody).refused(ActorNotFoundError)
    gone = ADD.model_copy(update={"principal_id": GONE})
    given(a_team(lise)).when(gone).refused(TeamCannotAddMemberError, saying="is not active.")
    given(registered).when(ADD).refused(TeamCannotAddMemberError, saying="is a member already.")


def test_somebody_whose_membership_has_ended_is_still_a_member():
    ended = replace(fritz, since=None, until=NOW - MOMENT)
    given(a_team(ended)).when(ADD).refused(TeamCannotAddMemberError, saying="is a member already.")


def test_somebody_who_was_removed_is_added_again():
    given(registered, removed).when(ADD).then(added, TEAM_MEMBERS.insert(row(FRITZ, "Member")))


def test_a_team_has_at_most_fifty_members():
    crowd = tuple(UUID(int=100 + number) for number in range(MOST_MEMBERS))
    people, members = [*map(person, crowd)], [*map(Membership, crowd)]
    assert len(given(*people).when(registering(members=tuple(members))).decided()) == 2 + 50
    given(*people, a_team(*members[1:])).when(ADD).then(
        added, TEAM_MEMBERS.insert(row(FRITZ, "Member"))
    )
    given(*people, a_team(*members)).when(ADD).refused(
        TeamCannotAddMemberError, saying="The team is full with 50 members"
    )
    too_many = (*members, fritz)
    misshapen(RegisterTeam, "members", title="Cracks in glass", members=too_many)


def test_role_and_period_of_a_member_are_replaced_together():
    given(registered).when(CHANGE).then(
        changed, TEAM_MEMBERS.replace(row(FRITZ, "LocalContact", NOW, LATER))
    )
    unbounded = ChangeTeamMember(team_id=ID, principal_id=FRITZ, role=MEMBER)
    given(registered).when(unbounded).then(
        replace(changed, role=MEMBER, since=None, until=None),
        TEAM_MEMBERS.replace(row(FRITZ, "Member")),
    )


def test_a_change_that_changes_nothing_is_refused():
    same = CHANGE.model_copy(update={"role": MEMBER})
    given(registered).when(same).refused(
        TeamCannotChangeMemberError, saying=f"Actor {FRITZ} has this role and period already."
    )


def test_only_a_member_is_changed_and_removed():
    given(a_team(lise)).when(CHANGE).refused(
        TeamCannotChangeMemberError, saying=f"Actor {FRITZ} is not a member."
    )
    given(a_team(lise)).when(REMOVE).refused(
        TeamCannotRemoveMemberError, saying=f"Actor {FRITZ} is not a member."
    )
    given(registered, removed).when(REMOVE).refused(TeamCannotRemoveMemberError)


def test_a_member_is_removed_with_the_row():
    given(registered).when(REMOVE).then(removed, TEAM_MEMBERS.delete(ID, FRITZ))


def test_a_member_who_is_no_longer_active_is_changed_and_removed():
    history = registered, ActorDeactivated(NOW, FRITZ)
    given(*history).when(CHANGE).then(
        changed, TEAM_MEMBERS.replace(row(FRITZ, "LocalContact", NOW, LATER))
    )
    given(*history).when(REMOVE).then(removed, TEAM_MEMBERS.delete(ID, FRITZ))


def test_members_of_a_closed_team_change_too():
    given(a_team(lise), closed).when(ADD).then(added, TEAM_MEMBERS.insert(row(FRITZ, "Member")))
    given(registered, closed).when(CHANGE).then(
        changed, TEAM_MEMBERS.replace(row(FRITZ, "LocalContact", NOW, LATER))
    )
    given(registered, closed).when(REMOVE).then(removed, TEAM_MEMBERS.delete(ID, FRITZ))


def test_a_team_is_closed_and_reopened():
    given(registered).when(CLOSE).then(closed)
    given(registered, closed).when(REOPEN).then(reopened)
    given(registered, closed, reopened).when(CLOSE).then(closed)


def test_a_team_is_not_closed_or_reopened_twice():
    given(registered, closed).when(CLOSE).refused(
        TeamCannotCloseError, saying="The current state is closed."
    )
    given(registered).when(REOPEN).refused(
        TeamCannotReopenError, saying="The current state is not closed."
    )


def test_a_team_that_does_not_exist_does_not_change():
    for command in (ADD, CHANGE, REMOVE, CLOSE, REOPEN):
        given().when(command).refused(TeamNotFoundError)


# --- who may change the members ---


def active(id: UUID) -> Actor:
    return Actor(id, ActorKind.HUMAN)


def needing_a_leader() -> list[tuple[Command, object]]:
    """The commands that change members, with the input of their rules for a restricted call."""
    return [(ADD, NewMember(active(FRITZ), leader_required=True)), (CHANGE, True), (REMOVE, True)]


def history_of(command: Command, *members: Membership) -> TeamRegistered:
    """A team in which a command that changes members can succeed."""
    return a_team(*members) if command is ADD else a_team(fritz, *members)


def test_a_current_leader_changes_the_members():
    for command, reading in needing_a_leader():
        for role in (Membership(ME, LEADER), Membership(ME, LEADER, since=NOW, until=LATER)):
            past = given(history_of(command, role))
            assert past.when(command, given=reading).decided()


def test_a_leader_adds_leaders_and_leaves():
    team = a_team(Membership(ME, LEADER))
    another = ADD.model_copy(update={"role": LEADER})
    given(team).when(another, given=NewMember(active(FRITZ), leader_required=True)).then(
        replace(added, role=LEADER), TEAM_MEMBERS.insert(row(FRITZ, "Leader"))
    )
    leaving = REMOVE.model_copy(update={"principal_id": ME})
    given(team).when(leaving, given=True).then(
        replace(removed, principal_id=ME), TEAM_MEMBERS.delete(ID, ME)
    )


def test_a_member_who_is_no_current_leader_changes_no_members():
    for member in (
        Membership(ME),
        Membership(ME, CONTACT),
        Membership(ME, LEADER, until=NOW),
        Membership(ME, LEADER, since=NOW + MOMENT),
    ):
        for command, reading in needing_a_leader():
            refused = given(history_of(command, member)).when(command, given=reading)
            refused.refused(TeamLeaderRequiredError, saying="Ask a leader of the team")


def test_the_leader_of_another_team_is_no_leader_here():
    other = a_team(Membership(ME, LEADER), id=OTHER)
    for command, reading in needing_a_leader():
        past = given(other, history_of(command))
        past.when(command, given=reading).refused(TeamLeaderRequiredError)


def test_the_role_is_asked_for_before_the_state():
    member, reading = Membership(ME), NewMember(active(GONE), leader_required=True)
    given(a_team(fritz, member)).when(ADD, given=reading).refused(TeamLeaderRequiredError)
    for command in (CHANGE, REMOVE):
        given(a_team(member)).when(command, given=True).refused(TeamLeaderRequiredError)


def test_a_caller_who_needs_no_role_changes_the_members():
    for command in (ADD, CHANGE, REMOVE):
        assert given(history_of(command)).when(command).decided()


def required_for(sight: Sight | None, *, owns: bool) -> bool:
    """Return whether the loaders say that the caller must be a leader."""
    past = Past((*AROUND, registered), hidden=frozenset() if owns else {ID})
    past.sight = sight
    found = asyncio.run(leader_required(begin(registered), CHANGE, past))
    assert asyncio.run(new_member(begin(registered), ADD, past)).leader_required == found
    return found


def test_only_a_caller_who_reaches_the_team_as_its_member_must_lead_it():
    assert required_for(Sight(ME, teams=True), owns=False)
    assert not required_for(Sight(ME, teams=True), owns=True)
    assert not required_for(None, owns=False)
    assert not required_for(None, owns=True)


# --- state, rows and lists ---


def test_a_team_is_what_its_first_event_says():
    assert begin(registered) == Team(
        id=ID,
        title="Cracks in glass",
        external_refs={"proposal": "20300131"},
        members=(lise, fritz),
        closed=False,
    )


def test_members_keep_their_places():
    team = begin(a_team(fritz, lise))
    assert evolve(team, changed).members == (replace(fritz, role=CONTACT), lise)
    assert evolve(team, removed).members == (lise,)
    assert evolve(begin(a_team(lise)), added).members == (lise, Membership(FRITZ))


def test_the_rows_of_a_team_are_those_that_its_commands_write():
    team = begin(a_team(lise))
    assert rows_of(team) == (row(LISE, "Leader"),)
    assert rows_of(evolve(team, added)) == (row(LISE, "Leader"), row(FRITZ, "Member"))
    of_changed = row(FRITZ, "LocalContact", NOW, LATER)
    assert rows_of(evolve(evolve(team, added), changed)) == (row(LISE, "Leader"), of_changed)


@pytest.mark.parametrize(
    ("now", "counts"),
    [
        (NOW - MOMENT, False),
        (NOW, True),
        (LATER - MOMENT, True),
        (LATER, False),
    ],
)
def test_a_membership_counts_from_its_start_until_just_before_its_end(now: datetime, counts: bool):
    assert (FRITZ in current_members(begin(registered), now)) is counts
    assert current_members(begin(registered), now)[LISE] == LEADER


def test_an_open_side_of_a_period_has_no_bound():
    ends, starts = Membership(ME, until=NOW), Membership(LISE, since=NOW)
    team, far = begin(a_team(ends, starts)), timedelta(days=36_500)
    assert current_members(team, NOW - far) == {ME: MEMBER}
    assert current_members(team, NOW + far) == {LISE: MEMBER}


def test_a_team_is_listed_by_each_of_its_members_whenever_they_belong_to_it():
    source = QUESTIONS[2].source
    assert isinstance(source, Many)
    assert source.view.facets_of(begin(registered)) == (
        "name=cracks in glass",
        "closed=false",
        f"member_id={LISE}",
        f"member_id={FRITZ}",
    )
    past = Past((registered, a_team(lise, id=OTHER), TeamClosed(NOW, OTHER)))
    found = {
        query: asyncio.run(past.matching(query))
        for query in (
            ListTeams(member_id=frozenset({FRITZ})),
            ListTeams(member_id=frozenset({LISE, FRITZ})),
            ListTeams(member_id=frozenset({ME})),
            ListTeams(closed=True),
        )
    }
    assert [*found.values()] == [(ID,), (ID, OTHER), (), (OTHER,)]


def test_a_team_is_found_by_its_references():
    source = QUESTIONS[2].source
    assert isinstance(source, Many)
    assert source.view.directory
    assert [*source.view.directory.keywords(begin(registered))] == ["20300131"]


# --- matrices ---

MOVES = [Example(CLOSE), Example(REOPEN)]
MEMBERS = [
    Example(ADD, NewMember(active(FRITZ), leader_required=False)),
    Example(CHANGE, False),
    Example(REMOVE, False),
]

CLOSED = """
       close_team  reopen_team
False  True        -
True   -           False
"""


def in_state(closed: bool) -> Team:
    return replace(begin(a_team(lise)), closed=closed)


def test_every_move_of_an_open_and_of_a_closed_team():
    matrix(OPERATIONS, (False, True), MOVES, in_state, lambda team: team.closed, CLOSED)


CLOSED_AFTER_A_CHANGE = """
       add_team_member  change_team_member  remove_team_member
False  False            -                   -
True   True             -                   -
"""
CLOSED_AFTER_A_CHANGE_OF_A_MEMBER = """
       add_team_member  change_team_member  remove_team_member
False  -                False               False
True   -                True                True
"""


def test_a_change_of_members_neither_closes_nor_reopens_a_team():
    matrix(
        OPERATIONS,
        (False, True),
        MEMBERS,
        in_state,
        lambda team: team.closed,
        CLOSED_AFTER_A_CHANGE,
    )
    matrix(
        OPERATIONS,
        (False, True),
        MEMBERS,
        lambda closed: replace(in_state(closed), members=(lise, fritz)),
        lambda team: team.closed,
        CLOSED_AFTER_A_CHANGE_OF_A_MEMBER,
    )


def test_every_command_is_tried_in_some_matrix():
    tried = {type(example.command) for example in (*MOVES, *MEMBERS)}
    assert tried == {operation.command for operation in OPERATIONS if not operation.genesis}
