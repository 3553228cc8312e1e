"""What a call takes, as one JSON Schema that stands by itself."""

from collections.abc import Mapping
from typing import Any, cast

from beamkeep.kernel import Operation, Question

DEFINITIONS = "#/$defs/"
LITERAL = frozenset({"const", "default", "enum", "examples"})
"""Keywords whose value is an example of what is described, not a schema."""


def input_schema(row: Operation | Question) -> dict[str, Any]:
    """The arguments of a call, those in its path first."""
    model = row.command if isinstance(row, Operation) else row.query
    whole = model.model_json_schema()
    definitions: Mapping[str, Any] = whole.pop("$defs", {})
    recursive: dict[str, Any] = {}
    schema = cast("dict[str, Any]", _inlined(whole, definitions, (), recursive))
    in_path = [field for field in row.route.fields if field not in model.model_fields]
    schema["properties"] = {
        **{field: {"type": "string", "format": "uuid"} for field in in_path},
        **schema.get("properties", {}),
    }
    if required := [*in_path, *schema.pop("required", ())]:
        schema["required"] = required
    if recursive:
        schema["$defs"] = recursive
    return schema


def _inlined(
    value: object,
    definitions: Mapping[str, Any],
    within: tuple[str, ...],
    recursive: dict[str, Any],
) -> object:
    """A schema without references, save those of a definition that contains itself."""
    if isinstance(value, list):
        items = cast("list[object]", value)
        return [_inlined(item, definitions, within, recursive) for item in items]
    if not isinstance(value, dict):
        return value
    schema = cast("dict[str, Any]", value)
    # A property may be called title as well; then it is a schema and not a text.
    kept = {
        key: each if key in LITERAL else _inlined(each, definitions, within, recursive)
        for key, each in schema.items()
        if key != "$ref" and not (key == "title" and isinstance(each, str))
    }
    reference = schema.get("$ref")
    if not isinstance(reference, str):
        return kept
    name = reference.removeprefix(DEFINITIONS)
    if name in within:
        recursive.setdefault(name, {})
        return {"$ref": reference, **kept}
    target = _inlined(definitions[name], definitions, (*within, name), recursive)
    if name in recursive and not recursive[name]:
        recursive[name] = target
    return {**cast("dict[str, Any]", target), **kept}
