"""Carrying values: the four cases, settings of several families, and merge patches."""

import json
from typing import Any

import pytest
from tests.support.schemas import of, schema

from beamkeep.kernel import Invalid
from beamkeep.schemas import (
    Json,
    JsonObject,
    UnitChange,
    carry,
    carry_settings,
    carry_whole,
    changed_units,
    declare,
    merge_patch,
    untouched,
)


class InvalidAssetSettingsError(Invalid):
    """The settings do not fit."""


CAMERA: JsonObject = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "properties": {
        "serial_number": {"type": "string", "maxLength": 100},
        "pixel_pitch": {
            "type": "number",
            "exclusiveMinimum": 0,
            "description": "Pixel pitch at the sensor, above 0 um",
            "unit": {"system": "udunits", "code": "um"},
        },
        "acme.read_mode": {"type": "string", "enum": ["fast", "low_noise"]},
    },
    "required": ["pixel_pitch"],
    "additionalProperties": False,
    "unevaluatedProperties": False,
}


def carried(values: object, declared: JsonObject | None) -> JsonObject:
    return carry(values, declared, InvalidAssetSettingsError, "the family")


def refusal_of(values: object, declared: JsonObject | None) -> tuple[object, object, str]:
    with pytest.raises(InvalidAssetSettingsError) as refused:
        carried(values, declared)
    facts = refused.value.facts
    assert f"At {facts['path']}: " in str(refused.value)
    return facts["path"], facts["rule"], str(refused.value)


def test_without_a_schema_only_nothing_is_carried():
    assert carried({}, None) == {}
    path, rule, text = refusal_of({"gap": 1, "energy": 2}, None)
    assert (path, rule) == ("$", "schema")
    assert "`energy`, `gap`" in text
    assert "declare one on the family first ({} for no constraint)" in text


def test_nothing_fits_every_schema_whatever_it_requires():
    assert carried({}, CAMERA) == {}
    assert carried({}, {}) == {}


def test_an_unconstrained_schema_takes_every_object():
    values: JsonObject = {"a": [None, {"b": 1.5}], "c": True}
    assert carried(values, {}) is values


@pytest.mark.parametrize("values", [{}, {"pixel_pitch": 6.5}])
def test_the_worked_example_accepts(values: JsonObject):
    assert declare(CAMERA, InvalidAssetSettingsError) is CAMERA
    assert carried(values, CAMERA) is values
    assert carry_settings(values, {"camera": CAMERA}, InvalidAssetSettingsError) is values


@pytest.mark.parametrize(
    ("values", "path", "rule", "why"),
    [
        ({"serial_number": "A1"}, "$", "required", "`pixel_pitch` is required"),
        (
            {"pixel_pitch": 0},
            "$.pixel_pitch",
            "exclusiveMinimum",
            "the value does not satisfy `exclusiveMinimum`",
        ),
        ({"pixel_pitch": 6.5, "gain": 2}, "$", "additionalProperties", "`gain` is not declared"),
        (
            {"pixel_pitch": 6.5, "acme.read_mode": "slow"},
            "$['acme.read_mode']",
            "enum",
            "the value does not satisfy `enum`",
        ),
    ],
)
def test_the_worked_example_refuses(values: JsonObject, path: str, rule: str, why: str):
    assert refusal_of(values, CAMERA)[:2] == (path, rule)
    assert why in refusal_of(values, CAMERA)[2]


def test_an_object_with_properties_is_closed_even_if_its_author_forgot():
    forgetful = of(a={"properties": {"b": {}}}, c={"items": {"properties": {"d": {}}}})
    before = json.dumps(forgetful)
    assert carried({"a": {"b": 1}, "c": [{"d": 1}]}, forgetful)
    assert refusal_of({"e": 1}, forgetful)[:2] == ("$", "additionalProperties")
    assert refusal_of({"a": {"e": 1}}, forgetful)[:2] == ("$.a", "additionalProperties")
    assert refusal_of({"c": [{}, {"e": 1}]}, forgetful)[:2] == ("$.c[1]", "additionalProperties")
    assert json.dumps(forgetful) == before


def test_an_object_without_properties_is_open_unless_it_says_otherwise():
    assert carried({"a": {"any": 1}}, of(a={"type": "object"}))
    assert carried({"a": [1, "x"]}, of(a={}))
    for keyword in ("additionalProperties", "unevaluatedProperties"):
        shut = of(a={"type": "object", keyword: False})
        assert carried({"a": {}}, shut)
        assert refusal_of({"a": {"any": 1}}, shut)[:2] == ("$.a", keyword)


@pytest.mark.parametrize(
    ("kind", "value", "fits"),
    [
        ("number", 1, True),
        ("number", True, False),
        ("number", False, False),
        ("number", "1", False),
        ("number", None, False),
        ("integer", 1, True),
        ("integer", 1.0, True),
        ("integer", 1.5, False),
        ("integer", True, False),
        ("integer", 10**400, True),
        ("boolean", 0, False),
        ("boolean", False, True),
        ("string", 1, False),
        ("array", {}, False),
        ("object", [], False),
    ],
)
def test_types_are_those_of_json_schema(kind: str, value: Json, fits: bool):
    if fits:
        assert carried({"a": value}, of(a={"type": kind})) == {"a": value}
    else:
        assert refusal_of({"a": value}, of(a={"type": kind}))[:2] == ("$.a", "type")


def test_numbers_too_large_for_a_machine_word_are_compared_exactly():
    least = of(a={"minimum": 10**400})
    assert carried({"a": 10**400}, least)
    assert refusal_of({"a": 10**400 - 1}, least)[1] == "minimum"
    assert refusal_of({"a": 9007199254740992}, of(a={"minimum": 9007199254740993}))[1] == "minimum"


def nested(levels: int) -> JsonObject:
    value: Json = 1
    for _ in range(levels - 2):
        value = [value]
    return {"a": value}


@pytest.mark.parametrize("declared", [None, {}, schema()])
def test_values_have_the_same_two_bounds(declared: JsonObject | None):
    deep, long = nested(9), {"a": "é" * 32_765}
    if declared is not None:
        assert carried(nested(8), declared)
        assert carried({"a": "é" * 32_764}, declared)
    assert refusal_of(deep, declared)[1] == "depth"
    assert refusal_of(long, declared)[1] == "size"
    assert refusal_of({"a": float("nan")}, declared)[:2] == ("$.a", "json")
    assert refusal_of([], declared)[:2] == ("$", "object")


def test_text_that_meets_a_pattern_has_at_most_4096_characters_in_all():
    patterned = of(a={"items": {"pattern": "^a*$"}}, b={"type": "string"})
    assert carried({"a": ["a" * 4_000, "a" * 96], "b": "b" * 10_000}, patterned)
    assert refusal_of({"a": ["a" * 4_000, "a" * 97]}, patterned)[1] == "pattern"


# Settings of several families.

MOTOR = of(speed={"type": "number"}, label={"type": "string"})
STAGE = of(travel={"type": "number"}, label={"type": "string", "maxLength": 3})
CLASHING = of(speed={"type": "string"})


def of_families(values: object, **schemas: JsonObject | None) -> JsonObject:
    return carry_settings(values, schemas, InvalidAssetSettingsError)


@pytest.mark.parametrize(
    ("values", "schemas"),
    [
        ({}, {}),
        ({}, {"motor": None}),
        ({}, {"camera": CAMERA}),
        ({"speed": 1}, {"motor": MOTOR}),
        ({"speed": 1}, {"motor": MOTOR, "stage": None}),
        ({"speed": 1, "travel": 2, "label": "abc"}, {"motor": MOTOR, "stage": STAGE}),
        ({"speed": 1}, {"motor": MOTOR, "camera": CAMERA}),
        ({"speed": 1, "other": 2}, {"motor": MOTOR, "open": {}}),
        ({"speed": 1, "other": 2}, {"motor": MOTOR, "open": schema()}),
    ],
)
def test_settings_fit_all_families(values: JsonObject, schemas: dict[str, JsonObject | None]):
    assert of_families(values, **schemas) is values


@pytest.mark.parametrize(
    ("values", "schemas", "path", "rule"),
    [
        ({"speed": 1}, {}, "$", "schema"),
        ({"speed": 1}, {"motor": None}, "$", "schema"),
        ({"speed": "fast"}, {"motor": MOTOR}, "$.speed", "type"),
        ({"label": "abcd"}, {"motor": MOTOR, "stage": STAGE}, "$.label", "maxLength"),
        ({"speed": 1}, {"motor": MOTOR, "clashing": CLASHING}, "$.speed", "type"),
        ({"speed": "a"}, {"motor": MOTOR, "clashing": CLASHING}, "$.speed", "type"),
        ({"other": 1}, {"motor": MOTOR, "stage": None}, "$.other", "additionalProperties"),
        ({"gain": 2}, {"camera": CAMERA}, "$.gain", "additionalProperties"),
        ({"serial_number": "A"}, {"motor": MOTOR, "camera": CAMERA}, "$", "required"),
        ({"speed": "a", "other": 2}, {"motor": MOTOR, "open": {}}, "$.speed", "type"),
        ({"speed": [[[[[[[[1]]]]]]]]}, {"open": {}}, "$.speed[0][0][0][0][0][0]", "depth"),
    ],
)
def test_settings_that_a_family_does_not_take_are_refused(
    values: JsonObject, schemas: dict[str, JsonObject | None], path: str, rule: str
):
    with pytest.raises(InvalidAssetSettingsError) as refused:
        of_families(values, **schemas)
    assert refused.value.facts == {"path": path, "rule": rule}


def test_the_family_that_does_not_take_a_setting_is_named():
    with pytest.raises(InvalidAssetSettingsError, match="family stage"):
        of_families({"label": "abcd"}, motor=MOTOR, stage=STAGE)


# Merge patches: the examples of RFC 7396, appendix A, on objects.


@pytest.mark.parametrize(
    ("values", "patch", "merged"),
    [
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
        ({"a": "b"}, {"a": None}, {}),
        ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
        ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
        ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
        ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
        ({"a": "foo"}, {"b": {"c": None}}, {"a": "foo", "b": {}}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
    ],
)
def test_a_merge_patch_is_applied(values: JsonObject, patch: JsonObject, merged: JsonObject):
    before = json.dumps([values, patch])
    assert merge_patch(values, patch) == merged
    assert json.dumps([values, patch]) == before


def test_a_whole_object_holds_what_is_required_also_when_it_is_empty():
    whole: JsonObject = {"pixel_pitch": 6.5}
    assert carry_whole(whole, CAMERA, InvalidAssetSettingsError) == whole
    for values in ({}, {"serial_number": "A1"}, {"pixel_pitch": 6.5, "gain": 2}):
        with pytest.raises(InvalidAssetSettingsError):
            carry_whole(values, CAMERA, InvalidAssetSettingsError)


# Units that changed since values were written.


def number(code: str | None = None, system: str = "udunits", **more: str) -> dict[str, Any]:
    unit = {"unit": {"system": system, "code": code, **more}} if code else {}
    return {"type": "number", **unit}


def test_a_number_whose_unit_changed_is_found_wherever_it_stands():
    before = of(a=number("keV"), b={"properties": {"c": number("s")}}, d={"items": number("mm")})
    now = of(a=number("eV"), b={"properties": {"c": number("ms")}}, d={"items": number()})
    values: JsonObject = {"d": [1, 2.5], "b": {"c": 0.1}, "a": 25}
    assert changed_units(values, before, now) == [
        UnitChange("$.d[0]", 1, "mm (udunits)", "no unit"),
        UnitChange("$.d[1]", 2.5, "mm (udunits)", "no unit"),
        UnitChange("$.b.c", 0.1, "s (udunits)", "ms (udunits)"),
        UnitChange("$.a", 25, "keV (udunits)", "eV (udunits)"),
    ]
    assert changed_units({}, before, now) == changed_units({"b": {}}, before, now) == []


def test_a_unit_is_another_by_system_and_code_and_not_by_label():
    before = of(a=number("keV"), b=number("keV", label="energy"), c=number())
    now = of(a=number("keV", "ucum"), b=number("keV", label="photons"), c=number("keV"))
    found = changed_units({"a": 1, "b": 2, "c": 3}, before, now)
    assert [(each.path, each.before, each.now) for each in found] == [
        ("$.a", "keV (udunits)", "keV (ucum)"),
        ("$.c", "no unit", "keV (udunits)"),
    ]


def test_what_is_no_number_has_no_unit_and_without_a_schema_there_are_no_values():
    before, now = of(a=number("keV")), of(a=number("eV"))
    assert changed_units({"a": "25"}, before, now) == changed_units({"a": True}, before, now) == []
    assert changed_units({"a": 25}, None, now) == changed_units({"a": 25}, before, None) == []


def test_a_patch_leaves_untouched_what_it_does_not_name():
    values: JsonObject = {"a": 1, "b": {"c": 2, "d": 3}, "e": [4], "f": {"g": 5}}
    assert untouched(values, {}) == values
    assert untouched(values, {"a": 1, "b": {"c": None}, "e": []}) == {"b": {"d": 3}, "f": {"g": 5}}
    assert untouched(values, {"b": None, "f": 6, "h": 7}) == {"a": 1, "e": [4]}
    assert untouched({"a": 1}, {"a": {"b": 2}}) == {}
