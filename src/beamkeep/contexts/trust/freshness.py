"""Freshness: how long what a monitor reported counts, once it is silent."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Protocol
from uuid import UUID

from beamkeep.kernel import Reader, Record, Table

UNITS = (("day", 86_400), ("hour", 3600), ("minute", 60), ("second", 1))


class Reported(Record):
    """When a monitor last reported, and whether that is too long ago to count."""

    last_reported_at: datetime | None
    stale: bool | None
    """Null where an earlier state is shown: how old a report was then is not kept."""


NEVER, NOT_KEPT = Reported(None, False), Reported(None, None)


class Stamped(Protocol):
    """A row that the database stamps with each report."""

    @property
    def last_reported_at(self) -> datetime | None: ...
    @property
    def age(self) -> timedelta | None: ...


async def reports[R: Stamped](
    ids: Sequence[UUID], of: Table[R], read: Reader
) -> dict[UUID, Reported]:
    """Return when each of these was last reported of, and whether that report still counts."""
    if read.shows_past:
        return dict.fromkeys(ids, NOT_KEPT)
    id_column, stale_after = of.key[0], read.installation.stale_after
    heard: dict[UUID, Reported] = {
        getattr(row, id_column): Reported(row.last_reported_at, is_stale(row.age, stale_after))
        for row in await read.rows(of, **{id_column: {*ids}})
    }
    return dict.fromkeys(ids, NEVER) | heard


def is_stale(age: timedelta | None, stale_after: timedelta) -> bool:
    """Whether a report of this age counts no more; where there is none, nothing can be stale."""
    # A report from the future was stamped before the clock was put back: its age is not known.
    return age is not None and abs(age) > stale_after


def as_stale(age: timedelta | None) -> str:
    """`Unknown`, and since when."""
    return f"Unknown (stale: last report {_told(age)} ago)" if age else "Unknown (never reported)"


def _told(age: timedelta) -> str:
    """`3 days`, `90 minutes`: in the largest unit of which there are two or more."""
    seconds = int(abs(age).total_seconds())
    unit, length = next((each for each in UNITS if seconds >= 2 * each[1]), UNITS[-1])
    count = seconds // length
    return f"{count} {unit}{'' if count == 1 else 's'}"
