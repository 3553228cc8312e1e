"""What members of a team, former members and those of other teams see of a running service."""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid4

import httpx2
import pytest
from tests.support.examples import EXAMPLES
from tests.system.calling import As, Principal, callers, permit, registered
from tests.system.canaries import FREE, Canaries
from tests.system.test_cross_principal import asked_for, require_unmarked

from beamkeep.contexts.catalogue import CATALOGUE
from beamkeep.kernel import Event, Many, Operation, Question, SideWrite
from beamkeep.testing.appends import on_record
from beamkeep.testing.calling import Calling, Mcp, Rest, SurfaceAnswer
from beamkeep.testing.server import DATABASES, Server

pytestmark = [pytest.mark.postgres, pytest.mark.anyio]

OF_TEAMS = {each.name for each in CATALOGUE.aggregates.values() if each.team}
ASKED = [each for each in CATALOGUE.questions if each.aggregate.name in OF_TEAMS and each.about]
LISTS = {
    each.aggregate.name: each
    for each in CATALOGUE.questions
    if isinstance(each.source, Many) and each.aggregate.name in OF_TEAMS | {"Team", "Visit"}
}
CHANGES = [
    each
    for each in CATALOGUE.operations
    if each.aggregate.name in OF_TEAMS and not each.genesis and not each.route.is_internal
]
NAME_A_TEAM = {
    each.name
    for each in CATALOGUE.operations
    if each.genesis and each.aggregate.team and "team_id" in each.command.model_fields
}
PERIODS = {"late": {"until": "2020-01-01T00:00:00Z"}, "early": {"since": "2090-01-01T00:00:00Z"}}
OUTSIDERS = ("former", "late", "early", "other")
"""Who left, whose period is over or ahead, and who is in another team."""
GIVE = """
INSERT INTO bk.object_team (object_id, stream_type, team_id)
SELECT id, kind, %s FROM unnest(%s::text[], %s::uuid[]) AS o (kind, id)
    ON CONFLICT (object_id) DO UPDATE SET team_id = EXCLUDED.team_id
"""
EVERY = -1


@dataclass(frozen=True)
class Teams:
    """Two teams and their people, who may do everything with scope Team at both surfaces."""

    staff: As
    surfaces: Sequence[Calling]
    people: Mapping[str, Principal]
    fossils: str
    alloys: str

    @property
    def http(self) -> httpx2.AsyncClient:
        return self.staff.calling.http

    def on(self, who: str, surface: Calling | None = None) -> As:
        """Return somebody at a surface, by default that of REST."""
        return As(surface or self.staff.calling, self.people[who].token, self.staff.others)

    def each(self, *who: str) -> list[As]:
        """Return these people at each of the surfaces."""
        return [self.on(each, surface) for each in who for surface in self.surfaces]

    def maker(self, of: str = "", nth: int | None = None) -> "Maker":
        """Return who makes examples for the fossils, with a mark in every text but some."""
        return Maker(self.staff, self.fossils, of, nth)

    async def add(self, who: str, **period: str) -> None:
        member = {"team_id": self.fossils, "principal_id": str(self.people[who].id)}
        await self.staff("add_team_member", {**member, **period})

    async def remove(self, who: str) -> None:
        member = {"team_id": self.fossils, "principal_id": str(self.people[who].id)}
        await self.staff("remove_team_member", {**member, "reason": "Left"})

    def filter(self, question: Question) -> dict[str, str]:
        """Return the filter for the objects of the fossils, if a list has it."""
        return {"team_id": self.fossils} if "team_id" in question.query.model_fields else {}

    @asynccontextmanager
    async def joined(self, who: str) -> AsyncGenerator[None]:
        """Let somebody be a member for a while."""
        await self.add(who)
        try:
            yield
        finally:
            await self.remove(who)

    def give(self, team_id: str, *made: tuple[str, str]) -> None:
        """Let objects belong to a team, whatever their first events say."""
        given = {id: kind for kind, id in made if kind in OF_TEAMS}
        url = str(self.http.base_url).rstrip("/")
        DATABASES[url].ask(GIVE, UUID(team_id), [*given.values()], [*given])


class Maker(As):
    """The staff, who makes examples for a team; every text of them can be found again.

    Nothing that is said of one object is marked: the nth of its kind, or every one.
    """

    def __init__(self, by: As, team_id: str, of: str, nth: int | None) -> None:
        super().__init__(by.calling, by.token, by.others)
        self._team_id, self._of, self._nth = team_id, of, nth
        self.ids: list[str] = []
        """Of the objects of the kind, in the order they were made."""
        self.made: list[tuple[str, str]] = []
        """The kinds and ids of all objects."""

    async def __call__(self, name: str, arguments: Mapping[str, Any], **options: Any) -> Any:
        row = CATALOGUE.named[name]
        if not isinstance(row, Operation):
            return await super().__call__(name, arguments, **options)
        of, proposes = row.aggregate, "proposal_note" in options
        kind = "Proposal" if proposes else of.name
        if row.genesis or proposes:
            is_one = self._nth in {EVERY, len(self.ids)}
        else:
            mine = self.ids[self._nth :][:1] if self._nth is not None else []
            is_one = self._nth == EVERY or arguments[of.id_field] in mine
        plain = kind == self._of and is_one
        given = {**arguments, "team_id": self._team_id} if name in NAME_A_TEAM else arguments
        sent = given if plain else Canaries().into(name, given)
        answer = await super().__call__(name, sent, **options)
        if row.genesis or proposes:
            self._note(kind, answer["proposal_id" if proposes else of.id_field])
        return answer

    async def by_account(self, name: str, arguments: Mapping[str, Any]) -> Any:
        return await super().by_account(name, Canaries().into(name, arguments))

    async def put(self, part: Event | SideWrite, *, owned: bool = False) -> None:
        await super().put(part, owned=owned)
        for event in on_record(part).events:
            self._note(event.stream[0], str(event.stream[1]))

    def _note(self, kind: str, id: str) -> None:
        self.made.append((kind, id))
        if kind == self._of:
            self.ids.append(id)


@pytest.fixture(scope="module")
async def teams(server: Server) -> AsyncGenerator[Teams]:
    async with httpx2.AsyncClient(base_url=server.url, timeout=30) as http:
        surfaces, people = (Rest(http), Mcp(http)), dict[str, Principal]()
        admin = As(surfaces[0], server.admin)
        staff = As(surfaces[0], server.admin, await callers(server, admin))
        for who in ("member", *OUTSIDERS):
            people[who] = await registered(server, staff, f"{who} {uuid4()}")
            for each in surfaces:
                await permit(staff, people[who], ["*"], "Team", each.surface_id)
        others = [{"principal_id": str(people["other"].id)}]
        fossils = await staff("register_team", {"title": f"Fossils {FREE}"})
        alloys = await staff("register_team", {"title": "Alloys", "members": others})
        ids = {"fossils": fossils["team_id"], "alloys": alloys["team_id"]}
        made = Teams(staff, surfaces, people, **ids)
        for who in ("member", "former", "late", "early"):
            await made.add(who, **PERIODS.get(who, {}))
        await made.remove("former")
        yield made


def test_the_matrix_covers_every_kind_with_a_team():
    assert {each.aggregate.name for each in ASKED} == OF_TEAMS
    assert LISTS.keys() == OF_TEAMS | {"Team", "Visit"}
    assert {each.aggregate.name for each in CHANGES} == OF_TEAMS - {"Acquisition", "Attestation"}


async def test_a_read_shows_an_object_of_a_team_to_its_current_members_alone(
    teams: Teams, subtests: pytest.Subtests
):
    for question in ASKED:
        with subtests.test(question.name):
            maker, about = teams.maker(), question.about or ""
            arguments = await EXAMPLES[question.name](maker)
            teams.give(teams.fossils, *maker.made)
            for by in teams.each("member"):
                told = await by.send(question.name, arguments)
                assert told.ok, told
            absent = {**arguments, about: str(uuid4())}
            missed = [await asked_for(by, question, absent) for by in teams.each("other")]
            for who in OUTSIDERS:
                hidden = [await asked_for(by, question, arguments) for by in teams.each(who)]
                assert hidden == missed, who
            for each in missed:
                assert each.status == 404
                require_unmarked(each)


async def test_a_list_shows_the_objects_of_a_team_to_its_current_members_alone(teams: Teams):
    maker, staff, rows = teams.maker(), teams.staff, dict[str, set[str]]()
    async with teams.joined("former"):
        visit = await EXAMPLES["register_visit"](maker)
        del visit["policy_id"]
        await staff("register_visit", {**visit, "team_id": teams.fossils})
        for kind in sorted(OF_TEAMS - {"Proposal"}):
            await EXAMPLES[CATALOGUE.gets[kind].name](maker)
        discard = await EXAMPLES["discard_subject"](maker)
        await maker("discard_subject", discard, proposal_note="Please")
        former, token = teams.on("former"), maker.position_token
        for kind, question in LISTS.items():
            found = await former.listed(question.name, token, **teams.filter(question))
            rows[kind] = {row[question.aggregate.id_field] for row in found}
            assert rows[kind], kind
    # The rows still have the marks by which the lists find them for the former member.
    for who in OUTSIDERS:
        own = {teams.alloys} if who == "other" else set[str]()
        for kind, question in LISTS.items():
            for asked in ({"names": True, "count": True, "limit": 100}, teams.filter(question)):
                for by in teams.each(who):
                    # In the path of REST, a truth is written as in JSON.
                    told = await by.send(question.name, plain(asked, by))
                    assert told.ok, told
                    require_unmarked(told)
                    shown = {row[question.aggregate.id_field] for row in told.body["items"]}
                    assert shown <= own, (who, kind, asked)
                    assert told.body.get("total", len(shown)) == len(shown)
    for kind, question in LISTS.items():
        for by in teams.each("member"):
            found = await by.listed(question.name, token, **teams.filter(question))
            assert {row[question.aggregate.id_field] for row in found} >= rows[kind], kind


def plain(asked: Mapping[str, Any], by: As) -> dict[str, Any]:
    """Return arguments as a surface takes them."""
    if not isinstance(by.calling, Rest):
        return dict(asked)
    return {n: "true" if value is True else value for n, value in asked.items()}


async def test_a_command_on_an_object_of_another_team_is_refused_as_on_an_absent_one(
    teams: Teams, subtests: pytest.Subtests
):
    for operation in CHANGES:
        with subtests.test(operation.name):
            maker, of = teams.maker(), operation.aggregate
            arguments = await EXAMPLES[operation.name](maker)
            id = arguments[of.id_field]
            teams.give(teams.fossils, *maker.made, (of.name, id))
            for dry_run in (True, False):
                missed = [
                    await told_of(by, operation, arguments, str(uuid4()), dry_run=dry_run)
                    for by in teams.each("other")
                ]
                for who in OUTSIDERS:
                    asked = [
                        await told_of(by, operation, arguments, id, dry_run=dry_run)
                        for by in teams.each(who)
                    ]
                    assert asked == missed, (who, dry_run)
                for each in missed:
                    assert each.body["code"] == of.absent.__name__
                    require_unmarked(each)
            # It was there, and the command was sound.
            dry = await teams.staff.send(operation.name, arguments, dry_run=True)
            assert dry.ok or operation.name in DECIDED_BY_OTHERS, dry


DECIDED_BY_OTHERS = {"append_inferences", "withdraw_proposal"}
"""The staff may not: only who made the object can."""


async def told_of(
    by: As, operation: Operation, arguments: Mapping[str, Any], id: str, *, dry_run: bool
) -> SurfaceAnswer:
    """Return what is told of a command on an object, without the object's id."""
    asked = {**arguments, operation.aggregate.id_field: id}
    answer = await by.send(operation.name, asked, dry_run=dry_run)
    return answer._replace(body=json.loads(json.dumps(answer.body).replace(id, "ID")))


async def test_a_command_on_an_object_of_the_own_team_tells_nothing_of_those_of_another(
    teams: Teams, subtests: pytest.Subtests
):
    for operation in CHANGES:
        with subtests.test(operation.name):
            of = operation.aggregate
            counting = teams.maker(of.name)
            id = (await EXAMPLES[operation.name](counting))[of.id_field]
            # What another command has made is not told apart from what that was made of.
            nth = counting.ids.index(id) if id in counting.ids else EVERY
            maker = teams.maker(of.name, nth)
            arguments = await EXAMPLES[operation.name](maker)
            id = arguments[of.id_field]
            teams.give(teams.fossils, *maker.made)
            teams.give(teams.alloys, (of.name, id))
            for by in teams.each("other"):
                require_unmarked(await by.send(operation.name, arguments, dry_run=True))
            for by in teams.each("other"):
                require_unmarked(await by.send(operation.name, arguments))
                shown = await by.send(f"get_{of.noun}", {of.id_field: id})
                assert shown.ok
                require_unmarked(shown)
            teams.give(teams.fossils, (of.name, id))


async def test_search_names_and_the_feed_tell_nothing_of_another_team(teams: Teams):
    word, maker = f"Ammonite{uuid4().hex[:8]}", teams.maker()
    async with teams.joined("former"):
        named = {"name": word, "team_id": teams.fossils}
        subject_id = (await teams.staff("register_subject", named))["subject_id"]
        await maker("remove_subject", {"subject_id": subject_id})
        token = teams.staff.position_token
        assert len(await teams.on("former").listed("list_subjects", token, name=word)) == 1
    reads: list[tuple[str, dict[str, Any]]] = [
        ("search", {"q": word}),
        ("search", {"q": word[:10]}),
        ("search", {"q": word[4:]}),
        ("search", {"q": subject_id}),
        ("resolve_names", {"id": [subject_id]}),
        ("list_subjects", {"names": True}),
        ("list_events", {"stream_id": [subject_id]}),
        ("list_events", {"order": "newest"}),
        ("get_shift_handover", {}),
    ]
    for by in teams.each("member"):
        for name, asked in reads[:-1]:
            told = await by.send(name, plain(asked, by))
            assert word in json.dumps(told.body), (name, asked)
    for who in OUTSIDERS:
        for by in teams.each(who):
            for name, asked in reads:
                told = await by.send(name, plain(asked, by))
                require_unmarked(told)
                text = json.dumps(told.body)
                assert [each for each in (word, subject_id, teams.fossils) if each in text] == []


async def test_an_open_stream_of_events_shows_nothing_of_a_team_after_the_removal(teams: Teams):
    former, maker = teams.on("former"), teams.maker()

    async def of_the_team() -> str:
        """Let something happen to a new object, and add a row to another one."""
        entry = await EXAMPLES["append_run_logbook_entry"](maker)
        await maker("append_run_logbook_entry", entry)
        return entry["run_id"]

    async def her_own() -> str:
        return (await former("register_subject", {"name": "Her own"}))["subject_id"]

    await teams.add("former")
    async with listening(teams, "former") as lines:
        await heard_until(lines, "event: beat")
        run_id = await of_the_team()
        assert FREE in await heard_until(lines, run_id)
        for _ in range(3):
            await of_the_team()
            await teams.remove("former")
            # Whatever is written from here on is not shown, and soon nothing of before either.
            after = {await of_the_team() for _ in range(2)}
            heard = await heard_until(lines, await her_own())
            assert not [run_id for run_id in after if run_id in heard]
            await asyncio.sleep(1)
            after.add(await of_the_team())
            heard = await heard_until(lines, await her_own())
            assert FREE not in heard
            assert not [id for id in (*after, teams.fossils) if id in heard]
            # The next one is shown, once she is a member again.
            await teams.add("former")
            await heard_until(lines, await of_the_team())
    await teams.remove("former")
    for who in OUTSIDERS:
        own = (await teams.on(who)("register_subject", {"name": "Own"}))["subject_id"]
        async with listening(teams, who, since="2000-01-01T00:00:00Z") as lines:
            heard = await heard_until(lines, own)
        require_unmarked(SurfaceAnswer(200, heard))
        assert teams.fossils not in heard


async def heard_until(lines: AsyncIterator[str], text: str) -> str:
    """Return what a stream tells, up to the first line with a text."""
    heard = [await anext(lines)]
    while text not in heard[-1]:
        heard.append(await anext(lines))
    return "\n".join(heard)


@asynccontextmanager
async def listening(teams: Teams, who: str, **params: str) -> AsyncGenerator[AsyncIterator[str]]:
    """Open a stream of events, and provide its lines."""
    token = teams.people[who].token
    headers = {"authorization": f"Bearer {token}", "accept": "text/event-stream"}
    async with teams.http.stream("GET", "/events", params=params, headers=headers) as live:
        yield live.aiter_lines()
