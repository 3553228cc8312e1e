"""Effects of single steps on a control system in memory: what is done, and what its rows say."""

import asyncio
import math
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import numpy as np
import pytest
from tests.support.handing_over import open_while

from beamkeep.contexts.recipe.steps import (
    Equals,
    RecipeActionStep,
    RecipeCaptureStep,
    RecipeCheckStep,
    RecipeSetpointStep,
    RecipeStep,
    WithinTolerance,
)
from beamkeep.contexts.seams.installation import ActionEntry
from beamkeep.contexts.seams.routes import AddressBounds, ControlRoute, Substrate
from beamkeep.parts.conducting import effects
from beamkeep.parts.conducting.bodies import ActionCall, ActionCancelledError, RegisteredAction
from beamkeep.parts.conducting.channels.memory import ChannelSimulator
from beamkeep.parts.conducting.control import (
    ControlError,
    ControlNotConnectedError,
    ControlReading,
    ControlTimeoutError,
    ControlWriteFencedError,
    ControlWriteRejectedError,
    Quality,
    ValueKind,
)
from beamkeep.parts.conducting.details import StepFailedError
from beamkeep.parts.conducting.effects import Effects, StepRun
from beamkeep.schemas import Json, JsonObject

pytestmark = pytest.mark.anyio

ROUTES = (
    ControlRoute(
        "bl:",
        Substrate.IN_MEMORY,
        simulated=True,
        writable=True,
        inline=True,
        bounds=(AddressBounds("bl:x", -10.0, 10.0),),
    ),
    ControlRoute("bl:interlock", Substrate.IN_MEMORY, simulated=True),
    ControlRoute("real:", Substrate.IN_MEMORY, writable=True, asset_id=uuid4()),
)


class Bench:
    """Effects on a simulator, and one run of a step."""

    def __init__(self, *bodies: RegisteredAction) -> None:
        self.control = ChannelSimulator()
        actions = {each.entry.name: each for each in bodies}
        self.effects = Effects(self.control, None, actions, ROUTES)
        self.stopping, self.is_mine = asyncio.Event(), True
        self.readings: list[JsonObject] = []
        self.writing: list[JsonObject] = []
        self.written: list[JsonObject] = []
        self.claimed: frozenset[str] | None = None

    def run(self, *, inline: bool = False) -> StepRun:
        async def submitted(job_id: str) -> None: ...

        async def writing(detail: JsonObject) -> None:
            self.writing.append(detail)

        return StepRun(
            key=uuid4(),
            inline=inline,
            still_mine=lambda: self.is_mine,
            handing_over=open_while(lambda: self.is_mine),
            stopping=self.stopping,
            submitted=submitted,
            readings=self.readings,
            writing=writing,
            written=self.written,
            claimed=self.claimed,
        )

    async def carry_out(self, step: RecipeStep, **run: Any) -> JsonObject:
        return await self.effects.carry_out(step, self.run(**run))

    async def failure(self, step: RecipeStep, **run: Any) -> tuple[Json, Json]:
        with pytest.raises(StepFailedError) as failed:
            await self.carry_out(step, **run)
        return failed.value.detail["error_class"], failed.value.detail["in_doubt"]


@pytest.fixture
def bench() -> Bench:
    return Bench()


async def test_a_setpoint_is_written_and_succeeds_without_words(bench: Bench):
    assert await bench.carry_out(RecipeSetpointStep("bl:x", 2.5)) == {}
    assert bench.control.writes == [("bl:x", 2.5)]
    assert bench.readings == []


def reading_of(value: Json, **more: Any) -> Any:
    async def read(address: str, timeout: float) -> ControlReading:
        now = datetime.now(UTC)
        return ControlReading(value, ValueKind.SCALAR, Quality.GOOD, "", now, **more)

    return read


@pytest.mark.parametrize(
    ("written", "found", "index"),
    [
        (2.5, 2.5, None),
        (0.1, 0.10000000149011612, None),
        ([1.0, 0.1], [1.0, 0.10000000149011612], None),
        ("Open", "Open", 1),
        (1, "Open", 1),
    ],
)
async def test_a_verified_setpoint_succeeds_when_the_value_is_read_back(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, written: Json, found: Json, index: int | None
):
    monkeypatch.setattr(bench.control, "read", reading_of(found, index=index))
    await bench.carry_out(RecipeSetpointStep("bl:v", written, verify=True))
    ((reading),) = bench.readings
    assert (reading["value"], reading["differs"]) == (found, False)


@pytest.mark.parametrize(
    ("written", "found", "index"),
    [(2.5, 2.0, None), ([1.0, 2.0], [1.0], None), (1, "Closed", 0), (1.0, True, None)],
)
async def test_a_verified_setpoint_that_reads_another_value_fails_and_was_written(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, written: Json, found: Json, index: int | None
):
    monkeypatch.setattr(bench.control, "read", reading_of(found, index=index))
    step = RecipeSetpointStep("bl:v", written, verify=True)
    assert await bench.failure(step) == ("SetpointNotVerifiedError", True)
    ((reading),) = bench.readings
    assert (reading["value"], reading["differs"]) == (found, True)
    assert bench.control.writes == [("bl:v", written)]


async def test_a_setpoint_that_cannot_be_read_back_is_not_verified(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
):
    async def read(address: str, timeout: float) -> ControlReading:
        raise ControlTimeoutError("no answer")

    monkeypatch.setattr(bench.control, "read", read)
    step = RecipeSetpointStep("bl:x", 2.5, verify=True)
    assert await bench.failure(step) == ("SetpointNotVerifiedError", True)
    assert bench.readings == [{"error_class": "ControlTimeoutError", "message": "no answer"}]


@pytest.mark.parametrize(
    ("error", "in_doubt"),
    [
        (ControlNotConnectedError("away"), False),
        (ControlNotConnectedError("lost", sent=True), True),
        (ControlTimeoutError("late", sent=True), True),
        (ControlWriteRejectedError("no", sent=True), False),
    ],
)
async def test_a_failed_write_says_whether_it_is_in_doubt(
    bench: Bench, error: ControlError, in_doubt: bool
):
    bench.control.errors["bl:x"] = error
    expected = type(error).__name__, in_doubt
    assert await bench.failure(RecipeSetpointStep("bl:x", 1.0)) == expected


async def test_a_worker_that_may_no_longer_act_writes_nothing_and_records_nothing(bench: Bench):
    bench.is_mine = False
    with pytest.raises(ControlWriteFencedError):
        await bench.carry_out(RecipeSetpointStep("bl:x", 1.0))
    assert bench.control.writes == []


async def test_a_value_whose_moment_is_over_asks_for_another_one_until_its_time_is_up(bench: Bench):
    asked: list[int] = []
    run = bench.run()._replace(handing_over=open_while(lambda: bool(asked.append(1))))
    with pytest.raises(StepFailedError) as failed:
        await bench.effects.carry_out(RecipeSetpointStep("bl:x", 1.0, timeout=0.05), run)
    assert failed.value.detail["error_class"] == "ControlTimeoutError"
    assert failed.value.detail["in_doubt"] is False
    assert len(asked) > 1
    assert bench.control.writes == []


async def test_a_cancelled_write_is_waited_for_and_counts_when_it_is_confirmed(bench: Bench):
    bench.control.hold("bl:x")
    writing = asyncio.create_task(bench.carry_out(RecipeSetpointStep("bl:x", 1.0)))
    await _until(lambda: bool(bench.control.writes))
    bench.stopping.set()
    await asyncio.sleep(0)
    bench.control.release("bl:x")
    assert await writing == {}


async def test_a_cancelled_write_that_is_not_confirmed_is_in_doubt(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(effects, "WRITE_GRACE", 0.01)
    bench.control.hold("bl:x")
    bench.stopping.set()
    assert await bench.failure(RecipeSetpointStep("bl:x", 1.0)) == ("StepCancelled", True)


async def test_a_check_that_meets_its_criterion_succeeds(bench: Bench):
    bench.control.put("bl:e", 25.004)
    step = RecipeCheckStep("bl:e", WithinTolerance(25.0, 0.01))
    assert await bench.carry_out(step) == {}
    ((reading),) = bench.readings
    assert (reading["value"], reading["evaluated"]) == (25.004, 1)


async def test_a_check_that_misses_says_by_what(bench: Bench):
    bench.control.put("bl:e", 25.4)
    with pytest.raises(StepFailedError, match=r"^25\.4 is not within 0\.01 of 25\.0$"):
        await bench.carry_out(RecipeCheckStep("bl:e", WithinTolerance(25.0, 0.01)))


async def test_a_reading_of_bad_quality_meets_nothing(bench: Bench):
    bench.control.set_alarm("bl:e", Quality.BAD, "INVALID UDF")
    with pytest.raises(StepFailedError, match="has the quality Bad: INVALID UDF"):
        await bench.carry_out(RecipeCheckStep("bl:e", Equals(0.0)))


async def test_a_check_waits_for_the_update_that_meets_it(bench: Bench):
    checking = asyncio.create_task(bench.carry_out(RecipeCheckStep("bl:e", Equals(3.0), wait=60.0)))
    for value in (1.0, 2.0, 3.0):
        await _settled()
        bench.control.put("bl:e", value)
    assert await checking == {}
    assert [reading["value"] for reading in bench.readings] == [0.0, 3.0]
    assert bench.readings[-1]["evaluated"] == 4


async def test_a_check_whose_time_is_up_fails_with_the_last_reading(bench: Bench):
    step = RecipeCheckStep("bl:e", Equals(3.0), wait=0.01)
    assert await bench.failure(step) == ("CheckFailedError", False)
    assert [reading["value"] for reading in bench.readings] == [0.0]


async def test_a_check_that_is_cancelled_ends_at_once_and_is_not_in_doubt(bench: Bench):
    bench.stopping.set()
    step = RecipeCheckStep("bl:e", Equals(3.0), wait=60.0)
    assert await bench.failure(step) == ("StepCancelled", False)


async def test_a_check_whose_connection_is_lost_fails(bench: Bench):
    step = RecipeCheckStep("bl:e", Equals(3.0), wait=60.0)
    checking = asyncio.create_task(bench.carry_out(step))
    await _settled()
    bench.control.disconnect("bl:e")
    with pytest.raises(StepFailedError) as failed:
        await checking
    assert failed.value.detail["error_class"] == "ControlNotConnectedError"


@pytest.mark.parametrize("value", [1.25, True, "Open"])
async def test_a_capture_keeps_a_number_a_boolean_or_a_text(bench: Bench, value: Json):
    bench.control.put("bl:c", value)
    captured = await bench.carry_out(RecipeCaptureStep("bl:c", "seen"))
    assert captured == {"capture_name": "seen", "value": value}


@pytest.mark.parametrize("value", [float("nan"), float("inf"), [1.0, 2.0], "x" * 1001])
async def test_a_capture_of_anything_else_fails(bench: Bench, value: Json):
    bench.control.put("bl:c", value)
    step = RecipeCaptureStep("bl:c", "seen")
    assert await bench.failure(step) == ("CaptureFailedError", False)


async def test_a_capture_of_doubtful_quality_fails(bench: Bench):
    bench.control.set_alarm("bl:c", Quality.UNCERTAIN, "MINOR HIGH")
    step = RecipeCaptureStep("bl:c", "seen")
    assert await bench.failure(step) == ("CaptureFailedError", False)


async def test_a_long_array_is_left_out_of_its_row(bench: Bench):
    bench.control.put("bl:c", [*range(101)])
    await bench.failure(RecipeCaptureStep("bl:c", "seen"))
    assert bench.readings[0]["value"] == {"omitted": True, "shape": [101]}


async def test_a_text_that_no_row_can_hold_is_cleaned(bench: Bench):
    bench.control.put("bl:c", "a\x00b\ud800")
    captured = await bench.carry_out(RecipeCaptureStep("bl:c", "seen"))
    assert captured["value"] == "a?b?"


def an_action(body: Any, **entry: Any) -> RegisteredAction:
    return RegisteredAction(ActionEntry("home", **entry), body)


async def test_an_action_gets_its_params_and_answers_its_result():
    async def body(call: ActionCall) -> JsonObject:
        await call.control.write("bl:x", call.params["to"])
        call.report(await call.control.read("bl:x"))
        return {"homed": True}

    bench = Bench(an_action(body, writes=("bl:x",)))
    done = await bench.carry_out(RecipeActionStep("home", {"to": 3.0}))
    assert done == {"result": {"homed": True}, "actuation_kind": "Simulated"}
    assert [reading["value"] for reading in bench.readings] == [3.0]


async def test_an_action_that_touches_both_kinds_is_hybrid():
    async def body(call: ActionCall) -> None:
        await call.control.read("bl:x")
        await call.control.write("real:y", 1.0)

    bench = Bench(an_action(body, writes=("real:y",)))
    assert await bench.carry_out(RecipeActionStep("home")) == {
        "result": None,
        "actuation_kind": "Hybrid",
    }


@pytest.mark.parametrize(
    ("address", "value", "inline", "error_class"),
    [
        ("bl:z", 1.0, False, "ControlAddressNotWritableError"),
        ("bl:x", 11.0, False, "ControlLimitExceededError"),
        ("bl:x", "text", False, "ControlLimitExceededError"),
        ("bl:interlock", 1.0, False, "ControlAddressNotWritableError"),
        ("far:x", 1.0, False, "ControlAddressNotRoutedError"),
        ("real:y", 1.0, True, "ControlAddressNotWritableError"),
    ],
)
async def test_an_action_writes_only_what_it_declares_and_the_routes_permit(
    address: str, value: Json, inline: bool, error_class: str
):
    async def body(call: ActionCall) -> None:
        await call.control.write(address, value)

    writes = ("bl:x", "bl:interlock", "far:x", "real:y")
    bench = Bench(an_action(body, writes=writes, inline=True))
    step = RecipeActionStep("home")
    assert await bench.failure(step, inline=inline) == (error_class, True)
    assert bench.control.writes == []


async def test_an_action_that_swallows_the_refusal_has_still_written_nothing():
    async def body(call: ActionCall) -> None:
        with suppress(Exception):
            await call.control.write("bl:x", 99.0)

    bench = Bench(an_action(body, writes=("bl:x",)))
    await bench.carry_out(RecipeActionStep("home"))
    assert bench.control.writes == []


async def test_an_action_that_fails_or_is_late_is_in_doubt():
    async def raises(call: ActionCall) -> None:
        raise ZeroDivisionError("no step size")

    async def hangs(call: ActionCall) -> None:
        await asyncio.Event().wait()

    step = RecipeActionStep("home", timeout=0.01)
    assert await Bench(an_action(raises)).failure(step) == ("ActionFailedError", True)
    assert await Bench(an_action(hangs)).failure(step) == ("ActionTimeoutError", True)


async def test_an_action_learns_that_it_is_cancelled_and_its_result_is_recorded():
    async def body(call: ActionCall) -> JsonObject:
        await call.cancelled.wait()
        return {"parked": True}

    bench = Bench(an_action(body))
    bench.stopping.set()
    assert (await bench.carry_out(RecipeActionStep("home")))["result"] == {"parked": True}


async def test_an_action_that_ignores_its_cancellation_is_ended(monkeypatch: pytest.MonkeyPatch):
    async def body(call: ActionCall) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(effects, "ACTION_GRACE", 0.01)
    bench = Bench(an_action(body))
    bench.stopping.set()
    assert await bench.failure(RecipeActionStep("home")) == ("StepCancelled", True)


async def test_an_action_writes_only_addresses_that_its_conduct_has_claimed():
    async def body(call: ActionCall) -> None:
        await call.control.write("bl:x", 1.0)
        await call.control.write("bl:y", 1.0)

    bench = Bench(an_action(body, writes=("bl:x", "bl:y")))
    bench.claimed = frozenset({"bl:x"})
    assert await bench.failure(RecipeActionStep("home")) == ("ControlAddressNotClaimedError", True)
    assert bench.control.writes == [("bl:x", 1.0)]
    assert [each["outcome"] for each in bench.written] == ["Confirmed"]


async def test_a_write_of_an_action_without_an_answer_is_unknown_when_its_step_is_over():
    async def body(call: ActionCall) -> None:
        await call.control.write("bl:x", 1.0)

    bench = Bench(an_action(body, writes=("bl:x",)))
    bench.control.hold("bl:x")
    assert await bench.failure(RecipeActionStep("home", timeout=0.01)) == (
        "ActionTimeoutError",
        True,
    )
    assert [(each["address"], each["outcome"]) for each in bench.written] == [("bl:x", "Unknown")]


@pytest.mark.parametrize(
    ("result", "stored"),
    [
        (np.float32(0.5), 0.5),
        (np.arange(3), [0, 1, 2]),
        ({"mean": np.float64(2.0), "ok": np.bool_(True)}, {"mean": 2.0, "ok": True}),
        ((1, "a\x00b"), [1, "a?b"]),
        (2**70, float(2**70)),
        (math.nan, None),
    ],
)
async def test_what_an_action_returns_is_converted_to_json(result: Any, stored: Json):
    async def body(call: ActionCall) -> Any:
        return result

    bench = Bench(an_action(body))
    assert (await bench.carry_out(RecipeActionStep("home")))["result"] == stored


NESTED: list[Any] = []
NESTED.append(NESTED)


@pytest.mark.parametrize("result", [object(), {1: 2}, {"x": {3}}, "x" * 65536, NESTED])
async def test_what_no_row_can_hold_fails_the_action(result: Any):
    async def body(call: ActionCall) -> Any:
        return result

    bench = Bench(an_action(body))
    assert await bench.failure(RecipeActionStep("home")) == ("ActionResultInvalidError", True)


def test_a_step_that_this_program_cannot_execute_is_known_before_it_starts():
    schema: JsonObject = {"type": "object", "properties": {"to": {"type": "number"}}}
    bench = Bench(an_action(None, params_schema=schema))

    def found(step: RecipeStep) -> str:
        unfit = bench.effects.unfit(step)
        return f"{unfit.error_class}: {unfit.message}" if unfit else ""

    assert found(RecipeActionStep("home", {"to": 1.0})) == ""
    assert found(RecipeActionStep("away")) == "ActionNotRegisteredError: There is no 'away'."
    assert found(RecipeActionStep("home", {"to": "x"})) == (
        "ActionParamsInvalidError: Params of 'home' at $.to: the value does not satisfy `type`."
    )
    assert found(RecipeSetpointStep("bl:x", 1.0)) == ""


async def _settled() -> None:
    """Let every task go on until it waits for something from outside."""
    for _ in range(20):
        await asyncio.sleep(0)


async def _until(condition: Any) -> None:
    async with asyncio.timeout(30):
        while not condition():
            await asyncio.sleep(0)


async def test_an_action_that_says_it_was_cancelled_has_not_succeeded():
    async def body(call: ActionCall) -> None:
        await call.cancelled.wait()
        raise ActionCancelledError

    bench = Bench(an_action(body))
    bench.stopping.set()
    assert await bench.failure(RecipeActionStep("home")) == ("StepCancelled", True)
