"""Following the log from its beginning against copying it out."""

import os
from statistics import median
from typing import Any

import asyncpg

from beamkeep.adapters.postgres.projections import PostgresProjections
from beamkeep.adapters.postgres.tail import PostgresTail
from beamkeep.contexts.catalogue import CATALOGUE
from beamkeep.feed.tail import shards
from beamkeep.runtime.codec import Codec
from beamkeep.workers.projector import Projector

from .loading import load_visits
from .measure import Plan, against_itself, gated, throughput
from .rig import PATIENT, Database, Rig, principal

GATE, LEAST_PER_SECOND = 0.20, 60_000
INTERLEAVED_GATE, LEAST_INTERLEAVED = 0.12, 40_000
COMPARED = (
    " in events a second, against COPY (…) TO STDOUT (FORMAT binary) of the same rows in the same"
    " order. `per_processor_second` is the rate had client and server one core to themselves, one"
    " after the other, which does not depend on who else uses the machine."
)
METHOD = (
    "Projector.catch_up of every list from bookmark 0 over {} events in visits of 20, each visit's"
    " events together," + COMPARED
)
INTERLEAVED = (
    "Projector.catch_up of every list from bookmark 0 over {} events in visits of 20, the events of"
    " all visits by turns, so that no page holds two of one visit," + COMPARED + " `log_bytes` is"
    " the write-ahead log of one whole run for one event, page images included."
)
EVENTS = 20
COPY = """
SELECT transaction_id::text::bigint, position, stream_type, stream_id, principal_id, version,
       event_type, schema_version, payload
  FROM bk.events
 WHERE transaction_id < pg_snapshot_xmin(pg_current_snapshot())
 ORDER BY transaction_id, position
"""
WRITTEN = "SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), $1::text::pg_lsn)::bigint"


async def measure(rig: Rig) -> dict[str, Any]:
    """Compare whole runs, turn about, on visits written at once."""
    figures = await _over(rig, by_turns=False)
    return _judged(figures, GATE, LEAST_PER_SECOND, METHOD.format(_streams(rig) * EVENTS))


async def measure_interleaved(rig: Rig) -> dict[str, Any]:
    """Compare whole runs, turn about, on visits written by turns."""
    figures = await _over(rig, by_turns=True)
    method = INTERLEAVED.format(_streams(rig) * EVENTS)
    return _judged(figures, INTERLEAVED_GATE, LEAST_INTERLEAVED, method)


def _judged(figures: dict[str, Any], gate: float, least: int, method: str) -> dict[str, Any]:
    found = gated(figures, gate, method) | {"least_per_second": least}
    found["reached"] &= found["ours_per_second"] >= least
    return found


def _streams(rig: Rig) -> int:
    return rig.pick(15_000, 2_000, smallest=100)


async def _over(rig: Rig, by_turns: bool) -> dict[str, Any]:
    plan = rig.pick(Plan(5, 1, 0), Plan(2, 0, 0), Plan(1, 0, 0))
    alike_plan = rig.pick(Plan(6, 1, 0), Plan(6, 1, 0), Plan(1, 0, 0))
    async with rig.database("catch_up") as database:
        me = await principal(database)
        await load_visits(database.owner, me, 0, _streams(rig), EVENTS, by_turns=by_turns)
        await database.settle()
        bare = CopyOut((await database.bare(1, "postgres", **PATIENT))[0])
        ours = Following(database)
        quads = await rig.meter.compare(bare, ours, plan)
        alike = against_itself(await rig.meter.compare(bare, bare, alike_plan))
        return {
            **throughput(quads),
            **alike,
            "per_processor_second": round(median(1 / quad.ours.cpu for quad in quads)),
            "log_bytes": round(ours.log_bytes / _streams(rig) / EVENTS),
        }


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
        pool = database.pool(4, "bk_projector", **PATIENT)
        self._tail, self._projections = PostgresTail(pool), PostgresProjections(pool)
        self._shards, self.log_bytes = shards(1), 0

    async def prepare(self) -> None:
        """Empty every list and put the bookmarks back."""
        await self._projections.arrange(CATALOGUE.views, self._shards)
        for view in CATALOGUE.views:
            await self._owner.execute(f"TRUNCATE proj.{view.name}_v1, proj.{view.name}_v1_mark")
        await self._owner.execute("UPDATE bk.bookmarks SET tx = '0', pos = 0")
        await self._owner.execute("VACUUM (FREEZE, ANALYZE) bk.bookmarks")
        await self._owner.execute("CHECKPOINT")
        codec = Codec(CATALOGUE.aggregates.values())
        self._projector = Projector(
            CATALOGUE.views, codec, self._tail, projections=self._projections
        )
        self._since = await self._owner.fetchval(WRITTEN, "0/0")

    async def run(self, seconds: float) -> int:
        """Follow all of it once, however long that takes."""
        await self._projector.catch_up(self._shards)
        self.log_bytes = await self._owner.fetchval(WRITTEN, "0/0") - self._since
        return await self._owner.fetchval("SELECT count(*) FROM bk.events")
