"""Plain JSON: values that the store and other readers keep unchanged."""

import re
from collections.abc import Iterable
from math import isfinite
from typing import cast

from beamkeep.kernel import Refusal

MAX_DEPTH = 64
MAX_VALUES = 50_000
MOST_FLAT = 100
EXACT_INTEGER = 2**53
TOO_MANY = f"The body has more than {MAX_VALUES:,} names and values."
TEXT = rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
EMPTY = rb"[\[{](?=\s*[\]}])"
MARKS = re.compile(
    rb'(?:(?:[^",:\[{]++|%b|%b)*+[,:\[{]){%d}+' % (TEXT, EMPTY, MAX_VALUES + 1), re.DOTALL
)
"""So many marks that stand before a name or a value."""


def require_few(text: bytes, refusal: type[Refusal]) -> None:
    """Refuse a JSON text with too many names and values, without making any of them."""
    # Counting bytes takes a microsecond; only then are those within texts distinguished.
    if sum([text.count(each) for each in b",:[{"]) > MAX_VALUES and MARKS.match(text):
        raise refusal(TOO_MANY)


def require_plain(value: object, refusal: type[Refusal]) -> None:
    """Refuse valid JSON that the store or another reader cannot keep unchanged.

    Raise UnicodeEncodeError when a text has an unpaired surrogate.
    """
    # Most values are an object of a few texts.
    if (text := _of_texts(value)) is None:
        text = "".join(_texts(value, refusal))
    if "\x00" in text:
        raise refusal("A text contains a null character.")
    if not text.isascii():
        text.encode()


def _of_texts(value: object) -> str | None:
    """Return names and texts of an object that has nothing but a few texts, as one text."""
    flat = cast("dict[str, str]", value)
    if not isinstance(value, dict) or len(flat) > MOST_FLAT:
        return None
    try:
        return "".join([*flat, *flat.values()])
    except TypeError:
        return None


def _texts(value: object, refusal: type[Refusal]) -> Iterable[str]:
    """Return every text and name in a value, to be checked in one call."""
    # Level by level, without recursion, and up to a bound, because each value costs time.
    level, seen, names, texts = [value], 0, set[str](), list[str]()
    for depth in range(MAX_DEPTH + 1):
        below: list[object] = []
        for each in level:
            if isinstance(each, str):
                texts.append(each)
            elif depth == MAX_DEPTH and isinstance(each, dict | list):
                raise refusal(f"The body is nested more than {MAX_DEPTH} levels deep.")
            elif isinstance(each, dict):
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
                raise refusal(
                    "An integer is larger than 2^53, so that other readers would round it."
                )
        seen += len(below)
        if seen > MAX_VALUES:
            raise refusal(TOO_MANY)
        if not below:
            break
        level = below
    return *texts, *names
