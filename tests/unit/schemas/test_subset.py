"""The structural subset: the table of verdicts, and samples against what it promises."""

from random import Random

import pytest
from tests.support.schemas import any_node, any_object, any_schema, near_object, of, schema

from beamkeep.kernel import Cannot
from beamkeep.schemas import Json, JsonObject, require_subset
from beamkeep.schemas.validating import violation


class MethodParametersNotSubsetError(Cannot):
    """The method takes more than its capability."""


def rule_broken(method: JsonObject | None, capability: JsonObject | None) -> object:
    try:
        require_subset(method, capability, MethodParametersNotSubsetError)
    except MethodParametersNotSubsetError as refused:
        return refused.facts["rule"]
    return None


N: JsonObject = {"type": "number"}
HOLDS = None


def num(**keywords: Json) -> JsonObject:
    return of(energy={**N, **keywords})


def measured(code: str, **more: Json) -> JsonObject:
    return num(unit={"system": "udunits", "code": code, **more})


def text(**keywords: Json) -> JsonObject:
    return of(mode={"type": "string", **keywords})


def row(**keywords: Json) -> JsonObject:
    return of(row={"type": "array", **keywords})


VERDICTS: list[tuple[JsonObject | None, JsonObject | None, int | None]] = [
    # capability, method, the rule that fails
    (None, num(), HOLDS),
    (num(), None, HOLDS),
    (None, None, HOLDS),
    ({}, num(), HOLDS),
    ({}, {}, HOLDS),
    (of(energy=N), {}, 11),
    (of(energy=N, exposure=N), of(energy=N), HOLDS),
    (of(energy=N), of(energy=N, gap=N), 12),
    (of(energy=N), of(energy={"type": "integer"}), HOLDS),
    (of(n={"type": "integer"}), of(n={"type": "number"}), 4),
    (of(energy=N), of(energy={}), 4),
    (num(minimum=5), num(minimum=5), HOLDS),
    (num(minimum=5), num(minimum=4), 5),
    (num(minimum=5), num(), 5),
    (num(minimum=5), num(exclusiveMinimum=5), HOLDS),
    (num(exclusiveMinimum=5), num(minimum=5), 5),
    (num(maximum=35), num(maximum=30), HOLDS),
    (num(enum=[1, 2, 3]), num(enum=[1, 3]), HOLDS),
    (num(enum=[1, 2]), num(enum=[1, 4]), 2),
    (num(enum=[1, 2]), num(minimum=1, maximum=2), 3),
    (num(minimum=5, maximum=35), num(enum=[10, 20]), HOLDS),
    (text(pattern="^a+$"), text(pattern="^a$"), 9),
    (schema(properties={"energy": N}, required=["energy"]), of(energy=N), 13),
    (of(energy=N), schema(properties={"energy": N}, required=["energy"]), HOLDS),
    (measured("keV"), num(), 1),
    (measured("keV"), measured("eV"), 1),
    (num(), measured("keV"), HOLDS),
    (measured("keV", label="a"), measured("keV", label="b"), HOLDS),
    (row(items={"minimum": 0}), row(items={"minimum": -1}), 10),
]


@pytest.mark.parametrize(("capability", "method", "verdict"), VERDICTS)
def test_the_verdicts_of_the_page(
    capability: JsonObject | None, method: JsonObject | None, verdict: int | None
):
    assert rule_broken(method, capability) == verdict


MORE_VERDICTS: list[tuple[JsonObject, JsonObject, int | None]] = [
    (num(maximum=35), num(maximum=36), 6),
    (num(maximum=35), num(), 6),
    (num(maximum=35), num(exclusiveMaximum=35), HOLDS),
    (num(exclusiveMaximum=35), num(maximum=35), 6),
    (num(minimum=5), num(minimum=4, exclusiveMinimum=6), HOLDS),
    (num(minimum=5, exclusiveMinimum=5), num(minimum=5), 5),
    (num(minimum=10**30 + 1), num(minimum=10**30), 5),
    (num(maximum=10**30), num(maximum=10**30 + 1), 6),
    (num(minimum=0.1), num(minimum=0.1), HOLDS),
    (num(minimum=1), num(minimum=1.0), HOLDS),
    (text(minLength=2), text(minLength=2), HOLDS),
    (text(minLength=2), text(minLength=1), 7),
    (text(minLength=2), text(), 7),
    (row(minItems=2), row(minItems=1), 7),
    (row(minItems=2), row(minItems=3), HOLDS),
    (text(maxLength=2), text(maxLength=2.0), HOLDS),
    (text(maxLength=2), text(maxLength=3), 8),
    (row(maxItems=2), row(), 8),
    (text(pattern="^a$"), text(pattern="^a$"), HOLDS),
    (text(pattern="^a$"), text(), 9),
    (text(pattern="^a$"), text(enum=["a"]), HOLDS),
    (text(pattern="^a$"), text(enum=["a", "b"]), 2),
    (row(items=N), row(), 10),
    (row(items={}), row(items=N), HOLDS),
    (row(), row(items=N), HOLDS),
    (measured("keV"), num(unit={"system": "ucum", "code": "keV"}), 1),
    (measured("keV"), num(enum=[1]), 1),
    (num(title="a", description="b"), num(title="c"), HOLDS),
    (of(a={"type": "object"}), of(a={"type": "object", "properties": {"b": N}}), HOLDS),
    (of(a={"type": "object", "properties": {"b": N}}), of(a={"type": "object"}), 11),
    (of(a={"type": "object", "additionalProperties": False}), of(a={"type": "object"}), 11),
    (of(a={"unevaluatedProperties": False}), of(a={}), 11),
    (of(a={"properties": {"b": N}}), of(a={"properties": {"b": {"type": "string"}}}), 4),
    (schema(), of(a=N), HOLDS),
    (schema(additionalProperties=False), of(a=N), 12),
    ({"$schema": "…", "type": "object"}, {}, HOLDS),
]


@pytest.mark.parametrize(("capability", "method", "verdict"), MORE_VERDICTS)
def test_every_rule_holds_and_fails(
    capability: JsonObject, method: JsonObject, verdict: int | None
):
    assert rule_broken(method, capability) == verdict


def test_a_refusal_names_the_path_and_the_keyword():
    with pytest.raises(MethodParametersNotSubsetError) as refused:
        require_subset(
            of(a={"items": {"properties": {"b": num()}}}),
            of(a={"items": {"properties": {"b": num(maxLength=2)}}}),
            MethodParametersNotSubsetError,
        )
    assert refused.value.facts["path"] == "$.properties.a.items.properties.b.properties.energy"
    assert refused.value.facts["keyword"] == "maxLength"
    assert str(refused.value) == (
        "The method takes more than its capability. "
        "At $.properties.a.items.properties.b.properties.energy: "
        "`maxLength` allows more (rule 10)."
    )


def narrowed(rng: Random, node: JsonObject) -> JsonObject:
    """The node with a few keywords changed, more often for the narrower."""
    changed: JsonObject = {}
    for keyword, value in node.items():
        if rng.random() < 0.04 and keyword not in ("$schema", "properties"):
            continue
        step = rng.choice((0, 0, 0, 1, -0.5 if rng.random() < 0.3 else 0.5))
        if keyword in ("minimum", "exclusiveMinimum") and isinstance(value, int | float):
            changed[keyword] = value + step
        elif keyword in ("maximum", "exclusiveMaximum") and isinstance(value, int | float):
            changed[keyword] = value - step
        elif keyword == "properties" and isinstance(value, dict):
            changed[keyword] = {
                name: narrowed(rng, child)
                for name, child in value.items()
                if isinstance(child, dict) and rng.random() < 0.9
            }
        elif keyword == "items" and isinstance(value, dict):
            changed[keyword] = narrowed(rng, value)
        else:
            changed[keyword] = value
    if changed.get("type") == "number" and rng.random() < 0.3:
        changed["type"] = "integer"
    if not changed and rng.random() < 0.5:
        return any_node(rng, 0)
    return changed


def test_whatever_a_method_within_its_capability_takes_the_capability_takes():
    rng, held, tried = Random(20), 0, 0  # noqa: S311
    for _ in range(500):
        capability = any_schema(rng)
        method = narrowed(rng, capability) if rng.random() < 0.85 else any_object(rng, 2)
        if rule_broken(method, capability) is not None:
            continue
        held += 1
        for _ in range(40):
            value = near_object(rng, method)
            if violation(value, method) is None:
                tried += 1
                assert violation(value, capability) is None, (value, method, capability)
    assert held >= 150
    assert tried >= 2_000
