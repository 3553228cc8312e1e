"""Series: what the channels of a run reported, summed up, and as points of a plot."""

from datetime import datetime, timedelta
from typing import Annotated
from uuid import UUID

from annotated_types import Ge, Le, MaxLen, MinLen
from pydantic import Field

from beamkeep.contexts.seams.installation import Reader, present
from beamkeep.contexts.seams.observed import (
    ChannelName,
    ChannelSeries,
    ChannelSummary,
    ObservedPeriod,
)
from beamkeep.kernel import Invalid, Query, Record, answers
from beamkeep.kernel.values import Timestamp

from .run import runs

MOST_CHANNELS, MOST_PLOTTED = 500, 20
MICROSECOND = timedelta(microseconds=1)


class InvalidRunSeriesPeriodError(Invalid):
    """The end of the period must be after its start."""


class RunObservationSummary(Record):
    run_id: UUID
    channels: tuple[ChannelSummary, ...]
    """The channels by name."""
    more: bool
    """Whether the run has more channels than are shown."""


class GetRunObservationSummary(Query):
    """Show what each channel of a run reported: how often, when, its last value and its range."""

    run_id: UUID


async def observation_summary(
    query: GetRunObservationSummary, read: Reader
) -> RunObservationSummary:
    """Return the channels of a run, at most 500."""
    await read.one(runs, query.run_id)
    found = await present(read.readers.observations).summary(query.run_id, MOST_CHANNELS + 1)
    channels, more = tuple(found[:MOST_CHANNELS]), len(found) > MOST_CHANNELS
    return RunObservationSummary(query.run_id, channels, more=more)


class RunSeries(Record):
    run_id: UUID
    since: datetime | None
    """The start of the period; null for a run without readings."""
    until: datetime | None
    channels: tuple[ChannelSeries, ...]
    """The channels asked for that have readings in the period."""


class GetRunSeries(Query):
    """Show the readings of channels of a run as points of a plot, at most one for an interval."""

    run_id: UUID
    channel_name: Annotated[frozenset[ChannelName], MinLen(1), MaxLen(MOST_PLOTTED)]
    """The channels to show."""
    since: Annotated[Timestamp | None, Field(alias="from")] = None
    """The start of the period (default: the first reading of the run)."""
    until: Annotated[Timestamp | None, Field(alias="to")] = None
    """The end of the period, which is not part of it (default: after the last reading)."""
    points: Annotated[int, Ge(50), Le(2000)] = 500
    """The number of intervals of the period."""


async def run_series(query: GetRunSeries, read: Reader) -> RunSeries:
    """Return the smallest, the largest and the last reading of each interval."""
    await read.one(runs, query.run_id)
    reader = present(read.readers.observations)
    since, until = query.since, query.until
    if since is None or until is None:
        if (span := await reader.span(query.run_id)) is None:
            return RunSeries(query.run_id, since, until=until, channels=())
        since, until = since or span[0], until or span[1] + MICROSECOND
    if since >= until:
        if query.since and query.until:
            raise InvalidRunSeriesPeriodError
        return RunSeries(query.run_id, since, until=until, channels=())
    interval = -((since - until) // MICROSECOND // query.points)
    period = ObservedPeriod(since, until, interval_microseconds=interval)
    found = await reader.series(query.run_id, query.channel_name, period)
    return RunSeries(query.run_id, since, until=until, channels=tuple(found))


# fmt: off
QUESTIONS = (
    answers("GET /runs/{run_id}/observations/summary", GetRunObservationSummary,
        observation_summary, RunObservationSummary, of=runs, about="run_id",
        title="Show the channels of a run"),
    answers("GET /runs/{run_id}/observations/series", GetRunSeries, run_series, RunSeries,
        InvalidRunSeriesPeriodError, of=runs, about="run_id",
        title="Show the observations of a run over time"),
)
# fmt: on
