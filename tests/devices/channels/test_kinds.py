"""What only one kind of control system has: images, tables, access rights, polling."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

import aioca
import pytest
from tests.devices.channels.benches import (
    RECORDS,
    SERVERS,
    Bench,
    pv_access_bench,
    tango_bench,
)
from tests.support.handing_over import always_open
from tests.support.proxy import Proxy

from beamkeep.parts.conducting.channels.channel_access import ChannelAccess
from beamkeep.parts.conducting.channels.tango import Tango
from beamkeep.parts.conducting.control import (
    ControlAccessDeniedError,
    ControlNotConnectedError,
    ControlSystem,
    ControlValueCoercionError,
    Quality,
    ValueKind,
)
from beamkeep.schemas import Json
from beamkeep.testing.ioc import SILENCE, Ioc, IocRecord, Network, ServerProcess, free_ports
from beamkeep.testing.waiting import until

pytestmark = pytest.mark.anyio

PATIENCE = 30.0


@pytest.fixture(scope="module")
def ioc(network: Network):
    more = (IocRecord("ch:unlabelled", "boolOut", 1), IocRecord("ch:small", "aIn", 0.5))
    with Ioc(network.ports[2], *RECORDS, *more) as ioc:
        yield ioc


@pytest.fixture
async def epics(ioc: Ioc) -> AsyncGenerator[ControlSystem]:
    yield ChannelAccess(silence_seconds=SILENCE)
    aioca.purge_channel_caches()


@pytest.fixture(scope="module", params=[pv_access_bench, tango_bench], ids=["pva", "tango"])
def bench(request: pytest.FixtureRequest, network: Network):
    with request.param(network) as bench:
        yield bench


@pytest.fixture
async def control(bench: Bench) -> AsyncGenerator[ControlSystem]:
    client = bench.client()
    yield client
    await client.close()


async def test_an_image_is_read_without_its_content_and_never_written(
    bench: Bench, control: ControlSystem
):
    reading = await control.read(bench.address("image"), PATIENCE)
    assert (reading.value, reading.value_kind, reading.shape) == (None, ValueKind.IMAGE, (4, 6))
    with pytest.raises(ControlValueCoercionError):
        await control.write(bench.address("image"), [1], PATIENCE, always_open)


@pytest.mark.parametrize("value", [1.5, 1 << 40, -(1 << 40)])
async def test_what_is_no_integer_of_its_size_is_not_sent(
    bench: Bench, control: ControlSystem, value: float
):
    await control.write(bench.address("integer"), 2.0, PATIENCE, always_open)
    with pytest.raises(ControlValueCoercionError):
        await control.write(bench.address("integer"), value, PATIENCE, always_open)
    assert set(bench.puts("integer")) == {2}


async def test_a_number_beyond_single_precision_is_not_sent(bench: Bench, control: ControlSystem):
    await control.write(bench.address("single"), 0.5, PATIENCE, always_open)
    with pytest.raises(ControlValueCoercionError):
        await control.write(bench.address("single"), 1e39, PATIENCE, always_open)
    assert bench.puts("single") == [0.5]


@pytest.mark.parametrize("bench", [pv_access_bench], indirect=True, ids=["pva"])
async def test_a_table_is_read_as_its_shape(bench: Bench, control: ControlSystem):
    reading = await control.read(bench.address("table"), PATIENCE)
    assert (reading.value, reading.value_kind, reading.shape) == (None, ValueKind.TABULAR, (2, 3))


@pytest.mark.parametrize("bench", [tango_bench], indirect=True, ids=["tango"])
async def test_an_attribute_without_events_is_polled(bench: Bench, control: ControlSystem):
    async with aclosing(control.subscribe(bench.address("polled"))) as readings:
        assert (await anext(readings)).value == 1.5
        bench.put("polled", 2.5)
        async with asyncio.timeout(PATIENCE):
            while (await anext(readings)).value != 2.5:
                pass


@pytest.mark.parametrize("bench", [tango_bench], indirect=True, ids=["tango"])
async def test_an_invalid_attribute_has_no_value(bench: Bench, control: ControlSystem):
    bench.alarm("number", "INVALID")
    reading = await control.read(bench.address("number"), PATIENCE)
    bench.alarm("number", "NO")
    assert (reading.value, reading.quality_detail) == (None, "INVALID")


@pytest.mark.parametrize("bench", [tango_bench], indirect=True, ids=["tango"])
async def test_the_state_of_a_device_is_a_label(bench: Bench, control: ControlSystem):
    reading = await control.read(bench.address("state"), PATIENCE)
    assert (reading.value, reading.value_kind) == ("UNKNOWN", ValueKind.CATEGORICAL)


async def test_a_record_that_this_client_may_not_write_is_not_written(
    ioc: Ioc, epics: ControlSystem
):
    ioc.access("ch:number", "LOCKED")
    with pytest.raises(ControlAccessDeniedError) as caught:
        await epics.write("ch:number", 66.0, PATIENCE, always_open)
    ioc.access("ch:number", "DEFAULT")
    assert not caught.value.sent
    assert ["ch:number", 66.0] not in ioc.puts()


async def test_a_record_that_may_no_longer_be_read_ends_its_subscription(
    ioc: Ioc, epics: ControlSystem
):
    async with aclosing(epics.subscribe("ch:number")) as readings:
        await anext(readings)
        ioc.access("ch:number", "HIDDEN")
        async with asyncio.timeout(PATIENCE):
            with pytest.raises(ControlAccessDeniedError):
                await anext(readings)
    with pytest.raises(ControlAccessDeniedError):
        await epics.read("ch:number", PATIENCE)
    ioc.access("ch:number", "DEFAULT")


async def test_a_state_without_a_label_and_a_number_that_is_none_are_bad(
    ioc: Ioc, epics: ControlSystem
):
    ioc.put("ch:small", float("nan"))
    for address in ("ch:unlabelled", "ch:small"):
        reading = await epics.read(address, PATIENCE)
        assert (reading.value, reading.quality) == (None, Quality.BAD)


async def test_a_text_longer_than_a_record_holds_is_not_sent(ioc: Ioc, epics: ControlSystem):
    await epics.write("ch:text", "x" * 39, PATIENCE, always_open)
    with pytest.raises(ControlValueCoercionError):
        await epics.write("ch:text", "x" * 40, PATIENCE, always_open)
    assert (await epics.read("ch:text", PATIENCE)).value == "x" * 39


async def test_more_elements_than_a_record_holds_are_not_sent(ioc: Ioc, epics: ControlSystem):
    eight: list[Json] = [1.0] * 8
    await epics.write("ch:curve", eight, PATIENCE, always_open)
    with pytest.raises(ControlValueCoercionError):
        await epics.write("ch:curve", [*eight, 1.0], PATIENCE, always_open)
    assert (await epics.read("ch:curve", PATIENCE)).shape == (8,)


async def test_a_write_to_tango_is_not_repeated_when_its_connection_is_cut():
    (port,) = free_ports(1)
    async with Proxy.before(port) as proxy:
        with ServerProcess(SERVERS / "tango_program.py", {}, [port, proxy.port]) as server:
            client = Tango(nodb_host=f"127.0.0.1:{proxy.port}")
            slow, number = "test/channels/1/slow", "test/channels/1/number"
            write = asyncio.create_task(client.write(slow, 5.0, PATIENCE, always_open))
            await until(server.puts)
            proxy.cut()
            # Long before its timeout: a repeated write would wait for the first one.
            async with asyncio.timeout(PATIENCE / 2):
                with pytest.raises(ControlNotConnectedError) as caught:
                    await write
            assert caught.value.sent
            server.release()
            # The device serves one call at a time, so that this one would come last.
            await client.write(number, 6.0, PATIENCE, always_open)
            assert server.puts() == [["slow", 5.0], ["number", 6.0]]
            await client.close()
