"""Validating: compiled validators that fetch nothing and never backtrack."""

import json
from functools import lru_cache
from typing import TYPE_CHECKING

from .bounds import Json, JsonObject, JsonPath, canonical
from .nodes import below, properties

if TYPE_CHECKING:
    from jsonschema_rs import Draft202012Validator

# The engine takes time proportional to pattern times text; these bounds keep a hostile pair of
# both at about 20 ms.
PATTERN_MEMORY = 16_384
MAX_PATTERNS = 50
MAX_PATTERN_TEXT = 4_096


def violation(value: Json, node: JsonObject) -> tuple[JsonPath, str, str] | None:
    """Return the path, the keyword and the reason of the first violation; None if there is none."""
    from jsonschema_rs import ValidationError, ValidationErrorKind  # noqa: PLC0415

    schema = canonical(node)
    if b'"pattern"' in schema and _text_under_patterns(value, node) > MAX_PATTERN_TEXT:
        why = f"the texts under a `pattern` have more than {MAX_PATTERN_TEXT:,} characters"
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
                why = f"the value does not satisfy `{error.schema_path[-1]}`"
        return tuple(error.instance_path), str(error.schema_path[-1]), why
    return None


@lru_cache(maxsize=256)
def compiled(schema: bytes) -> "Draft202012Validator":
    """Return the validator of a node's canonical bytes; raise ValueError if it does not compile."""
    # Its library takes 5 MB, and many processes never validate a value.
    from jsonschema_rs import Draft202012Validator, RegexOptions  # noqa: PLC0415

    return Draft202012Validator(
        _closed(json.loads(schema)),
        offline=True,
        pattern_options=RegexOptions(size_limit=PATTERN_MEMORY),
    )


@lru_cache(maxsize=1024)
def is_linear_pattern(pattern: str) -> bool:
    """Return whether a pattern compiles in the linear-time engine within its memory."""
    try:
        compiled(canonical({"pattern": pattern}))
    except ValueError:
        return False
    return True


def _closed(node: JsonObject) -> JsonObject:
    """Return the node with every level that has `properties` closed."""
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
