"""Schemas within the allowed subset and values near to them, made from a seed."""

from random import Random
from typing import Any

from beamkeep.schemas import Json, JsonObject

ANYTHING: JsonObject = {}
DIALECT = "https://json-schema.org/draft/2020-12/schema"
NAMES = ("energy", "gap", "mode", "acme.gain")
PATTERNS = ("^a+$", "b", "^[ab]{1,3}$", "a|b")
TEXTS = ("", "a", "b", "aa", "ab", "aab", "abab", "c", "µ")
NUMBERS: tuple[float, ...] = (-3, -1, -0.5, 0, 0.1, 0.5, 1, 1.0, 2, 2.5, 3, 5, 7, 10**30)


def schema(**keywords: Any) -> JsonObject:
    """A root with what it needs and these keywords."""
    return {"$schema": DIALECT, "type": "object", **keywords}


def of(**members: Any) -> JsonObject:
    """A root object of these members."""
    return schema(properties=members)


def any_schema(rng: Random) -> JsonObject:
    if rng.random() < 0.02:
        return {}
    root = any_object(rng, 3)
    root.pop("enum", None)
    return {"$schema": DIALECT, **root, "type": "object"}


def any_node(rng: Random, levels: int) -> JsonObject:
    if rng.random() < 0.06:
        return {}
    kinds = ("number", "integer", "string", "boolean", "number", "integer", "string")
    kind = rng.choice((*kinds, "object", "array") if levels else kinds)
    if kind == "object":
        return any_object(rng, levels - 1)
    node: JsonObject = {"type": kind}
    if rng.random() < 0.1:
        del node["type"]
    if rng.random() < 0.15:
        node["enum"] = any_enum(rng)
    if kind == "array":
        some(rng, node, "items", any_node(rng, levels - 1), 0.7)
        counts(rng, node, "minItems", "maxItems")
    if kind in ("number", "integer"):
        for keyword, chance in (("minimum", 0.4), ("maximum", 0.4), ("exclusiveMinimum", 0.2)):
            some(rng, node, keyword, rng.choice(NUMBERS), chance)
        some(rng, node, "exclusiveMaximum", rng.choice(NUMBERS), 0.2)
    if kind == "string":
        counts(rng, node, "minLength", "maxLength")
        some(rng, node, "pattern", rng.choice(PATTERNS), 0.3)
    return node


def any_object(rng: Random, levels: int) -> JsonObject:
    node: JsonObject = {"type": "object"}
    if rng.random() < 0.85:
        names = rng.sample(NAMES, rng.randint(0, 3))
        node["properties"] = {name: any_node(rng, levels) for name in names}
        if rng.random() < 0.4:
            node["required"] = [name for name in names if rng.random() < 0.5]
    some(rng, node, "additionalProperties", False, 0.3)
    some(rng, node, "unevaluatedProperties", False, 0.2)
    return node


def any_enum(rng: Random) -> list[Json]:
    listed: list[Json] = []
    for one in rng.sample((*TEXTS, 0, 1, 2, 2.5, True, False), rng.randint(1, 4)):
        if not any(one == other and type(one) is type(other) for other in listed):
            listed.append(one)
    return listed


def counts(rng: Random, node: JsonObject, least: str, most: str) -> None:
    low = rng.randint(0, 2)
    some(rng, node, least, low, 0.3)
    some(rng, node, most, low + rng.randint(0, 2), 0.3)


def some(rng: Random, node: JsonObject, keyword: str, value: Json, chance: float) -> None:
    if rng.random() < chance:
        node[keyword] = value


def near(rng: Random, node: Json, levels: int = 4) -> Json:
    """A value that the node often takes."""
    if not isinstance(node, dict) or not levels or rng.random() < 0.04:
        return anything(rng, 1)
    listed = node.get("enum")
    if isinstance(listed, list) and rng.random() < 0.8:
        return rng.choice(listed)
    match node.get("type"):
        case "number" | "integer":
            bounds = [
                # Beyond machine words whole steps only: a float there is no longer what it says.
                number + rng.choice((0, 0, 1, -1, 0.5 if abs(number) < 2**53 else 1))
                for keyword in ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")
                if isinstance(number := node.get(keyword), int | float)
            ]
            return rng.choice((*bounds, rng.choice(NUMBERS), rng.randint(-3, 8)))
        case "string":
            return rng.choice(TEXTS)
        case "boolean":
            return rng.choice((True, False))
        case "array":
            return [near(rng, node.get("items", {}), levels - 1) for _ in range(rng.randint(0, 3))]
        case "object":
            return near_object(rng, node, levels)
        case _:
            return anything(rng, 1)


def near_object(rng: Random, node: JsonObject, levels: int = 4) -> JsonObject:
    named, required = node.get("properties", {}), node.get("required", [])
    assert isinstance(named, dict)
    assert isinstance(required, list)
    value = {
        name: near(rng, child, levels - 1)
        for name, child in named.items()
        if rng.random() < (0.97 if name in required else 0.6)
    }
    if rng.random() < (0.05 if named else 0.3):
        value[rng.choice(NAMES)] = anything(rng, 1)
    return value


def anything(rng: Random, levels: int) -> Json:
    simple: tuple[Json, ...] = (None, True, False, rng.choice(NUMBERS), rng.choice(TEXTS))
    if not levels or rng.random() < 0.8:
        return rng.choice(simple)
    if rng.random() < 0.5:
        return [anything(rng, levels - 1) for _ in range(rng.randint(0, 2))]
    return {rng.choice(NAMES): anything(rng, levels - 1) for _ in range(rng.randint(0, 2))}
