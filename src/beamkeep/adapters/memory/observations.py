"""Observations of runs in memory, for fast tests: every row is looked at."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import groupby
from uuid import UUID

from beamkeep.contexts.run.observation import OBSERVATIONS, Observation
from beamkeep.contexts.seams.observed import ChannelSeries, ChannelSummary, ObservedPeriod

from .store import MemoryStore

MICROSECOND = timedelta(microseconds=1)


class MemoryObservations:
    """Sums and thins out the readings of runs by looking at every one."""

    def __init__(self, store: MemoryStore) -> None:
        self._store = store

    async def _channels(self, run_id: UUID) -> Mapping[str, Sequence[Observation]]:
        rows = await self._store.rows(OBSERVATIONS, {"run_id": run_id})
        ordered = sorted(rows, key=lambda r: (r.channel_name, r.sampled_at, r.observation_id))
        return {name: [*of] for name, of in groupby(ordered, lambda row: row.channel_name)}

    async def summary(self, run_id: UUID, limit: int) -> Sequence[ChannelSummary]:
        """Return the channels of a run by name, at most `limit` of them."""
        return [
            ChannelSummary(
                channel_name=name,
                unit=rows[-1].unit,
                simulated=any(row.simulated for row in rows),
                count=len(rows),
                first_at=rows[0].sampled_at,
                last_at=rows[-1].sampled_at,
                last_value=rows[-1].value,
                minimum=min(row.value for row in rows),
                maximum=max(row.value for row in rows),
            )
            for name, rows in [*(await self._channels(run_id)).items()][:limit]
        ]

    async def span(self, run_id: UUID) -> tuple[datetime, datetime] | None:
        """Return when the first and the last reading of a run were sampled, if it has any."""
        rows = await self._store.rows(OBSERVATIONS, {"run_id": run_id})
        times = [row.sampled_at for row in rows]
        return (min(times), max(times)) if times else None

    async def series(
        self, run_id: UUID, channel_names: Collection[str], period: ObservedPeriod
    ) -> Sequence[ChannelSeries]:
        """Return the points of each channel that has readings in the period."""
        length = period.interval_microseconds * MICROSECOND
        found: list[ChannelSeries] = []
        for name, every in (await self._channels(run_id)).items():
            rows = [row for row in every if period.since <= row.sampled_at < period.until]
            if name not in channel_names or not rows:
                continue
            by_interval = groupby(rows, lambda row: (row.sampled_at - period.since) // length)
            points = [[*of] for _, of in by_interval]
            found.append(
                ChannelSeries(
                    name,
                    times=tuple(point[-1].sampled_at for point in points),
                    minimum=tuple(min(row.value for row in point) for point in points),
                    maximum=tuple(max(row.value for row in point) for point in points),
                    last=tuple(point[-1].value for point in points),
                )
            )
        return found

    async def last_values(self, channels: Mapping[UUID, str]) -> Mapping[UUID, float]:
        """Return the last reading of one channel of each run, where there is one."""
        found = {id: (await self._channels(id)).get(name) for id, name in channels.items()}
        return {id: rows[-1].value for id, rows in found.items() if rows}
