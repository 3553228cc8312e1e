"""Schemas in few characters: a model pays for every one of them."""

import json
from typing import Any, cast


def compact(schema: Any, *, texts: bool) -> Any:
    """Return a schema that accepts the same values in a shorter form, with its texts or without."""
    if isinstance(schema, list):
        return [compact(each, texts=texts) for each in cast("list[Any]", schema)]
    if not isinstance(schema, dict):
        return schema
    short = {key: _member(key, each, texts) for key, each in cast("dict[str, Any]", schema).items()}
    if short.get("default", ...) is None or not texts:
        short.pop("default", None)
    if not texts:
        # A format says what the name of a field says, and is an annotation: it refuses no value.
        for said in ("description", "title", "format"):
            short.pop(said, None)
    short.pop("examples", None)
    match short:
        case {"anyOf": [{"type": str(kind), **rest}, {"type": "null"}]} if "enum" not in rest:
            del short["anyOf"]
            return {"type": [kind, "null"], **rest, **short}
        case {"required": required, "properties": own, "additionalProperties": False} if (
            not texts and {*required} == {*own}
        ):
            # With no others allowed, as many as there are means all of them.
            del short["required"]
            return {**short, "minProperties": len(own)}
        case _:
            return short


def _member(key: str, value: Any, texts: bool) -> Any:
    if key in {"enum", "const", "default", "examples", "required"}:
        return value
    if key in {"properties", "$defs"}:
        # The names in it are no keywords, though one may be called description.
        named = cast("dict[str, Any]", value)
        return {name: compact(each, texts=texts) for name, each in named.items()}
    return compact(value, texts=texts)


def unfold(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema in which a definition that is used once stands where it is used."""
    text, definitions = json.dumps(schema), cast("dict[str, Any]", schema.get("$defs", {}))
    once = {
        place: each
        for name, each in definitions.items()
        if text.count(json.dumps(place := f"#/$defs/{name}")) == 1
    }

    def put(value: Any) -> Any:
        match value:
            case {"$ref": str(place), **rest} if place in once:
                return {**put(once[place]), **rest}
            case dict():
                return {key: put(each) for key, each in cast("dict[str, Any]", value).items()}
            case list():
                return [put(each) for each in cast("list[Any]", value)]
            case _:
                return value

    left = {name: each for name, each in definitions.items() if f"#/$defs/{name}" not in once}
    whole = {**schema, "$defs": left} if left else {k: v for k, v in schema.items() if k != "$defs"}
    return put(whole)
