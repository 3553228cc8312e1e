"""Every event of the log is on the bus, once and in order."""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import NamedTuple
from uuid import UUID, uuid4

import pytest
from tests.support.nats import STREAM, NatsServer, nats_server

from beamkeep.adapters.memory.directory import MemoryDirectory
from beamkeep.adapters.memory.log import MemoryEventLog
from beamkeep.adapters.memory.store import MemoryStore
from beamkeep.contexts.catalogue import CATALOGUE
from beamkeep.feed.log import START, Followed, LogPlace, LogQuery
from beamkeep.feed.reading import LogReader, log_reader
from beamkeep.parts.relay import relay as relaying
from beamkeep.parts.relay.jetstream import JetStreamBus, StreamLimits
from beamkeep.parts.relay.relay import (
    BreakDecidedError,
    BusConflictError,
    BusMessage,
    BusUnavailableError,
    Relay,
    RelayPlace,
    StreamRefusedError,
    UnknownPlaceError,
)
from beamkeep.runtime import Service
from beamkeep.telemetry import Telemetry
from beamkeep.testing.appends import CODEC
from beamkeep.testing.service import call, memory_service
from beamkeep.testing.waiting import until

pytestmark = pytest.mark.anyio

URL = "https://lab.test"
NOW = datetime(2030, 1, 1, tzinfo=UTC)


class MemoryRelayPlaces:
    """The place of a relay in memory."""

    def __init__(self) -> None:
        self.kept: RelayPlace | None = None

    async def read(self) -> RelayPlace | None:
        return self.kept

    async def write(self, place: LogPlace) -> None:
        if not (self.kept and self.kept.is_new_decision):
            self.kept = RelayPlace(place)

    async def decide(self, place: LogPlace) -> None:
        self.kept = RelayPlace(place, decided=True)

    async def begin_break(self, sequence: int) -> None:
        assert self.kept
        self.kept = RelayPlace(self.kept.place, decided=True, break_sequence=sequence)


class Forgetful(MemoryRelayPlaces):
    """Keeps decisions only, as if every relay were killed before it has written its place."""

    async def write(self, place: LogPlace) -> None:
        pass


class Relaying(NamedTuple):
    """A service, its log, and the server that its events are relayed to."""

    service: Service
    store: MemoryStore
    log: MemoryEventLog
    reader: LogReader
    places: MemoryRelayPlaces
    server: NatsServer
    wake: asyncio.Event

    @property
    def bus(self) -> JetStreamBus:
        return JetStreamBus(self.server.url, STREAM, StreamLimits())

    def relay(self) -> Relay:
        return self.relay_with(lambda: NOW, Telemetry())

    def relay_with(self, clock: Callable[[], datetime], telemetry: Telemetry) -> Relay:
        return Relay(
            self.reader,
            self.bus,
            self.places,
            clock=clock,
            telemetry=telemetry,
            wake=self.wake,
        )

    @asynccontextmanager
    async def relayed(self) -> AsyncGenerator[None]:
        """Run a relay for a while."""
        task = asyncio.create_task(self.relay().run())
        try:
            yield
        finally:
            task.cancel()
            await asyncio.wait([task])

    async def catch_up(self) -> None:
        """Relay until the newest event is on the bus."""
        head = await self.reader.log.head()
        assert head
        async with self.relayed():
            await until(lambda: self._has(head), "the newest event is on the bus")

    async def _has(self, head: LogPlace) -> bool:
        try:
            found = await self.server.messages()
        except Exception:
            return False
        return bool(found) and found[-1].headers["Nats-Msg-Id"] == str(head.event_id)

    async def zones(self, *names: str) -> None:
        for name in names:
            await call(self.service, "define_zone", {"name": name})

    async def on_the_bus(self) -> list[UUID]:
        return [UUID(each.headers["Nats-Msg-Id"]) for each in await self.server.messages()]

    async def in_the_log(self) -> list[UUID]:
        page = await self.reader.log.page(LogQuery(1_000))
        return [event.event_id for event in page.events]


async def relaying_to(server: NatsServer) -> Relaying:
    service, store = await memory_service()
    directory = MemoryDirectory(store, CATALOGUE.views, CODEC)
    log = MemoryEventLog(store, directory)
    reader = log_reader(
        log, CATALOGUE, CODEC, cursor_key=b"k" * 32, base_url=URL, directory=directory
    )
    return Relaying(
        service,
        store,
        log,
        reader=reader,
        places=MemoryRelayPlaces(),
        server=server,
        wake=asyncio.Event(),
    )


@pytest.fixture
def server() -> Generator[NatsServer]:
    with nats_server() as server:
        yield server


@pytest.fixture
async def at(server: NatsServer) -> Relaying:
    return await relaying_to(server)


async def test_every_event_is_published_once_and_in_order(at: Relaying):
    await at.zones("A", "B")
    await at.catch_up()
    assert await at.on_the_bus() == await at.in_the_log()
    last = (await at.server.messages())[-1]
    told = json.loads(last.body)
    assert last.subject == "beamkeep.-.Zone.ZoneDefined"
    assert (told["type"], told["data"]["name"]) == ("beamkeep.ZoneDefined", "B")
    assert last.headers["Beamkeep-Cursor"] == told["cursor"]
    assert "Beamkeep-Break" not in last.headers


async def test_the_subject_of_a_message_has_the_facility_and_its_event_the_name(at: Relaying):
    enclosure = {"name": "Hutch", "facility_code": "synchrotron"}
    await call(at.service, "register_enclosure", enclosure)
    await at.zones("A")
    await at.catch_up()
    *_, hutch, zone = await at.server.messages()
    assert hutch.subject == "beamkeep.synchrotron.Enclosure.EnclosureRegistered"
    assert zone.subject == "beamkeep.-.Zone.ZoneDefined"
    assert [json.loads(each.body)["subject"] for each in (hutch, zone)] == ["Hutch", "A"]


async def test_a_relay_waits_until_the_directory_has_followed(
    at: Relaying, monkeypatch: pytest.MonkeyPatch
):
    await at.catch_up()
    before = await at.on_the_bus()
    (at.log.unfollowed, _) = held = await at.log.followed()
    await at.zones("A", "B")
    looks: list[int] = []

    async def followed() -> Followed:
        looks.append(len(looks))
        return (
            held._replace(waits=True)
            if at.log.unfollowed
            else await MemoryEventLog.followed(at.log)
        )

    monkeypatch.setattr(at.log, "followed", followed)
    async with at.relayed():
        await until(lambda: len(looks) > 3, "the relay has looked again and again")
        assert await at.on_the_bus() == before
        at.log.unfollowed = None
        await until(lambda: _is_complete(at), "both are on the bus")


async def test_a_relay_publishes_what_happens_while_it_runs(at: Relaying):
    await at.catch_up()
    async with at.relayed():
        await at.zones("A")
        at.wake.set()
        await until(lambda: _is_complete(at), "the zone is on the bus")


async def _is_complete(at: Relaying) -> bool:
    return await at.on_the_bus() == await at.in_the_log()


async def test_a_relay_continues_after_the_last_message_though_its_place_was_not_stored(
    server: NatsServer,
):
    at = (await relaying_to(server))._replace(places=Forgetful())
    for name in "ABC":
        await at.zones(name)
        await at.catch_up()
    assert await at.on_the_bus() == await at.in_the_log()
    assert await at.places.read() is None


async def test_a_relay_of_an_emptied_stream_continues_after_the_place_it_stored(at: Relaying):
    await at.zones("A")
    async with at.relayed():
        head = await at.reader.log.head()
        assert head
        await until(lambda: at.places.kept == RelayPlace(head), "the place is kept")
    async with at.server.context() as context:
        await context.purge_stream(STREAM)
    await at.zones("B")
    await at.catch_up()
    assert [json.loads(each.body)["data"]["name"] for each in await at.server.messages()] == ["B"]


async def test_of_two_relays_one_publishes_and_the_other_stops(at: Relaying):
    await at.catch_up()
    async with at.bus.session() as late:
        last = await late.last()
        await at.zones("A")
        await at.catch_up()
        message = BusMessage("beamkeep.-.Zone.ZoneDefined", uuid4(), "cursor", body=b"{}")
        with pytest.raises(BusConflictError):
            await late.publish([message], last.sequence)
    assert await at.on_the_bus() == await at.in_the_log()


async def test_an_event_that_the_log_does_not_know_stops_the_relay_until_it_is_decided(
    server: NatsServer,
):
    lost = await relaying_to(server)
    await lost.zones("Lost")
    await lost.catch_up()
    at = (await relaying_to(server))._replace(places=Forgetful())
    before = len(await at.server.messages())
    with pytest.raises(UnknownPlaceError, match="beamkeep relay --from now"):
        await at.relay().run()
    await at.places.decide(await at.reader.place("now") or START)
    await at.zones("A")
    await at.catch_up()
    await at.zones("B")
    # The decision is still there, as after a crash, but has been followed.
    await at.catch_up()
    after = (await at.server.messages())[before:]
    assert [json.loads(each.body)["data"]["name"] for each in after] == ["A", "B"]
    assert [each.headers.get("Beamkeep-Break") for each in after] == ["true", None]


async def test_a_running_relay_follows_a_decision(at: Relaying, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(relaying, "KEEP_SECONDS", 0)
    await at.catch_up()
    at.places.kept = None
    running = asyncio.create_task(at.relay().run())
    await until(lambda: at.places.kept is not None, "the relay has begun")
    await at.places.decide(START)
    with pytest.raises(BreakDecidedError):
        await running


async def test_a_stream_of_other_subjects_is_refused(at: Relaying):
    await at.server.create_stream("beamkeep.>", "other.>")
    with pytest.raises(StreamRefusedError, match="NATS_STREAM"):
        await at.relay().run()


async def test_a_stream_with_messages_of_another_writer_is_refused(at: Relaying):
    await at.server.create_stream("beamkeep.>")
    async with at.server.context() as context:
        await context.publish("beamkeep.-.Zone.ZoneDefined", b"{}")
    with pytest.raises(StreamRefusedError, match="not published by this deployment"):
        await at.relay().run()


async def test_an_event_too_large_for_the_bus_is_published_without_its_data():
    with nats_server(max_payload=1924) as server:
        at = await relaying_to(server)
        await at.zones("A", "B" * 200)
        await at.catch_up()
        small, large = [json.loads(each.body) for each in await server.messages()][-2:]
        assert small["data"]["name"] == "A"
        assert "dataref" not in small
        assert large["dataref"] == f"{large['source']}/history"
        assert "data" not in large
        assert await at.on_the_bus() == await at.in_the_log()


async def test_a_bus_that_is_away_costs_nothing_but_lag(at: Relaying):
    at.server.kill()
    times, shown = iter([NOW, NOW + timedelta(seconds=7)]), Telemetry()
    with pytest.raises(BusUnavailableError):
        await at.relay_with(lambda: next(times), shown).run()
    assert b"beamkeep_relay_lag_seconds 7.0" in shown.exposition()
    at.server.resume()
    await at.catch_up()
    assert await at.on_the_bus() == await at.in_the_log()
