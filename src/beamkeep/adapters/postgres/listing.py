"""The statements by which lists are read: each finds its rows in the order of their ids."""

from collections.abc import Sequence
from functools import cache, lru_cache
from hashlib import blake2b
from typing import Any
from uuid import UUID

from beamkeep.kernel import Period, Record, Table

LISTING = {
    "enable_sort": "off",
    "enable_hashagg": "off",
    "enable_hashjoin": "off",
    "enable_nestloop": "off",
    "max_parallel_workers_per_gather": "0",
}
"""Settings for connections that read lists: marks are read in their order and merged."""

LAST = UUID(int=2**128 - 1)
LOOKED_AHEAD = 10_000
"""How far the marks of each way are looked ahead in order to choose the one with the fewest."""
FEW = 5000
"""How many rows of a tree are found from their root; among more, each row is followed up."""


class Wanted(Record):
    """The shape of what is looked for; the values are arguments of the statement."""

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


@lru_cache(65_536)
def number(mark: str) -> int:
    """A mark as it is stored. Two may share one: what is found is compared with what is wanted."""
    return int.from_bytes(blake2b(mark.encode(), digest_size=8).digest(), signed=True)


class Ways(Record):
    """How many ways there are to find what is looked for."""

    single: int
    """By one mark each; these come first."""
    several: int
    """By one of several marks."""
    branches: int
    """How many marks can be followed at once: a power of two."""
    ends: bool
    """Whether reading by the fewest marks ends early, and goes on by merging them."""


def shape_of(ways: Sequence[Sequence[str]], wanted: Wanted) -> Ways:
    """The shape of some ways, of which those by one mark come first."""
    single, most = sum(len(way) == 1 for way in ways), max(map(len, ways))
    return Ways(
        single=single,
        several=len(ways) - single,
        branches=1 << (max(most, 1) - 1).bit_length(),
        ends=single > 1 and not wanted.along,
    )


@cache
def walking(name: str, wanted: Wanted) -> str:
    """Read rows in the order of their ids, and leave out what is not wanted."""
    conditions, limit, standing = _conditions(wanted)
    found = f" AND {' AND '.join(conditions)}" if conditions else ""
    after = f" AND id > ${limit - 1}::uuid" if wanted.after else ""
    if not standing:
        return (
            f"SELECT id, row::text FROM proj.{name} WHERE true{found}{after}"  # noqa: S608
            f" ORDER BY id LIMIT ${limit}"
        )
    source = f"SELECT id FROM proj.{name} WHERE true{after}"  # noqa: S608
    return f"{_with(standing)}{_page(name, _along_too([source], wanted, limit), conditions, limit)}"


@cache
def marked(name: str, wanted: Wanted, ways: Ways) -> str:
    """Read the marks of the way that has the fewest from here on, and the rows that have them.

    Where several ways are by one mark, it ends where it has looked ahead to, and says where.
    """
    conditions, limit, standing = _conditions(wanted)
    after = f" AND id > ${limit - 1}::uuid" if wanted.after else ""
    given = [f"${limit + 1 + n}::bigint[]" for n in range(ways.single + ways.several)]
    if len(given) == 1:
        ctes, chosen = standing, f"({given[0]})[{{}}]"
    else:
        choice = CHOSEN.format(name=name, ways="), (".join(given), after=after)
        ctes, chosen = [*standing, choice], "(SELECT way[{}] FROM chosen)"
    ends = f" AND id <= COALESCE((SELECT reached FROM chosen), '{LAST}')" if ways.ends else ""  # noqa: S608
    sources = [
        f"SELECT id FROM proj.{name}_mark WHERE mark = {chosen.format(n + 1)}{after}{ends}"  # noqa: S608
        for n in range(ways.branches)
    ]
    page = _page(name, _along_too(sources, wanted, limit), conditions, limit)
    if ways.ends:
        ctes = [*ctes, f"page AS MATERIALIZED ({page})"]
        page = "SELECT id, row, reached FROM chosen LEFT JOIN page ON true ORDER BY id"
    return f"{_with(ctes)}{page}"


@cache
def merging(name: str, wanted: Wanted, ways: Ways) -> str:
    """Read the marks of all ways by one mark side by side, and the rows that have all of them."""
    conditions, limit, _ = _conditions(wanted)
    after = f" AND id > ${limit - 1}::uuid" if wanted.after else ""
    joined = " JOIN ".join(
        f"(SELECT id FROM proj.{name}_mark WHERE mark = (${limit + 1 + n}::bigint[])[1]{after})"  # noqa: S608
        f" AS m{n}{' USING (id)' if n else ''}"
        for n in range(ways.single)
    )
    return _page(name, [f"SELECT id FROM {joined}"], conditions, limit)  # noqa: S608


# The marks that reach furthest in as many steps are the fewest from here on; those that end before
# are counted.
CHOSEN = f"""chosen AS MATERIALIZED (
  SELECT way, reached
    FROM (SELECT way, (SELECT ahead.id FROM unnest(way) AS one (mark), LATERAL (
                         SELECT id FROM proj.{{name}}_mark m WHERE m.mark = one.mark{{after}}
                          ORDER BY id OFFSET {LOOKED_AHEAD} / cardinality(way) LIMIT 1) AS ahead
                        ORDER BY ahead.id LIMIT 1) AS reached
            FROM (VALUES ({{ways}})) AS given (way) OFFSET 0) AS looked
   ORDER BY reached DESC NULLS FIRST, CASE WHEN reached IS NULL THEN (
     SELECT count(*) FROM unnest(way) AS one (mark), LATERAL (
       SELECT FROM proj.{{name}}_mark m WHERE m.mark = one.mark{{after}}) AS all_ahead) END
   LIMIT 1)"""  # noqa: S608


def _with(ctes: list[str]) -> str:
    return f"WITH RECURSIVE {', '.join(ctes)}\n" if ctes else ""


def _page(name: str, sources: list[str], conditions: list[str], limit: int) -> str:
    """Merge what the sources find in order, and look each up among the rows."""
    either = " UNION ALL ".join(f"({source} ORDER BY id)" for source in sources)
    ids = sources[0] if len(sources) == 1 else f"SELECT DISTINCT id FROM ({either}) AS either"  # noqa: S608
    found = "".join(f" AND {condition}" for condition in conditions)
    # The subquery is not to be flattened: another join would begin with all of the rows.
    return f"""SELECT t.id, t.row::text AS row
  FROM ({ids} ORDER BY id) AS c
 CROSS JOIN LATERAL (SELECT id, row FROM proj.{name} AS l WHERE id = c.id{found} OFFSET 0) AS t
 ORDER BY c.id LIMIT ${limit}"""  # noqa: S608


def _along_too(sources: list[str], wanted: Wanted, limit: int) -> list[str]:
    """Begin with the tree where few stand above or below what is given."""
    after = f" AND id > ${limit - 1}::uuid" if wanted.after else ""
    if "above" in wanted.along:
        return [f"SELECT id FROM above WHERE true{after}"]  # noqa: S608
    if "below" in wanted.along:
        found = f"SELECT id FROM below WHERE {_few()}{after}"  # noqa: S608
        return [*(f"{source} AND NOT {_few()}" for source in sources), found]
    return sources


def _few() -> str:
    return f"(SELECT count(*) FROM below) <= {FEW}"  # noqa: S608


def _conditions(wanted: Wanted) -> tuple[list[str], int, list[str]]:
    """What a row must fulfil, the number of the argument that limits them, and what is above."""
    conditions, standing, n = list[str](), list[str](), 0
    if wanted.every:
        conditions.append(f"facets @> ${(n := n + 1)}::text[]")
    conditions += [f"facets && ${(n := n + 1)}::text[]" for _ in range(wanted.groups)]
    if wanted.none:
        conditions.append(f"NOT facets && ${(n := n + 1)}::text[]")
    for field, how in wanted.compared:
        conditions.append(f"{_time(field)} {how} ${(n := n + 1)}::timestamptz")
    if period := wanted.period:
        now, n = f"${n + 1}::timestamptz", n + 2
        since = f" AND COALESCE({_time(period.since)} <= {now}, true)" if period.since else ""
        until = f" AND COALESCE({_time(period.until)} > {now}, true)"
        conditions.append(f"(row->>'status' = '{period.status}'{since}{until}) = ${n}::bool")
    for way in wanted.along:
        cte, condition = _standing(wanted.tree, way, n := n + 1)
        standing.append(cte)
        conditions.append(condition)
    if wanted.owner:
        owned = f"owner_id = ${(n := n + 1)}::uuid"
        conditions.append(f"({owned} OR id = ${n}::uuid)" if wanted.self_owned else owned)
    return conditions, n + wanted.after + 1, standing


def _time(field: str) -> str:
    return f"(row->>'{field}')::timestamptz"


def _standing(tree: Table[Any] | None, way: str, n: int) -> tuple[str, str]:
    """What stands below or above one row of a tree. A set: it ends even where the tree does not."""
    assert tree is not None, "only a tree is filtered so"  # noqa: S101
    key, parent = tree.key[0], tree.parent
    if way == "above":
        cte = (
            f"above AS (SELECT {parent} AS id FROM bk.{tree.name} WHERE {key} = ${n}::uuid"  # noqa: S608
            f" UNION SELECT r.{parent} FROM above JOIN bk.{tree.name} r ON r.{key} = above.id)"
        )
        return cte, "id IN (SELECT id FROM above)"
    ctes = (
        f"under AS (SELECT {key} AS id FROM bk.{tree.name} WHERE {parent} = ${n}::uuid"  # noqa: S608
        f" UNION SELECT r.{key} FROM under JOIN bk.{tree.name} r ON r.{parent} = under.id),"
        f" below AS MATERIALIZED (SELECT id FROM under LIMIT {FEW + 1})"
    )
    upwards = (
        f"WITH RECURSIVE up AS (SELECT {parent} AS id FROM bk.{tree.name} r"  # noqa: S608
        f" WHERE r.{key} = l.id"
        f" UNION SELECT r.{parent} FROM up JOIN bk.{tree.name} r ON r.{key} = up.id)"
        f" SELECT 1 FROM up WHERE id = ${n}::uuid"
    )
    return ctes, (
        f"CASE WHEN {_few()} THEN id IN (SELECT id FROM below) ELSE EXISTS ({upwards}) END"  # noqa: S608
    )
