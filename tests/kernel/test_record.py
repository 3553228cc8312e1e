"""Records are plain values."""

from typing import Annotated

import msgspec
import pytest
from pydantic import Field, TypeAdapter, ValidationError

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


class Bulb(Record, tag="Bulb", tag_field="kind"):
    watts: int


class Candle(Record, tag="Candle", tag_field="kind"):
    wax: str = "bees"


LIGHT: TypeAdapter[Bulb | Candle] = TypeAdapter(
    Annotated[Bulb | Candle, Field(discriminator="kind")]
)


def test_a_union_is_told_apart_by_its_tag():
    assert LIGHT.validate_python({"kind": "Bulb", "watts": 5}) == Bulb(5)
    assert LIGHT.validate_python({"kind": "Candle"}) == Candle()


def test_a_tag_is_written_and_read():
    assert msgspec.json.encode(Bulb(5)) == b'{"kind":"Bulb","watts":5}'
    assert msgspec.json.decode(b'{"kind":"Candle","wax":"soy"}', type=Bulb | Candle) == (
        Candle("soy")
    )


@pytest.mark.parametrize(
    "wrong",
    [{"watts": 5}, {"kind": "Torch", "watts": 5}, {"kind": "Bulb"}, {"kind": "Candle", "watts": 5}],
)
def test_an_arm_of_a_union_has_its_tag_and_its_own_fields(wrong: dict[str, object]):
    with pytest.raises(ValidationError):
        LIGHT.validate_python(wrong)


def test_a_tag_is_described():
    assert LIGHT.json_schema()["$defs"]["Bulb"]["properties"]["kind"]["const"] == "Bulb"
