"""JSON values small enough to look at: types, paths, and the two bounds."""

import json
import math
import re
from typing import TYPE_CHECKING, cast

from beamkeep.kernel import Refusal

if TYPE_CHECKING:
    type Json = dict[str, Json] | list[Json] | str | int | float | bool | None
else:
    Json = object  # what reads types at run time cannot follow one into itself
type JsonObject = dict[str, Json]
type JsonPath = tuple[str | int, ...]
type _Container = dict[object, object] | list[object]

MAX_BYTES = 65_536
MAX_LEVELS = 8
_TOO_LONG_INTEGER = 10**4_000  # longer ones cannot be written out in decimals at all
_CONTAINERS = (dict, list)  # a union would be made anew for each of many thousand values
_SURROGATE = re.compile("[\ud800-\udfff]")
_PLAIN_NAME = re.compile("[A-Za-z_$][A-Za-z0-9_]*")


def path_text(path: JsonPath) -> str:
    """The path as a person writes it: `$.properties.energy`, `$.rows[3]['a b']`."""
    return "$" + "".join(
        f"[{step}]"
        if isinstance(step, int)
        else f".{step}"
        if _PLAIN_NAME.fullmatch(step) and len(step) <= 100
        else f"[{step[:100]!r}]"
        for step in path
    )


def refused(refusal: type[Refusal], path: JsonPath, rule: str, why: str) -> Refusal:
    """The caller's refusal, with the place and the rule in words and as facts."""
    place = path_text(path)
    return refusal(f"At {place}: {why}.", path=place, rule=rule)


def require_bounded(value: object, refusal: type[Refusal], levels: int = MAX_LEVELS) -> JsonObject:
    """The value as a JSON object within the bounds, whatever it was."""
    if not isinstance(value, dict):
        raise refused(refusal, (), "object", "it must be a JSON object")
    # Walked with a list, not by recursion: a hostile value may be nested without end.
    pending: list[tuple[_Container, JsonPath]] = [(cast("_Container", value), ())]
    least_bytes = 0
    while pending:
        container, path = pending.pop()
        named = isinstance(container, dict)
        least_bytes += (5 if named else 2) * len(container)
        if least_bytes > MAX_BYTES:
            raise _too_large(refusal)
        if container and len(path) + 2 > levels:
            raise refused(refusal, path, "depth", f"it is nested over {MAX_LEVELS} levels deep")
        for step, item in container.items() if named else enumerate(container):
            if named and (not isinstance(step, str) or _SURROGATE.search(step)):
                raise refused(refusal, path, "json", "a name must be Unicode text")
            if isinstance(item, _CONTAINERS):
                pending.append((cast("_Container", item), (*path, cast("str | int", step))))
            elif isinstance(item, str) and len(item) > MAX_BYTES:
                raise _too_large(refusal)
            elif why := _no_scalar(item):
                raise refused(refusal, (*path, cast("str | int", step)), "json", why)
    bounded = cast("JsonObject", value)
    if len(canonical(bounded)) > MAX_BYTES:
        raise _too_large(refusal)
    return bounded


def canonical(value: Json) -> bytes:
    """The value as compact JSON with sorted names, the same bytes for the same value."""
    return json.dumps(
        value, ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":")
    ).encode()


def _too_large(refusal: type[Refusal]) -> Refusal:
    return refused(refusal, (), "size", f"it is over {MAX_BYTES:,} bytes of compact JSON")


def _no_scalar(item: object) -> str | None:
    if item is None or isinstance(item, bool):
        return None
    if isinstance(item, int):
        fits = -_TOO_LONG_INTEGER < item < _TOO_LONG_INTEGER
        return None if fits else "an integer has at most 4,000 digits"
    if isinstance(item, float):
        return None if math.isfinite(item) else "a number must be finite"
    if isinstance(item, str):
        return "text must be Unicode text" if _SURROGATE.search(item) else None
    return "it is no JSON value"
