"""One page of a list against the very statement it is read by."""

import random
from typing import Any, NamedTuple
from uuid import UUID

import asyncpg

from beamkeep.adapters.postgres.connections import Connections
from beamkeep.adapters.postgres.projections import PostgresProjections, shards
from beamkeep.contexts import CATALOGUE
from beamkeep.contexts.trust.visit import ListVisits, VisitType
from beamkeep.kernel import Many, View
from beamkeep.runtime.admission import Request
from beamkeep.runtime.codec import encode
from beamkeep.runtime.cursors import Cursors
from beamkeep.runtime.session import facets

from .loading import load_visits, visit_ids
from .measure import Step, Steps, against_itself, gated, throughput
from .rig import CURSOR_KEY, WAITS, Database, Rig, caller, principal, question, seam_on

GATE = 0.50
METHOD = (
    "PostgresLists.listing and the assembly of a page of 50 out of {} rows, from a random"
    " place, with no filter, a common one or a rare one, at 1 connection,"
    " against the very same statements and values through the driver; `asked` is the whole question with authorization."
)
NAME, ROWS, LIMIT, DIFFERENT = "list_visits", 200_000, 50, 500
FILL = """
INSERT INTO proj.visit_v1 (id, version, owner_id, facets, row)
SELECT e.stream_id, 3, e.principal_id,
       ARRAY['status=' || (ARRAY['Planned', 'InProgress', 'Completed'])[e.position % 3 + 1],
             'parent_surface_id=' || (e.payload->>'parent_surface_id'),
             'type=' || (e.payload->>'type'), 'policy_id=' || (e.payload->>'policy_id')],
       json_build_object(
         'visit_id', e.stream_id, 'policy_id', e.payload->>'policy_id', 'parent_surface_id',
         e.payload->>'parent_surface_id', 'type', e.payload->>'type',
         'planned_start_at', e.payload->>'planned_start_at', 'planned_end_at',
         e.payload->>'planned_end_at', 'parent_id', null, 'external_refs',
         e.payload->'external_refs', 'status', 'InProgress', 'controlling', false,
         'last_status_reason', null, 'owner_id', e.principal_id, 'created_at',
         e.payload->>'occurred_at', 'arrived_at', null, 'started_at', null, 'ended_at', null)
  FROM bk.events e WHERE e.stream_type = 'Visit'
"""


class Asked(NamedTuple):
    """One page somebody may ask for."""

    query: ListVisits
    after: UUID


class Heard(Connections):
    """Connections that keep what was read through them."""

    def __init__(self, url: str) -> None:
        super().__init__(url, 1, **WAITS)
        self.last: tuple[str, tuple[Any, ...]] = "", ()

    async def read(self, statement: str, *arguments: Any) -> list[asyncpg.Record]:
        """As ever, noting the statement and what filled it."""
        self.last = statement, arguments
        return await super().read(statement, *arguments)


async def measure(rig: Rig) -> dict[str, Any]:
    """Compare at the store's seam, and the whole question beside."""
    async with rig.database("list") as database:
        pages = await _load(database)
        view = _view()
        heard = Heard(database.url())
        lists = seam_on(heard, database.url()).lists
        statements: list[tuple[str, tuple[Any, ...]]] = []
        for page in pages:
            await lists.listing(view, facets(view, page.query), None, page.after, LIMIT + 1)
            statements.append(heard.last)
        await heard.close()
        bare = Steps([_bare((await database.bare(1))[0], statements)])
        plan, meter = rig.plan, rig.meter
        ours = Steps([await _ours(database, view, pages)])
        figures = throughput(await meter.compare(bare, ours, plan))
        alike = await meter.compare(bare, bare, plan.cut(plan.quads // 2))
        whole = Steps([await _asked(database, pages)])
        asked = throughput(await meter.compare(bare, whole, plan.cut(8)))
        found = gated(figures | against_itself(alike), GATE, METHOD.format(ROWS))
        return found | {"asked": asked}


def _view() -> View[Any]:
    source = question(NAME).source
    assert isinstance(source, Many)
    return source.view


async def _load(database: Database) -> list[Asked]:
    """Fill the list, and say which pages are asked for: random places, with and without filters."""
    projections = PostgresProjections(database.pool(1, "bk_projector"))
    await projections.arrange(CATALOGUE.views, shards(1))
    await load_visits(database.owner, await principal(database), 0, ROWS, 1)
    await database.owner.execute(FILL)
    await database.settle()
    ids = await visit_ids(database.owner, 0, ROWS)
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


async def _ours(database: Database, view: View[Any], pages: list[Asked]) -> Step:
    draw, cursors = random.Random(1), Cursors(CURSOR_KEY)  # noqa: S311
    me, lists = await principal(database), database.seam(1).lists

    async def step() -> None:
        query, after = draw.choice(pages)
        found = await lists.listing(view, facets(view, query), None, after, LIMIT + 1)
        kept, more = found[:LIMIT], len(found) > LIMIT
        last = cursors.write(str(kept[-1][0]), me, NAME, {}) if more else None
        rows = b",".join([row for _, row in kept])
        assert b'{"items":[%b],"next_cursor":%b}' % (rows, encode(last))

    return step


async def _asked(database: Database, pages: list[Asked]) -> Step:
    draw, cursors = random.Random(1), Cursors(CURSOR_KEY)  # noqa: S311
    me, ask, listed = await principal(database), database.seam(1).service.asker.ask, question(NAME)

    async def step() -> None:
        query, after = draw.choice(pages)
        filters = query.model_dump(mode="json", exclude={"cursor", "limit", "min_token"})
        given = {name: value for name, value in filters.items() if value is not None}
        cursor = cursors.write(str(after), me, NAME, filters)
        assert (await ask(listed, Request(caller(), {**given, "cursor": cursor}))).body

    return step
