"""One page of a list against the very statement it is read by."""

import random
from datetime import UTC, datetime
from typing import Any, NamedTuple
from uuid import UUID

import asyncpg

from beamkeep.adapters.postgres.connections import Connections
from beamkeep.adapters.postgres.listing import LISTING, PostgresLists
from beamkeep.adapters.postgres.projections import PostgresProjections
from beamkeep.adapters.postgres.tail import PostgresTail
from beamkeep.contexts.catalogue import CATALOGUE
from beamkeep.contexts.trust.visit import ListVisits, VisitType
from beamkeep.feed.tail import shards
from beamkeep.kernel import Many, View
from beamkeep.runtime.admission import Request
from beamkeep.runtime.codec import Codec, encode
from beamkeep.runtime.cursors import Cursors
from beamkeep.runtime.filters import filter_of
from beamkeep.runtime.store import ListPage
from beamkeep.workers.projector import Projector

from .loading import load_visits, visit_ids
from .measure import Plan, Quad, Step, Steps, against_itself, gated, throughput
from .rig import CURSOR_KEY, PATIENT, WAITS, Database, Rig, caller, principal, question, seam_on

NOW = datetime(2030, 1, 1, tzinfo=UTC)
GATE = 0.50
METHOD = (
    "PostgresLists.listing and the assembly of a page of 50 out of {} rows, from a random place,"
    " with no filter, a common one or a rare one, at 1 connection, against the very same statements"
    " and values through the driver; `asked` is the whole question with authorization."
)
NAME, ROWS, LIMIT, DIFFERENT = "list_visits", 200_000, 50, 500
FEW_ROWS = 2_000
NO_FILTERS = {"count", "cursor", "limit", "min_token", "names"}
"""Fields of the query that a cursor does not depend on."""


class Asked(NamedTuple):
    """One page somebody may ask for."""

    query: ListVisits
    after: UUID


class Heard(Connections):
    """Connections that keep what was read through them."""

    def __init__(self, url: str) -> None:
        super().__init__(url, 1, **WAITS, **LISTING)
        self.last: tuple[str, tuple[Any, ...]] = "", ()

    async def read(self, statement: str, *arguments: Any) -> list[asyncpg.Record]:
        """As ever, noting the statement and what filled it."""
        self.last = statement, arguments
        return await super().read(statement, *arguments)


async def measure(rig: Rig) -> dict[str, Any]:
    """Compare at the store's seam; in a full run also the whole question."""
    async with rig.database("list") as database:
        rows = rig.pick(ROWS, ROWS // 4, FEW_ROWS)
        pages = await _load(database, rows)
        statements = await _statements(database, pages)
        plan, meter = rig.plan, rig.meter

        async def against_bare(ours: Step, plan: Plan) -> list[Quad]:
            connection = (await database.bare(1, **LISTING))[0]
            return await meter.compare(Steps([_bare(connection, statements)]), Steps([ours]), plan)

        figures = throughput(await against_bare(await _ours(database, pages), plan))
        bare = _bare((await database.bare(1, **LISTING))[0], statements)
        alike = against_itself(await against_bare(bare, plan.alike()))
        found = gated(figures | alike, GATE, METHOD.format(rows))
        if rig.extended:
            asked = await against_bare(await _asked(database, pages), plan.cut(5))
            found |= {"asked": throughput(asked)}
        return found


async def _statements(database: Database, pages: list[Asked]) -> list[tuple[str, tuple[Any, ...]]]:
    """What the lists send for these pages."""
    view, heard = _view(), Heard(database.url())
    lists, sent = PostgresLists(heard), list[tuple[str, tuple[Any, ...]]]()
    for page in pages:
        list_filter = filter_of(view, page.query, NOW)
        await lists.listing(view, list_filter, None, ListPage(LIMIT + 1, page.after))
        sent.append(heard.last)
    await heard.close()
    return sent


def _view() -> View[Any]:
    source = question(NAME).source
    assert isinstance(source, Many)
    return source.view


async def _load(database: Database, rows: int) -> list[Asked]:
    """Fill the list, and say which pages are asked for: random places, with and without filters."""
    pool, codec = database.pool(1, "bk_projector", **PATIENT), Codec(CATALOGUE.aggregates.values())
    projections = PostgresProjections(pool)
    await projections.arrange(CATALOGUE.views, shards(1))
    await load_visits(database.owner, await principal(database), 0, rows, 1)
    tail = PostgresTail(pool)
    projector = Projector(CATALOGUE.views, codec, tail, projections=projections)
    await projector.catch_up(shards(1))
    await database.settle()
    ids = await visit_ids(database.owner, 0, rows)
    draw = random.Random(1)  # noqa: S311
    queries = [
        ListVisits(),
        *(ListVisits(type=type) for type in (VisitType.USER, VisitType.STAFF)),
        *(ListVisits(policy_id=id) for id in draw.choices(ids[:1000], k=3)),
    ]
    return [Asked(draw.choice(queries), draw.choice(ids)) for _ in range(DIFFERENT)]


def _bare(connection: asyncpg.Connection, statements: list[tuple[str, tuple[Any, ...]]]) -> Step:
    draw = random.Random(1)  # noqa: S311

    async def step() -> None:
        statement, arguments = draw.choice(statements)
        await connection.fetch(statement, *arguments)

    return step


async def _ours(database: Database, pages: list[Asked]) -> Step:
    draw, cursors = random.Random(1), Cursors(CURSOR_KEY)  # noqa: S311
    me, view = await principal(database), _view()
    lists = PostgresLists(database.pool(1, **LISTING))

    async def step() -> None:
        query, after = draw.choice(pages)
        list_filter = filter_of(view, query, NOW)
        found = await lists.listing(view, list_filter, None, ListPage(LIMIT + 1, after))
        page, more = found[:LIMIT], len(found) > LIMIT
        last = cursors.write(str(page[-1].id), me, NAME, {}) if more else None
        rows = b",".join([found.row for found in page])
        assert b'{"items":[%b],"next_cursor":%b}' % (rows, encode(last))

    return step


async def _asked(database: Database, pages: list[Asked]) -> Step:
    draw, cursors = random.Random(1), Cursors(CURSOR_KEY)  # noqa: S311
    me, ask, listed = (
        await principal(database),
        seam_on(database.pool(1, **LISTING), "").service.queries.ask,
        question(NAME),
    )

    async def step() -> None:
        query, after = draw.choice(pages)
        filters = query.model_dump(mode="json", exclude=NO_FILTERS)
        given = {name: value for name, value in filters.items() if value is not None}
        cursor = cursors.write(str(after), me, NAME, filters)
        assert (await ask(listed, Request(caller(), {**given, "cursor": cursor}))).body

    return step
