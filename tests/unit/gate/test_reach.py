"""A change reaches what imports it, except through the list of all contexts."""

import pytest
from gate.quick import BY_ROW, nearest_tests, only, typed
from gate.reach import HUB, Graph, import_graph, imported_names, module_of, reached_by
from gate.suites import ROOT

ASSET = "src/beamkeep/contexts/equipment/asset.py"


@pytest.fixture(scope="module")
def graph() -> Graph:
    return import_graph()


def test_a_file_is_imported_under_its_name():
    assert module_of("src/beamkeep/kernel/__init__.py") == "beamkeep.kernel"
    assert module_of("client/src/beamkeep_client/cli.py") == "beamkeep_client.cli"
    assert module_of("tests/support/rows.py") == "tests.support.rows"


@pytest.mark.parametrize(
    ("text", "module", "is_package", "names"),
    [
        ("import a.b", "x.y", False, {"a.b"}),
        ("from a import b", "x.y", False, {"a", "a.b"}),
        ("from . import b", "x.y", False, {"x", "x.b"}),
        ("from . import b", "x.y", True, {"x.y", "x.y.b"}),
        ("from .c import d", "x.y", True, {"x.y.c", "x.y.c.d"}),
        ("from ..c import d", "x.y.z", False, {"x.c", "x.c.d"}),
        ("def f():\n    from a import b", "x", False, {"a", "a.b"}),
    ],
)
def test_imports_are_found_in_every_form(text: str, module: str, is_package: bool, names: set[str]):
    assert {*imported_names(text, module, is_package)} == names


def test_a_change_reaches_what_imports_it_with_the_number_of_imports():
    graph = {
        "a": frozenset({"b"}),
        "b": frozenset({"c"}),
        "c": frozenset[str](),
        "d": frozenset[str](),
    }
    assert reached_by(["c"], graph) == {"c": 0, "b": 1, "a": 2}


def test_nothing_is_reached_through_the_list_of_all_contexts():
    graph = {"a": frozenset({HUB}), HUB: frozenset({"b"}), "b": frozenset[str]()}
    assert reached_by(["b"], graph) == {"b": 0, HUB: 1}


def test_the_test_of_an_aggregate_is_near_to_it(graph: Graph):
    nearest = nearest_tests([ASSET], graph)
    assert "tests/unit/contexts/equipment/test_asset.py" in nearest[:12]
    assert {*BY_ROW} < {*nearest}
    assert [each for each in BY_ROW if not (ROOT / each).exists()] == []
    assert not [each for each in nearest if not each.startswith("tests/unit/")]


def test_types_are_checked_of_what_was_changed_and_of_some_that_import_it(graph: Graph):
    assert typed([ASSET], graph)[0] == ASSET
    assert 1 < len(typed([ASSET], graph)) <= 8


def test_suites_over_the_catalogue_keep_to_the_aggregates_that_were_changed():
    assert only([ASSET]) == {"BEAMKEEP_ONLY_AGGREGATES": "beamkeep.contexts.equipment.asset"}
    assert only([ASSET, "tests/unit/contexts/equipment/test_asset.py"]) == only([ASSET])
    assert only([ASSET, "src/beamkeep/runtime/dispatch.py"]) == {}
    assert only(["tests/unit/kernel/test_axis.py"]) == {}
