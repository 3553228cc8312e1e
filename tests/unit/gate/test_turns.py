"""Slices take turns, and every one of them runs at least once in any five gates."""

from datetime import date, timedelta
from itertools import pairwise
from typing import Any

import pytest
from gate.plan import BUDGET, LATEST, Plan
from gate.suites import BUILT, CORE, SLICES, Suite
from gate.turns import CYCLE, Turn, base, current, groups, taken, touched, waited

FIRST = date(2026, 11, 18)
COMMIT = "d2dc9d107acd"
QUIET = 1.0


def due(turn: int) -> set[str]:
    return {name for name, ago in waited(SLICES, turn).items() if ago == 0}


@pytest.mark.parametrize("first", range(CYCLE + 2))
def test_any_five_turns_in_a_row_run_every_slice(first: int):
    ran = [due(turn) for turn in range(first, first + CYCLE)]
    assert set[str]().union(*ran) == {each.name for each in SLICES}
    assert sum(map(len, ran)) == len(SLICES)


def test_five_gates_on_five_days_run_every_slice_although_nobody_took_a_turn():
    turns = [Turn(7, FIRST, COMMIT)]
    days = [FIRST + timedelta(days=after) for after in range(CYCLE)]
    numbers = [current(turns, days[: gate + 1]) for gate in range(CYCLE)]
    assert numbers == [7, 8, 9, 10, 11]
    assert set[str]().union(*map(due, numbers)) == {each.name for each in SLICES}


def test_five_gates_of_one_day_run_every_slice_if_each_takes_its_turn():
    turns, numbers = [Turn(7, FIRST, COMMIT)], list[int]()
    for _ in range(CYCLE):
        numbers.append(current(turns, [FIRST]))
        turns.append(Turn(numbers[-1] + 1, FIRST, COMMIT))
    assert [after - before for before, after in pairwise(numbers)] == [1, 1, 1, 1]


def test_days_on_which_nothing_was_committed_are_no_turns():
    turns = [Turn(7, FIRST, COMMIT)]
    assert current(turns, [FIRST - timedelta(days=1), FIRST, FIRST + timedelta(days=9)]) == 8


def test_turns_are_read_from_their_file():
    text = f"# number, day, commit\n7 2026-11-18 {COMMIT}\n8 2026-11-19 b307732aaaaa\n"
    turns = taken(text)
    assert [str(each) for each in turns] == text.splitlines()[1:]
    assert base(turns) == COMMIT
    assert base(turns[:1]) == COMMIT
    assert base([]) is None


def test_the_groups_are_about_equally_long():
    lengths = [sum(each.seconds for each in group) for group in groups(SLICES)]
    assert max(lengths) <= 1.25 * min(lengths)


A, B, C = (Suite(name, seconds=60, subjects=(f"{name}/",)) for name in "abc")
TESTED = Suite("d", seconds=60, tests=("tests/system/test_d.py",))


def test_a_slice_is_touched_by_its_subject_or_by_what_its_tests_import():
    graph = {
        "tests/system/test_d.py": frozenset({"src/beamkeep/one.py"}),
        "src/beamkeep/one.py": frozenset({"src/beamkeep/two.py"}),
        "src/beamkeep/two.py": frozenset[str](),
    }
    slices = (A, B, TESTED)
    assert touched(slices, ["b/page.md"], graph) == {"b": 0}
    assert touched(slices, ["src/beamkeep/one.py"], graph) == {"d": 1}
    assert touched(slices, ["src/beamkeep/two.py", "a/x.ts"], graph) == {"a": 0, "d": 2}
    assert touched(slices, ["README.md"], graph) == {}


def sliced(slices: tuple[Suite, ...], **options: Any) -> Plan:
    """A plan whose core has begun."""
    plan = Plan((), slices, **options)
    assert plan.pick(0, QUIET) == BUILT
    return plan


def picked(plan: Plan, elapsed: float, slowness: float = QUIET) -> list[str]:
    found: list[str] = []
    while suite := plan.pick(elapsed, slowness):
        found.append(suite.name)
    return found


def test_the_core_runs_first_and_whole_however_late_it_is():
    plan = Plan(CORE, (), turn=1, touched={})
    found = picked(plan, elapsed=10 * LATEST)
    assert found[0] == "console-built"
    assert {*found[1:]} == {each.name for each in CORE}


def test_what_needs_the_console_waits_until_it_is_built():
    plan = Plan(CORE, SLICES, turn=1, touched={})
    begun = [plan.pick(0, QUIET, is_built=False) for _ in range(5)]
    first, *others = [each.name for each in begun if each]
    assert first == "console-built"
    assert {*others} == {"types", "postgres-runtime", "lint"}
    assert plan.pick(0, QUIET)


def test_touched_slices_come_first_then_the_due_one_then_the_others():
    numbers = waited((A, B, C), 0)
    plan = sliced((A, B, C), turn=0, touched={"c": 1, "b": 0})
    assert picked(plan, elapsed=0) == ["b", "c", "a"]
    assert numbers["a"] == 0


def test_the_due_slice_runs_though_the_time_is_up_and_the_others_wait():
    plan = sliced((A, B, C), turn=0, touched={"b": 0})
    assert picked(plan, elapsed=BUDGET) == ["a"]
    assert [each.name for each in plan.left] == ["b", "c"]
    assert plan.line_of(B) == "b (due 4 turns ago, 0 imports from the change)"


def test_a_touched_slice_leaves_the_due_one_its_time():
    plan = sliced((A, B), turn=0, touched={"b": 0})
    assert plan.pick(BUDGET - 80, QUIET) == A
    assert picked(sliced((A, B), turn=0, touched={"b": 0}), BUDGET - 121) == ["b", "a"]


def test_on_a_slow_machine_fewer_slices_fit():
    slices = tuple(Suite(str(number), seconds=100) for number in range(10))
    quiet = picked(sliced(slices, turn=0, touched={}), elapsed=900)
    slow = picked(sliced(slices, turn=0, touched={}), elapsed=900, slowness=4)
    assert len(quiet) > len(slow) == 2


def test_no_slice_begins_when_the_machine_has_taken_an_hour():
    assert picked(sliced((A, B, C), turn=0, touched={}), elapsed=LATEST) == []
