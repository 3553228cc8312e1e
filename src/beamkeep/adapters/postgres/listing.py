"""Reading lists: the statements find rows by marks, and return them in the order of their ids."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from functools import cache, lru_cache
from hashlib import blake2b
from typing import Any
from uuid import UUID

import asyncpg

from beamkeep.feed.lists import marks
from beamkeep.kernel import Period, Record, Sight, Table, View
from beamkeep.runtime.store import ListFilter, ListPage, ListRow, Position, StoreUnavailableError

from .connections import Connections
from .sights import of_teams
from .statements import Statement

LISTING = {
    "enable_sort": "off",
    "enable_hashagg": "off",
    "enable_hashjoin": "off",
    "enable_nestloop": "off",
    "max_parallel_workers_per_gather": "0",
}
"""Settings for connections that read lists: marks are read in index order and merged."""

FIRST, LAST = UUID(int=0), UUID(int=2**128 - 1)
ID_MARGIN = timedelta(days=1)
"""By how much the time in an object's id may differ from the time at which it was created."""
LOOK_AHEAD = 10_000
"""How many marks of each access path are counted to choose the path with the fewest."""
MOST_BRANCHES = 128
"""Up to so many marks are read in index order, each in a branch; of more, the ids are sorted."""
SMALL_SUBTREE = 5000
"""Up to so many rows of a subtree are read from its root; in a larger one, rows are tested."""
BETWEEN = "id > :low::uuid AND id < :high::uuid"
IS_SMALL = f"(SELECT count(*) FROM below) <= {SMALL_SUBTREE}"  # noqa: S608

# Whether no event up to a position is still to be projected, in any shard of the views, and none of
# a team, whose members find rows by marks. Until the first members are followed, there is no mark.
FOLLOWS = """
SELECT CASE WHEN EXISTS (SELECT 1 FROM bk.bookmarks WHERE projection = 'team_marks')
       THEN NOT EXISTS (
  SELECT 1 FROM bk.bookmarks b
    JOIN bk.events e ON (e.transaction_id, e.position) > (b.tx, b.pos)
     AND (e.transaction_id, e.position) <= ($2::text::xid8, $3::bigint)
   WHERE b.projection = 'team_marks' AND e.stream_type = 'Team')
       ELSE NOT EXISTS (SELECT 1 FROM bk.team_member) END
   AND NOT EXISTS (
  SELECT 1 FROM bk.projections p
    JOIN bk.bookmarks b ON b.projection = p.name AND b.generation = p.generation
    JOIN bk.events e ON (e.transaction_id, e.position) > (b.tx, b.pos)
     AND (e.transaction_id, e.position) <= ($2::text::xid8, $3::bigint)
     AND (b.shard = -1 OR e.tableoid = format('bk.events_p%s', b.shard)::regclass)
   WHERE p.name = ANY($1::text[]) AND p.live)
"""


class FilterShape(Record):
    """Which conditions a list filter has; filters of one shape share one statement."""

    every: bool = False
    groups: int = 0
    none: bool = False
    compared: tuple[tuple[str, str], ...] = ()
    period: Period | None = None
    tree: Table[Any] | None = None
    along: tuple[str, ...] = ()
    owned: bool = False
    """Whether a filter names the owner."""
    owner: bool = False
    """Whether the caller does not see everybody's objects."""
    teams: bool = False
    """Whether the caller sees those of its teams."""
    self_owned: bool = False
    created: tuple[str, ...] = ()
    """The comparisons with the time of creation."""
    newest_first: bool = False
    ids_only: bool = False

    @property
    def order(self) -> str:
        return "id DESC" if self.newest_first else "id"


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
        sight: Sight | None,
        page: ListPage,
    ) -> Sequence[ListRow]:
        """Return rows in the order of their ids; only those in sight if one is given."""
        shape = FilterShape(
            every=bool(list_filter.every),
            groups=len(list_filter.groups),
            none=bool(list_filter.none),
            compared=tuple((field, comparison) for field, comparison, _ in list_filter.compared),
            period=list_filter.period and list_filter.period[0],
            tree=view.tree,
            along=tuple(list_filter.along),
            owned=list_filter.owner_id is not None,
            owner=sight is not None,
            teams=sight is not None and sight.teams,
            self_owned=view.aggregate.self_owned,
            created=tuple(how for how, _ in list_filter.created),
            newest_first=page.newest_first,
            ids_only=page.ids_only,
        )
        low, high = _id_bounds(list_filter)
        if page.after:
            low, high = (low, page.after) if page.newest_first else (page.after, high)
        values = {
            "every": list_filter.every,
            **{f"group_{n}": group for n, group in enumerate(list_filter.groups)},
            "none": list_filter.none,
            **{f"time_{n}": time for n, (_, _, time) in enumerate(list_filter.compared)},
            "now": list_filter.now,
            "holds": list_filter.period and list_filter.period[1],
            **list_filter.along,
            "owned_by": list_filter.owner_id,
            "owner_id": sight and sight.principal_id,
            **{f"created_{n}": time for n, (_, time) in enumerate(list_filter.created)},
            "low": low,
            "high": high,
            "limit": page.limit,
        }
        paths = sorted(marks.ways(view, list_filter, sight), key=lambda path: len(path) != 1)
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

    async def follows(self, views: Sequence[View[Any]], position: Position) -> bool:
        """Whether the views show all events up to a position."""
        names, tx = [view.name for view in views], str(position.tx)
        rows = await self._connections.read(FOLLOWS, names, tx, position.position)
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
        found = _list_rows(row[:3] for row in rows if row[0])
        missing = values["limit"] - len(found)
        if not counts.stops_early or not missing or rows[0][3] is None:
            return found
        statement = merged_marks(name, shape, counts)
        beyond = {"high" if shape.newest_first else "low": rows[0][3], "limit": missing}
        rest = {**values, **numbers, **beyond}
        rows = await self._connections.read(*statement.bind(rest))
        return found + _list_rows(rows)

    async def _by_scan(
        self, name: str, shape: FilterShape, values: Mapping[str, Any]
    ) -> list[ListRow]:
        rows = await self._connections.read(*scan(name, shape).bind(values))
        return _list_rows(rows)


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
            f"SELECT id, {_row(shape)} FROM proj.{name} WHERE {BETWEEN}{tests}"  # noqa: S608
            f" ORDER BY {shape.order} LIMIT :limit"
        )
    source = f"SELECT id FROM proj.{name} WHERE {BETWEEN}"  # noqa: S608
    sources = _with_tree([source], shape)
    return Statement(f"{_with(ctes)}{_page(name, shape, sources, conditions)}")


@cache
def fewest_marks(name: str, shape: FilterShape, paths: AccessPaths) -> Statement:
    """Return the statement that reads the rows by the path that has the fewest marks.

    If several paths have one mark, it stops where it has looked ahead to, and returns that id.
    """
    ctes, conditions = _conditions(shape)
    given = [f":marks_{n}::bigint[]" for n in range(paths.single + paths.several)]
    if len(given) == 1:
        path = given[0]
    else:
        furthest, paths_given = "ASC" if shape.newest_first else "DESC", "), (".join(given)
        ctes.append(
            CHOSEN.format(name=name, paths=paths_given, furthest=furthest, order=shape.order)
        )
        path = "(SELECT path FROM chosen)"
    beyond, end = (">=", FIRST) if shape.newest_first else ("<=", LAST)
    reached = f" AND id {beyond} COALESCE((SELECT reached FROM chosen), '{end}')"  # noqa: S608
    stop = reached if paths.stops_early else ""
    marks = [f"({path})[{n + 1}]" for n in range(paths.branches)]
    distinct = ""
    if paths.branches > MOST_BRANCHES:
        marks, distinct = [f"ANY(({path})::bigint[])"], "DISTINCT "
    sources = [
        f"SELECT {distinct}id FROM proj.{name}_mark WHERE mark = {mark} AND {BETWEEN}{stop}"  # noqa: S608
        for mark in marks
    ]
    page = _page(name, shape, _with_tree(sources, shape), conditions)
    if paths.stops_early:
        ctes.append(f"page AS MATERIALIZED ({page})")
        all_rows = "SELECT id, row, version, reached FROM chosen LEFT JOIN page ON true"
        page = f"{all_rows} ORDER BY {shape.order}"
    return Statement(f"{_with(ctes)}{page}")


@cache
def merged_marks(name: str, shape: FilterShape, paths: AccessPaths) -> Statement:
    """Return the statement that merges all paths with one mark, and reads the rows on all."""
    _, conditions = _conditions(shape)
    joined = " JOIN ".join(
        f"(SELECT id FROM proj.{name}_mark WHERE mark = (:marks_{n}::bigint[])[1] AND {BETWEEN})"  # noqa: S608
        f" AS m{n}{' USING (id)' if n else ''}"
        for n in range(paths.single)
    )
    return Statement(_page(name, shape, [f"SELECT id FROM {joined}"], conditions))  # noqa: S608


# The path whose marks reach the furthest id within the look-ahead has the fewest from here on. The
# marks of paths that end earlier are counted.
CHOSEN = f"""chosen AS MATERIALIZED (
  SELECT path, reached
    FROM (SELECT path, (SELECT ahead.id FROM unnest(path) AS one (mark), LATERAL (
                         SELECT id FROM proj.{{name}}_mark m WHERE m.mark = one.mark AND {BETWEEN}
                          ORDER BY {{order}} OFFSET {LOOK_AHEAD} / cardinality(path)
                          LIMIT 1) AS ahead
                        ORDER BY ahead.{{order}} LIMIT 1) AS reached
            FROM (VALUES ({{paths}})) AS given (path) OFFSET 0) AS looked
   ORDER BY reached {{furthest}} NULLS FIRST, CASE WHEN reached IS NULL THEN (
     SELECT count(*) FROM unnest(path) AS one (mark), LATERAL (
       SELECT FROM proj.{{name}}_mark m WHERE m.mark = one.mark AND {BETWEEN}) AS all_ahead) END
   LIMIT 1)"""  # noqa: S608


def _id_bounds(list_filter: ListFilter) -> tuple[UUID, UUID]:
    """Return the ids between which the objects are that were created in the time asked for.

    The first 48 bits of an id are the time at which it was made, in milliseconds.
    """
    low, high = FIRST, LAST
    for how, time in list_filter.created:
        margin = -ID_MARGIN if how == ">=" else ID_MARGIN
        milliseconds = int((time.timestamp() + margin.total_seconds()) * 1000)
        at = UUID(int=min(max(milliseconds, 0), (1 << 48) - 1) << 80)
        low, high = (at, high) if how == ">=" else (low, at)
    return low, high


def _row(shape: FilterShape) -> str:
    return "'' AS row, 0 AS version" if shape.ids_only else "row::text AS row, version"


def _list_rows(rows: Iterable[Sequence[Any]]) -> list[ListRow]:
    return [ListRow(id, row.encode(), version) for id, row, version in rows]


def _with(ctes: list[str]) -> str:
    return f"WITH RECURSIVE {', '.join(ctes)}\n" if ctes else ""


def _page(name: str, shape: FilterShape, sources: list[str], conditions: list[str]) -> str:
    """Merge the sorted ids of the sources, and look up the row of each id."""
    order = shape.order
    either = " UNION ALL ".join(f"({source} ORDER BY {order})" for source in sources)
    ids = sources[0] if len(sources) == 1 else f"SELECT DISTINCT id FROM ({either}) AS either"  # noqa: S608
    tests = "".join(f" AND {condition}" for condition in conditions)
    # OFFSET 0 keeps the subquery from being flattened into a join that begins with all rows.
    return f"""SELECT t.id, {_row(shape)}
  FROM ({ids} ORDER BY {order}) AS c
 CROSS JOIN LATERAL (SELECT id, row, version FROM proj.{name} AS l
                      WHERE id = c.id{tests} OFFSET 0) AS t
 ORDER BY c.{order} LIMIT :limit"""  # noqa: S608


def _with_tree(sources: list[str], shape: FilterShape) -> list[str]:
    """Read the ids from the tree instead if few rows are above or below the given row."""
    if "above" in shape.along:
        return [f"SELECT id FROM above WHERE {BETWEEN}"]  # noqa: S608
    if "below" in shape.along:
        found = f"SELECT id FROM below WHERE {IS_SMALL} AND {BETWEEN}"  # noqa: S608
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
    for n, comparison in enumerate(shape.created):
        conditions.append(f"{_time('created_at')} {comparison} :created_{n}::timestamptz")
    if shape.owned:
        conditions.append("owner_id = :owned_by::uuid")
    if shape.owner:
        seen = ["owner_id = :owner_id::uuid"]
        seen += ["id = :owner_id::uuid"] * shape.self_owned
        seen += [of_teams("id", ":owner_id::uuid")] * shape.teams
        conditions.append(f"({' OR '.join(seen)})")
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
