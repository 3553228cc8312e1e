"""Which rows of a list fit a filter, as the database answers it."""

import operator
from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from beamkeep.runtime.filters import holds
from beamkeep.runtime.store import ListFilter

COMPARISONS = {">=": operator.ge, ">": operator.gt, "<": operator.lt, "<=": operator.le}


def fits(wanted: ListFilter, facets: Collection[str], row: Mapping[str, Any]) -> bool:
    """Return whether a row with these properties fits, apart from its place in the tree."""
    compared = (*wanted.compared, *(("created_at", *each) for each in wanted.created))
    return (
        set(facets).issuperset(wanted.every)
        and set(facets).isdisjoint(wanted.none)
        and all(not set(facets).isdisjoint(group) for group in wanted.groups)
        and all(
            row[field] and COMPARISONS[how](datetime.fromisoformat(row[field]), time)
            for field, how, time in compared
        )
        and (not wanted.period or holds(wanted.period[0], row, wanted.now) is wanted.period[1])
        and (wanted.owner_id is None or UUID(row["owner_id"]) == wanted.owner_id)
    )
