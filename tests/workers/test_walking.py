"""Conducts from their request to their end: what is done, recorded and appended."""

import asyncio
from typing import Any

import pytest
from tests.support.conducting import action, capture, check, entry, setpoint
from tests.support.examples.run import started_run
from tests.workers.conftest import MakeBench

from beamkeep.conduct.advising import grid_walk
from beamkeep.contexts.operation.loop import Evidence, SteeringAdvice
from beamkeep.contexts.starting.conducting import ProcedureChannelBusyError
from beamkeep.telemetry import Telemetry
from beamkeep.testing.service import AdminClient, call, enrol
from beamkeep.workers.bodies import ActionCall, RegisteredAction
from beamkeep.workers.control import ControlNotConnectedError, ControlTimeoutError
from beamkeep.workers.supervision import Supervisor

pytestmark = pytest.mark.anyio

STEPS = (setpoint("bl:x", 1.0), setpoint("bl:y", 2.0), check("bl:y", 2.0))


async def test_steps_are_walked_in_order_and_the_procedure_completes(bench: MakeBench):
    world = await bench()
    procedure_id, conduct_id = await world.accepted(STEPS)
    assert (await world.conduct(procedure_id, conduct_id))["status"] == "Queued"
    ended = await world.ended(procedure_id, conduct_id)
    assert (ended["outcome"], ended["succeeded"], ended["completed_count"]) == (
        "Completed",
        True,
        3,
    )
    assert (ended["actuation_kind"], ended["claim_count"]) == ("Simulated", 1)
    assert world.channels.writes == [("bl:x", 1.0), ("bl:y", 2.0)]
    assert await world.status(procedure_id) == "Completed"
    assert await world.stages(procedure_id) == [
        (0, "Started"),
        (0, "Succeeded"),
        (1, "Started"),
        (1, "Succeeded"),
        (2, "Started"),
        (2, "Reading"),
        (2, "Succeeded"),
    ]


async def test_what_the_conductor_appends_is_the_requesters_own(bench: MakeBench):
    world = await bench()
    procedure_id, _ = ids = await world.accepted(STEPS)
    await world.ended(*ids)
    history = await world.ask("get_procedure_history", procedure_id=procedure_id)
    events = {each["event_type"]: each for each in history["items"]}
    asked, ended = events["ProcedureConductRequested"], events["ProcedureConductEnded"]
    for field in ("principal_id", "surface_id", "command_name", "correlation_id"):
        assert ended[field] == asked[field], field
    assert ended["causation_id"] == asked["event_id"]
    assert asked["command_name"] == "conduct_procedure"


async def test_a_failed_step_aborts_and_the_closing_steps_are_walked(bench: MakeBench):
    world = await bench()
    world.channels.errors["bl:y"] = ControlTimeoutError("no answer", sent=True)
    closing = [setpoint("bl:shutter", 0.0), check("bl:shutter", 1.0), setpoint("bl:lamp", 0.0)]
    procedure_id, conduct_id = await world.accepted(STEPS, closing_steps=closing)
    ended = await world.ended(procedure_id, conduct_id)
    assert (ended["outcome"], await world.status(procedure_id)) == ("Aborted", "Aborted")
    failure = ended["failure"]
    assert (failure["step_index"], failure["error_class"]) == (1, "ControlTimeoutError")
    (failed,) = (
        detail
        for _, stage, detail in await world.rows(procedure_id, phase="Steps")
        if stage == "Failed"
    )
    assert failed["in_doubt"] is True
    assert world.channels.writes[-2:] == [("bl:shutter", 0.0), ("bl:lamp", 0.0)]
    assert [each["error_class"] for each in ended["closing_failures"]] == ["CheckFailedError"]


async def test_a_failure_that_can_be_recovered_from_holds_and_can_be_continued(bench: MakeBench):
    world = await bench()
    world.channels.errors["bl:y"] = ControlNotConnectedError("away")
    ids = procedure_id, _ = await world.accepted(STEPS, "conduct_or_hold_procedure")
    ended = await world.ended(*ids)
    assert (ended["outcome"], ended["needs"]) == ("Held", ["conduct_from_procedure"])
    del world.channels.errors["bl:y"]
    told = await world.ask("conduct_from_procedure", procedure_id=procedure_id)
    ended = await world.ended(procedure_id, told["conduct_id"])
    assert (ended["outcome"], await world.status(procedure_id)) == ("Completed", "Completed")
    assert world.channels.writes == [("bl:x", 1.0), ("bl:y", 2.0)]
    starts = [
        d for step, stage, d in await world.rows(procedure_id) if (step, stage) == (1, "Started")
    ]
    assert starts[1]["repeats_attempt"] == 1


async def test_a_capture_is_used_by_later_steps_and_by_closing_steps(bench: MakeBench):
    world = await bench()
    world.channels.put("bl:home", 1.25)
    steps = [capture("bl:home", "home"), setpoint("bl:x", {"$capture": "home"})]
    ended = await world.conducted(steps, closing_steps=[setpoint("bl:z", {"$capture": "home"})])
    assert ended["captures"] == {"home": 1.25}
    assert world.channels.writes == [("bl:x", 1.25), ("bl:z", 1.25)]


async def test_a_hold_lets_the_step_under_way_finish(bench: MakeBench):
    world = await bench()
    world.channels.hold("bl:x")
    ids = procedure_id, _ = await world.accepted(STEPS)
    conductor = world.conductor()
    await conductor.turn()
    await _until(lambda: world.channels.writes)
    await world.ask("hold_procedure", procedure_id=procedure_id, reason="Beam is lost.")
    assert await world.status(procedure_id) == "Held"
    world.channels.release("bl:x")
    ended = await world.ended(*ids, conductor)
    assert (ended["outcome"], ended["completed_count"]) == ("Held", 1)
    assert world.channels.writes == [("bl:x", 1.0)]


async def test_a_cancel_interrupts_a_wait_and_leaves_the_procedure_held(bench: MakeBench):
    world = await bench()
    steps = [check("bl:never", 1.0, wait=3600.0), setpoint("bl:x", 1.0)]
    ids = procedure_id, conduct_id = await world.accepted(steps)
    conductor = world.conductor()
    await conductor.turn()
    await _until_row(world, procedure_id, (0, "Started"))
    cancel = {"procedure_id": procedure_id, "conduct_id": conduct_id, "reason": "Wrong sample."}
    await world.ask("cancel_conduct", **cancel)
    ended = await world.ended(*ids, conductor)
    assert (ended["outcome"], await world.status(procedure_id)) == ("Cancelled", "Held")
    failed = [d for _, stage, d in await world.rows(procedure_id) if stage == "Failed"]
    assert [(d["error_class"], d["in_doubt"]) for d in failed] == [("StepCancelled", False)]
    assert world.channels.writes == []


async def test_an_abort_ends_the_procedure_without_closing_steps(bench: MakeBench):
    world = await bench()
    steps, closing = [check("bl:never", 1.0, wait=3600.0)], [setpoint("bl:shutter", 0.0)]
    ids = procedure_id, _ = await world.accepted(steps, closing_steps=closing)
    conductor = world.conductor()
    await conductor.turn()
    await _until_row(world, procedure_id, (0, "Started"))
    await world.ask("abort_procedure", procedure_id=procedure_id, reason="Smoke.")
    ended = await world.ended(*ids, conductor)
    assert (ended["outcome"], await world.status(procedure_id)) == ("Cancelled", "Aborted")
    assert world.channels.writes == []


async def test_a_permission_that_is_withdrawn_interrupts_the_conduct(bench: MakeBench):
    world = await bench()
    person = await enrol(world.service, "bo", "register_procedure", "conduct_procedure")
    asked = {"name": "Align", "kind": "alignment"}
    made = await world.ask("register_procedure", subject="bo", **asked)
    world.channels.hold("bl:x")
    told = await world.ask("conduct_procedure", subject="bo", steps=[*STEPS], **made)
    conductor = world.conductor()
    await conductor.turn()
    await _until(lambda: world.channels.writes)
    await world.ask("deactivate_actor", actor_id=str(person))
    world.channels.release("bl:x")
    ended = await world.ended(made["procedure_id"], told["conduct_id"], conductor)
    assert (ended["outcome"], ended["failure"]["error_class"]) == (
        "Interrupted",
        "UnauthorizedError",
    )
    assert world.channels.writes == [("bl:x", 1.0)]
    assert await world.status(made["procedure_id"]) == "Held"


async def test_two_conducts_never_write_one_channel_at_the_same_time(bench: MakeBench):
    world = await bench()
    ids = await world.accepted(STEPS)
    other = await world.procedure()
    with pytest.raises(ProcedureChannelBusyError):
        await call(
            world.service,
            "conduct_procedure",
            {"procedure_id": other, "steps": [setpoint("bl:y", 3.0)]},
        )
    await world.ended(*ids)
    await world.ask("conduct_procedure", procedure_id=other, steps=[setpoint("bl:y", 3.0)])


async def test_passes_are_repeated_until_the_capture_meets_the_criterion(bench: MakeBench):
    async def nudge(call: ActionCall) -> dict[str, Any]:
        seen = (await call.control.read("bl:offset")).value
        await call.control.write("bl:offset", float(seen) / 2)  # type: ignore[arg-type]
        return {}

    registered = RegisteredAction(entry("nudge", writes=("bl:offset",)), nudge)
    world = await bench(actions=[registered])
    world.channels.put("bl:offset", 8.0)
    criterion = {"kind": "within_tolerance", "expected": 0.0, "tolerance": 0.5}
    ids = procedure_id, _ = await world.accepted(
        [action("nudge"), capture("bl:offset", "offset")],
        "conduct_until_converged",
        capture_name="offset",
        criterion=criterion,
    )
    ended = await world.ended(*ids)
    assert (ended["outcome"], ended["iteration_count"]) == ("Completed", 4)
    told = await world.ask("list_procedure_iterations", procedure_id=procedure_id)
    assert [each["value"] for each in told["items"]] == [4.0, 2.0, 1.0, 0.5]


async def test_an_advisor_steers_and_is_not_asked_again_for_what_is_stored(bench: MakeBench):
    asked: list[int] = []

    def advisor(evidence: Evidence) -> SteeringAdvice:
        asked.append(len(evidence.passes))
        return grid_walk(evidence)

    world = await bench(advisors={"counting": advisor})
    ids = procedure_id, _ = await world.accepted(
        [setpoint("bl:x", {"$steering": "x"}), capture("bl:x", "seen")],
        "conduct_until_advised",
        advisor={"name": "counting", "options": {"points_per_axis": 3}},
        objective={"kind": "Maximize", "capture_name": "seen"},
        space={"axes": [{"name": "x", "lower": 0.0, "upper": 2.0}]},
    )
    ended = await world.ended(*ids)
    assert ended["outcome"] == "Completed"
    assert asked == [1, 2, 3]
    told = await world.ask("list_procedure_iterations", procedure_id=procedure_id)
    assert [each["value"] for each in told["items"]] == [0.0, 1.0, 2.0]


async def _until(condition: Any) -> None:
    async with asyncio.timeout(60):
        while not condition():
            await asyncio.sleep(0.001)


async def _until_row(world: Any, procedure_id: str, row: tuple[int, str]) -> None:
    async with asyncio.timeout(60):
        while row not in await world.stages(procedure_id):
            await asyncio.sleep(0.001)


@pytest.mark.faults
@pytest.mark.timed
async def test_a_cancel_and_an_abort_take_effect_within_two_seconds(bench: MakeBench):
    world = await bench()
    supervisor, conductor = Supervisor(Telemetry()), world.conductor()
    at_work = asyncio.create_task(supervisor.run([conductor.loop(world.channels.close)]))
    for verb in ("cancel_conduct", "abort_procedure"):
        steps = [check("bl:never", 1.0, wait=3600.0)]
        ids = procedure_id, conduct_id = await world.accepted(steps)
        await _until_row(world, procedure_id, (0, "Started"))
        asked = {"procedure_id": procedure_id, "reason": "Smoke."}
        asked |= {"conduct_id": conduct_id} if verb == "cancel_conduct" else {}
        await world.ask(verb, **asked)
        async with asyncio.timeout(2.0):
            while (await world.conduct(*ids))["status"] != "Ended":
                await asyncio.sleep(0.01)
    supervisor.stop()
    await at_work


async def test_a_run_that_is_held_holds_the_procedures_inside_it_at_their_next_step(
    bench: MakeBench,
):
    world = await bench()
    run_id = await started_run(AdminClient(world.service, world.store))
    procedure_id = await world.procedure(parent_run_id=run_id)
    world.channels.hold("bl:x")
    ids = await world.accepted(STEPS, procedure_id=procedure_id)
    conductor = world.conductor()
    await conductor.turn()
    await _until(lambda: world.channels.writes)
    await world.ask("hold_run", run_id=run_id, reason="The beam is lost.")
    world.channels.release("bl:x")
    ended = await world.ended(*ids, conductor)
    assert (ended["outcome"], ended["failure"]["error_class"]) == ("Held", "ParentRunNotRunning")
    assert world.channels.writes == [("bl:x", 1.0)]
    await world.ask("resume_run", run_id=run_id)
    assert await world.status(procedure_id) == "Held"
    told = await world.ask("conduct_from_procedure", procedure_id=procedure_id)
    assert (await world.ended(procedure_id, told["conduct_id"]))["outcome"] == "Completed"
