"""JSON values: their types, their paths, and the bounds on their size and depth."""

import json
import math
import re
from typing import TYPE_CHECKING, cast

from beamkeep.kernel import Refusal

if TYPE_CHECKING:
    type Json = dict[str, Json] | list[Json] | str | int | float | bool | None
else:
    Json = object  # pydantic and msgspec cannot resolve a recursive type
type JsonObject = dict[str, Json]
type JsonPath = tuple[str | int, ...]
type _Container = dict[object, object] | list[object]

MAX_BYTES = 65_536
MAX_LEVELS = 8
_TOO_LONG_INTEGER = 10**4_000  # Python does not write longer integers as decimal text
_CONTAINERS = (dict, list)  # a union type would be built for each of many thousand values
_SURROGATE = re.compile("[\ud800-\udfff]")
_PLAIN_NAME = re.compile("[A-Za-z_$][A-Za-z0-9_]*")


def path_text(path: JsonPath) -> str:
    """Return the path as text: `$.properties.energy`, `$.rows[3]['a b']`."""
    return "$" + "".join(
        f"[{step}]"
        if isinstance(step, int)
        else f".{step}"
        if _PLAIN_NAME.fullmatch(step) and len(step) <= 100
        else f"[{step[:100]!r}]"
        for step in path
    )


def refused(refusal: type[Refusal], path: JsonPath, rule: str, why: str) -> Refusal:
    """Return the caller's refusal with the path and the rule, as text and as facts."""
    place = path_text(path)
    return refusal(f"At {place}: {why}.", path=place, rule=rule)


def require_bounded(value: object, refusal: type[Refusal], levels: int = MAX_LEVELS) -> JsonObject:
    """Return the value as a JSON object; raise the refusal when it is none or over a bound."""
    if not isinstance(value, dict):
        raise refused(refusal, (), "object", "the value must be a JSON object")
    # No recursion: a hostile value can be nested deeper than the stack.
    pending: list[tuple[_Container, JsonPath]] = [(cast("_Container", value), ())]
    least_bytes = 0
    while pending:
        container, path = pending.pop()
        named = isinstance(container, dict)
        least_bytes += (5 if named else 2) * len(container)
        if least_bytes > MAX_BYTES:
            raise _too_large(refusal)
        if container and len(path) + 2 > levels:
            raise refused(refusal, path, "depth", f"the value is over {levels} levels deep")
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
    """Return the value as compact JSON with sorted names."""
    return json.dumps(
        value, ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":")
    ).encode()


def _too_large(refusal: type[Refusal]) -> Refusal:
    return refused(
        refusal, (), "size", f"the value has more than {MAX_BYTES:,} bytes as compact JSON"
    )


def _no_scalar(item: object) -> str | None:
    if item is None or isinstance(item, bool):
        return None
    if isinstance(item, int):
        fits = -_TOO_LONG_INTEGER < item < _TOO_LONG_INTEGER
        return None if fits else "an integer can have at most 4,000 digits"
    if isinstance(item, float):
        return None if math.isfinite(item) else "a number must be finite"
    if isinstance(item, str):
        return "a text must be Unicode text" if _SURROGATE.search(item) else None
    return "the value is not a JSON value"
