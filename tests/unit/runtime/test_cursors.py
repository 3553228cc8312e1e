"""Cursors are readable only by whom they were given to, for the same question."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from beamkeep.runtime.cursors import Cursors
from beamkeep.runtime.parsing import MalformedRequestError

CURSORS = Cursors(b"k" * 32)
LISE, OTTO = UUID(int=1), UUID(int=2)
FILTERS = {"kind": "HTTP"}
CURSOR = CURSORS.write("17", LISE, "list_surfaces", FILTERS)


def test_a_cursor_is_read_by_whom_it_was_given_to():
    assert CURSORS.read(CURSOR, LISE, "list_surfaces", FILTERS) == "17"


@settings(max_examples=50, deadline=None, database=None)
@given(st.text(max_size=50))
def test_any_place_is_read_as_it_was_written(place: str):
    assert CURSORS.read(CURSORS.write(place, LISE, "q", {}), LISE, "q", {}) == place


def test_the_order_of_filters_does_not_matter():
    cursor = CURSORS.write("17", LISE, "q", {"a": 1, "b": 2})
    assert CURSORS.read(cursor, LISE, "q", {"b": 2, "a": 1}) == "17"


def test_a_cursor_fits_where_it_is_sent_back():
    assert len(CURSORS.write(str(LISE), LISE, "list_surfaces", FILTERS)) <= 500


@pytest.mark.parametrize(
    ("principal_id", "name", "filters"),
    [
        (OTTO, "list_surfaces", FILTERS),
        (LISE, "list_conduits", FILTERS),
        (LISE, "list_surfaces", {}),
        (LISE, "list_surfaces", {"kind": "MCP_STDIO"}),
    ],
    ids=["another principal", "another question", "no filter", "another filter"],
)
def test_a_cursor_for_something_else_is_refused(
    principal_id: UUID, name: str, filters: dict[str, object]
):
    with pytest.raises(MalformedRequestError, match="not one this question gave you"):
        CURSORS.read(CURSOR, principal_id, name, filters)


def test_a_cursor_of_another_deployment_is_refused():
    with pytest.raises(MalformedRequestError):
        Cursors(b"other").read(CURSOR, LISE, "list_surfaces", FILTERS)


def test_an_altered_cursor_is_refused():
    raw = bytearray(urlsafe_b64decode(CURSOR))
    for index in range(len(raw)):
        altered = raw.copy()
        altered[index] ^= 1
        with pytest.raises(MalformedRequestError):
            CURSORS.read(urlsafe_b64encode(altered).decode(), LISE, "list_surfaces", FILTERS)


@settings(max_examples=100, deadline=None, database=None)
@given(st.text(max_size=100))
def test_garbage_is_refused(cursor: str):
    with pytest.raises(MalformedRequestError):
        CURSORS.read(cursor, LISE, "list_surfaces", FILTERS)
