"""Takeovers: what another worker does with a conduct whose worker is gone."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tests.support.conducting import (
    ConductorBench,
    action,
    capture,
    check,
    compute,
    entry,
    setpoint,
)

from beamkeep.adapters.memory.store import MemoryStore
from beamkeep.adapters.memory.work import MemoryWorkQueue
from beamkeep.contexts.seams.installation import JobEntry
from beamkeep.parts.conducting.bodies import ActionCall, RegisteredAction
from beamkeep.parts.conducting.compute.memory import MemoryCompute, ScriptedJob
from beamkeep.parts.conducting.compute.seam import ComputeNotAvailableError, JobState, Measurement
from beamkeep.testing.service import memory_service
from beamkeep.workers.leases import LeaseHolder

pytestmark = pytest.mark.anyio

JOBS = {
    "quick": ScriptedJob(measurements=(Measurement("sum", 3.0),)),
    "endless": ScriptedJob((JobState.RUNNING,)),
    "failing": ScriptedJob((JobState.FAILED,)),
    "mute": ScriptedJob((JobState.SUCCEEDED,)),
    "double": ScriptedJob(
        (JobState.SUCCEEDED,), (Measurement("sum", 1.0), Measurement("sum", 2.0))
    ),
}


class Scene:
    """A bench in memory whose first worker dies in the middle of a step."""

    def __init__(self, store: MemoryStore, **options: Any) -> None:
        self.store, self.computing = store, MemoryCompute(JOBS)
        self.bench = ConductorBench(
            store,
            store,
            MemoryWorkQueue(store),
            key=b"k" * 32,
            computing=self.computing,
            jobs=[JobEntry(name, inline=True) for name in JOBS],
            **options,
        )
        self.channels = self.bench.channels

    async def dies(self, procedure_id: str, when: Callable[[], Any]) -> None:
        """Let a worker begin, and end it without a trace once something is so."""
        conductor = self.bench.conductor()
        await conductor.turn()
        await self.until(when)
        await _vanish(conductor)

    async def until(self, when: Callable[[], Any]) -> None:
        async with asyncio.timeout(60):
            while not when():
                await asyncio.sleep(0.001)

    def later(self, seconds: float) -> None:
        """Move the clock of the database on."""
        then = self.store.clock() + timedelta(seconds=seconds)
        began = datetime.now(UTC)
        self.store.clock = lambda: then + (datetime.now(UTC) - began)

    async def taken_over(
        self, procedure_id: str, conduct_id: str, after: float = 31.0
    ) -> dict[str, Any]:
        self.later(after)
        return await self.bench.ended(procedure_id, conduct_id)


async def _vanish(conductor: LeaseHolder) -> None:
    tasks = [each for each in asyncio.all_tasks() if each.get_coro().__name__ == "_conduct"]  # type: ignore[union-attr]
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


@pytest.fixture
async def scene() -> Scene:
    _, store = await memory_service()
    return Scene(store)


async def test_a_repeatable_setpoint_in_doubt_is_written_again_and_says_so(scene: Scene):
    scene.channels.hold("bl:x")
    ids = procedure_id, _ = await scene.bench.accepted([setpoint("bl:x", 1.0), check("bl:x", 1.0)])
    await scene.dies(procedure_id, lambda: scene.channels.writes)
    scene.channels.release("bl:x")
    ended = await scene.taken_over(*ids)
    assert (ended["outcome"], ended["claim_count"]) == ("Completed", 2)
    assert scene.channels.writes == [("bl:x", 1.0)] * 2
    started = [d for _, stage, d in await scene.bench.rows(procedure_id) if stage == "Started"]
    assert [each.get("repeats_attempt") for each in started] == [None, 1, None]


async def test_a_setpoint_that_must_not_be_repeated_interrupts_and_a_person_decides(scene: Scene):
    scene.channels.hold("bl:x")
    steps = [setpoint("bl:x", 1.0, repeatable=False), setpoint("bl:y", 2.0)]
    ids = procedure_id, _ = await scene.bench.accepted(steps)
    await scene.dies(procedure_id, lambda: scene.channels.writes)
    scene.channels.release("bl:x")
    ended = await scene.taken_over(*ids)
    assert (ended["outcome"], ended["undecided_step_indexes"]) == ("Interrupted", [0])
    assert scene.channels.writes == [("bl:x", 1.0)]

    halted = await scene.bench.ask("conduct_from_procedure", procedure_id=procedure_id)
    ended = await scene.bench.ended(procedure_id, halted["conduct_id"])
    assert ended["outcome"] == "Halted"
    told = await scene.bench.ask(
        "conduct_from_procedure", procedure_id=procedure_id, skip_step_indexes=[0]
    )
    ended = await scene.bench.ended(procedure_id, told["conduct_id"])
    assert ended["outcome"] == "Completed"
    assert scene.channels.writes == [("bl:x", 1.0), ("bl:y", 2.0)]
    assert (0, "Skipped") in await scene.bench.stages(procedure_id)


async def test_nothing_is_moved_when_nobody_was_at_work_for_too_long(scene: Scene):
    scene.channels.hold("bl:x")
    ids = procedure_id, _ = await scene.bench.accepted([setpoint("bl:x", 1.0)])
    await scene.dies(procedure_id, lambda: scene.channels.writes)
    ended = await scene.taken_over(*ids, after=301.0)
    assert (ended["outcome"], ended["failure"]["error_class"]) == (
        "Interrupted",
        "TakeoverWindowExceeded",
    )
    assert len(scene.channels.writes) == 1


async def test_a_request_that_waited_too_long_is_not_begun(scene: Scene):
    ids = await scene.bench.accepted([setpoint("bl:x", 1.0)])
    ended = await scene.taken_over(*ids, after=301.0)
    assert (ended["outcome"], scene.channels.writes) == ("Interrupted", [])


async def test_the_gates_are_asked_again_before_a_takeover(scene: Scene):
    made = await scene.bench.an_asset()
    procedure_id = await scene.bench.procedure(target_asset_ids=[made["asset_id"]])
    scene.channels.hold("bl:x")
    steps = [setpoint("bl:x", 1.0), setpoint("bl:y", 1.0)]
    ids = await scene.bench.accepted(steps, procedure_id=procedure_id)
    await scene.dies(procedure_id, lambda: scene.channels.writes)
    await scene.bench.ask("decommission_asset", **made)
    ended = await scene.taken_over(*ids)
    assert (ended["outcome"], ended["failure"]["error_class"]) == (
        "Interrupted",
        "ProcedureAssetDecommissionedError",
    )
    assert len(scene.channels.writes) == 1


@pytest.mark.parametrize("after", [31.0, 301.0])
async def test_a_worker_that_dies_while_closing_leaves_the_shutter_to_the_next_one(
    scene: Scene, after: float
):
    made = await scene.bench.an_asset()
    procedure_id = await scene.bench.procedure(target_asset_ids=[made["asset_id"]])
    scene.channels.hold("bl:stage")
    closing = [
        setpoint("bl:stage", 9.0, repeatable=False),
        setpoint("bl:lamp", 0.0),
        setpoint("bl:shutter", 0.0, makes_safe=True),
    ]
    ids = await scene.bench.accepted(
        [setpoint("bl:shutter", 1.0)], closing_steps=closing, procedure_id=procedure_id
    )
    await scene.dies(procedure_id, lambda: ("bl:stage", 9.0) in scene.channels.writes)
    await scene.bench.ask("decommission_asset", **made)
    ended = await scene.taken_over(*ids, after=after)
    assert scene.channels.writes[-1] == ("bl:shutter", 0.0)
    assert (ended["outcome"], ended["succeeded"]) == ("Completed", False)
    assert [(each["step_index"], each["error_class"]) for each in ended["closing_failures"]] == [
        (0, "StepOutcomeUnknown"),
        (1, "ClosingStepNotRun"),
    ]


async def test_a_command_ends_a_conduct_whose_worker_is_gone(scene: Scene):
    for verb, outcome, status in (
        ("hold_procedure", "Held", "Held"),
        ("abort_procedure", "Cancelled", "Aborted"),
        ("cancel_conduct", "Cancelled", "Held"),
    ):
        scene.channels.hold("bl:x")
        ids = procedure_id, conduct_id = await scene.bench.accepted([setpoint("bl:x", 1.0)])
        before = len(scene.channels.writes)
        await scene.dies(procedure_id, lambda before=before: len(scene.channels.writes) > before)
        scene.later(31.0)
        asked = {"procedure_id": procedure_id, "reason": "Nobody is at work."}
        asked |= {"conduct_id": conduct_id} if verb == "cancel_conduct" else {}
        await scene.bench.ask(verb, **asked)
        found = await scene.bench.conduct(*ids)
        assert (found["status"], found["outcome"]) == ("Ended", outcome), verb
        assert await scene.bench.status(procedure_id) == status
        scene.channels.release("bl:x")


async def test_a_worker_that_is_stopped_leaves_the_rest_to_another_without_a_doubt(scene: Scene):
    scene.channels.hold("bl:x")
    steps = [setpoint("bl:x", 1.0, repeatable=False), setpoint("bl:y", 2.0, repeatable=False)]
    ids = await scene.bench.accepted(steps)
    conductor = scene.bench.conductor()
    await conductor.turn()
    await scene.until(lambda: scene.channels.writes)
    closing = asyncio.create_task(conductor.close())
    await asyncio.sleep(0)
    scene.channels.release("bl:x")
    await closing
    ended = await scene.bench.ended(*ids)
    assert (ended["outcome"], ended["claim_count"]) == ("Completed", 2)
    assert scene.channels.writes == [("bl:x", 1.0), ("bl:y", 2.0)]


async def test_a_job_yields_its_value_and_leaves_its_id(scene: Scene):
    steps = [compute("quick", capture_name="sum"), setpoint("bl:x", {"$capture": "sum"})]
    ids = procedure_id, _ = await scene.bench.accepted(steps)
    ended = await scene.bench.ended(*ids)
    assert (ended["outcome"], ended["captures"]) == ("Completed", {"sum": 3.0})
    assert await scene.bench.stages(procedure_id, step_index=0) == [
        (0, "Started"),
        (0, "Submitted"),
        (0, "Succeeded"),
    ]
    assert scene.channels.writes == [("bl:x", 3.0)]


@pytest.mark.parametrize(
    ("job", "error_class"),
    [
        ("failing", "ComputeJobFailedError"),
        ("mute", "ComputeMeasurementMissingError"),
        ("double", "ComputeMeasurementAmbiguousError"),
        ("endless", "ComputeTimeoutError"),
    ],
)
async def test_a_job_without_its_value_fails_the_step(scene: Scene, job: str, error_class: str):
    ended = await scene.bench.conducted([compute(job, capture_name="sum", timeout=0.05)])
    assert (ended["outcome"], ended["failure"]["error_class"]) == ("Aborted", error_class)


async def test_a_job_that_outlives_its_worker_is_waited_for_and_not_started_again(scene: Scene):
    scene.computing.scripts = {**JOBS, "endless": ScriptedJob((JobState.RUNNING,))}
    ids = procedure_id, _ = await scene.bench.accepted([compute("endless")])
    await scene.dies(procedure_id, lambda: scene.computing.submitted)
    (job,) = scene.computing.submitted
    scene.computing.states[str(job.submission_key)] = [JobState.SUCCEEDED]
    ended = await scene.taken_over(*ids)
    assert ended["outcome"] == "Completed"
    assert len(scene.computing.submitted) == 1
    rows = await scene.bench.rows(procedure_id)
    assert [stage for _, stage, _ in rows].count("Started") == 1


@pytest.mark.parametrize(("repeatable", "outcome"), [(True, "Completed"), (False, "Interrupted")])
async def test_a_job_that_was_lost_is_submitted_again_only_if_it_may_be(
    scene: Scene, repeatable: bool, outcome: str
):
    ids = procedure_id, _ = await scene.bench.accepted([compute("endless", repeatable=repeatable)])
    await scene.dies(procedure_id, lambda: scene.computing.submitted)
    (job,) = scene.computing.submitted
    scene.computing.forget(str(job.submission_key))
    scene.computing.scripts = {**JOBS, "endless": JOBS["quick"]}
    ended = await scene.taken_over(*ids)
    assert ended["outcome"] == outcome
    assert len(scene.computing.submitted) == (2 if repeatable else 1)


async def test_a_compute_system_that_is_away_is_asked_again(scene: Scene):
    ids = procedure_id, _ = await scene.bench.accepted([compute("endless")])
    await scene.dies(procedure_id, lambda: scene.computing.submitted)
    (job,) = scene.computing.submitted
    scene.computing.fault = ComputeNotAvailableError("away")
    scene.later(31.0)
    conductor = scene.bench.conductor()
    await conductor.turn()
    await asyncio.sleep(0.01)
    scene.computing.fault = None
    scene.computing.states[str(job.submission_key)] = [JobState.SUCCEEDED]
    ended = await scene.bench.ended(*ids, conductor)
    assert ended["outcome"] == "Completed"


async def test_an_action_gets_the_same_key_for_the_same_attempt_and_another_for_the_next():
    keys = list[Any]()

    async def body(call: ActionCall) -> None:
        keys.append(call.key)
        await call.control.read("bl:gate")
        if len(keys) == 1:
            await asyncio.Event().wait()

    _, store = await memory_service()
    scene = Scene(store, actions=[RegisteredAction(entry("home"), body)])
    ids = procedure_id, _ = await scene.bench.accepted([action("home", repeatable=True)])
    await scene.dies(procedure_id, lambda: keys)
    assert (await scene.taken_over(*ids))["outcome"] == "Completed"
    assert len({*keys}) == 2


async def test_a_capture_survives_a_takeover(scene: Scene):
    scene.channels.put("bl:home", 1.25)
    scene.channels.hold("bl:x")
    steps = [
        capture("bl:home", "home"),
        setpoint("bl:x", 5.0),
        setpoint("bl:y", {"$capture": "home"}),
    ]
    ids = procedure_id, _ = await scene.bench.accepted(steps)
    await scene.dies(procedure_id, lambda: scene.channels.writes)
    scene.channels.put("bl:home", 9.0)
    scene.channels.release("bl:x")
    await scene.taken_over(*ids)
    assert scene.channels.writes[-1] == ("bl:y", 1.25)
