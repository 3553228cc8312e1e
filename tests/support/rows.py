"""The rows of the catalogue that a run of the generic tests covers."""

import os
from collections.abc import Iterable

from gate.suites import ONLY

from beamkeep.kernel import Operation, Question


def is_wanted(*modules: str) -> bool:
    """Return whether something that these modules define is wanted. By default everything is."""
    named = {name.strip() for name in os.environ.get(ONLY, "").split(",")} - {""}
    return not named or not named.isdisjoint(modules)


def selected[R: Operation | Question](rows: Iterable[R]) -> list[R]:
    """Return the rows of the wanted modules."""
    return [row for row in rows if is_wanted(*_modules(row))]


def _modules(row: Operation | Question) -> tuple[str, ...]:
    """Return the modules that define the aggregate of a row, its input and its rule."""
    aggregate = row.aggregate.begin.__module__
    match row:
        case Operation():
            return aggregate, row.command.__module__, row.rule.__module__
        case Question():
            return aggregate, row.query.__module__
