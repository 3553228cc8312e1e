"""What a control system says becomes observations: every change, in order, and silence too."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Collection
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

import msgspec
import pytest
from tests.support.service import call, memory_service
from uuid_utils.compat import uuid7

from beamkeep.adapters.memory_store import MemoryStore
from beamkeep.contexts.enclosure.enclosure import FRESHNESS
from beamkeep.runtime import Service
from beamkeep.runtime.store import StoreUnavailableError
from beamkeep.workers import observing
from beamkeep.workers.observing import EnclosureSignal, Observed, Observer, SupplySignal
from beamkeep.workers.reporting import Monitor
from beamkeep.workers.signals import Reading
from beamkeep.workers.staleness import StalenessWatch

pytestmark = pytest.mark.anyio

PERMIT, BEAM = "PSS:PERMIT", "SR:BEAM"


class Script:
    """A control system that says what it is told to say."""

    def __init__(self) -> None:
        self.said: asyncio.Queue[Reading | Exception] = asyncio.Queue()
        self.followed: Collection[str] = ()

    async def readings(self, signals: Collection[str]) -> AsyncGenerator[Reading]:
        self.followed = list(signals)
        while True:
            said = await self.said.get()
            if isinstance(said, Exception):
                raise said
            yield said

    def say(self, signal: str, *values: str | None) -> None:
        for value in values:
            reason = "not connected" if value is None else value
            self.said.put_nowait(Reading(signal, value, reason))


class World:
    """A service with one enclosure and one supply, and what was recorded of them."""

    def __init__(self, service: Service, store: MemoryStore) -> None:
        self.service, self.store, self.source = service, store, Script()
        self.monitor = Monitor(service, uuid7)

    async def prepare(self) -> "World":
        hutch = {"name": "Hutch A", "facility_code": "synchrotron"}
        self.enclosure_id: UUID = (await call(self.service, "register_enclosure", hutch)).id
        beam = {"kind": "photon_beam", "name": "Beam", "facility_code": "synchrotron"}
        self.supply_id: UUID = (await call(self.service, "register_supply", beam)).id
        return self

    def observed(self) -> list[Observed]:
        ones = frozenset({"1"})
        hutch = EnclosureSignal(
            signal=PERMIT,
            enclosure_id=self.enclosure_id,
            permitted=ones,
            not_permitted=frozenset({"0"}),
        )
        beam = SupplySignal(signal=BEAM, supply_id=self.supply_id, recovering=ones)
        return [hutch.observed(), beam.observed()]

    def permits(self) -> list[str]:
        return self._told("Enclosure", self.enclosure_id, "to_permit_status")

    def supplies(self) -> list[str]:
        found = self.store.streams["Supply", self.supply_id][1:]
        return [envelope.event_type for envelope in found]

    def reasons(self) -> list[str]:
        return self._told("Enclosure", self.enclosure_id, "reason")

    def _told(self, name: str, id: UUID, field: str) -> list[str]:
        found = self.store.streams[name, id][1:]
        return [msgspec.json.decode(envelope.payload)[field] for envelope in found]

    async def reported_at(self) -> datetime | None:
        (row,) = await self.store.rows(FRESHNESS, {"enclosure_id": self.enclosure_id})
        return row.last_reported_at

    def store_fails(
        self,
        monkeypatch: pytest.MonkeyPatch,
        times: int,
        error: type[Exception] = StoreUnavailableError,
    ) -> None:
        append, failures = self.store.append, iter([True] * times)

        async def failing(*arguments: object) -> object:
            if next(failures, False):
                raise error
            return await append(*arguments)  # pyright: ignore[reportArgumentType]

        monkeypatch.setattr(self.store, "append", failing)

    @asynccontextmanager
    async def observing(self, repeat_seconds: float = 3600) -> AsyncGenerator[None]:
        observer = Observer(self.monitor, self.source, self.observed(), repeat_seconds)
        task = asyncio.create_task(observer.run())
        try:
            yield
        finally:
            task.cancel()
            await asyncio.wait([task])


@pytest.fixture
async def world() -> World:
    return await World(*await memory_service()).prepare()


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(5):
        while not holds():
            await asyncio.sleep(0.001)


async def test_every_change_of_a_signal_is_recorded_in_order(world: World):
    flips = ["1", "0"] * 25
    async with world.observing():
        world.source.say(PERMIT, *flips)
        await until(lambda: len(world.permits()) == 50)
    assert world.permits() == ["Permitted", "NotPermitted"] * 25
    assert set(world.source.followed) == {PERMIT, BEAM}


async def test_what_is_said_again_is_no_event_but_keeps_the_permit_fresh(world: World):
    async with world.observing():
        world.source.say(PERMIT, "1")
        await until(lambda: len(world.permits()) == 1)
        first = await world.reported_at()
        world.source.say(PERMIT, "1", "1", "0")
        await until(lambda: len(world.permits()) == 2)
    assert world.permits() == ["Permitted", "NotPermitted"]
    assert first
    assert (await world.reported_at() or first) > first


async def test_an_unchanged_permit_is_reported_again_by_itself(world: World):
    async with world.observing(repeat_seconds=0.005):
        world.source.say(PERMIT, "1")
        await until(lambda: len(world.permits()) == 1)
        reports = {await world.reported_at()}
        async with asyncio.timeout(5):
            while len(reports) < 4:
                reports.add(await world.reported_at())
                await asyncio.sleep(0.001)
    assert world.permits() == ["Permitted"]


@pytest.mark.parametrize("value", [None, "7"])
async def test_what_is_lost_or_not_understood_is_unknown(world: World, value: str | None):
    async with world.observing():
        world.source.say(PERMIT, "1", value)
        await until(lambda: len(world.permits()) == 2)
    assert world.permits() == ["Permitted", "Unknown"]
    told = "not connected" if value is None else "unexpected value 7"
    assert world.reasons() == [f"{PERMIT}: 1", f"{PERMIT}: {told}"]


async def test_a_value_that_would_mean_both_does_not_open_a_hutch(world: World):
    both = EnclosureSignal(
        signal=PERMIT,
        enclosure_id=uuid4(),
        permitted=frozenset({"1"}),
        not_permitted=frozenset({"1"}),
    )
    assert both.observed().statuses == {"1": "NotPermitted"}


async def test_a_supply_is_lost_and_comes_back_but_is_never_declared_available(world: World):
    async with world.observing():
        # A supply that is not known to be lost cannot come back: that report is refused.
        world.source.say(BEAM, "1", "0", "1", None, "1")
        await until(lambda: len(world.supplies()) == 4)
    down, back = "SupplyMarkedUnavailable", "SupplyMarkedRecovering"
    assert world.supplies() == [down, back, down, back]


async def test_a_source_that_fails_is_unknown_and_is_followed_again(
    world: World, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(observing, "RESTART_SECONDS", 0.001)
    async with world.observing():
        world.source.say(PERMIT, "1")
        world.source.said.put_nowait(OSError("cut"))
        await until(lambda: world.permits() == ["Permitted", "Unknown"])
        world.source.say(PERMIT, "1")
        await until(lambda: len(world.permits()) == 3)
    assert world.supplies() == ["SupplyMarkedUnavailable"]


async def test_a_report_is_repeated_until_the_store_takes_it(
    world: World, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(observing, "RETRY_SECONDS", 0.001)
    world.store_fails(monkeypatch, times=2)
    async with world.observing():
        world.source.say(PERMIT, "1", "0")
        await until(lambda: len(world.permits()) == 2)
    assert world.permits() == ["Permitted", "NotPermitted"]


async def test_an_enclosure_of_a_silent_monitor_is_unknown(
    world: World, monkeypatch: pytest.MonkeyPatch
):
    async with world.observing():
        world.source.say(PERMIT, "1")
        await until(lambda: len(world.permits()) == 1)
    reported = await world.reported_at()
    assert reported

    async def look(seconds: float) -> None:
        def now() -> datetime:
            return reported + timedelta(seconds=seconds)

        sessions = world.service.sessions
        await StalenessWatch(world.monitor, sessions, timedelta(seconds=60), now).look()

    await look(60)
    assert world.permits() == ["Permitted"]
    world.store_fails(monkeypatch, times=1)
    await look(61)
    assert world.permits() == ["Permitted"], "the store was away, and the watch does not wait"
    await look(61)
    assert world.permits() == ["Permitted", "Unknown"]
    assert world.reasons()[-1] == "no observation for 61 seconds"
    await look(500)
    assert len(world.permits()) == 2, "what is unknown is not reported again"


async def test_an_enclosure_nobody_ever_reported_of_is_left_alone(world: World):
    def now() -> datetime:
        return datetime.now(UTC) + timedelta(days=1)

    watch = StalenessWatch(world.monitor, world.service.sessions, timedelta(seconds=60), now)
    await watch.look()
    assert world.permits() == []


async def test_an_observer_that_cannot_even_tell_of_its_failure_goes_on(
    world: World, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("beamkeep.workers.observing.RESTART_SECONDS", 0.01)
    world.store_fails(monkeypatch, 5, RuntimeError)

    def followed() -> bool:
        world.source.say(PERMIT, "1")
        return world.permits() == ["Permitted"]

    async with world.observing():
        await until(followed)
