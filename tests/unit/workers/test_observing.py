"""What a control system says becomes observations: every change, in order, and silence too."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import msgspec
import pytest
from pydantic import ValidationError
from uuid_utils.compat import uuid7

from beamkeep.adapters.memory.store import MemoryStore
from beamkeep.contexts.enclosure.enclosure import (
    FRESHNESS,
    ObserveEnclosureStatus,
    PermitStatus,
)
from beamkeep.contexts.seams.routes import Substrate
from beamkeep.contexts.supply.supply import SUPPLY_FRESHNESS
from beamkeep.kernel import replace
from beamkeep.parts.conducting import observing
from beamkeep.parts.conducting.channels.memory import ChannelSimulator
from beamkeep.parts.conducting.channels.values import not_connected
from beamkeep.parts.conducting.control import ControlReading, Quality, ValueKind
from beamkeep.parts.conducting.observing import (
    EnclosureSignal,
    NamedSignal,
    Observer,
    SignalReading,
    SupplySignal,
    signal_reading,
)
from beamkeep.runtime import Service
from beamkeep.runtime.store import StoreUnavailableError
from beamkeep.schemas import Json
from beamkeep.telemetry import Telemetry
from beamkeep.testing.leases import GrantedLease
from beamkeep.testing.service import call, memory_service
from beamkeep.testing.waiting import until
from beamkeep.workers import supervision
from beamkeep.workers.reporting import Monitor
from beamkeep.workers.staleness import StalenessWatch
from beamkeep.workers.supervision import Supervisor, while_held

pytestmark = pytest.mark.anyio

PERMIT, BEAM = "PSS:PERMIT", "SR:BEAM"


class Script(ChannelSimulator):
    """A control system whose subscriptions yield what the test says, and nothing before that."""

    def __init__(self) -> None:
        super().__init__()
        self.said = dict[str, asyncio.Queue[ControlReading | Exception]]()
        self.followed = list[str]()
        self.open = 0

    async def subscribe(self, address: str) -> AsyncGenerator[ControlReading]:
        self.followed.append(address)
        self.open += 1
        try:
            while not isinstance(said := await self._of(address).get(), Exception):
                yield said
            raise said
        finally:
            self.open -= 1

    def say(self, signal: str, *values: str | None) -> None:
        now = datetime.now(UTC)
        for value in values:
            self._of(signal).put_nowait(
                not_connected(signal)
                if value is None
                else ControlReading(value, ValueKind.SCALAR, Quality.GOOD, "", now)
            )

    def fail(self, signal: str, error: Exception) -> None:
        self._of(signal).put_nowait(error)

    def _of(self, address: str) -> asyncio.Queue[ControlReading | Exception]:
        return self.said.setdefault(address, asyncio.Queue())


class World:
    """A service with one enclosure and one supply, and what was recorded of them."""

    def __init__(self, service: Service, store: MemoryStore) -> None:
        self.service, self.store, self.source = service, store, Script()
        self.monitor = Monitor(service.sender, uuid7)
        self.lease, self.looks = GrantedLease(), 0

    async def prepare(self) -> "World":
        hutch = {"name": "Hutch A", "facility_code": "synchrotron"}
        self.enclosure_id: UUID = (await call(self.service, "register_enclosure", hutch)).id
        beam = {"kind": "photon_beam", "name": "Beam", "facility_code": "synchrotron"}
        self.supply_id: UUID = (await call(self.service, "register_supply", beam)).id
        return self

    def signals(self) -> list[EnclosureSignal | SupplySignal]:
        ones = frozenset({"1"})
        hutch = EnclosureSignal(
            signal=PERMIT,
            enclosure_id=self.enclosure_id,
            permitted=ones,
            not_permitted=frozenset({"0"}),
        )
        beam = SupplySignal(signal=BEAM, supply_id=self.supply_id, recovering=ones)
        return [hutch, beam]

    def permits(self) -> list[str]:
        return self._recorded("Enclosure", self.enclosure_id, "to_permit_status")

    def supplies(self) -> list[str]:
        found = self.store.streams["Supply", self.supply_id][1:]
        return [envelope.event_type for envelope in found]

    def reasons(self) -> list[str]:
        return self._recorded("Enclosure", self.enclosure_id, "reason")

    def _recorded(self, name: str, id: UUID, field: str) -> list[str]:
        found = self.store.streams[name, id][1:]
        return [msgspec.json.decode(envelope.payload)[field] for envelope in found]

    async def supplied_at(self) -> datetime | None:
        """When the supply was last reported of."""
        rows = await self.store.rows(SUPPLY_FRESHNESS, {"supply_id": self.supply_id})
        return rows[0].last_reported_at if rows else None

    def pass_time(self, seconds: float) -> None:
        """Put the clock of the store forward."""
        now = self.store.clock() + timedelta(seconds=seconds)
        self.store.clock = lambda: now

    def watch(self) -> StalenessWatch:
        return StalenessWatch(self.monitor, self.service.sessions, self.looked)

    async def looked(self) -> None:
        self.looks += 1

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
        observer = Observer(
            self.monitor, self.source, self.signals(), repeat_seconds=repeat_seconds
        )
        supervisor, loop = (
            Supervisor(Telemetry()),
            while_held(self.lease, "observers", observer.run),
        )
        running = asyncio.create_task(supervisor.run([loop]))
        try:
            yield
        finally:
            supervisor.stop()
            await running


@pytest.fixture
async def world(monkeypatch: pytest.MonkeyPatch) -> World:
    monkeypatch.setattr(observing, "RECONNECT_SECONDS", 0.001)
    return await World(*await memory_service()).prepare()


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
    reason = f"{PERMIT} is not connected." if value is None else f"{PERMIT}: unexpected value 7"
    assert world.reasons() == [f"{PERMIT}: 1", reason]


async def test_a_value_with_characters_that_no_event_can_hold_is_unknown(world: World):
    async with world.observing():
        world.source.say(PERMIT, "1", "\0 \udc80")
        await until(lambda: len(world.permits()) == 2)
    assert world.permits() == ["Permitted", "Unknown"]
    assert world.reasons()[-1] == f"{PERMIT}: unexpected value ? ?"


async def test_a_value_that_would_mean_both_does_not_open_a_hutch(world: World):
    both = EnclosureSignal(
        signal=PERMIT,
        enclosure_id=uuid4(),
        permitted=frozenset({"1"}),
        not_permitted=frozenset({"1"}),
    )
    command = both.report(SignalReading("1", f"{PERMIT}: 1"), repeated=False)
    assert command.permit_status is PermitStatus.NOT_PERMITTED


async def test_a_server_that_stays_away_is_reported_once_until_it_comes_back(
    world: World, monkeypatch: pytest.MonkeyPatch
):
    reported = list[str]()

    async def counted(command: ObserveEnclosureStatus) -> bool:
        reported.append(command.permit_status)
        return True

    monkeypatch.setattr(world.monitor, "report", counted)
    async with world.observing():
        world.source.say(PERMIT, "1", None, None, None, "1")
        await until(lambda: len(reported) == 3)
    assert reported == ["Permitted", "Unknown", "Permitted"]
    assert world.source.followed.count(PERMIT) == 4


@pytest.mark.parametrize(
    ("value", "more", "text", "reason"),
    [
        ("Open", {}, "Open", "PSS:PERMIT: Open"),
        (7, {}, "7", "PSS:PERMIT: 7"),
        (300.0, {}, "300", "PSS:PERMIT: 300"),
        (-2.5e-7, {}, "-0.00000025", "PSS:PERMIT: -0.00000025"),
        (True, {}, "true", "PSS:PERMIT: true"),
        ("", {}, None, "PSS:PERMIT: not a single value"),
        ([1.0], {}, None, "PSS:PERMIT: not a single value"),
        ("Open", {"quality": Quality.BAD, "quality_detail": "MAJOR"}, "Open", "Bad: MAJOR"),
        (
            "Open",
            {"quality": Quality.BAD, "quality_detail": "INVALID", "invalid": True},
            None,
            "Bad: INVALID",
        ),
    ],
)
def test_a_reading_is_compared_as_text_and_an_invalid_one_has_none(
    value: Json, more: dict[str, Any], text: str | None, reason: str
):
    plain = ControlReading(value, ValueKind.SCALAR, Quality.GOOD, "", datetime.now(UTC))
    found = signal_reading(PERMIT, replace(plain, **more))
    assert (found.value, found.reason.endswith(reason)) == (text, True)


@pytest.mark.parametrize(
    ("signal", "substrate", "form"),
    [
        ("PSS:PERMIT", "tango", "the canonical form of tango: domain/family/member/attribute"),
        ("sys/PSS/1/permit", "tango", "in lower case"),
        ("PSS PERMIT", "epics_ca", "the canonical form of epics_ca: a record or field"),
        ("PSS:PERMIT.VAL", "epics_pva", "without .VAL"),
    ],
)
def test_an_address_that_the_control_system_cannot_have_is_refused_with_its_form(
    signal: str, substrate: Substrate, form: str
):
    with pytest.raises(ValidationError, match=form) as refused:
        NamedSignal(signal=signal, substrate=substrate)
    assert "Correct `signal`, or name its control system in `substrate`." in str(refused.value)


async def test_a_supply_is_lost_and_comes_back_but_is_never_declared_available(world: World):
    async with world.observing():
        # A supply that is not known to be lost need not come back: that report moves nothing.
        world.source.say(BEAM, "1", "0", "1", None, "1")
        await until(lambda: len(world.supplies()) == 4)
    down, back = "SupplyMarkedUnavailable", "SupplyMarkedRecovering"
    assert world.supplies() == [down, back, down, back]


async def test_an_unchanged_supply_is_reported_again_by_itself(world: World):
    about = {"supply_id": str(world.supply_id), "reason": "Seen by eye"}
    async with world.observing(repeat_seconds=0.005):
        world.source.say(BEAM, "1", "0")
        await until(lambda: len(world.supplies()) == 1)
        # The sensor is broken; the operator who looked knows better, until the signal changes.
        await call(world.service, "mark_supply_recovering", about)
        await call(world.service, "restore_supply", about)
        reports = {await world.supplied_at()}
        async with asyncio.timeout(5):
            while len(reports) < 4:
                reports.add(await world.supplied_at())
                await asyncio.sleep(0.001)
        assert world.supplies()[-1] == "SupplyRestored"
        world.source.say(BEAM, "1", "0")
        await until(lambda: world.supplies()[-1] == "SupplyMarkedUnavailable")


async def test_a_source_that_fails_is_unknown_and_is_followed_again(
    world: World, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(supervision, "RENEW_EVERY", 0.001)
    monkeypatch.setattr(supervision, "FIRST_RETRY", 0.001)
    async with world.observing():
        world.source.say(PERMIT, "1")
        world.source.fail(PERMIT, OSError("cut"))
        await until(lambda: world.permits() == ["Permitted", "Unknown"])
        world.source.say(PERMIT, "1")
        await until(lambda: len(world.permits()) == 3)
    assert world.supplies() == ["SupplyMarkedUnavailable"]


async def test_a_value_read_before_the_lease_was_lost_is_not_repeated_once_it_is_held_again(
    world: World, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(supervision, "RENEW_EVERY", 0.001)
    async with world.observing(repeat_seconds=0.005):
        world.source.say(PERMIT, "1")
        await until(lambda: len(world.permits()) == 1)
        world.lease.parts = ()
        await until(lambda: not world.source.open)
        before, world.lease.parts = await world.reported_at(), (0,)
        world.source.say(BEAM, "0")
        reports = {await world.supplied_at()}
        async with asyncio.timeout(5):
            while len(reports) < 4:
                reports.add(await world.supplied_at())
                await asyncio.sleep(0.001)
    assert await world.reported_at() == before


async def test_a_report_is_repeated_until_the_store_takes_it(
    world: World, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(observing, "RETRY_SECONDS", 0.001)
    world.store_fails(monkeypatch, times=2)
    async with world.observing():
        world.source.say(PERMIT, "1", "0")
        await until(lambda: len(world.permits()) == 2)
    assert world.permits() == ["Permitted", "NotPermitted"]


async def reported_once(world: World) -> None:
    """Let the hutch be permitted, and its monitor fall silent."""
    async with world.observing():
        world.source.say(PERMIT, "1")
        await until(lambda: len(world.permits()) == 1)
    reported = await world.reported_at()
    assert reported
    world.store.clock = lambda: reported


async def test_an_enclosure_of_a_silent_monitor_is_unknown(
    world: World, monkeypatch: pytest.MonkeyPatch
):
    await reported_once(world)
    watch = world.watch()
    world.pass_time(60)
    await watch.look()
    assert (world.permits(), world.looks) == (["Permitted"], 1)
    world.store_fails(monkeypatch, times=1)
    world.pass_time(1)
    await watch.look()
    assert world.permits() == ["Permitted"], "the store was away, and the watch does not wait"
    assert world.looks == 1, "a look that could not report is none"
    await watch.look()
    assert (world.permits(), world.looks) == (["Permitted", "Unknown"], 2)
    assert world.reasons()[-1] == "no observation for 61 seconds"
    world.pass_time(439)
    for each in (watch, world.watch()):
        await each.look()
    assert len(world.permits()) == 2, "what is unknown is not reported again"


async def test_an_enclosure_is_watched_while_the_lists_stand_still(
    world: World, monkeypatch: pytest.MonkeyPatch
):
    async def nothing(*_: object) -> list[object]:
        return []

    await reported_once(world)
    monkeypatch.setattr(world.store, "listing", nothing)
    world.pass_time(61)
    await world.watch().look()
    assert world.permits() == ["Permitted", "Unknown"]


async def test_every_silence_is_found_also_by_a_watch_that_found_one_before(world: World):
    watch = world.watch()
    for count in (1, 2, 3):
        async with world.observing():
            world.source.say(PERMIT, "1")
            await until(lambda: len(world.permits()) == 2 * count - 1)  # noqa: B023
        world.pass_time(61)
        await watch.look()
        assert world.permits() == ["Permitted", "Unknown"] * count


async def test_an_enclosure_nobody_ever_reported_of_is_left_alone(world: World):
    world.pass_time(86_400)
    await world.watch().look()
    assert (world.permits(), world.looks) == ([], 1)


async def test_an_observer_that_cannot_even_report_its_failure_continues(
    world: World, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(supervision, "RENEW_EVERY", 0.01)
    monkeypatch.setattr(supervision, "FIRST_RETRY", 0.01)
    world.store_fails(monkeypatch, 5, RuntimeError)

    def followed() -> bool:
        world.source.say(PERMIT, "1")
        return world.permits() == ["Permitted"]

    async with world.observing():
        await until(followed)
