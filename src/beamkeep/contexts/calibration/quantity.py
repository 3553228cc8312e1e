"""Quantity: the constants that can be calibrated, with the schemas of their values."""

from collections.abc import Mapping
from enum import StrEnum

from beamkeep.kernel import Record
from beamkeep.schemas import Json, JsonObject, JsonSchema

DIALECT = "https://json-schema.org/draft/2020-12/schema"


class Quantity(StrEnum):
    """Members are only added: a changed unit or meaning is a new quantity."""

    ROTATION_CENTER = "rotation_center"
    DETECTOR_PIXEL_SIZE = "detector_pixel_size"
    MAGNIFICATION = "magnification"
    LINEAR_MOTOR_SENSITIVITY = "linear_motor_sensitivity"
    ROTARY_MOTOR_SENSITIVITY = "rotary_motor_sensitivity"
    LINEAR_ENCODER_OFFSET = "linear_encoder_offset"
    ROTARY_ENCODER_OFFSET = "rotary_encoder_offset"
    BEAM_PROFILE = "beam_profile"


class QuantitySchemas(Record):
    operating_point: JsonSchema
    value: JsonSchema


def _closed(required: JsonObject, **optional: Json) -> JsonSchema:
    return {
        "$schema": DIALECT,
        "type": "object",
        "properties": {**required, **optional},
        "required": list[Json](required),
        "additionalProperties": False,
        "unevaluatedProperties": False,
    }


def _number(description: str, code: str, **bounds: Json) -> JsonObject:
    # UDUNITS has no pixel.
    unit: JsonObject = {"system": "qudt" if code == "PIXEL" else "udunits", "code": code}
    return {"type": "number", "description": description, "unit": unit, **bounds}


def _positive(description: str, code: str) -> JsonObject:
    return _number(f"{description}, above 0 {code}", code, exclusiveMinimum=0)


def _uncertain(code: str, required: JsonObject, **optional: Json) -> JsonSchema:
    deviation = _number(f"One standard deviation, from 0 {code}", code, minimum=0)
    return _closed(required, **optional, uncertainty=deviation)


TEXT: JsonObject = {"type": "string", "minLength": 1, "maxLength": 100}
BACKWARDS = "Whether a step moves in the negative direction"
INVERTED: JsonObject = {"type": "boolean", "description": BACKWARDS}
DIRECTION: JsonObject = {"type": "string", "enum": ["Positive", "Negative"]}
ENERGY = _number("Photon energy, above 0 to 1000 keV", "keV", exclusiveMinimum=0, maximum=1000)
LOAD = _number("Mass carried, from 0 kg", "kg", minimum=0)

# fmt: off
QUANTITIES: Mapping[Quantity, QuantitySchemas] = {
    Quantity.ROTATION_CENTER: QuantitySchemas(
        _closed({"energy": ENERGY, "optics_config": TEXT}),
        _uncertain("PIXEL",
            {"center": _number("Column of the axis on the detector, in pixels", "PIXEL")})),
    Quantity.DETECTOR_PIXEL_SIZE: QuantitySchemas(
        _closed({"optics_config": TEXT}, energy=ENERGY),
        _uncertain("um",
            {"pixel_size": _positive("Edge of a pixel in the plane of the sample", "um")})),
    Quantity.MAGNIFICATION: QuantitySchemas(
        _closed({"objective": TEXT}, energy=ENERGY),
        _uncertain("1", {"magnification": _positive("Image size divided by object size", "1")})),
    Quantity.LINEAR_MOTOR_SENSITIVITY: QuantitySchemas(
        _closed({"axis": TEXT}, load=LOAD),
        _uncertain("um", {"travel_per_step": _positive("Travel in one step", "um")},
            inverted=INVERTED)),
    Quantity.ROTARY_MOTOR_SENSITIVITY: QuantitySchemas(
        _closed({"axis": TEXT}, load=LOAD),
        _uncertain("degree", {"angle_per_step": _positive("Angle turned in one step", "degree")},
            inverted=INVERTED)),
    Quantity.LINEAR_ENCODER_OFFSET: QuantitySchemas(
        _closed({"axis": TEXT}, direction=DIRECTION),
        _uncertain("um", {"offset": _number("Reading at the true zero, in um", "um")})),
    Quantity.ROTARY_ENCODER_OFFSET: QuantitySchemas(
        _closed({"axis": TEXT}, direction=DIRECTION),
        _uncertain("degree",
            {"offset": _number("Reading at the true zero, in degrees", "degree")})),
    Quantity.BEAM_PROFILE: QuantitySchemas(
        _closed({"energy": ENERGY, "location": TEXT}),
        _closed({"width_horizontal": _positive("Horizontal full width at half maximum", "um"),
                "width_vertical": _positive("Vertical full width at half maximum", "um")},
            center_horizontal=_number("Horizontal position of the maximum, in um", "um"),
            center_vertical=_number("Vertical position of the maximum, in um", "um"))),
}
# fmt: on
