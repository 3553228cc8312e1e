"""RunSupervisor: when it holds and stops a run, and when it leaves a run alone."""

import json
from typing import Any
from uuid import UUID

import pytest
from tests.support.agents import a_beam, a_running_run, forbid, supervisor
from tests.unit.agents.conftest import World

from beamkeep.parts.agents.run_supervisor import SUPERVISOR
from beamkeep.testing.service import call

pytestmark = pytest.mark.anyio


async def lost(world: World, **beam: str) -> None:
    await world.do("mark_supply_unavailable", beam)


async def held(world: World, run_id: UUID) -> list[str]:
    """Return the statuses that the run went through after its start."""
    return [each.event_type for each in world.store.streams["Run", run_id][1:]]


async def test_a_run_is_held_once_beam_has_been_lost_for_the_settle_time(world: World):
    beam, run_id = await a_beam(world.do), await a_running_run(world.do)
    await lost(world, **beam)
    loop = supervisor(world.service, world.store)
    world.later(seconds=9.9)
    await loop.turn()
    assert await held(world, run_id) == []
    world.later(seconds=0.1)
    await loop.turn()
    await loop.turn()
    assert await held(world, run_id) == ["RunHeld"]
    (decided,) = world.decisions()
    hold = world.store.streams["Run", run_id][-1]
    told = json.loads(bytes(hold.payload))
    assert told["reason"] == "beam lost"
    assert told["decided_by_decision_id"] == decided["decision_id"]
    assert (decided["choice"], decided["rule"]) == ("Hold", "agent:RunSupervisor:v1")
    assert decided["inputs"]["run_id"] == str(run_id)
    assert decided["inputs"]["episode"] == f"{beam['supply_id']}:3"
    assert decided["determining_policy_ids"] != []


async def test_the_decision_and_the_hold_are_one_append_under_their_own_names(world: World):
    beam, run_id = await a_beam(world.do), await a_running_run(world.do)
    await lost(world, **beam)
    world.later(seconds=10)
    await supervisor(world.service, world.store).turn()
    decided, hold = world.events("DecisionRegistered", "RunHeld")
    assert [decided.command_name, hold.command_name] == ["register_decision", "hold_run"]
    assert decided.correlation_id == hold.correlation_id
    assert decided.causation_id is hold.causation_id is None
    assert {decided.principal_id, hold.principal_id} == {SUPERVISOR.id}
    assert {decided.surface_id, hold.surface_id} == {None}
    by_id = {(each.stream_type, each.version): each.tx for each in world.store.log[-2:]}
    assert len({*by_id.values()}) == 1
    assert run_id == hold.stream_id


async def test_beam_that_is_back_in_time_holds_nothing(world: World):
    beam, run_id = await a_beam(world.do), await a_running_run(world.do)
    await lost(world, **beam)
    await world.do("mark_supply_recovering", beam)
    await world.do("restore_supply", beam)
    world.later(minutes=1)
    await supervisor(world.service, world.store).turn()
    assert await held(world, run_id) == []


async def test_a_recovering_supply_is_not_back(world: World):
    beam, run_id = await a_beam(world.do), await a_running_run(world.do)
    await lost(world, **beam)
    await world.do("mark_supply_recovering", beam)
    world.later(seconds=10)
    await supervisor(world.service, world.store).turn()
    assert await held(world, run_id) == ["RunHeld"]


async def test_one_supply_that_is_not_lost_is_beam_enough(world: World):
    beam, _, run_id = await a_beam(world.do), await a_beam(world.do), await a_running_run(world.do)
    await lost(world, **beam)
    world.later(minutes=1)
    await supervisor(world.service, world.store).turn()
    assert await held(world, run_id) == []


async def test_the_last_beam_that_is_deregistered_begins_an_episode(world: World):
    beam, other = await a_beam(world.do), await a_beam(world.do)
    run_id = await a_running_run(world.do)
    await lost(world, **beam)
    world.later(minutes=1)
    await world.do("deregister_supply", other)
    loop = supervisor(world.service, world.store)
    await loop.turn()
    assert await held(world, run_id) == []
    world.later(seconds=10)
    await loop.turn()
    assert world.decisions()[0]["inputs"]["episode"] == f"{other['supply_id']}:3"


async def test_an_operator_who_resumes_is_not_overruled(world: World):
    beam, run_id = await a_beam(world.do), await a_running_run(world.do)
    await lost(world, **beam)
    loop = supervisor(world.service, world.store)
    world.later(seconds=10)
    await loop.turn()
    await world.do("resume_run", {"run_id": str(run_id), "acknowledgement": "Dark frames"})
    world.later(hours=5)
    await loop.turn()
    assert await held(world, run_id) == ["RunHeld", "RunResumed"]


async def test_a_run_that_an_operator_held_and_resumed_in_the_episode_runs_on(world: World):
    beam, run_id = await a_beam(world.do), await a_running_run(world.do)
    await lost(world, **beam)
    await world.do("hold_run", {"run_id": str(run_id)})
    await world.do("resume_run", {"run_id": str(run_id), "acknowledgement": "Dark frames"})
    world.later(seconds=10)
    await supervisor(world.service, world.store).turn()
    assert await held(world, run_id) == ["RunHeld", "RunResumed"]


@pytest.mark.parametrize(("by_agent", "ends"), [(True, ["RunStopped"]), (False, [])])
async def test_only_a_run_that_the_agent_held_is_stopped_after_a_long_loss(
    world: World, by_agent: bool, ends: list[str]
):
    beam, run_id = await a_beam(world.do), await a_running_run(world.do)
    await lost(world, **beam)
    loop = supervisor(world.service, world.store)
    if by_agent:
        world.later(seconds=10)
        await loop.turn()
    else:
        await world.do("hold_run", {"run_id": str(run_id)})
    world.later(hours=3.9)
    await loop.turn()
    assert await held(world, run_id) == ["RunHeld"]
    world.later(hours=0.1)
    await loop.turn()
    assert await held(world, run_id) == ["RunHeld", *ends]


async def test_a_denied_hold_is_deferred_once(world: World):
    await forbid(world.do, SUPERVISOR, "hold_run")
    beam, run_id = await a_beam(world.do), await a_running_run(world.do)
    await lost(world, **beam)
    loop = supervisor(world.service, world.store)
    for _ in range(3):
        world.later(seconds=30)
        await loop.turn()
    assert await held(world, run_id) == []
    (deferred,) = world.decisions()
    assert deferred["choice"] == "SupervisionDeferred"
    assert deferred["inputs"]["reason_code"] == "no_matching_policy"
    assert "authorization_denials" not in world.store.tables


async def test_an_agent_that_may_not_record_decisions_does_nothing(world: World):
    await forbid(world.do, SUPERVISOR, "register_decision")
    beam, run_id = await a_beam(world.do), await a_running_run(world.do)
    await lost(world, **beam)
    world.later(seconds=10)
    await supervisor(world.service, world.store).turn()
    assert (await held(world, run_id), world.decisions()) == ([], [])


async def test_a_suspended_agent_looks_at_nothing(world: World):
    suspended = {"agent_id": str(SUPERVISOR.id), "reason": "It holds too much"}
    await world.do("suspend_agent", suspended)
    beam, run_id = await a_beam(world.do), await a_running_run(world.do)
    await lost(world, **beam)
    world.later(seconds=10)
    assert await supervisor(world.service, world.store).turn() == 30.0
    assert await held(world, run_id) == []


async def test_a_run_whose_method_needs_no_beam_is_left_alone(world: World):
    beam = await a_beam(world.do)
    from tests.support.examples.recipe import define_method

    needing: dict[str, Any] = {**await define_method(world.do), "needed_supplies": []}
    made = await call(world.service, "define_method", needing)
    run_id = await a_running_run(world.do, made.id)
    await lost(world, **beam)
    world.later(minutes=1)
    await supervisor(world.service, world.store).turn()
    assert await held(world, run_id) == []
