"""Freshness: how long what a monitor reported counts, once it is silent."""

from datetime import datetime, timedelta

from beamkeep.kernel import Record

UNITS = (("day", 86_400), ("hour", 3600), ("minute", 60), ("second", 1))


class Reported(Record):
    """When a monitor last reported, and whether that is too long ago to count."""

    last_reported_at: datetime | None
    stale: bool | None
    """Null where an earlier state is shown: how old a report was then is not kept."""


NEVER, NOT_KEPT = Reported(None, False), Reported(None, None)


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
