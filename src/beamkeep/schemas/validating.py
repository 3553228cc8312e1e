"""Values against a schema, by compiled validators that never fetch and never backtrack."""

import json
from functools import lru_cache

from jsonschema_rs import (
    Draft202012Validator,
    RegexOptions,
    ValidationError,
    ValidationErrorKind,
)

from .bounds import Json, JsonObject, JsonPath, canonical
from .nodes import below, properties

# The engine needs time in proportion to pattern times text; together these keep a hostile pair
# of the two at some twenty milliseconds.
PATTERN_MEMORY = 16_384
MAX_PATTERNS = 50
MAX_PATTERN_TEXT = 4_096


def violation(value: Json, node: JsonObject) -> tuple[JsonPath, str, str] | None:
    """Where and by which keyword a value first breaks a node, and how; nothing if it holds."""
    schema = canonical(node)
    if b'"pattern"' in schema and _text_under_patterns(value, node) > MAX_PATTERN_TEXT:
        why = f"text that meets a `pattern` is over {MAX_PATTERN_TEXT:,} characters in all"
        return (), "pattern", why
    try:
        compiled(schema).validate(value)
    except ValidationError as error:
        match error.kind:
            case ValidationErrorKind.Required(property=name):
                why = f"`{name}` is required"
            case (
                ValidationErrorKind.AdditionalProperties(unexpected=names)
                | ValidationErrorKind.UnevaluatedProperties(unexpected=names)
            ):
                why = f"`{names[0]}` is not declared"
            case _:
                why = f"it breaks `{error.schema_path[-1]}`"
        return tuple(error.instance_path), str(error.schema_path[-1]), why
    return None


@lru_cache(maxsize=256)
def compiled(schema: bytes) -> Draft202012Validator:
    """The validator of a node given by its canonical bytes; ValueError if it does not compile."""
    return Draft202012Validator(
        _closed(json.loads(schema)),
        offline=True,
        pattern_options=RegexOptions(size_limit=PATTERN_MEMORY),
    )


@lru_cache(maxsize=1024)
def is_linear_pattern(pattern: str) -> bool:
    """Whether a pattern compiles in the engine that needs linear time, within its memory."""
    try:
        compiled(canonical({"pattern": pattern}))
    except ValueError:
        return False
    return True


def _closed(node: JsonObject) -> JsonObject:
    """The node with every level that has `properties` closed, as an author may forget to."""
    written = dict(node)
    if "properties" in node:
        written["properties"] = {
            name: _closed(below(child)) for name, child in properties(node).items()
        }
        written["additionalProperties"] = False
    if "items" in node:
        written["items"] = _closed(below(node["items"]))
    return written


def _text_under_patterns(value: Json, node: JsonObject) -> int:
    match value:
        case str():
            return len(value) if "pattern" in node else 0
        case list() if "items" in node:
            under = below(node["items"])
            return sum(_text_under_patterns(element, under) for element in value)
        case dict():
            named = properties(node)
            return sum(
                _text_under_patterns(member, below(named[name]))
                for name, member in value.items()
                if name in named
            )
        case _:
            return 0
