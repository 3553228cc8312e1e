"""What the filters of a list look for, and whether a row has it."""

import operator
from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from ._record import Record

COMPARISONS = {">=": operator.ge, "<": operator.lt, "<=": operator.le}


class Period(Record):
    """A property that holds for a time: while the status is this one, and between two times."""

    name: str
    status: str
    since: str | None
    until: str
    """The fields of the row with its first and its last moment; null is open on that side."""

    def holds(self, row: Mapping[str, Any], now: datetime) -> bool:
        """Whether it holds of a row, as a list answers it, at this time."""
        since, until = _time(row, self.since) if self.since else None, _time(row, self.until)
        return row["status"] == self.status and _within(since, until, now)

    def holds_of(self, state: Any, now: datetime) -> bool:
        """Whether it holds of a folded state at this time."""
        since = getattr(state, self.since) if self.since else None
        return state.status == self.status and _within(since, getattr(state, self.until), now)


class ListFilter(Record):
    """What a query looks for in the rows of a list."""

    now: datetime
    every: tuple[str, ...] = ()
    """Properties a row must have, each as `name=value`."""
    groups: tuple[tuple[str, ...], ...] = ()
    """Of each of these it must have one."""
    none: tuple[str, ...] = ()
    """It must have none of these."""
    compared: tuple[tuple[str, str, datetime], ...] = ()
    """A field of the row that is a time, a comparison, and with what."""
    period: tuple[Period, bool] | None = None
    along: Mapping[str, UUID] = {}
    """Its place in the tree."""

    def fits(self, facets: Collection[str], row: Mapping[str, Any]) -> bool:
        """Whether a row, with these properties, is looked for; its place in the tree aside."""
        return (
            set(facets).issuperset(self.every)
            and set(facets).isdisjoint(self.none)
            and all(not set(facets).isdisjoint(group) for group in self.groups)
            and all(
                (time := _time(row, field)) is not None and COMPARISONS[how](time, wanted)
                for field, how, wanted in self.compared
            )
            and (not self.period or self.period[0].holds(row, self.now) is self.period[1])
        )


def _within(since: datetime | None, until: datetime | None, now: datetime) -> bool:
    return (since is None or since <= now) and (until is None or now < until)


def _time(row: Mapping[str, Any], field: str) -> datetime | None:
    return datetime.fromisoformat(row[field]) if row[field] else None
