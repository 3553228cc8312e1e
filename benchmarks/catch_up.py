"""Following the log from its beginning against copying it out."""

import os
from typing import Any

import asyncpg

from beamkeep.adapters.postgres.projections import PostgresProjections, shards
from beamkeep.contexts import CATALOGUE
from beamkeep.runtime.codec import Codec
from beamkeep.workers.projector import Projector

from .loading import load_visits
from .measure import Plan, against_itself, gated, throughput
from .rig import Database, Rig, principal

GATE, LEAST_PER_SECOND = 0.20, 60_000
METHOD = (
    "Projector.catch_up of every list from bookmark 0 over {} events in visits of 20, each visit's"
    " events together, in events a second, against COPY (…) TO STDOUT (FORMAT binary) of the same"
    " rows in the same order; `by_turns` has the events of all visits interleaved, so that no page"
    " holds two of one visit."
)
EVENTS = 20
COPY = """
SELECT transaction_id::text::bigint, position, stream_type, stream_id, principal_id, version,
       event_type, schema_version, payload
  FROM bk.events
 WHERE transaction_id < pg_snapshot_xmin(pg_current_snapshot())
 ORDER BY transaction_id, position
"""


async def measure(rig: Rig) -> dict[str, Any]:
    """Compare whole runs, turn about, on visits written at once and on visits written by turns."""
    streams = 15_000 if rig.full else 2_000
    plan = Plan(5, 1, 0) if rig.full else Plan(2, 0, 0)
    figures = await _over(rig, streams, plan, by_turns=False)
    found = gated(figures, GATE, METHOD.format(streams * EVENTS))
    found["least_per_second"] = LEAST_PER_SECOND
    found["reached"] &= found["ours_per_second"] >= LEAST_PER_SECOND
    if rig.full:
        found["by_turns"] = await _over(rig, streams, Plan(1, 0, 0), by_turns=True)
    return found


async def _over(rig: Rig, streams: int, plan: Plan, by_turns: bool) -> dict[str, Any]:
    async with rig.database("catch_up") as database:
        me = await principal(database)
        await load_visits(database.owner, me, 0, streams, EVENTS, by_turns=by_turns)
        await database.settle()
        bare = CopyOut((await database.bare(1, "postgres"))[0])
        ours = Following(database)
        figures = throughput(await rig.meter.compare(bare, ours, plan))
        if by_turns:
            return figures
        return figures | against_itself(await rig.meter.compare(bare, bare, Plan(6, 1, 0)))


class CopyOut:
    """Copies the log to nowhere."""

    def __init__(self, connection: asyncpg.Connection) -> None:
        self._connection, self.pid = connection, os.getpid()

    async def prepare(self) -> None:
        """Nothing is needed."""

    async def run(self, seconds: float) -> int:
        """Copy all of it once, however long that takes."""

        async def nowhere(_: bytes) -> None: ...

        said = await self._connection.copy_from_query(COPY, output=nowhere, format="binary")
        return int(said.removeprefix("COPY "))


class Following:
    """Follows the log from its beginning to its end."""

    def __init__(self, database: Database) -> None:
        self._owner, self.pid = database.owner, os.getpid()
        self._projections = PostgresProjections(database.pool(4, "bk_projector"))
        self._shards = shards(1)

    async def prepare(self) -> None:
        """Empty every list and put the bookmarks back."""
        await self._projections.arrange(CATALOGUE.views, self._shards)
        for view in CATALOGUE.views:
            await self._owner.execute(f"TRUNCATE proj.{view.name}_v1")
        await self._owner.execute("UPDATE bk.bookmarks SET tx = '0', pos = 0")
        await self._owner.execute("VACUUM (FREEZE, ANALYZE) bk.bookmarks")
        await self._owner.execute("CHECKPOINT")
        codec = Codec(CATALOGUE.aggregates.values())
        self._projector = Projector(CATALOGUE.views, codec, self._projections)

    async def run(self, seconds: float) -> int:
        """Follow all of it once, however long that takes."""
        await self._projector.catch_up(self._shards)
        return await self._owner.fetchval("SELECT count(*) FROM bk.events")
