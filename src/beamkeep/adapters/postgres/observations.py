"""Observations of runs on PostgreSQL, summed and thinned out where they are stored."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from itertools import groupby
from uuid import UUID

import msgspec

from beamkeep.contexts.seams.observed import (
    ChannelSeries,
    ChannelSummary,
    ObservedPeriod,
    UnitAnnotation,
)

from .connections import Connections
from .statements import Statement

# The last reading is looked up by the time of the last reading, which the index has.
SUMMARY = Statement("""
SELECT c.channel_name, l.unit, c.simulated, c.count, c.first_at, c.last_at,
       l.value AS last_value, c.minimum, c.maximum
  FROM (SELECT o.channel_name, bool_or(o.simulated) AS simulated, count(*) AS count,
               min(o.sampled_at) AS first_at, max(o.sampled_at) AS last_at,
               min(o.value) AS minimum, max(o.value) AS maximum
          FROM bk.run_observation o WHERE o.run_id = :run_id::uuid
         GROUP BY o.channel_name ORDER BY o.channel_name LIMIT :limit) AS c
 CROSS JOIN LATERAL (
       SELECT o.unit::text AS unit, o.value FROM bk.run_observation o
        WHERE o.run_id = :run_id AND o.sampled_at = c.last_at AND o.channel_name = c.channel_name
        ORDER BY o.observation_id DESC LIMIT 1) AS l
 ORDER BY c.channel_name
""")

SPAN = Statement("""
SELECT min(o.sampled_at), max(o.sampled_at)
  FROM bk.run_observation o WHERE o.run_id = :run_id::uuid
""")

SERIES = Statement("""
SELECT o.channel_name, max(o.sampled_at), min(o.value), max(o.value),
       (array_agg(o.value ORDER BY o.sampled_at DESC, o.observation_id DESC))[1]
  FROM bk.run_observation o
 WHERE o.run_id = :run_id::uuid AND o.channel_name = ANY(:channel_names::text[])
   AND o.sampled_at >= :since::timestamptz AND o.sampled_at < :until::timestamptz
 GROUP BY o.channel_name,
       (extract(epoch FROM o.sampled_at - :since) * 1000000)::bigint / :interval::bigint
 ORDER BY 1, 2
""")

LAST_VALUES = Statement("""
SELECT c.run_id, l.value
  FROM unnest(:run_ids::uuid[], :channel_names::text[]) AS c (run_id, channel_name)
 CROSS JOIN LATERAL (
       SELECT o.value FROM bk.run_observation o
        WHERE o.run_id = c.run_id AND o.channel_name = c.channel_name
        ORDER BY o.sampled_at DESC, o.observation_id DESC LIMIT 1) AS l
""")


class PostgresObservations:
    """Sums and thins out the readings of runs."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    async def summary(self, run_id: UUID, limit: int) -> Sequence[ChannelSummary]:
        """Return the channels of a run by name, at most `limit` of them."""
        rows = await self._connections.read(*SUMMARY.bind({"run_id": run_id, "limit": limit}))
        return [
            ChannelSummary(
                channel_name=row[0],
                unit=_unit(row[1]),
                simulated=row[2],
                count=row[3],
                first_at=row[4],
                last_at=row[5],
                last_value=row[6],
                minimum=row[7],
                maximum=row[8],
            )
            for row in rows
        ]

    async def span(self, run_id: UUID) -> tuple[datetime, datetime] | None:
        """Return when the first and the last reading of a run were sampled, if it has any."""
        ((first, last),) = await self._connections.read(*SPAN.bind({"run_id": run_id}))
        return (first, last) if first else None

    async def series(
        self, run_id: UUID, channel_names: Collection[str], period: ObservedPeriod
    ) -> Sequence[ChannelSeries]:
        """Return the points of each channel that has readings in the period."""
        values = {
            "run_id": run_id,
            "channel_names": sorted(channel_names),
            "since": period.since,
            "until": period.until,
            "interval": period.interval_microseconds,
        }
        rows = await self._connections.read(*SERIES.bind(values))
        found: list[ChannelSeries] = []
        for name, points in groupby(rows, lambda row: row[0]):
            _, times, minimum, maximum, last = zip(*points, strict=True)
            found.append(ChannelSeries(name, times, minimum=minimum, maximum=maximum, last=last))
        return found

    async def last_values(self, channels: Mapping[UUID, str]) -> Mapping[UUID, float]:
        """Return the last reading of one channel of each run, where there is one."""
        values = {"run_ids": [*channels], "channel_names": [*channels.values()]}
        rows = await self._connections.read(*LAST_VALUES.bind(values))
        return {row[0]: row[1] for row in rows}


def _unit(text: str | None) -> UnitAnnotation | None:
    return msgspec.json.decode(text, type=UnitAnnotation) if text else None
