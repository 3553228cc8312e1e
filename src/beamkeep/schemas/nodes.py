"""Nodes: a JSON Schema as a tree."""

from collections.abc import Iterator
from decimal import Decimal

from .bounds import Json, JsonObject, JsonPath

type JsonSchema = JsonObject
NUMERIC = ("number", "integer")
CLOSING = frozenset({"additionalProperties", "unevaluatedProperties"})


def nodes(schema: Json) -> Iterator[tuple[JsonPath, Json, int]]:
    """Yield every node, or the value in its place, with its path and level, root first."""
    pending: list[tuple[JsonPath, Json, int]] = [((), schema, 1)]
    while pending:
        path, node, level = pending.pop()
        yield path, node, level
        if isinstance(node, dict):
            if "items" in node:
                pending.append(((*path, "items"), node["items"], level + 1))
            pending += [
                ((*path, "properties", name), child, level + 1)
                for name, child in reversed(properties(node).items())
            ]


def properties(node: JsonObject) -> dict[str, Json]:
    """Return the properties of a node by name."""
    named = node.get("properties")
    return named if isinstance(named, dict) else {}


def below(node: Json) -> JsonObject:
    """Return a node below a checked node, which is always an object."""
    return node if isinstance(node, dict) else {}


def closed(node: JsonObject) -> bool:
    """Return whether a node accepts no other names than its own."""
    return "properties" in node or shut(node)


def shut(node: JsonObject) -> bool:
    """Return whether a node has a keyword that closes it."""
    return node.keys() & CLOSING != set()


def unit(node: JsonObject) -> tuple[Json, Json] | None:
    """Return the system and code of a node's unit; the label is for display only."""
    found = node.get("unit")
    return (found.get("system"), found.get("code")) if isinstance(found, dict) else None


def is_number(value: Json) -> bool:
    """Return whether the value is a number; `true` and `false` are not."""
    return type(value) in (int, float)


def exact(value: Json) -> Decimal:
    """Return a number as the decimal that was written: 0.1 is a tenth, 2^53 + 1 is odd."""
    return Decimal(repr(value))
