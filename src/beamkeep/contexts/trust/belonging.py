"""Belonging: which team a new object belongs to, and by which rows its members see it."""

from collections.abc import Iterable, Mapping, Sequence
from operator import attrgetter
from typing import NamedTuple, Protocol, get_type_hints
from uuid import UUID

from beamkeep.contexts.seams.belonging import OBJECT_TEAMS, ObjectTeam
from beamkeep.contexts.seams.installation import Reader
from beamkeep.kernel import (
    AnyAggregate,
    Call,
    Cannot,
    Event,
    Identified,
    Outcome,
    Sources,
    members,
    replace,
)

from .surface import SURFACE_CONTROL
from .team import TeamNotFoundError, teams
from .visit import VisitNotFoundError, visits


class TeamsDifferError(Cannot):
    """All that name the team of an object must name the same one. Name the right team or visit."""


class TeamIsClosedError(Cannot):
    """A closed team gets no new objects; reopen the team, or name another team."""


WHOSE = attrgetter("team_id", "visit_id")
OF_TEAM = (TeamNotFoundError, VisitNotFoundError, TeamsDifferError, TeamIsClosedError)
"""The refusals of every operation that creates an object of a team."""


class OfSomebody(Protocol):
    """A state or an event of an object that may belong to a team."""

    @property
    def team_id(self) -> UUID | None: ...


class Belonging(NamedTuple):
    """The team and the visit of an object."""

    team_id: UUID | None = None
    visit_id: UUID | None = None


class NamedTeam(NamedTuple):
    """Something that says to which team a new object belongs."""

    source: str
    """What a refusal calls it."""
    team_id: UUID | None
    visit_id: UUID | None


class Naming(NamedTuple):
    """Everything that says to which team a new object belongs."""

    given: NamedTeam | None
    part_of: Sequence[NamedTeam]
    about: Sequence[NamedTeam]
    control: NamedTeam | None
    """The visit that controls the surface of the call."""
    several: bool = False
    """Whether the objects may be of several teams."""


def require_one_team(*objects: OfSomebody) -> None:
    """Raise TeamsDifferError when two of these objects belong to different teams."""
    named = {each.team_id for each in objects} - {None}
    if len(named) > 1:
        raise TeamsDifferError(f"The teams are {', '.join(sorted(map(str, named)))}.")


def belonging_of(naming: Naming) -> Belonging:
    """Return the team and the visit of a new object. Raise TeamsDifferError if sources differ."""
    given, control = naming.given, naming.control
    sources = [each for each in (given, *naming.part_of, *naming.about) if each]
    if naming.several and not given and len({each.team_id for each in sources} - {None}) > 1:
        return Belonging()
    team_id = _one_team(sources)
    if control and not naming.part_of and not (given and given.team_id):
        team_id = _one_team([*sources, control])
    if given and given.visit_id:
        if given.team_id != team_id:
            raise TeamsDifferError(f"{given.source}: no team; the others name team {team_id}.")
        return Belonging(team_id, given.visit_id)
    order = [each for each in (*naming.part_of, control, *naming.about) if each]
    visits_of = (each.visit_id for each in order if each.team_id == team_id and each.visit_id)
    return Belonging(team_id, next(visits_of, None))


def _one_team(sources: Iterable[NamedTeam]) -> UUID | None:
    """Return the team that these name. Raise TeamsDifferError, which says who names which."""
    named = [each for each in sources if each.team_id]
    if len({each.team_id for each in named}) > 1:
        raise TeamsDifferError(f"{'; '.join(f'{e.source}: team {e.team_id}' for e in named)}.")
    return named[0].team_id if named else None


def first_events(aggregates: Iterable[AnyAggregate]) -> dict[type[Event], AnyAggregate]:
    """Return the aggregates whose objects may belong to a team, by the types of first events."""
    found = [(each, get_type_hints(each.begin)["event"]) for each in aggregates if each.team]
    return {event: each for each, hint in found for event in members(hint)}


async def assigned(
    kinds: Mapping[type[Event], AnyAggregate], outcome: Outcome, call: Call, read: Reader
) -> Outcome:
    """Return an outcome in which every new object has its team, with the rows that say so."""
    made: dict[UUID, Belonging] = {}
    parts = list(outcome)
    for number, part in enumerate(outcome):
        event = part.event if isinstance(part, Identified) else part
        if not isinstance(event, Event) or (of := kinds.get(type(event))) is None:
            continue
        id: UUID = getattr(event, of.id_field)
        made[id] = belonging = await _found(of, event, made, kinds, call, read)
        if belonging.team_id is None and belonging.visit_id is None:
            continue
        event = replace(event, team_id=belonging.team_id, visit_id=belonging.visit_id)
        parts[number] = replace(part, event=event) if isinstance(part, Identified) else event
        parts.append(OBJECT_TEAMS.insert(ObjectTeam(id, of.name, *belonging)))
    return parts


async def _found(
    of: AnyAggregate,
    event: Event,
    made: Mapping[UUID, Belonging],
    kinds: Mapping[type[Event], AnyAggregate],
    call: Call,
    read: Reader,
) -> Belonging:
    """Return the team and the visit of a new object, by what is read for it."""
    assert of.team, "objects of this kind may belong to a team"  # noqa: S101
    sources: Sources = of.team(event)
    part_of = await _of_objects(sources.part_of, made, kinds, read)
    about = await _of_objects(sources.about, made, kinds, read)
    given = await _given(event, not sources.is_found, read)
    control = None if any(sources.part_of) else await _control(call.surface_id, read)
    several = sources.several
    naming = Naming(given, part_of=part_of, about=about, control=control, several=several)
    belonging = belonging_of(naming)
    team_id = belonging.team_id
    if team_id and not any(each.team_id for each in part_of):
        team = await read.one(teams, team_id)
        if team.closed:
            raise TeamIsClosedError(f"It is team '{team.title}'.", team_id=team_id)
    return belonging


async def _of_objects(
    ids: Iterable[UUID | None],
    made: Mapping[UUID, Belonging],
    kinds: Mapping[type[Event], AnyAggregate],
    read: Reader,
) -> list[NamedTeam]:
    """Return what objects say: those that the same command makes, and those that there are."""
    wanted = [id for id in dict.fromkeys(ids) if id]
    there = {id for id in wanted if id not in made}
    rows = await read.rows(OBJECT_TEAMS, object_id=there) if there else ()
    await _require_seen(rows, kinds, read)
    said = {
        row.object_id: NamedTeam(f"{row.stream_type} {row.object_id}", row.team_id, row.visit_id)
        for row in rows
    }
    said |= {id: NamedTeam(f"New object {id}", *each) for id, each in made.items()}
    return [said.get(id) or NamedTeam(f"Object {id}", None, None) for id in wanted]


async def _require_seen(
    rows: Sequence[ObjectTeam], kinds: Mapping[type[Event], AnyAggregate], read: Reader
) -> None:
    """Raise as for an absent object when one belongs to a team that the caller cannot reach."""
    if read.sight is None:
        return
    named = {of.name: of for of in kinds.values()}
    for name in sorted({row.stream_type for row in rows if row.team_id} & named.keys()):
        of, ids = named[name], {row.object_id for row in rows if row.stream_type == name}
        for id in sorted(ids - await read.visible(of, ids)):
            raise of.absent(f"There is no {of.noun.replace('_', ' ')} {id}.")


async def _given(event: Event, to_show: bool, read: Reader) -> NamedTeam | None:
    """Return the team that the command names, itself or by a visit.

    With `to_show`, nobody puts an object into a team that is absent for them.
    """
    named = Belonging(*WHOSE(event))
    if named.visit_id is None:
        if named.team_id is None:
            return None
        await read.one(teams, named.team_id, to_show=to_show)
        return NamedTeam("The command", named.team_id, None)
    visit = await read.one(visits, named.visit_id, to_show=to_show)
    if named.team_id not in {None, visit.team_id}:
        detail = f"The command: team {named.team_id}; visit {visit.id}: team {visit.team_id}."
        raise TeamsDifferError(detail)
    return NamedTeam(f"Visit {visit.id}", visit.team_id, visit.id)


async def _control(surface_id: UUID | None, read: Reader) -> NamedTeam | None:
    """Return the visit that controls a surface, which is read: the append fails if it moves."""
    if surface_id is None:
        return None
    found = read.controlling
    if found is None:
        rows = await read.rows(SURFACE_CONTROL, surface_id=surface_id)
        found = [row.visit_id for row in rows]
    if not found:
        return None
    visit = await read.one(visits, found[0])
    return NamedTeam(f"Visit {visit.id} in control", visit.team_id, visit.id)
