"""The tree of assets, through the whole service: what stands where, and that it stays a tree."""

import asyncio
import json
import random
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Sequence
from contextlib import asynccontextmanager
from typing import Any, cast
from uuid import UUID

import pytest
from tests.support.examples.federation import OWN_SITE
from tests.support.hosted import Hosted, hosted_on
from uuid_utils.compat import uuid7

from beamkeep.adapters.postgres.event_store import PostgresEventStore
from beamkeep.adapters.postgres.listing import PostgresLists
from beamkeep.contexts.equipment import tree
from beamkeep.contexts.equipment.asset import (
    OPERATIONS,
    Asset,
    AssetCannotRelocateError,
    AssetNotFoundError,
    AssetRegistered,
    AssetTier,
    assets,
    relocate_asset,
)
from beamkeep.contexts.seams.place import PLACES, AssetPlace, DamagedTreeError, upwards
from beamkeep.deployment.service import compose
from beamkeep.feed.tail import WHOLE_LOG
from beamkeep.kernel import Lock, Operation, Outcome, Refusal, replace
from beamkeep.runtime import Service
from beamkeep.runtime.admission import Request
from beamkeep.runtime.dispatch import ConcurrencyError
from beamkeep.runtime.store import EventStore, StoreUnavailableError
from beamkeep.testing.appends import CODEC, append, at
from beamkeep.testing.cluster import Cluster
from beamkeep.testing.database import Database
from beamkeep.testing.installation import FACTS
from beamkeep.testing.past import NOW
from beamkeep.testing.postgres import connected, postgres_service
from beamkeep.testing.service import by, call, enrol
from beamkeep.testing.waiting import until

pytestmark = pytest.mark.anyio

# The assets that a walk down from the roots meets: all of them, once each, if they are a tree.
MET_FROM_THE_ROOTS = """
WITH RECURSIVE t AS (
  SELECT asset_id, 1 AS level FROM bk.asset_place WHERE parent_id IS NULL
  UNION ALL
  SELECT p.asset_id, t.level + 1 FROM t JOIN bk.asset_place p ON p.parent_id = t.asset_id)
SELECT count(*), count(DISTINCT asset_id), max(level) FROM t
"""
STATEMENTS = """
SELECT COALESCE(sum(calls), 0)::int FROM pg_stat_statements s
  JOIN pg_roles r ON r.oid = s.userid JOIN pg_database d ON d.oid = s.dbid
 WHERE r.rolname = 'bk_app' AND d.datname = $1
"""
WAITING = """
SELECT count(*) FROM pg_stat_activity
 WHERE datname = current_database() AND wait_event_type = 'Lock'
"""


@pytest.fixture(params=["memory", pytest.param("postgres", marks=pytest.mark.postgres)])
def where(request: pytest.FixtureRequest) -> Database | None:
    return None if request.param == "memory" else request.getfixturevalue("database")


@pytest.fixture
async def hosted(where: Database | None) -> AsyncGenerator[Hosted]:
    async with hosted_on(where) as hosted:
        yield hosted


async def registered(service: Service, subject: str | None = None, **where: str) -> UUID:
    group = await call(service, "define_family", {"name": "Group", "affordances": []})
    part = {"name": "Part", "tier": "Device", "family_ids": [str(group.id)], **where}
    return (await call(service, "register_asset", part, subject=subject)).id


async def an_asset(service: Service, parent_id: UUID | None = None) -> UUID:
    where = {"parent_id": str(parent_id)} if parent_id else {"facility_code": OWN_SITE}
    return await registered(service, **where)


async def put_under(service: Service, id: UUID, to_parent_id: UUID) -> None:
    where = {"asset_id": str(id), "to_parent_id": str(to_parent_id), "reason": "Rebuilt"}
    await call(service, "relocate_asset", where)


async def listed(service: Service, **filters: object) -> list[UUID]:
    """The ids of every page of a list."""
    found: list[UUID] = []
    asked = {"order": "oldest"} | {name: str(value) for name, value in filters.items()}
    while True:
        page = json.loads((await call(service, "list_assets", asked)).body)
        found += [UUID(row["asset_id"]) for row in page["items"]]
        if page["next_cursor"] is None:
            return found
        asked["cursor"] = page["next_cursor"]


async def shown(service: Service, id: UUID) -> dict[str, Any]:
    return json.loads((await call(service, "get_asset", {"asset_id": str(id)})).body)


# What stands where, alike on both stores


async def test_what_stands_under_and_over_an_asset_is_listed(hosted: Hosted):
    service = hosted.service
    root, other = await an_asset(service), await an_asset(service)
    hutch = await an_asset(service, root)
    table = await an_asset(service, hutch)
    stage, camera = await an_asset(service, table), await an_asset(service, table)
    await hosted.catch_up()

    assert await listed(service, below=root) == [hutch, table, stage, camera]
    assert await listed(service, below=table) == [stage, camera]
    assert await listed(service, below=stage) == await listed(service, below=other) == []
    assert await listed(service, above=stage) == [root, hutch, table]
    assert await listed(service, above=root) == []
    assert await listed(service, below=root, above=stage) == [hutch, table]
    assert await listed(service, below=hutch, parent_id=table) == [stage, camera]
    assert await listed(service, below=root, limit=1) == [hutch, table, stage, camera]

    await put_under(service, table, other)
    await hosted.catch_up()
    assert await listed(service, below=root) == [hutch]
    assert await listed(service, below=other) == [table, stage, camera]
    assert await listed(service, above=camera) == [other, table]


async def test_an_asset_belongs_to_the_facility_of_the_root_it_stands_under_now(hosted: Hosted):
    service = hosted.service
    hall = {"code": "hall-2", "name": "Hall 2", "kind": "Site"}
    await call(service, "register_facility", hall)
    elsewhere = await registered(service, tier="Unit", facility_code="hall-2")
    table = await an_asset(service, await an_asset(service))
    stage = await an_asset(service, table)
    assert (await shown(service, stage))["facility_scope"] == OWN_SITE
    assert (await shown(service, stage))["facility_code"] is None
    await put_under(service, table, elsewhere)
    assert (await shown(service, stage))["facility_scope"] == "hall-2"
    assert (await shown(service, elsewhere))["facility_scope"] == "hall-2"


async def test_an_asset_is_not_put_under_what_stands_under_it(hosted: Hosted):
    service = hosted.service
    table = await an_asset(service, await an_asset(service))
    stage = await an_asset(service, table)
    deep = await an_asset(service, stage)
    for below in (stage, deep):
        with pytest.raises(AssetCannotRelocateError, match="is below this asset"):
            await put_under(service, table, below)


# The whole tree in one answer, now and as it was


async def tree_of(
    service: Service, id: UUID, as_of: str | None = None, subject: str = "ada"
) -> dict[str, Any]:
    asked = {"asset_id": str(id)} | ({"as_of": as_of} if as_of else {})
    return json.loads((await call(service, "get_asset_tree", asked, subject=subject)).body)


def ids_of(tree: dict[str, Any]) -> list[UUID]:
    return [UUID(node["id"]) for node in tree["nodes"]]


async def test_a_tree_has_every_asset_below_level_by_level_with_all_its_fields(hosted: Hosted):
    service = hosted.service
    root, _ = await an_asset(service), await an_asset(service)
    hutch, table = await an_asset(service, root), await an_asset(service, root)
    stage = await an_asset(service, hutch)
    await call(service, "rename_asset", {"asset_id": str(hutch), "name": "Z hutch"})

    found = await tree_of(service, root)

    assert ids_of(found) == [root, table, hutch, stage]
    assert found["truncated"] is False
    whole = await shown(service, stage)
    more = {"facility_scope", "setting_units_changed", "owner_id", "asset_id"}
    assert found["nodes"][-1] == {k: v for k, v in whole.items() if k not in more} | {
        "id": str(stage)
    }
    assert ids_of(await tree_of(service, hutch)) == [hutch, stage]


async def test_a_tree_shows_assets_where_they_were_and_as_they_were(hosted: Hosted):
    service = hosted.service
    root, other = await an_asset(service), await an_asset(service)
    table = await an_asset(service, root)
    stage = await an_asset(service, table)
    before = (await tree_of(service, root))["as_of"]
    late = await an_asset(service, root)
    await call(service, "fault_asset", {"asset_id": str(stage), "reason": "Stuck"})
    await put_under(service, stage, late)
    await put_under(service, table, other)
    between = (await tree_of(service, root))["as_of"]
    await put_under(service, table, late)

    then = await tree_of(service, root, before)
    assert (then["as_of"], ids_of(then)) == (before, [root, table, stage])
    assert then["nodes"][-1]["condition"] == "Nominal"
    assert then["nodes"][-1]["parent_id"] == str(table)
    assert ids_of(await tree_of(service, other, before)) == [other]
    assert ids_of(await tree_of(service, root, between)) == [root, late, stage]
    assert ids_of(await tree_of(service, other, between)) == [other, table]
    assert ids_of(await tree_of(service, root)) == [root, late, *sorted([table, stage])]
    with pytest.raises(AssetNotFoundError, match="as of"):
        await tree_of(service, late, before)


async def test_a_tree_shows_nothing_of_others_but_continues_below_it(hosted: Hosted):
    service = hosted.service
    await enrol(service, "otto", "register_asset", "get_asset_tree", scope="Own")
    own = await registered(service, "otto", tier="Unit", facility_code=OWN_SITE)
    table = await an_asset(service, own)
    below = await registered(service, "otto", parent_id=str(table))

    assert ids_of(await tree_of(service, own)) == [own, table, below]
    assert ids_of(await tree_of(service, own, subject="otto")) == [own, below]
    with pytest.raises(AssetNotFoundError):
        await tree_of(service, table, subject="otto")


async def test_a_tree_is_cut_after_the_nearest_assets(
    hosted: Hosted, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(tree, "MOST_NODES", 3)
    root = await an_asset(hosted.service)
    near = [await an_asset(hosted.service, root) for _ in range(2)]
    assert (await tree_of(hosted.service, root))["truncated"] is False
    await an_asset(hosted.service, near[0])
    found = await tree_of(hosted.service, root)
    assert (ids_of(found), found["truncated"]) == ([root, *near], True)


# What it costs


@pytest.mark.postgres
async def test_a_remembered_relocation_is_six_statements_and_a_subtree_one_after_the_opening(
    cluster: Cluster, database: Database
):
    async with (
        postgres_service(database) as deployed,
        connected(Database(cluster, "postgres"), "postgres") as counting,
    ):
        service = deployed.service
        root = await an_asset(service)
        left, right = await an_asset(service, root), await an_asset(service, root)
        id = await an_asset(service, left)
        await deployed.projector.catch_up([WHOLE_LOG])

        async def cost(make: Awaitable[object]) -> int:
            await counting.execute("SELECT pg_stat_statements_reset()")
            await make
            return await counting.fetchval(STATEMENTS, database.name)

        await put_under(service, id, right)
        # The rows above, the streams above; begin, lock, append, commit.
        assert await cost(put_under(service, id, left)) == 6
        # The opening and the list.
        await listed(service, below=root)
        assert await cost(listed(service, below=root)) == 2
        assert await cost(listed(service, above=id)) == 2
        # The opening, its stream, and the rows and the streams of each level, where the last
        # level has no streams; of the past, rows of two tables.
        now = await tree_of(service, root)
        assert await cost(tree_of(service, root)) == 2 + 2 + 2 + 1
        assert await cost(tree_of(service, root, now["as_of"])) == 2 + 3 + 3 + 2


# That it stays a tree


async def folded(store: EventStore, ids: Sequence[UUID]) -> dict[UUID, Asset]:
    found: dict[UUID, Asset] = {}
    for start in range(0, len(ids), 500):
        streams = [(assets.name, id) for id in ids[start : start + 500]]
        for (_, id), loaded in (await store.load(streams)).items():
            asset = CODEC.fold(assets, loaded.events)
            assert asset
            found[id] = asset
    return found


async def require_a_tree(database: Database, store: EventStore, ids: Sequence[UUID]) -> int:
    """The rows and the streams agree, and from every asset a root is reached; how deep it is."""
    met, distinct, depth = database.ask(MET_FROM_THE_ROOTS)[0]
    assert met == distinct == len(ids)
    states = await folded(store, ids)
    rows = database.ask("SELECT asset_id, parent_id FROM bk.asset_place")
    assert {id: state.parent_id for id, state in states.items()} == {row[0]: row[1] for row in rows}
    for id in ids:
        assert upwards(id, states)[-1].parent_id is None
    assert isinstance(depth, int)
    return depth


@asynccontextmanager
async def patient_service(database: Database) -> AsyncGenerator[tuple[Service, PostgresEventStore]]:
    """A service whose connections wait for a lock as long as a test needs."""
    patient = database.connections(lock_timeout="10000", statement_timeout="10000")
    store = PostgresEventStore(patient, database.url())
    lists, cursor_key = PostgresLists(patient), await store.cursor_key()
    try:
        yield compose(store, lists, cursor_key, facts=FACTS), store
    finally:
        await patient.close()


RELOCATE = next(row for row in OPERATIONS if row.rule is relocate_asset)


def without_lock(*arguments: Any) -> Outcome:
    outcome = cast("Outcome", RELOCATE.rule(*arguments))
    return [part for part in outcome if not isinstance(part, Lock)]


async def relocate_both_ways(
    database: Database, service: Service, operation: Operation, pair: tuple[UUID, UUID]
) -> list[object]:
    """Put each of two assets under the other, so that both have read before either has written."""

    async def relocate(id: UUID, to_parent_id: UUID) -> object:
        where = {"asset_id": str(id), "to_parent_id": str(to_parent_id), "reason": "Rebuilt"}
        try:
            return await service.dispatcher.execute(operation, Request(by("ada"), where))
        except Refusal as refusal:
            return type(refusal)

    async with (
        connected(database, "postgres") as blocking,
        connected(database, "postgres") as watching,
        asyncio.TaskGroup() as tasks,
        blocking.transaction(),
    ):
        # Whoever writes waits for its row, having looked at the streams before.
        await blocking.execute(
            "SELECT 1 FROM bk.asset_place WHERE asset_id = ANY($1) FOR UPDATE", pair
        )
        both = [tasks.create_task(relocate(id, to)) for id, to in (pair, tuple(reversed(pair)))]

        async def both_wait() -> bool:
            return await watching.fetchval(WAITING) == 2

        await until(both_wait)
    return [task.result() for task in both]


async def two_in_a_hall(service: Service) -> tuple[tuple[UUID, UUID], list[UUID]]:
    hall = await an_asset(service)
    pair = await an_asset(service, hall), await an_asset(service, hall)
    return pair, [hall, *pair]


@pytest.mark.postgres
async def test_of_two_assets_put_under_each_other_at_once_one_is_moved(database: Database):
    async with patient_service(database) as (service, store):
        pair, ids = await two_in_a_hall(service)
        ends = await relocate_both_ways(database, service, RELOCATE, pair)
        assert sum(end is AssetCannotRelocateError for end in ends) == 1
        assert await require_a_tree(database, store, ids) == 3


@pytest.mark.postgres
async def test_without_the_lock_the_same_two_close_a_circle(database: Database):
    async with patient_service(database) as (service, store):
        pair, ids = await two_in_a_hall(service)
        unguarded = replace(RELOCATE, rule=without_lock)
        ends = await relocate_both_ways(database, service, unguarded, pair)
        assert AssetCannotRelocateError not in ends
        with pytest.raises(DamagedTreeError):
            upwards(pair[0], await folded(store, ids))


# Under load

ASSETS, LEVELS, RELOCATIONS, CLIENTS, HOT = 10_000, 12, 200, 8, 24


async def plant(store: EventStore, chance: random.Random) -> list[list[UUID]]:
    """A tree of many assets, level by level, written as the service would write it."""
    sizes = [1] + [(ASSETS - 1) // (LEVELS - 1)] * (LEVELS - 1)
    levels: list[list[UUID]] = []
    for size in sizes:
        level = [uuid7() for _ in range(size)]
        rows = [AssetPlace(id, chance.choice(levels[-1]), None) for id in level] if levels else []
        rows = rows or [AssetPlace(level[0], None, OWN_SITE)]
        for start in range(0, size, 500):
            batch = rows[start : start + 500]
            events, rows_beside = (at(1, planted(row)) for row in batch), map(PLACES.insert, batch)
            await store.append(append(*events, side_writes=[*rows_beside]))
        levels.append(level)
    return levels


def planted(row: AssetPlace) -> AssetRegistered:
    id, parent_id, code = row.asset_id, row.parent_id, row.facility_code
    return AssetRegistered(NOW, id, "Part", AssetTier.DEVICE, parent_id, code, (), None, None, ())


@pytest.mark.faults
async def test_relocations_at_once_leave_a_tree(database: Database):
    chance = random.Random(3)  # noqa: S311
    async with postgres_service(database) as deployed:
        service, store = deployed.service, deployed.store
        levels = await plant(store, chance)
        ids = [id for level in levels for id in level]
        assert await require_a_tree(database, store, ids) == LEVELS
        # Half of the moves are among a few assets high up: there they get in each other's way.
        high = levels[1][: HOT // 2] + levels[2][: HOT // 2]
        moves = [tuple(chance.sample(high if n % 2 else ids[1:], 2)) for n in range(RELOCATIONS)]
        ends: Counter[str] = Counter()

        async def client() -> None:
            while moves:
                id, to_parent_id = moves.pop()
                try:
                    await put_under(service, id, to_parent_id)
                    ends["moved"] += 1
                except (AssetCannotRelocateError, ConcurrencyError) as refusal:
                    ends[type(refusal).__name__] += 1
                except StoreUnavailableError:
                    # A busy machine: nothing was written, and a client tries again.
                    moves.append((id, to_parent_id))

        async with asyncio.TaskGroup() as tasks:
            for _ in range(CLIENTS):
                tasks.create_task(client())
        assert ends.total() == RELOCATIONS
        assert ends["moved"] > RELOCATIONS / 4
        assert ends["AssetCannotRelocateError"]
        await require_a_tree(database, store, ids)

        await deployed.projector.catch_up([WHOLE_LOG])
        states = await folded(store, ids)
        branch = levels[1][0]
        under = [id for id in ids if branch in {s.id for s in upwards(id, states)[1:]}]
        assert await listed(service, below=branch, limit=100) == sorted(under)
        deepest = max(ids, key=lambda each: len(upwards(each, states)))
        above = [state.id for state in upwards(deepest, states)[1:]]
        assert await listed(service, above=deepest) == sorted(above)
