"""Criteria: whether a reading is what a step or a loop expects."""

from beamkeep.contexts.seams.routes import is_number
from beamkeep.schemas import Json

from .steps import Criterion, Equals


def meets(criterion: Criterion, reading: Json) -> bool:
    """Return whether the reading meets the criterion; a text is within no tolerance."""
    expected = criterion.expected
    if isinstance(criterion, Equals):
        return equal(expected, reading)
    if not (is_number(expected) and is_number(reading)):
        return False
    return abs(reading - expected) <= criterion.tolerance


def equal(one: Json, other: Json) -> bool:
    """Return whether two values are equal in type and value: 1 equals 1.0, and true does not."""
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(equal, one, other))
    return isinstance(one, bool) is isinstance(other, bool) and one == other
