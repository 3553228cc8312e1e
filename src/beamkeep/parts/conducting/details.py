"""What is kept of a step: text and JSON that a database can store, and not too much of it."""

import math
from collections.abc import Sequence
from typing import cast

from beamkeep.contexts.operation.activity import LONGEST_DETAIL
from beamkeep.contexts.seams.routes import (
    is_number,
)
from beamkeep.schemas import Json, JsonObject, canonical_text

LONGEST_ARRAY, LONGEST_TEXT, LONGEST_MESSAGE, DEEPEST = 100, 1000, 500, 50


class StepFailedError(Exception):
    """A step that failed, with what its row says."""

    def __init__(self, error_class: str, message: str, *, in_doubt: bool) -> None:
        super().__init__(message)
        self.detail: JsonObject = {
            "error_class": error_class,
            "message": plain(message)[:LONGEST_MESSAGE],
            "in_doubt": in_doubt,
        }


def plain(text: str) -> str:
    """Return a text without characters that no row can hold."""
    return text.replace("\x00", "?").encode(errors="replace").decode()


def storable(value: object, depth: int = 0) -> Json:
    """Return a value of another system as rows can hold it: without NUL, NaN and infinities.

    Arrays and numbers of numpy become lists and numbers. Raise `ValueError` when it is not JSON.
    """
    if depth > DEEPEST:
        raise ValueError(f"it is nested more than {DEEPEST} levels deep")
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return plain(str(value))
    if isinstance(value, int):
        # Rows hold integers of 64 bits.
        return int(value) if -(2**63) <= value < 2**63 else storable(_as_float(value))
    if isinstance(value, float):
        return float(value) if is_number(float(value)) else None
    if isinstance(value, dict):
        items = cast("dict[object, object]", value).items()
        if others := [key for key, _ in items if not isinstance(key, str)]:
            raise ValueError(f"the key {str(others[0])[:100]!r} is not a text")
        return {plain(str(key)): storable(each, depth + 1) for key, each in items}
    if isinstance(value, list | tuple):
        return [storable(each, depth + 1) for each in cast("Sequence[object]", value)]
    if callable(as_list := getattr(value, "tolist", None)):
        return storable(as_list(), depth + 1)
    raise ValueError(f"a {type(value).__name__} is not JSON")


def _as_float(value: int) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf


def without_excess(detail: JsonObject) -> JsonObject:
    """Return a detail without its value if both together are too long for a row."""
    if _byte_length(detail) <= LONGEST_DETAIL:
        return detail
    return {**detail, "value": {"omitted": True}}


def _byte_length(detail: JsonObject) -> int:
    return len(canonical_text(detail).encode())


def result_of(result: object) -> JsonObject:
    """Return what a row keeps of what an action returned. Raise when a row cannot hold it."""
    wrong = "ActionResultInvalidError"
    try:
        detail: JsonObject = {"result": storable(result)}
    except ValueError as error:
        raise StepFailedError(wrong, f"What the action returned: {error}.", in_doubt=True) from None
    if (length := _byte_length(detail)) > LONGEST_DETAIL:
        text = f"What the action returned has {length} bytes; a row holds {LONGEST_DETAIL}."
        raise StepFailedError(wrong, text, in_doubt=True)
    return detail
