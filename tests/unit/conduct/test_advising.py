"""Criteria, and the advisor that walks a grid."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from beamkeep.contexts.operation.loop import (
    AdviceVerdict,
    Evidence,
    MeasuredPass,
    ObjectiveKind,
    SteeringAxis,
    SteeringObjective,
    SteeringSpace,
)
from beamkeep.contexts.recipe.criteria import meets
from beamkeep.contexts.recipe.steps import Equals, WithinTolerance
from beamkeep.kernel import replace
from beamkeep.parts.conducting.conduct.advising import advice_fault, grid_walk
from beamkeep.schemas import Json

EQUAL: list[tuple[Json, Json, bool]] = [
    (1, 1.0, True),
    (True, 1, False),
    (0, False, False),
    (True, True, True),
    ("1", 1, False),
    ("open", "open", True),
    ([1, 2.0], [1.0, 2], True),
    ([1, True], [1, 1], False),
    ([1], [1, 2], False),
    ([1], 1, False),
    (1.0, None, False),
]


@pytest.mark.parametrize(("expected", "reading", "met"), EQUAL)
def test_equals_compares_type_and_value(expected: Json, reading: Json, met: bool):
    assert meets(Equals(expected), reading) is met


NEAR: list[tuple[Json, Json, bool]] = [
    (25.0, 25.25, True),
    (25.0, 25.3, False),
    (25, 24.75, True),
    (25.0, float("nan"), False),
    (25.0, float("inf"), False),
    (25.0, 10**400, False),
    (1, True, False),
    ("25", 25.0, False),
    (25.0, "25", False),
    (25.0, None, False),
]


@pytest.mark.parametrize(("expected", "reading", "met"), NEAR)
def test_within_tolerance_takes_finite_numbers_only(expected: Json, reading: Json, met: bool):
    assert meets(WithinTolerance(expected, 0.25), reading) is met


X, Y = SteeringAxis("x", 0.0, 1.0), SteeringAxis("y", choices=("a", "b"))
EVIDENCE = Evidence(
    objective=SteeringObjective(ObjectiveKind.EXPLORE, "seen"),
    space=SteeringSpace((X, Y)),
    options={"points_per_axis": 3},
    passes=(),
    remaining_iterations=9,
    remaining_time=None,
)


def after(count: int, value: Json = 0.0) -> Evidence:
    passes = tuple(MeasuredPass(n, None, value, {}) for n in range(count))
    return replace(EVIDENCE, passes=passes)


def test_the_grid_is_walked_with_the_first_axis_slowest():
    found = [grid_walk(after(count)).next_coordinate for count in range(6)]
    assert found == [{"x": x, "y": y} for x in (0.0, 0.5, 1.0) for y in ("a", "b")]
    assert grid_walk(after(6)).verdict is AdviceVerdict.STOP


def test_the_grid_has_five_points_on_an_axis_by_default():
    wide = replace(after(1), options={}, space=SteeringSpace((X,)))
    assert grid_walk(wide).next_coordinate == {"x": 0.25}


def test_a_grid_of_one_point_is_at_the_lower_end():
    single = replace(EVIDENCE, options={"points_per_axis": 1}, space=SteeringSpace((X,)))
    assert grid_walk(single).next_coordinate == {"x": 0.0}


def test_a_grid_walk_stops_when_the_target_is_reached():
    goal = SteeringObjective(ObjectiveKind.SATISFY, "seen", 1)
    assert grid_walk(replace(after(1, 1.0), objective=goal)).verdict is AdviceVerdict.STOP
    assert grid_walk(replace(after(1, True), objective=goal)).verdict is AdviceVerdict.MEASURE


@pytest.mark.parametrize("points", [0, -1, True, 2.0, "5"])
def test_a_grid_needs_a_number_of_points(points: Json):
    with pytest.raises(ValueError, match="points_per_axis"):
        grid_walk(replace(EVIDENCE, options={"points_per_axis": points}))


numbers = st.floats(allow_nan=False, allow_infinity=False)


@given(numbers, numbers, st.integers(1, 9), st.integers(0, 9))
def test_a_grid_walk_never_leaves_the_space(one: float, other: float, points: int, count: int):
    axis = SteeringAxis("x", min(one, other), max(one, other))
    space = SteeringSpace((axis, Y))
    evidence = replace(after(count), space=space, options={"points_per_axis": points})
    assert advice_fault(space, grid_walk(evidence)) == ""
