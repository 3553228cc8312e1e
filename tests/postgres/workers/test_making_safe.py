"""Making safe: it is never refused, whatever was lost, and however the procedure ended."""

from typing import Any

import pytest
from tests.postgres.workers.conftest import MakeBench
from tests.support.conducting import (
    ConductorBench,
    capture,
    check,
    setpoint,
)
from tests.support.hutches import Hutch
from tests.support.waiting_for_rows import until_row

from beamkeep.contexts.operation.making_safe import ProcedureCannotMakeSafeError
from beamkeep.contexts.operation.procedure import ProcedureConductActiveError
from beamkeep.contexts.starting.conducting import InvalidConductStepsError
from beamkeep.runtime.admission import UnauthorizedError
from beamkeep.testing.service import enrol

pytestmark = pytest.mark.anyio

SHUT = setpoint("bl:shutter", 0.0, makes_safe=True)
PARK = setpoint("bl:stage", 9.0)
OPEN_AND_WAIT = [setpoint("bl:shutter", 1.0), check("bl:never", 1.0, wait=3600.0)]


async def stopped_while_open(
    world: ConductorBench, verb: str, *closing: Any, **more: Any
) -> tuple[str, str]:
    """Let a conduct open the shutter, and stop it; return the ids of procedure and conduct."""
    closing_steps = [*(closing or (PARK, SHUT))]
    ids = await world.accepted(OPEN_AND_WAIT, closing_steps=closing_steps, **more)
    procedure_id, conduct_id = ids
    conductor = world.conductor()
    await conductor.turn()
    await until_row(world, procedure_id, (1, "Started"))
    asked = {"procedure_id": procedure_id, "reason": "Smoke."}
    asked |= {"conduct_id": conduct_id} if verb == "cancel_conduct" else {}
    await world.ask(verb, **asked)
    await world.ended(*ids, conductor)
    assert world.channels.writes == [("bl:shutter", 1.0)]
    return ids


async def made_safe(world: ConductorBench, procedure_id: str, **more: Any) -> dict[str, Any]:
    told = await world.ask("make_procedure_safe", procedure_id=procedure_id, **more)
    return await world.ended(procedure_id, told["conduct_id"])


async def test_a_procedure_is_made_safe_after_an_abort_and_stays_aborted(bench: MakeBench):
    world = await bench()
    procedure_id, _ = await stopped_while_open(world, "abort_procedure")
    ended = await made_safe(world, procedure_id)
    assert (ended["outcome"], ended["succeeded"]) == ("Completed", True)
    assert (ended["conduct_kind"], ended["completed_count"], ended["step_count"]) == (
        "MakeSafe",
        1,
        1,
    )
    # Only the step that makes safe is walked; the other closing step moves the stage.
    assert world.channels.writes == [("bl:shutter", 1.0), ("bl:shutter", 0.0)]
    assert await world.status(procedure_id) == "Aborted"
    assert await world.stages(procedure_id, phase="Closing") == [(1, "Started"), (1, "Succeeded")]


async def test_a_held_procedure_that_was_made_safe_can_be_continued_and_closes_again(
    bench: MakeBench,
):
    world = await bench()
    procedure_id, _ = await stopped_while_open(world, "cancel_conduct")
    await made_safe(world, procedure_id)
    assert await world.status(procedure_id) == "Held"
    world.channels.put("bl:never", 1.0)
    told = await world.ask("conduct_from_procedure", procedure_id=procedure_id, from_step_index=0)
    ended = await world.ended(procedure_id, told["conduct_id"])
    assert (ended["outcome"], ended["succeeded"]) == ("Completed", True)
    written = [("bl:shutter", 1.0), ("bl:stage", 9.0), ("bl:shutter", 0.0)]
    assert world.channels.writes[2:] == written


async def test_a_procedure_is_made_safe_while_its_hutch_is_open_and_another_conduct_has_its_shutter(
    bench: MakeBench,
):
    world = await bench()
    hutch = await Hutch.around_an_asset(world)
    procedure_id, _ = await stopped_while_open(
        world, "abort_procedure", procedure_id=await hutch.procedure()
    )
    other = await world.accepted([check("bl:never", 1.0, wait=3600.0), setpoint("bl:shutter", 5.0)])
    await hutch.report("NotPermitted")
    told = await world.ask("make_procedure_safe", procedure_id=procedure_id)
    conductor = world.conductor()
    ended = await world.ended(procedure_id, told["conduct_id"], conductor)
    assert ended["succeeded"]
    assert world.channels.writes[-1] == ("bl:shutter", 0.0)
    assert (await world.conduct(*other))["status"] != "Ended"


async def test_an_abandoned_procedure_is_made_safe_while_its_hutch_is_open(bench: MakeBench):
    world = await bench()
    hutch = await Hutch.around_an_asset(world)
    procedure_id, _ = await stopped_while_open(
        world, "cancel_conduct", procedure_id=await hutch.procedure()
    )
    await hutch.report("NotPermitted")
    told = await world.ask("conduct_from_procedure", procedure_id=procedure_id, abandon=True)
    ended = await world.ended(procedure_id, told["conduct_id"])
    assert (ended["outcome"], await world.status(procedure_id)) == ("Aborted", "Aborted")
    assert world.channels.writes[1:] == [("bl:shutter", 0.0)]
    failures = [(f["step_index"], f["error_class"]) for f in ended["closing_failures"]]
    assert failures == [(0, "ClosingStepNotRun")]


async def test_a_caller_who_may_hold_a_procedure_may_make_it_safe(bench: MakeBench):
    world = await bench()
    procedure_id, _ = await stopped_while_open(world, "abort_procedure")
    await enrol(world.service, "bo", "hold_procedure")
    await enrol(world.service, "di", "get_procedure")
    with pytest.raises(UnauthorizedError):
        await world.ask("make_procedure_safe", subject="di", procedure_id=procedure_id)
    assert (await made_safe(world, procedure_id, subject="bo"))["succeeded"]


async def test_a_permission_that_is_lost_meanwhile_does_not_keep_a_step_from_making_safe(
    bench: MakeBench,
):
    world = await bench()
    procedure_id, _ = await stopped_while_open(world, "abort_procedure")
    person = await enrol(world.service, "bo", "hold_procedure")
    told = await world.ask("make_procedure_safe", subject="bo", procedure_id=procedure_id)
    await world.ask("deactivate_actor", actor_id=str(person))
    ended = await world.ended(procedure_id, told["conduct_id"])
    assert (ended["succeeded"], world.channels.writes[-1]) == (True, ("bl:shutter", 0.0))


async def test_making_safe_that_fails_says_so_and_can_be_asked_for_again(bench: MakeBench):
    world = await bench()
    procedure_id, _ = await stopped_while_open(world, "abort_procedure")
    world.channels.disconnect("bl:shutter")
    ended = await made_safe(world, procedure_id)
    assert (ended["succeeded"], ended["completed_count"]) == (False, 0)
    (failure,) = ended["closing_failures"]
    assert failure["error_class"] == "ControlNotConnectedError"
    world.channels.connect("bl:shutter")
    assert (await made_safe(world, procedure_id))["succeeded"]


async def test_there_must_be_something_to_make_safe(bench: MakeBench):
    world = await bench()
    defined = await world.procedure()
    with pytest.raises(ProcedureCannotMakeSafeError, match="Defined"):
        await world.ask("make_procedure_safe", procedure_id=defined)
    procedure_id, _ = await stopped_while_open(world, "abort_procedure", PARK)
    with pytest.raises(ProcedureCannotMakeSafeError, match="makes_safe"):
        await world.ask("make_procedure_safe", procedure_id=procedure_id)
    active, _ = await world.accepted(OPEN_AND_WAIT, closing_steps=[SHUT])
    with pytest.raises(ProcedureConductActiveError, match="cancel"):
        await world.ask("make_procedure_safe", procedure_id=active)


async def test_only_a_closing_step_without_a_capture_makes_safe(bench: MakeBench):
    world = await bench()
    with pytest.raises(InvalidConductStepsError, match="only a closing step can make safe"):
        await world.accepted([SHUT])
    seen = {"$capture": "seen"}
    with pytest.raises(InvalidConductStepsError, match="what another step yields"):
        await world.accepted(
            [capture("bl:x", "seen")],
            closing_steps=[setpoint("bl:shutter", seen, makes_safe=True)],
        )
