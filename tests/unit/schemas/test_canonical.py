"""One value has one text, whatever form it was sent in."""

import json
import math
import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from beamkeep.schemas import Json, canonical_text

# The numbers of RFC 8785, appendix B, by the bits of their doubles.
NUMBERS = {
    "0000000000000000": "0",
    "8000000000000000": "0",
    "0000000000000001": "5e-324",
    "8000000000000001": "-5e-324",
    "7fefffffffffffff": "1.7976931348623157e+308",
    "ffefffffffffffff": "-1.7976931348623157e+308",
    "4340000000000000": "9007199254740992",
    "c340000000000000": "-9007199254740992",
    "4430000000000000": "295147905179352830000",
    "44b52d02c7e14af5": "9.999999999999997e+22",
    "44b52d02c7e14af6": "1e+23",
    "44b52d02c7e14af7": "1.0000000000000001e+23",
    "444b1ae4d6e2ef4e": "999999999999999700000",
    "444b1ae4d6e2ef4f": "999999999999999900000",
    "444b1ae4d6e2ef50": "1e+21",
    "3eb0c6f7a0b5ed8c": "9.999999999999997e-7",
    "3eb0c6f7a0b5ed8d": "0.000001",
    "41b3de4355555553": "333333333.3333332",
    "41b3de4355555554": "333333333.33333325",
    "41b3de4355555555": "333333333.3333333",
    "41b3de4355555556": "333333333.3333334",
    "41b3de4355555557": "333333333.33333343",
    "becbf647612f3696": "-0.0000033333333333333333",
    "43143ff3c1cb0959": "1424953923781206.2",
}
SCALARS = st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text()
FINITE = st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.recursive(
    SCALARS | FINITE, lambda held: st.lists(held) | st.dictionaries(st.text(), held)
)


@pytest.mark.parametrize(("bits", "text"), NUMBERS.items())
def test_a_number_of_the_standard_has_its_text(bits: str, text: str):
    (double,) = struct.unpack(">d", bytes.fromhex(bits))
    assert canonical_text(double) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (25.0, "25"),
        (25, "25"),
        (-0.0, "0"),
        (0, "0"),
        (2.50, "2.5"),
        (1e2, "100"),
        (1e-7, "1e-7"),
        (1.5e-7, "1.5e-7"),
        (0.0000123, "0.0000123"),
        (1e21, "1e+21"),
        (10**21, "1e+21"),
        (123456789012345680000.0, "123456789012345680000"),
        (2**53, "9007199254740992"),
        (-12.5, "-12.5"),
        (True, "true"),
        (False, "false"),
        (None, "null"),
    ],
)
def test_a_scalar_has_one_text(value: Json, text: str):
    assert canonical_text(value) == text


def test_what_the_standard_shows_as_its_example():
    value: Json = {
        "numbers": [333333333.33333329, 1e30, 4.50, 2e-3, 0.000000000000000000000000001],
        "string": '€$\u000f\nA\'B"\\\\"/',
        "literals": [None, True, False],
    }
    assert canonical_text(value) == (
        '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],'
        '"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}'
    )


def test_names_are_sorted_by_their_utf_16_code_units():
    names = ["€", "\r", "\ufb33", "1", "😀", "\x80", "ö"]
    found = json.loads(canonical_text(dict.fromkeys(names)), object_pairs_hook=list)
    assert [name for name, _ in found] == ["\r", "1", "\x80", "ö", "€", "😀", "\ufb33"]


def test_names_are_sorted_at_every_level():
    assert canonical_text({"b": {"d": 1, "c": [{"f": 2, "e": 3}]}, "a": 0}) == (
        '{"a":0,"b":{"c":[{"e":3,"f":2}],"d":1}}'
    )


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 10**400, "\ud800", {"\ud800": 1}])
def test_what_has_no_text_is_refused(value: Json):
    with pytest.raises(ValueError, match=r"finite|surrogates"):
        canonical_text(value)


@settings(max_examples=200, deadline=None, database=None)
@given(VALUES)
def test_the_text_reads_as_the_value(value: Json):
    assert json.loads(canonical_text(value), parse_int=float) == value


@settings(max_examples=100, deadline=None, database=None)
@given(VALUES)
def test_the_text_of_what_was_read_is_the_same(value: Json):
    text = canonical_text(value)
    assert canonical_text(json.loads(text)) == text
