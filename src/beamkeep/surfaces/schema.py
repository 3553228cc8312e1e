"""What a call takes, as one JSON Schema that stands by itself."""

from collections.abc import Mapping
from typing import Any, cast

from beamkeep.kernel import Operation, Question

LITERAL = frozenset({"const", "default", "enum", "examples"})
"""Keywords whose value is an example of what is described, not a schema."""


def input_schema(row: Operation | Question) -> dict[str, Any]:
    """The arguments of a call, those in its path first."""
    model = row.command if isinstance(row, Operation) else row.query
    whole = model.model_json_schema()
    schema: dict[str, Any] = _inlined(whole, whole.pop("$defs", {}))
    in_path = [field for field in row.route.fields if field not in model.model_fields]
    schema["properties"] = {
        **{field: {"type": "string", "format": "uuid"} for field in in_path},
        **schema.get("properties", {}),
    }
    if required := [*in_path, *schema.pop("required", ())]:
        schema["required"] = required
    return schema


def _inlined(value: Any, definitions: Mapping[str, Any]) -> Any:
    """A schema without references, or hints at them, and without titles that repeat a name."""
    if isinstance(value, list):
        return [_inlined(item, definitions) for item in cast("list[Any]", value)]
    if not isinstance(value, dict):
        return value
    schema = cast("dict[str, Any]", value)
    # A property may be called title as well; then it is a schema and not a text.
    kept = {
        key: each if key in LITERAL else _inlined(each, definitions)
        for key, each in schema.items()
        if key != "$ref" and not (key == "title" and isinstance(each, str))
        if not (key == "discriminator" and "propertyName" in each)
    }
    name = str(schema.get("$ref", "")).removeprefix("#/$defs/")
    return {**_inlined(definitions[name], definitions), **kept} if name else kept
