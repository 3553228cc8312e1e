"""Conducts from their request to their end: what is done, recorded and appended."""

import asyncio
from collections import Counter
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from tests.postgres.workers.conftest import MakeBench
from tests.support.conducting import action, capture, check, entry, setpoint
from tests.support.examples.run import started_run
from tests.support.hutches import Hutch

from beamkeep.contexts.operation.loop import Evidence, SteeringAdvice
from beamkeep.contexts.starting.conducting import ProcedureChannelBusyError
from beamkeep.parts.conducting import effects
from beamkeep.parts.conducting.bodies import ActionCall, RegisteredAction
from beamkeep.parts.conducting.conduct.advising import grid_walk
from beamkeep.parts.conducting.control import ControlNotConnectedError, ControlTimeoutError
from beamkeep.telemetry import Telemetry
from beamkeep.testing.service import AdminClient, call, enrol
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


@pytest.mark.parametrize("verb", ["abort_procedure", "cancel_conduct"])
async def test_a_value_that_waits_for_its_connection_is_not_sent_after_a_stop(
    bench: MakeBench, verb: str
):
    world = await bench()
    world.channels.go_away("bl:x")
    ids = procedure_id, conduct_id = await world.accepted([setpoint("bl:x", 1.0)])
    conductor = world.conductor()
    await conductor.turn()
    await _until_row(world, procedure_id, (0, "Started"))
    asked = {"procedure_id": procedure_id, "reason": "Smoke."}
    asked |= {"conduct_id": conduct_id} if verb == "cancel_conduct" else {}
    await world.ask(verb, **asked)
    # The worker has not looked for a stop yet: only the fence of the write knows.
    world.channels.come_back("bl:x")
    await _until_row(world, procedure_id, (0, "Failed"))
    ended = await world.ended(*ids, conductor)
    assert (ended["outcome"], world.channels.writes) == ("Cancelled", [])
    failed = [d for _, stage, d in await world.rows(procedure_id) if stage == "Failed"]
    assert [(d["error_class"], d["in_doubt"]) for d in failed] == [("StepCancelled", False)]


async def test_a_hold_lets_a_value_that_waits_for_its_connection_go(bench: MakeBench):
    world = await bench()
    world.channels.go_away("bl:x")
    ids = procedure_id, _ = await world.accepted(STEPS)
    conductor = world.conductor()
    await conductor.turn()
    await _until_row(world, procedure_id, (0, "Started"))
    await world.ask("hold_procedure", procedure_id=procedure_id, reason="Beam is lost.")
    world.channels.come_back("bl:x")
    ended = await world.ended(*ids, conductor)
    assert (ended["outcome"], world.channels.writes) == ("Held", [("bl:x", 1.0)])


async def test_a_stop_ends_the_wait_for_a_connection_at_once(bench: MakeBench):
    world = await bench()
    world.channels.go_away("bl:x")
    ids = procedure_id, _ = await world.accepted([setpoint("bl:x", 1.0, timeout=3600.0)])
    conductor = world.conductor()
    await conductor.turn()
    await _until_row(world, procedure_id, (0, "Started"))
    await world.ask("abort_procedure", procedure_id=procedure_id, reason="Smoke.")
    ended = await world.ended(*ids, conductor)
    assert (ended["outcome"], world.channels.writes) == ("Cancelled", [])
    failed = [d for _, stage, d in await world.rows(procedure_id) if stage == "Failed"]
    assert [(d["error_class"], d["in_doubt"]) for d in failed] == [("StepCancelled", False)]


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


async def test_writes_of_an_action_leave_rows_with_address_value_and_outcome(bench: MakeBench):
    async def body(call: ActionCall) -> dict[str, Any]:
        await call.control.write("bl:x", np.float64(1.5))  # type: ignore[arg-type]
        with suppress(ControlNotConnectedError):
            await call.control.write("bl:y", [1.0, 2.0])
        return {"mean": np.float64(2.5), "curve": np.arange(2)}

    world = await bench(actions=[RegisteredAction(entry("move", writes=("bl:x", "bl:y")), body)])
    world.channels.disconnect("bl:y")
    ids = procedure_id, _ = await world.accepted([action("move")])
    ended = await world.ended(*ids)
    assert (ended["outcome"], ended["actuation_kind"]) == ("Completed", "Simulated")
    rows = await world.rows(procedure_id)
    assert [stage for _, stage, _ in rows] == [
        *("Started", "Writing", "Writing", "Written", "Written", "Succeeded")
    ]
    writing = [d for _, stage, d in rows if stage == "Writing"]
    assert [(d["write"], d["address"], d["value"]) for d in writing] == [
        (0, "bl:x", 1.5),
        (1, "bl:y", [1.0, 2.0]),
    ]
    written = [d for _, stage, d in rows if stage == "Written"]
    assert [(d["write"], d["address"], d["outcome"]) for d in written] == [
        (0, "bl:x", "Confirmed"),
        (1, "bl:y", "Failed"),
    ]
    assert rows[-1][2]["result"] == {"mean": 2.5, "curve": [0, 1]}


async def test_a_result_that_no_row_can_hold_fails_the_step_once(bench: MakeBench):
    ran: list[int] = []

    async def body(call: ActionCall) -> Any:
        ran.append(1)
        return {"camera": object()}

    world = await bench(actions=[RegisteredAction(entry("move"), body)])
    ids = procedure_id, _ = await world.accepted([action("move", repeatable=True)])
    ended = await world.ended(*ids)
    assert (ended["outcome"], ended["failure"]["error_class"], ended["claim_count"]) == (
        "Aborted",
        "ActionResultInvalidError",
        1,
    )
    assert ran == [1]
    assert await world.stages(procedure_id) == [(0, "Started"), (0, "Failed")]


async def test_a_body_that_ignores_its_cancellation_writes_nothing_after_its_step(
    bench: MakeBench, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(effects, "ACTION_GRACE", 0.05)
    is_over, tried = asyncio.Event(), Counter[str]()

    async def stubborn(call: ActionCall) -> None:
        while not is_over.is_set():
            try:
                await asyncio.sleep(0)
                await call.control.write("bl:x", 1.0)
                tried["written"] += 1
            except asyncio.CancelledError:
                tried["cancelled"] += 1
            except Exception:
                tried["refused"] += 1

    world = await bench(actions=[RegisteredAction(entry("move", writes=("bl:x",)), stubborn)])
    closing = [check("bl:closed", 1.0, wait=3600.0)]
    ids = procedure_id, _ = await world.accepted(
        [action("move", timeout=0.2)], closing_steps=closing
    )
    conductor = world.conductor()
    await conductor.turn()
    # The conduct continues, so that its claim alone would let the body write.
    async with asyncio.timeout(60):
        while (0, "Started") not in await world.stages(procedure_id, phase="Closing"):
            await asyncio.sleep(0.001)
    count, refused = len(world.channels.writes), tried["refused"]
    await _until(lambda: tried["refused"] > refused + 100)
    is_over.set()
    assert tried["cancelled"]
    assert len(world.channels.writes) == count
    world.channels.put("bl:closed", 1.0)
    ended = await world.ended(*ids, conductor)
    assert ended["failure"]["error_class"] == "ActionTimeoutError"
    where = {"procedure_id": procedure_id, "stage": "Writing"}
    listed = await world.ask("list_procedure_activities", **where, limit=100)
    assert len(listed["items"]) >= min(count, 100)


async def test_an_action_writes_nothing_after_a_stop_and_making_safe_is_the_way_to_close(
    bench: MakeBench,
):
    async def pulse(call: ActionCall) -> None:
        try:
            await call.control.write("bl:shutter", 1.0)
            await call.cancelled.wait()
        finally:
            await call.control.write("bl:shutter", 0.0)

    world = await bench(actions=[RegisteredAction(entry("pulse", writes=("bl:shutter",)), pulse)])
    closing = [setpoint("bl:shutter", 0.0, makes_safe=True)]
    ids = procedure_id, _ = await world.accepted([action("pulse")], closing_steps=closing)
    conductor = world.conductor()
    await conductor.turn()
    await _until(lambda: world.channels.writes)
    await world.ask("abort_procedure", procedure_id=procedure_id, reason="Smoke.")
    ended = await world.ended(*ids, conductor)
    assert (ended["outcome"], world.channels.writes) == ("Cancelled", [("bl:shutter", 1.0)])
    told = await world.ask("make_procedure_safe", procedure_id=procedure_id)
    assert (await world.ended(procedure_id, told["conduct_id"]))["succeeded"]
    assert world.channels.writes[-1] == ("bl:shutter", 0.0)


@pytest.mark.parametrize("once", [setpoint("bl:y", 2.0, repeatable=False), action("move")])
async def test_a_failure_that_cannot_be_repeated_holds_and_a_person_decides(
    bench: MakeBench, once: dict[str, Any]
):
    async def body(call: ActionCall) -> None:
        raise ZeroDivisionError

    world = await bench(actions=[RegisteredAction(entry("move"), body)])
    world.channels.errors["bl:y"] = ControlTimeoutError("no answer", sent=True)
    ids = procedure_id, _ = await world.accepted([once], "conduct_or_hold_procedure")
    ended = await world.ended(*ids)
    assert (ended["outcome"], await world.status(procedure_id)) == ("Held", "Held")
    assert ended["undecided_step_indexes"] == [0]


async def test_a_setpoint_that_is_not_verified_fails_its_step(bench: MakeBench):
    world = await bench()
    world.channels.clamp("bl:x", 1.0)
    ids = procedure_id, _ = await world.accepted([setpoint("bl:x", 2.0, verify=True)])
    ended = await world.ended(*ids)
    assert (ended["outcome"], ended["failure"]["error_class"]) == (
        "Aborted",
        "SetpointNotVerifiedError",
    )
    assert await world.stages(procedure_id) == [(0, "Started"), (0, "Reading"), (0, "Failed")]


@pytest.mark.parametrize("next_step", [setpoint("bl:y", 2.0), action("move")])
async def test_a_permit_that_is_lost_holds_the_conduct_before_its_next_write(
    bench: MakeBench, next_step: dict[str, Any]
):
    async def move(call: ActionCall) -> None:
        await call.control.write("bl:y", 2.0)

    world = await bench(actions=[RegisteredAction(entry("move", writes=("bl:y",)), move)])
    hutch = await Hutch.around_an_asset(world)
    procedure_id = await hutch.procedure()
    world.channels.hold("bl:x")
    closing = [setpoint("bl:shutter", 0.0, makes_safe=True)]
    steps = [setpoint("bl:x", 1.0), capture("bl:x", "seen"), next_step]
    ids = await world.accepted(steps, procedure_id=procedure_id, closing_steps=closing)
    conductor = world.conductor()
    await conductor.turn()
    await _until(lambda: world.channels.writes)
    await hutch.report("NotPermitted")
    world.channels.release("bl:x")
    ended = await world.ended(*ids, conductor)
    failure = ended["failure"]
    assert (ended["outcome"], failure["error_class"], failure["target"]) == (
        "Interrupted",
        "ProcedureRequiresPermittedEnclosureError",
        "enclosure",
    )
    assert world.channels.writes == [("bl:x", 1.0)]
    found = await world.ask("get_procedure", procedure_id=procedure_id)
    assert found["status"] == "Held"
    assert "NotPermitted" in found["last_status_reason"]
    await hutch.report("Permitted")
    told = await world.ask("conduct_from_procedure", procedure_id=procedure_id)
    ended = await world.ended(procedure_id, told["conduct_id"])
    assert (ended["outcome"], ended["succeeded"]) == ("Completed", True)


async def test_a_permit_that_is_lost_lets_no_further_pass_begin(bench: MakeBench):
    world = await bench()
    hutch = await Hutch.around_an_asset(world)
    procedure_id = await hutch.procedure()
    asked = asyncio.Event()

    def advisor(evidence: Evidence) -> SteeringAdvice:
        asked.set()
        return grid_walk(evidence)

    world.advisors["grid_walk"] = advisor
    ids = await world.accepted(
        [
            check("bl:gate", 1.0, wait=3600.0),
            check("bl:x", {"$steering": "x"}, wait=0.0),
            capture("bl:x", "seen"),
        ],
        "conduct_until_advised",
        procedure_id=procedure_id,
        advisor={"name": "grid_walk", "options": {"points_per_axis": 3}},
        objective={"kind": "Maximize", "capture_name": "seen"},
        space={"axes": [{"name": "x", "lower": 0.0, "upper": 2.0}]},
    )
    conductor = world.conductor()
    await conductor.turn()
    await _until_row(world, procedure_id, (0, "Started"))
    await hutch.report("NotPermitted")
    world.channels.put("bl:gate", 1.0)
    ended = await world.ended(*ids, conductor)
    assert asked.is_set()
    assert (ended["outcome"], ended["failure"]["error_class"], ended["iteration_count"]) == (
        "Interrupted",
        "ProcedureRequiresPermittedEnclosureError",
        1,
    )


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
    at_work = asyncio.create_task(
        supervisor.run([conductor.loop("conductor", world.channels.close)])
    )
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
