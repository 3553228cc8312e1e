"""Reading lists: the statements find rows by marks, and return them in the order of their ids."""

from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from hashlib import blake2b
from typing import Any
from uuid import UUID

import asyncpg

from beamkeep.kernel import ListFilter, Period, Record, Table, View, replace
from beamkeep.runtime import marks
from beamkeep.runtime.store import Position, StoreUnavailableError

from .connections import Connections
from .statements import Statement

LISTING = {
    "enable_sort": "off",
    "enable_hashagg": "off",
    "enable_hashjoin": "off",
    "enable_nestloop": "off",
    "max_parallel_workers_per_gather": "0",
}
"""Settings for connections that read lists: marks are read in index order and merged."""

LAST = UUID(int=2**128 - 1)
LOOK_AHEAD = 10_000
"""How many marks of each access path are counted to choose the path with the fewest."""
SMALL_SUBTREE = 5000
"""Up to so many rows of a subtree are read from its root; in a larger one, rows are tested."""
IS_SMALL = f"(SELECT count(*) FROM below) <= {SMALL_SUBTREE}"  # noqa: S608

# Whether no event up to a position is still to be projected, in any shard of the view.
FOLLOWS = """
SELECT NOT EXISTS (
  SELECT 1 FROM bk.projections p
    JOIN bk.bookmarks b ON b.projection = p.name AND b.generation = p.generation
    JOIN bk.events e ON (e.transaction_id, e.position) > (b.tx, b.pos)
     AND (e.transaction_id, e.position) <= ($2::text::xid8, $3::bigint)
     AND (b.shard = -1 OR e.tableoid = format('bk.events_p%s', b.shard)::regclass)
   WHERE p.name = $1 AND p.live)
"""

type ListRow = tuple[UUID, bytes]
"""The id of a row, and the row as JSON."""


class FilterShape(Record):
    """Which conditions a list filter has; filters of one shape share one statement."""

    every: bool = False
    groups: int = 0
    none: bool = False
    compared: tuple[tuple[str, str], ...] = ()
    period: Period | None = None
    tree: Table[Any] | None = None
    along: tuple[str, ...] = ()
    owner: bool = False
    self_owned: bool = False
    after: bool = False


class AccessPaths(Record):
    """The access paths of a filter: each one is a set of marks, and a row has one of every set."""

    single: int
    """How many paths have one mark; these come first."""
    several: int
    """How many paths have several marks."""
    branches: int
    """The most marks of one path, rounded up to a power of two."""
    stops_early: bool
    """Whether the path with the fewest marks is read only as far as it was looked ahead."""


class PostgresLists:
    """Reads the lists that projections keep."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    async def listing(
        self,
        view: View[Any],
        list_filter: ListFilter,
        owner_id: UUID | None,
        after: UUID | None,
        limit: int,
    ) -> Sequence[ListRow]:
        """Return rows in the order of their ids; only those of the owner if one is given."""
        shape = FilterShape(
            every=bool(list_filter.every),
            groups=len(list_filter.groups),
            none=bool(list_filter.none),
            compared=tuple((field, comparison) for field, comparison, _ in list_filter.compared),
            period=list_filter.period and list_filter.period[0],
            tree=view.tree,
            along=tuple(list_filter.along),
            owner=owner_id is not None,
            self_owned=view.aggregate.self_owned,
            after=after is not None,
        )
        values = {
            "every": list_filter.every,
            **{f"group_{n}": group for n, group in enumerate(list_filter.groups)},
            "none": list_filter.none,
            **{f"time_{n}": time for n, (_, _, time) in enumerate(list_filter.compared)},
            "now": list_filter.now,
            "holds": list_filter.period and list_filter.period[1],
            **list_filter.along,
            "owner_id": owner_id,
            "after": after,
            "limit": limit,
        }
        paths = sorted(marks.ways(view, list_filter, owner_id), key=lambda path: len(path) != 1)
        try:
            # Only few rows are above a row: they are found without marks.
            if paths and "above" not in list_filter.along:
                return await self._by_marks(view.name, shape, values, paths)
            return await self._by_scan(view.name, shape, values)
        except asyncpg.UndefinedTableError:
            raise StoreUnavailableError(
                "The lists do not exist yet. Start a worker with `beamkeep work`."
            ) from None
        except asyncpg.LockNotAvailableError:
            raise StoreUnavailableError("The list is locked. Try again.") from None

    async def follows(self, view: View[Any], position: Position) -> bool:
        """Whether the view shows all events up to a position."""
        rows = await self._connections.read(FOLLOWS, view.name, str(position.tx), position.position)
        return rows[0][0]

    async def _by_marks(
        self,
        name: str,
        shape: FilterShape,
        values: Mapping[str, Any],
        paths: Sequence[Sequence[str]],
    ) -> list[ListRow]:
        counts = access_paths(paths, shape)
        numbers = {f"marks_{n}": [number(m) for m in path] for n, path in enumerate(paths)}
        try:
            statement = fewest_marks(name, shape, counts)
            rows = await self._connections.read(*statement.bind({**values, **numbers}))
        except asyncpg.UndefinedTableError:
            # This generation of the list was built before rows had marks.
            return await self._by_scan(name, shape, values)
        found = [(row[0], row[1].encode()) for row in rows if row[0]]
        missing = values["limit"] - len(found)
        if not counts.stops_early or not missing or rows[0][2] is None:
            return found
        statement = merged_marks(name, replace(shape, after=True), counts)
        rest = {**values, **numbers, "after": rows[0][2], "limit": missing}
        rows = await self._connections.read(*statement.bind(rest))
        return found + [(id, row.encode()) for id, row in rows]

    async def _by_scan(
        self, name: str, shape: FilterShape, values: Mapping[str, Any]
    ) -> list[ListRow]:
        rows = await self._connections.read(*scan(name, shape).bind(values))
        return [(id, row.encode()) for id, row in rows]


@lru_cache(65_536)
def number(mark: str) -> int:
    """Return the stored form of a mark; marks may collide, so found rows are tested again."""
    return int.from_bytes(blake2b(mark.encode(), digest_size=8).digest(), signed=True)


def access_paths(paths: Sequence[Sequence[str]], shape: FilterShape) -> AccessPaths:
    """Return the counts of some paths, of which those with one mark come first."""
    single, most = sum(len(path) == 1 for path in paths), max(map(len, paths))
    return AccessPaths(
        single=single,
        several=len(paths) - single,
        branches=1 << (max(most, 1) - 1).bit_length(),
        stops_early=single > 1 and not shape.along,
    )


@cache
def scan(name: str, shape: FilterShape) -> Statement:
    """Return the statement that reads rows in the order of their ids and tests each one."""
    ctes, conditions = _conditions(shape)
    tests = "".join(f" AND {condition}" for condition in conditions)
    if not ctes:
        return Statement(
            f"SELECT id, row::text FROM proj.{name} WHERE true{tests}{_after(shape)}"  # noqa: S608
            " ORDER BY id LIMIT :limit"
        )
    source = f"SELECT id FROM proj.{name} WHERE true{_after(shape)}"  # noqa: S608
    return Statement(f"{_with(ctes)}{_page(name, _with_tree([source], shape), conditions)}")


@cache
def fewest_marks(name: str, shape: FilterShape, paths: AccessPaths) -> Statement:
    """Return the statement that reads the rows by the path that has the fewest marks.

    If several paths have one mark, it stops where it has looked ahead to, and returns that id.
    """
    ctes, conditions = _conditions(shape)
    after = _after(shape)
    given = [f":marks_{n}::bigint[]" for n in range(paths.single + paths.several)]
    if len(given) == 1:
        chosen = f"({given[0]})[{{}}]"
    else:
        ctes.append(CHOSEN.format(name=name, paths="), (".join(given), after=after))
        chosen = "(SELECT path[{}] FROM chosen)"
    stop = (
        f" AND id <= COALESCE((SELECT reached FROM chosen), '{LAST}')"  # noqa: S608
        if paths.stops_early
        else ""
    )
    sources = [
        f"SELECT id FROM proj.{name}_mark WHERE mark = {chosen.format(n + 1)}{after}{stop}"  # noqa: S608
        for n in range(paths.branches)
    ]
    page = _page(name, _with_tree(sources, shape), conditions)
    if paths.stops_early:
        ctes.append(f"page AS MATERIALIZED ({page})")
        page = "SELECT id, row, reached FROM chosen LEFT JOIN page ON true ORDER BY id"
    return Statement(f"{_with(ctes)}{page}")


@cache
def merged_marks(name: str, shape: FilterShape, paths: AccessPaths) -> Statement:
    """Return the statement that merges all paths with one mark, and reads the rows on all."""
    _, conditions = _conditions(shape)
    joined = " JOIN ".join(
        f"(SELECT id FROM proj.{name}_mark WHERE mark = (:marks_{n}::bigint[])[1]{_after(shape)})"  # noqa: S608
        f" AS m{n}{' USING (id)' if n else ''}"
        for n in range(paths.single)
    )
    return Statement(_page(name, [f"SELECT id FROM {joined}"], conditions))  # noqa: S608


# The path whose marks reach the highest id within the look-ahead has the fewest from here on. The
# marks of paths that end earlier are counted.
CHOSEN = f"""chosen AS MATERIALIZED (
  SELECT path, reached
    FROM (SELECT path, (SELECT ahead.id FROM unnest(path) AS one (mark), LATERAL (
                         SELECT id FROM proj.{{name}}_mark m WHERE m.mark = one.mark{{after}}
                          ORDER BY id OFFSET {LOOK_AHEAD} / cardinality(path) LIMIT 1) AS ahead
                        ORDER BY ahead.id LIMIT 1) AS reached
            FROM (VALUES ({{paths}})) AS given (path) OFFSET 0) AS looked
   ORDER BY reached DESC NULLS FIRST, CASE WHEN reached IS NULL THEN (
     SELECT count(*) FROM unnest(path) AS one (mark), LATERAL (
       SELECT FROM proj.{{name}}_mark m WHERE m.mark = one.mark{{after}}) AS all_ahead) END
   LIMIT 1)"""  # noqa: S608


def _after(shape: FilterShape) -> str:
    return " AND id > :after::uuid" if shape.after else ""


def _with(ctes: list[str]) -> str:
    return f"WITH RECURSIVE {', '.join(ctes)}\n" if ctes else ""


def _page(name: str, sources: list[str], conditions: list[str]) -> str:
    """Merge the sorted ids of the sources, and look up the row of each id."""
    either = " UNION ALL ".join(f"({source} ORDER BY id)" for source in sources)
    ids = sources[0] if len(sources) == 1 else f"SELECT DISTINCT id FROM ({either}) AS either"  # noqa: S608
    tests = "".join(f" AND {condition}" for condition in conditions)
    # OFFSET 0 keeps the subquery from being flattened into a join that begins with all rows.
    return f"""SELECT t.id, t.row::text AS row
  FROM ({ids} ORDER BY id) AS c
 CROSS JOIN LATERAL (SELECT id, row FROM proj.{name} AS l WHERE id = c.id{tests} OFFSET 0) AS t
 ORDER BY c.id LIMIT :limit"""  # noqa: S608


def _with_tree(sources: list[str], shape: FilterShape) -> list[str]:
    """Read the ids from the tree instead if few rows are above or below the given row."""
    if "above" in shape.along:
        return [f"SELECT id FROM above WHERE true{_after(shape)}"]  # noqa: S608
    if "below" in shape.along:
        found = f"SELECT id FROM below WHERE {IS_SMALL}{_after(shape)}"  # noqa: S608
        return [*(f"{source} AND NOT {IS_SMALL}" for source in sources), found]
    return sources


def _conditions(shape: FilterShape) -> tuple[list[str], list[str]]:
    """Return the common table expressions of the tree, and the conditions that rows must meet."""
    ctes, conditions = list[str](), list[str]()
    if shape.every:
        conditions.append("facets @> :every::text[]")
    conditions += [f"facets && :group_{n}::text[]" for n in range(shape.groups)]
    if shape.none:
        conditions.append("NOT facets && :none::text[]")
    for n, (field, comparison) in enumerate(shape.compared):
        conditions.append(f"{_time(field)} {comparison} :time_{n}::timestamptz")
    if period := shape.period:
        begun = (
            f" AND COALESCE({_time(period.since)} <= :now::timestamptz, true)"
            if period.since
            else ""
        )
        not_over = f" AND COALESCE({_time(period.until)} > :now::timestamptz, true)"
        holds = f"(row->>'status' = '{period.status}'{begun}{not_over})"
        conditions.append(f"{holds} = :holds::bool")
    for direction in shape.along:
        cte, condition = _along(shape.tree, direction)
        ctes.append(cte)
        conditions.append(condition)
    if shape.owner:
        owned = "owner_id = :owner_id::uuid"
        conditions.append(f"({owned} OR id = :owner_id::uuid)" if shape.self_owned else owned)
    return ctes, conditions


def _time(field: str) -> str:
    return f"(row->>'{field}')::timestamptz"


def _along(tree: Table[Any] | None, direction: str) -> tuple[str, str]:
    """Return how the rows below or above one row of a tree are found, and the condition on a row.

    UNION removes duplicates, so that the recursion ends even if the tree has a cycle.
    """
    assert tree is not None, "only a list of a tree has this filter"  # noqa: S101
    key, parent = tree.key[0], tree.parent
    if direction == "above":
        cte = (
            f"above AS (SELECT {parent} AS id FROM bk.{tree.name} WHERE {key} = :above::uuid"  # noqa: S608
            f" UNION SELECT r.{parent} FROM above JOIN bk.{tree.name} r ON r.{key} = above.id)"
        )
        return cte, "id IN (SELECT id FROM above)"
    cte = (
        f"under AS (SELECT {key} AS id FROM bk.{tree.name} WHERE {parent} = :below::uuid"  # noqa: S608
        f" UNION SELECT r.{key} FROM under JOIN bk.{tree.name} r ON r.{parent} = under.id),"
        f" below AS MATERIALIZED (SELECT id FROM under LIMIT {SMALL_SUBTREE + 1})"
    )
    upwards = (
        f"WITH RECURSIVE up AS (SELECT {parent} AS id FROM bk.{tree.name} r"  # noqa: S608
        f" WHERE r.{key} = l.id"
        f" UNION SELECT r.{parent} FROM up JOIN bk.{tree.name} r ON r.{key} = up.id)"
        f" SELECT 1 FROM up WHERE id = :below::uuid"
    )
    return cte, (
        f"CASE WHEN {IS_SMALL} THEN id IN (SELECT id FROM below) ELSE EXISTS ({upwards}) END"  # noqa: S608
    )
