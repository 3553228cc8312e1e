"""Statements with named parameters."""

import re
from pathlib import Path

import pytest

import beamkeep.adapters
from beamkeep.adapters.postgres.statements import Statement

ADAPTERS = Path(beamkeep.adapters.__file__).parent
SOURCES = sorted({*ADAPTERS.rglob("*.py")} - {ADAPTERS / "postgres" / "statements.py"})


def test_parameters_are_numbered_in_the_order_in_which_they_first_appear():
    statement = Statement("SELECT :b, :a, :b")
    assert statement.text == "SELECT $1, $2, $1"
    assert statement.bind({"a": 1, "b": 2}) == ("SELECT $1, $2, $1", 2, 1)


def test_a_cast_is_not_a_parameter():
    statement = Statement("SELECT :tx::text::xid8, position::bigint, '{}'::text[] && ARRAY[:tx]")
    assert statement.text == "SELECT $1::text::xid8, position::bigint, '{}'::text[] && ARRAY[$1]"
    assert statement.names == ("tx",)


def test_a_statement_without_parameters_takes_no_arguments():
    assert Statement("SELECT 1").bind({"unused": 1}) == ("SELECT 1",)


def test_a_missing_value_is_named():
    with pytest.raises(KeyError, match="limit"):
        Statement("SELECT :limit").bind({"lim": 1})


def test_no_statement_with_more_than_three_parameters_is_numbered_by_hand():
    assert len(SOURCES) > 20
    by_hand = re.compile(r"\$([4-9]|\d\d|\{)")
    assert [path.name for path in SOURCES if by_hand.search(path.read_text())] == []
