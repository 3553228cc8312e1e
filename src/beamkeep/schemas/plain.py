"""Plain JSON: what the store and every other reader of it keep as it was sent."""

from math import isfinite
from typing import cast

from beamkeep.kernel import Refusal

MAX_DEPTH = 64
MAX_VALUES = 50_000
EXACT_INTEGER = 2**53


def require_plain(value: object, refusal: type[Refusal]) -> None:
    """Refuse what JSON can say and the store or another reader of it cannot keep.

    A text with an unpaired surrogate raises `UnicodeEncodeError`.
    """
    # Level by level and not by recursion, and no further than so many values: each costs time.
    level, seen = [value], 0
    for depth in range(MAX_DEPTH + 1):
        below: list[object] = []
        for each in level:
            match each:
                case str():
                    if "\x00" in each:
                        raise refusal("A text holds a null character.")
                    if not each.isascii():
                        each.encode()
                case int() if abs(each) > EXACT_INTEGER:
                    raise refusal("An integer is beyond 2^53, where readers round.")
                case float() if not isfinite(each):
                    raise refusal("A number is not finite.")
                case dict() | list() if depth == MAX_DEPTH:
                    raise refusal(f"The body is nested more than {MAX_DEPTH} deep.")
                case dict():
                    named = cast("dict[object, object]", each)
                    below += named
                    below += named.values()
                case list():
                    below += cast("list[object]", each)
                case _:
                    pass
        seen += len(below)
        if seen > MAX_VALUES:
            raise refusal(f"The body holds more than {MAX_VALUES:,} names and values.")
        if not below:
            return
        level = below
