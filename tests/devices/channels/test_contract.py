"""What every control system does, each against a real server of its kind."""

import asyncio
import math
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, asynccontextmanager
from datetime import UTC, datetime, timedelta

import pytest
from tests.devices.channels.benches import Bench
from tests.support.handing_over import always_open, open_while

from beamkeep.parts.conducting.control import (
    ControlError,
    ControlNotConnectedError,
    ControlReading,
    ControlSystem,
    ControlTimeoutError,
    ControlValueCoercionError,
    ControlWriteFencedError,
    ControlWriteRejectedError,
    ControlWriteStoppedError,
    Quality,
    ValueKind,
)
from beamkeep.schemas import Json
from beamkeep.testing.ioc import SILENCE
from beamkeep.testing.waiting import until

pytestmark = pytest.mark.anyio

PATIENCE = 30.0


async def fails[E: ControlError](error: type[E], control: ControlSystem, *put: object) -> E:
    """The error of a write that must fail."""
    address, value, *timeout = put
    with pytest.raises(error) as caught:
        await control.write(str(address), value, *(timeout or [PATIENCE]), always_open)  # pyright: ignore
    return caught.value


@pytest.fixture
async def slow_write(bench: Bench, control: ControlSystem) -> asyncio.Task[None]:
    """A write that the server has taken up and not confirmed."""
    before = len(bench.puts("slow"))
    write = asyncio.create_task(control.write(bench.address("slow"), 77.0, PATIENCE, always_open))
    await until(lambda: len(bench.puts("slow")) > before)
    return write


async def next_of(readings: AsyncGenerator[ControlReading]) -> ControlReading:
    async with asyncio.timeout(PATIENCE):
        return await anext(readings)


@pytest.mark.parametrize(
    ("name", "value", "kind", "shape"),
    [
        ("number", 2.25, ValueKind.SCALAR, ()),
        ("integer", 12, ValueKind.SCALAR, ()),
        ("text", "Si 311", ValueKind.SCALAR, ()),
        ("curve", [4.0, 5.0, 6.0], ValueKind.ARRAY, (3,)),
    ],
)
async def test_a_value_is_read_with_its_kind_and_the_time_of_its_source(
    bench: Bench,
    control: ControlSystem,
    name: str,
    value: Json,
    kind: ValueKind,
    shape: tuple[int, ...],
):
    bench.put(name, value)
    reading = await control.read(bench.address(name), PATIENCE)
    assert (reading.value, reading.value_kind, reading.shape) == (value, kind, shape)
    assert (reading.quality, reading.quality_detail) == (Quality.GOOD, "")
    assert timedelta() <= datetime.now(UTC) - reading.sampled_at < timedelta(minutes=1)


async def test_an_enumeration_is_read_and_written_by_its_labels(
    bench: Bench, control: ControlSystem
):
    bench.put("shutter", 0)
    address = bench.address("shutter")
    reading = await control.read(address, PATIENCE)
    assert (reading.value, reading.value_kind) == ("Closed", ValueKind.CATEGORICAL)
    await control.write(address, "Open", PATIENCE, always_open)
    assert (await control.read(address, PATIENCE)).value == "Open"
    await control.write(address, 0, PATIENCE, always_open)
    assert (await control.read(address, PATIENCE)).value == "Closed"


async def test_the_quality_follows_the_alarm(bench: Bench, control: ControlSystem):
    async def quality() -> tuple[Quality, bool]:
        reading = await control.read(bench.address("integer"), PATIENCE)
        return reading.quality, bool(reading.quality_detail)

    found: list[tuple[Quality, bool]] = []
    for severity in ("MINOR", "MAJOR", "INVALID", "NO"):
        bench.alarm("integer", severity)
        found.append(await quality())
    bad = (Quality.BAD, True)
    assert found == [(Quality.UNCERTAIN, True), bad, bad, (Quality.GOOD, False)]


@pytest.mark.parametrize(
    ("name", "value"),
    [("number", 31.5), ("number", 4), ("integer", 9), ("text", "Si 220"), ("curve", [7.0, 8.0])],
)
async def test_a_confirmed_write_has_reached_the_server_once(
    bench: Bench, control: ControlSystem, name: str, value: Json
):
    others: dict[str, Json] = {"text": "", "curve": [0.0]}
    bench.put(name, others.get(name, 0))
    before = bench.puts(name).count(value)
    await control.write(bench.address(name), value, PATIENCE, always_open)
    assert (await control.read(bench.address(name), PATIENCE)).value == value
    await until(lambda: bench.puts(name).count(value) == before + 1)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("number", "31.5"),
        ("number", math.nan),
        ("number", math.inf),
        ("number", -math.inf),
        ("number", 10**400),
        ("number", True),
        ("number", None),
        ("number", [1.0]),
        ("number", {"value": 1.0}),
        ("text", 3),
        ("shutter", "Ajar"),
        ("shutter", "1"),
        ("shutter", 2),
        ("shutter", 0.5),
        ("curve", 1.0),
        ("curve", [1.0, math.nan]),
        ("curve", [1.0, "2.0"]),
    ],
)
async def test_a_value_of_another_type_is_not_sent(
    bench: Bench, control: ControlSystem, name: str, value: Json
):
    before = bench.puts(name)
    error = await fails(ControlValueCoercionError, control, bench.address(name), value)
    assert not error.sent
    assert bench.puts(name) == before


async def test_a_refusal_of_the_server_reaches_the_writer(bench: Bench, control: ControlSystem):
    error = await fails(ControlWriteRejectedError, control, bench.address("locked"), 31.0)
    assert not error.sent


async def test_nothing_is_sent_when_the_claim_has_ended(bench: Bench, control: ControlSystem):
    before = bench.puts("number")
    with pytest.raises(ControlWriteFencedError) as caught:
        await control.write(bench.address("number"), 66.0, PATIENCE, open_while(lambda: False))
    assert not caught.value.sent
    await control.write(bench.address("number"), 67.0, PATIENCE, always_open)
    await until(lambda: 67.0 in bench.puts("number")[len(before) :])
    assert 66.0 not in bench.puts("number")


async def test_the_claim_is_asked_about_once_and_after_the_connection(bench: Bench):
    asked: list[str] = []
    client = bench.client(connect_seconds=0.2)
    for name in ("nothing", "number"):
        try:
            moment = open_while(lambda name=name: not asked.append(name))
            await client.write(bench.address(name), 3.0, PATIENCE, moment)
        except ControlNotConnectedError:
            assert name == "nothing"
    await client.close()
    assert asked == ["number"]


async def test_the_moment_to_hand_over_ends_before_the_value_is_confirmed(
    bench: Bench, control: ControlSystem
):
    told: list[str] = []

    @asynccontextmanager
    async def moment() -> AsyncGenerator[Callable[[], bool]]:
        told.append("open")
        yield lambda: not told.append("asked")
        told.append("closed")

    write = asyncio.create_task(control.write(bench.address("slow"), 56.0, PATIENCE, moment))
    await until(lambda: told == ["open", "asked", "closed"])
    await until(lambda: 56.0 in bench.puts("slow"))
    assert not write.done()
    bench.release()
    await write


async def test_nothing_is_sent_once_the_moment_to_hand_over_is_over(
    bench: Bench, control: ControlSystem
):
    """Somebody stopped the write while it was asked about."""

    @asynccontextmanager
    async def moment() -> AsyncGenerator[Callable[[], bool]]:
        raise ControlWriteStoppedError("It was asked to abort.")
        yield

    with pytest.raises(ControlWriteStoppedError):
        await control.write(bench.address("number"), 71.0, PATIENCE, moment)
    await control.write(bench.address("number"), 72.0, PATIENCE, always_open)
    await until(lambda: 72.0 in bench.puts("number"))
    assert 71.0 not in bench.puts("number")


async def test_an_address_that_nobody_serves_is_not_connected(bench: Bench):
    client, address = bench.client(connect_seconds=0.5), bench.address("nothing")
    with pytest.raises(ControlNotConnectedError):
        await client.read(address, PATIENCE)
    error = await fails(ControlNotConnectedError, client, address, 1.0)
    assert not error.sent
    with pytest.raises(ControlNotConnectedError):
        await anext(client.subscribe(address))
    await client.close()


async def test_a_write_waits_until_the_server_has_carried_it_out(
    bench: Bench, slow_write: asyncio.Task[None]
):
    assert not slow_write.done()
    bench.release()
    await slow_write


async def test_a_write_that_is_not_confirmed_in_time_is_in_doubt(
    bench: Bench, control: ControlSystem
):
    # Connected before, so that no time is needed for that.
    await control.read(bench.address("slow"), PATIENCE)
    error = await fails(ControlTimeoutError, control, bench.address("slow"), 55.0, 0.3)
    assert error.sent
    bench.release()
    await control.read(bench.address("number"), PATIENCE)
    assert bench.puts("slow").count(55.0) == 1


async def test_a_subscription_yields_the_present_value_and_then_every_change(
    bench: Bench, control: ControlSystem
):
    bench.put("number", 10.0)
    async with aclosing(control.subscribe(bench.address("number"))) as readings:
        assert (await next_of(readings)).value == 10.0
        for value in (11.0, 12.0):
            bench.put("number", value)
            while (reading := await next_of(readings)).value != value:
                # Tango may repeat what was there when the subscription began.
                assert reading.value == 10.0
        bench.alarm("number", "MAJOR")
        while (reading := await next_of(readings)).quality is not Quality.BAD:
            assert reading.value == 12.0
    bench.alarm("number", "NO")


@pytest.mark.faults
async def test_a_server_that_dies_ends_writes_and_subscriptions_and_repeats_nothing(
    bench: Bench, control: ControlSystem, slow_write: asyncio.Task[None]
):
    # Tango serves one call of a device at a time.
    bench.release()
    await slow_write
    async with aclosing(control.subscribe(bench.address("number"))) as readings:
        await next_of(readings)

        async def ended() -> None:
            async for _ in readings:
                pass

        before = len(bench.puts("slow"))
        write = asyncio.create_task(
            control.write(bench.address("slow"), 99.0, PATIENCE, always_open)
        )
        await until(lambda: len(bench.puts("slow")) > before)
        bench.kill()
        # Not by its timeout, which is longer.
        async with asyncio.timeout(PATIENCE / 3):
            with pytest.raises(ControlNotConnectedError) as caught:
                await write
        assert caught.value.sent
        async with asyncio.timeout(15):
            with pytest.raises(ControlNotConnectedError):
                await ended()
    error = await fails(ControlNotConnectedError, control, bench.address("number"), 5.0, 0.5)
    assert not error.sent
    bench.start()

    async def written() -> bool:
        try:
            await control.write(bench.address("number"), 98.0, PATIENCE, always_open)
        except ControlNotConnectedError as error:
            return error.sent
        return True

    await until(written)
    await until(lambda: 98.0 in bench.puts("number"))
    assert bench.puts("slow").count(99.0) == 1
    assert bench.puts("number").count(5.0) == 0
    assert (await control.read(bench.address("number"), PATIENCE)).value == 98.0


@pytest.mark.faults
@pytest.mark.timed
async def test_a_silent_server_ends_a_subscription_and_is_used_again_once_it_speaks(
    bench: Bench, control: ControlSystem
):
    async with aclosing(control.subscribe(bench.address("number"))) as readings:
        await next_of(readings)
        bench.freeze()
        # A few seconds more for the machine that runs the tests.
        async with asyncio.timeout(SILENCE + 4):
            with pytest.raises((ControlNotConnectedError, ControlTimeoutError)):
                await anext(readings)
    bench.thaw()

    async def answered() -> bool:
        try:
            await control.read(bench.address("number"), 5.0)
        except ControlError:
            return False
        return True

    await until(answered)
