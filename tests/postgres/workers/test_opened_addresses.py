"""Writes that the deployment did not open: refused at the request, and again at the effect."""

import asyncio
from collections import Counter
from random import Random
from typing import Any
from uuid import uuid4

import pytest
from tests.postgres.workers.conftest import MakeBench
from tests.support.conducting import ConductorBench, action, entry, setpoint
from tests.support.handing_over import always_open

from beamkeep.adapters.memory.store import MemoryStore
from beamkeep.adapters.memory.work import MemoryWorkQueue
from beamkeep.contexts.recipe.steps import RecipeActionStep
from beamkeep.contexts.seams.routes import AddressBounds, ControlRoute, Substrate
from beamkeep.contexts.starting.conducting import ConductNotExecutableError
from beamkeep.parts.conducting.bodies import ActionCall, RegisteredAction
from beamkeep.parts.conducting.details import StepFailedError
from beamkeep.parts.conducting.effects import StepRun
from beamkeep.schemas import Json, JsonObject
from beamkeep.testing.seeds import dice, seed
from beamkeep.testing.service import memory_service

pytestmark = pytest.mark.anyio

ATTEMPTS = 1000
X = AddressBounds("bl:x", -5.0, 5.0)
ROUTES = (
    ControlRoute(
        "bl:", Substrate.IN_MEMORY, simulated=True, writable=True, inline=True, bounds=(X,)
    ),
    ControlRoute("bl:permit:", Substrate.IN_MEMORY, simulated=True),
    ControlRoute("bl:recipe:", Substrate.IN_MEMORY, simulated=True, writable=True),
)
ADDRESSES = (
    "bl:x", "bl:y", "bl:permit:beam", "bl:recipe:z", "other:x", "bl", "bl:x.DRVH", "bl:x.VAL",
    "bl:x$", "bl:x{}", "BL:x", "bl:permit:", "bl:y.HOPR", "bl:permit:beam.PROC",
)  # fmt: skip
VALUES: tuple[Json, ...] = (
    0.0, 5.0, -5.0, 5.0000001, -6, 1e308, 0, True, "2.0", [1.0, 2.0], [1.0, 9.0], ["1"], 4,
)  # fmt: skip


def is_open(address: str, value: Json) -> bool:
    """Return by hand what inline steps may write here."""
    if address == "bl:y":
        return True
    numbers = value if isinstance(value, list) else [value]
    plain = all(isinstance(n, int | float) and not isinstance(n, bool) for n in numbers)
    return address == "bl:x" and plain and all(-5 <= n <= 5 for n in numbers)  # type: ignore[operator]


def draw(roll: Random) -> tuple[str, Json]:
    address = roll.choice(ADDRESSES) if roll.random() < 0.5 else "bl:y"
    return address, roll.choice(VALUES)


async def test_no_request_gets_a_write_through_that_is_not_open(bench: MakeBench):
    roll, world = dice(seed(), "requests"), await bench(routes=ROUTES)
    found = Counter[str]()
    conductor = world.conductor()
    for _ in range(ATTEMPTS if isinstance(world.store, MemoryStore) else 20):
        asked = [draw(roll) for _ in range(roll.randint(1, 3))]
        wrong = [n for n, each in enumerate(asked) if not is_open(*each)]
        steps = [setpoint(address, value) for address, value in asked]
        try:
            ids = await world.accepted(steps)
        except ConductNotExecutableError as refusal:
            named = {finding.partition(":")[0] for finding in refusal.facts["findings"]}  # type: ignore[attr-defined]
            assert named == {f"steps[{n}]" for n in wrong}
            found["refused"] += 1
        else:
            assert not wrong
            await world.ended(*ids, conductor)
            found["conducted"] += 1
    assert all(is_open(*each) for each in world.channels.writes)
    assert min(found["refused"], found["conducted"]) > 0


async def test_no_body_of_an_action_gets_a_write_through_that_is_not_open():
    roll = dice(seed(), "bodies")
    tried: list[tuple[str, Json]] = []

    async def body(call: ActionCall) -> None:
        tried.append((str(call.params["address"]), call.params["value"]))
        await call.control.write(*tried[-1])

    declared = RegisteredAction(entry("write", writes=ADDRESSES[:5]), body)
    world = await _bench(declared)
    refused = 0
    for _ in range(ATTEMPTS):
        address, value = draw(roll)
        step = RecipeActionStep("write", {"address": address, "value": value})
        try:
            await world.effects.carry_out(step, _run())
        except StepFailedError:
            refused += 1
    assert all(is_open(*each) for each in world.channels.writes)
    assert len(world.channels.writes) + refused == len(tried) == ATTEMPTS
    assert world.channels.writes


async def test_a_value_that_is_known_only_at_the_step_is_judged_there(bench: MakeBench):
    world = await bench(routes=ROUTES)
    world.channels.put("bl:y", 7.0)
    steps: list[dict[str, Any]] = [
        {"kind": "capture", "address": "bl:y", "capture_name": "seen"},
        setpoint("bl:x", {"$capture": "seen"}),
    ]
    ended = await world.conducted(steps)
    failure = ended["failure"]
    assert (ended["outcome"], failure["error_class"]) == ("Aborted", "ControlLimitExceededError")
    assert world.channels.writes == []


async def test_an_action_that_is_not_open_to_inline_steps_is_refused(bench: MakeBench):
    async def body(call: ActionCall) -> None: ...

    hidden = RegisteredAction(entry("home"), body)
    world = await bench(routes=ROUTES, actions=[hidden])
    with pytest.raises(ConductNotExecutableError, match="No action 'away' is registered"):
        await world.accepted([action("away")])
    await world.conducted([action("home")])


async def _bench(*actions: RegisteredAction) -> ConductorBench:
    _, store = await memory_service()
    queue = MemoryWorkQueue(store)
    return ConductorBench(store, store, queue, b"k" * 32, actions=actions, routes=ROUTES)


def _run() -> StepRun:
    async def submitted(job_id: str) -> None: ...

    async def writing(detail: JsonObject) -> None: ...

    return StepRun(
        key=uuid4(),
        inline=True,
        still_mine=lambda: True,
        handing_over=always_open,
        stopping=asyncio.Event(),
        submitted=submitted,
        readings=[],
        writing=writing,
        written=[],
    )
