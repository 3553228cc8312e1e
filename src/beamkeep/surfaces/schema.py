"""The arguments of a call as one JSON Schema without references."""

from collections.abc import Mapping
from typing import Any, cast

from beamkeep.kernel import Operation, Question

type Endpoint = Operation | Question
"""What a client can call: one row of the catalogue."""

LITERAL = frozenset({"const", "default", "enum", "examples"})
"""Keywords whose value is not a schema."""


def input_schema(endpoint: Endpoint) -> dict[str, Any]:
    """Return the schema of the arguments, those of the path first."""
    model = endpoint.command if isinstance(endpoint, Operation) else endpoint.query
    whole = model.model_json_schema()
    schema: dict[str, Any] = _inlined(whole, whole.pop("$defs", {}))
    in_path = [field for field in endpoint.route.fields if field not in model.model_fields]
    schema["properties"] = {
        **{field: {"type": "string", "format": "uuid"} for field in in_path},
        **schema.get("properties", {}),
    }
    if required := [*in_path, *schema.pop("required", ())]:
        schema["required"] = required
    return schema


def _inlined(value: Any, definitions: Mapping[str, Any]) -> Any:
    """Return a schema without references, discriminators and titles that repeat a name."""
    if isinstance(value, list):
        return [_inlined(item, definitions) for item in cast("list[Any]", value)]
    if not isinstance(value, dict):
        return value
    schema = cast("dict[str, Any]", value)
    # A property may also be called title; then its value is a schema and not a text.
    members = {
        key: each if key in LITERAL else _inlined(each, definitions)
        for key, each in schema.items()
        if key != "$ref" and not (key == "title" and isinstance(each, str))
        if not (key == "discriminator" and "propertyName" in each)
    }
    name = str(schema.get("$ref", "")).removeprefix("#/$defs/")
    return {**_inlined(definitions[name], definitions), **members} if name else members
