"""Canonical JSON text (RFC 8785): equal values have equal texts."""

import json
from decimal import Decimal
from math import isfinite

from .bounds import Json

MOST_PLAIN_DIGITS = 21  # longer numbers, and numbers below 1e-6, are written with an exponent
MOST_LEADING_ZEROS = 6


def canonical_text(value: Json) -> str:
    """Return the value with sorted names, without blanks, with one form for each number.

    Raise ValueError when a number is not finite or a text is not Unicode.
    """
    match value:
        case None | bool():
            return json.dumps(value)
        case str():
            value.encode()
            return json.dumps(value, ensure_ascii=False)
        case int() | float():
            return _number(value)
        case list():
            return f"[{','.join(map(canonical_text, value))}]"
        case dict():
            # The RFC sorts by UTF-16 code units, which is not the order of code points.
            ordered = sorted(value.items(), key=lambda member: member[0].encode("utf-16-be"))
            members = (f"{canonical_text(name)}:{canonical_text(each)}" for name, each in ordered)
            return f"{{{','.join(members)}}}"


def _number(value: float) -> str:
    """Return the shortest decimal that reads as the same double, as ECMAScript writes it."""
    try:
        double = float(value)
    except OverflowError:
        double = float("inf")
    if not isfinite(double):
        raise ValueError("a number is not finite")
    if double == 0:
        return "0"
    sign, digits, exponent = Decimal(repr(double)).normalize().as_tuple()
    text, minus = "".join(map(str, digits)), "-" if sign else ""
    point = len(text) + int(exponent)  # the number of digits before the point
    if len(text) <= point <= MOST_PLAIN_DIGITS:
        return f"{minus}{text:0<{point}}"
    if 0 < point <= MOST_PLAIN_DIGITS:
        return f"{minus}{text[:point]}.{text[point:]}"
    if -MOST_LEADING_ZEROS < point <= 0:
        return f"{minus}0.{'0' * -point}{text}"
    mantissa = f"{text[0]}.{text[1:]}" if len(text) > 1 else text
    return f"{minus}{mantissa}e{point - 1:+d}"
