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
            # By the very class, the commonest first: this is asked of every value that comes in.
            kind = type(each)
            if kind is str:
                text = cast("str", each)
                if "\x00" in text:
                    raise refusal("A text holds a null character.")
                if not text.isascii():
                    text.encode()
            elif kind is float:
                if not isfinite(cast("float", each)):
                    raise refusal("A number is not finite.")
            elif kind is int:
                if abs(cast("int", each)) > EXACT_INTEGER:
                    raise refusal("An integer is beyond 2^53, where readers round.")
            elif kind is dict or kind is list:
                if depth == MAX_DEPTH:
                    raise refusal(f"The body is nested more than {MAX_DEPTH} deep.")
                below += cast("list[object]", each)
                if kind is dict:
                    below += cast("dict[object, object]", each).values()
        seen += len(below)
        if seen > MAX_VALUES:
            raise refusal(f"The body holds more than {MAX_VALUES:,} names and values.")
        if not below:
            return
        level = below
