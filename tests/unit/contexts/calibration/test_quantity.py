"""Quantity: what each can be measured at, what is measured, and in which unit."""

from typing import Any, cast

import pytest

from beamkeep.contexts.calibration.quantity import QUANTITIES, Quantity
from beamkeep.kernel import Invalid
from beamkeep.schemas import Json, JsonObject, JsonSchema, carry_whole, declare, lint_schema

SCHEMAS = [
    pytest.param(schema, id=f"{quantity}-{part}")
    for quantity, declared in QUANTITIES.items()
    for part, schema in (("operating_point", declared.operating_point), ("value", declared.value))
]

# Key, unit and bounds of every number, text and choice; a question mark after what may be missing.
POINTS = """
rotation_center           energy keV >0 <=1000, optics_config text
detector_pixel_size       optics_config text, energy? keV >0 <=1000
magnification             objective text, energy? keV >0 <=1000
linear_motor_sensitivity  axis text, load? kg >=0
rotary_motor_sensitivity  axis text, load? kg >=0
linear_encoder_offset     axis text, direction? Positive|Negative
rotary_encoder_offset     axis text, direction? Positive|Negative
beam_profile              energy keV >0 <=1000, location text
"""
VALUES = """
rotation_center           center PIXEL, uncertainty? PIXEL >=0
detector_pixel_size       pixel_size um >0, uncertainty? um >=0
magnification             magnification 1 >0, uncertainty? 1 >=0
linear_motor_sensitivity  travel_per_step um >0, inverted? boolean, uncertainty? um >=0
rotary_motor_sensitivity  angle_per_step degree >0, inverted? boolean, uncertainty? degree >=0
linear_encoder_offset     offset um, uncertainty? um >=0
rotary_encoder_offset     offset degree, uncertainty? degree >=0
beam_profile              width_horizontal um >0, width_vertical um >0, center_horizontal? um, center_vertical? um
"""  # noqa: E501
BOUNDS = {"exclusiveMinimum": ">", "minimum": ">=", "maximum": "<="}


def told(node: dict[str, Any]) -> str:
    if node["type"] == "number":
        bounds = [f"{sign}{node[word]}" for word, sign in BOUNDS.items() if word in node]
        return " ".join([node["unit"]["code"], *bounds])
    if "enum" in node:
        return "|".join(node["enum"])
    return "text" if node["type"] == "string" else node["type"]


def keys(schema: JsonSchema) -> str:
    of = cast("dict[str, Any]", schema)
    return ", ".join(
        f"{name}{'' if name in of['required'] else '?'} {told(node)}"
        for name, node in of["properties"].items()
    )


def table(part: str) -> list[list[str]]:
    return [[quantity, *keys(getattr(QUANTITIES[quantity], part)).split()] for quantity in Quantity]


def test_every_quantity_says_at_what_it_is_measured():
    assert table("operating_point") == [line.split() for line in POINTS.strip().splitlines()]


def test_every_quantity_says_what_is_measured():
    assert table("value") == [line.split() for line in VALUES.strip().splitlines()]


@pytest.mark.parametrize("schema", SCHEMAS)
def test_a_schema_is_one_that_may_be_declared(schema: JsonSchema):
    assert declare(schema, Invalid) == schema


@pytest.mark.parametrize("schema", SCHEMAS)
def test_a_schema_keeps_the_rules_for_authors(schema: JsonSchema):
    assert lint_schema(schema) == []


@pytest.mark.parametrize("schema", SCHEMAS)
def test_a_schema_says_itself_that_it_is_closed(schema: JsonSchema):
    assert schema["additionalProperties"] is schema["unevaluatedProperties"] is False


@pytest.mark.parametrize("schema", SCHEMAS)
def test_nothing_is_no_operating_point_and_no_value(schema: JsonSchema):
    with pytest.raises(Invalid):
        carry_whole({}, schema, Invalid)


def point(quantity: Quantity, **values: Json) -> JsonObject:
    return carry_whole(values, QUANTITIES[quantity].operating_point, Invalid)


@pytest.mark.parametrize("text", ["x", "x" * 100])
def test_a_text_has_1_to_100_characters(text: str):
    assert point(Quantity.MAGNIFICATION, objective=text)


@pytest.mark.parametrize("wrong", ["", "x" * 101, 5, None])
def test_another_text_is_refused(wrong: Json):
    with pytest.raises(Invalid):
        point(Quantity.MAGNIFICATION, objective=wrong)


@pytest.mark.parametrize("energy", [1000, 0.001, 25.0])
def test_an_energy_is_above_0_to_1000(energy: float):
    assert point(Quantity.ROTATION_CENTER, energy=energy, optics_config="A")


@pytest.mark.parametrize("wrong", [0, -1, 1000.1, "25", True, None])
def test_another_energy_is_refused(wrong: Json):
    with pytest.raises(Invalid):
        point(Quantity.ROTATION_CENTER, energy=wrong, optics_config="A")
