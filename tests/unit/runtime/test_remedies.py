"""Refusals tell the state of their object, the states it must have, and what leads there."""

from collections.abc import AsyncGenerator, Iterator
from enum import Enum
from typing import Any

import pytest
from tests.support.examples.assets import BEAMLINE, an_asset
from tests.support.examples.run import a_held_run
from tests.support.rest_client import RestClient, rest_client

from beamkeep.contexts.catalogue import CATALOGUE
from beamkeep.kernel import Axis
from beamkeep.runtime.remedies import Remedies, moves_of

REMEDIES = Remedies(CATALOGUE.operations)
AXES = {
    f"{aggregate.name} {axis.name}": axis
    for aggregate in CATALOGUE.aggregates.values()
    for axis in aggregate.axes
}
BY_NAME = {operation.name: operation for operation in CATALOGUE.operations}


def states(axis: Axis[Any, Any]) -> list[Any]:
    target = next(iter(axis.moves.values()))[1]
    return list(type(target)) if isinstance(target, Enum) else [True, False]


def reachable(axis: Axis[Any, Any], now: Any) -> set[Any]:
    found = {now}
    while more := {to for of, to, _ in axis.moves.values() if of & found} - found:
        found |= more
    return found


def refused(axis: Axis[Any, Any]) -> Iterator[tuple[Any, Any]]:
    """Every state, with the states of every move that is refused there."""
    for now in states(axis):
        for sources, _, _ in axis.moves.values():
            if now not in sources:
                yield now, sources


@pytest.mark.parametrize("axis", AXES.values(), ids=AXES)
def test_every_way_leads_by_allowed_moves_to_a_state_that_was_asked_for(axis: Axis[Any, Any]):
    for now, wanted in refused(axis):
        way = REMEDIES.way(axis, now, axis.words(*wanted))
        at = {now}
        for name in way:
            moves = moves_of(BY_NAME[name], [axis])
            at = {move.target for move in moves if at & move.sources}
        assert bool(at & wanted) == bool(reachable(axis, now) & wanted), (now, wanted, way)


@pytest.mark.parametrize(
    ("axis", "now", "must_be", "way"),
    [
        ("Supply status", "Unavailable", "Available", ["mark_supply_recovering", "restore_supply"]),
        ("Supply status", "Unknown", "Available", ["mark_supply_available"]),
        ("Run status", "Held", "Running", ["resume_run"]),
        ("Run status", "Completed", "Running", []),
        ("Distribution status", "Stale", "Verified", ["record_attestation"]),
        ("Visit controlling", "true", "false", ["release_visit_surface_control"]),
    ],
)
def test_the_way_is_the_shortest_one(axis: str, now: str, must_be: str, way: list[str]):
    on = AXES[axis]
    (state,) = [each for each in states(on) if on.words(each) == [now]]
    assert REMEDIES.way(on, state, [must_be]) == way


@pytest.fixture
async def rest() -> AsyncGenerator[RestClient]:
    async with rest_client() as client:
        yield client


@pytest.mark.anyio
async def test_a_refused_command_tells_what_clears_it(rest: RestClient):
    id = await a_held_run(rest)
    answer = await rest.send("hold_run", {"run_id": id, "reason": "Beam lost."})
    problem = answer.json()
    assert (answer.status_code, problem["code"]) == (409, "RunCannotHoldError")
    assert problem["detail"].endswith("The status is Held; it must be Running.")
    assert problem["axis"] == "status"
    assert problem["facts"] == [{"kind": "Run", "id": id, "state": "Held"}]
    assert problem["must_be"] == ["Running"]
    assert problem["cleared_by"] == ["resume_run"]


@pytest.mark.anyio
async def test_a_refusal_for_another_reason_tells_the_state_of_its_object(rest: RestClient):
    id = await an_asset(rest)
    answer = await rest.send("rename_asset", {"asset_id": id, "name": BEAMLINE["name"]})
    problem = answer.json()
    assert (answer.status_code, problem["code"]) == (409, "AssetCannotRenameError")
    assert problem["facts"] == [
        {"kind": "Asset", "id": id, "state": "Commissioned"},
        {"kind": "Asset", "id": id, "state": "Nominal"},
    ]
    assert (problem["must_be"], problem["cleared_by"]) == ([], [])
