"""Examples of procedures, their iterations, their activities and their conducts."""

from typing import Any

from uuid_utils.compat import uuid7

from beamkeep.testing.examples import CallExample, Do, Make, given
from tests.support.examples.assets import an_asset
from tests.support.examples.decision import a_decision
from tests.support.examples.recipe import a_recipe
from tests.support.examples.run import SAMPLED, started_run

ALIGNMENT: dict[str, Any] = {"name": "Home the rotation axis", "kind": "homing"}


async def register_procedure(do: Do) -> dict[str, Any]:
    return {
        **ALIGNMENT,
        "target_asset_ids": [await an_asset(do)],
        "parent_run_id": await started_run(do),
        "max_consecutive_unconverged_iterations": 3,
        "recipe": {"recipe_id": await a_recipe(do), "bindings": {"energy": 25.0}},
    }


async def a_procedure(do: Do) -> str:
    answer = await do("register_procedure", ALIGNMENT)
    return answer["procedure_id"]


async def a_procedure_of_a_recipe(do: Do) -> str:
    answer = await do("register_procedure", await register_procedure(do))
    return answer["procedure_id"]


def a_procedure_after(*calls: tuple[str, dict[str, Any]]) -> Make:
    """A procedure by hand to which these commands were given."""

    async def make(do: Do) -> str:
        procedure_id = await a_procedure(do)
        for name, more in calls:
            await do(name, {"procedure_id": procedure_id, **more})
        return procedure_id

    return make


START: tuple[str, dict[str, Any]] = ("start_procedure", {})
BEGIN: tuple[str, dict[str, Any]] = ("start_iteration", {"iteration_index": 1})
END: tuple[str, dict[str, Any]] = (
    "end_iteration",
    {"iteration_index": 1, "converged": True, "value": "found", "reason": "At the mark"},
)
a_started_procedure = a_procedure_after(START)
a_held_procedure = a_procedure_after(START, ("hold_procedure", {"reason": "Beam lost"}))
an_iterating_procedure = a_procedure_after(START, BEGIN)
an_iterated_procedure = a_procedure_after(START, BEGIN, END)


async def some_activities(do: Do) -> list[dict[str, Any]]:
    activity = {
        "activity_id": str(uuid7()),
        "step_kind": "setpoint",
        "stage": "Succeeded",
        "detail": {"address": "bl:sample:x", "value": 1.25},
        "sampled_at": SAMPLED,
    }
    return [activity, {**activity, "activity_id": str(uuid7()), "step_kind": "check"}]


async def one_activity_twice(do: Do) -> list[dict[str, Any]]:
    first, _ = await some_activities(do)
    return [first, first]


async def append_activities(do: Do) -> dict[str, Any]:
    return {"procedure_id": await a_started_procedure(do), "entries": await some_activities(do)}


async def a_procedure_with_activities(do: Do) -> str:
    activities = await append_activities(do)
    await do("append_activities", activities)
    return activities["procedure_id"]


async def end_iteration(do: Do) -> dict[str, Any]:
    return {"procedure_id": await an_iterating_procedure(do), **END[1]}


async def start_iteration(do: Do) -> dict[str, Any]:
    return {"procedure_id": await a_started_procedure(do), **BEGIN[1]}


def steps(value: Any = 1.25) -> dict[str, Any]:
    """Steps that write addresses which no other conduct has."""
    place = f"bl:{uuid7()}"
    move = {"kind": "setpoint", "address": f"{place}:x", "value": value}
    see = {"kind": "capture", "address": f"{place}:i", "capture_name": "intensity"}
    shut = {"kind": "setpoint", "address": f"{place}:shutter", "value": 0}
    return {"steps": [move, see], "closing_steps": [shut]}


async def conduct(do: Do) -> dict[str, Any]:
    return {
        "procedure_id": await a_procedure(do),
        "decided_by_decision_id": await a_decision(do),
        **steps(),
    }


async def conduct_until_converged(do: Do) -> dict[str, Any]:
    return {
        "procedure_id": await a_procedure(do),
        **steps(),
        "capture_name": "intensity",
        "criterion": {"kind": "within_tolerance", "expected": 1.0, "tolerance": 0.1},
        "max_iterations": 5,
    }


async def conduct_until_advised(do: Do) -> dict[str, Any]:
    return {
        "procedure_id": await a_procedure(do),
        **steps({"$steering": "x"}),
        "advisor": {"name": "grid_walk", "options": {"points_per_axis": 3}},
        "objective": {"kind": "Maximize", "capture_name": "intensity"},
        "space": {"axes": [{"name": "x", "lower": 0.0, "upper": 1.0, "initial": 0.5}]},
        "time_budget": 600.0,
    }


async def a_conduct(do: Do) -> dict[str, Any]:
    """A conduct that waits for a worker, by its two ids."""
    answer = await do("conduct_procedure", await conduct(do))
    return {name: answer[name] for name in ("procedure_id", "conduct_id")}


async def list_conducts(do: Do) -> dict[str, Any]:
    return {"procedure_id": (await a_conduct(do))["procedure_id"], "status": "Queued"}


async def cancel_conduct(do: Do) -> dict[str, Any]:
    return {**await a_conduct(do), "reason": "The wrong sample"}


def a_procedure_held_during(command: str, example: CallExample) -> Make:
    """A procedure that was held while a conduct waited for a worker."""

    async def make(do: Do) -> str:
        arguments = await example(do)
        await do(command, arguments)
        held = {"procedure_id": arguments["procedure_id"], "reason": "Beam lost"}
        await do("hold_procedure", held)
        return arguments["procedure_id"]

    return make


async def conduct_from_procedure(do: Do) -> dict[str, Any]:
    held = a_procedure_held_during("conduct_procedure", conduct)
    return {"procedure_id": await held(do), "from_step_index": 0, "skip_step_indexes": [1]}


async def make_procedure_safe(do: Do) -> dict[str, Any]:
    """A procedure that was aborted while its conduct waited for a worker."""
    asked = await conduct(do)
    (shut,) = asked["closing_steps"]
    await do("conduct_procedure", {**asked, "closing_steps": [{**shut, "makes_safe": True}]})
    aborted = {"procedure_id": asked["procedure_id"], "reason": "Smoke"}
    await do("abort_procedure", aborted)
    return {
        "procedure_id": asked["procedure_id"],
        "decided_by_decision_id": await a_decision(do),
    }


EXAMPLES: dict[str, CallExample] = {
    "register_procedure": register_procedure,
    "start_procedure": given(procedure_id=a_procedure),
    "hold_procedure": given(
        procedure_id=a_started_procedure, reason="Beam lost", decided_by_decision_id=a_decision
    ),
    "resume_procedure": given(procedure_id=a_held_procedure, decided_by_decision_id=a_decision),
    "complete_procedure": given(procedure_id=a_started_procedure),
    "abort_procedure": given(procedure_id=a_held_procedure, reason="The stage grinds"),
    "truncate_procedure": given(
        procedure_id=a_started_procedure,
        reason="The power was cut",
        interrupted_at="2020-01-31T07:30:00Z",
    ),
    "start_iteration": start_iteration,
    "end_iteration": end_iteration,
    "append_activities": append_activities,
    "conduct_procedure": conduct,
    "conduct_or_hold_procedure": conduct,
    "conduct_from_procedure": conduct_from_procedure,
    "conduct_until_converged": conduct_until_converged,
    "conduct_until_advised": conduct_until_advised,
    "conduct_until_advised_from": given(
        procedure_id=a_procedure_held_during("conduct_until_advised", conduct_until_advised)
    ),
    "cancel_conduct": cancel_conduct,
    "make_procedure_safe": make_procedure_safe,
    "get_conduct": a_conduct,
    "list_conducts": list_conducts,
    "get_procedure": given(procedure_id=a_procedure_of_a_recipe),
    "get_procedure_history": given(procedure_id=an_iterated_procedure),
    "list_procedures": given(status=["Running", "Held"], kind="homing"),
    "list_procedure_iterations": given(procedure_id=an_iterated_procedure),
    "list_procedure_activities": given(procedure_id=a_procedure_with_activities, stage="Succeeded"),
}
