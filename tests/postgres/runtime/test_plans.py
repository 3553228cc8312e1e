"""No statement of the store ever scans the log, whatever the planner knew when it was planned."""

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import timedelta
from itertools import product
from typing import Any, cast
from uuid import UUID

import asyncpg
import psycopg
import pytest
from psycopg import sql
from uuid_utils.compat import uuid7

from beamkeep.adapters.postgres.append_statement import GUARD, AppendShape, append_statement
from beamkeep.adapters.postgres.append_writer import FIND_ANSWER, FIND_EVENT
from beamkeep.adapters.postgres.call_lookup import OPEN
from beamkeep.adapters.postgres.connections import PLANNING, Connections
from beamkeep.adapters.postgres.directory import (
    RENEW_FACILITIES,
    SEARCHING,
    UPSERT_ENTRIES,
    PostgresDirectory,
)
from beamkeep.adapters.postgres.event_log import PostgresEventLog
from beamkeep.adapters.postgres.event_store import PostgresEventStore
from beamkeep.adapters.postgres.listing import LISTING, PostgresLists, number
from beamkeep.adapters.postgres.projections import PostgresProjections
from beamkeep.adapters.postgres.statements import Statement
from beamkeep.adapters.postgres.tail import PostgresTail
from beamkeep.contexts.access.profile import IDENTITIES, PROFILES, STANDINGS, Identity
from beamkeep.contexts.catalogue import CATALOGUE
from beamkeep.contexts.decision.inference import INFERENCES
from beamkeep.contexts.decision.logbook import LOGBOOK as DECISION_LOGBOOK
from beamkeep.contexts.enclosure.enclosure import FRESHNESS, Freshness
from beamkeep.contexts.feed.subscription import (
    BOOKMARKS,
    DELIVERIES,
    SECRETS,
    DeliveryStatus,
)
from beamkeep.contexts.run.logbook import RUN_LOGBOOK
from beamkeep.contexts.run.observation import OBSERVATIONS
from beamkeep.contexts.run.refused import REFUSED_STARTS, RefusedStart
from beamkeep.contexts.seams.place import FORMER_PLACES, PLACES
from beamkeep.contexts.supply.supply import SUPPLY_FRESHNESS, SupplyFreshness
from beamkeep.contexts.trust import seeded
from beamkeep.contexts.trust.policy import POLICY_GRANTS
from beamkeep.contexts.trust.surface import SURFACE_CONTROL
from beamkeep.feed.directory.seam import Match
from beamkeep.feed.log import LogQuery
from beamkeep.feed.tail import WHOLE_LOG
from beamkeep.kernel import (
    CLAIMS,
    DENIALS,
    ActorKind,
    Claim,
    Grant,
    ObjectScope,
    Sight,
    Standing,
    Table,
    View,
    replace,
)
from beamkeep.runtime.store import (
    BEGINNING,
    AnswerToStore,
    CallContext,
    CallLookup,
    ListFilter,
    ListPage,
    Memory,
    MovedError,
    NewSnapshot,
    Position,
    RowQuery,
    Snapshot,
)
from beamkeep.testing.appends import ANSWER, HTTP, ME, NOW, append, at, registered, updated
from beamkeep.testing.cluster import Cluster
from beamkeep.testing.database import Database
from beamkeep.testing.postgres import ARRANGED, fresh_database

pytestmark = [pytest.mark.postgres, pytest.mark.anyio]

HOUR = timedelta(hours=1)
SIGHTS = None, Sight(UUID(int=10)), Sight(UUID(int=10), teams=True)
ACTORS: View[Any] = next(view for view in CATALOGUE.views if view.name == "actor")
GENERIC = {"plan_cache_mode": "force_generic_plan"}
# Small for ever: a handful of rows whatever is written.
SMALL = {"deployment", "projections", "bookmarks", "directory_kinds"}

type Asked = dict[str, Sequence[Any]]
"""Statements, each with arguments it was once given."""


class Recorder(Connections):
    """Connections that remember every statement."""

    def __init__(self, url: str) -> None:
        super().__init__(url, 1)
        self.asked: Asked = {}

    async def fetch(self, statement: str, *arguments: Any) -> list[asyncpg.Record]:
        self.asked[statement] = arguments
        return await super().fetch(statement, *arguments)


async def every_statement(database: Database) -> Asked:
    """Whatever the store, the lists and the tail can ask, in each of its shapes."""
    served = Recorder(database.url())
    store = PostgresEventStore(served, database.url())
    await opened_and_read(store)
    await appended(store)
    await written_without_events(store)
    await served.fetch(FIND_EVENT, uuid7(), uuid7())
    await served.fetch(FIND_ANSWER, uuid7(), uuid7(), "k")
    await listed(PostgresLists(served))
    tailing = Recorder(database.url("bk_projector"))
    await tailed(PostgresTail(tailing), PostgresProjections(tailing))
    await served.close()
    await tailing.close()
    return served.asked | tailing.asked


async def opened_and_read(store: PostgresEventStore) -> None:
    id = uuid7()
    ada, stream = ("https://idp.test", "ada"), ("Zone", id)
    await store.open(CallLookup(ada, None, seeded.ENTRY, HTTP, "x", True, "k", stream, id))
    await store.load([("Zone", id)])
    await store.outdated_snapshots([id], stream, 10)
    await store.drop_snapshots([id], 7)
    await store.load([("Zone", id), ("Actor", id)])
    await store.history(("Zone", id), 0, 10)
    await store.later(("Zone", id), 0, 10)
    for sight in SIGHTS:
        await store.happened(["RunHeld", "AssetFaulted"], NOW, NOW + HOUR, sight, 100)
    await store.latest([("Run", id), ("Asset", id)], ["RunHeld", "AssetFaulted"], NOW)
    await store.owners([("Run", id), ("Plan", id)])
    for sight in SIGHTS[1:]:
        await store.reached([("Run", id), ("Plan", id)], sight)
    await store.rows(CLAIMS, {"scope": "name", "key": "a"})
    await store.rows(CLAIMS, {"scope": "seed"})
    await store.rows(PROFILES, {"actor_id": [id]})
    await store.rows(IDENTITIES, {"actor_id": id})
    await store.rows(IDENTITIES, {"issuer": "a", "subject": "b"})
    await store.rows(STANDINGS, {"principal_id": id})
    await store.rows(SURFACE_CONTROL, {"surface_id": id})
    await store.rows(POLICY_GRANTS, {"surface_id": {id}})
    await store.rows(POLICY_GRANTS, {"principal_id": id, "conduit_id": id})
    await store.rows(FRESHNESS, {"enclosure_id": {id}})
    await store.rows(SUPPLY_FRESHNESS, {"supply_id": {id}})
    await store.rows(PLACES, {"parent_id": id})
    await store.rows(FORMER_PLACES, {"parent_id": {id}})
    await store.above(PLACES, [id])
    for after in (), (id,):
        newest = RowQuery({"conduit_id": id}, (), ("denial_id",), True, after)
        await store.entries(DENIALS, newest, 10)
    await side_writes_of(store)
    await store.forget_answers(24)
    await store.forget_denials(30)
    await store.rows(SECRETS, {"subscription_id": {id}})
    await store.rows(BOOKMARKS, {"subscription_id": id})
    await store.rows(DELIVERIES, {"subscription_id": id, "status": DeliveryStatus.SENDING})
    await store.rows(DELIVERIES, {"subscription_id": id, "event_id": id})
    for after in (), (NOW, id):
        oldest = RowQuery({"subscription_id": id}, (), ("first_at", "event_id"), False, after)
        await store.entries(DELIVERIES, oldest, 10)
    await store.forget_deliveries(7)
    await store.cursor_key()
    await store.beat("watch")


async def side_writes_of(store: PostgresEventStore) -> None:
    """The rows kept beside decisions and runs, by their own ids and by whose they are."""
    id, during = uuid7(), (("sampled_at", ">=", NOW), ("sampled_at", "<", NOW))
    logbooks: list[tuple[Table[Any], str]] = [
        (DECISION_LOGBOOK, "decision_id"),
        (RUN_LOGBOOK, "run_id"),
    ]
    for table, of in logbooks:
        await store.rows(table, {"entry_id": id})
        for after in (), (NOW, id):
            mine = RowQuery(
                {of: id, "author_id": id}, (), ("recorded_at", "entry_id"), False, after
            )
            await store.entries(table, mine, 10)
            await store.entries(table, replace(mine, where={of: id}), 10)
    by_time: list[tuple[Table[Any], str]] = [
        (RUN_LOGBOOK, "recorded_at"),
        (REFUSED_STARTS, "refused_at"),
    ]
    for table, time in by_time:
        shift = ((time, ">=", NOW), (time, "<", NOW + HOUR))
        await store.entries(table, RowQuery({}, shift, (time, *table.key), False, ()), 10)
    await store.rows(INFERENCES, {"inference_id": [id]})
    await store.rows(OBSERVATIONS, {"observation_id": [id]})
    for after in (), (NOW, id):
        by = "occurred_at", "inference_id"
        await store.entries(INFERENCES, RowQuery({"decision_id": id}, (), by, False, after), 10)
        for where in ({"run_id": id}, {"run_id": id, "channel_name": "x", "simulated": False}):
            for compared in (), during:
                by = "sampled_at", "observation_id"
                await store.entries(OBSERVATIONS, RowQuery(where, compared, by, False, after), 10)


async def appended(store: PostgresEventStore) -> None:
    """An append in each of its shapes: one event or many, with each of what can go with it."""
    for many, reads, remembers, keeps, beside in product((False, True), repeat=5):
        id = uuid7()
        kept = [NewSnapshot(("Actor", id), id, Snapshot(2, b"{}"))] if keeps else []
        more = [at(2, updated(id))] if many else []
        me, login = Standing(id, ActorKind.HUMAN), Identity("https://idp.test", str(id), id)
        rows = [
            CLAIMS.insert(Claim("name", str(id), None)),
            IDENTITIES.insert(login),
            STANDINGS.replace(me),
            POLICY_GRANTS.delete(id, id),
            POLICY_GRANTS.delete(id),
            PROFILES.delete(id),
        ]
        await store.append(
            append(
                at(1, registered(id)),
                *more,
                read={("Actor", uuid7()): 0} if reads else {},
                side_writes=rows if beside else (),
                answer=ANSWER if remembers else None,
                principal_id=uuid7(),
            )
        )
        if keeps or not many:
            first = 3 if many else 2
            later = [at(first, updated(id)), *([at(4, updated(id))] if many else [])]
            await store.append(
                append(
                    *later,
                    read={("Actor", uuid7()): 0} if reads else {},
                    side_writes=[CLAIMS.insert(Claim("name", f"{id} again", None))]
                    if beside
                    else (),
                    answer=ANSWER if remembers else None,
                    principal_id=uuid7(),
                    snapshots=kept,
                )
            )
        if not many:
            await recalled(store, id, kept, ANSWER if remembers else None)


async def recalled(
    store: PostgresEventStore, id: UUID, kept: Sequence[NewSnapshot], answer: AnswerToStore | None
) -> None:
    """Appends of one event by a caller that was not read for them."""
    ada = ("https://idp.test", "ada")
    lookup = CallLookup(ada, None, seeded.ENTRY, HTTP, "x")
    grant = Grant(id, id, seeded.ENTRY, HTTP, ("x",), ObjectScope.OWN)
    for version, last_event_id in (1, None), (3, id):
        opened = CallContext(
            Standing(id, ActorKind.HUMAN),
            (grant,),
            memory=Memory(lookup, 0, is_recalled=True, last_event_id=last_event_id),
        )
        new = at(version, registered(uuid7()) if version == 1 else updated(id))
        with pytest.raises(MovedError):
            await store.append(append(new, answer=answer, snapshots=kept, opened=opened))


async def written_without_events(store: PostgresEventStore) -> None:
    """What is written where nothing happened: a row, an answer, or both."""
    row = [
        FRESHNESS.replace(Freshness(uuid7(), None)),
        SUPPLY_FRESHNESS.upsert(SupplyFreshness(uuid7(), NOW)),
        SUPPLY_FRESHNESS.delete(uuid7()),
    ]
    for beside, answer in (row, None), ([], ANSWER), (row, ANSWER):
        await store.append(append(side_writes=beside, answer=answer, principal_id=uuid7()))
    refused = RefusedStart(uuid7(), uuid7(), "SomeError", NOW, NOW, None, None)
    await store.record_refusal(REFUSED_STARTS.insert(refused))


async def listed(lists: PostgresLists) -> None:
    id = uuid7()
    for view in CATALOGUE.views:
        for list_filter in every_way(view):
            for sight in SIGHTS:
                for newest_first in (False, True):
                    page = ListPage(50, id, newest_first, ids_only=newest_first)
                    await lists.listing(view, list_filter, sight, page)
    await lists.follows(CATALOGUE.views[:2], Position(1, 1))


def every_way(view: View[Any]) -> list[ListFilter]:
    """Every kind of filter the list has, alone and with one more; for a tree each way and both."""
    ways = [(), ("below",), ("above",), ("below", "above")] if view.tree else [()]
    kinds: list[dict[str, Any]] = [{"along": dict.fromkeys(each, uuid7())} for each in ways]
    if view.filters:
        kinds += [{"every": ("a=b",)}, {"groups": (("a=b", "a=c"), ("d=e",))}]
        kinds += [{"every": ("a=b",), **each} for each in kinds[: len(ways)]]
    kinds += [{"none": ("a=b",)}] if view.excluded else []
    kinds += [{"compared": ((*how, NOW),)} for how in view.compared.values()]
    kinds += [{"period": (view.period, holds)} for holds in (True, False) if view.period]
    times: dict[str, Any] = {"created": ((">=", NOW), ("<", NOW + HOUR))}
    both: list[dict[str, Any]] = [{}, times, {"owner_id": uuid7()}, {**times, "owner_id": uuid7()}]
    return [ListFilter(NOW, **kind, **more) for kind in kinds for more in both]


async def tailed(tail: PostgresTail, projections: PostgresProjections) -> None:
    for shard in (WHOLE_LOG, 7):
        await tail.page(shard, BEGINNING, 100)
        await tail.page(shard, BEGINNING, 100, ["Zone"])
        await tail.page(shard, BEGINNING, 100, ["Zone"], 10)
        await tail.page(shard, BEGINNING, 100, until=10)
    await tail.bookmarks(WHOLE_LOG)
    (generation, *_) = await projections.generations()
    await projections.stored(generation, [uuid7()])
    await projections.rows_after(generation, uuid7())
    await projections.outdated({generation.name: 1})
    await projections.lag()


def scanned(database: Database, asked: Asked, settings: dict[str, str]) -> dict[str, set[str]]:
    """The tables each statement would read from end to end, by a plan made for any values."""
    plans = planned_for(database, asked, settings)
    read = {
        each: set(re.findall(r"Seq Scan on (\w+)", plan)) - SMALL for each, plan in plans.items()
    }
    return {statement: tables for statement, tables in read.items() if tables}


def planned_for(database: Database, asked: Asked, settings: dict[str, str]) -> dict[str, str]:
    """How each statement would be carried out, by a plan made for any values."""
    plans: dict[str, str] = {}
    with psycopg.connect(database.url("postgres"), autocommit=True) as connection:
        for name, value in settings.items():
            connection.execute("SELECT set_config(%s, %s, false)", [name, value])
        for statement, arguments in asked.items():
            connection.execute(f"PREPARE asked AS {statement}".encode())
            given = sql.SQL(", ").join(sql.Literal(_plain(value)) for value in arguments)
            execute = sql.SQL("({})").format(given) if arguments else sql.SQL("")
            plan = connection.execute(sql.SQL("EXPLAIN EXECUTE asked{}").format(execute))
            plans[statement] = "\n".join(line for (line,) in plan)
            connection.execute("DEALLOCATE asked")
    return plans


def _plain(value: object) -> object:
    """A value as psycopg can write it: only asyncpg's own ids are foreign to it."""
    if isinstance(value, UUID):
        return UUID(int=value.int)
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(member) for member in cast("Iterable[object]", value)]
    return value


@pytest.fixture(scope="module")
def planned(cluster: Cluster) -> Database:
    return fresh_database(cluster, ARRANGED)


@pytest.fixture(scope="module")
def vacuumed(cluster: Cluster) -> Database:
    database = fresh_database(cluster, ARRANGED)
    database.ask("VACUUM ANALYZE")
    return database


async def test_no_statement_scans_a_table_planned_on_an_empty_database(planned: Database):
    asked = await every_statement(planned)
    appends = [statement for statement in asked if "INSERT INTO bk.events" in statement]
    assert len(appends) == 48
    assert scanned(planned, asked, PLANNING) == {}


async def test_nor_planned_once_the_planner_has_seen_that_the_tables_are_empty(
    planned: Database, vacuumed: Database
):
    assert scanned(vacuumed, await every_statement(planned), PLANNING) == {}


async def searched(directory: PostgresDirectory) -> None:
    """Whatever a search can ask."""
    kinds = frozenset(CATALOGUE.gets)
    for match in Match:
        for sight in SIGHTS:
            await directory.find(match, "abcdef", kinds, sight)
    await directory.entries([uuid7()])


async def test_the_directory_is_searched_by_its_indexes(planned: Database, vacuumed: Database):
    searching = Recorder(planned.url())
    await searched(PostgresDirectory(searching))
    await searching.close()
    assert len(searching.asked) == len(SIGHTS) * len(Match) + 1
    for database in (planned, vacuumed):
        assert scanned(database, searching.asked, PLANNING | SEARCHING) == {}


async def test_entries_and_their_facilities_are_written_by_indexes(
    planned: Database, vacuumed: Database
):
    columns: dict[str, list[object]] = {name: [] for name in UPSERT_ENTRIES.names}
    written = UPSERT_ENTRIES.bind(columns), RENEW_FACILITIES.bind({"ids": [], "site": "x"})
    asked: Asked = {statement: arguments for statement, *arguments in written}
    for database in (planned, vacuumed):
        assert scanned(database, asked, PLANNING) == {}


async def test_the_log_is_read_by_its_indexes(planned: Database, vacuumed: Database):
    reading = Recorder(planned.url())
    log = PostgresEventLog(reading)
    query = LogQuery(10, after=BEGINNING, before=Position(9, 9))
    ways: list[dict[str, Any]] = [
        {},
        {"stream_ids": frozenset([uuid7()])},
        {"principal_id": uuid7()},
        {"types": frozenset(["RunHeld"]), "command_name": "hold_run"},
        {"facility_code": "x"},
        {"sight": SIGHTS[-1]},
    ]
    for way, newest_first in product(ways, (False, True)):
        await log.page(replace(query, newest_first=newest_first, **way))
    await log.followed()
    await reading.close()
    assert len(reading.asked) == 2 * len(ways) + 1
    for database in (planned, vacuumed):
        assert scanned(database, reading.asked, PLANNING) == {}


async def test_the_watch_and_readiness_alone_read_a_table_from_end_to_end_a_row_an_enclosure(
    planned: Database,
):
    served = Recorder(planned.url())
    store = PostgresEventStore(served, planned.url())
    await store.rows(FRESHNESS, {})
    await store.last_beat("watch")
    await served.close()
    found = scanned(planned, served.asked, PLANNING)
    assert list(found.values()) == [{"enclosure_freshness"}] * 2


async def test_a_page_of_rows_is_read_in_the_order_of_its_index(
    planned: Database, vacuumed: Database
):
    served = Recorder(planned.url())
    await side_writes_of(PostgresEventStore(served, planned.url()))
    await served.close()
    pages = {each: given for each, given in served.asked.items() if "ORDER BY" in each}
    assert len(pages) == 20
    for plan in planned_for(vacuumed, pages, PLANNING).values():
        assert "Sort" not in plan


GUARDED = append_statement(
    AppendShape(single_event=False, first_event=False, reads=False, answer=False, snapshots=False)
)
NOT_EXISTS = """stale AS MATERIALIZED (
  SELECT 1 FROM stream s WHERE s.first_version > 1 AND NOT EXISTS (
    SELECT 1 FROM bk.events p
     WHERE p.stream_type = s.stream_type AND p.stream_id = s.stream_id
       AND p.version = s.first_version - 1 AND p.transaction_id < pg_current_xact_id()))"""


async def test_what_was_answered_is_found_by_its_whole_key_also_by_a_plan_made_when_it_was_empty(
    vacuumed: Database,
):
    with psycopg.connect(vacuumed.url("postgres"), autocommit=True) as connection:
        for name, value in PLANNING.items():
            connection.execute("SELECT set_config(%s, %s, false)", [name, value])
        connection.execute(f"PREPARE asked AS {OPEN.text}".encode())
        nothing = ", ".join(["NULL"] * len(OPEN.names))
        plan = connection.execute(f"EXPLAIN EXECUTE asked ({nothing})".encode())
        lines = [str(line) for (line,) in plan]
    (at,) = (n for n, line in enumerate(lines) if "idempotency_pkey" in line)
    for column in ("principal_id = ", "surface_id = ", "key = "):
        assert column in lines[at + 1]


async def test_neither_log_nor_snapshot_is_looked_at_for_who_may_not_call(vacuumed: Database):
    with psycopg.connect(vacuumed.url("postgres"), autocommit=True) as connection:
        for name, value in PLANNING.items():
            connection.execute("SELECT set_config(%s, %s, false)", [name, value])
        connection.execute(f"PREPARE asked AS {OPEN.text}".encode())
        _, *given = OPEN.bind(
            {
                "principal_id": str(uuid7()),
                "issuer": None,
                "subject": None,
                "conduit_id": str(seeded.ENTRY),
                "surface_id": str(HTTP),
                "command_name": "get_zone",
                "proposable": False,
                "creates": False,
                "idempotency_key": "key",
                "stream_type": "Zone",
                "stream_id": str(uuid7()),
                "fold": str(uuid7()),
                "limit": 1000,
            }
        )
        execute = sql.SQL(", ").join(given)
        shown = sql.SQL("EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) EXECUTE asked ({})")
        (told,) = connection.execute(shown.format(execute)).fetchall()
    looked_at = [
        node for node in nodes(told[0][0]["Plan"]) if table(node) in {"events", "snapshots"}
    ]
    assert {table(node) for node in looked_at} == {"events", "snapshots"}
    assert not [
        node for node in looked_at if node["Shared Hit Blocks"] + node["Shared Read Blocks"]
    ]


def nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for below in plan.get("Plans", []):
        yield from nodes(below)


def table(node: dict[str, Any]) -> str:
    """The table a node of a plan reads, whichever partition of it."""
    return str(node.get("Relation Name", "")).partition("_p")[0]


async def test_another_way_to_write_the_guard_would_scan_the_log(
    planned: Database, cluster: Cluster
):
    ours, naive = GUARDED.text, Statement(GUARDED.named.replace(GUARD, NOT_EXISTS)).text
    given = (await every_statement(planned))[ours]
    untouched = fresh_database(cluster, ARRANGED)
    found = scanned(untouched, {ours: given, naive: given}, GENERIC)
    assert set(found) == {naive}
    assert any(table.startswith("events_p") for table in found[naive])


async def test_the_settings_of_our_connections_are_what_keeps_a_plan_from_scanning(
    planned: Database, vacuumed: Database
):
    """However a statement is written, the planner scans a table it believes to be empty."""
    asked = {GUARDED.text: (await every_statement(planned))[GUARDED.text]}
    assert scanned(vacuumed, asked, GENERIC)
    assert not scanned(vacuumed, asked, PLANNING)


# Rows of a list: every other one is active, and the newest ten are of another kind.
MANY, FEW = 4_000, 10
FILLED = """
INSERT INTO proj.actor_v1 (id, version, owner_id, facets, marks, row)
SELECT lpad(n::text, 32, '0')::uuid, 1, %(me)s, ARRAY['active=' || (n %% 2 = 0), 'kind=' || kind],
       ARRAY[CASE WHEN n %% 2 = 0 THEN %(on)s ELSE %(off)s END::bigint,
             CASE WHEN kind = 'agent' THEN %(agent)s ELSE %(human)s END, %(mine)s], '{}'
  FROM (SELECT n, CASE WHEN n > %(many)s - %(few)s THEN 'agent' ELSE 'human' END AS kind
          FROM generate_series(1, %(many)s) AS n) AS numbered
"""
MARKED = "INSERT INTO proj.actor_v1_mark SELECT mark, id FROM proj.actor_v1, unnest(marks) AS mark"


@pytest.fixture(scope="module")
def filled(cluster: Cluster) -> Database:
    database = fresh_database(cluster, ARRANGED)
    of = {
        "on": "active=true",
        "off": "active=false",
        "agent": "kind=agent",
        "human": "kind=human",
        "mine": f"owner_id={ME}",
    }
    marks = {name: number(mark) for name, mark in of.items()}
    with psycopg.connect(database.url("postgres"), autocommit=True) as connection:
        connection.execute(FILLED, {"me": ME, "many": MANY, "few": FEW, **marks})
        connection.execute(MARKED)
        connection.execute("VACUUM ANALYZE")
    return database


@pytest.mark.parametrize(
    ("every", "rows", "looked_up"),
    [
        ((), 50, 50),
        (("active=true",), 50, 50),
        (("kind=agent",), 10, 10),
        (("kind=none",), 0, 0),
        (("kind=agent", "active=true"), 5, 10),
    ],
    ids=["no filter", "common", "rare and last", "absent", "rare and common"],
)
async def test_a_page_of_a_list_reads_little_more_than_it_shows(
    filled: Database, every: tuple[str, ...], rows: int, looked_up: int
):
    asking = Recorder(filled.url())
    found = await PostgresLists(asking).listing(ACTORS, ListFilter(NOW, every), None, ListPage(50))
    await asking.close()
    assert len(found) == rows
    ((statement, arguments),) = asking.asked.items()
    plan = carried_out(filled, statement, arguments)
    assert rows_read(plan, "actor_v1") == looked_up
    if len(every) == 1:
        assert rows_read(plan, "actor_v1_mark") == looked_up


def carried_out(database: Database, statement: str, arguments: Sequence[Any]) -> str:
    """How a statement was carried out, with the rows that each part of it read."""
    with psycopg.connect(database.url("postgres"), autocommit=True) as connection:
        for name, value in (PLANNING | LISTING).items():
            connection.execute("SELECT set_config(%s, %s, false)", [name, value])
        connection.execute(f"PREPARE asked AS {statement}".encode())
        given = sql.SQL(", ").join(sql.Literal(_plain(value)) for value in arguments)
        plan = connection.execute(
            sql.SQL("EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) EXECUTE asked({})").format(given)
        )
        return "\n".join(line for (line,) in plan)


def rows_read(plan: str, table: str) -> int:
    """How many rows of a table, or entries of its index, were looked at."""
    scan = re.compile(rf"Scan .*?on {table}(?: \w+)? \(actual rows=(\d+) loops=(\d+)\)")
    removed = re.compile(r"Rows Removed by Filter: (\d+)")
    lines, read = [*plan.split("\n"), "", ""], 0
    for line, *following in zip(lines, lines[1:], lines[2:], lines[3:], strict=False):
        if found := scan.search(line):
            left_out = next((int(m[1]) for each in following if (m := removed.search(each))), 0)
            # Of several times it tells the mean, rounded down: each looked at one at least.
            times = int(found[2])
            read += max(int(found[1]) + left_out, int(times > 1)) * times
    return read


async def test_nor_planned_on_a_thousand_events(cluster: Cluster):
    await require_no_scan_of(cluster, 1_000)


@pytest.mark.faults
async def test_nor_planned_on_a_million_events(cluster: Cluster):
    await require_no_scan_of(cluster, 1_000_000)


async def require_no_scan_of(cluster: Cluster, number: int) -> None:
    """Plan every statement on a log of so many events, before and after it was analysed."""
    database = fresh_database(cluster, ARRANGED)
    database.ask(
        f"""INSERT INTO bk.events (version, stream_id, event_id, principal_id, correlation_id,
                                   occurred_at, schema_version, stream_type, event_type,
                                   command_name, payload)
            SELECT n % 20 + 1, md5((n / 20)::text)::uuid, gen_random_uuid(), '{ME}', '{ME}', now(),
                   1, 'Actor', 'ActorProfileUpdated', 'update_actor_profile', '{{}}'
              FROM generate_series(0, {number - 1}) AS n"""
    )
    asked = await every_statement(database)
    assert scanned(database, asked, PLANNING) == {}
    database.ask("ANALYZE bk.events")
    assert scanned(database, asked, PLANNING) == {}
