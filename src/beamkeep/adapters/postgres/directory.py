"""The directory on PostgreSQL: the statements that find its rows and that write them."""

import re
from collections.abc import Mapping, Sequence, Set
from itertools import batched
from typing import Any
from uuid import UUID

import asyncpg

from beamkeep.feed.directory.entries import Entry, tail_of
from beamkeep.feed.directory.seam import MOST_CANDIDATES, Candidates, Match, PublishedObject
from beamkeep.kernel import Sight
from beamkeep.runtime.store import StoreUnavailableError

from .connections import Connections
from .sights import CURRENT, of_teams
from .statements import Statement

SEARCHING = {
    "plan_cache_mode": "force_custom_plan",
    "enable_sort": "off",
    "statement_timeout": "1000",
}
"""Settings for connections that search: which index is best depends on the text."""
BATCH_SIZE = 500

COLUMNS = "id, version, owner_id, kind, status, name, folded, words, facility_code"
# Where a text is common, the index of kinds would look cheap to the planner, and is not.
ANY_KIND = "kind || '' = ANY(:kinds::text[])"
OWN = " AND owner_id = :principal_id::uuid"
OF_TEAM = f" AND (owner_id = :principal_id::uuid OR {of_teams('directory.id')})"
SIGHTS: dict[bool | None, str] = {None: "", False: OWN, True: OF_TEAM}
"""The conditions of everybody's entries, the own ones, and those of teams as well."""
FIND: dict[tuple[Match, bool | None], Statement] = {
    (match, teams): Statement(
        f"SELECT {COLUMNS} FROM bk.directory WHERE {condition}{seen}{order}"  # noqa: S608
        f" LIMIT {MOST_CANDIDATES}"
    )
    for match, (condition, order) in {
        Match.EXACT: ("folded = :text AND kind = ANY(:kinds::text[])", " ORDER BY folded, id"),
        Match.TAIL: (f"tail >= :text AND tail < :end AND {ANY_KIND}", ""),
        Match.PREFIX: (
            f"folded >= :text AND folded < :end AND {ANY_KIND}",
            " ORDER BY folded, id",
        ),
        Match.PART: (f"words LIKE :pattern AND {ANY_KIND}", ""),
    }.items()
    for teams, seen in SIGHTS.items()
}
MOST_READ = 10_000
"""How many entries are read where no index finds those that a text is in."""
# The own entries, and those of the teams. OFFSET 0 keeps the planner from beginning with the
# objects of all teams.
READ_BY_TEAMS = f"""(
  (SELECT * FROM bk.directory WHERE owner_id = :principal_id::uuid LIMIT {MOST_READ})
  UNION ALL
  (SELECT d.*
     FROM (SELECT m.team_id FROM bk.team_member m
            WHERE m.principal_id = :principal_id::uuid AND {CURRENT} OFFSET 0) AS m
    CROSS JOIN LATERAL (
      SELECT o.object_id FROM bk.object_team o WHERE o.team_id = m.team_id OFFSET 0) AS o
    CROSS JOIN LATERAL (
      SELECT * FROM bk.directory
       WHERE id = o.object_id AND owner_id <> :principal_id::uuid OFFSET 0) AS d
    LIMIT {MOST_READ}))"""  # noqa: S608
IN_RANGE = "folded >= :text AND folded < :end"
ENTRIES, OWN_NEWEST = "bk.directory", "owner_id = :principal_id::uuid ORDER BY id DESC"
BOUNDED: dict[tuple[Match, bool | None], Statement] = {
    how: Statement(f"""
WITH read AS MATERIALIZED (
  SELECT {COLUMNS} FROM {entries} AS directory WHERE {which} LIMIT {MOST_READ})
SELECT counted.entries = {MOST_READ}, found.*
  FROM (SELECT count(*) AS entries FROM read) AS counted
  LEFT JOIN (SELECT {COLUMNS} FROM read WHERE {condition} AND kind = ANY(:kinds::text[])
              LIMIT {MOST_CANDIDATES}) AS found ON true
""")  # noqa: S608
    for how, (entries, which, condition) in {
        (Match.PREFIX, None): (ENTRIES, f"{IN_RANGE} ORDER BY folded, id", "true"),
        (Match.PREFIX, False): (ENTRIES, OWN_NEWEST, IN_RANGE),
        (Match.PREFIX, True): (READ_BY_TEAMS, "true", IN_RANGE),
        (Match.PART, None): (ENTRIES, "true ORDER BY folded, id", "words LIKE :pattern"),
        (Match.PART, False): (ENTRIES, OWN_NEWEST, "words LIKE :pattern"),
        (Match.PART, True): (READ_BY_TEAMS, "true", "words LIKE :pattern"),
    }.items()
}
"""Statements that read a bounded part; their first column tells whether there is more."""
TRIGRAM = re.compile(r"[^\W_]{3}|[^\W_]{2}[\W_]|[\W_][^\W_]")
"""What the index of parts needs: PostgreSQL makes trigrams of letters and digits only."""
OF_TEAMS = Statement(f"""
SELECT i.id FROM unnest(:ids::uuid[]) AS i (id) WHERE {of_teams("i.id")}
""")  # noqa: S608
PUBLISHED = """
SELECT i.id, d.kind, d.name, d.facility_code, o.team_id, o.visit_id
  FROM unnest($1::uuid[]) AS i (id)
  LEFT JOIN bk.directory d ON d.id = i.id LEFT JOIN bk.object_team o ON o.object_id = i.id
"""
BY_ID = f"SELECT {COLUMNS} FROM bk.directory WHERE id = ANY($1::uuid[])"  # noqa: S608

# Only what the generation that is read has: others write rows that nobody reads yet. A bookmark of
# the generation is locked here, and so it cannot become the live one at the same time. An entry
# that is stored already is not written again, as when a list is followed from the beginning. The
# statement returns the objects whose facility must be found, for the first time or again.
UPSERT_ENTRIES = Statement("""
WITH had AS MATERIALIZED (SELECT id, scope, within FROM bk.directory WHERE id = ANY(:ids::uuid[])),
written AS (
  INSERT INTO bk.directory AS t
         (id, version, owner_id, kind, status, name, folded, words, tail, scope, within)
  SELECT r.id, r.version, r.owner_id, r.kind, r.status, r.name, r.folded, r.words, r.tail, r.scope,
         r.within::uuid[]
    FROM unnest(:ids::uuid[], :versions::bigint[], :owner_ids::uuid[], :kinds::text[],
                :statuses::text[], :names::text[], :folded::text[], :words::text[], :tails::text[],
                :scopes::text[], :within::text[], :lists::text[], :generations::int[])
      AS r (id, version, owner_id, kind, status, name, folded, words, tail, scope, within, list,
            generation)
   WHERE EXISTS (SELECT 1 FROM bk.projections p
                  WHERE p.name = r.list AND p.generation = r.generation AND p.live)
      ON CONFLICT (id) DO UPDATE
     SET version = EXCLUDED.version, owner_id = EXCLUDED.owner_id, status = EXCLUDED.status,
         name = EXCLUDED.name, folded = EXCLUDED.folded, words = EXCLUDED.words,
         scope = EXCLUDED.scope, within = EXCLUDED.within
   WHERE t.version < EXCLUDED.version
      OR t.version = EXCLUDED.version
         AND (t.owner_id, t.status, t.name, t.folded, t.words, t.scope, t.within)
             IS DISTINCT FROM (EXCLUDED.owner_id, EXCLUDED.status, EXCLUDED.name, EXCLUDED.folded,
                               EXCLUDED.words, EXCLUDED.scope, EXCLUDED.within)
  RETURNING id, scope, within)
SELECT w.id FROM written w LEFT JOIN had h ON h.id = w.id
 WHERE (h.scope, h.within) IS DISTINCT FROM (w.scope, w.within)
""")

# Facilities follow from one another, so that only one writer at a time finds them.
LOCK_FACILITIES = "SELECT pg_advisory_xact_lock(hashtextextended('directory facilities', 1))"
# The facilities of some objects. The statement returns the objects whose facility
# may follow from these.
RENEW_FACILITIES = Statement("""
WITH found AS (
  SELECT o.id, CASE WHEN o.within IS NULL THEN o.scope
                    WHEN o.within = '{}' OR p.codes > 1 THEN :site ELSE p.code END AS code
    FROM bk.directory o
   CROSS JOIN LATERAL (
     SELECT count(DISTINCT p.facility_code) AS codes, min(p.facility_code) AS code
       FROM bk.directory p WHERE p.id = ANY(o.within)) AS p
   WHERE o.id = ANY(:ids::uuid[])),
renewed AS (
  UPDATE bk.directory d SET facility_code = f.code
    FROM (SELECT d.id, f.code FROM bk.directory d JOIN found f ON f.id = d.id
           WHERE d.facility_code IS DISTINCT FROM f.code ORDER BY d.id FOR UPDATE OF d) AS f
   WHERE d.id = f.id
  RETURNING d.id)
SELECT id FROM bk.directory WHERE within && (SELECT array_agg(id) FROM renewed)
""")
MOST_LEVELS = 50
"""While several workers move a tree, objects may for a moment be in each other."""
RENEW_TIMEOUT = 3600.0
"""A facility may be moved with everything that ever happened in it."""


class PostgresDirectory:
    """Finds entries in the table of the directory."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    async def find(
        self, match: Match, text: str, kinds: frozenset[str], sight: Sight | None = None
    ) -> Candidates:
        """Return the entries of these kinds that a folded text finds so, in sight or of all."""
        sought = tail_of(text) if match is Match.TAIL else text
        values = {
            "text": sought,
            "end": f"{sought}\U0010ffff",
            "pattern": f"%{_escaped(text)}%",
            "kinds": sorted(kinds),
            "principal_id": sight and sight.principal_id,
        }
        how, rows = (match, sight and sight.teams), None
        if match is not Match.PART or TRIGRAM.search(text):
            rows = await self._in_time(FIND[how].bind(values))
        if rows is not None:
            # An id may end in more digits than the table has of it.
            return Candidates([each for row in rows if match.finds(each := Entry(*row), text)])
        if how not in BOUNDED:
            return Candidates((), truncated=True)
        read = await self._connections.read(*BOUNDED[how].bind(values))
        entries = [Entry(*row[1:]) for row in read if row[1] is not None]
        matching = [each for each in entries if match.finds(each, text)]
        return Candidates(matching, truncated=read[0][0])

    async def _in_time(self, bound: Sequence[Any]) -> Sequence[Any] | None:
        """Return the rows of a statement; None if it would take too long."""
        try:
            return await self._connections.read(*bound)
        except StoreUnavailableError as error:
            if isinstance(error.__context__, asyncpg.QueryCanceledError):
                return None
            raise

    async def of_teams(self, ids: Sequence[UUID], principal_id: UUID) -> Set[UUID]:
        """Return the objects that belong to teams of which a principal is a member now."""
        values = {"ids": list(ids), "principal_id": principal_id}
        return {row[0] for row in await self._connections.read(*OF_TEAMS.bind(values))}

    async def published(self, ids: Sequence[UUID]) -> Mapping[UUID, PublishedObject]:
        """Return what events say of the objects with these ids."""
        rows = await self._connections.read(PUBLISHED, list(ids))
        return {row[0]: PublishedObject(*row[1:]) for row in rows}

    async def entries(self, ids: Sequence[UUID]) -> Sequence[Entry]:
        """Return the entries of the objects with these ids."""
        return [Entry(*row) for row in await self._connections.read(BY_ID, list(ids))]


async def write_entries(
    connection: asyncpg.Connection,
    entries: Mapping[tuple[str, int], Sequence[Entry]],
    site: str,
) -> None:
    """Write the entries of rows of live generations, in a transaction of the caller's.

    Then find their facilities, and those of the objects that are in the facility of these.
    """
    # In one order everywhere, so that two writers never wait for each other.
    given = [(entry, *key) for key, written in entries.items() for entry in written]
    found: list[UUID] = []
    for batch in batched(sorted(given, key=lambda each: each[0].id), BATCH_SIZE):
        columns: dict[str, Any] = {
            "ids": [entry.id for entry, _, _ in batch],
            "versions": [entry.version for entry, _, _ in batch],
            "owner_ids": [entry.owner_id for entry, _, _ in batch],
            "kinds": [entry.kind for entry, _, _ in batch],
            "statuses": [entry.status for entry, _, _ in batch],
            "names": [entry.name for entry, _, _ in batch],
            "folded": [entry.folded for entry, _, _ in batch],
            "words": [entry.words for entry, _, _ in batch],
            "tails": [tail_of(str(entry.id)) for entry, _, _ in batch],
            "scopes": [entry.scope for entry, _, _ in batch],
            "within": [_ids(entry.within) for entry, _, _ in batch],
            "lists": [name for _, name, _ in batch],
            "generations": [generation for _, _, generation in batch],
        }
        rows = await connection.fetch(*UPSERT_ENTRIES.bind(columns))
        found += [row[0] for row in rows]
    if found:
        await connection.execute(LOCK_FACILITIES, timeout=RENEW_TIMEOUT)
    for _ in range(MOST_LEVELS):
        if not found:
            return
        renew = RENEW_FACILITIES.bind({"ids": found, "site": site})
        rows = await connection.fetch(*renew, timeout=RENEW_TIMEOUT)
        found = [row[0] for row in rows]


def _ids(ids: Sequence[UUID] | None) -> str | None:
    """Return an array literal: the arrays of an array cannot differ in length."""
    return None if ids is None else "{" + ",".join(map(str, ids)) + "}"


def _escaped(text: str) -> str:
    for special in ("\\", "%", "_"):
        text = text.replace(special, f"\\{special}")
    return text
