"""Freshness: whether the last report of a monitor is recent enough to count."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Protocol
from uuid import UUID

from beamkeep.contexts.seams.installation import Reader
from beamkeep.kernel import Record, Table

UNITS = (("day", 86_400), ("hour", 3600), ("minute", 60), ("second", 1))


class Reported(Record):
    """The time of a monitor's last report, and whether the report is too old to count."""

    last_reported_at: datetime | None
    stale: bool | None
    """Null where an earlier state is shown: the age of reports at that time is not stored."""


NEVER, NOT_STORED = Reported(None, False), Reported(None, None)


class Stamped(Protocol):
    """A row with a time that the database sets at each report."""

    @property
    def last_reported_at(self) -> datetime | None: ...
    @property
    def age(self) -> timedelta | None: ...


async def reports[R: Stamped](
    ids: Sequence[UUID], of: Table[R], read: Reader
) -> dict[UUID, Reported]:
    """Return the last report about each of these ids, and whether the report is stale."""
    if read.shows_past:
        return dict.fromkeys(ids, NOT_STORED)
    id_column, stale_after = of.key[0], read.facts.stale_after
    heard: dict[UUID, Reported] = {
        getattr(row, id_column): Reported(row.last_reported_at, is_stale(row.age, stale_after))
        for row in await read.rows(of, **{id_column: {*ids}})
    }
    return dict.fromkeys(ids, NEVER) | heard


def is_stale(age: timedelta | None, stale_after: timedelta) -> bool:
    """Return whether a report of this age is too old; a missing report is never stale."""
    # A report in the future was stamped before the clock was set back, so its age is unknown.
    return age is not None and abs(age) > stale_after


def as_stale(age: timedelta | None) -> str:
    """Return `Unknown` with the age of the stale report, for refusals and readiness."""
    if age is None:
        return "Unknown (never reported)"
    when = f"{_duration(age)} ago" if age > timedelta() else f"{_duration(age)} in the future"
    return f"Unknown (stale: last report {when})"


def _duration(age: timedelta) -> str:
    """Return `3 days` or `90 minutes`, in the largest unit of which there are two or more."""
    seconds = int(abs(age).total_seconds())
    unit, length = next((each for each in UNITS if seconds >= 2 * each[1]), UNITS[-1])
    count = seconds // length
    return f"{count} {unit}{'' if count == 1 else 's'}"
