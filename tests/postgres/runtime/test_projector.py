"""The projector: every list is the fold of its streams, whoever keeps it and however it is kept."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from functools import partial
from typing import Any, NamedTuple
from uuid import UUID

import pytest
from tests.support.examples import EXAMPLES
from uuid_utils.compat import uuid7

from beamkeep.adapters.postgres import listing
from beamkeep.adapters.postgres import tail as adapter
from beamkeep.adapters.postgres.connections import Connections
from beamkeep.adapters.postgres.lease import PostgresLease
from beamkeep.adapters.postgres.listing import number
from beamkeep.adapters.postgres.projections import PostgresProjections, RebuiltDifferentlyError
from beamkeep.adapters.postgres.statements import Statement
from beamkeep.adapters.postgres.tail import PostgresTail
from beamkeep.contexts.access.actor import ActorDeactivated
from beamkeep.contexts.catalogue import CATALOGUE
from beamkeep.feed.lists.rows import Row, RowFold
from beamkeep.feed.tail import WHOLE_LOG, TailPage, shards
from beamkeep.kernel import Sight, View
from beamkeep.parts.wiring import IDLE
from beamkeep.runtime.codec import BrokenStreamError
from beamkeep.runtime.store import BEGINNING, ListFilter, ListPage, Position, StoredEvent
from beamkeep.telemetry import Telemetry
from beamkeep.testing.appends import CODEC, ME, NOW, append, at, registered, updated
from beamkeep.testing.cluster import Cluster
from beamkeep.testing.database import Database
from beamkeep.testing.leases import GrantedLease
from beamkeep.testing.postgres import (
    Deployed,
    connected,
    fresh_database,
    postgres_service,
)
from beamkeep.testing.service import AdminClient, call
from beamkeep.testing.waiting import until
from beamkeep.workers import supervision
from beamkeep.workers.projector import Follower, Projector, RowChange
from beamkeep.workers.supervision import Loop, Supervisor

pytestmark = [pytest.mark.postgres, pytest.mark.anyio]

VIEWS: dict[str, View[Any]] = {view.name: view for view in CATALOGUE.views}
PARTITIONS = shards(16)

type Rows = list[tuple[object, ...]]


class WatchedTail(PostgresTail):
    """A tail that records which stream types each page was read of."""

    def __init__(self, connections: Connections) -> None:
        super().__init__(connections)
        self.pages: list[Sequence[str] | None] = []

    async def page(
        self,
        shard: int,
        after: Position,
        limit: int,
        stream_types: Sequence[str] | None = None,
        until: int | None = None,
    ) -> TailPage:
        self.pages.append(stream_types)
        return await super().page(shard, after, limit, stream_types, until)


class WatchedProjections(PostgresProjections):
    """Projections that record each page applied or lost, and can be held before they apply."""

    def __init__(self, connections: Connections) -> None:
        super().__init__(connections)
        self.applied: list[Position] = []
        self.lost = 0
        self.before_apply: Callable[[], Awaitable[None]] | None = None

    async def apply(
        self,
        followers: Sequence[Follower],
        reached: Position,
        changes: Mapping[tuple[str, int], Sequence[RowChange]],
    ) -> bool:
        if hold := self.before_apply:
            self.before_apply = None
            await hold()
        if await super().apply(followers, reached, changes):
            self.applied.append(reached)
            return True
        self.lost += 1
        return False


class Worker(NamedTuple):
    """A projector of its own, as another process would run it, and what it was seen to do."""

    projector: Projector
    projections: WatchedProjections
    tail: WatchedTail


@asynccontextmanager
async def worker(database: Database, page: int = 1000) -> AsyncGenerator[Worker]:
    """A projector of its own, as another process would run it."""
    connections = Connections(database.url("bk_projector"), 2, **IDLE)
    tail, projections = WatchedTail(connections), WatchedProjections(connections)
    projector = Projector(CATALOGUE.views, CODEC, tail, projections=projections, page=page)
    yield Worker(projector, projections, tail)
    await connections.close()


async def actors(deployed: Deployed, number: int, versions: int = 1) -> list[UUID]:
    ids = [uuid7() for _ in range(number)]
    for id in ids:
        await deployed.store.append(append(at(1, registered(id))))
    for version in range(2, versions + 1):
        for id in ids:
            await deployed.store.append(append(at(version, updated(id))))
    return ids


def listed(database: Database, table: str) -> Rows:
    return database.ask(
        f"SELECT id, version, owner_id, facets, row::text FROM proj.{table} ORDER BY id"
    )


def folded(database: Database, view: View[Any]) -> Rows:
    """What a list must show, from the events alone."""
    fold, rows = RowFold(view, CODEC), dict[UUID, Row]()
    for id, principal_id, *recorded in database.ask(
        """SELECT stream_id, principal_id, version::int, event_type, schema_version, payload::text
             FROM bk.events WHERE stream_type = %s ORDER BY version""",
        view.aggregate.name,
    ):
        assert isinstance(id, UUID)
        assert isinstance(principal_id, UUID)
        event = StoredEvent(*recorded)  # type: ignore[arg-type]
        rows[id] = fold.after(rows.get(id), [event], principal_id)
    return [
        (id, row.version, row.owner_id, sorted(view.facets_of(row.state)), fold.dump(row).decode())
        for id, row in sorted(rows.items())
    ]


def assert_in_step(database: Database) -> None:
    for name, view in VIEWS.items():
        assert listed(database, name) == folded(database, view), name


def bookmarks(database: Database, name: str = "actor") -> Rows:
    return database.ask(
        "SELECT generation, shard, tx::text, pos FROM bk.bookmarks WHERE projection = %s"
        " ORDER BY 1, 2",
        name,
    )


def live(database: Database, name: str) -> object:
    found = "SELECT generation FROM bk.projections WHERE live AND name = %s"
    return database.ask(found, name)[0][0]


# Following


async def test_every_list_is_the_fold_of_its_streams(database: Database, deployed: Deployed):
    do = AdminClient(deployed.service, deployed.store)
    for name in (operation.name for operation in CATALOGUE.operations):
        await do(name, await EXAMPLES[name](do))
    await actors(deployed, 5, versions=3)
    # Small pages, so that rows are folded further from what was stored.
    async with worker(database, page=7) as (projector, _, _):
        await projector.catch_up([WHOLE_LOG])
    for view in VIEWS.values():
        assert folded(database, view)
    assert_in_step(database)


async def test_a_list_follows_a_position_once_its_events_are_applied(deployed: Deployed):
    (id,) = await actors(deployed, 1)
    position = await deployed.store.append(append(at(2, updated(id))))
    follows = partial(deployed.lists.follows, [VIEWS["actor"]], position)
    assert not await follows()
    await deployed.projector.catch_up([WHOLE_LOG])
    assert await follows()
    assert await deployed.lists.follows([VIEWS["actor"]], BEGINNING)


async def test_a_running_projector_follows_when_woken_and_stops_when_asked(deployed: Deployed):
    wake, supervisor = asyncio.Event(), Supervisor(Telemetry())
    loop = Loop("projector", partial(deployed.projector.turn, GrantedLease()), wake=wake)
    running = asyncio.create_task(supervisor.run([loop]))
    for _ in range(3):
        (id,) = await actors(deployed, 1)
        position = await deployed.store.append(append(at(2, updated(id))))
        wake.set()
        await until(partial(deployed.lists.follows, [VIEWS["actor"]], position))
    supervisor.stop()
    async with asyncio.timeout(5):
        await running


async def test_a_stream_that_comes_out_of_order_raises_an_alarm(
    database: Database, deployed: Deployed
):
    (id,) = await actors(deployed, 1)
    await deployed.projector.catch_up([WHOLE_LOG])
    insert = """INSERT INTO bk.events (version, stream_id, event_id, principal_id, correlation_id,
                    occurred_at, schema_version, stream_type, event_type, command_name, payload)
                SELECT %s, stream_id, gen_random_uuid(), principal_id, correlation_id, occurred_at,
                       1, stream_type, 'ActorDeactivated', command_name, payload
                  FROM bk.events WHERE stream_id = %s AND version = 1"""
    before = listed(database, "actor"), bookmarks(database)
    database.ask(insert, 3, id)
    database.ask(insert, 2, id)
    with pytest.raises(BrokenStreamError, match=r"came to versions \[3, 2\] after 1"):
        await deployed.projector.step(WHOLE_LOG)
    assert (listed(database, "actor"), bookmarks(database)) == before


# Several workers


async def test_two_workers_that_race_apply_each_page_once(database: Database, deployed: Deployed):
    await actors(deployed, 30, versions=3)
    async with worker(database, 10) as (one, first, _), worker(database, 10) as (two, second, _):
        await asyncio.gather(one.catch_up([WHOLE_LOG]), two.catch_up([WHOLE_LOG]))
        applied = first.applied + second.applied
        assert len(set(applied)) == len(applied)
        assert first.lost + second.lost > 0, "they did race"
    assert_in_step(database)


async def overtaken(database: Database, deployed: Deployed) -> bool:
    """Whether a worker that slept while another went on has written anything."""
    ids = await actors(deployed, 3)
    async with worker(database) as (stale, held, _), worker(database) as (other, _, _):
        after: list[object] = []

        async def meanwhile() -> None:
            await other.catch_up([WHOLE_LOG])
            for id in ids:
                await deployed.store.append(append(at(2, updated(id))))
            await other.catch_up([WHOLE_LOG])
            after.extend([listed(database, "actor"), bookmarks(database)])

        held.before_apply = meanwhile
        await stale.step(WHOLE_LOG)
        return after != [listed(database, "actor"), bookmarks(database)]


async def test_a_worker_that_was_overtaken_writes_nothing(database: Database, deployed: Deployed):
    assert not await overtaken(database, deployed)


async def test_a_worker_that_did_not_compare_would_turn_the_bookmark_back(
    database: Database, deployed: Deployed, monkeypatch: pytest.MonkeyPatch
):
    compare = "AND (b.tx, b.pos) = (f.tx::xid8, f.pos)"
    assert compare in adapter.MOVE.named
    careless = adapter.MOVE.named.replace(compare, "")
    monkeypatch.setattr(adapter, "MOVE", Statement(careless))
    assert await overtaken(database, deployed)


async def test_an_overtaken_worker_continues_from_where_the_other_is(
    database: Database, deployed: Deployed
):
    ids = await actors(deployed, 3)
    async with worker(database) as (one, _, _), worker(database) as (two, _, _):
        await one.catch_up([WHOLE_LOG])
        for id in ids:
            await deployed.store.append(append(at(2, updated(id))))
        await two.catch_up([WHOLE_LOG])
        for id in ids:
            await deployed.store.append(append(at(3, updated(id))))
        await one.catch_up([WHOLE_LOG])
    assert_in_step(database)


async def test_a_shard_is_leased_to_one_worker_and_handed_over(database: Database):
    url = database.url("bk_projector")
    one, two, three = (
        PostgresLease(url, "shard", wanted) for wanted in [(0, 1), (1, 2), (0, 1, 2)]
    )
    assert await one() == (0, 1)
    assert await two() == (2,)
    assert await three() == ()
    assert await one() == (0, 1), "asking again takes nothing twice"

    await one.close()
    await until(partial(leases, two, (2, 1)))
    await until(partial(leases, three, (0,)))

    database.ask(
        """SELECT pg_terminate_backend(pid) FROM pg_locks JOIN pg_database d ON d.oid = database
            WHERE locktype = 'advisory' AND datname = current_database()
            GROUP BY pid HAVING count(*) = 2"""
    )
    await until(partial(leases, three, (0, 1, 2)))
    await until(partial(leases, two, ()))
    await two.close()
    await three.close()


async def leases(lease: PostgresLease, wanted: Sequence[int]) -> bool:
    return sorted(await lease()) == sorted(wanted)


# The tail


async def test_an_open_older_transaction_holds_the_tail_back_and_nothing_else(
    database: Database, deployed: Deployed, cluster: Cluster
):
    await deployed.projector.catch_up([WHOLE_LOG])
    elsewhere = fresh_database(cluster)
    async with connected(elsewhere, "postgres") as other:
        await other.execute("BEGIN")
        await other.fetchval("SELECT pg_current_xact_id()::text")
        ids = await actors(deployed, 3, versions=2)
        assert not await deployed.projector.step(WHOLE_LOG)
        assert await deployed.tail.blocked_by(60.0) == []
        ((pid, name, seconds),) = await deployed.tail.blocked_by(0.0)
        assert (pid, name) == (other.get_server_pid(), elsewhere.name)
        assert 0 < seconds < 60
        assert (await deployed.projections.lag())["actor"] > 0
        zone = await call(deployed.service, "define_zone", {"name": "Hutch"})
        found = await call(deployed.service, "get_zone", {"zone_id": str(zone.id)})
        assert found.version == 1
        await other.execute("COMMIT")
    await deployed.projector.catch_up([WHOLE_LOG])
    assert {row[0] for row in listed(database, "actor")} >= set(ids)
    assert_in_step(database)
    assert (await deployed.projections.lag())["actor"] == 0


async def test_nothing_is_skipped_that_was_begun_first_and_committed_last(
    database: Database, deployed: Deployed
):
    await deployed.projector.catch_up([WHOLE_LOG])
    (early,) = await actors(deployed, 1)
    async with connected(database) as slow:
        await slow.execute("BEGIN")
        await slow.execute(
            """INSERT INTO bk.events (version, stream_id, event_id, principal_id, correlation_id,
                   occurred_at, schema_version, stream_type, event_type, command_name, payload)
               SELECT 2, stream_id, gen_random_uuid(), principal_id, correlation_id, occurred_at,
                      1, stream_type, 'ActorDeactivated', command_name, payload
                 FROM bk.events WHERE stream_id = $1""",
            early,
        )
        await actors(deployed, 3)
        await deployed.projector.catch_up([WHOLE_LOG])
        await slow.execute("COMMIT")
    await deployed.projector.catch_up([WHOLE_LOG])
    assert_in_step(database)


# Shards


async def test_the_log_is_followed_whole_by_partitions_and_whole_again(
    database: Database, deployed: Deployed
):
    ids = await actors(deployed, 40, versions=2)
    await deployed.projector.catch_up([WHOLE_LOG])

    await deployed.projections.arrange(CATALOGUE.views, PARTITIONS)
    assert [row[1] for row in bookmarks(database)] == list(range(16))
    for version in (3, 4):
        for id in ids:
            await deployed.store.append(append(at(version, updated(id))))
    async with worker(database) as (projector, _, _):
        await projector.catch_up(PARTITIONS)
        assert_in_step(database)
        for version in (5, 6):
            for id in ids:
                await deployed.store.append(append(at(version, updated(id))))
        # Some partitions are further on than others when the change comes.
        await projector.catch_up(PARTITIONS[:8])

    await deployed.projections.arrange(CATALOGUE.views, (WHOLE_LOG,))
    assert [row[1] for row in bookmarks(database)] == [WHOLE_LOG]
    async with worker(database, page=30) as (projector, _, _):
        await projector.catch_up([WHOLE_LOG])
    assert_in_step(database)


async def test_a_list_built_by_partitions_follows_once_each_of_them_does(database: Database):
    async with postgres_service(database, PARTITIONS) as deployed:
        (id,) = await actors(deployed, 1)
        position = await deployed.store.append(append(at(2, updated(id))))
        (found,) = database.ask(
            "SELECT tableoid::regclass::text FROM bk.events WHERE stream_id = %s LIMIT 1", id
        )
        own = int(str(found[0]).removeprefix("bk.events_p"))
        follows = partial(deployed.lists.follows, [VIEWS["actor"]], position)
        await deployed.projector.catch_up([shard for shard in PARTITIONS if shard != own])
        assert not await follows()
        await deployed.projector.catch_up([own])
        assert await follows()


async def test_followers_that_keep_no_list_keep_their_shards_when_those_of_the_lists_change(
    deployed: Deployed,
):
    await deployed.tail.begin("relay", 1, [WHOLE_LOG])
    (own,) = [each for each in await deployed.tail.bookmarks(WHOLE_LOG) if each.follower == "relay"]
    await deployed.projections.arrange(CATALOGUE.views, PARTITIONS)
    assert await deployed.tail.bookmarks(WHOLE_LOG) == [own]
    assert "relay" not in {each.follower for each in await deployed.tail.bookmarks(0)}


# Building anew


async def test_a_list_is_rebuilt_while_it_is_read_and_written(
    database: Database, deployed: Deployed
):
    ids = await actors(deployed, 100, versions=2)
    async with worker(database, page=100) as (projector, projections, _):
        await projector.catch_up([WHOLE_LOG])
        seen: list[int] = []
        stop = asyncio.Event()

        async def write() -> None:
            while not stop.is_set():
                await actors(deployed, 1, versions=2)

        async def read() -> None:
            while not stop.is_set():
                rows = await deployed.lists.listing(
                    VIEWS["actor"], ListFilter(datetime.now(UTC)), None, ListPage(10_000)
                )
                seen.append(len(rows))

        async def build() -> None:
            try:
                assert await projections.rebuild(VIEWS["actor"], [WHOLE_LOG]) == 2
                async with asyncio.timeout(30):
                    while live(database, "actor") != 2:
                        await projector.review()
                        await projector.step(WHOLE_LOG)
            finally:
                stop.set()

        async with asyncio.TaskGroup() as tasks:
            for work in (write, read, build):
                tasks.create_task(work())
        await projector.catch_up([WHOLE_LOG])
    assert min(seen) > len(ids)
    assert seen == sorted(seen)
    assert [row[0] for row in bookmarks(database)] == [2]
    assert_in_step(database)
    assert listed(database, "actor") == listed(database, "actor_v2")


async def rebuilt_but_corrupt(database: Database, deployed: Deployed) -> None:
    await actors(deployed, 3)
    await deployed.projector.catch_up([WHOLE_LOG])
    await deployed.projections.rebuild(VIEWS["actor"], [WHOLE_LOG])
    await deployed.projector.review()
    await deployed.projector.catch_up([WHOLE_LOG])
    database.ask("UPDATE proj.actor_v1 SET row = '{}' WHERE owner_id = %s", ME)


async def test_a_list_built_differently_is_not_switched_to(database: Database, deployed: Deployed):
    await rebuilt_but_corrupt(database, deployed)
    before = listed(database, "actor")
    with pytest.raises(RebuiltDifferentlyError):
        await deployed.projections.switch()
    assert live(database, "actor") == 1
    assert listed(database, "actor") == before


async def test_the_other_lists_continue_while_one_cannot_be_switched(
    database: Database, deployed: Deployed, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(supervision, "FIRST_RETRY", 0.01)
    await rebuilt_but_corrupt(database, deployed)
    supervisor = Supervisor(Telemetry())
    loop = Loop("projector", partial(deployed.projector.turn, GrantedLease()))
    running = asyncio.create_task(supervisor.run([loop]))
    try:
        zone = await call(deployed.service, "define_zone", {"name": "Hutch"})
        assert zone.token is not None
        await until(partial(deployed.lists.follows, [VIEWS["zone"]], zone.token))
    finally:
        supervisor.stop()
        await running
    assert live(database, "actor") == 1


async def test_a_rare_list_that_is_rebuilt_reads_no_more_than_its_own_events_and_joins_the_rest(
    database: Database, deployed: Deployed
):
    await actors(deployed, 60, versions=2)
    async with worker(database, page=10) as (projector, projections, tail):
        await projector.catch_up([WHOLE_LOG])
        await projections.rebuild(VIEWS["surface"], [WHOLE_LOG])
        await projector.review()
        tail.pages.clear()
        await projector.catch_up([WHOLE_LOG])
        own = [names for names in tail.pages if names == ["Surface"]]
        assert 1 <= len(own) <= 2, "not one page for every ten events of others"
        reached = {row[2:] for name in VIEWS for row in bookmarks(database, name)}
        assert len(reached) == 1, "all stand at one place again"
        await projector.review()
        assert live(database, "surface") == 2
        await actors(deployed, 1)
        tail.pages.clear()
        await projector.step(WHOLE_LOG)
        assert tail.pages == [None]
    assert_in_step(database)


async def test_a_list_whose_rows_are_declared_differently_is_rebuilt(
    database: Database, deployed: Deployed
):
    changed = View(
        VIEWS["zone"].aggregate, VIEWS["zone"].listing, VIEWS["zone"].milestones, {}, version=2
    )
    await deployed.projections.arrange([changed], [WHOLE_LOG])
    await deployed.projections.arrange([changed], [WHOLE_LOG])
    assert [row[0] for row in bookmarks(database, "zone")] == [1, 2]
    async with worker(database) as (projector, _, _):
        await projector.catch_up([WHOLE_LOG])
        await projector.review()
    assert live(database, "zone") == 2
    assert_in_step(database)


FIRST_LAYOUT = """
CREATE TABLE proj.actor_v1 (
  id uuid PRIMARY KEY, version bigint NOT NULL, owner_id uuid NOT NULL, facets text[] NOT NULL,
  row json NOT NULL);
CREATE INDEX actor_v1_facets ON proj.actor_v1 USING gin (facets);
CREATE VIEW proj.actor AS SELECT id, version, owner_id, facets, row FROM proj.actor_v1;
GRANT SELECT ON proj.actor TO bk_app;
INSERT INTO bk.projections (name, generation, declared, live) VALUES ('actor', 1, 1, true);
INSERT INTO bk.bookmarks (projection, generation, shard) VALUES ('actor', 1, -1);
"""


async def test_a_list_of_the_first_layout_is_read_until_its_successor_is_level(
    database: Database, deployed: Deployed
):
    async with connected(database, "bk_projector") as connection:
        await connection.execute(
            "DROP VIEW proj.actor, proj.actor_mark; DROP TABLE proj.actor_v1, proj.actor_v1_mark;"
            " DELETE FROM bk.projections WHERE name = 'actor';"
            " DELETE FROM bk.bookmarks WHERE projection = 'actor'"
        )
        await connection.execute(FIRST_LAYOUT)
    ids = await actors(deployed, 3, versions=2)

    async def found() -> set[UUID]:
        list_filter = ListFilter(datetime.now(UTC), ("kind=human",))
        rows = await deployed.lists.listing(VIEWS["actor"], list_filter, Sight(ME), ListPage(100))
        return {row.id for row in rows}

    async with worker(database) as (projector, _, _):
        await projector.catch_up([WHOLE_LOG])
        assert await found() == {*ids}
        await deployed.projections.arrange(CATALOGUE.views, [WHOLE_LOG])
        await deployed.projections.arrange(CATALOGUE.views, [WHOLE_LOG])
        assert [row[0] for row in bookmarks(database)] == [1, 2]
        ids += await actors(deployed, 3)
        await projector.review()
        await projector.catch_up([WHOLE_LOG])
        assert live(database, "actor") == 1
        assert await found() == {*ids}, "the old one goes on while both are there"
        await projector.review()
        assert live(database, "actor") == 2
        assert await found() == {*ids}
        ids += await actors(deployed, 1)
        await projector.catch_up([WHOLE_LOG])
        assert await found() == {*ids}
    assert_in_step(database)


# Marks


async def test_the_marks_of_the_rows_match_the_rows(database: Database, deployed: Deployed):
    ids = await actors(deployed, 5, versions=2)
    await deployed.projector.catch_up([WHOLE_LOG])
    for id in ids[:2]:
        await deployed.store.append(append(at(3, ActorDeactivated(NOW, id))))
    await deployed.projector.catch_up([WHOLE_LOG])
    beside = database.ask("SELECT mark, id FROM proj.actor_mark ORDER BY 1, 2")
    own = database.ask("SELECT mark, id FROM proj.actor, unnest(marks) AS mark ORDER BY 1, 2")
    assert beside == own
    gone = database.ask("SELECT id FROM proj.actor_mark WHERE mark = %s", number("active=false"))
    assert {row[0] for row in gone} == {*ids[:2]}


async def test_a_page_by_two_filters_continues_where_the_fewest_marks_were_looked_ahead(
    deployed: Deployed, monkeypatch: pytest.MonkeyPatch
):
    near = listing.CHOSEN.replace(f"OFFSET {listing.LOOK_AHEAD}", "OFFSET 2")
    assert near != listing.CHOSEN
    ids = await actors(deployed, 9)
    for id in ids[:4] + ids[5:8]:
        await deployed.store.append(append(at(2, ActorDeactivated(NOW, id))))
    await deployed.projector.catch_up([WHOLE_LOG])
    list_filter = ListFilter(NOW, ("active=true", "kind=human"))

    async def found(after: UUID | None, limit: int, newest_first: bool = False) -> list[UUID]:
        page = ListPage(limit, after, newest_first)
        rows = await deployed.lists.listing(VIEWS["actor"], list_filter, Sight(ME), page)
        return [row.id for row in rows]

    listing.fewest_marks.cache_clear()
    monkeypatch.setattr(listing, "CHOSEN", near)
    assert await found(None, 10) == [ids[4], ids[8]]
    assert await found(None, 1) == [ids[4]]
    assert await found(ids[4], 10) == [ids[8]]
    assert await found(ids[8], 10) == []
    assert await found(None, 10, newest_first=True) == [ids[8], ids[4]]
    assert await found(None, 1, newest_first=True) == [ids[8]]
    assert await found(ids[8], 10, newest_first=True) == [ids[4]]
    assert await found(ids[4], 10, newest_first=True) == []
    listing.fewest_marks.cache_clear()
