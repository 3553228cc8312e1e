"""The mutation tool makes real changes, and a change that a test notices is killed."""

import ast
from pathlib import Path

import pytest
from tests.mutation import PACKAGE, Change, Mutant, changes, copied, drawn, mutants, mutated, run

SOURCE = '''
"""A module."""
import os
type Size = int | str
@os.wraps
class Box(dict[str, int], metaclass=type):
    """A box."""
    lid: bool
    size: int = 3
    """How big it is."""
def take(box: Box, by: str = "hand") -> list[str]:
    # when it is open
    if not box.lid and box.size > 2:
        raise ValueError
    return [by, "é", f"{box.size} left"]
'''
EXPECTED = """
9   3 -> 4
11  'hand' -> 'handx'
13  not box.lid and box.size > 2 -> not (not box.lid and box.size > 2)
13  not box.lid and box.size > 2 -> not box.lid or box.size > 2
13  without not box.lid
13  without box.size > 2
13  not box.lid -> box.lid
13  box.size > 2 -> box.size >= 2
13  2 -> 3
14  raise ValueError -> pass
15  [by, 'é', f'{box.size} left'] -> None
15  without by
15  without 'é'
15  without f'{box.size} left'
15  'é' -> 'éx'
15  f'{box.size} left' -> 'x'
"""


@pytest.fixture(scope="module")
def found() -> dict[Mutant, Change]:
    return mutants()


def test_only_code_that_runs_is_changed():
    found = [f"{change.line:<4}{change.label}" for change in changes(ast.parse(SOURCE))]
    assert found == EXPECTED.strip().splitlines()


def test_a_change_is_made_in_its_place():
    *_, last = changes(ast.parse(SOURCE))
    assert mutated(SOURCE, last) == SOURCE.replace('f"{box.size} left"', "('x')")


def test_every_mutant_is_code_that_means_something_else(found: dict[Mutant, Change]):
    for mutant in drawn(found, count=50, seed=1):
        source = (PACKAGE / mutant.file).read_text()
        changed = mutated(source, found[mutant])
        assert ast.dump(ast.parse(changed)) != ast.dump(ast.parse(source)), mutant


def test_a_draw_depends_on_the_seed_and_not_on_the_order_or_on_other_lines(
    found: dict[Mutant, Change],
):
    few = drawn(found, count=20, seed=1)
    assert drawn(reversed(found), count=20, seed=1) == few
    assert drawn(found, count=20, seed=2) != few
    elsewhere = [mutant for mutant in few if mutant.file != few[0].file]
    others = [mutant for mutant in found if mutant.file != few[0].file]
    assert drawn(others, count=len(elsewhere), seed=1) == elsewhere


def test_a_mutant_that_a_test_notices_is_killed_in_a_copy(tmp_path: Path):
    stage = ("tests/unit/contexts/trust/test_conduit.py",)
    path = copied(tmp_path) / "beamkeep/contexts/trust/conduit.py"
    source = path.read_text()
    assert run(tmp_path, stage).outcome == "survived"
    (unchecked,) = [
        change
        for change in changes(ast.parse(source))
        if change.label.startswith("raise InvalidConduitZonesError")
    ]
    path.write_text(mutated(source, unchecked))
    outcome, by, _ = run(tmp_path, stage)
    assert outcome == "killed"
    assert "test_conduit.py::test_a_conduit_does_not_lead_back_to_its_own_zone" in by
    assert (PACKAGE / "contexts/trust/conduit.py").read_text() == source
