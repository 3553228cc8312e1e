"""Advising: whether advice can be followed, and the advisor that walks a grid."""

from math import prod

from beamkeep.contexts.operation.loop import (
    AdviceVerdict,
    Evidence,
    ObjectiveKind,
    SteeringAdvice,
    SteeringAxis,
    SteeringSpace,
    at_share,
    is_on,
)
from beamkeep.contexts.recipe.criteria import equal
from beamkeep.schemas import Json

LONGEST_RATIONALE = 2000


def advice_fault(space: SteeringSpace, advice: SteeringAdvice) -> str:
    """Return why advice is malformed; an empty text if it can be followed."""
    if len(advice.rationale) > LONGEST_RATIONALE:
        return f"The rationale is longer than {LONGEST_RATIONALE} characters."
    if advice.confidence is not None and not 0 <= advice.confidence <= 1:
        return f"The confidence {advice.confidence} is not between 0 and 1."
    if advice.verdict is AdviceVerdict.STOP:
        return ""
    given, names = advice.next_coordinate or {}, {axis.name for axis in space.axes}
    if given.keys() != names:
        return f"The coordinate names {sorted(given)}; the axes are {sorted(names)}."[:500]
    outside = [axis.name for axis in space.axes if not is_on(axis, given[axis.name])]
    return f"The coordinate is outside the space on {', '.join(outside)}." if outside else ""


def grid_walk(evidence: Evidence) -> SteeringAdvice:
    """Return the next point of a grid, the first axis slowest; stop at the end of the grid.

    Raise `ValueError` when the option `points_per_axis` is not a positive integer.
    """
    points = evidence.options.get("points_per_axis", 5)
    if not isinstance(points, int) or isinstance(points, bool) or points < 1:
        raise ValueError(f"points_per_axis must be a positive integer, not {points!r}.")
    goal, passes, axes = evidence.objective, evidence.passes, evidence.space.axes
    is_reached = any(equal(goal.target_value, each.value) for each in passes)
    if goal.kind is ObjectiveKind.SATISFY and is_reached:
        return SteeringAdvice(AdviceVerdict.STOP, rationale="The target value was reached.")
    sizes = [len(axis.choices) if axis.choices else points for axis in axes]
    if len(passes) >= prod(sizes):
        return SteeringAdvice(AdviceVerdict.STOP, rationale="The grid is exhausted.")
    left, coordinate = len(passes), dict[str, Json]()
    for axis, size in reversed([*zip(axes, sizes, strict=True)]):
        left, position = divmod(left, size)
        coordinate[axis.name] = _point(axis, position, size)
    return SteeringAdvice(AdviceVerdict.MEASURE, next_coordinate=coordinate)


def _point(axis: SteeringAxis, position: int, size: int) -> Json:
    if axis.choices:
        return axis.choices[position]
    return at_share(axis, position / (size - 1) if size > 1 else 0.0)
