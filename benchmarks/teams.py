"""Lists and search for members of teams against those for owners, and a team's new member."""

import asyncio
import json
import random
import time
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from functools import partial
from statistics import median
from typing import Any, NamedTuple, cast
from uuid import UUID

import asyncpg
from uuid_utils.compat import uuid7

from beamkeep.adapters.postgres.connections import Connections
from beamkeep.adapters.postgres.directory import SEARCHING, PostgresDirectory
from beamkeep.adapters.postgres.listing import LISTING, PostgresLists, number
from beamkeep.adapters.postgres.projections import PostgresProjections
from beamkeep.adapters.postgres.tail import PostgresTail
from beamkeep.contexts.catalogue import CATALOGUE
from beamkeep.contexts.seams.names import Search
from beamkeep.feed.directory.reading import DirectoryReader
from beamkeep.feed.lists.marks import read_by
from beamkeep.feed.tail import shards
from beamkeep.kernel import ObjectScope, Sight, View
from beamkeep.runtime.admission import Request
from beamkeep.runtime.store import ListFilter, ListPage
from beamkeep.workers.team_marks import TeamMarks

from .append import Fresh, load, ours_step
from .measure import Plan, Quad, Step, Steps, spread
from .rig import Database, Rig, Seam, caller, operation
from .search import WORDS, Caller

MOST, LEAST_RATE = 1.2, 0.9
METHOD = (
    "{:,} subjects of {:,} teams, in the list and in the directory; {} teams measure at a time. A"
    " member of {} teams, who has scope Team, against one with scope Own who owns as many objects,"
    " by turns at 1 connection: processor time of client and server together. The ratios are Team /"
    " Own of a page of 50 (PostgresLists.listing) and of a search (DirectoryReader.search); A/A is"
    " Own / Own. `plans` has what the statements of each question read. `figures`: a team of {:,}"
    " objects gains a member while the commands of `append` run at 4 connections. The seconds until"
    " the lists find its objects; the longest transaction, in which the lists follow nothing else;"
    " and the rate of the commands as a part of the rate alone, and of the rate while the same rows"
    " are written to a table that nobody reads."
)
NOW, LIMIT = datetime(2030, 1, 1, tzinfo=UTC), 50
PLAN, ALIKE = Plan(11, 1, 0.2), Plan(6, 1, 0.2)
TEXTS = 100
"""How many different texts are searched for, drawn at random."""
VIEWS: Mapping[str, View[Any]] = {view.name: view for view in CATALOGUE.views}
SUBJECT = VIEWS["subject"]
TELLING = {"session_preload_libraries": "auto_explain", "statement_timeout": "60000"} | {
    f"auto_explain.{name}": value
    for name, value in {
        "log_min_duration": "0",
        "log_analyze": "on",
        "log_buffers": "on",
        "log_timing": "off",
        "log_format": "json",
        "log_level": "notice",
    }.items()
}
"""Settings for a connection that tells the plan of each statement, as it was carried out."""
BY_KEY = {"Index Scan", "Index Only Scan", "Bitmap Index Scan"}

AT_ONCE = 20
"""So many teams measure at a time: their objects are between each other in the list."""
# Ascending, as the service makes ids.
ID = """(lpad(to_hex({start} + {n}), 12, '0') || '7' || left(md5({n}::text), 3) || '8'
  || right(md5({n}::text), 15))::uuid"""
# Every tenth word is a part of a tenth of all names; every team has all of them, and all states.
TEAMS = f"""
CREATE TABLE bare.team AS
SELECT k, {ID.format(start=1_700_000_000_000, n="k")} AS id, $2::uuid AS owner_id
  FROM generate_series(0, $1::int - 1) AS k
"""
OBJECTS = f"""
CREATE TABLE bare.object AS
SELECT {ID.format(start=1_800_000_000_000, n="n")} AS id, t.id AS team_id, t.owner_id,
       (ARRAY['Received', 'Mounted', 'Measured'])[i % 3 + 1] AS status,
       (ARRAY['Foam', 'Fossil', 'Battery', 'Bone', 'Catalyst', 'Film', 'Powder', 'Crystal',
              'Alloy', 'Cell'])[i % 10 + 1] || ' ' || n AS name, n
  FROM (SELECT n, n / {AT_ONCE} % $2::int AS i,
               n / ({AT_ONCE} * $2::int) * {AT_ONCE} + n % {AT_ONCE} AS k
          FROM generate_series(0, $1::int * $2::int - 1) AS n) AS o
  JOIN bare.team t ON t.k = o.k
"""
MEMBERS = "INSERT INTO bk.team_member (team_id, principal_id, role) SELECT id, {who}, 'Member'"
LEADERS = f"{MEMBERS.format(who="md5('leader ' || k)::uuid")} FROM bare.team"
OF_TEAMS = """
INSERT INTO bk.object_team (object_id, stream_type, team_id)
SELECT id, 'Subject', team_id FROM bare.object
"""
ROWS = """
INSERT INTO proj.subject_v1 (id, version, owner_id, facets, marks, row)
SELECT id, 3, owner_id, ARRAY['status=' || status, 'team_id=' || team_id], '{}',
       json_build_object('subject_id', id, 'name', name, 'status', status, 'team_id', team_id,
                         'owner_id', owner_id, 'note', repeat('x', 300))
  FROM bare.object
"""
MARKS = """
INSERT INTO proj.subject_v1_mark (mark, id)
SELECT k.number, o.id FROM bare.object o
 CROSS JOIN unnest(ARRAY['status=' || status, 'team_id=' || team_id, 'owner_id=' || owner_id])
    AS of (mark)
  JOIN bare.mark k ON k.mark = of.mark
 UNION ALL
SELECT r.number, o.id FROM bare.object o JOIN bare.reader r ON r.team_id = o.team_id
"""
ENTRIES = """
INSERT INTO bk.directory (id, version, owner_id, kind, status, name, folded, words, tail)
SELECT id, 3, owner_id, 'Subject', status, name, lower(name),
       lower(name) || E'\\nbl' || n % 40 || ':axis' || n, reverse(right(id::text, 8))
  FROM bare.object
"""
SEEN = """
SELECT id, lower(name) FROM bare.object
 WHERE owner_id = $1 OR team_id IN (SELECT team_id FROM bk.team_member WHERE principal_id = $1)
"""
MIDDLE = f"SELECT id FROM ({SEEN}) AS s ORDER BY id OFFSET (SELECT count(*) / 2 FROM ({SEEN}) AS s)"
NAMES = f"SELECT lower FROM ({SEEN}) AS s WHERE lower LIKE 'foam%' ORDER BY md5(lower) LIMIT $2"
# What a team of many objects adds to the marks, and the same next to them.
MORE_OBJECTS = f"""
INSERT INTO bk.object_team (object_id, stream_type, team_id)
SELECT {ID.format(start=1_900_000_000_000, n="n")}, 'Subject', $1
  FROM generate_series(1, $2::int) AS n
"""
ALIKE_MARKS = """
CREATE TABLE bare.subject_mark (LIKE proj.subject_v1_mark INCLUDING ALL);
INSERT INTO bare.subject_mark SELECT mark, id FROM proj.subject_v1_mark;
"""
MARK_ALIKE = """
INSERT INTO bare.subject_mark (mark, id)
SELECT $1, o.object_id FROM bk.object_team o
 WHERE o.team_id = $2 AND o.stream_type = 'Subject' ORDER BY o.object_id ON CONFLICT DO NOTHING
"""
LONGEST = """
SELECT coalesce(max(EXTRACT(epoch FROM clock_timestamp() - xact_start)), 0)::float8
  FROM pg_stat_activity WHERE usename = 'bk_projector' AND backend_xid IS NOT NULL
"""


class Sizes(NamedTuple):
    """How much is loaded."""

    teams: int
    each: int
    """How many objects a team has."""
    gained: int
    """How many objects the team has that gains members."""
    gains: int
    """How many members it gains, one after another."""


FULL, QUICK, SMALLEST = (
    Sizes(2_000, 500, gained=100_000, gains=7),
    Sizes(200, 500, gained=20_000, gains=3),
    Sizes(40, 30, gained=50, gains=1),
)


class Person(NamedTuple):
    """Somebody who asks."""

    sight: Sight
    middle: UUID
    """An object that the person sees, with as many before it as after it."""
    names: Sequence[str]
    """Some of the names that the person sees."""


class Pair(NamedTuple):
    """Two who see as many objects: one as a member of teams, one as their owner."""

    teams: int
    member: Person
    owner: Person


async def measure(rig: Rig) -> dict[str, Any]:
    """Compare pages and searches of members with those of owners; then let a team gain members."""
    sizes, found = rig.pick(FULL, QUICK, SMALLEST), dict[str, Any]()
    async with rig.database("teams") as database:
        pairs = await _load(database, sizes)
        lists = PostgresLists(database.pool(1, **LISTING))
        directory = PostgresDirectory(database.pool(1, **SEARCHING))
        plan, alike = rig.pick((PLAN, ALIKE), (rig.plan, rig.plan), (rig.plan, rig.plan))
        for pair in pairs:
            members = _asked(lists, directory, pair.member)
            owners = _asked(lists, directory, pair.owner)
            for name, ours in members.items():
                own, label = Steps([owners[name]]), _label(pair, name)
                quads = await rig.meter.compare(own, Steps([ours]), plan)
                found[label] = _judged(quads, await rig.meter.compare(own, own, alike))
        plans = await _plans(database, pairs)
        gain = await _gain(rig, database, sizes)
    is_fast = all(each["reached"] for each in found.values())
    sought = sizes.teams * sizes.each, sizes.teams, AT_ONCE
    counts = ", ".join(f"{pair.teams:,}" for pair in pairs)
    return found | {
        "plans": {name: each._asdict() for name, each in plans.items()},
        "figures": gain,
        "reached": is_fast and gain["rate against the same elsewhere"] >= LEAST_RATE,
        "wrong": [f"{name}: not by an index" for name, each in plans.items() if not each.by_index],
        "method": METHOD.format(*sought, counts, sizes.gained),
    }


def _label(pair: Pair, name: str) -> str:
    return f"{pair.teams:,} teams: {name}"


def _judged(quads: Sequence[Quad], alike: Sequence[Quad]) -> dict[str, Any]:
    cost = spread([quad.ours.cpu / quad.bare.cpu for quad in quads])
    return {
        **cost,
        "own_ms": round(1e3 * median(quad.bare.cpu for quad in quads), 3),
        "team_ms": round(1e3 * median(quad.ours.cpu for quad in quads), 3),
        "aa_interval": spread([quad.ours.cpu / quad.bare.cpu for quad in alike])["interval"],
        "gate": MOST,
        "reached": cost["interval"][0] <= MOST,
    }


async def _load(database: Database, sizes: Sizes) -> list[Pair]:
    """Fill list and directory as the projector and the follower of teams would have.

    Only the marks of names are left out, and those next to each row.
    """
    owner, (teams, each, *_) = database.owner, sizes
    await PostgresProjections(database.pool(1, "bk_projector")).arrange([SUBJECT], shards(1))
    others, some, half = uuid7(), teams // AT_ONCE, teams // 2
    await owner.execute(TEAMS, teams, others)
    # One team of the middle; those of one instrument, which is one in so many; and all of them.
    which = {
        1: (f"k = {half + 1}", f"k = {half + 2}"),
        some: (f"k % {AT_ONCE} = 3", f"k % {AT_ONCE} = 7"),
        teams: ("true", "false"),
    }
    ids = {count: (uuid7(), uuid7() if count < teams else others) for count in which}
    for count, (theirs, own) in which.items():
        member_id, owner_id = ids[count]
        await owner.execute(f"UPDATE bare.team SET owner_id = $1 WHERE {own}", owner_id)
        await owner.execute(f"{MEMBERS.format(who='$1')} FROM bare.team WHERE {theirs}", member_id)
    await owner.execute(LEADERS)
    await owner.execute(OBJECTS, teams, each)
    await _number_marks(owner)
    # An index is made in less time over all rows than row by row.
    await owner.execute("ALTER TABLE proj.subject_v1_mark DROP CONSTRAINT subject_v1_mark_pkey")
    await owner.execute("DROP INDEX bk.directory_words")
    for statement in (OF_TEAMS, ROWS, MARKS, ENTRIES, WORDS):
        await owner.execute(statement)
    await owner.execute("ALTER TABLE proj.subject_v1_mark ADD PRIMARY KEY (mark, id)")
    await database.settle()
    return [
        Pair(
            count,
            member=await _person(owner, Sight(member_id, teams=True)),
            owner=await _person(owner, Sight(owner_id)),
        )
        for count, (member_id, owner_id) in ids.items()
    ]


async def _person(owner: asyncpg.Connection, sight: Sight) -> Person:
    names = await owner.fetch(NAMES, sight.principal_id, TEXTS)
    middle = await owner.fetchval(MIDDLE, sight.principal_id)
    return Person(sight, middle, [row[0] for row in names])


async def _number_marks(owner: asyncpg.Connection) -> None:
    """Write as what the marks of rows and of readers are stored."""
    await owner.execute("CREATE TABLE bare.mark (mark text, number bigint)")
    await owner.execute("CREATE TABLE bare.reader (team_id uuid, number bigint)")
    members = await owner.fetch("SELECT team_id, principal_id FROM bk.team_member")
    teams = await owner.fetch("SELECT id, owner_id FROM bare.team")
    marks = {f"status={each}" for each in ("Received", "Mounted", "Measured")}
    marks |= {f"team_id={id}" for id, _ in teams} | {f"owner_id={id}" for _, id in teams}
    known: dict[str, list[tuple[Any, int]]] = {
        "mark": [(mark, number(mark)) for mark in marks],
        "reader": [(team_id, number(read_by(id))) for team_id, id in members],
    }
    for (table, rows), by in zip(known.items(), ("mark", "team_id"), strict=True):
        await owner.copy_records_to_table(
            table, schema_name="bare", columns=(by, "number"), records=rows
        )
        await owner.execute(f"ANALYZE bare.{table}")


def _asked(lists: PostgresLists, directory: PostgresDirectory, person: Person) -> dict[str, Step]:
    """Return what one person asks, by its name."""
    sight, reader = person.sight, DirectoryReader(directory, CATALOGUE)
    me = Caller(sight.principal_id, ObjectScope.TEAM if sight.teams else ObjectScope.OWN)
    first, middle = ListPage(LIMIT + 1), ListPage(LIMIT + 1, person.middle)
    every, third = ListFilter(NOW), ListFilter(NOW, ("status=Mounted",))

    def search(text: Callable[[str], str]) -> Step:
        texts, draw = [text(name) for name in person.names], random.Random(1)  # noqa: S311

        async def step() -> None:
            found = await reader.search(Search(q=draw.choice(texts)), me)
            assert found.items

        return step

    return {
        "a page": partial(lists.listing, SUBJECT, every, sight, first),
        "a page of a third": partial(lists.listing, SUBJECT, third, sight, first),
        "a page from the middle": partial(lists.listing, SUBJECT, every, sight, middle),
        "a name": search(lambda name: name),
        "the beginning of few names": search(lambda name: name[:-2]),
        "the beginning of a tenth": search(lambda _: "foa"),
        "a part of few names": search(lambda name: name[2:]),
        "a part of a tenth": search(lambda _: "oam"),
    }


class Read(NamedTuple):
    """What the statements of one question read, as they were carried out."""

    by_index: bool
    """Whether every table is read by conditions on an index."""
    rows: float
    """How many rows were examined, found or not."""
    pages: int
    """How many pages of 8 kB were looked at."""
    indexes: Sequence[str]


async def _plans(database: Database, pairs: Sequence[Pair]) -> dict[str, Read]:
    """Ask each question of the members once, and return what was read for it."""
    found = dict[str, Read]()
    async with _explained(database, LISTING) as listing, _explained(database, SEARCHING) as finding:
        lists, directory = PostgresLists(listing.pool), PostgresDirectory(finding.pool)
        for pair in pairs:
            for name, step in _asked(lists, directory, pair.member).items():
                await step()
                found[_label(pair, name)] = _read([*listing.taken(), *finding.taken()])
    return found


class Explained:
    """One connection, and the plans of the statements that it has carried out."""

    def __init__(self, pool: Connections) -> None:
        self.pool, self._plans = pool, list[Any]()

    def hear(self, _: object, message: Any) -> None:
        """Keep the plan that the server tells, if it is of a list or of the directory."""
        reported = message.message.partition("plan:")[2]
        if "proj." in reported or "bk.directory" in reported:
            self._plans.append(json.loads(reported)["Plan"])

    def taken(self) -> list[Any]:
        """Return the plans reported since the last time."""
        taken, self._plans = self._plans, []
        return taken


@asynccontextmanager
async def _explained(database: Database, settings: Mapping[str, str]) -> AsyncGenerator[Explained]:
    url = database.rig.cluster.url(database.name)
    explained = Explained(Connections(url, 1, **{**settings, **TELLING}))
    async with explained.pool.connection() as connection:
        cast("Any", connection).add_log_listener(explained.hear)
    try:
        yield explained
    finally:
        await explained.pool.close()


def _nodes(plan: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield plan
    for part in plan.get("Plans", ()):
        yield from _nodes(part)


def _read(plans: Sequence[Mapping[str, Any]]) -> Read:
    nodes = [node for plan in plans for node in _nodes(plan)]
    scans = [node for node in nodes if node["Node Type"] in BY_KEY]
    of_tables = [node for node in nodes if "Relation Name" in node]
    removed = "Rows Removed by Filter", "Rows Removed by Index Recheck"
    return Read(
        by_index=all(node["Node Type"] in {*BY_KEY, "Bitmap Heap Scan"} for node in of_tables)
        and all("Index Cond" in node for node in scans),
        rows=sum(
            node["Actual Loops"] * (node["Actual Rows"] + sum(node.get(key, 0) for key in removed))
            for node in of_tables
        ),
        pages=sum(plan["Shared Hit Blocks"] + plan["Shared Read Blocks"] for plan in plans),
        indexes=sorted({node["Index Name"] for node in scans}),
    )


class Meanwhile(NamedTuple):
    """What happened while something else was done."""

    seconds: float
    rate: float
    """Commands a second."""
    longest: float
    """The longest transaction of the projector's."""


async def _gain(rig: Rig, database: Database, sizes: Sizes) -> dict[str, Any]:
    """Let a team of many objects gain members while commands run."""
    owner, fresh, seam = database.owner, await load(database), database.seam(6)
    team_id = await _made(seam, "register_team", title="Fossil fish")
    await owner.execute(MORE_OBJECTS, team_id, sizes.gained)
    await owner.execute(ALIKE_MARKS)
    await database.settle()
    following = Connections(database.url("bk_projector"), 4)
    tail, projections = PostgresTail(following), PostgresProjections(following)
    marks = TeamMarks(tail, projections, seam.codec, CATALOGUE.views)
    while await marks.turn() == 0.0:
        pass

    async def gain(id: UUID) -> None:
        added = {"team_id": str(team_id), "principal_id": str(id)}
        answered = await seam.service.dispatcher.execute(
            operation("add_team_member"), Request(caller(), added)
        )
        assert answered.token
        while not await seam.lists.follows([], answered.token):
            await marks.turn()

    async def alike(id: UUID) -> None:
        await owner.execute(MARK_ALIKE, number(read_by(id)), team_id)

    async def alone(_: UUID) -> None:
        await asyncio.sleep(rig.pick(1.5, 1.0, smallest=0.01))

    commands = Commands(database, [ours_step(seam, fresh) for _ in range(4)], fresh)
    taken: dict[Callable[[UUID], Coroutine[Any, Any, None]], list[Meanwhile]]
    taken = {gain: [], alone: [], alike: []}
    ids = [await _made(seam, "register_actor", name=f"Member {n}") for n in range(sizes.gains)]
    for count, id in enumerate(ids):
        # There and back, so that a machine that becomes slower does so for all.
        for work in (*taken,) if count % 2 else reversed([*taken]):
            taken[work].append(await commands.during(work(id)))
    marked = await owner.fetchval(
        "SELECT count(*) FROM proj.subject_v1_mark WHERE mark = $1", number(read_by(ids[0]))
    )
    assert marked == sizes.gained
    await following.close()
    gained, without, elsewhere = taken.values()

    def ratio(others: Sequence[Meanwhile]) -> float:
        pairs = zip(gained, others, strict=True)
        return round(median(mine.rate / other.rate for mine, other in pairs), 3)

    return {
        "objects": sizes.gained,
        "seconds until found": round(median(each.seconds for each in gained), 3),
        "longest transaction, seconds": round(max(each.longest for each in gained), 3),
        "commands a second alone": round(median(each.rate for each in without)),
        "rate against alone": ratio(without),
        "rate against the same elsewhere": ratio(elsewhere),
    }


class Commands:
    """Commands that run while something else is done."""

    def __init__(self, database: Database, steps: Sequence[Step], fresh: Fresh) -> None:
        self._owner_url = database.rig.cluster.url(database.name)
        self._steps, self._fresh = steps, fresh

    async def during(self, work: Coroutine[Any, Any, None]) -> Meanwhile:
        """Carry out commands until the work is done."""
        await self._fresh.stock()
        watching = await asyncpg.connect(self._owner_url)
        since, longest = time.perf_counter(), 0.0
        doing, done = asyncio.create_task(work), 0

        async def repeat(step: Step) -> None:
            nonlocal done
            while not doing.done():
                await step()
                done += 1

        async def watch() -> None:
            nonlocal longest
            while not doing.done():
                longest = max(longest, await watching.fetchval(LONGEST))
                await asyncio.sleep(0.02)

        await asyncio.gather(*map(repeat, self._steps), watch())
        await doing
        seconds = time.perf_counter() - since
        await watching.close()
        return Meanwhile(seconds, done / seconds, longest)


async def _made(seam: Seam, command: str, **arguments: Any) -> UUID:
    """Carry out a command that creates an object, and return its id."""
    request = Request(caller(), arguments, idempotency_key=str(uuid7()))
    answered = await seam.service.dispatcher.execute(operation(command), request)
    assert answered.id
    return answered.id
