"""What an observer reports of a hutch, against a real server of each kind of control system."""

import asyncio
from collections.abc import AsyncGenerator, Generator, Sequence
from contextlib import asynccontextmanager
from typing import Any, cast
from uuid import UUID

import aioca
import pytest
from tango import DeviceProxy
from tests.devices.channels.benches import (
    Bench,
    ProcessBench,
    channel_access_bench,
    pv_access_bench,
    tango_bench,
)

from beamkeep.contexts.enclosure.enclosure import ObserveEnclosureStatus
from beamkeep.parts.conducting.channels.channel_access import ChannelAccess
from beamkeep.parts.conducting.control import ControlSystem
from beamkeep.parts.conducting.observing import EnclosureSignal, Observer
from beamkeep.testing.ioc import SILENCE, Ioc, IocRecord, Network
from beamkeep.testing.waiting import until
from beamkeep.workers.reporting import Monitor

pytestmark = pytest.mark.anyio

BENCHES = {
    "channel_access": channel_access_bench,
    "pv_access": pv_access_bench,
    "tango": tango_bench,
}
SLOW = 0.5
"""Connect seconds where a server is away."""


class Reports:
    """What was reported of one signal, without repetitions."""

    def __init__(self, address: str, permitted: str, not_permitted: str) -> None:
        self.signal = EnclosureSignal(
            signal=address,
            enclosure_id=UUID(int=1),
            permitted=frozenset({permitted}),
            not_permitted=frozenset({not_permitted}),
        )
        self.permits, self.reasons = list[str](), list[str]()

    async def report(self, command: ObserveEnclosureStatus) -> bool:
        if self.permits[-1:] != [command.permit_status]:
            self.permits.append(command.permit_status)
            self.reasons.append(command.reason or "")
        return True

    async def come_to(self, *permits: str) -> None:
        await until(lambda: self.permits == list(permits), f"{permits}, not {self.permits}")


@asynccontextmanager
async def observing(
    control: ControlSystem, address: str, permitted: str = "1", not_permitted: str = "0"
) -> AsyncGenerator[Reports]:
    """Follow a signal as `beamkeep work` does."""
    reports = Reports(address, permitted, not_permitted)
    observer = Observer(cast("Monitor", reports), control, [reports.signal], repeat_seconds=3600)
    running = asyncio.create_task(observer.run())
    try:
        yield reports
    finally:
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running


@pytest.fixture(scope="module", params=BENCHES)
def bench(request: pytest.FixtureRequest, network: Network) -> Generator[Bench]:
    with BENCHES[request.param](network) as bench:
        yield bench


@pytest.fixture(autouse=True)
async def no_channel_outlives_the_loop() -> AsyncGenerator[None]:
    yield
    aioca.purge_channel_caches()


def followers(address: str) -> int:
    return sum(each.subscriber_count for each in aioca.get_channel_infos() if each.name == address)


async def test_every_change_is_reported_in_order(bench: Bench):
    bench.put("number", 0.0)
    async with observing(bench.client(), bench.address("number")) as reports:
        await reports.come_to("NotPermitted")
        expected = ["NotPermitted"]
        for value, permit in [(1.0, "Permitted"), (0.0, "NotPermitted"), (7.5, "Unknown")] * 3:
            bench.put("number", value)
            expected.append(permit)
            await reports.come_to(*expected)
    assert reports.reasons[3] == f"{bench.address('number')}: unexpected value 7.5"


async def test_a_state_is_compared_by_its_label(bench: Bench):
    bench.put("shutter", 0)
    address = bench.address("shutter")
    async with observing(bench.client(), address, "Open", "Closed") as reports:
        await reports.come_to("NotPermitted")
        bench.put("shutter", 1)
        await reports.come_to("NotPermitted", "Permitted")
    assert reports.reasons == [f"{address}: Closed", f"{address}: Open"]


async def test_an_invalid_value_is_unknown_and_a_lesser_alarm_leaves_the_permit(bench: Bench):
    bench.put("number", 1.0)
    async with observing(bench.client(), bench.address("number")) as reports:
        await reports.come_to("Permitted")
        for severity in ("MINOR", "MAJOR", "INVALID"):
            bench.alarm("number", severity)
        await reports.come_to("Permitted", "Unknown")
        assert "Bad: INVALID" in reports.reasons[1]
        bench.alarm("number", "MAJOR")
        await reports.come_to("Permitted", "Unknown", "Permitted")
        assert ": Bad: " in reports.reasons[2]
        bench.alarm("number", "NO")


async def test_an_array_is_unknown(bench: Bench):
    async with observing(bench.client(), bench.address("curve")) as reports:
        await reports.come_to("Unknown")
    assert reports.reasons == [f"{bench.address('curve')}: not a single value"]


async def test_an_address_that_nobody_serves_is_unknown_and_named(bench: Bench):
    address = bench.address("nothing")
    async with observing(bench.client(SLOW), address) as reports:
        await reports.come_to("Unknown")
    assert reports.reasons[0].startswith(address)


async def test_a_dead_server_is_unknown_and_one_that_comes_back_is_followed_again(bench: Bench):
    bench.put("number", 1.0)
    async with observing(bench.client(), bench.address("number")) as reports:
        await reports.come_to("Permitted")
        bench.kill()
        await reports.come_to("Permitted", "Unknown")
        bench.start()
        bench.put("number", 0.0)
        await until(lambda: reports.permits[-1] == "NotPermitted")
    assert reports.permits[:2] == ["Permitted", "Unknown"]


async def test_a_server_that_starts_late_is_followed(bench: Bench):
    bench.kill()
    async with observing(bench.client(SLOW), bench.address("number")) as reports:
        await reports.come_to("Unknown")
        bench.start()
        bench.put("number", 1.0)
        await until(lambda: reports.permits[-1] == "Permitted")


@pytest.mark.faults
async def test_a_frozen_server_is_unknown_until_it_answers_again(bench: Bench):
    bench.put("number", 1.0)
    async with observing(bench.client(), bench.address("number")) as reports:
        await reports.come_to("Permitted")
        bench.freeze()
        try:
            await reports.come_to("Permitted", "Unknown")
        finally:
            bench.thaw()
        await reports.come_to("Permitted", "Unknown", "Permitted")


class TestChannelAccess:
    """What only Channel Access has: access rights, and records that change their type."""

    LABELS = ("Denied", "Granted")

    @pytest.fixture
    def ioc(self, network: Network) -> Generator[Ioc]:
        with Ioc(network.ports[1], IocRecord("PSS:PERMIT", "boolOut", 1, self.LABELS)) as ioc:
            yield ioc

    def client(self) -> ControlSystem:
        return ChannelAccess(connect_seconds=SLOW, silence_seconds=SILENCE)

    async def test_fifty_flips_are_fifty_reports(self, ioc: Ioc):
        async with observing(self.client(), "PSS:PERMIT", "Granted", "Denied") as reports:
            await reports.come_to("Permitted")
            ioc.put("PSS:PERMIT", *[0, 1] * 25)
            await reports.come_to("Permitted", *["NotPermitted", "Permitted"] * 25)

    async def test_a_signal_that_may_no_longer_be_read_is_unknown_until_it_may(self, ioc: Ioc):
        async with observing(self.client(), "PSS:PERMIT", "Granted", "Denied") as reports:
            await reports.come_to("Permitted")
            ioc.access("PSS:PERMIT", "HIDDEN")
            await reports.come_to("Permitted", "Unknown")
            ioc.access("PSS:PERMIT", "DEFAULT")
            await reports.come_to("Permitted", "Unknown", "Permitted")
        assert "read" in reports.reasons[1]

    async def test_states_that_are_renamed_are_compared_by_their_new_names(self, ioc: Ioc):
        async with observing(self.client(), "PSS:PERMIT", "Granted", "Denied") as reports:
            await reports.come_to("Permitted")
            ioc.set_field("PSS:PERMIT", "ONAM", "Denied")
            await reports.come_to("Permitted", "NotPermitted")

    async def test_nothing_is_followed_when_the_observer_has_ended(self, ioc: Ioc):
        async with observing(self.client(), "PSS:PERMIT", "Granted", "Denied") as reports:
            await reports.come_to("Permitted")
            assert followers("PSS:PERMIT") == 1
        assert followers("PSS:PERMIT") == 0

    async def test_a_record_of_another_type_after_a_restart_is_compared_as_it_is_now(
        self, network: Network
    ):
        before = IocRecord("PSS:TYPE", "boolOut", 1, self.LABELS)
        after = IocRecord("PSS:TYPE", "longOut", 1)
        async with observing(self.client(), "PSS:TYPE", "1", "Granted") as reports:
            with Ioc(network.ports[1], before) as ioc:
                await until(lambda: reports.permits[-1:] == ["NotPermitted"])
                ioc.kill()
            with Ioc(network.ports[1], after):
                await until(lambda: reports.permits[-1] == "Permitted")


async def test_a_tango_state_that_is_renamed_is_compared_by_its_new_name(network: Network):
    with tango_bench(network) as bench:
        address = bench.address("shutter")
        async with observing(bench.client(), address, "Closed", "Shut") as reports:
            await reports.come_to("Permitted")
            rename(bench, ["Shut", "Ajar"])
            await until(lambda: reports.permits[-1] == "NotPermitted")


def rename(bench: ProcessBench, labels: Sequence[str]) -> None:
    """Name the states of the shutter, as an engineer does."""
    host, device = bench.environment["TANGO_NODB_HOST"], bench.address("shutter").rpartition("/")[0]
    proxy: Any = DeviceProxy(f"tango://{host}/{device}#dbase=no")
    config = proxy.get_attribute_config("shutter")
    config.enum_labels = labels
    proxy.set_attribute_config(config)


async def test_a_silence_shorter_than_an_echo_of_channel_access_is_refused():
    with pytest.raises(ValueError, match="more than 5"):
        ChannelAccess(silence_seconds=5.0)
