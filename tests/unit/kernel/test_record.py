"""Records are plain values."""

import pytest
from pydantic import TypeAdapter, ValidationError

from beamkeep.kernel import Record, replace


class Lamp(Record):
    colour: str
    lit: bool = False


def test_records_with_equal_fields_are_one_value():
    assert Lamp("red") == Lamp("red")
    assert len({Lamp("red"), Lamp("red"), Lamp("red", lit=True)}) == 2


def test_a_copy_differs_in_what_is_changed_and_leaves_the_original():
    dark = Lamp("red")
    assert replace(dark, lit=True) == Lamp("red", lit=True)
    assert dark == Lamp("red")


def test_what_is_no_field_cannot_be_changed():
    with pytest.raises(TypeError, match="has no field 'size'"):
        replace(Lamp("red"), size=3)


def test_a_field_is_set_once():
    lamp = Lamp("red")
    with pytest.raises(AttributeError):
        lamp.lit = True  # pyright: ignore[reportAttributeAccessIssue]


class Red(Record, tag_field="kind", tag="red"):
    watts: int = 5


class Dimmed(Record, rename={"by": "$by"}):
    by: int


def test_a_tagged_record_is_known_by_its_tag():
    adapter = TypeAdapter(Red)
    assert adapter.validate_python({"kind": "red", "watts": 7}) == Red(7)
    for told in ({"watts": 7}, {"kind": "blue"}):
        with pytest.raises(ValidationError, match="kind"):
            adapter.validate_python(told)
    assert list(adapter.json_schema()["properties"]) == ["kind", "watts"]


def test_a_renamed_field_goes_by_its_name_on_the_wire():
    adapter = TypeAdapter(Dimmed)
    assert adapter.validate_python({"$by": 3}) == Dimmed(3)
    with pytest.raises(ValidationError, match="by"):
        adapter.validate_python({"by": 3})


class Bulb(Record, tag_field="kind", tag="Bulb"):
    watts: int


class Tube(Record, tag_field="kind", tag="Tube"):
    metres: int


def test_one_of_several_kinds_is_known_by_its_tag():
    sources: TypeAdapter[Bulb | Tube] = TypeAdapter(Bulb | Tube)
    assert sources.validate_python({"kind": "Tube", "metres": 3}) == Tube(3)
    for wrong in ({"metres": 3}, {"kind": "Bulb", "metres": 3}, {"kind": "Tub", "metres": 3}):
        with pytest.raises(ValidationError):
            sources.validate_python(wrong)


def test_a_tag_is_described_with_the_fields():
    described = TypeAdapter(Tube).json_schema()
    assert described["properties"]["kind"] == {"const": "Tube", "title": "Kind", "type": "string"}
    assert sorted(described["required"]) == ["kind", "metres"]
