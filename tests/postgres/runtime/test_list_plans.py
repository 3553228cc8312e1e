"""Every combination of filters of every list is found by an index, whatever the planner knows."""

import json
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from itertools import chain, combinations, product
from typing import Any, cast
from uuid import UUID

import psycopg
import pytest
from psycopg import sql

from beamkeep.adapters.postgres.connections import PLANNING, Connections
from beamkeep.adapters.postgres.listing import LISTING, PostgresLists
from beamkeep.contexts.catalogue import CATALOGUE
from beamkeep.kernel import Sight, UnnamedListing, View
from beamkeep.runtime.filters import filter_of
from beamkeep.runtime.store import ListPage
from beamkeep.testing.cluster import Cluster
from beamkeep.testing.database import Database
from beamkeep.testing.postgres import ARRANGED, fresh_database

pytestmark = [pytest.mark.postgres, pytest.mark.anyio]

VIEWS: tuple[View[Any], ...] = CATALOGUE.views
NOW, ME = datetime(2030, 1, 1, tzinfo=UTC), UUID(int=9)
SIGHTS = None, Sight(ME), Sight(ME, teams=True)
NOT_FILTERS = {"cursor", "limit", "names", "order", "count", "min_token"}
TOGETHER = 3
"""So many filters are tried together in every combination, and then all of them at once."""
ROWS = 3_000
"""A table of some pages, which a planner without further settings reads from end to end."""
FILL = """
INSERT INTO proj.{table} (id, version, owner_id, facets, marks, row)
SELECT lpad(to_hex(n), 32, '0')::uuid, 1, gen_random_uuid(), ARRAY['a=' || n % 3],
       ARRAY[-1 - n % 3, n]::bigint[], '{{}}' FROM generate_series(1, {rows}) AS n
"""
MARK = "INSERT INTO proj.{table}_mark SELECT mark, id FROM proj.{table}, unnest(marks) AS mark"
BY_KEY = {"Index Scan", "Index Only Scan", "Bitmap Index Scan"}
BOUNDED = {"Limit", "CTE Scan", "Aggregate"}
"""What returns few rows, however many there are."""


class Unasked(Connections):
    """Connections that keep each statement and answer as if a page had been too short."""

    def __init__(self) -> None:
        super().__init__("", 1)
        self.asked: dict[str, Sequence[Any]] = {}

    async def read(self, statement: str, *arguments: Any) -> list[Any]:
        self.asked[statement] = arguments
        return [(None, None, None, ME)] if "reached" in statement else []


@pytest.fixture(scope="module")
def filled(cluster: Cluster) -> Database:
    database = fresh_database(cluster, ARRANGED)
    with psycopg.connect(database.url("postgres"), autocommit=True) as connection:
        for view in VIEWS:
            for statement in (FILL, MARK):
                text = statement.format(table=f"{view.name}_v1", rows=ROWS)
                connection.execute(text.encode())
        connection.execute("INSERT INTO bk.asset_place SELECT id, NULL, 'x' FROM proj.asset_v1")
        connection.execute("VACUUM ANALYZE")
    return database


def filters(view: View[Any]) -> dict[str, Any]:
    """A value for each filter of a list."""
    schema = view.listing.model_json_schema()
    fields = {name: each for name, each in schema["properties"].items() if name not in NOT_FILTERS}
    return {name: _value(each, schema.get("$defs", {})) for name, each in fields.items()}


def _value(schema: dict[str, Any], named: dict[str, Any]) -> Any:
    """A value of a JSON schema."""
    match schema:
        case {"anyOf": [first, *_]}:
            return _value(first, named)
        case {"$ref": str(ref)}:
            return _value(named[ref.rpartition("/")[2]], named)
        case {"enum": [first, *_]} | {"const": first}:
            return first
        case {"type": "array", "items": items}:
            return [_value(items, named)]
        case {"type": "boolean"}:
            return True
        case {"type": "integer" | "number"}:
            return 1
        case {"format": "uuid"}:
            return ME
        case {"format": "date-time"}:
            return NOW
        case _:
            return "{}"


def questions(view: View[Any]) -> Iterator[UnnamedListing]:
    """The list with each combination of filters."""
    given = filters(view)
    some = chain.from_iterable(combinations(given, number) for number in range(TOGETHER + 1))
    for names in {*some, tuple(given)}:
        yield view.listing.model_validate({name: given[name] for name in names})


async def statements(view: View[Any]) -> dict[str, Sequence[Any]]:
    """Everything that the database may be asked for a list, each with values."""
    connections = Unasked()
    lists = PostgresLists(connections)
    for query in questions(view):
        wider = {
            name: frozenset([f"{name} 1", f"{name} 2"])
            for name in view.expanded
            if getattr(query, name) is not None
        }
        found = filter_of(view, query, NOW, wider)
        for sight, newest_first, after in product(SIGHTS, (False, True), (None, ME)):
            page = ListPage(50, after, newest_first, ids_only=False)
            await lists.listing(view, found, sight, page)
    return connections.asked


@pytest.mark.parametrize("view", VIEWS, ids=[view.name for view in VIEWS])
async def test_every_combination_of_filters_is_found_by_an_index(filled: Database, view: View[Any]):
    asked = await statements(view)
    assert len(asked) >= 4
    found = plans(filled, asked)
    assert {s: wrong for s, plan in found.items() if (wrong := [*reads_all(plan)])} == {}


def reads_all(plan: dict[str, Any]) -> Iterator[str]:
    """Yield the parts of a plan that read or sort as many rows as a list has."""
    for node in nodes(plan):
        kind, relation = node["Node Type"], node.get("Relation Name", "")
        if kind == "Seq Scan" or (kind in BY_KEY and "Index Cond" not in node):
            yield f"{kind} of {relation}"
        if kind == "Sort" and any("Relation Name" in each for each in unbounded(node)):
            yield "Sort of rows"


def unbounded(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the nodes whose rows all reach this one."""
    for below in plan.get("Plans", []):
        if below["Node Type"] not in BOUNDED and below["Parent Relationship"] != "SubPlan":
            yield below
            yield from unbounded(below)


async def test_a_plan_without_the_settings_of_our_connections_would_scan(filled: Database):
    asked = await statements(VIEWS[0])
    found = plans(filled, asked, {}).values()
    assert any(node["Node Type"] == "Seq Scan" for plan in found for node in nodes(plan))


def plans(
    database: Database, asked: dict[str, Sequence[Any]], settings: dict[str, str] | None = None
) -> dict[str, dict[str, Any]]:
    """How the database would carry out each statement."""
    found: dict[str, dict[str, Any]] = {}
    with psycopg.connect(database.url("postgres"), autocommit=True) as connection:
        for name, value in (PLANNING | LISTING if settings is None else settings).items():
            connection.execute("SELECT set_config(%s, %s, false)", [name, value])
        for statement, arguments in asked.items():
            connection.execute(f"PREPARE asked AS {statement}".encode())
            given = sql.SQL(", ").join(sql.Literal(_plain(value)) for value in arguments)
            explain = sql.SQL("EXPLAIN (FORMAT JSON) EXECUTE asked ({})").format(given)
            ((told,),) = connection.execute(explain).fetchall()
            found[statement] = (json.loads(told) if isinstance(told, str) else told)[0]["Plan"]
            connection.execute("DEALLOCATE asked")
    return found


def _plain(value: Any) -> Any:
    """A value as psycopg can write it."""
    several = isinstance(value, list | tuple | set | frozenset)
    return [*cast("Iterable[Any]", value)] if several else value


def nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for below in plan.get("Plans", []):
        yield from nodes(below)


def test_filters_are_those_of_the_lists():
    assert {"status", "asset_id", "owner_id", "created_after"} <= filters(
        next(view for view in VIEWS if view.name == "run")
    ).keys()
