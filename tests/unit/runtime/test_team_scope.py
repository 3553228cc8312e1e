"""What members of a team, former members and those of other teams see and change."""

from collections.abc import Mapping
from copy import deepcopy
from typing import Any
from uuid import UUID, uuid4

import pytest
from tests.support.examples import EXAMPLES
from tests.unit.runtime.test_command_scope import (
    ABSENT_BESIDE,
    CHANGES,
    OF_THE_STAFF,
    STAFF,
    Facility,
    World,
    facility_with_visitors,
    require_absent,
)

from beamkeep.contexts.catalogue import CATALOGUE
from beamkeep.contexts.seams.belonging import OBJECT_TEAMS, TEAM_MEMBERS, ObjectTeam
from beamkeep.contexts.trust import seeded
from beamkeep.kernel import Many, Operation, Question, SurfaceKind
from beamkeep.runtime.store import Stream
from beamkeep.testing.service import call, enrol

pytestmark = pytest.mark.anyio

MEMBER, FORMER, LATE, EARLY, OTHER = "mia", "fred", "lana", "erik", "otto"
"""A current member, a former one, one whose period is over or ahead, and one of another team."""
OUTSIDERS = (FORMER, LATE, EARLY, OTHER)
OF_TEAMS = frozenset(each.name for each in CATALOGUE.aggregates.values() if each.team)


class TeamFacility(Facility):
    """A facility in which everything that an example makes belongs to one team."""

    team_id: UUID
    others: Mapping[str, UUID]

    async def world(self, operation: Operation | Question) -> World:
        """Put the service back, and make an example whose objects belong to the team."""
        if isinstance(operation, Question):
            raise TypeError("a read has no world")
        made = await super().world(operation)
        self.give_to_team(made.made)
        return made._replace(backup=self.store.backup())

    def give_to_team(self, streams: Any) -> None:
        """Let objects belong to the team."""
        rows = [
            OBJECT_TEAMS.upsert(ObjectTeam(id, kind, self.team_id, None))
            for kind, id in streams
            if kind in OF_TEAMS
        ]
        self.store.write_rows(rows)


@pytest.fixture(scope="module")
async def here() -> TeamFacility:
    made = await facility_with_visitors()
    service = made.service
    # The visitor and the probe of the other tests reach what is theirs and their team's.
    people = {name: await enrol(service, name, "*", scope="Team") for name in (MEMBER, *OUTSIDERS)}
    over, ahead = {"until": "2020-01-01T00:00:00Z"}, {"since": "2090-01-01T00:00:00Z"}
    members = [
        {"principal_id": str(people[MEMBER])},
        {"principal_id": str(people[FORMER])},
        {"principal_id": str(people[LATE]), **over},
        {"principal_id": str(people[EARLY]), **ahead},
    ]
    team = (await call(service, "register_team", {"title": "Fossils", "members": members})).id
    others = [{"principal_id": str(people[OTHER])}]
    await call(service, "register_team", {"title": "Alloys", "members": others})
    left = {"team_id": str(team), "principal_id": str(people[FORMER]), "reason": "Left"}
    await call(service, "remove_team_member", left)
    found = TeamFacility(service, made.store, {**made.visitors, **people})
    found.team_id, found.others = team, people
    return found


def questions_of_teams() -> list[Question]:
    """Return the reads of objects that may belong to a team."""
    return [each for each in CATALOGUE.questions if each.aggregate.name in OF_TEAMS]


async def asked_about(
    here: TeamFacility, question: Question
) -> tuple[dict[str, Any], list[Stream]]:
    """Return the arguments of an example, and what was made for it by the staff."""
    here.store.restore(here._fresh)  # pyright: ignore[reportPrivateUsage]
    before = {*here.store.streams}
    client = here.client()
    arguments = await EXAMPLES[question.name](client)
    made = [stream for stream in here.store.streams if stream not in before]
    here.give_to_team(made)
    return dict(arguments), made


async def test_a_member_reads_what_the_staff_made_and_nobody_else_does(
    here: TeamFacility, subtests: pytest.Subtests
):
    for question in questions_of_teams():
        if question.about:
            with subtests.test(question.name):
                arguments, _ = await asked_about(here, question)
                told = await here.send(MEMBER, question.name, deepcopy(arguments))
                assert told.ok, told
                absent = {**arguments, question.about: str(uuid4())}
                for outsider in OUTSIDERS:
                    hidden = await here.send(outsider, question.name, deepcopy(arguments))
                    nothing = await here.send(outsider, question.name, deepcopy(absent))
                    assert hidden.status == 404, (outsider, hidden)
                    assert hidden.code == nothing.code, outsider


async def test_a_list_shows_a_member_what_the_staff_made_and_nobody_else(
    here: TeamFacility, subtests: pytest.Subtests
):
    for question in questions_of_teams():
        if isinstance(question.source, Many):
            with subtests.test(question.name):
                _, made = await asked_about(here, CATALOGUE.gets[question.aggregate.name])
                ids = {str(id) for kind, id in made if kind == question.aggregate.name}
                assert ids
                field = question.aggregate.id_field
                shown = {
                    who: {each[field] for each in await listed(here, who, question.name)}
                    for who in (STAFF, MEMBER, *OUTSIDERS)
                }
                assert shown == {STAFF: ids, MEMBER: ids} | {who: set() for who in OUTSIDERS}


async def listed(here: TeamFacility, who: str, name: str) -> list[dict[str, Any]]:
    told = await here.send(who, name, {"limit": 100})
    assert told.ok, told
    return told.body["items"]


async def test_every_command_on_another_teams_object_answers_as_for_an_absent_one(
    here: TeamFacility, subtests: pytest.Subtests
):
    for operation in CHANGES:
        if operation.aggregate.name in OF_TEAMS:
            with subtests.test(operation.name):
                await require_absent(here, operation)


async def test_a_member_changes_what_the_staff_made_for_the_team(
    here: TeamFacility, subtests: pytest.Subtests
):
    for operation in CHANGES:
        if operation.aggregate.name in OF_TEAMS and operation.name not in OF_THE_STAFF:
            with subtests.test(operation.name):
                world = await here.world(operation)
                assert world.target
                here.store.restore(world.backup)
                told = await here.send(MEMBER, operation.name, deepcopy(world.arguments))
                # What is not of a team stays absent for who does not own it.
                beside = {None, ABSENT_BESIDE.get(operation.name)}
                assert told.code in beside | {"ActorNotFoundError"}, told
                for outsider in OUTSIDERS:
                    here.store.restore(world.backup)
                    hidden = await here.send(outsider, operation.name, deepcopy(world.arguments))
                    assert hidden.code == operation.aggregate.absent.__name__, outsider


async def test_the_staff_registers_at_a_surface_that_a_visit_controls_for_the_team(
    here: TeamFacility,
):
    here.store.restore(here._fresh)  # pyright: ignore[reportPrivateUsage]
    service, surface = here.service, str(seeded.SURFACES[SurfaceKind.HTTP])
    period = {
        "planned_start_at": "2030-01-01T00:00:00Z",
        "planned_end_at": "2030-01-02T00:00:00Z",
    }
    visit = {"team_id": str(here.team_id), "parent_surface_id": surface, "type": "user"}
    visit_id = (await call(service, "register_visit", {**visit, **period})).id
    await call(service, "record_visit_arrival", {"visit_id": str(visit_id)})
    await call(service, "take_visit_surface_control", {"visit_id": str(visit_id)}, subject=MEMBER)
    made = (await call(service, "register_subject", {"name": "F-11"})).id
    told = await here.send(MEMBER, "get_subject", {"subject_id": str(made)})
    assert (told.body["team_id"], told.body["visit_id"]) == (str(here.team_id), str(visit_id))
    assert (await here.send(OTHER, "get_subject", {"subject_id": str(made)})).status == 404


async def test_a_membership_counts_from_its_first_to_its_last_moment(here: TeamFacility):
    here.store.restore(here._fresh)  # pyright: ignore[reportPrivateUsage]
    rows = {row.principal_id: row for row in await here.store.rows(TEAM_MEMBERS, {})}
    late, early = rows[here.others[LATE]], rows[here.others[EARLY]]
    assert late.until_at
    assert early.since_at
    assert not late.counts(late.until_at)
    assert early.counts(early.since_at)
