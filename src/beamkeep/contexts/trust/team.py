"""Team: the people behind one accepted proposal, and when each of them belongs to it."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Annotated
from uuid import UUID

from annotated_types import MaxLen
from pydantic import Field

from beamkeep.contexts.access.actor import Actor, ActorNotFoundError, actors
from beamkeep.contexts.seams.belonging import (
    OBJECT_TEAMS,
    TEAM_MEMBERS,
    ObjectTeam,
    TeamMember,
)
from beamkeep.contexts.seams.installation import Reader
from beamkeep.contexts.seams.outside import outside_references
from beamkeep.contexts.seams.protecting import WHOLE
from beamkeep.kernel import (
    Aggregate,
    Axis,
    Blank,
    Call,
    Cannot,
    Command,
    DirectoryEntry,
    Event,
    Invalid,
    Listing,
    NotFound,
    ObjectScope,
    Record,
    Refusal,
    SideWrite,
    reads,
    replace,
)
from beamkeep.kernel.values import FreeText, Name, Reason, References, Timestamp, Trimmed

MOST_MEMBERS = 50


class MemberRole(StrEnum):
    LEADER = "Leader"
    MEMBER = "Member"
    LOCAL_CONTACT = "LocalContact"


class Membership(Record):
    """A member of a team. The membership counts from `since` until just before `until`."""

    principal_id: UUID
    role: MemberRole = MemberRole.MEMBER
    """Only a leader may change the members of the team with scope Team."""
    since: Timestamp | None = None
    """Time from which the membership counts; None means from the beginning."""
    until: Timestamp | None = None
    """Time from which the membership no longer counts; None means without end."""


# Events are stored for ever: add a field with a default; never rename or drop one.
class TeamEvent(Event):
    team_id: UUID


class TeamRegistered(TeamEvent):
    title: str
    external_refs: dict[str, str]
    members: tuple[Membership, ...]


class TeamMemberEvent(TeamEvent):
    principal_id: UUID
    role: MemberRole
    since: datetime | None
    until: datetime | None


class TeamMemberAdded(TeamMemberEvent): ...


class TeamMemberChanged(TeamMemberEvent): ...


class TeamMemberRemoved(TeamEvent):
    principal_id: UUID
    reason: FreeText


class TeamClosed(TeamEvent): ...


class TeamReopened(TeamEvent): ...


type TeamMembersChanged = TeamMemberAdded | TeamMemberChanged | TeamMemberRemoved
type TeamMoved = TeamClosed | TeamReopened


class TeamNotFoundError(NotFound): ...


class InvalidTeamTitleError(Blank): ...


class InvalidTeamExternalRefsError(Invalid):
    """Each outside reference must have a scheme, and a value without the scheme as prefix."""


class InvalidTeamMemberPeriodError(Invalid):
    """End of a membership must be after its start."""


class InvalidTeamReasonError(Blank): ...


class TeamLeaderRequiredError(Refusal, status=403):
    """Of the members of a team, only a current leader can change its members."""


class TeamCannotAddMemberError(Cannot):
    """Only an active actor who is no member yet can be added, to a team with fewer than 50."""


class TeamCannotChangeMemberError(Cannot):
    """Only a member of the team can be changed, to another role or period."""


class TeamCannotRemoveMemberError(Cannot):
    """Only a member of the team can be removed from it."""


class TeamCannotCloseError(Cannot):
    """Only an open team can be closed."""


class TeamCannotReopenError(Cannot):
    """Only a closed team can be reopened."""


CLOSED: Axis[bool, TeamMoved] = Axis(
    "closed",
    # event, allowed from, leads to, refused with
    (TeamClosed, {False}, True, TeamCannotCloseError),
    (TeamReopened, {True}, False, TeamCannotReopenError),
)


class Team(Record):
    id: UUID
    title: str
    external_refs: Mapping[str, str]
    members: tuple[Membership, ...]
    closed: bool = False

    @property
    def team_id(self) -> UUID:
        """A team belongs to itself."""
        return self.id


def begin(event: TeamRegistered) -> Team:
    return Team.of(event, id=event.team_id)


def evolve(team: Team, event: TeamMembersChanged | TeamMoved) -> Team:
    match event:
        case TeamMemberAdded():
            return replace(team, members=(*team.members, Membership.of(event)))
        case TeamMemberChanged():
            changed, id = Membership.of(event), event.principal_id
            members = (changed if each.principal_id == id else each for each in team.members)
            return replace(team, members=tuple(members))
        case TeamMemberRemoved():
            members = (each for each in team.members if each.principal_id != event.principal_id)
            return replace(team, members=tuple(members))
        case TeamClosed() | TeamReopened():
            return replace(team, closed=CLOSED.after(event))


def row_of(team_id: UUID, member: Membership) -> TeamMember:
    """Return the row by which calls of a member are compared with the team."""
    id, role = member.principal_id, member.role
    return TeamMember(team_id, id, role=role, since_at=member.since, until_at=member.until)


def rows_of(team: Team) -> tuple[TeamMember, ...]:
    """Return the rows of all members of a team."""
    return tuple(row_of(team.id, member) for member in team.members)


def current_members(team: Team, now: datetime) -> Mapping[UUID, str]:
    """Return the role of each actor whose membership counts at this time."""
    return {row.principal_id: row.role for row in rows_of(team) if row.counts(now)}


type TeamExternalRefs = Annotated[References, MaxLen(20)]


class RegisterTeam(Command):
    title: Annotated[Name, Trimmed(InvalidTeamTitleError)]
    """Title of the team; need not be unique, must not name a person."""
    external_refs: TeamExternalRefs = Field(default_factory=dict)
    """References to the team in other systems, by scheme, for example proposal."""
    members: Annotated[tuple[Membership, ...], MaxLen(MOST_MEMBERS)] = ()
    """The first members; each actor once."""


class TeamCommand(Command):
    team_id: UUID


class TeamMemberCommand(TeamCommand):
    principal_id: UUID
    """Actor whose membership it is."""
    since: Timestamp | None = None
    """Time from which the membership counts (default: from the beginning)."""
    until: Timestamp | None = None
    """Time from which the membership no longer counts (default: no end)."""


class AddTeamMember(TeamMemberCommand):
    role: MemberRole = MemberRole.MEMBER
    """Role of the new member in the team."""


class ChangeTeamMember(TeamMemberCommand):
    role: MemberRole
    """Role of the member in the team from now on."""


class RemoveTeamMember(TeamCommand):
    principal_id: UUID
    """Member to remove."""
    reason: Annotated[Reason, Trimmed(InvalidTeamReasonError)]


class CloseTeam(TeamCommand): ...


class ReopenTeam(TeamCommand): ...


class NewMember(Record):
    """The actor to add, and whether the caller must be a leader."""

    actor: Actor
    leader_required: bool


async def first_members(command: RegisterTeam, read: Reader) -> Mapping[UUID, Actor]:
    return await read.many(actors, {each.principal_id for each in command.members})


async def leader_required(
    team: Team, command: AddTeamMember | ChangeTeamMember | RemoveTeamMember, read: Reader
) -> bool:
    """Return whether the caller reaches the team only as its member."""
    return read.only is not None and not await read.visible(teams, [team.id], ObjectScope.OWN)


async def new_member(team: Team, command: AddTeamMember, read: Reader) -> NewMember:
    actor = await read.one(actors, command.principal_id)
    return NewMember(actor, await leader_required(team, command, read))


def register_team(
    command: RegisterTeam, given: Mapping[UUID, Actor], call: Call
) -> list[TeamRegistered | SideWrite]:
    """Register a team with its first members."""
    refs = outside_references(command.external_refs, InvalidTeamExternalRefsError)
    for member in command.members:
        _require_period(member)
    for number, member in enumerate(command.members):
        _require_addable(given[member.principal_id], command.members[:number])
    id = call.new_id
    registered = TeamRegistered.of(command, occurred_at=call.now, team_id=id, external_refs=refs)
    # A team belongs to itself, so that its members reach it.
    own = OBJECT_TEAMS.insert(ObjectTeam(id, teams.name, team_id=id, visit_id=None))
    return [registered, own, *map(TEAM_MEMBERS.insert, rows_of(begin(registered)))]


def add_team_member(
    team: Team, command: AddTeamMember, given: NewMember, call: Call
) -> list[TeamMemberAdded | SideWrite]:
    """Add a member to a team; the member sees the team's objects, and gets no permission."""
    _require_leader(team, given.leader_required, call)
    member = Membership.of(command)
    _require_period(member)
    _require_addable(given.actor, team.members)
    added = TeamMemberAdded.of(command, occurred_at=call.now)
    return [added, TEAM_MEMBERS.insert(row_of(team.id, member))]


def change_team_member(
    team: Team, command: ChangeTeamMember, given: bool, call: Call
) -> list[TeamMemberChanged | SideWrite]:
    """Change role and period of a member; a start or an end that is left out is removed."""
    _require_leader(team, given, call)
    member, id = Membership.of(command), command.principal_id
    _require_period(member)
    if not _has_member(team.members, id):
        raise TeamCannotChangeMemberError(f"Actor {id} is not a member.")
    if member in team.members:
        raise TeamCannotChangeMemberError(f"Actor {id} has this role and period already.")
    changed = TeamMemberChanged.of(command, occurred_at=call.now)
    return [changed, TEAM_MEMBERS.replace(row_of(team.id, member))]


def remove_team_member(
    team: Team, command: RemoveTeamMember, given: bool, call: Call
) -> list[TeamMemberRemoved | SideWrite]:
    """Remove a member from a team, with effect from the member's next call."""
    _require_leader(team, given, call)
    id = command.principal_id
    if not _has_member(team.members, id):
        raise TeamCannotRemoveMemberError(f"Actor {id} is not a member.")
    removed = TeamMemberRemoved.of(command, occurred_at=call.now)
    return [removed, TEAM_MEMBERS.delete(team.id, id)]


def close_team(team: Team, command: CloseTeam, call: Call) -> list[TeamClosed]:
    """Close a team, which then gets no further visits and no new objects."""
    return [CLOSED.allow(team.closed, TeamClosed(call.now, team.id))]


def reopen_team(team: Team, command: ReopenTeam, call: Call) -> list[TeamReopened]:
    """Reopen a closed team."""
    return [CLOSED.allow(team.closed, TeamReopened(call.now, team.id))]


def _require_leader(team: Team, leader_required: bool, call: Call) -> None:
    role = current_members(team, call.now).get(call.principal_id)
    if leader_required and role != MemberRole.LEADER:
        raise TeamLeaderRequiredError("Ask a leader of the team to make this call.")


def _require_period(member: Membership) -> None:
    since, until = member.since, member.until
    if since and until and until <= since:
        raise InvalidTeamMemberPeriodError(f"Start is {since}, end is {until}.")


def _require_addable(actor: Actor, members: Sequence[Membership]) -> None:
    """Raise TeamCannotAddMemberError unless the actor can be added to these members."""
    if _has_member(members, actor.id):
        raise TeamCannotAddMemberError(f"Actor {actor.id} is a member already.")
    if len(members) >= MOST_MEMBERS:
        full = f"The team is full with {MOST_MEMBERS} members; remove a member first."
        raise TeamCannotAddMemberError(full)
    if not actor.active:
        raise TeamCannotAddMemberError(f"Actor {actor.id} is not active.")


def _has_member(members: Sequence[Membership], principal_id: UUID) -> bool:
    return any(each.principal_id == principal_id for each in members)


teams = Aggregate(
    "Team", begin, evolve, absent=TeamNotFoundError, axes=(CLOSED,), snapshots_from=WHOLE
)

# fmt: off
OPERATIONS = (
    teams.creates("POST /teams", RegisterTeam, register_team, ActorNotFoundError,
        InvalidTeamExternalRefsError, InvalidTeamMemberPeriodError, TeamCannotAddMemberError,
        given=first_members),
    teams.changes("POST /teams/{team_id}/add-member", AddTeamMember, add_team_member,
        ActorNotFoundError, TeamLeaderRequiredError, InvalidTeamMemberPeriodError,
        TeamCannotAddMemberError, given=new_member),
    teams.changes("POST /teams/{team_id}/change-member", ChangeTeamMember, change_team_member,
        TeamLeaderRequiredError, InvalidTeamMemberPeriodError, TeamCannotChangeMemberError,
        given=leader_required, title="Change a member of a team"),
    teams.changes("POST /teams/{team_id}/remove-member", RemoveTeamMember, remove_team_member,
        TeamLeaderRequiredError, TeamCannotRemoveMemberError, given=leader_required,
        destructive=True),
    teams.changes("POST /teams/{team_id}/close", CloseTeam, close_team, TeamCannotCloseError),
    teams.changes("POST /teams/{team_id}/reopen", ReopenTeam, reopen_team, TeamCannotReopenError),
)
# fmt: on


class ListTeams(Listing):
    """List teams, newest first."""

    member_id: frozenset[UUID] | None = None
    """Only teams of which one of these actors is a member, now or at another time."""
    closed: bool | None = None


QUESTIONS = reads(
    "/teams",
    teams,
    ListTeams,
    facets={"member_id": lambda it: (each.principal_id for each in it.members)},
    directory=DirectoryEntry(lambda it: it.title, keywords=lambda it: it.external_refs.values()),
)
