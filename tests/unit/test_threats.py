"""The page of threats names only tests that exist, and at least one for every attack."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "explanations" / "threats.md"
NODE = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")
HEADER = "| attack | defence | test |"


def faults(page: str) -> list[str]:
    """What is wrong with the page of threats."""
    rows = [line for line in page.splitlines() if line.startswith("| ") and line != HEADER]
    untested = [row for row in rows if row.count(" | ") != 2 or not NODE.search(row)]
    missing = [
        f"{file}::{name}" for file, name in NODE.findall(page) if name not in names_in(ROOT / file)
    ]
    return [
        *(f"no test: {row}" for row in untested),
        *(f"no such test: {node}" for node in missing),
    ]


def names_in(file: Path) -> set[str]:
    """The names of the tests a file holds, without running it."""
    if not file.exists():
        return set()
    found = ast.walk(ast.parse(file.read_text()))
    functions = [each for each in found if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)]
    return {each.name for each in functions if each.name.startswith("test_")}


def test_every_attack_has_a_test_that_exists():
    page = PAGE.read_text()
    assert NODE.findall(page)
    assert faults(page) == []


@pytest.mark.parametrize(
    ("row", "fault"),
    [
        ("| A | b | `tests/unit/test_threats.py::test_no_such_thing` |", "no such test"),
        ("| A | b | `tests/test_nowhere.py::test_a` |", "no such test"),
        ("| A | b | `tests/unit/test_threats.py::faults` |", "no such test"),
        ("| A | b |  |", "no test"),
        ("| A | b | hope |", "no test"),
        ("| A | `tests/unit/test_threats.py::test_a_fault_of_the_page_is_noticed` |", "no test"),
    ],
)
def test_a_fault_of_the_page_is_noticed(row: str, fault: str):
    (found,) = faults(f"{HEADER}\n|---|---|---|\n{row}\n")
    assert found.startswith(f"{fault}: ")
