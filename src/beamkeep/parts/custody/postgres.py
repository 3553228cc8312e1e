"""Custody on PostgreSQL: how datasets and copies are found, and where judgements are kept."""

from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import cache
from uuid import UUID

import asyncpg
import msgspec

from beamkeep.adapters.postgres.connections import Connections
from beamkeep.adapters.postgres.sights import of_teams, sight_values
from beamkeep.adapters.postgres.statements import Statement
from beamkeep.adapters.postgres.tables import parsed_rows, read_columns
from beamkeep.contexts.data.dataset import STANDINGS, datasets
from beamkeep.contexts.data.distribution import COPIES, Copy, distributions
from beamkeep.contexts.data.judging import CustodyRow, summed, totals_of
from beamkeep.contexts.seams.custody_rules import CopyPlace, CustodyFilter, CustodyTotal
from beamkeep.kernel import Sight
from beamkeep.runtime.codec import encode

from .watching import CustodyFacts

OWN_COPY = f"""
   AND EXISTS (SELECT 1 FROM bk.events v
                WHERE v.stream_type = '{datasets.name}' AND v.stream_id = y.dataset_id
                  AND v.version = 1 AND (v.principal_id = :principal_id::uuid
                    OR :teams::boolean AND {of_teams("y.dataset_id")}))"""  # noqa: S608

LOCK = "SELECT pg_advisory_xact_lock(hashtextextended('custody', 1))"
STANDING_ROWS = f"""
SELECT {read_columns(STANDINGS)} FROM bk.dataset_standing WHERE dataset_id = ANY($1::uuid[])
"""  # noqa: S608
COPY_ROWS = f"""
SELECT {read_columns(COPIES)} FROM bk.dataset_copy WHERE dataset_id = ANY($1::uuid[])
"""  # noqa: S608
OWNERS = f"""
SELECT stream_id, principal_id FROM bk.events
 WHERE stream_type = '{datasets.name}' AND stream_id = ANY($1::uuid[]) AND version = 1
"""  # noqa: S608
# By the events, because a copy whose bytes are deleted has no row any more.
DATASETS_OF_COPIES = f"""
SELECT DISTINCT (payload->>'dataset_id')::uuid FROM bk.events
 WHERE stream_type = '{distributions.name}' AND stream_id = ANY($1::uuid[]) AND version = 1
"""  # noqa: S608
COUNTED = "SELECT counted FROM bk.custody WHERE dataset_id = ANY($1::uuid[])"
FORGET = "DELETE FROM bk.custody WHERE dataset_id = ANY($1::uuid[])"
KEEP = """
INSERT INTO bk.custody (dataset_id, owner_id, producing_run_id, sole_supply_id, byte_size,
                        discardable_bytes, intent, verdict, counted)
SELECT dataset_id, owner_id, producing_run_id, sole_supply_id, byte_size, discardable_bytes,
       intent, verdict, counted
  FROM jsonb_populate_recordset(NULL::bk.custody, $1::text::jsonb)
    ON CONFLICT (dataset_id) DO UPDATE
   SET sole_supply_id = EXCLUDED.sole_supply_id, discardable_bytes = EXCLUDED.discardable_bytes,
       intent = EXCLUDED.intent, verdict = EXCLUDED.verdict, counted = EXCLUDED.counted
"""
ADD = """
INSERT INTO bk.custody_total AS t (supply_id, kind, number, bytes)
SELECT supply_id, kind, number, bytes
  FROM jsonb_populate_recordset(NULL::bk.custody_total, $1::text::jsonb)
    ON CONFLICT ON CONSTRAINT custody_total_of
    DO UPDATE SET number = t.number + EXCLUDED.number, bytes = t.bytes + EXCLUDED.bytes
"""
TOTALS = """
SELECT supply_id, kind, number, bytes FROM bk.custody_total
 WHERE number <> 0 AND ($1::uuid IS NULL OR supply_id = $1)
"""
SEEN = f"(c.owner_id = :principal_id::uuid OR :teams::boolean AND {of_teams('c.dataset_id')})"
OWN_TOTALS = Statement(f"SELECT counted FROM bk.custody c WHERE {SEEN}")  # noqa: S608
"""The datasets in sight are counted again, since the totals are of all owners."""


class PostgresCustody:
    """Finds datasets by the judgements that a worker keeps, and copies by their rows."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    async def datasets(
        self, wanted: CustodyFilter, after: UUID | None, limit: int, sight: Sight | None
    ) -> Sequence[UUID]:
        """Return datasets that are not discarded, oldest first."""
        fields = wanted.__struct_fields__
        given = {name: value for name in fields if (value := getattr(wanted, name)) is not None}
        values = {**given, **sight_values(sight), "after": after or UUID(int=0), "limit": limit}
        statement = _datasets(tuple(sorted(given)), sight is not None)
        rows = await self._connections.read(*statement.bind(values))
        return [row[0] for row in rows]

    async def totals(self, supply_id: UUID | None, sight: Sight | None) -> Sequence[CustodyTotal]:
        """Return the sums over one storage, or over all."""
        if sight is None:
            rows = await self._connections.read(TOTALS, supply_id)
            return [CustodyTotal(*row) for row in rows]
        rows = await self._connections.read(*OWN_TOTALS.bind(sight_values(sight)))
        return summed((total for row in rows for total in _totals(row[0])), supply_id)

    async def copies(
        self,
        supply_id: UUID | None,
        prefix: str | None,
        after: CopyPlace | None,
        limit: int,
        sight: Sight | None,
    ) -> Sequence[CopyPlace]:
        """Return copies on a storage, by dataset, or with addresses below a prefix, by address."""
        statement = _copies(supply_id is not None, prefix is not None, sight is not None)
        first = UUID(int=0)
        rows = await self._connections.read(
            *statement.bind(
                {
                    **({"supply_id": supply_id} if supply_id else {}),
                    **sight_values(sight),
                    **(
                        {"uri": (after and after.uri) or prefix, "end": _end_of(prefix)}
                        if prefix is not None
                        else {"dataset_id": after.dataset_id if after else first}
                    ),
                    "distribution_id": after.distribution_id if after else first,
                    "limit": limit,
                }
            )
        )
        return [CopyPlace(*row) for row in rows]

    async def dataset_ids(self, distribution_ids: Iterable[UUID]) -> frozenset[UUID]:
        """Return the datasets of these copies."""
        rows = await self._connections.read(DATASETS_OF_COPIES, list(distribution_ids))
        return frozenset(row[0] for row in rows)

    @asynccontextmanager
    async def refreshing(self, ids: Iterable[UUID]) -> AsyncGenerator["_Refresh"]:
        """Hold these datasets for a new judgement, while no other process judges any."""
        wanted = list(ids)
        async with self._connections.connection() as connection, connection.transaction():
            await connection.execute("SET LOCAL lock_timeout = 0")
            await connection.execute(LOCK)
            yield _Refresh(connection, wanted, await _facts(connection, wanted))


class _Refresh:
    def __init__(
        self,
        connection: asyncpg.Connection,
        ids: Sequence[UUID],
        facts: Mapping[UUID, CustodyFacts],
    ) -> None:
        self._connection, self._ids, self.facts = connection, ids, facts

    async def write(self, rows: Iterable[CustodyRow]) -> None:
        """Put these judgements in place of the earlier ones, and change the totals accordingly."""
        had = await self._connection.fetch(COUNTED, self._ids)
        before = totals_of(total for row in had for total in _totals(row[0]))
        new = list(rows)
        after = totals_of(total for row in new for total in row.counted)
        changes = [
            CustodyTotal(*key, number, bytes=bytes)
            for key in before.keys() | after.keys()
            if (number := after.get(key, (0, 0))[0] - before.get(key, (0, 0))[0])
            | (bytes := after.get(key, (0, 0))[1] - before.get(key, (0, 0))[1])
        ]
        await self._connection.execute(KEEP, encode(new).decode())
        await self._connection.execute(ADD, encode(changes).decode())


async def _facts(
    connection: asyncpg.Connection, ids: Sequence[UUID]
) -> Mapping[UUID, CustodyFacts]:
    standings = parsed_rows(STANDINGS, await connection.fetch(STANDING_ROWS, ids))
    copies: dict[UUID, list[Copy]] = {}
    for copy in parsed_rows(COPIES, await connection.fetch(COPY_ROWS, ids)):
        copies.setdefault(copy.dataset_id, []).append(copy)
    owners = {row[0]: row[1] for row in await connection.fetch(OWNERS, ids)}
    return {
        it.dataset_id: CustodyFacts(it, owners[it.dataset_id], copies.get(it.dataset_id, ()))
        for it in standings
    }


@cache
def _datasets(given: tuple[str, ...], own: bool) -> Statement:
    """Select datasets that have these values, and that are in sight."""
    copy_there = (
        "EXISTS (SELECT 1 FROM bk.dataset_copy y WHERE y.supply_id = :supply_id"
        " AND y.dataset_id = c.dataset_id)"
    )
    conditions = [copy_there if name == "supply_id" else f"c.{name} = :{name}" for name in given]
    where = " AND ".join(["c.dataset_id > :after", *conditions, *([SEEN] if own else [])])
    return Statement(
        f"SELECT c.dataset_id FROM bk.custody c WHERE {where}"  # noqa: S608
        " AND c.verdict IS NOT NULL ORDER BY c.dataset_id LIMIT :limit"
    )


@cache
def _copies(of_supply: bool, by_uri: bool, own: bool) -> Statement:
    """Select places of copies, in the order of an index."""
    supply = " AND y.supply_id = :supply_id" if of_supply else ""
    owned = OWN_COPY if own else ""
    columns = "y.dataset_id, y.distribution_id, y.uri"
    first = "uri" if by_uri else "dataset_id"
    where = f"(y.{first}, y.distribution_id) > (:{first}, :distribution_id)"
    where += " AND y.uri < :end" if by_uri else ""
    lead = "y.supply_id, " if of_supply and not by_uri else ""
    return Statement(
        f"SELECT {columns} FROM bk.dataset_copy y WHERE {where}{supply}{owned}"  # noqa: S608
        f" ORDER BY {lead}y.{first}, y.distribution_id LIMIT :limit"
    )


def _end_of(prefix: str) -> str:
    """Return the least text that is greater than every text with a prefix."""
    return prefix + "\U0010ffff"


def _totals(text: str) -> Sequence[CustodyTotal]:
    return msgspec.json.decode(text, type=list[CustodyTotal])
