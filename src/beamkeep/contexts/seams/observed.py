"""What was observed in runs: how the readings of a channel are summed and thinned out."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Annotated, Literal, Protocol
from uuid import UUID

from annotated_types import MaxLen, MinLen

from beamkeep.kernel import Record

type ChannelName = Annotated[str, MinLen(1), MaxLen(255)]


class UnitAnnotation(Record):
    system: Literal["udunits", "ucum", "qudt", "iec61360"] | None
    """The system that defines the code; null for a unit of the producer, such as photons/s."""
    code: Annotated[str, MinLen(1), MaxLen(100)]
    label: Annotated[str, MinLen(1), MaxLen(100)] | None = None


class ChannelSummary(Record):
    """What one channel reported in a run."""

    channel_name: str
    unit: UnitAnnotation | None
    """The unit of the last reading."""
    simulated: bool
    """Whether any reading is simulated."""
    count: int
    first_at: datetime
    last_at: datetime
    last_value: float
    minimum: float
    maximum: float


class ChannelSeries(Record):
    """The readings of one channel, one point for each interval that has a reading."""

    channel_name: str
    times: tuple[datetime, ...]
    """When the last reading of each interval was sampled."""
    minimum: tuple[float, ...]
    maximum: tuple[float, ...]
    last: tuple[float, ...]


class ObservedPeriod(Record):
    """A period that is divided into intervals of the same length."""

    since: datetime
    until: datetime
    interval_microseconds: int


class ObservationReader(Protocol):
    """Sums and thins out the readings of runs."""

    async def summary(self, run_id: UUID, limit: int) -> Sequence[ChannelSummary]:
        """Return the channels of a run by name, at most `limit` of them."""
        ...

    async def span(self, run_id: UUID) -> tuple[datetime, datetime] | None:
        """Return when the first and the last reading of a run were sampled, if it has any."""
        ...

    async def series(
        self, run_id: UUID, channel_names: Collection[str], period: ObservedPeriod
    ) -> Sequence[ChannelSeries]:
        """Return the points of each channel that has readings in the period."""
        ...

    async def last_values(self, channels: Mapping[UUID, str]) -> Mapping[UUID, float]:
        """Return the last reading of one channel of each run, where there is one."""
        ...
