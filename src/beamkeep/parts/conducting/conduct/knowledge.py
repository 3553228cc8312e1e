"""What a worker may do about a step, and the values that its references have now."""

from collections.abc import Mapping

from beamkeep.contexts.operation.conducted import Phase
from beamkeep.contexts.operation.history import Attempts, last_pass, results, step_history
from beamkeep.contexts.operation.routing import step_findings
from beamkeep.contexts.recipe.steps import RecipeStep, reference, references, with_values
from beamkeep.contexts.seams.routes import RouteFinding
from beamkeep.schemas import Json

from .known import Known


def is_skipped(known: Known, index: int) -> bool:
    """Return whether the caller skips this step; in a pass that the conduct began, none is."""
    current = last_pass(known)
    own_pass = current is not None and current.begun_by == known.conduct.conduct_id
    return index in known.conduct.skip_step_indexes and not own_pass


def is_doubted_twice(known: Known, attempts: Attempts) -> bool:
    """Return whether this conduct left the step in doubt twice: no third attempt unattended."""
    own = (each for each in attempts if each.conduct_id == known.conduct.conduct_id)
    return sum(each.outcome is None for each in own) > 1


def resolved(known: Known, step: RecipeStep, phase: Phase) -> RecipeStep | RouteFinding:
    """Return the step with its values, or the first reason why it cannot be executed."""
    values, referred = dict[str, Mapping[str, Json]](), [*references(step)]
    if referred:
        values.update(_values(known, phase))
    for place, found in referred:
        kind = type(found).__name__
        if found.name not in values.get(kind, {}):
            missing = f"{place} refers to {found.name!r}, which has no value in this pass."
            return RouteFinding(f"Unresolved{kind}Error", missing)

    def valued(value: Json) -> Json:
        found = reference(value)
        return value if found is None else values[type(found).__name__][found.name]

    ready = with_values(step, valued)
    return next(step_findings(known.routes, ready, inline=known.inline), ready)


def _values(known: Known, phase: Phase) -> Mapping[str, Mapping[str, Json]]:
    """Return the values of each class of reference; closing steps see those of the last pass."""
    captures, outputs = results(known.steps, step_history(known, Phase.STEPS))
    if phase is Phase.STEPS:
        coordinate = current.coordinate if (current := last_pass(known)) else None
        return {"CaptureRef": captures, "OutputRef": outputs, "SteeringRef": coordinate or {}}
    closing = results(known.closing_steps, step_history(known, Phase.CLOSING))
    return {"CaptureRef": captures | closing[0], "OutputRef": outputs | closing[1]}
