"""An executable model of docs/domain/team.md: who belongs to which team, and who sees it."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum

PART_OF, ABOUT = "part of", "about"


class Kind(StrEnum):
    """The kinds that the walks create."""

    SUBJECT = "Subject"
    CAMPAIGN = "Campaign"
    RUN = "Run"
    PROCEDURE = "Procedure"
    DATASET = "Dataset"
    EDITION = "Edition"
    DECISION = "Decision"


OF_THE_STAFF = frozenset({Kind.EDITION, Kind.DECISION})
"""What belongs to nobody if it is about several teams."""


@dataclass(frozen=True)
class Belonging:
    """The team and the visit of an object."""

    team: int | None = None
    visit: int | None = None


NOBODY = Belonging()


@dataclass
class Member:
    """A membership and its period."""

    role: str = "Member"
    since: int | None = None
    until: int | None = None

    def counts(self, now: int) -> bool:
        """Return whether the membership counts at this time."""
        begun = self.since is None or self.since <= now
        return begun and (self.until is None or now < self.until)


@dataclass
class Team:
    """A team with its members."""

    members: dict[int, Member] = field(default_factory=dict[int, Member])
    closed: bool = False


@dataclass
class Thing:
    """An object of a team or of none."""

    kind: Kind
    owner: int
    belonging: Belonging
    wholes: tuple[int, ...] = ()
    """The objects that it is a part of."""
    others: tuple[int, ...] = ()
    """The objects that it is about."""


class RefusedError(Exception):
    """The page says that the command is refused, with this code."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


DIFFER, CLOSED = "TeamsDifferError", "TeamIsClosedError"


class Model:
    """A facility with one surface, as the page describes it."""

    def __init__(self) -> None:
        self.now = 0
        self.teams: dict[int, Team] = {}
        self.visits: dict[int, int | None] = {}
        """The team of each visit."""
        self.control: int | None = None
        """The visit that controls the surface."""
        self.things: dict[int, Thing] = {}

    def belonging(
        self,
        kind: Kind,
        given: Belonging,
        wholes: Iterable[int] = (),
        others: Iterable[int] = (),
    ) -> Belonging:
        """Return whom a new object belongs to, or raise RefusedError."""
        parts = [self.things[id].belonging for id in wholes]
        abouts = [self.things[id].belonging for id in others]
        said = self._given_team(given)
        named = {each.team for each in (*parts, *abouts) if each.team is not None}
        if kind in OF_THE_STAFF and given == NOBODY and len(named) > 1:
            return NOBODY
        if len(named) > 1 or (said is not None and named - {said}):
            raise RefusedError(DIFFER)
        of_control = self._of_control()
        team = said if said is not None else next(iter(named), None)
        if team is None and not parts:
            team = of_control.team
        elif not parts and said is None and of_control.team not in {None, team}:
            raise RefusedError(DIFFER)
        visit = self._visit(given, team, parts, abouts, of_control)
        if team is not None and self.teams[team].closed and not any(p.team for p in parts):
            raise RefusedError(CLOSED)
        return Belonging(team, visit)

    def _given_team(self, given: Belonging) -> int | None:
        if given.visit is None:
            return given.team
        of_visit = self.visits[given.visit]
        if given.team not in {None, of_visit}:
            raise RefusedError(DIFFER)
        return of_visit

    def _of_control(self) -> Belonging:
        if self.control is None:
            return NOBODY
        return Belonging(self.visits[self.control], self.control)

    def _visit(
        self,
        given: Belonging,
        team: int | None,
        parts: list[Belonging],
        abouts: list[Belonging],
        of_control: Belonging,
    ) -> int | None:
        if given.visit is not None:
            if self.visits[given.visit] != team:
                raise RefusedError(DIFFER)
            return given.visit
        order = (*parts, *abouts) if parts else (of_control, *abouts)
        fitting = (each.visit for each in order if each.team == team and each.visit is not None)
        return next(fitting, None)

    def sees(self, person: int, id: int) -> bool:
        """Return whether scope Team reaches an object."""
        thing = self.things[id]
        if thing.owner == person:
            return True
        team = thing.belonging.team
        member = None if team is None else self.teams[team].members.get(person)
        return member is not None and member.counts(self.now)

    def require_joinable(self, one: int, other: int) -> None:
        """Raise RefusedError when two objects of different teams are joined."""
        named = {self.things[id].belonging.team for id in (one, other)} - {None}
        if len(named) > 1:
            raise RefusedError(DIFFER)


def crossings(model: Model) -> list[str]:
    """Return what the page must never allow: an object of one team next to one of another."""
    found = list[str]()
    for id, thing in model.things.items():
        team, visit = thing.belonging.team, thing.belonging.visit
        if thing.kind in OF_THE_STAFF and team is None:
            continue
        for whole in thing.wholes:
            of_whole = model.things[whole].belonging.team
            if of_whole is not None and of_whole != team:
                found.append(f"{thing.kind} {id} of {team} is a part of {whole} of {of_whole}")
        for other in thing.others:
            of_other = model.things[other].belonging.team
            if team is not None and of_other not in {None, team}:
                found.append(f"{thing.kind} {id} of {team} is about {other} of {of_other}")
        if visit is not None and model.visits[visit] != team:
            found.append(f"{thing.kind} {id} of {team} names visit {visit}")
    return found
