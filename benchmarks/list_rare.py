"""A page of a large list by filters that many rows fit, or few, or only some part of the list."""

import random
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import batched
from typing import Any, NamedTuple
from uuid import UUID

import asyncpg
from uuid_utils.compat import uuid7

from beamkeep.adapters.postgres.listing import LISTING, PostgresLists, number
from beamkeep.adapters.postgres.projections import PostgresProjections
from beamkeep.contexts.catalogue import CATALOGUE
from beamkeep.contexts.safety.clearance import ClearanceStatus
from beamkeep.feed.lists.marks import marks_of
from beamkeep.feed.tail import shards
from beamkeep.kernel import Record, Sight, View
from beamkeep.runtime.codec import encode
from beamkeep.runtime.store import ListFilter, ListPage

from .loading import VISIT_ID
from .measure import Step, Steps, against_itself, gated, throughput
from .rig import PATIENT, Database, Rig, principal

GATE, MOST_MS = 0.05, 50.0
METHOD = (
    "PostgresLists.listing of a page of 50 out of {:,} visits or {:,} clearances at 1 connection,"
    " the question drawn at random, against reading the rows it finds by their ids through the"
    " driver. `questions` has each by itself: the processor time of client and server for a page,"
    " which must be at most {:.0f} ms for each, and the time a page took. `beyond` has what no"
    " index orders: filters that each fit half of the rows and together none, and one that leaves"
    " out nearly every row; it is asked once, with ten minutes to answer, and has no gate."
)
NOW, LIMIT, SECONDS = datetime(2030, 1, 1, tzinfo=UTC), 50, 0.3
VIEWS: Mapping[str, View[Any]] = {view.name: view for view in CATALOGUE.views}
VISIT, CLEARANCE = VIEWS["visit"], VIEWS["clearance"]

# By the number of the row: thirds, halves, thousandths, one in a hundred thousand, and what only
# the newest hundredth has.
VISITS = f"""
INSERT INTO proj.visit_v1 (id, version, owner_id, facets, marks, row)
SELECT {VISIT_ID.format(n="n")}, 3, CASE WHEN n % 50000 = 5 THEN $3::uuid ELSE $2::uuid END,
       ARRAY['status=' || (ARRAY['Planned', 'InProgress', 'Completed'])[n % 3 + 1],
             'type=' || (ARRAY['user', 'staff'])[n % 2 + 1],
             'parent_surface_id=' || n % 2,
             'policy_id=' || n % 1000]
       || CASE WHEN n % 100000 = 77 THEN ARRAY['parent_id=rare'] ELSE '{{}}' END
       || CASE WHEN n > $1 * 0.99 THEN ARRAY['parent_id=new'] ELSE '{{}}' END,
       '{{}}', json_build_object('visit_id', n, 'note', repeat('x', 400))
  FROM generate_series(1, $1::bigint) AS n
"""
MARKS = """
INSERT INTO proj.visit_v1_mark (mark, id)
SELECT k.number, v.id FROM proj.visit_v1 v
 CROSS JOIN unnest(v.facets || ('owner_id=' || v.owner_id)) AS of (mark)
  JOIN bare.mark k ON k.mark = of.mark
"""
PAGE = ListPage(LIMIT + 1)
COLUMNS = "id", "version", "owner_id", "facets", "marks", "row"
BY_ID = {
    name: f"SELECT id, row::text FROM proj.{name}_v1 WHERE id = ANY($1) ORDER BY id"
    for name in ("visit", "clearance")
}


class Asked(NamedTuple):
    """One page somebody may ask for."""

    view: View[Any]
    list_filter: ListFilter
    sight: Sight | None = None
    page: ListPage = PAGE


class LoadedStream(NamedTuple):
    """What the lists were filled with."""

    visits: int
    clearances: int
    other: UUID
    """Who owns one visit in fifty thousand."""
    middle: UUID
    """A visit with as many before it as after it."""


async def measure(rig: Rig) -> dict[str, Any]:
    """Compare pages of all questions; ask each by itself; ask what is beyond any index."""
    async with rig.database("list_rare") as database:
        loaded = await _load(database, rig.pick(5_000_000, 200_000, smallest=2_000))
        connection = (await database.bare(1, **LISTING))[0]
        lists = PostgresLists(database.pool(1, **LISTING))
        questions = _questions(loaded)
        pages, seconds = [*questions.values()], rig.pick(SECONDS, SECONDS, rig.plan.seconds)
        found = {name: await _page(lists, asked) for name, asked in questions.items()}
        bare = _bare(connection, pages, [*found.values()])
        quads = await rig.meter.compare(Steps([bare]), Steps([_ours(lists, pages)]), rig.plan)
        alike = await rig.meter.compare(Steps([bare]), Steps([bare]), rig.plan.alike())
        figures = gated(
            throughput(quads) | against_itself(alike),
            GATE,
            METHOD.format(loaded.visits, loaded.clearances, MOST_MS),
        )
        each = {
            name: await _by_itself(rig, lists, asked, len(found[name]), seconds)
            for name, asked in questions.items()
        }
        patient = PostgresLists(database.pool(1, **LISTING, **PATIENT))
        beyond = {
            name: await _by_itself(rig, patient, asked, 0, seconds=0)
            for name, asked in _beyond().items()
        }
    slowest = max(part["processor_ms"] for part in each.values())
    figures["reached"] &= slowest <= MOST_MS
    return figures | {
        "slowest_processor_ms": slowest,
        "most_ms": MOST_MS,
        "questions": each,
        "beyond": beyond,
    }


def _questions(loaded: LoadedStream) -> dict[str, Asked]:
    planned, user = "status=Planned", "type=user"
    rare, new = "parent_id=rare", "parent_id=new"
    statuses = (("status=InProgress", "status=Planned"),)
    far, day = NOW - timedelta(days=3650), timedelta(days=1)
    assert CLEARANCE.period
    until, middle = CLEARANCE.compared["valid_until_before"], ListPage(LIMIT + 1, loaded.middle)

    def visits(*every: str, **more: Any) -> Asked:
        about = {key: more.pop(key) for key in ("sight", "page") if key in more}
        return Asked(VISIT, ListFilter(NOW, every, **more), **about)

    def clearances(*every: str, now: datetime = NOW, **more: Any) -> Asked:
        return Asked(CLEARANCE, ListFilter(now, every, **more))

    return {
        "no filter": visits(),
        "no filter, from the middle": visits(page=middle),
        "a third of the rows": visits(planned),
        "a third, from the middle": visits(planned, page=middle),
        "one row in 100,000": visits(rare),
        "one row in 100,000, from the middle": visits(rare, page=middle),
        "no row": visits("policy_id=none"),
        "only the newest hundredth": visits(new),
        "a thousandth": visits("policy_id=7"),
        "a third and one in 100,000": visits(planned, rare),
        "a third and the newest": visits(planned, new),
        "a third and a half": visits(planned, user),
        "a half and a thousandth that never meet": visits("parent_surface_id=0", "policy_id=7"),
        "one of two thirds": visits(groups=statuses),
        "one of two thirds, and one in 100,000": visits(rare, groups=statuses),
        "one of two thirds, and the newest": visits(new, groups=statuses),
        "all but a third": visits(none=(planned,)),
        "the newest, all but a third": visits(new, none=(planned,)),
        "of one who owns few": visits(sight=Sight(loaded.other)),
        "of one who owns few, a third": visits(planned, sight=Sight(loaded.other)),
        "in force": clearances(period=(CLEARANCE.period, True)),
        "not in force": clearances(period=(CLEARANCE.period, False)),
        "in force long ago": clearances(period=(CLEARANCE.period, True), now=far + day),
        "lapsed before a time early among them": clearances(compared=((*until, far + 2 * day),)),
        "lapsed before now": clearances(compared=((*until, NOW),)),
        "lapsed before now and active": clearances("status=Active", compared=((*until, NOW),)),
    }


def _beyond() -> dict[str, Asked]:
    return {
        "two halves that never meet": Asked(
            VISIT, ListFilter(NOW, ("type=user", "parent_surface_id=1"))
        ),
        "all but nearly every row": Asked(VISIT, ListFilter(NOW, none=("type=user", "type=staff"))),
    }


async def _load(database: Database, visits: int) -> LoadedStream:
    """Fill two lists as the projector would have, but for the marks next to each row of visits."""
    owner, me, other, clearances = database.owner, await principal(database), uuid7(), visits // 10
    projections = PostgresProjections(database.pool(1, "bk_projector"))
    await projections.arrange([VISIT, CLEARANCE], shards(1))
    # An index is made in less time over all rows than row by row.
    for view in (VISIT, CLEARANCE):
        await owner.execute(f"ALTER TABLE proj.{view.name}_v1_mark DROP CONSTRAINT {_key(view)}")
    await owner.execute("CREATE TABLE bare.mark (mark text, number bigint)")
    known = [(mark, number(mark)) for mark in _visit_marks(me, other)]
    await owner.copy_records_to_table(
        "mark", schema_name="bare", columns=("mark", "number"), records=known
    )
    await owner.execute("ANALYZE bare.mark")
    await owner.execute(VISITS, visits, me, other)
    await owner.execute(MARKS)
    for some in batched(range(clearances), 10_000):
        await _copy_clearances(owner, me, some, clearances)
    for view in (VISIT, CLEARANCE):
        await owner.execute(
            f"ALTER TABLE proj.{view.name}_v1_mark ADD CONSTRAINT {_key(view)}"
            " PRIMARY KEY (mark, id)"
        )
    await database.settle()
    middle = f"SELECT {VISIT_ID.format(n='$1::bigint')}"
    return LoadedStream(visits, clearances, other, await owner.fetchval(middle, visits // 2))


def _key(view: View[Any]) -> str:
    return f"{view.name}_v1_mark_pkey"


def _visit_marks(*owners: UUID) -> Iterator[str]:
    yield from (f"status={each}" for each in ("Planned", "InProgress", "Completed"))
    yield from ("type=user", "type=staff", "parent_id=rare", "parent_id=new")
    yield from (f"parent_surface_id={each}" for each in range(2))
    yield from (f"policy_id={each}" for each in range(1000))
    yield from (f"owner_id={each}" for each in owners)


class Standing(Record):
    """As much of a clearance as its marks need."""

    status: ClearanceStatus


async def _copy_clearances(
    owner: asyncpg.Connection, me: UUID, numbers: Sequence[int], of: int
) -> None:
    """Clearances of a day each, one after another over eleven years, every other one active."""
    rows: list[tuple[Any, ...]] = []
    marks: list[tuple[int, UUID]] = []
    for n in numbers:
        id, since = uuid7(), NOW - timedelta(days=3650 - n * 4000 / of)
        status = ClearanceStatus.ACTIVE if n % 2 else ClearanceStatus.EXPIRED
        times = {"valid_from": since, "valid_until": since + timedelta(days=1)}
        facets = [f"status={status}"]
        row = encode({"clearance_id": id, "status": status, "note": "x" * 400, **times})
        found = marks_of(CLEARANCE, id, me, facets, Standing(status), times)
        rows.append((id, 3, me, facets, [], row.decode()))
        marks += [(number(mark), id) for mark in found]
    await owner.copy_records_to_table(
        "clearance_v1", schema_name="proj", columns=COLUMNS, records=rows
    )
    await owner.copy_records_to_table(
        "clearance_v1_mark", schema_name="proj", columns=("mark", "id"), records=marks
    )


async def _page(lists: PostgresLists, asked: Asked) -> list[UUID]:
    found = await lists.listing(*asked)
    return [row.id for row in found]


def _ours(lists: PostgresLists, pages: Sequence[Asked]) -> Step:
    draw = random.Random(1)  # noqa: S311

    async def step() -> None:
        await lists.listing(*draw.choice(pages))

    return step


def _bare(
    connection: asyncpg.Connection, pages: Sequence[Asked], found: Sequence[Sequence[UUID]]
) -> Step:
    draw = random.Random(1)  # noqa: S311
    known = [(BY_ID[asked.view.name], ids) for asked, ids in zip(pages, found, strict=True)]

    async def step() -> None:
        statement, ids = draw.choice(known)
        await connection.fetch(statement, ids)

    return step


async def _by_itself(
    rig: Rig, lists: PostgresLists, asked: Asked, rows: int, seconds: float
) -> dict[str, Any]:
    """What a page of one question takes, asked again and again, or once."""

    async def step() -> None:
        assert len(await lists.listing(*asked)) == rows

    taken = await rig.meter.slice(Once(step) if seconds == 0 else Steps([step]), seconds)
    return {
        "rows": min(rows, LIMIT),
        "processor_ms": round(1e3 * taken.cpu, 2),
        "ms": round(1e3 / taken.rate, 2),
    }


class Once(Steps):
    """A side that does one step, however long it takes."""

    def __init__(self, step: Step) -> None:
        super().__init__([step])
        self._step = step

    async def run(self, seconds: float) -> int:
        """Do it once."""
        await self._step()
        return 1
