"""Declaring: which schemas and which units a declarer may use."""

from collections.abc import Callable, Mapping

from beamkeep.kernel import Refusal

from .bounds import MAX_LEVELS, Json, JsonObject, JsonPath, canonical, refused, require_bounded
from .nodes import NUMERIC, JsonSchema, below, exact, is_number, nodes, properties, unit
from .units import SYSTEMS, is_code
from .validating import MAX_PATTERNS, compiled, is_linear_pattern

MAX_NODES = 1000

DIALECT = "https://json-schema.org/draft/2020-12/schema"
TYPES = ("object", "array", "string", "number", "integer", "boolean")
RESERVED_NAMES = frozenset({"compatible", "backend"})
# A node takes two levels of JSON, `properties` and itself; `enum` adds a list and its values.
_LEVELS_AS_WRITTEN = 2 * MAX_LEVELS + 1


def declare(schema: object, refusal: type[Refusal]) -> JsonSchema | None:
    """Return the schema unchanged; raise the refusal when it fails one of the five steps."""
    if schema is None:
        return None
    written = _require_object(schema, refusal)
    if not written:
        return written
    if written.get("$schema") != DIALECT:
        raise refused(refusal, (), "$schema", f"`$schema` must be {DIALECT!r}")
    tree = list(nodes(written))
    _require_keywords(tree, refusal)
    _require_units(tree, refusal)
    try:
        compiled(canonical(written))
    except ValueError as error:
        raise refused(
            refusal, (), "compile", "the schema is not a valid Draft 2020-12 schema"
        ) from error
    return written


def require_same_units(
    old: JsonSchema | None, new: JsonSchema | None, refusal: type[Refusal]
) -> None:
    """Refuse a schema that changes the unit of a number which both schemas have."""
    if old is None or new is None:
        return
    before = {path: unit(node) for path, node in _numeric(old)}
    for path, node in _numeric(new):
        if path in before and unit(node) != before[path]:
            raise refused(
                refusal,
                path,
                "unit",
                "the unit of an existing field can change only in a new version",
            )


def _numeric(schema: JsonSchema) -> list[tuple[JsonPath, JsonObject]]:
    return [(path, below(at)) for path, at, _ in nodes(schema) if below(at).get("type") in NUMERIC]


type _Tree = list[tuple[JsonPath, Json, int]]


def _require_object(schema: object, refusal: type[Refusal]) -> JsonSchema:
    written = require_bounded(schema, refusal, _LEVELS_AS_WRITTEN)
    for number, (path, _, level) in enumerate(nodes(written), 1):
        if number > MAX_NODES:
            raise refused(refusal, path, "size", f"the schema has more than {MAX_NODES:,} nodes")
        if level > MAX_LEVELS:
            raise refused(refusal, path, "depth", f"the schema is over {MAX_LEVELS} nodes deep")
    return written


def _require_keywords(tree: _Tree, refusal: type[Refusal]) -> None:
    patterns = 0
    for path, node, level in tree:
        if not isinstance(node, dict):
            raise refused(refusal, path, "node", "a node must be a JSON object")
        for keyword, value in node.items():
            if keyword not in _RULES or (keyword == "$schema" and level > 1):
                raise refused(refusal, path, keyword, f"`{keyword[:100]}` is not allowed")
            if why := _RULES[keyword](value, node):
                raise refused(refusal, (*path, keyword), keyword, f"`{keyword}` {why}")
        if level == 1 and node.get("type", "object") != "object":
            raise refused(refusal, ("type",), "type", "`type` at the root must be `object`")
        for name in properties(node):
            if why := _no_property_name(name):
                raise refused(refusal, (*path, "properties", name), "properties", why)
        patterns += "pattern" in node
        if patterns > MAX_PATTERNS:
            raise refused(
                refusal,
                path,
                "pattern",
                f"a schema can have at most {MAX_PATTERNS} nodes with `pattern`",
            )


def _require_units(tree: _Tree, refusal: type[Refusal]) -> None:
    for path, at, _ in tree:
        node = below(at)
        if "unit" not in node:
            continue
        if node.get("type") not in NUMERIC:
            raise refused(refusal, path, "unit", "`unit` needs the type `number` or `integer`")
        if why := _no_unit(node["unit"]):
            raise refused(refusal, (*path, "unit"), "unit", why)


def _no_unit(value: Json) -> str | None:
    if not isinstance(value, dict):
        return "a unit must be an object with `system`, `code` and optionally `label`"
    if other := value.keys() - {"system", "code", "label"}:
        return f"a unit cannot have `{min(other)[:100]}`"
    system, code = value.get("system"), value.get("code")
    if not isinstance(system, str) or system not in SYSTEMS:
        return f"the `system` of a unit must be one of {', '.join(SYSTEMS)}"
    if not isinstance(code, str) or not 1 <= len(code) <= 100:
        return "the `code` of a unit must be a text of 1 to 100 characters"
    if not is_code(system, code):
        return f"{code!r} is not a unit of {system}"
    label = value.get("label", "none")
    if not isinstance(label, str) or not 1 <= len(label) <= 100:
        return "the `label` of a unit must be a text of 1 to 100 characters"
    return None


def _no_property_name(name: str) -> str | None:
    if name in RESERVED_NAMES:
        return f"the name `{name}` is reserved"
    return None if 1 <= len(name) <= 100 else "a name must have 1 to 100 characters"


def _is_count(value: Json) -> bool:
    return is_number(value) and exact(value) >= 0 and exact(value) == exact(value).to_integral()


type _Rule = Callable[[Json, JsonObject], str | None]


def _one_of(*allowed: Json) -> _Rule:
    def rule(value: Json, node: JsonObject) -> str | None:
        fits = any(value == one and type(value) is type(one) for one in allowed)
        return None if fits else f"must be one of {', '.join(map(repr, allowed))}"

    return rule


def _text(least: int, most: int) -> _Rule:
    def rule(value: Json, node: JsonObject) -> str | None:
        fits = isinstance(value, str) and least <= len(value) <= most
        return None if fits else f"must be a text of {least} to {most:,} characters"

    return rule


def _count(upper: str | None = None) -> _Rule:
    def rule(value: Json, node: JsonObject) -> str | None:
        if not _is_count(value):
            return "must be an integer of 0 or more"
        top = node.get(upper) if upper else None
        return (
            f"must not be above `{upper}`" if _is_count(top) and exact(value) > exact(top) else None
        )

    return rule


def _number(value: Json, node: JsonObject) -> str | None:
    return None if is_number(value) else "must be a number"


def _object(value: Json, node: JsonObject) -> str | None:
    return None if isinstance(value, dict) else "must be an object of nodes by name"


def _names(value: Json, node: JsonObject) -> str | None:
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        return "must be a list of names"
    if len(set(map(str, value))) < len(value):
        return "must list each name once"
    return None if properties(node).keys() >= set(value) else "must list only names in `properties`"


def _values(value: Json, node: JsonObject) -> str | None:
    if not isinstance(value, list) or not 1 <= len(value) <= 200:
        return "must be a list of 1 to 200 values"
    if not all(isinstance(one, str | int | float) for one in value):
        return "must list only texts, numbers and booleans"
    distinct = {(type(one), one) if not is_number(one) else exact(one) for one in value}
    return None if len(distinct) == len(value) else "must list each value once"


def _pattern(value: Json, node: JsonObject) -> str | None:
    if not isinstance(value, str) or not 1 <= len(value) <= 200:
        return "must be a text of 1 to 200 characters"
    return None if is_linear_pattern(value) else "must compile in the linear-time engine"


def _anything(value: Json, node: JsonObject) -> str | None:
    return None  # checked elsewhere: a node by the walk, a unit by `_require_units`


_RULES: Mapping[str, _Rule] = {
    "$schema": _one_of(DIALECT),
    "type": _one_of(*TYPES),
    "properties": _object,
    "required": _names,
    "additionalProperties": _one_of(False),
    "unevaluatedProperties": _one_of(False),
    "items": _anything,
    "minItems": _count("maxItems"),
    "maxItems": _count(),
    "minLength": _count("maxLength"),
    "maxLength": _count(),
    "enum": _values,
    "minimum": _number,
    "maximum": _number,
    "exclusiveMinimum": _number,
    "exclusiveMaximum": _number,
    "pattern": _pattern,
    "title": _text(0, 200),
    "description": _text(0, 2_000),
    "unit": _anything,
}
