"""Authoring rules: what they find, and that a good schema has no findings."""

import pytest
from tests.support.schemas import ANYTHING, DIALECT

from beamkeep.kernel import Advice
from beamkeep.schemas import Json, JsonObject, lint_schema

from .test_carrying import CAMERA

CLOSED: JsonObject = {"additionalProperties": False, "unevaluatedProperties": False}


def shut(**members: Json) -> JsonObject:
    return {"$schema": DIALECT, "type": "object", "properties": members, **CLOSED}


CLOSE = "close every object level"
DESCRIBE = "describe quantity, range and unit of a number"
CONTROL = "name no transport, driver or control system"
NAME = "name in lower snake_case, or as vendor.name"
UNITS = "keep units out of names"


def test_a_good_schema_has_no_findings():
    assert lint_schema(CAMERA) == []
    assert lint_schema({}) == []
    assert lint_schema(shut(**dict.fromkeys(("a", "acme.gain_2", "read_mode"), ANYTHING))) == []


def test_every_level_with_properties_is_closed_in_both_ways():
    assert lint_schema(shut(a={"properties": {}, **CLOSED})) == []
    for half in ({}, *({keyword: False} for keyword in CLOSED)):
        found = lint_schema(shut(a={"properties": {}, **half}))
        assert found == [Advice("$.properties.a", CLOSE)]


@pytest.mark.parametrize(
    "name",
    ["Gain", "readMode", "read-mode", "_a", "a_", "a__b", "1a", "a.b.c", ".a", "a.", "a.B", "é"],
)
def test_names_are_lower_snake_case_with_at_most_a_vendor(name: str):
    assert [finding.rule for finding in lint_schema(shut(**{name: ANYTHING}))] == [NAME]


@pytest.mark.parametrize(
    "ending",
    [
        *("mm", "um", "nm", "deg", "rad", "mrad", "urad", "sec", "ms", "us", "ns"),
        *("ev", "kev", "hz", "khz", "ma", "pa", "mbar"),
    ],
)
def test_units_are_never_in_names(ending: str):
    name = f"gap_{ending}"
    assert lint_schema(shut(**{name: ANYTHING})) == [Advice(f"$.properties.{name}", UNITS)]
    assert lint_schema(shut(**{ending: ANYTHING, f"{ending}_gap": ANYTHING})) == []


@pytest.mark.parametrize("kind", ["number", "integer"])
def test_a_number_is_described(kind: str):
    assert lint_schema(shut(a={"type": kind})) == [Advice("$.properties.a", DESCRIBE)]
    assert lint_schema(shut(a={"type": kind, "description": "Gap, 0 to 5 mm"})) == []


@pytest.mark.parametrize("word", ["EPICS", "epics", "Tango", "ophyd", "OPC", "Modbus", "IOC"])
def test_descriptions_name_no_control_system(word: str):
    told: JsonObject = {"description": f"Gap, as {word}-served."}
    assert lint_schema(shut(a=told)) == [Advice("$.properties.a", CONTROL)]
    assert lint_schema(shut(a={"description": f"x{word}y {word}s"})) == []
