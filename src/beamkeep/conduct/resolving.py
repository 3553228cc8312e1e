"""Resolving: references become values, and the step is checked against the routes."""

from collections.abc import Mapping, Sequence

from beamkeep.contexts.operation.conducted import Phase, Stage
from beamkeep.contexts.operation.routing import step_findings
from beamkeep.contexts.recipe.steps import RecipeStep, reference, references, with_values
from beamkeep.contexts.routes import RouteFinding
from beamkeep.schemas import Json, JsonObject

from .knowledge import History, history, last_pass
from .known import Known


def resolved(known: Known, step: RecipeStep, phase: Phase) -> RecipeStep | RouteFinding:
    """Return the step with its values, or the first reason why it cannot be executed."""
    values = _values(known, phase)
    for place, found in references(step):
        kind = type(found).__name__
        if found.name not in values.get(kind, {}):
            missing = f"{place} refers to {found.name!r}, which has no value in this pass."
            return RouteFinding(f"Unresolved{kind}Error", missing)

    def valued(value: Json) -> Json:
        found = reference(value)
        return value if found is None else values[type(found).__name__][found.name]

    ready = with_values(step, valued)
    return next(step_findings(known.routes, ready, inline=known.inline), ready)


def results(steps: Sequence[RecipeStep], attempts: History) -> tuple[JsonObject, JsonObject]:
    """Return the captured values and the addresses of artifacts, each by name.

    Of several attempts that succeeded, the highest counts.
    """
    captures, outputs = dict[str, Json](), dict[str, Json]()
    for index, step in enumerate(steps):
        capture: str | None = getattr(step, "capture_name", None)
        output: str | None = getattr(step, "output_name", None)
        for attempt in attempts.get(index, ()):
            match (row := attempt.rows.get(Stage.SUCCEEDED)) and row.detail:
                case {"value": value} if capture:
                    captures[capture] = value
                case {"measurements": list(measured)}:
                    values = {str(m["name"]): m["value"] for m in measured if isinstance(m, dict)}
                    captures |= {name: v for name, v in values.items() if name == capture}
                case {"artifact": {"uri": uri}} if output:
                    outputs[output] = uri
                case _:
                    pass
    return captures, outputs


def _values(known: Known, phase: Phase) -> Mapping[str, Mapping[str, Json]]:
    """Return the values of each class of reference; closing steps see those of the last pass."""
    captures, outputs = results(known.steps, history(known, Phase.STEPS))
    current = last_pass(known)
    if phase is Phase.STEPS:
        coordinate = (current and current.coordinate) or {}
        return {"CaptureRef": captures, "OutputRef": outputs, "SteeringRef": coordinate}
    closing = results(known.closing_steps, history(known, Phase.CLOSING))
    return {"CaptureRef": captures | closing[0], "OutputRef": outputs | closing[1]}
