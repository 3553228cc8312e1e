"""Records are plain values."""

import pytest

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
