"""The filter of a list: what a query asks of its rows."""

from collections.abc import Mapping
from datetime import datetime
from types import SimpleNamespace
from typing import Any

from beamkeep.kernel import ALONG, AnyReader, Listing, Period, UnnamedListing, View, facet
from beamkeep.kernel.values import folded

from .store import ListFilter


async def filter_for(view: View[Any], query: UnnamedListing, read: AnyReader) -> ListFilter:
    """Return the filter of a query, with the values that its filters expand to now."""
    wider = {
        name: frozenset(await widen(value, read))
        for name, widen in view.expanded.items()
        if (value := getattr(query, name)) is not None
    }
    return filter_of(view, query, read.now, wider)


def filter_of(
    view: View[Any],
    query: UnnamedListing,
    now: datetime,
    wider: Mapping[str, frozenset[object]] = {},
) -> ListFilter:
    """Return the filter of a query, with these values in place of those given."""
    own = type(query).model_fields.keys() - Listing.model_fields.keys()
    given = {n: value for n in sorted(own) if (value := getattr(query, n)) is not None}
    sought: dict[str, Any] = {n: given[n] for n in given.keys() & view.filters} | {**wider}
    several = {n for n, value in sought.items() if isinstance(value, frozenset)}
    every = [facet(n, value) for n, value in sought.items() if n not in several]
    if isinstance(query, Listing) and query.name is not None:
        every.append(facet("name", folded(query.name)))
    of = {n: view.aliases.get(n, n) for n in several}
    groups = [tuple(sorted(facet(of[n], value) for value in sought[n])) for n in several]
    left_out = [facet(of, v) for n, of in view.excluded.items() for v in given.get(n, ())]
    times = ((*how, given[name]) for name, how in view.compared.items() if name in given)
    created = (">=", query.created_after), ("<", query.created_before)
    holds = given.get(view.period.name) if view.period else None
    return ListFilter(
        now=now,
        every=tuple(sorted(every)),
        groups=tuple(sorted(groups)),
        none=tuple(left_out),
        compared=tuple(times),
        period=(view.period, holds) if view.period and holds is not None else None,
        along={name: given[name] for name in ALONG if view.tree and name in given},
        owner_id=query.owner_id,
        created=tuple((how, time) for how, time in created if time),
    )


def holds(period: Period, row: Mapping[str, Any], now: datetime) -> bool:
    """Return whether a property holds of a row, as a list answers it, at this time."""
    fields = [field for field in (period.since, period.until) if field]
    times = {field: row[field] and datetime.fromisoformat(row[field]) for field in fields}
    return period.holds_of(SimpleNamespace(**{**row, **times}), now)
