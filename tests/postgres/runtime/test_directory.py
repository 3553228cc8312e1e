"""Objects found by name and named by id, on each of the two stores there are."""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncGenerator
from typing import Any
from uuid import UUID, uuid4

import asyncpg
import pytest
from tests.support.examples import EXAMPLES
from tests.support.hosted import Hosted, hosted_on

from beamkeep.adapters.memory.directory import MemoryDirectory
from beamkeep.adapters.postgres.connections import Connections
from beamkeep.adapters.postgres.directory import (
    BOUNDED,
    COLUMNS,
    FIND,
    MOST_READ,
    SEARCHING,
    PostgresDirectory,
)
from beamkeep.adapters.postgres.statements import Statement
from beamkeep.contexts.catalogue import CATALOGUE
from beamkeep.contexts.trust import seeded
from beamkeep.contexts.trust.zone import Zone
from beamkeep.feed.directory.entries import entry_of
from beamkeep.feed.directory.reading import SEARCHES_OF_ONE
from beamkeep.feed.directory.seam import MOST_CANDIDATES, Candidates, Match
from beamkeep.feed.lists.rows import Row
from beamkeep.feed.tail import WHOLE_LOG
from beamkeep.kernel import DirectoryEntry, Sight, View, replace
from beamkeep.kernel.values import folded
from beamkeep.runtime import queries
from beamkeep.runtime.codec import Codec
from beamkeep.runtime.parsing import MalformedRequestError
from beamkeep.testing.database import Database
from beamkeep.testing.postgres import Deployed, postgres_service
from beamkeep.testing.service import call, enrol, memory_service, permit
from beamkeep.workers.projector import Projector

pytestmark = pytest.mark.anyio

VIEWS: dict[str, View[Any]] = {view.name: view for view in CATALOGUE.views}
UNNAMED = {"actor", "acquisition", "attestation", "credential", "permit", "seal"}
"""Lists whose objects have no name, or none that may be kept."""


@pytest.fixture
async def hosted(place: Database | None) -> AsyncGenerator[Hosted]:
    async with hosted_on(place) as hosted:
        yield hosted


async def ask(hosted: Hosted, name: str, subject: str | None = None, **arguments: Any) -> Any:
    await hosted.catch_up()
    return json.loads((await call(hosted.service, name, arguments, subject)).body)


async def found(hosted: Hosted, q: str, subject: str | None = None, **more: Any) -> list[str]:
    """The names that a search finds."""
    return [item["name"] for item in (await ask(hosted, "search", subject, q=q, **more))["items"]]


async def zones(hosted: Hosted, *names: str, subject: str | None = None) -> list[str]:
    made = [await call(hosted.service, "define_zone", {"name": name}, subject) for name in names]
    return [str(each.id) for each in made]


# Searching


async def test_a_name_is_found_exactly_then_by_its_beginning_then_by_a_part_the_shorter_first(
    hosted: Hosted,
):
    await zones(hosted, "A foam", "Foam 2", "Foam", "Foam 17", "Large foam cell", "Other")
    expected = ["Foam", "Foam 2", "Foam 17", "A foam", "Large foam cell"]
    assert await found(hosted, "foam") == expected
    assert await found(hosted, "foam", limit=2) == expected[:2]
    assert await found(hosted, "fo") == expected[:3], "a part has three characters"
    assert await found(hosted, "nothing of the kind") == []


@pytest.mark.parametrize("q", ["ÉTALON", "etalon", "  Étalon  ", "e\u0301talon"])
async def test_case_accents_and_blanks_around_do_not_count(hosted: Hosted, q: str):
    await zones(hosted, "Étalon")
    assert await found(hosted, q) == ["Étalon"]


@pytest.mark.parametrize("q", ["50%", "a_b", "c\\d", "%", "_", "\\"])
async def test_signs_of_patterns_are_signs_like_others(hosted: Hosted, q: str):
    await zones(hosted, "50% duty", "a_b", "axb", "c\\d", "500 duty")
    assert all(q in name for name in await found(hosted, q))
    assert len(await found(hosted, q)) == (len(q) > 1)


async def test_an_object_is_listed_with_its_kind_its_status_and_where_it_is_read(hosted: Hosted):
    facility = {"code": "north", "name": "North hall", "kind": "Area"}
    site = (await ask(hosted, "list_facilities"))["items"][0]["facility_id"]
    made = await call(hosted.service, "register_facility", {**facility, "parent_id": site})
    told = await ask(hosted, "search", q="north hall")
    assert told["items"] == [
        {
            "id": str(made.id),
            "kind": "Facility",
            "name": "North hall",
            "status": "Active",
            "link": f"/federation/facilities/{made.id}",
        }
    ]
    assert await found(hosted, "north", kind=["Facility"]) == ["North hall"]
    assert await found(hosted, "north", kind=["Zone"]) == []


async def test_an_object_is_found_by_its_keywords_a_whole_one_first(hosted: Hosted):
    await EXAMPLES["list_facilities"](hosted.do)
    site = (await ask(hosted, "list_facilities"))["items"][0]["facility_id"]
    for code, name in (("hall-1", "North"), ("hall-12", "Sky")):
        area = {"code": code, "name": name, "kind": "Area", "parent_id": site}
        await call(hosted.service, "register_facility", area)
    assert await found(hosted, "hall-1") == ["North", "Sky"]


async def test_an_object_is_found_by_the_end_of_its_id(hosted: Hosted):
    (id,) = await zones(hosted, "Hutch")
    for q in (id, id[-6:], id[-8:], id[-12:], id[-13:], id.upper()):
        assert await found(hosted, q) == ["Hutch"], q
    wrong = ("0" if id[-14] != "0" else "1") + id[-12:]
    assert await found(hosted, wrong) == []


async def test_a_changed_object_is_found_as_it_is_now(hosted: Hosted):
    mount = (await hosted.do("register_mount", {"slot_code": "hutch-a-01"}))["mount_id"]
    told = await ask(hosted, "search", q="hutch-a-01")
    assert told["items"][0]["status"] == "Active"
    await call(hosted.service, "decommission_mount", {"mount_id": mount, "reason": "moved"})
    told = await ask(hosted, "search", q="hutch-a-01")
    assert told["items"][0]["status"] == "Decommissioned"


@pytest.mark.parametrize("wrong", [{"q": ""}, {"q": "x" * 201}, {"q": "x", "limit": 51}, {}])
async def test_a_search_of_another_shape_is_refused(hosted: Hosted, wrong: dict[str, Any]):
    with pytest.raises(MalformedRequestError):
        await ask(hosted, "search", **wrong)


# Who sees what


async def test_a_kind_is_shown_to_those_who_may_get_it(hosted: Hosted):
    await enrol(hosted.service, "otto", "search", "resolve_names", "get_conduit")
    (zone,) = await zones(hosted, "Entry hall")
    assert "Entry hall" in await found(hosted, "entry")
    assert await found(hosted, "entry", "otto") == ["Entry"], "the conduit, not the zone"
    both = [zone, str(seeded.ENTRY)]
    named = (await ask(hosted, "resolve_names", "otto", id=both))["items"]
    assert [each["kind"] for each in named] == ["Conduit"]


async def test_those_who_see_their_own_find_and_name_their_own(hosted: Hosted):
    otto = await enrol(hosted.service, "otto", "define_zone", "search", "resolve_names")
    await permit(hosted.service, otto, "get_zone", scope="Own")
    ids = await zones(hosted, "Ours 1") + await zones(hosted, "Ours 2", subject="otto")
    assert await found(hosted, "ours") == ["Ours 1", "Ours 2"]
    for q in ("ours", "ours 2", "rs 2"):
        assert await found(hosted, q, "otto") == ["Ours 2"]
    named = (await ask(hosted, "resolve_names", "otto", id=ids))["items"]
    assert [each["name"] for each in named] == ["Ours 2"]


async def test_own_objects_of_one_kind_and_all_of_another_are_found_together(hosted: Hosted):
    otto = await enrol(hosted.service, "otto", "define_zone", "search", "get_conduit")
    await permit(hosted.service, otto, "get_zone", scope="Own")
    await zones(hosted, "Entry 1")
    await zones(hosted, "Entry 2", subject="otto")
    assert await found(hosted, "entry", "otto") == ["Entry", "Entry 2"]


# Naming


async def test_ids_are_named_and_what_is_no_object_is_left_out(hosted: Hosted):
    ids = await zones(hosted, "A", "B")
    named = (await ask(hosted, "resolve_names", id=[*ids, str(uuid4())]))["items"]
    assert {each["id"]: each["name"] for each in named} == dict(zip(ids, "AB", strict=True))


async def test_an_actor_is_named_by_its_profile_as_it_is_now(hosted: Hosted):
    otto = str(await enrol(hosted.service, "otto"))

    async def name() -> list[str]:
        named = (await ask(hosted, "resolve_names", id=[otto]))["items"]
        return [each["name"] for each in named]

    assert await name() == ["otto"]
    assert await found(hosted, "otto") == [], "people are not in the directory"
    await call(hosted.service, "forget_actor", {"actor_id": otto})
    assert await name() == ["<deleted user>"]


async def test_actors_are_named_to_those_who_may_get_them(hosted: Hosted):
    otto = await enrol(hosted.service, "otto", "resolve_names", "register_actor")
    olga = await enrol(hosted.service, "olga")
    both = [str(otto), str(olga)]

    async def names() -> list[str]:
        named = (await ask(hosted, "resolve_names", "otto", id=both))["items"]
        return sorted(each["name"] for each in named)

    assert await names() == []
    await permit(hosted.service, otto, "get_actor", scope="Own")
    assert await names() == ["otto"]
    await permit(hosted.service, otto, "get_actor")
    assert await names() == ["olga", "otto"]


async def test_every_answer_has_the_names_of_its_ids_where_they_are_asked_for(hosted: Hosted):
    source, target = await zones(hosted, "Source", "Target")
    conduit = {"name": "Between", "source_zone_id": source, "target_zone_id": target}
    id = str((await call(hosted.service, "define_conduit", conduit)).id)
    for name, about in (
        ("get_conduit", {"conduit_id": id}),
        ("get_conduit_history", {"conduit_id": id}),
        ("list_conduits", {"source_zone_id": source}),
    ):
        plain = await ask(hosted, name, **about)
        told = await ask(hosted, name, **about, names=True)
        names, more = told.pop("names"), told.pop("names_more")
        assert (told, more) == (plain, False)
        assert {names[each]["name"] for each in (source, target, id)} == {
            "Source",
            "Target",
            "Between",
        }
        assert names[source] == {
            "kind": "Zone",
            "name": "Source",
            "status": None,
            "link": f"/zones/{source}",
        }


async def test_a_cursor_continues_with_names_or_without(hosted: Hosted):
    await zones(hosted, "A", "B")
    cursor = (await ask(hosted, "list_zones", limit=1))["next_cursor"]
    page = await ask(hosted, "list_zones", limit=1, cursor=cursor, names=True)
    assert page["items"][0]["zone_id"] in page["names"]


async def test_at_most_so_many_names_are_shown(hosted: Hosted, monkeypatch: pytest.MonkeyPatch):
    await zones(hosted, "A", "B", "C")
    monkeypatch.setattr(queries, "MOST_NAMED", 2)
    page = await ask(hosted, "list_zones", names=True)
    assert (len(page["names"]), page["names_more"]) == (2, True)


async def test_only_a_text_that_is_an_id_and_nothing_else_is_named(hosted: Hosted):
    (id,) = await zones(hosted, "A")
    (about,) = await zones(hosted, f'"{id}"')
    page = await ask(hosted, "get_zone", zone_id=about, names=True)
    assert id not in page["names"]
    assert about in page["names"]


# Declarations


def test_every_list_declares_how_its_objects_are_found():
    assert {view.name for view in CATALOGUE.views if view.directory is None} == UNNAMED


async def test_every_example_has_a_name_and_its_status():
    service, store = await memory_service()
    hosted = Hosted(service, store)
    for name, example in EXAMPLES.items():
        if name.startswith("get_"):
            await example(hosted.do)
    codec, seen = Codec(CATALOGUE.aggregates.values()), set[str]()
    for (kind, _), stored in store.streams.items():
        view = next(view for view in CATALOGUE.views if view.aggregate.name == kind)
        if view.directory is None:
            continue
        state: Any = codec.fold(view.aggregate, [each.recorded for each in stored], None, 0)
        assert folded(view.directory.name(state))
        if hasattr(state, "status"):
            assert view.directory.status(state) == state.status
        seen.add(view.name)
    assert seen == VIEWS.keys() - UNNAMED


# The rows of the directory


@pytest.fixture
async def prepared(unseeded: Database) -> Any:
    async with postgres_service(unseeded) as deployed:
        yield deployed


def entries(database: Database) -> list[Any]:
    return database.ask("SELECT id, version, kind, name, words FROM bk.directory ORDER BY id")


async def remade(projector: Projector) -> None:
    await projector.review()
    while await projector.remake():
        pass


@pytest.mark.postgres
async def test_the_directory_is_rebuilt_from_the_lists_when_a_declaration_changes(
    prepared: Deployed, unseeded: Database
):
    hosted = Hosted(prepared.service, prepared.store)
    await zones(hosted, "Hutch")
    await prepared.projector.catch_up([WHOLE_LOG])
    await remade(prepared.projector)
    before = entries(unseeded)
    assert ("Zone", "Hutch", "hutch") in [row[2:] for row in before]
    zone = VIEWS["zone"]
    other = DirectoryEntry[Zone](lambda it: it.name, keywords=lambda _: ["room"], version=2)
    views = [replace(view, directory=other) if view is zone else view for view in CATALOGUE.views]
    codec = Codec(CATALOGUE.aggregates.values())
    newer = Projector(views, codec, prepared.tail, projections=prepared.projections)
    await remade(newer)
    assert ("Zone", "Hutch", "hutch\nroom") in [row[2:] for row in entries(unseeded)]
    await remade(prepared.projector)
    assert ("Zone", "Hutch", "hutch\nroom") in [row[2:] for row in entries(unseeded)], (
        "an older worker leaves what a newer one made"
    )


@pytest.mark.postgres
async def test_an_entry_that_is_stored_already_is_not_written_again(
    prepared: Deployed, unseeded: Database
):
    hosted, projector = Hosted(prepared.service, prepared.store), prepared.projector
    await zones(hosted, "Hutch", "Hall")
    await projector.catch_up([WHOLE_LOG])
    await remade(projector)
    unseeded.ask("UPDATE bk.directory SET status = 'wrong' WHERE name = 'Hall' RETURNING 1")
    places = "SELECT name, ctid::text FROM bk.directory WHERE kind = 'Zone'"
    before = {str(name): place for name, place in unseeded.ask(places)}
    unseeded.ask("DELETE FROM bk.directory_kinds WHERE name = 'zone' RETURNING 1")
    await remade(projector)
    after = {str(name): place for name, place in unseeded.ask(places)}
    assert [name for name in before if after[name] != before[name]] == ["Hall"]


@pytest.mark.postgres
async def test_the_directory_is_rebuilt_after_a_list_was_rebuilt(
    prepared: Deployed, unseeded: Database
):
    hosted, projector = Hosted(prepared.service, prepared.store), prepared.projector
    await zones(hosted, "Hutch", "Hall")
    await projector.catch_up([WHOLE_LOG])
    await remade(projector)
    before = entries(unseeded)
    unseeded.ask("UPDATE bk.directory SET name = 'wrong' WHERE kind = 'Zone' RETURNING 1")
    await prepared.projections.rebuild(VIEWS["zone"], [WHOLE_LOG])
    await projector.review()
    await projector.catch_up([WHOLE_LOG])
    assert entries(unseeded) != before
    await remade(projector)
    assert entries(unseeded) == before


@pytest.mark.postgres
async def test_a_list_that_is_created_again_leaves_no_old_entries(
    prepared: Deployed, unseeded: Database
):
    await prepared.projector.catch_up([WHOLE_LOG])
    stray = UUID(int=1)
    unseeded.ask(
        "INSERT INTO bk.directory SELECT %s, 9, owner_id, kind, facility_code, status, 'gone',"
        " 'gone', 'gone', 'gone' FROM bk.directory WHERE kind = 'Zone' LIMIT 1 RETURNING 1",
        stray,
    )
    unseeded.ask(
        "WITH b AS (DELETE FROM bk.bookmarks WHERE projection = 'zone')"
        " DELETE FROM bk.projections WHERE name = 'zone' RETURNING 1"
    )
    unseeded.ask("SELECT 1; DROP VIEW proj.zone, proj.zone_mark")
    unseeded.ask("SELECT 1; DROP TABLE proj.zone_v1, proj.zone_v1_mark")
    await prepared.projections.arrange(CATALOGUE.views, [WHOLE_LOG])
    assert not [row for row in entries(unseeded) if row[2] == "Zone"]


def test_an_entry_is_cut_to_what_an_index_holds():
    # One character that is folded to eighteen.
    id, long = (
        UUID(int=7),
        Zone(id=UUID(int=7), name="\N{ARABIC LIGATURE SALLALLAHOU ALAYHE WASALLAM}" * 200),
    )
    entry = entry_of(VIEWS["zone"], id, Row(1, id, long, milestones={}))
    assert entry
    assert len(entry.name) == 200
    assert len(entry.folded) == 500
    assert len(entry.folded.encode()) < 2_700


# Searches that no index serves

MANY = MOST_READ + 2_000
FILL = """
INSERT INTO bk.directory (id, version, owner_id, kind, status, name, folded, words, tail)
SELECT gen_random_uuid(), 1, $2, 'Zone', NULL, 'zone ' || n, 'zone ' || lpad(n::text, 9, '0'),
       'zone ' || n, ''
  FROM generate_series(1, $1) AS n
"""


class Counted(Connections):
    """Connections that keep which statements they were asked for."""

    def __init__(self, url: str, **settings: str) -> None:
        super().__init__(url, 2, **(SEARCHING | settings))
        self.asked = list[str]()

    async def fetch(self, statement: str, *arguments: Any) -> list[asyncpg.Record]:
        self.asked.append(statement)
        return await super().fetch(statement, *arguments)


@pytest.fixture
async def searching(database: Database) -> AsyncGenerator[Counted]:
    connections = Counted(database.url())
    yield connections
    await connections.close()


async def fill(database: Database, count: int, owner_id: UUID = seeded.ENTRY) -> None:
    admin = await asyncpg.connect(database.url("postgres"))
    try:
        await admin.execute(FILL, count, owner_id)
    finally:
        await admin.close()


async def candidates(searching: Counted, match: Match, text: str, *owner: UUID) -> Candidates:
    sight = map(Sight, owner)
    return await PostgresDirectory(searching).find(match, text, frozenset({"Zone"}), *sight)


@pytest.mark.parametrize("text", ["---", "% %", "___", ". .", "??????"])
@pytest.mark.parametrize("owner", [(), (seeded.ENTRY,)])
async def test_a_text_without_letters_and_digits_is_looked_for_in_a_part_of_the_directory(
    text: str, owner: tuple[UUID, ...], searching: Counted, database: Database
):
    assert await candidates(searching, Match.PART, text, *owner) == Candidates([])
    await fill(database, MANY)
    found = await candidates(searching, Match.PART, text, *owner)
    assert found == Candidates([], truncated=True)
    assert {*searching.asked} == {BOUNDED[Match.PART, False if owner else None].text}


async def test_a_text_of_signs_is_found_in_a_small_directory(hosted: Hosted):
    await zones(hosted, "Hutch --- old", "Hutch")
    told = await ask(hosted, "search", q="---")
    assert [item["name"] for item in told["items"]] == ["Hutch --- old"]
    assert told["truncated"] is False


@pytest.mark.parametrize("owner", [(), (seeded.ENTRY,)])
@pytest.mark.parametrize(("match", "text"), [(Match.PREFIX, "zone"), (Match.PART, "one")])
async def test_a_search_that_would_take_too_long_reads_a_part_instead(
    match: Match,
    text: str,
    owner: tuple[UUID, ...],
    searching: Counted,
    database: Database,
    monkeypatch: pytest.MonkeyPatch,
):
    slow = Statement(f"SELECT {COLUMNS}, pg_sleep(30) FROM bk.directory LIMIT 1")
    monkeypatch.setitem(FIND, (match, False if owner else None), slow)
    await fill(database, 10)
    found = await candidates(searching, match, text, *owner)
    assert (len(found.entries), found.truncated) == (10, False)
    await fill(database, MANY)
    found = await candidates(searching, match, text, *owner)
    assert (len(found.entries), found.truncated) == (MOST_CANDIDATES, True)


async def test_an_exact_name_that_takes_too_long_says_that_nothing_was_read(
    searching: Counted, database: Database, monkeypatch: pytest.MonkeyPatch
):
    slow = Statement(f"SELECT {COLUMNS}, pg_sleep(30) FROM bk.directory LIMIT 1")
    monkeypatch.setitem(FIND, (Match.EXACT, None), slow)
    await fill(database, 10)
    assert await candidates(searching, Match.EXACT, "zone 1") == Candidates((), truncated=True)


async def test_a_search_tells_that_it_read_only_a_part(
    hosted: Hosted, monkeypatch: pytest.MonkeyPatch
):
    async def cut(*_: object) -> Candidates:
        return Candidates((), truncated=True)

    for directory in (PostgresDirectory, MemoryDirectory):
        monkeypatch.setattr(directory, "find", cut)
    assert await ask(hosted, "search", q="hutch") == {"items": [], "truncated": True}


async def test_a_principal_has_only_so_many_searches_at_once(
    hosted: Hosted, monkeypatch: pytest.MonkeyPatch
):
    await enrol(hosted.service, "otto", "search", "get_zone")
    await hosted.catch_up()
    under_way, leave = Counter[str](), asyncio.Event()

    async def waiting(_: object, match: Match, text: str, *more: object) -> Candidates:
        under_way[text] += match is Match.EXACT
        await leave.wait()
        return Candidates(())

    for directory in (PostgresDirectory, MemoryDirectory):
        monkeypatch.setattr(directory, "find", waiting)

    def search(q: str, subject: str | None) -> asyncio.Task[Any]:
        return asyncio.create_task(call(hosted.service, "search", {"q": q}, subject))

    tasks = [search("of ada", None) for _ in range(5)] + [search("of otto", "otto")]
    while under_way["of otto"] < 1 or under_way["of ada"] < SEARCHES_OF_ONE:
        await asyncio.sleep(0.001)
    assert under_way["of ada"] == SEARCHES_OF_ONE
    leave.set()
    await asyncio.gather(*tasks)
    assert under_way["of ada"] == 5
