"""Loops: what repeats the steps of a conduct in passes, and what an advisor answers."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated

import msgspec
from annotated_types import Ge, Le, MaxLen, MinLen

from beamkeep.contexts.recipe.criteria import equal
from beamkeep.contexts.recipe.steps import Criterion, RegisteredName, SlotName
from beamkeep.contexts.seams.routes import is_number
from beamkeep.kernel import Record
from beamkeep.schemas import Json, JsonObject

MOST_PASSES = 10_000

type Passes = Annotated[int, Ge(1), Le(MOST_PASSES)]
type Coordinate = Mapping[str, Json]
"""The value of every axis, by its name."""


class Convergence(Record, tag_field="kind", tag="converge"):
    """Passes are repeated until a captured value meets a criterion."""

    capture_name: SlotName
    criterion: Criterion
    max_iterations: Passes = 100
    max_consecutive_unconverged_iterations: Passes | None = None
    """How many passes in a row may miss the criterion."""


class ObjectiveKind(StrEnum):
    MINIMIZE = "Minimize"
    MAXIMIZE = "Maximize"
    SATISFY = "Satisfy"
    EXPLORE = "Explore"


class SteeringObjective(Record):
    """The goal of a steered conduct, measured by a captured value."""

    kind: ObjectiveKind
    capture_name: SlotName
    target_value: Json = None
    """Given for Satisfy, and only then."""


class SteeringAxis(Record):
    """One thing that an advisor chooses: a number between two others, or one of some choices."""

    name: SlotName
    lower: float | None = None
    upper: float | None = None
    choices: Annotated[tuple[Json, ...], MaxLen(1000)] | None = None
    initial: Json = None


class SteeringSpace(Record):
    """Everything that an advisor chooses."""

    axes: Annotated[tuple[SteeringAxis, ...], MinLen(1), MaxLen(20)]


class NamedAdvisor(Record):
    """An advisor of the deployment and its options."""

    name: RegisteredName
    options: JsonObject = msgspec.field(default_factory=dict[str, Json])


class Steering(Record, tag_field="kind", tag="steer"):
    """Passes are repeated at coordinates that an advisor chooses."""

    advisor: NamedAdvisor
    objective: SteeringObjective
    space: SteeringSpace
    max_iterations: Passes = 100
    time_budget: float | None = None
    """In seconds."""


class AdviceVerdict(StrEnum):
    MEASURE = "Measure"
    STOP = "Stop"


class SteeringAdvice(Record):
    """What an advisor answers after a pass."""

    verdict: AdviceVerdict
    next_coordinate: Coordinate | None = None
    rationale: str = ""
    confidence: float | None = None
    confidence_source: str | None = None
    alternatives: tuple[JsonObject, ...] = ()
    model_ref: str | None = None


class MeasuredPass(Record):
    """What one pass measured, for an advisor."""

    iteration_index: int
    coordinate: Coordinate | None
    value: Json
    captures: JsonObject


class Evidence(Record):
    """Everything that an advisor sees."""

    objective: SteeringObjective
    space: SteeringSpace
    options: JsonObject
    passes: tuple[MeasuredPass, ...]
    remaining_iterations: int
    remaining_time: float | None
    """In seconds; None without a time budget."""


def initial_coordinate(space: SteeringSpace) -> Coordinate:
    """Return the coordinate of the first pass."""
    return {axis.name: _initial(axis) for axis in space.axes}


def space_fault(space: SteeringSpace) -> str | None:
    """Return why an advisor cannot choose in a space; None if it can."""
    names = [axis.name for axis in space.axes]
    if len({*names}) < len(names):
        return "Every axis needs a name of its own."
    return next((f"Axis {a.name!r}: {why}" for a in space.axes if (why := _axis_fault(a))), None)


def _axis_fault(axis: SteeringAxis) -> str | None:
    lower, upper, choices = axis.lower, axis.upper, axis.choices
    if choices is None:
        if not (is_number(lower) and is_number(upper) and lower < upper):
            return "Give choices, or a lower bound that is below the upper bound."
    elif lower is not None or upper is not None:
        return "An axis with choices has no bounds."
    elif not choices or not all(isinstance(choice, bool | int | float | str) for choice in choices):
        return "Give at least one choice; a choice is a number, a boolean or a text."
    # 1 and 1.0 are one choice, and true is another.
    elif len({(isinstance(each, bool), each) for each in choices}) < len(choices):
        return "Every choice can be given once."
    if axis.initial is not None and not is_on(axis, axis.initial):
        return "The initial value is not one that the axis can take."
    return None


def is_on(axis: SteeringAxis, value: Json) -> bool:
    """Return whether a value is one that an axis can take."""
    if axis.choices:
        return any(equal(choice, value) for choice in axis.choices)
    if axis.lower is None or axis.upper is None or not is_number(value):
        return False
    return axis.lower <= value <= axis.upper


def at_share(axis: SteeringAxis, share: float) -> float:
    """Return the number at a share of the way from the lower to the upper end of an axis."""
    lower, upper = axis.lower or 0.0, axis.upper or 0.0
    # Rounding must not leave the axis.
    return min(max(lower * (1 - share) + upper * share, lower), upper)


def _initial(axis: SteeringAxis) -> Json:
    if axis.initial is not None:
        return axis.initial
    return axis.choices[0] if axis.choices else axis.lower
