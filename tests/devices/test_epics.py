"""Process variables of a real IOC, over real Channel Access."""

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Collection, Iterator
from contextlib import aclosing, asynccontextmanager
from itertools import cycle, islice
from pathlib import Path

import aioca
import pytest

from beamkeep.parts.conducting.epics import EpicsSignals
from beamkeep.parts.conducting.signals import SignalReading
from beamkeep.testing.ioc import SILENCE, Ioc, IocRecord, Network
from beamkeep.testing.waiting import until

pytestmark = pytest.mark.anyio

PERMIT, HUTCH, CURRENT, TURNS = "PSS:PERMIT", "PSS:HUTCH", "SR:CURRENT", "SR:TURNS"
RECORDS = (
    IocRecord(PERMIT, "boolOut", 0, ("Denied", "Granted")),
    IocRecord(HUTCH, "mbbIn", 1, ("Open", "Searched", "Locked")),
    IocRecord(CURRENT, "aOut", 0.5),
    IocRecord(TURNS, "longOut", 7),
    IocRecord("SR:UNLABELLED", "boolOut", 0),
)
DENIED, GRANTED = (
    SignalReading(PERMIT, "Denied", "Denied"),
    SignalReading(PERMIT, "Granted", "Granted"),
)


@pytest.fixture(scope="module", autouse=True)
def no_process_is_left(network: Network) -> Iterator[None]:
    before = children()
    yield
    assert children() == before


@pytest.fixture(scope="module")
def shared(network: Network) -> Iterator[Ioc]:
    with Ioc(network.ports[0], *RECORDS) as ioc:
        yield ioc


@pytest.fixture
def ioc(shared: Ioc) -> Ioc:
    shared.access(PERMIT, "DEFAULT")
    shared.alarm(PERMIT, "NO")
    for each in RECORDS:
        shared.put(each.name, each.initial)
    return shared


@pytest.fixture(autouse=True)
async def no_channel_outlives_the_loop() -> AsyncIterator[None]:
    yield
    aioca.purge_channel_caches()


class Listener:
    """Takes readings one by one, and does not wait for ever."""

    def __init__(self, readings: AsyncGenerator[SignalReading]) -> None:
        self._readings = readings

    async def next(self, seconds: float = 30) -> SignalReading:
        async with asyncio.timeout(seconds):
            return await anext(self._readings)

    async def several(self, count: int) -> list[SignalReading]:
        return [await self.next() for _ in range(count)]


@asynccontextmanager
async def listening(
    signals: Collection[str], connect_timeout: float = 10
) -> AsyncGenerator[Listener]:
    source = EpicsSignals(connect_timeout=connect_timeout, silence_seconds=SILENCE)
    async with aclosing(source.readings(signals)) as readings:
        yield Listener(readings)


def children() -> set[str]:
    """The processes this one started and that are still there, dead ones included."""
    return {
        pid
        for task in Path("/proc/self/task").iterdir()
        for pid in (task / "children").read_text().split()
    }


def followers(signal: str) -> int:
    return sum(each.subscriber_count for each in aioca.get_channel_infos() if each.name == signal)


async def test_fifty_flips_are_fifty_readings_in_order(ioc: Ioc):
    async with listening([PERMIT]) as listener:
        assert await listener.next() == DENIED
        ioc.put(PERMIT, *islice(cycle([1, 0]), 50))
        assert await listener.several(50) == [GRANTED, DENIED] * 25
        ioc.alarm(PERMIT, "MINOR", "SOFT")
        assert await listener.next() == SignalReading(PERMIT, "Denied", "alarm MINOR (SOFT)")


async def test_an_invalid_alarm_takes_the_value_away_and_its_end_gives_it_back(ioc: Ioc):
    async with listening([PERMIT]) as listener:
        assert await listener.next() == DENIED
        ioc.alarm(PERMIT, "INVALID", "LINK")
        assert await listener.next() == SignalReading(PERMIT, None, "alarm INVALID (LINK)")
        ioc.put(PERMIT, 1)
        assert await listener.next() == SignalReading(PERMIT, None, "alarm INVALID (LINK)")
        ioc.alarm(PERMIT, "MAJOR", "STATE")
        assert await listener.next() == SignalReading(PERMIT, "Granted", "alarm MAJOR (STATE)")
        ioc.alarm(PERMIT, "NO")
        assert await listener.next() == GRANTED


async def test_a_signal_in_invalid_alarm_has_no_value_from_the_start(ioc: Ioc):
    ioc.alarm(PERMIT, "INVALID", "COMM")
    async with listening([PERMIT]) as listener:
        assert await listener.next() == SignalReading(PERMIT, None, "alarm INVALID (COMM)")


async def test_a_state_is_read_as_its_label(ioc: Ioc):
    async with listening([HUTCH]) as listener:
        assert await listener.next() == SignalReading(HUTCH, "Searched", "Searched")
        ioc.put(HUTCH, 2)
        assert await listener.next() == SignalReading(HUTCH, "Locked", "Locked")


async def test_a_state_without_a_label_is_no_value(ioc: Ioc):
    async with listening(["SR:UNLABELLED"]) as listener:
        assert (await listener.next()).value is None


async def test_a_number_is_read_as_plain_text(ioc: Ioc):
    async with listening([TURNS]) as listener:
        assert (await listener.next()).value == "7"
    async with listening([CURRENT]) as listener:
        assert (await listener.next()).value == "0.5"
        ioc.put(CURRENT, 1.0, 300.0, -2.5e-7, float("inf"))
        read = [each.value for each in await listener.several(4)]
        assert read == ["1", "300", "-0.00000025", None]


async def test_every_signal_is_read_at_first_and_once_however_often_it_is_named(ioc: Ioc):
    async with listening([PERMIT, TURNS, PERMIT]) as listener:
        assert {each.signal for each in await listener.several(2)} == {PERMIT, TURNS}
        ioc.put(TURNS, 8)
        assert await listener.next() == SignalReading(TURNS, "8", "8")


async def test_a_signal_nobody_serves_is_not_connected(ioc: Ioc):
    async with listening(["PSS:NOBODY", PERMIT], connect_timeout=0.5) as listener:
        read: list[SignalReading] = []
        while DENIED not in read:
            read.append(await listener.next())
        if (nobody := SignalReading("PSS:NOBODY", None, "not connected")) not in read:
            assert await listener.next() == nobody


async def test_a_signal_that_may_no_longer_be_read_has_no_value_until_it_may(ioc: Ioc):
    async with listening([PERMIT]) as listener:
        assert await listener.next() == DENIED
        ioc.access(PERMIT, "HIDDEN")
        assert await listener.next() == SignalReading(PERMIT, None, "not readable")
        ioc.access(PERMIT, "DEFAULT")
        while (reading := await listener.next()).value is None:
            pass
        assert reading == DENIED


async def test_nothing_is_followed_once_the_readings_are_closed(ioc: Ioc):
    async with listening([PERMIT]) as listener:
        await listener.next()
        assert followers(PERMIT) == 1
    assert followers(PERMIT) == 0


async def test_nothing_is_followed_once_the_listener_is_cancelled(ioc: Ioc):
    async def listen() -> None:
        async with listening([PERMIT]) as listener:
            while True:
                await listener.next()

    task = asyncio.create_task(listen())
    await until(lambda: followers(PERMIT) == 1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert followers(PERMIT) == 0


async def test_a_silence_shorter_than_an_echo_cannot_be_noticed():
    with pytest.raises(ValueError, match="more than 5 seconds"):
        EpicsSignals(silence_seconds=5.0)


async def test_a_killed_ioc_is_noticed_at_once_and_only_its_own_signals_are_lost(
    ioc: Ioc, network: Network
):
    other = IocRecord("OTHER:PERMIT", "boolOut", 1, ("Denied", "Granted"))
    with Ioc(network.ports[1], other) as doomed:
        async with listening([PERMIT, other.name]) as listener:
            assert {each.value for each in await listener.several(2)} == {"Denied", "Granted"}
            doomed.kill()
            assert await listener.next(5) == SignalReading(other.name, None, "not connected")
            ioc.put(PERMIT, 1)
            assert await listener.next() == GRANTED


@pytest.mark.faults
async def test_a_signal_that_appears_late_or_again_is_read_without_asking_again(network: Network):
    late = IocRecord("LATE:PERMIT", "boolOut", 1, ("Denied", "Granted"))
    async with listening([late.name], connect_timeout=0.2) as listener:
        assert await listener.next() == SignalReading(late.name, None, "not connected")
        with Ioc(network.ports[1], late) as ioc:
            assert await listener.next() == SignalReading(late.name, "Granted", "Granted")
            ioc.kill()
            assert await listener.next(5) == SignalReading(late.name, None, "not connected")
            ioc.start()
            # libca begins to search for what it lost only every ten seconds.
            assert await listener.next(30) == SignalReading(late.name, "Granted", "Granted")
            ioc.put(late.name, 0, 1)
            read = [each.value for each in await listener.several(2)]
            assert read == ["Denied", "Granted"]


@pytest.mark.faults
async def test_a_signal_lost_and_found_while_we_were_busy_is_read_as_it_is_now(network: Network):
    before = IocRecord("BUSY:PERMIT", "longOut", 1)
    after = IocRecord("BUSY:PERMIT", "boolOut", 1, ("Denied", "Granted"))
    async with listening([before.name]) as listener:
        with Ioc(network.ports[1], before) as ioc:
            assert (await listener.next()).value == "1"
            ioc.kill()
        with Ioc(network.ports[1], after):
            deadline = time.monotonic() + 30
            while not is_connected(network.ports[1]):
                assert time.monotonic() < deadline
                time.sleep(0.2)
            while (reading := await listener.next(10)).value != "Granted":
                pass
            assert reading == SignalReading(before.name, "Granted", "Granted")
            with pytest.raises(TimeoutError):
                await listener.next(0.5)


@pytest.mark.faults
async def test_a_frozen_ioc_is_noticed_within_the_silence_and_read_again_once_it_continues(
    network: Network,
):
    record = IocRecord("FROZEN:PERMIT", "boolOut", 1, ("Denied", "Granted"))
    with Ioc(network.ports[1], record) as ioc:
        async with listening([record.name]) as listener:
            granted = SignalReading(record.name, "Granted", "Granted")
            assert await listener.next() == granted
            ioc.freeze()
            # A few seconds more for the machine that runs the tests.
            lost = await listener.next(SILENCE + 4)
            assert lost == SignalReading(record.name, None, "not connected")
            ioc.thaw()
            assert await listener.next() == granted
            ioc.put(record.name, 0)
            # It may be read as it was once more, because it was followed anew.
            while (reading := await listener.next()).value != "Denied":
                assert reading == granted


def is_connected(port: int) -> bool:
    """Whether somebody has a connection to this port of ours."""
    lines = Path("/proc/net/tcp").read_text().splitlines()[1:]
    here, established = f":{port:04X}", "01"
    return any(
        fields[1].endswith(here) and fields[3] == established
        for fields in (line.split() for line in lines)
    )
