"""Subset: whether a method's schema allows no more than its capability's, by keywords."""

from decimal import Decimal

from beamkeep.kernel import Record, Refusal, replace

from .bounds import Json, JsonObject, JsonPath, path_text
from .nodes import JsonSchema, below, closed, exact, properties, shut, unit
from .validating import violation


class WiderKeyword(Record):
    """The first keyword by which a method's schema allows more than its capability's."""

    path: JsonPath
    keyword: str
    rule: int
    """The row of the table in `docs/domain/schemas.md`."""


def require_subset(
    method: JsonSchema | None, capability: JsonSchema | None, refusal: type[Refusal]
) -> None:
    """Refuse a method's schema that allows more than its capability's schema."""
    if method is None or capability is None:
        return
    if found := _widening(method, capability, ()):
        place = path_text(found.path)
        raise refusal(
            f"At {place}: `{found.keyword}` allows more (rule {found.rule}).",
            path=place,
            keyword=found.keyword,
            rule=found.rule,
        )


def _widening(m: JsonObject, c: JsonObject, path: JsonPath) -> WiderKeyword | None:
    if not c:
        return None
    if unit(c) is not None and unit(m) != unit(c):
        return WiderKeyword(path, "unit", 1)
    if "enum" in m:
        taken = all(violation(value, c) is None for value in _list(m["enum"]))
        return None if taken else WiderKeyword(path, "enum", 2)
    for keyword, rule, holds in (
        ("enum", 3, "enum" not in c),
        ("type", 4, not path or _type_within(m.get("type"), c.get("type"))),
        ("minimum", 5, _within(_bound(m, "inimum", 1), _bound(c, "inimum", 1))),
        ("maximum", 6, _within(_bound(m, "aximum", -1), _bound(c, "aximum", -1))),
        ("minLength", 7, _count_within(m, c, "minLength", 1)),
        ("minItems", 7, _count_within(m, c, "minItems", 1)),
        ("maxLength", 8, _count_within(m, c, "maxLength", -1)),
        ("maxItems", 8, _count_within(m, c, "maxItems", -1)),
        ("pattern", 9, "pattern" not in c or m.get("pattern") == c["pattern"]),
    ):
        if not holds:
            return WiderKeyword(path, keyword, rule)
    if "items" in c:
        if "items" not in m:
            return WiderKeyword(path, "items", 10)
        if found := _widening(below(m["items"]), below(c["items"]), (*path, "items")):
            return replace(found, rule=10)
    if path and not any(map(_about_objects, (m, c))):
        return None
    return _wider_object(m, c, path)


def _wider_object(m: JsonObject, c: JsonObject, path: JsonPath) -> WiderKeyword | None:
    own, allowed = properties(m), properties(c)
    if closed(c) and not closed(m):
        return WiderKeyword(path, "additionalProperties", 11)
    for name, node in own.items():
        step = (*path, "properties", name)
        if closed(c) and name not in allowed:
            return WiderKeyword(step, "properties", 12)
        if name in allowed and (found := _widening(below(node), below(allowed[name]), step)):
            return found
    if not set(_list(m.get("required", []))) >= set(_list(c.get("required", []))):
        return WiderKeyword(path, "required", 13)
    return None


def _about_objects(node: JsonObject) -> bool:
    return node.get("type") == "object" or "properties" in node or shut(node)


def _type_within(m: Json, c: Json) -> bool:
    return c is None or m == c or (m == "integer" and c == "number")


type _Bound = tuple[Decimal, bool] | None


def _bound(node: JsonObject, ending: str, sign: int) -> _Bound:
    """Return the tighter of two bounds on one side, larger if tighter; exclusive wins a tie."""
    given = [
        (_signed(node[keyword], sign), exclusive)
        for keyword, exclusive in ((f"m{ending}", False), (f"exclusiveM{ending}", True))
        if keyword in node
    ]
    return max(given, default=None)


def _within(m: _Bound, c: _Bound) -> bool:
    return c is None or (m is not None and m >= c)


def _count_within(m: JsonObject, c: JsonObject, keyword: str, sign: int) -> bool:
    return keyword not in c or (
        keyword in m and _signed(m[keyword], sign) >= _signed(c[keyword], sign)
    )


def _signed(number: Json, sign: int) -> Decimal:
    # Arithmetic rounds to the precision of the decimal context; a copy does not.
    return exact(number) if sign > 0 else exact(number).copy_negate()


def _list(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []
