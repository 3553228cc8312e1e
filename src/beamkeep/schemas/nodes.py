"""A schema as a tree of nodes, and what its author wrote in them."""

from collections.abc import Iterator
from decimal import Decimal

from .bounds import Json, JsonObject, JsonPath

type JsonSchema = JsonObject
NUMERIC = ("number", "integer")
CLOSING = frozenset({"additionalProperties", "unevaluatedProperties"})


def nodes(schema: Json) -> Iterator[tuple[JsonPath, Json, int]]:
    """What stands where a node should, with its path and level, root first."""
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
    """The members that a node names; none if it names none."""
    named = node.get("properties")
    return named if isinstance(named, dict) else {}


def below(node: Json) -> JsonObject:
    """A node under a checked node, which is always an object."""
    return node if isinstance(node, dict) else {}


def closed(node: JsonObject) -> bool:
    """Whether a node takes no names beyond its own."""
    return "properties" in node or shut(node)


def shut(node: JsonObject) -> bool:
    """Whether a node says itself that it is closed."""
    return node.keys() & CLOSING != set()


def unit(node: JsonObject) -> tuple[Json, Json] | None:
    """System and code of a node's unit; its label is for display only."""
    found = node.get("unit")
    return (found.get("system"), found.get("code")) if isinstance(found, dict) else None


def is_number(value: Json) -> bool:
    """Whether it is a number, which `true` and `false` are not."""
    return type(value) in (int, float)


def exact(value: Json) -> Decimal:
    """A number as the decimal it was written as, so that 0.1 is a tenth and 2^53 + 1 is odd."""
    return Decimal(repr(value))
