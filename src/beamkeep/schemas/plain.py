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
    level, seen, names, texts = [value], 0, set[str](), list[str]()
    for depth in range(MAX_DEPTH + 1):
        below: list[object] = []
        texts += [each for each in level if isinstance(each, str)]
        if depth == MAX_DEPTH and any(isinstance(each, dict | list) for each in level):
            raise refusal(f"The body is nested more than {MAX_DEPTH} deep.")
        for each in [each for each in level if not isinstance(each, str)]:
            if isinstance(each, dict):
                held = cast("dict[str, object]", each)
                names.update(held)
                seen += len(held)
                below += held.values()
            elif isinstance(each, list):
                below += cast("list[object]", each)
            elif isinstance(each, float):
                if not isfinite(each):
                    raise refusal("A number is not finite.")
            elif isinstance(each, int) and abs(each) > EXACT_INTEGER:
                raise refusal("An integer is beyond 2^53, where readers round.")
        seen += len(below)
        if seen > MAX_VALUES:
            raise refusal(f"The body holds more than {MAX_VALUES:,} names and values.")
        if not below:
            break
        level = below
    # All texts as one, and every name once: a call for each would take longer than all the rest.
    text = "".join([*texts, *names])
    if "\x00" in text:
        raise refusal("A text holds a null character.")
    if not text.isascii():
        text.encode()
