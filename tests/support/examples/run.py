"""Examples of runs, of what is observed in them and written down about them."""

from typing import Any

from uuid_utils.compat import uuid7

from beamkeep.testing.examples import CallExample, Do, Make, changed, given
from tests.support.examples.decision import a_decision
from tests.support.examples.recipe import define_plan

SAMPLED = "2030-01-31T07:30:00Z"
SOONER = "2030-01-31T07:29:00Z"


async def a_plan_to_run(do: Do) -> str:
    """A plan that may run at any time and needs nothing but its asset."""
    plan = await define_plan(do, needed_supplies=[])
    del plan["window"]
    answer = await do("define_plan", plan)
    return answer["plan_id"]


async def started_run(do: Do) -> str:
    run = {
        "name": "Night 1",
        "plan_id": await a_plan_to_run(do),
        "override_parameters": {"energy": 26.0},
    }
    answer = await do("start_run", run)
    return answer["run_id"]


def a_run_after(name: str, **more: str) -> Make:
    """A run to which this command was given."""

    async def make(do: Do) -> str:
        run_id = await started_run(do)
        await do(name, {"run_id": run_id, **more})
        return run_id

    return make


a_held_run = a_run_after("hold_run", reason="Beam lost")
a_completed_run = a_run_after("complete_run")


async def adjust_run(do: Do) -> dict[str, Any]:
    return {
        "run_id": await started_run(do),
        "parameters_patch": {"energy": 27.5, "mode": None},
        "reason": "The edge is higher than expected",
        "decided_by_decision_id": await a_decision(do),
    }


an_adjusted_run = changed("adjust_run", adjust_run, "run_id")


async def some_readings(do: Do) -> list[dict[str, Any]]:
    later = {
        "observation_id": str(uuid7()),
        "channel_name": "Photon energy",
        "value": 26.002,
        "unit": {"system": "udunits", "code": "keV", "label": "Energy"},
        "sampling_procedure": "baseline",
        "sampled_at": SAMPLED,
    }
    sooner = {
        "observation_id": str(uuid7()),
        "channel_name": "Shutter",
        "value": 1.0,
        "sampling_procedure": "monitor",
        "sampled_at": SOONER,
        "simulated": True,
    }
    return [later, sooner]


async def one_reading_twice(do: Do) -> list[dict[str, Any]]:
    first, _ = await some_readings(do)
    return [first, first]


async def a_run_with_observations(do: Do) -> str:
    run_id, entries = await started_run(do), await some_readings(do)
    await do("append_observations", {"run_id": run_id, "entries": entries})
    return run_id


async def append_logbook_entry(do: Do) -> dict[str, Any]:
    return {
        "run_id": await a_completed_run(do),
        "text": "The last frames are dark: the shutter was stuck.",
        "entry_id": str(uuid7()),
        "kind": "Note",
        "decision_id": await a_decision(do),
    }


a_run_with_a_logbook = changed("append_run_logbook_entry", append_logbook_entry, "run_id")


EXAMPLES: dict[str, CallExample] = {
    "hold_run": given(run_id=started_run, reason="Beam lost", decided_by_decision_id=a_decision),
    "resume_run": given(
        run_id=a_held_run,
        decided_by_decision_id=a_decision,
        acknowledgement="Dark frames need no beam",
    ),
    "complete_run": given(run_id=started_run),
    "stop_run": given(
        run_id=a_held_run, reason="The sample is gone", decided_by_decision_id=a_decision
    ),
    "abort_run": given(
        run_id=started_run, reason="The stage grinds", decided_by_decision_id=a_decision
    ),
    "truncate_run": given(
        run_id=started_run,
        reason="The power was cut",
        interrupted_at="2020-01-31T07:30:00Z",
        decided_by_decision_id=a_decision,
    ),
    "adjust_run": adjust_run,
    "append_observations": given(run_id=started_run, entries=some_readings),
    "append_run_logbook_entry": append_logbook_entry,
    "get_run": given(run_id=an_adjusted_run),
    "get_run_history": given(run_id=an_adjusted_run),
    "list_runs": given(
        status=["Running", "Held"],
        plan_id=a_plan_to_run,
        external_ref="bluesky:5f0c3f8e",
        started_from="2020-01-31T07:30:00Z",
    ),
    "list_run_observations": given(
        run_id=a_run_with_observations,
        channel_name="ring current",
        sampling_procedure="baseline",
        sampled_from=SOONER,
    ),
    "get_run_observation_summary": given(run_id=a_run_with_observations),
    "get_run_series": given(
        run_id=a_run_with_observations,
        channel_name=["Photon energy", "Shutter"],
        to="2030-01-31T08:00:00Z",
        points="50",
    ),
    "list_run_logbook_entries": given(run_id=a_run_with_a_logbook, kind="Note"),
}
