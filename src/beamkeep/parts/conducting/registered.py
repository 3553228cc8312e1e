"""Actions and advisors that are installed with the program, found by their entry points."""

import asyncio
from collections.abc import Mapping, Sequence
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from typing import cast

from beamkeep.adapters.extras import BrokenEntryPointError
from beamkeep.contexts.operation.loop import Evidence, SteeringAdvice
from beamkeep.contexts.seams.installation import ActionEntry
from beamkeep.kernel import Invalid
from beamkeep.schemas import declare

from .bodies import (
    ActionCall,
    ActionCancelledError,
    Advisor,
    RegisteredAction,
)
from .conduct.advising import grid_walk

ACTIONS, ADVISORS = "beamkeep.actions", "beamkeep.advisors"
BUILT_IN = "beamkeep"
LONGEST_PAUSE = 3600


class InvalidActionSchemaError(Invalid):
    """The params schema of an action is not in the allowed subset."""


async def pause(call: ActionCall) -> None:
    """Wait for a duration; end at once when the step is cancelled."""
    duration = call.params["duration"]
    assert isinstance(duration, int | float)  # noqa: S101 - the schema of the action says so
    try:
        await asyncio.wait_for(call.cancelled.wait(), duration)
    except TimeoutError:
        return
    raise ActionCancelledError


PAUSE = RegisteredAction(
    entry=ActionEntry(
        name="pause",
        params_schema={
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "properties": {
                "duration": {
                    "type": "number",
                    "minimum": 0,
                    "maximum": LONGEST_PAUSE,
                    "unit": {"system": "ucum", "code": "s"},
                }
            },
            "required": ["duration"],
        },
        inline=True,
    ),
    body=pause,
)


def registered_actions() -> Mapping[str, RegisteredAction]:
    """Return every action by its name: `pause`, and those of installed distributions.

    Raise `BrokenEntryPointError` when one of them cannot be used.
    """
    found: dict[str, tuple[str, RegisteredAction]] = {"pause": (BUILT_IN, PAUSE)}
    for point in _points(ACTIONS):
        action = _loaded(point)
        if not isinstance(action, RegisteredAction):
            raise _broken(point, f"is a {type(action).__name__}, not a RegisteredAction")
        if action.entry.name != point.name:
            raise _broken(point, f"has an action with another name, {action.entry.name!r}")
        try:
            declare(action.entry.params_schema, InvalidActionSchemaError)
        except InvalidActionSchemaError as fault:
            raise _broken(point, f"has a params schema that is not allowed. {fault}") from None
        _require_new(point, found)
        found[point.name] = (_distribution(point), action)
    return {name: action for name, (_, action) in found.items()}


def registered_advisors() -> Mapping[str, Advisor]:
    """Return every advisor by its name: `grid_walk`, `bayesian`, and those of distributions.

    `bayesian` is there if beamkeep[optimiser] is installed. Raise `BrokenEntryPointError` when an
    advisor cannot be used.
    """
    found: dict[str, tuple[str, Advisor]] = {"grid_walk": (BUILT_IN, grid_walk)}
    if find_spec("sklearn"):
        found["bayesian"] = (BUILT_IN, _bayesian)
    for point in _points(ADVISORS):
        advisor = _loaded(point)
        if not callable(advisor):
            raise _broken(point, f"is a {type(advisor).__name__}, which cannot be called")
        _require_new(point, found)
        found[point.name] = (_distribution(point), cast("Advisor", advisor))
    return {name: advisor for name, (_, advisor) in found.items()}


def _bayesian(evidence: Evidence) -> SteeringAdvice:
    # The library takes seconds to load, and only who asks the advisor should wait.
    from .bayesian import bayesian  # noqa: PLC0415

    return bayesian(evidence)


def _points(group: str) -> Sequence[EntryPoint]:
    return sorted(entry_points(group=group), key=lambda each: (each.name, _distribution(each)))


def _loaded(point: EntryPoint) -> object:
    try:
        return point.load()
    except Exception as error:
        raise _broken(point, f"fails to load: {type(error).__name__}: {error}") from error


def _require_new(point: EntryPoint, found: Mapping[str, tuple[str, object]]) -> None:
    if point.name in found:
        raise _broken(point, f"has the name of one of {found[point.name][0]}")


def _broken(point: EntryPoint, why: str) -> BrokenEntryPointError:
    return BrokenEntryPointError(
        f"The entry point {point.name!r} ({point.value}) of the group {point.group} in the"
        f" distribution {_distribution(point)} {why}. Correct or uninstall the distribution."
    )


def _distribution(point: EntryPoint) -> str:
    return f"{point.dist.name} {point.dist.version}" if point.dist else "unknown"
