"""Teams on PostgreSQL: their rows, how lists find by marks, and how a removal binds."""

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Mapping, Sequence, Set
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import combinations
from random import Random
from typing import Any, cast
from uuid import UUID, uuid4

import asyncpg
import pytest
from tests.postgres.runtime.test_list_plans import nodes, plans, reads_all
from tests.support.examples import EXAMPLES
from tests.support.examples.assets import an_active_asset
from tests.support.examples.calibration import a_revision
from tests.support.examples.data import new_dataset

from beamkeep.adapters.postgres import listing
from beamkeep.adapters.postgres.connections import PLANNING, Connections
from beamkeep.adapters.postgres.directory import BOUNDED, SEARCHING
from beamkeep.adapters.postgres.lineage import OWN_USES, PostgresLineage
from beamkeep.adapters.postgres.listing import FilterShape
from beamkeep.adapters.postgres.projections import PostgresProjections, RebuiltDifferentlyError
from beamkeep.contexts.catalogue import CATALOGUE
from beamkeep.contexts.seams.custody_rules import CustodyFilter
from beamkeep.contexts.seams.lineage import EDGES, ProvenanceEdge, ProvenanceRelation
from beamkeep.contexts.trust.team import teams
from beamkeep.feed.directory.seam import Match
from beamkeep.feed.lists.marks import read_by
from beamkeep.feed.log import LogQuery
from beamkeep.feed.tail import WHOLE_LOG
from beamkeep.kernel import Operation, Refusal, Sight, View
from beamkeep.parts.custody.postgres import PostgresCustody
from beamkeep.parts.custody.watching import CustodyWatch
from beamkeep.parts.wiring import IDLE
from beamkeep.runtime import queries
from beamkeep.runtime.queries import NotFreshYetError
from beamkeep.runtime.store import ListFilter, ListPage, Position, StoredEvent
from beamkeep.testing.appends import CODEC, append
from beamkeep.testing.database import Database
from beamkeep.testing.postgres import Deployed
from beamkeep.testing.seeds import dice, seed
from beamkeep.testing.service import AdminClient, call, enrol
from beamkeep.workers import team_marks
from beamkeep.workers.projector import Projector
from beamkeep.workers.team_marks import TeamMarks, has_team

pytestmark = [pytest.mark.postgres, pytest.mark.anyio]

MIA, LEO, NOAH, BOTH = "mia", "leo", "noah", "both"
"""A member of the fossils, one of the alloys, one of no team, and one of both teams."""
OVER, AHEAD = {"until": "2020-01-01T00:00:00Z"}, {"since": "2090-01-01T00:00:00Z"}
VIEWS: dict[str, View[Any]] = {view.name: view for view in CATALOGUE.views}
OF_TEAMS = [view for view in CATALOGUE.views if has_team(view)]
NAMED = [each.name for each in CATALOGUE.operations if "team_id" in each.command.model_fields]


class Desk:
    """A service, its people, its teams and the workers that keep its lists."""

    def __init__(self, database: Database, deployed: Deployed, people: Mapping[str, UUID]) -> None:
        self.database, self.deployed, self.people = database, deployed, people
        tail, written = deployed.tail, deployed.projections
        self.marks = TeamMarks(tail, written, CODEC, views=CATALOGUE.views)
        self.token = Position(0, 0)

    async def __call__(
        self, name: str, arguments: Mapping[str, Any], who: str | None = None
    ) -> Any:
        """Make one call that must succeed, by default as the staff; return its body."""
        answer = await call(self.deployed.service, name, arguments, subject=who)
        self.token = getattr(answer, "token", None) or self.token
        return json.loads(answer.body or b"null")

    async def code(self, name: str, arguments: Mapping[str, Any], who: str) -> str | None:
        """Return the refusal of a call, if it is refused."""
        try:
            await self(name, arguments, who)
        except Refusal as refusal:
            return type(refusal).__name__
        return None

    async def team(self, title: str, *who: str) -> str:
        members = [{"principal_id": str(self.people[each])} for each in who]
        return (await self("register_team", {"title": title, "members": members}))["team_id"]

    async def visit(self, team_id: str) -> str:
        """Register a visit of a team."""
        visit = await EXAMPLES["register_visit"](self.maker())
        del visit["policy_id"]
        return (await self("register_visit", {**visit, "team_id": team_id}))["visit_id"]

    def maker(self, **given: str) -> "Maker":
        """Return who makes examples for a team or a visit, or for nobody."""
        return Maker(self.deployed, **given)

    async def add(self, team_id: str, who: str, **period: str) -> None:
        member = {"team_id": team_id, "principal_id": str(self.people[who]), **period}
        await self("add_team_member", member)

    async def remove(self, team_id: str, who: str) -> None:
        member = {"team_id": team_id, "principal_id": str(self.people[who])}
        await self("remove_team_member", {**member, "reason": "Left"})

    async def subjects(self, number: int, **more: str) -> list[UUID]:
        """Register subjects."""
        made = [await self("register_subject", {"name": f"S {n}", **more}) for n in range(number)]
        return [UUID(each["subject_id"]) for each in made]

    async def project(self) -> None:
        """Let the lists follow the log, but not their marks."""
        await self.deployed.projector.catch_up([WHOLE_LOG])

    async def follow_teams(self) -> None:
        """Let the marks follow the log."""
        while not await self.marks.turn():
            pass

    async def follow(self) -> None:
        """Let the lists follow the log, and their marks too."""
        await self.project()
        await self.follow_teams()

    async def listed(self, name: str, who: str | None, /, **filters: Any) -> list[UUID]:
        """Return the ids of all rows of a list, page by page; each page but the last is full."""
        pages, asked = list[list[UUID]](), {"limit": 100, **filters}
        while True:
            page = await self(name, asked, who)
            pages.append([UUID(row[f"{name[5:-1]}_id"]) for row in page["items"]])
            if page["next_cursor"] is None:
                break
            asked["cursor"] = page["next_cursor"]
        assert {len(page) for page in pages[:-1]} <= {asked["limit"]}
        return [id for page in pages for id in page]

    def reader_marks(self, who: str, table: str = "subject") -> set[UUID]:
        """Return the objects that have the mark of a reader."""
        found = f"SELECT id FROM proj.{table}_mark WHERE mark = %s"
        return {
            UUID(str(id))
            for (id,) in self.database.ask(found, listing.number(read_by(self.people[who])))
        }


@pytest.fixture
async def desk(database: Database, deployed: Deployed) -> Desk:
    service = deployed.service
    people = {who: await enrol(service, who, "*", scope="Team") for who in (MIA, LEO, NOAH, BOTH)}
    return Desk(database, deployed, people)


class Maker(AdminClient):
    """Makes examples, of which every object belongs to one team or visit, or to nobody."""

    def __init__(self, deployed: Deployed, **given: str) -> None:
        super().__init__(deployed.service, deployed.store)
        self.given = given

    async def __call__(self, name: str, arguments: Mapping[str, Any], **options: Any) -> Any:
        if name in NAMED and name not in {"register_visit", "register_team"}:
            row = CATALOGUE.named[name]
            if isinstance(row, Operation) and row.genesis and row.aggregate.team:
                arguments = {**arguments, **self.given}
        return await super().__call__(name, arguments, **options)


# What the rows say


async def test_the_rows_of_teams_are_those_that_the_events_say(desk: Desk):
    team_ids = [await desk.team(each, MIA) for each in ("Fossils", "Alloys")]
    visits = [await desk.visit(team_id) for team_id in team_ids]
    made = [each for each in CATALOGUE.operations if each.genesis and each.aggregate.team]
    for given in ({}, {"team_id": team_ids[0]}, {"visit_id": visits[1]}):
        maker = desk.maker(**given)
        for operation in made:
            await maker(operation.name, await EXAMPLES[operation.name](maker))
        discard = await EXAMPLES["discard_subject"](maker)
        await maker("discard_subject", discard, proposal_note="Please")
    # An edition of datasets of two teams belongs to nobody.
    datasets = [
        (await of("register_dataset", await EXAMPLES["register_dataset"](of)))["dataset_id"]
        for of in (desk.maker(team_id=each) for each in team_ids)
    ]
    edition = await EXAMPLES["register_edition"](desk.maker())
    await desk("register_edition", {**edition, "dataset_ids": datasets})
    await walk(desk, dice(seed(), "rows of teams"), 150)

    assert rows_of_members(desk.database) == members_by_events(desk.database)
    found = rows_of_objects(desk.database)
    assert found == objects_by_events(desk.database)
    assert {kind for _, kind, *_ in found} == {view.aggregate.name for view in OF_TEAMS}


async def walk(desk: Desk, draw: Random, steps: int) -> None:
    """Change the members of teams at random; what is refused changes nothing."""
    known = [await desk.team(f"T {n}") for n in range(3)]
    done = 0
    for _ in range(steps):
        name = draw.choice(["add_team_member"] * 3 + ["change_team_member", "remove_team_member"])
        who, team_id = draw.choice([MIA, LEO, NOAH, BOTH]), draw.choice(known)
        member: dict[str, Any] = {"team_id": team_id, "principal_id": str(desk.people[who])}
        if name == "remove_team_member":
            member["reason"] = "Left"
        else:
            member["role"] = draw.choice(["Leader", "Member", "LocalContact"])
            member |= draw.choice([{}, OVER, {"since": "2031-05-01T10:00:00.123456Z"}])
        done += await desk.code(name, member, "ada") is None
        if draw.random() < 0.05:
            known.append(await desk.team("T", draw.choice([MIA, LEO])))
    assert steps / 4 < done < steps


type Rows = set[tuple[object, ...]]


def rows_of_members(database: Database) -> Rows:
    columns = "team_id, principal_id, role, since_at, until_at"
    return {*database.ask(f"SELECT {columns} FROM bk.team_member")}


def members_by_events(database: Database) -> Rows:
    """What the rows must be, from the events of all teams."""
    events = database.ask(
        """SELECT stream_id, version::int, event_type, schema_version, payload::text
             FROM bk.events WHERE stream_type = 'Team' ORDER BY stream_id, version"""
    )
    streams: dict[object, list[StoredEvent]] = {}
    for id, *recorded in events:
        streams.setdefault(id, []).append(StoredEvent(*recorded))  # type: ignore[arg-type]
    states = [CODEC.fold(teams, stored) for stored in streams.values()]
    return {
        (state.id, each.principal_id, each.role, each.since, each.until)
        for state in states
        if state
        for each in state.members
    }


def rows_of_objects(database: Database) -> Rows:
    columns = "object_id, stream_type, team_id, visit_id"
    return {*database.ask(f"SELECT {columns} FROM bk.object_team")}


def objects_by_events(database: Database) -> Rows:
    """What the rows must be, from the first events of all objects."""
    return {
        *database.ask(
            """SELECT stream_id, stream_type, (payload ->> 'team_id')::uuid,
                      CASE stream_type WHEN 'Team' THEN NULL WHEN 'Visit' THEN stream_id
                           ELSE (payload ->> 'visit_id')::uuid END
                 FROM bk.events
                WHERE version = 1 AND (payload ->> 'team_id' IS NOT NULL
                   OR stream_type <> 'Visit' AND payload ->> 'visit_id' IS NOT NULL)"""
        )
    }


# What lists find


FIELDS_OF_A_PAGE = {"names", "min_token", "cursor", "limit", "order", "count"}
PAGE = 7


@pytest.fixture(params=[listing.LOOK_AHEAD, 2])
def looked_ahead(request: pytest.FixtureRequest) -> Iterator[None]:
    """Let lists look ahead as far as they do, or no further than two rows."""
    usual = f"OFFSET {listing.LOOK_AHEAD}"
    assert usual in listing.CHOSEN
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(listing, "CHOSEN", listing.CHOSEN.replace(usual, f"OFFSET {request.param}"))
        listing.fewest_marks.cache_clear()
        yield
    listing.fewest_marks.cache_clear()


async def test_a_list_shows_a_member_the_rows_of_the_team_with_every_filter(
    desk: Desk, looked_ahead: None
):
    view = VIEWS["subject"]
    fossils, alloys, makers = await two_teams(desk)
    made = {who: list[UUID]() for who in makers}
    for turn in range(20):
        for who, maker in makers.items():
            made[who] += await a_subject_in_some_state(maker, turn)
    own = UUID((await desk("register_subject", {"name": "Hers"}, MIA))["subject_id"])
    await desk.follow()
    seen = {MIA: {*made[MIA], own}, LEO: {*made[LEO]}, NOAH: set[UUID]()}
    seen[BOTH] = {*made[MIA], *made[LEO]}
    filters = filters_of(desk, view, {fossils, alloys})
    assert {*dict(filters)} >= view.listing.model_fields.keys() - FIELDS_OF_A_PAGE
    await require_found(desk, view, seen, filters)


async def test_a_list_of_runs_shows_a_member_the_rows_of_the_team_with_every_filter(
    desk: Desk, looked_ahead: None
):
    view = VIEWS["run"]
    fossils, alloys, makers = await two_teams(desk)
    made = {who: {*await some_runs(maker)} for who, maker in makers.items()}
    await desk.follow()
    seen = {MIA: made[MIA], LEO: made[LEO], NOAH: set[UUID]()}
    seen[BOTH] = seen[LEO] | seen[MIA]
    filters = filters_of(desk, view, {fossils, alloys})
    assert {*dict(filters)} >= view.listing.model_fields.keys() - FIELDS_OF_A_PAGE
    await require_found(desk, view, seen, filters)


async def two_teams(desk: Desk) -> tuple[str, str, Mapping[str, "Maker"]]:
    """Return two teams, and who makes objects for the member of each and for nobody."""
    fossils, alloys = await desk.team("Fossils", MIA, BOTH), await desk.team("Alloys", LEO, BOTH)
    of_a_visit = desk.maker(visit_id=await desk.visit(fossils))
    return fossils, alloys, {MIA: of_a_visit, LEO: desk.maker(team_id=alloys), NOAH: desk.maker()}


async def a_subject_in_some_state(do: AdminClient, number: int) -> list[UUID]:
    """Register a subject, and mount every third one."""
    subject_id = (await do("register_subject", {"name": f"Fossil {number % 4}"}))["subject_id"]
    if number % 3 == 0:
        mount = await EXAMPLES["mount_subject"](do)
        await do("mount_subject", {**mount, "subject_id": subject_id})
        return [UUID(subject_id), UUID(mount["subject_id"])]
    return [UUID(subject_id)]


async def some_runs(do: AdminClient) -> list[UUID]:
    """Start runs, of which most have ended."""
    found = list[UUID]()
    for _ in range(2):
        start = await EXAMPLES["start_run"](do)
        for turn in range(PAGE + 3):
            more = {"name": f"Night {turn % 3}", "external_refs": {"bluesky": f"{turn % 2}"}}
            run_id = (await do("start_run", {**start, **more}))["run_id"]
            found.append(UUID(run_id))
            if turn < PAGE + 2:
                await do("complete_run", {"run_id": run_id})
    return found


def filters_of(desk: Desk, view: View[Any], team_ids: Set[str]) -> list[tuple[str, Any]]:
    """Return every filter of a list, with values that rows of the teams have."""
    own = f"""SELECT DISTINCT unnest(facets) FROM proj.{view.name}
                JOIN bk.object_team ON object_id = id WHERE team_id = ANY(%s::uuid[])"""
    fields = view.listing.model_fields
    found = list[tuple[str, Any]]()
    for (facet,) in sorted(desk.database.ask(own, [*team_ids])):
        name, _, value = str(facet).partition("=")
        if name in fields:
            several = "frozenset" in str(fields[name].annotation)
            found.append((name, [value] if several else value))
    ((since, until),) = desk.database.ask(
        f"SELECT min(row ->> 'created_at'), max(row ->> 'created_at') FROM proj.{view.name}"
    )
    owners = desk.database.ask(f"SELECT DISTINCT owner_id FROM proj.{view.name}")
    middle = datetime.fromisoformat(str(since))
    middle += (datetime.fromisoformat(str(until)) - middle) / 2
    times = [name for name in fields if name.endswith(("_after", "_before", "_from", "_to"))]
    found += [(name, middle.isoformat()) for name in times]
    found += [("owner_id", str(owner_id)) for (owner_id,) in sorted(owners)]
    beside = {"under_asset_id": ("asset_id", "mounted_on_asset_id")}
    for name, sources in beside.items():
        found += [(name, each) for of, each in found if of in sources and isinstance(each, str)]
        found += [(name, each[0]) for of, each in found if of in sources and isinstance(each, list)]
    return found


async def require_found(
    desk: Desk, view: View[Any], seen: Mapping[str, Set[UUID]], filters: Sequence[tuple[str, Any]]
) -> None:
    """Require that everybody finds what is theirs, in both orders, page by page."""
    name = f"list_{view.aggregate.noun}s"
    pairs = [{**dict([one]), **dict([other])} for one, other in combinations(filters, 2)]
    alone = [{}, *(dict([each]) for each in filters)]
    for asked in [*alone, *dice(seed(), name).sample(pairs, min(40, len(pairs)))]:
        for order in ("newest", "oldest"):
            every = await desk.listed(name, None, order=order, **asked)
            assert every == sorted(every, reverse=order == "newest")
            for who, theirs in seen.items():
                found = await desk.listed(name, who, order=order, limit=PAGE, **asked)
                assert found == [id for id in every if id in theirs], (who, order, asked)


# A removal binds the next call, and an addition comes with the lists


class World:
    """Objects of a team, and the reads that show them."""

    def __init__(self, team_id: str, ids: Mapping[str, str]) -> None:
        self.team_id, self.ids = team_id, ids

    def reads(self) -> list[tuple[str, dict[str, Any], str]]:
        """Return reads, each with a text that is in its answer for who may see the objects."""
        run_id, subject_id = self.ids["run_id"], self.ids["subject_id"]
        dataset_id, supply_id = self.ids["dataset_id"], self.ids["supply_id"]
        run, subject, dataset = {"run_id": run_id}, {"subject_id": subject_id}, "Dataset"
        return [
            ("get_team", {"team_id": self.team_id}, "Fossils"),
            ("get_team_history", {"team_id": self.team_id}, "TeamRegistered"),
            ("get_subject", subject, "Ammonite"),
            ("get_subject", {**subject, "as_of": 1}, "Ammonite"),
            ("get_subject_history", subject, "SubjectRegistered"),
            ("get_run", {**run, "names": True}, "Ammonite"),
            ("list_run_logbook_entries", run, "shutter"),
            ("get_dataset_lineage", {"dataset_id": dataset_id}, "Ammonite, overview"),
            ("get_provenance", {"kind": dataset, "id": dataset_id}, subject_id),
            ("get_custody_report", {"supply_id": supply_id}, dataset_id),
            ("get_custody_report", {"uri_prefix": "file:///data/"}, dataset_id),
            ("list_custody", {}, dataset_id),
            ("list_custody", {"supply_id": supply_id}, dataset_id),
            ("get_custody_summary", {}, supply_id),
            ("list_events", {}, "Ammonite"),
            ("list_events", {"order": "newest"}, "Ammonite"),
            ("list_events", {"stream_id": [subject_id]}, "Ammonite"),
            ("list_events", {"stream_type": ["Subject"]}, "Ammonite"),
            *self.late_reads(),
        ]

    def late_reads(self) -> list[tuple[str, dict[str, Any], str]]:
        """Return the reads that show the objects once the lists have followed."""
        subject_id, named = self.ids["subject_id"], {"names": True}
        return [
            ("list_teams", {}, "Fossils"),
            ("list_teams", {"member_id": [self.ids["member_id"]]}, "Fossils"),
            ("list_runs", {"subject_id": subject_id}, self.ids["run_id"]),
            ("list_runs", named, "Ammonite"),
            ("list_subjects", {}, "Ammonite"),
            ("list_subjects", {"count": True}, '"total":4'),
            ("list_subjects", {"name": "Ammonite"}, subject_id),
            ("list_subjects", {"order": "oldest", "team_id": self.team_id}, subject_id),
            ("list_distributions", named, "Ammonite, overview"),
            ("list_distributions", {"supply_id": self.ids["supply_id"]}, self.ids["dataset_id"]),
            ("resolve_names", {"id": [subject_id]}, "Ammonite"),
            ("search", {"q": "Ammonite"}, subject_id),
            ("search", {"q": "Ammon"}, subject_id),
            ("search", {"q": "monite"}, subject_id),
            ("search", {"q": "a"}, subject_id),
            ("search", {"q": subject_id[-12:]}, subject_id),
        ]

    async def shown(self, desk: Desk, who: str) -> list[tuple[str, dict[str, Any]]]:
        """Return the reads that show something of these objects."""
        return [
            (name, asked)
            for name, asked, text in self.reads()
            if text in await self.told(desk, name, asked, who)
        ]

    async def told(self, desk: Desk, name: str, asked: Mapping[str, Any], who: str) -> str:
        """Return the answer to a read; nothing if it is refused."""
        try:
            return json.dumps(await desk(name, asked, who), separators=(",", ":"))
        except Refusal as refusal:
            if refusal.status != 404:
                raise
            return ""


@pytest.fixture
async def world(desk: Desk) -> AsyncGenerator[World]:
    """Make objects of a team that has no members yet, among those of another one."""
    team_id, other = await desk.team("Fossils"), await desk.team("Alloys", LEO)
    index, ids = PostgresCustody(connections := desk.database.connections()), dict[str, str]()
    for maker in desk.maker(team_id=other), desk.maker(team_id=team_id), desk.maker():
        is_ours = maker.given.get("team_id") == team_id
        name = "Ammonite" if is_ours else "Cable"
        subject_id = (await maker("register_subject", {"name": name}))["subject_id"]
        place = {"asset_id": await an_active_asset(maker), "reason": "Next in line"}
        await maker("mount_subject", {"subject_id": subject_id, **place})
        start = {**await EXAMPLES["start_run"](maker), "subject_id": subject_id}
        run_id = (await maker("start_run", start))["run_id"]
        entry = {"run_id": run_id, "text": "The shutter was stuck.", "entry_id": str(uuid4())}
        await maker("append_run_logbook_entry", {**entry, "kind": "Note"})
        scan = {"name": f"{name}, overview"}
        made = new_dataset(producing_run_id=run_id, subject_id=subject_id) | scan
        dataset_id = (await maker("register_dataset", made))["dataset_id"]
        copy = await EXAMPLES["register_distribution"](maker)
        await maker("register_distribution", {**copy, **with_bytes_of(made, dataset_id)})
        if is_ours:
            ids = {"subject_id": subject_id, "run_id": run_id, "dataset_id": dataset_id}
            ids |= {"member_id": str(desk.people[MIA]), "supply_id": copy["supply_id"]}
            await maker("register_subject", {"name": "Not among those of others"})
    watch = CustodyWatch(desk.deployed.tail, index, desk.deployed.service.sessions)
    while not await watch.turn():
        pass
    yield World(team_id, ids)
    await connections.close()


def with_bytes_of(made: Mapping[str, Any], dataset_id: str) -> dict[str, Any]:
    """Return what a copy of a dataset is registered with."""
    same = {name: made[name] for name in ("checksum", "byte_size")}
    return {"dataset_id": dataset_id, "uri": f"file:///data/{dataset_id}", **same}


async def test_a_removal_binds_the_next_call_although_no_list_has_followed(
    desk: Desk, world: World
):
    await desk.add(world.team_id, MIA)
    await desk.follow()
    every = [each[:2] for each in world.reads()]
    assert await world.shown(desk, MIA) == every
    assert await world.shown(desk, LEO) == []
    cursor = (await desk("list_events", {"limit": 1}, MIA))["next_cursor"]
    page = await desk("list_subjects", {"limit": 1}, MIA)
    marked = desk.reader_marks(MIA)
    await desk.remove(world.team_id, MIA)
    assert await world.shown(desk, MIA) == []
    assert (await desk("list_events", {"after": cursor}, MIA))["items"] == []
    assert (await desk("list_subjects", {"cursor": page["next_cursor"]}, MIA))["items"] == []
    assert (await desk("list_subjects", {"count": True}, MIA))["total"] == 0
    assert desk.reader_marks(MIA) == marked != set(), "the marks are still there"
    await desk.follow()
    assert await world.shown(desk, MIA) == []
    assert desk.reader_marks(MIA) == set()


async def test_a_period_counts_without_an_event_or_a_worker(desk: Desk, world: World):
    end = datetime.now(UTC) + timedelta(seconds=2)
    await desk.add(world.team_id, MIA, until=end.isoformat())
    await desk.add(world.team_id, NOAH, since=end.isoformat())
    await desk.follow()
    every = [each[:2] for each in world.reads()]
    if (shown := await world.shown(desk, MIA)) != every:
        assert datetime.now(UTC) > end, "it was over before all was read"
        assert {*map(str, shown)} < {*map(str, every)}
    if (early := await world.shown(desk, NOAH)) != []:
        assert datetime.now(UTC) > end, "it began before all was read"
        assert {*map(str, early)} <= {*map(str, every)}
    await asyncio.sleep((end - datetime.now(UTC)).total_seconds() + 0.01)
    assert await world.shown(desk, MIA) == []
    assert await world.shown(desk, NOAH) == every


async def test_an_addition_shows_an_object_at_once_and_comes_with_the_lists(
    desk: Desk, world: World, monkeypatch: pytest.MonkeyPatch
):
    await desk.follow()
    await desk.add(world.team_id, MIA)
    token = f"{desk.token.tx}-{desk.token.position}"
    late = [each[:2] for each in world.late_reads()]
    at_once = await world.shown(desk, MIA)
    assert {str(each[:2]) for each in world.reads()} - {*map(str, at_once)} <= {*map(str, late)}
    assert await desk.listed("list_subjects", MIA) == []
    # The rows have followed, and their marks have not.
    await desk.project()
    with monkeypatch.context() as patch:
        patch.setattr(queries, "FRESHNESS_DEADLINE", 0.05)
        with pytest.raises(NotFreshYetError):
            await desk("list_subjects", {"min_token": token}, MIA)
    asked = asyncio.create_task(desk("list_subjects", {"min_token": token, "count": True}, MIA))
    await asyncio.sleep(0.05)
    await desk.follow_teams()
    assert (await asked)["total"] == 4
    assert await world.shown(desk, MIA) == [each[:2] for each in world.reads()]


async def test_who_waits_for_an_addition_waits_before_the_marks_are_followed_at_all(
    desk: Desk, world: World, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(queries, "FRESHNESS_DEADLINE", 0.05)
    await desk.add(world.team_id, MIA)
    token = {"min_token": f"{desk.token.tx}-{desk.token.position}"}
    await desk.project()
    with pytest.raises(NotFreshYetError):
        await desk("list_subjects", token, MIA)
    await desk.follow_teams()
    assert len((await desk("list_subjects", token, MIA))["items"]) == 4


async def test_every_statement_shows_the_objects_of_a_team_to_its_current_members_alone(
    desk: Desk, world: World
):
    """The statements are asked without the checks around them."""
    await desk.add(world.team_id, MIA)
    await desk.add(world.team_id, NOAH)
    await desk.add(world.team_id, BOTH, **OVER)
    await desk.add(world.team_id, LEO, **AHEAD)
    revision_id, run_id = UUID(await a_revision(desk.maker())), UUID(world.ids["run_id"])
    pinned = ProvenanceEdge(run_id, ProvenanceRelation.PINNED, revision_id, source_id=run_id)
    await desk.deployed.store.append(append(side_writes=[EDGES.insert(pinned)]))
    await desk.follow()
    await desk.remove(world.team_id, NOAH)
    connections = desk.database.connections()
    shown: dict[str, set[str]] = {}
    for who in (MIA, LEO, NOAH, BOTH):
        sight = Sight(desk.people[who], teams=True)
        told = await told_by_each_statement(desk, world, connections, revision_id, sight)
        shown[who] = {name for name, is_shown in told.items() if is_shown}
        assert who != MIA or shown[who] == told.keys()
    assert shown[LEO] == shown[NOAH] == shown[BOTH] == set()
    alone = Sight(desk.people[MIA])
    told = await told_by_each_statement(desk, world, connections, revision_id, alone)
    # This statement asks about teams alone.
    assert {name for name, is_shown in told.items() if is_shown} == {"of teams"}
    await connections.close()


async def told_by_each_statement(
    desk: Desk, world: World, connections: Connections, revision_id: UUID, sight: Sight
) -> dict[str, bool]:
    """Return whether each statement that is given a sight shows an object of the team."""
    names = "subject_id", "dataset_id", "run_id", "supply_id"
    subject, dataset, run, supply = (UUID(world.ids[name]) for name in names)
    now, day, told = datetime.now(UTC), timedelta(days=1), dict[str, bool]()
    store, directory, stream = desk.deployed.store, desk.deployed.directory, ("Subject", subject)

    told["reached"] = (await store.reached([stream], sight))[stream]
    log = await desk.deployed.event_log.page(LogQuery(limit=500, sight=sight))
    told["log"] = subject in {each.stream_id for each in log.events}
    happened = await store.happened(["SubjectRegistered"], now - day, now + day, sight, 100)
    told["happened"] = "Ammonite" in str([each.payload for _, each in happened])

    tail = str(subject)[-12:]
    texts = {Match.EXACT: "ammonite", Match.TAIL: tail, Match.PREFIX: "ammo", Match.PART: "mon"}
    for match, text in texts.items():
        found = await directory.find(match, text, frozenset({"Subject"}), sight)
        told[match.name] = subject in {each.id for each in found.entries}
    asked = {"text": "ammo", "end": "ammp", "pattern": "%mon%", "kinds": ["Subject"]}
    for match in Match.PREFIX, Match.PART:
        bound = BOUNDED[match, sight.teams].bind({**asked, "principal_id": sight.principal_id})
        told[f"bounded {match.name}"] = subject in {r[1] for r in await connections.read(*bound)}
    told["of teams"] = subject in await directory.of_teams([subject], sight.principal_id)

    for newest in False, True:
        page = ListPage(100, newest_first=newest)
        rows = await desk.deployed.lists.listing(VIEWS["subject"], ListFilter(now), sight, page)
        told[f"listed {newest}"] = subject in {row.id for row in rows}
    bound = listing.scan("subject", FilterShape(owner=True, teams=sight.teams)).bind(
        {"owner_id": sight.principal_id, "low": listing.FIRST, "high": listing.LAST, "limit": 100}
    )
    told["scanned"] = subject in {row[0] for row in await connections.read(*bound)}

    uses = await PostgresLineage(connections).uses(revision_id, None, 10, sight)
    told["uses"] = run in {each.from_id for each in uses}
    custody = PostgresCustody(connections)
    told["custody"] = dataset in await custody.datasets(CustodyFilter(), None, 100, sight)
    told["totals"] = bool(await custody.totals(supply, sight))
    told["copies"] = bool(await custody.copies(supply, None, None, 100, sight))
    return told


async def test_the_uses_of_a_calibration_and_a_search_of_a_short_text_read_by_keys(
    database: Database,
):
    mine = {"principal_id": UUID(int=1), "teams": True, "text": "a", "end": "b", "kinds": ["Run"]}
    page = {"revision_id": UUID(int=2), "after": UUID(int=0), "limit": 10, "pattern": "%a%"}
    searching = [BOUNDED[match, True].bind(mine | page) for match in (Match.PREFIX, Match.PART)]
    # Of lists and of their followers, test_list_plans and test_plans look at every statement.
    for settings, bound in (
        (PLANNING, [OWN_USES.bind(mine | page)]),
        (PLANNING | SEARCHING, searching),
    ):
        found = plans(database, {statement: values for statement, *values in bound}, settings)
        assert len(found) == len(bound)
        for plan in found.values():
            assert [*reads_all(plan)] == []
            for node in nodes(plan):
                assert "Hash" not in node["Node Type"]
                if key := KEYS.get(str(node.get("Relation Name")).partition("_p")[0]):
                    assert key in node.get("Index Cond", node.get("Recheck Cond", "")), node


KEYS = {
    "events": "stream_id = ",
    "object_team": "_id = ",
    "team_member": "principal_id = ",
    "directory": "id = ",
}
"""What is in the condition by which a statement reads a table."""


# Marks


async def test_marks_are_those_of_the_members_whenever_these_came(desk: Desk):
    before, after = await desk.team("Before", MIA), await desk.team("After")
    subjects = {team_id: {*await desk.subjects(3, team_id=team_id)} for team_id in (before, after)}
    await desk.follow()
    assert desk.reader_marks(MIA) == subjects[before]
    await desk.add(after, MIA)
    assert await desk.listed("list_subjects", MIA, order="oldest") == sorted(subjects[before])
    await desk.follow_teams()
    assert desk.reader_marks(MIA) == subjects[before] | subjects[after]
    subjects[after] |= {*await desk.subjects(2, team_id=after)}
    await desk.follow()
    every = sorted(subjects[before] | subjects[after])
    assert await desk.listed("list_subjects", MIA, order="oldest") == every
    # Removed from one team, she keeps the marks of the other.
    await desk.remove(before, MIA)
    await desk.follow_teams()
    assert desk.reader_marks(MIA) == subjects[after]
    # Removed and added again before anything followed, she has all of them.
    await desk.remove(after, MIA)
    await desk.add(after, MIA)
    await desk.add(before, MIA)
    await desk.follow_teams()
    assert desk.reader_marks(MIA) == {*every}
    assert desk.reader_marks(MIA, "team") == {UUID(before), UUID(after)}


async def test_marks_of_a_membership_that_does_not_count_find_nothing_until_it_does(desk: Desk):
    team_id, me = await desk.team("Fossils"), {"principal_id": str(desk.people[MIA])}
    made = await desk.subjects(3, team_id=team_id)
    await desk.add(team_id, MIA, **OVER)
    made += await desk.subjects(3, team_id=team_id)
    await desk.follow()
    assert desk.reader_marks(MIA) == {*made}
    assert await desk.listed("list_subjects", MIA) == []
    # Nothing has to follow a change of the period.
    await desk("change_team_member", {"team_id": team_id, "role": "Member", **me})
    assert await desk.listed("list_subjects", MIA, order="oldest") == made
    await desk("change_team_member", {"team_id": team_id, "role": "Member", **me, **OVER})
    assert await desk.listed("list_subjects", MIA) == []


async def test_the_marks_follow_many_events_and_long_gaps_between_transactions(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(team_marks, "PAGE_EVENTS", 3)
    monkeypatch.setattr(team_marks, "MOST_TRANSACTIONS", 5)
    team_id = await desk.team("Fossils")
    made = await desk.subjects(30, team_id=team_id)
    for turn in range(5):
        await desk.add(team_id, MIA)
        if turn < 4:
            await desk.remove(team_id, MIA)
    await desk.follow()
    assert await desk.listed("list_subjects", MIA, order="oldest") == made


async def test_a_list_that_is_rebuilt_finds_the_same_for_each_member(desk: Desk):
    """Members come and go before, while and after it is rebuilt, and are followed or not."""
    teams_of = [await desk.team("Fossils", MIA, BOTH), await desk.team("Alloys", LEO, BOTH)]
    made = [await desk.subjects(12, team_id=team_id) for team_id in teams_of]
    await desk.follow()
    project, views = desk.project, [VIEWS["subject"], VIEWS["run"]]

    changes = [partial(swap, desk, teams_of[0], pair) for pair in [(MIA, NOAH), (NOAH, MIA)] * 2]
    for turn, meanwhile in enumerate([desk.follow_teams, project, nothing, desk.follow]):
        for view in views:
            await desk.deployed.projections.rebuild(view, [WHOLE_LOG])
        await desk.deployed.projector.review()
        await changes[turn]()
        await meanwhile()
        made[0] += await desk.subjects(2, team_id=teams_of[0])
        await project()
        switched = await desk.deployed.projections.switch()
        assert {*switched} == {view.name for view in views}
        await desk.deployed.projector.review()
        await desk.follow()
        now, gone = (NOAH, MIA) if turn % 2 == 0 else (MIA, NOAH)
        seen = {now: made[0], gone: [], LEO: made[1], BOTH: sorted(made[0] + made[1])}
        for who, ids in seen.items():
            assert await desk.listed("list_subjects", who, order="oldest", limit=PAGE) == ids
            assert desk.reader_marks(who) == {*ids}, "it costs no more than it shows"


async def swap(desk: Desk, team_id: str, pair: tuple[str, str]) -> None:
    """Let one person leave a team, and another come."""
    await desk.remove(team_id, pair[0])
    await desk.add(team_id, pair[1])


async def nothing() -> None:
    """Let nobody follow."""


async def test_a_list_that_lost_marks_of_its_rows_is_not_switched_to(desk: Desk):
    team_id = await desk.team("Fossils", MIA)
    await desk.subjects(3, team_id=team_id)
    await desk.follow()
    await desk.deployed.projections.rebuild(VIEWS["subject"], [WHOLE_LOG])
    await desk.deployed.projector.review()
    await desk.project()
    lost = f"DELETE FROM proj.subject_v1_mark WHERE mark = {listing.number(f'team_id={team_id}')}"
    desk.database.ask(lost)
    with pytest.raises(RebuiltDifferentlyError):
        await desk.deployed.projections.switch()


# Everything at once


ORDERS = 200
STEPPED = ("subject_v1", "campaign_v1", "bk.team_member", "UPDATE bk.bookmarks")
"""What a statement contains before which a worker waits for its turn."""
BLOCKED_SECONDS = 0.03
"""A worker that has not come to its next statement by then waits for a lock of another one."""


class Steps:
    """Something that is done step by step, whenever it is its turn."""

    def __init__(self, work: Callable[[], Awaitable[object]]) -> None:
        self._work, self._may, self._waits = work, asyncio.Event(), asyncio.Event()
        self.task: asyncio.Task[None] | None = None

    async def gate(self) -> None:
        """Wait for the next turn."""
        self._waits.set()
        await self._may.wait()
        self._may.clear()

    async def step(self) -> None:
        """Go on until the next gate, to the end, or until another one's lock is in the way."""
        if self.task is None:
            self.task = asyncio.create_task(self._run())
        elif self._waits.is_set():
            self._waits.clear()
            self._may.set()
        ends = [self.task, waiting := asyncio.create_task(self._waits.wait())]
        await asyncio.wait(ends, timeout=BLOCKED_SECONDS, return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()

    async def _run(self) -> None:
        await self._work()

    @property
    def is_done(self) -> bool:
        return self.task is not None and self.task.done()


class Stepped(Connections):
    """Connections of a worker that waits for its turn before some of its statements."""

    steps: Steps | None = None

    async def fetch(self, statement: str, *arguments: Any) -> list[asyncpg.Record]:
        if self.steps and any(each in statement for each in STEPPED):
            await self.steps.gate()
        return await super().fetch(statement, *arguments)

    @asynccontextmanager
    async def connection(self) -> AsyncGenerator[asyncpg.Connection]:
        async with super().connection() as connection:
            yield cast("asyncpg.Connection", SteppedConnection(connection, self))


class SteppedConnection:
    """One connection of them."""

    def __init__(self, connection: asyncpg.Connection, of: Stepped) -> None:
        self._connection, self._of = connection, of

    def transaction(self) -> Any:
        return self._connection.transaction()

    def __getattr__(self, name: str) -> Callable[..., Awaitable[Any]]:
        async def stepped(statement: str, *arguments: Any, **more: Any) -> Any:
            if self._of.steps and any(each in statement for each in STEPPED):
                await self._of.steps.gate()
            return await getattr(self._connection, name)(statement, *arguments, **more)

        return stepped


class Meeting:
    """A team with which an object and a member are made at the same time."""

    def __init__(self, desk: Desk, team_id: str, was_in: bool) -> None:
        self._desk, self._was_in, self.team_id = desk, was_in, team_id

    async def create(self, name: str, **more: str) -> None:
        """Create an object of the team."""
        await self._desk(name, {"name": "N", "team_id": self.team_id, **more})

    async def change(self, times: int) -> None:
        """Add or remove the member, and so on in turn."""
        for turn in range(times):
            is_in = self._was_in != bool(turn % 2)
            await (self._desk.remove if is_in else self._desk.add)(self.team_id, MIA)

    async def is_in(self) -> bool:
        """Return whether the member is in the team now."""
        return bool((await self._desk("get_team", {"team_id": self.team_id}))["members"])

    async def require_found(self) -> None:
        """Require that the member finds all there is, and nobody else anything."""
        is_in, of = await self.is_in(), {"team_id": self.team_id}
        for name in ("list_subjects", "list_campaigns"):
            every = await self._desk.listed(name, None, **of)
            assert every
            assert await self._desk.listed(name, MIA, **of) == (every if is_in else [])
            assert await self._desk.listed(name, LEO, **of) == []


async def test_a_member_finds_an_object_whenever_both_came_and_in_any_order_of_workers(desk: Desk):
    """Three workers follow meanwhile: a projector, and the marks twice."""
    stepped = [Stepped(desk.database.url("bk_projector"), 4, **IDLE) for _ in range(3)]
    listed, *marked = (PostgresProjections(each) for each in stepped)
    tail, views = desk.deployed.tail, [VIEWS["subject"], VIEWS["campaign"]]
    projector = Projector(CATALOGUE.views, CODEC, tail, projections=listed)
    turns = [
        partial(projector.catch_up, [WHOLE_LOG]),
        *(TeamMarks(tail, each, CODEC, views=views).turn for each in marked),
    ]
    campaign = {"intent": "Series", "lead_actor_id": str(desk.people[NOAH])}
    steps = 0
    for order in range(ORDERS):
        draw = dice(seed(), "interleaving", order)
        was_in = draw.random() < 0.5
        meeting = Meeting(desk, await desk.team("T", *[MIA] * was_in), was_in)
        works: list[Callable[[], Awaitable[object]]] = [
            partial(meeting.create, "register_subject"),
            partial(meeting.create, "register_campaign", **campaign),
            partial(meeting.change, draw.choice([1, 2, 2, 3])),
        ]
        doing = [Steps(each) for each in works]
        for connections, turn in zip(stepped, turns, strict=True):
            connections.steps = Steps(partial(several, turn, draw.choice([1, 2, 3])))
            doing.append(connections.steps)
        steps += await in_some_order(doing, draw)
        for connections in stepped:
            connections.steps = None
        await desk.follow()
        await meeting.require_found()
    assert steps > 10 * ORDERS, "they did take turns"
    for connections in stepped:
        await connections.close()


async def test_a_worker_that_was_suspended_takes_no_marks_from_who_came_back(desk: Desk):
    """The member comes back while one worker is suspended; another one follows meanwhile."""
    team_id = await desk.team("Fossils", MIA)
    made = {*await desk.subjects(3, team_id=team_id)}
    await desk.follow()
    stepped = Stepped(desk.database.url("bk_projector"), 2, **IDLE)
    written, views = PostgresProjections(stepped), [VIEWS["subject"]]
    slow = TeamMarks(desk.deployed.tail, written, CODEC, views=views)
    for gates in range(1, 8):
        await desk.remove(team_id, MIA)
        stepped.steps = Steps(slow.turn)
        for _ in range(gates):
            await stepped.steps.step()
        await desk.add(team_id, MIA)
        other = asyncio.create_task(desk.follow_teams())
        await asyncio.wait([other], timeout=20 * BLOCKED_SECONDS)
        while not stepped.steps.is_done:
            await stepped.steps.step()
        stepped.steps = None
        await other
        await desk.follow_teams()
        assert desk.reader_marks(MIA) == made, gates
    await stepped.close()


async def several(turn: Callable[[], Awaitable[object]], number: int) -> None:
    """Take several turns."""
    for _ in range(number):
        await turn()


async def in_some_order(doing: Sequence[Steps], draw: Random) -> int:
    """Let all go on step by step until they have ended; return how many steps there were."""
    # Some are much slower than others, as if they had been suspended.
    steps, paces = 0, {each: draw.choice([1, 4, 16, 64]) for each in doing}
    while going := [each for each in doing if not each.is_done]:
        (one,) = draw.choices(going, [paces[each] for each in going])
        await one.step()
        steps += 1
    for each in doing:
        assert each.task
        each.task.result()
    return steps
