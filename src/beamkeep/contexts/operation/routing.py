"""Routing: what the route table says about the steps of a conduct."""

from collections.abc import Iterator, Sequence

from beamkeep.contexts.recipe.steps import (
    RecipeCaptureStep,
    RecipeCheckStep,
    RecipeSetpointStep,
    RecipeStep,
    reference,
)
from beamkeep.contexts.seams.routes import (
    ControlRoute,
    RouteFinding,
    address_findings,
    value_findings,
    write_findings,
)


def step_findings(
    routes: Sequence[ControlRoute], step: RecipeStep, *, inline: bool
) -> Iterator[RouteFinding]:
    """Yield why a step cannot be executed; a value that is still a reference is not judged."""
    match step:
        case RecipeSetpointStep():
            yield from write_findings(routes, step.address, inline=inline)
            if reference(step.value) is None:
                yield from value_findings(routes, step.address, step.value)
        case RecipeCheckStep() | RecipeCaptureStep():
            yield from address_findings(routes, step.address)
        case _:
            pass
