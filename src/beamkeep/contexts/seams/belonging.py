"""Which team an object belongs to, and who the members of teams are."""

from datetime import datetime
from uuid import UUID

from beamkeep.kernel import Command, Record, Table, UnnamedListing


class ObjectTeam(Record):
    """The team and the visit of an object. An object of no team has no row."""

    object_id: UUID
    stream_type: str
    team_id: UUID | None
    visit_id: UUID | None


class TeamMember(Record):
    """A member of a team, and from when to when the membership counts."""

    team_id: UUID
    principal_id: UUID
    role: str
    since_at: datetime | None
    until_at: datetime | None

    def counts(self, now: datetime) -> bool:
        """Return whether the membership counts at this time."""
        begun = self.since_at is None or self.since_at <= now
        return begun and (self.until_at is None or now < self.until_at)


class GivenTeam(Command):
    """A command that creates an object, and may name the team of the object."""

    team_id: UUID | None = None
    """Its team (default: of what it is about, else of the visit in control)."""
    visit_id: UUID | None = None
    """Its visit (default: the one in control, else of what it is about)."""


class OfTeam(UnnamedListing):
    """A list of objects that may belong to a team."""

    team_id: UUID | None = None
    """Only objects of this team."""
    visit_id: UUID | None = None
    """Only objects of this visit."""


OBJECT_TEAMS = Table("object_team", ObjectTeam, key=("object_id",))
TEAM_MEMBERS = Table("team_member", TeamMember, key=("team_id", "principal_id"))
