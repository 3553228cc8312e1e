"""Strict parsing of token claims: JSON objects, times, names and audiences."""

import json
import math
from collections.abc import Collection, Mapping
from typing import Any, cast

LEEWAY = 60.0
"""Allowed difference between the provider's clock and ours, in seconds."""

MAX_NAME_LENGTH = 255

type Claims = Mapping[str, object]


def parse_claims(text: bytes) -> Claims | None:
    """Return a JSON object in UTF-8, or None when the text is not one unambiguous object."""
    try:
        value: object = json.loads(
            text.decode(), object_pairs_hook=_unique_members, parse_constant=_refuse_constant
        )
    except (ValueError, RecursionError):
        return None
    return cast("Claims", value) if isinstance(value, dict) else None


def _unique_members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("duplicate member")
    return members


def _refuse_constant(constant: str) -> object:
    raise ValueError(f"{constant} is not a JSON value")


def numeric_date(value: object) -> float | None:
    """Return the seconds since 1970 of a NumericDate claim, or None when it is not one."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    # A larger integer cannot be converted to a float.
    if not -(2**53) < value < 2**53 or not math.isfinite(value):
        return None
    return float(value)


def printable_name(value: object) -> str | None:
    """Return a claim that is a printable text of allowed length, or None when it is not."""
    if isinstance(value, str) and 0 < len(value) <= MAX_NAME_LENGTH and value.isprintable():
        return value
    return None


def audience_matches(audience: object, accepted: Collection[str]) -> bool:
    """Whether an `aud` claim, a text or a list of texts, contains one of the accepted values."""
    named = cast("list[object]", audience) if isinstance(audience, list) else [audience]
    return all(isinstance(each, str) for each in named) and any(each in accepted for each in named)
