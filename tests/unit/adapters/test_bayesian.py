"""The Bayesian advisor: it finds an optimum in few passes and never leaves the space."""

import math
import random
from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from beamkeep.contexts.operation.loop import (
    AdviceVerdict,
    Coordinate,
    Evidence,
    MeasuredPass,
    ObjectiveKind,
    SteeringAdvice,
    SteeringAxis,
    SteeringObjective,
    SteeringSpace,
    initial_coordinate,
)
from beamkeep.kernel import replace
from beamkeep.parts.conducting.bayesian import bayesian
from beamkeep.parts.conducting.bodies import Advisor, AdvisorEvidenceRejectedError
from beamkeep.parts.conducting.conduct.advising import advice_fault, grid_walk
from beamkeep.schemas import Json, JsonObject

PLANE = SteeringSpace(
    (SteeringAxis("x", lower=0.0, upper=10.0), SteeringAxis("y", lower=-1.0, upper=1.0))
)
NEAR = 0.05
"""Of the length of an axis; a grid with a point so near to every optimum has 11 points per axis."""


def number(coordinate: Coordinate, axis: str) -> float:
    value = coordinate[axis]
    assert isinstance(value, int | float)
    return value


class Beam:
    """A noisy peak somewhere in the plane; its intensity is what is measured."""

    def __init__(self, seed: int) -> None:
        self._rng = random.Random(seed)  # noqa: S311 - a peak is no secret
        self._x, self._y = (self._rng.uniform(0.15, 0.85) for _ in range(2))

    def offsets(self, coordinate: Coordinate) -> tuple[float, float]:
        x, y = number(coordinate, "x"), number(coordinate, "y")
        return x / 10 - self._x, (y + 1) / 2 - self._y

    def is_near(self, coordinate: Coordinate) -> bool:
        return all(abs(each) <= NEAR for each in self.offsets(coordinate))

    def intensity(self, coordinate: Coordinate) -> float:
        u, v = self.offsets(coordinate)
        return math.exp(-(u**2 / 0.08 + v**2 / 0.05 + u * v / 0.1)) + self._rng.gauss(0, 0.02)


def evidence(
    passes: list[tuple[Coordinate, Json]],
    kind: ObjectiveKind = ObjectiveKind.MAXIMIZE,
    space: SteeringSpace = PLANE,
    remaining: int = 100,
    options: JsonObject | None = None,
) -> Evidence:
    return Evidence(
        objective=SteeringObjective(kind, "intensity"),
        space=space,
        options=options or {},
        passes=tuple(MeasuredPass(n, at, value, {}) for n, (at, value) in enumerate(passes, 1)),
        remaining_iterations=remaining,
        remaining_time=None,
    )


def steered(
    advisor: Advisor, beam: Beam, options: JsonObject | None = None
) -> list[tuple[Coordinate, Json]]:
    passes, at = list[tuple[Coordinate, Json]](), initial_coordinate(PLANE)
    while True:
        passes.append((at, beam.intensity(at)))
        advice = advisor(evidence(passes, remaining=200 - len(passes), options=options))
        if advice.verdict is AdviceVerdict.STOP:
            return passes
        assert advice.next_coordinate
        at = advice.next_coordinate


def brightest(passes: list[tuple[Coordinate, Json]]) -> Coordinate:
    return max(passes, key=lambda each: each[1] if isinstance(each[1], float) else 0.0)[0]


@pytest.mark.parametrize("seed", range(4))
def test_the_peak_is_found_in_fewer_passes_than_a_grid_needs(seed: int):
    guided, walked = Beam(seed), Beam(seed)
    passes = steered(bayesian, guided)
    assert guided.is_near(brightest(passes))
    first = next(n for n, (at, _) in enumerate(passes) if guided.is_near(at))
    grid = steered(grid_walk, walked, {"points_per_axis": 11})
    reached = next(n for n, (at, _) in enumerate(grid) if walked.is_near(at))
    assert first < reached
    assert len(passes) < len(grid) == 121


def test_the_same_evidence_gets_the_same_advice():
    passes = steered(bayesian, Beam(5))[:9]
    first = bayesian(evidence(passes))
    assert first.verdict is AdviceVerdict.MEASURE
    assert replace(evidence(passes), remaining_time=7.0) != evidence(passes)
    assert bayesian(replace(evidence(passes), remaining_time=7.0)) == first
    assert bayesian(evidence(passes[:-1])).next_coordinate != first.next_coordinate


def test_advice_says_what_is_expected_and_how_well_it_is_known():
    advice = bayesian(evidence(steered(bayesian, Beam(5))[:9]))
    assert "By the model of 9 passes" in advice.rationale
    assert "The best value so far" in advice.rationale
    assert advice.confidence is not None
    assert 0 < advice.confidence <= 1
    assert advice.model_ref is not None
    assert "GaussianProcessRegressor" in advice.model_ref
    assert [each.keys() for each in advice.alternatives] == [{"x", "y"}] * 3


def walk(
    space: SteeringSpace,
    goal: SteeringObjective,
    measured: Callable[[Coordinate], Json],
    most: int = 60,
    options: JsonObject | None = None,
) -> tuple[list[tuple[Coordinate, Json]], SteeringAdvice]:
    passes, at = list[tuple[Coordinate, Json]](), initial_coordinate(space)
    while True:
        passes.append((at, measured(at)))
        asked = evidence(passes, space=space, remaining=most - len(passes), options=options)
        advice = bayesian(replace(asked, objective=goal))
        assert advice_fault(space, advice) == ""
        if advice.verdict is AdviceVerdict.STOP:
            return passes, advice
        assert advice.next_coordinate
        at = advice.next_coordinate


FILTERS = SteeringSpace(
    (
        SteeringAxis("foil", choices=("none", "Al", "Cu", "Mo")),
        SteeringAxis("gap", lower=5.0, upper=30.0),
        SteeringAxis("order", choices=(1, 3, 5)),
    )
)


def dose(at: Coordinate) -> float:
    absorbed = {"none": 3.0, "Al": 1.0, "Cu": 0.2, "Mo": 2.0}[str(at["foil"])]
    return absorbed + (number(at, "gap") - 12) ** 2 / 50 + number(at, "order")


def test_choices_are_chosen_too():
    passes, _ = walk(FILTERS, SteeringObjective(ObjectiveKind.MINIMIZE, "dose"), dose, most=40)
    best, _ = min(passes, key=lambda each: dose(each[0]))
    assert (best["foil"], best["order"]) == ("Cu", 1)
    assert abs(number(best, "gap") - 12) < 2


def test_a_target_value_is_searched_and_ends_the_search():
    line = SteeringSpace((SteeringAxis("x", lower=0.0, upper=10.0),))
    goal = SteeringObjective(ObjectiveKind.SATISFY, "v", target_value=4.0)
    passes, advice = walk(line, goal, lambda at: number(at, "x") ** 2, options={"tolerance": 0.1})
    assert "The target value was reached." in advice.rationale
    assert isinstance(passes[-1][1], float)
    assert abs(passes[-1][1] - 4.0) <= 0.1
    assert len(passes) < 20


def test_a_target_that_is_a_text_is_searched_too():
    line = SteeringSpace((SteeringAxis("x", lower=0.0, upper=10.0),))
    goal = SteeringObjective(ObjectiveKind.SATISFY, "v", target_value="open")
    passes, advice = walk(line, goal, lambda at: "open" if 7 < number(at, "x") < 8 else "closed")
    assert passes[-1][1] == "open"
    assert "The target value was reached." in advice.rationale


def test_exploring_measures_where_least_is_known():
    line = SteeringSpace((SteeringAxis("x", lower=0.0, upper=10.0),))
    goal = SteeringObjective(ObjectiveKind.EXPLORE, "v")
    passes, _ = walk(line, goal, lambda at: math.sin(number(at, "x")), most=25)
    visited = sorted(number(at, "x") for at, _ in passes)
    gaps = [after - before for before, after in pairwise(visited)]
    assert max(gaps) < 2.5


def test_an_exhausted_budget_ends_the_search():
    passes = steered(bayesian, Beam(5))[:9]
    assert bayesian(evidence(passes, remaining=0)).verdict is AdviceVerdict.STOP
    timed = replace(evidence(passes), remaining_time=0.0)
    assert bayesian(timed).rationale.startswith("The budget is used up.")


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"speed": 1}, "no option 'speed'"),
        ({"tolerance": "small"}, "tolerance must be"),
        ({"least_improvement": -1}, "least_improvement must be"),
        ({"first_passes": True}, "first_passes must be"),
    ],
)
def test_options_that_cannot_be_used_are_rejected(options: JsonObject, why: str):
    with pytest.raises(AdvisorEvidenceRejectedError, match=why):
        bayesian(evidence([], options=options))


def test_a_value_that_is_no_number_is_rejected():
    with pytest.raises(AdvisorEvidenceRejectedError, match="Pass 1 measured 'bright'"):
        bayesian(evidence([({"x": 1.0, "y": 0.0}, "bright")]))


finite = st.floats(allow_nan=False, allow_infinity=False)
ranges = st.tuples(finite, finite).filter(lambda each: each[0] < each[1])
choices = st.lists(
    st.one_of(st.text(max_size=3), st.booleans(), finite), min_size=1, max_size=6, unique_by=repr
)


@st.composite
def spaces(draw: st.DrawFn) -> SteeringSpace:
    axes = list[SteeringAxis]()
    for n in range(draw(st.integers(1, 3))):
        if draw(st.booleans()):
            lower, upper = draw(ranges)
            axes.append(SteeringAxis(f"a{n}", lower=lower, upper=upper))
        else:
            axes.append(SteeringAxis(f"a{n}", choices=tuple(draw(choices))))
    return SteeringSpace(tuple(axes))


@given(spaces(), st.lists(finite, min_size=1, max_size=9), st.sampled_from(ObjectiveKind), finite)
@settings(max_examples=60, deadline=None)
def test_no_advice_leaves_the_space(
    space: SteeringSpace, values: list[float], kind: ObjectiveKind, target: float
):
    is_aimed = kind is ObjectiveKind.SATISFY
    goal = SteeringObjective(kind, "v", target_value=target if is_aimed else None)
    passes, at = list[tuple[Coordinate, Json]](), initial_coordinate(space)
    for value in values:
        passes.append((at, value))
        advice = bayesian(replace(evidence(passes, space=space), objective=goal))
        assert advice_fault(space, advice) == ""
        if advice.next_coordinate is None:
            return
        at = advice.next_coordinate
