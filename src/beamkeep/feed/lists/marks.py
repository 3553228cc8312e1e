"""Marks: the texts by which the rows of a list are found in an index."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from beamkeep.kernel import Period, Sight, View
from beamkeep.runtime.store import ListFilter

SPANS = (12, 15, 18, 21, 24, 27, 30)
"""A time is marked by the spans it lies in: of 2¹² seconds, which is 68 minutes, to 2³⁰."""
MOST_SPANS = 9
"""A period is marked by the spans it touches, of a length such that they are no more than this."""
END = 1 << 32
"""The first second after the last span; whatever is later, or before 1970, counts as its edge."""
OTHER_STATUS = "status!"


def times_of(view: View[Any]) -> tuple[str, ...]:
    """Return the fields of a view's rows that its filters compare with times."""
    period = [view.period.since, view.period.until] if view.period else []
    return tuple(dict.fromkeys(field for field in (*_compared(view), *period) if field))


def marks_of(
    view: View[Any],
    id: UUID,
    owner_id: UUID,
    facets: Sequence[str],
    state: Any,
    times: Mapping[str, datetime | None],
) -> set[str]:
    """Return every mark of one row."""
    marks, fields = {*facets, _owned(owner_id)}, _compared(view)
    if view.aggregate.self_owned:
        marks.add(_owned(id))
    if period := view.period:
        if state.status == period.status:
            marks.update(_touched(period, times))
            fields = [*times]
        else:
            marks.add(OTHER_STATUS)
    for field in fields:
        if time := times[field]:
            marks.update(_around(field, _second(time)))
    return marks


def ways(view: View[Any], list_filter: ListFilter, sight: Sight | None) -> list[tuple[str, ...]]:
    """Return groups of marks; every row that a filter finds has a mark of each group."""
    found: list[tuple[str, ...]] = [*((facet,) for facet in list_filter.every), *list_filter.groups]
    marked, windows = _compared(view), _windows(list_filter)
    found += [tuple(_within(field, *windows[field])) for field in windows if field in marked]
    if list_filter.period and list_filter.period[0] == view.period:
        period, holds = list_filter.period
        now = _second(list_filter.now)
        found.append(tuple(_around(period.name, now)) if holds else _not_holding(period, now))
    groups = dict[tuple[str, ...], None]()
    if list_filter.owner_id:
        groups[_owned(list_filter.owner_id),] = None
    if sight:
        me = sight.principal_id
        groups[(_owned(me), read_by(me)) if sight.teams else (_owned(me),)] = None
    return [*found, *groups]


def _windows(list_filter: ListFilter) -> dict[str, tuple[int, int]]:
    """Return the first and the last second of each time that is compared."""
    windows: dict[str, tuple[int, int]] = {}
    for field, how, wanted in list_filter.compared:
        first, last = windows.get(field, (0, END - 1))
        second = _second(wanted)
        windows[field] = (max(first, second), last) if how == ">=" else (first, min(last, second))
    return windows


def _compared(view: View[Any]) -> list[str]:
    return [field for field, _ in view.compared.values()]


def _touched(period: Period, times: Mapping[str, datetime | None]) -> Iterator[str]:
    """Return the spans that a period touches."""
    since, until = times[period.since] if period.since else None, times[period.until]
    first, last = _second(since) if since else 0, _second(until) if until else END - 1
    fitting = (span for span in SPANS if (last >> span) - (first >> span) < MOST_SPANS)
    span = next(fitting, SPANS[-1])
    return (f"{period.name}@{span}:{n}" for n in range(first >> span, (last >> span) + 1))


def _not_holding(period: Period, now: int) -> tuple[str, ...]:
    ahead = _within(period.since, now, END - 1) if period.since else ()
    return OTHER_STATUS, *_within(period.until, 0, now), *ahead


def _around(name: str, second: int) -> Iterator[str]:
    """Return the spans that contain a second."""
    return (f"{name}@{span}:{second >> span}" for span in SPANS)


def _within(field: str, first: int, last: int) -> Iterator[str]:
    """Yield the fewest spans that cover the seconds from the first to the last."""
    smallest, largest = SPANS[0], SPANS[-1]
    at, end = first >> smallest << smallest, (last >> smallest) + 1 << smallest
    while at < end:
        fitting = (s for s in SPANS if at % (1 << s) == 0 and at + (1 << s) <= end)
        span = max(fitting, default=largest)
        yield f"{field}@{span}:{at >> span}"
        at += 1 << span


def _second(time: datetime) -> int:
    # A time without a zone is not met: every time of an event has one.
    return min(max(int(time.astimezone(UTC).timestamp()), 0), END - 1)


def read_by(principal_id: UUID) -> str:
    """Return the mark of the objects of a principal's teams. It finds them, and shows none."""
    return f"reader={principal_id}"


def _owned(by: UUID) -> str:
    return f"owner_id={by}"
