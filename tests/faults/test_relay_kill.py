"""Relays and the message bus are killed; the stream has every event once and in order."""

import asyncio
import os
import signal
from collections import Counter
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from itertools import cycle, pairwise
from pathlib import Path

import pytest
from benchmarks.loading import load_visits
from msgspec.structs import asdict

from beamkeep.contexts.access.profile import DEVELOPER
from beamkeep.kernel import Record
from beamkeep.testing.forking import Forked
from beamkeep.testing.seeds import dice, seed
from beamkeep.testing.waiting import until
from tests.faults.conftest import Report
from tests.faults.ground import Ground, connected, fresh_ground
from tests.faults.report import ROOT, asked, rounds
from tests.support.nats import NatsServer, nats_server

pytestmark = [pytest.mark.faults, pytest.mark.anyio]

RELAYS, KILLS, EVENTS = 2, 20, 30_000
VICTIMS = ("relay", "bus", "relay", "bus", "paused relay")
VISITS, VISIT_EVENTS = 25, 20
WINDOW_SECONDS = 0.2
"""So short that the server has forgotten the ids of messages that a killed relay published."""
DEADLINE = 60.0
LOG = "SELECT event_id::text FROM bk.events ORDER BY transaction_id, position"


class RelayProcess:
    """A relay as a process that can be killed."""

    def __init__(self, ground: Ground, server: NatsServer, module: str, log: Path) -> None:
        self._environment = {**os.environ, **ground.environment("relay"), "NATS_URL": server.url}
        self._module, self._log = module, log
        self._process = self._start()

    def kill(self) -> None:
        """End the process without a chance to close anything, and start another in its place."""
        self.close()
        self._process = self._start()

    def pause(self) -> None:
        """Stop the process in the middle of whatever it does."""
        self._process.pause()

    def go_on(self) -> None:
        """Let the process continue as if nothing had happened."""
        self._process.send_signal(signal.SIGCONT)

    def close(self) -> None:
        """End the process for good."""
        self._process.kill()
        self._process.wait(DEADLINE)

    def _start(self) -> Forked:
        with self._log.open("ab") as log:
            return Forked([self._module], cwd=ROOT, env=self._environment, stdout=log, stderr=log)


class StreamFigures(Record):
    """What the stream has of the log."""

    published: int
    skipped: int
    duplicated: int
    misordered: int


class RelayGround:
    """A database, a message bus, and relays between them that do not know of each other."""

    def __init__(self, ground: Ground, server: NatsServer, relays: Sequence[RelayProcess]) -> None:
        self.server, self.relays = server, relays
        self._url, self._next_visit = ground.admin_url, 0

    async def write(self, events: int) -> None:
        """Write events, some hundred in a transaction."""
        async with connected(self._url) as connection:
            for _ in range(0, events, VISITS * VISIT_EVENTS):
                await load_visits(connection, DEVELOPER, self._next_visit, VISITS, VISIT_EVENTS)
                self._next_visit += VISITS

    async def is_further(self, than: int) -> bool:
        """Return whether the stream has more messages than so many."""
        return await self.server.last_sequence() > than

    async def pause_one(self, relay: RelayProcess, events: int) -> None:
        """Let the other relays publish events of which a paused relay knows nothing."""
        before = await self.server.last_sequence()
        relay.pause()
        try:
            await self.write(events)
            await until(partial(self.is_further, before), "another relay publishes")
            # By then the server has forgotten the ids of the messages.
            await asyncio.sleep(3 * WINDOW_SECONDS)
        finally:
            relay.go_on()

    async def judged(self) -> StreamFigures:
        """Wait until the last event is on the bus, and compare the stream with the log."""
        async with connected(self._url) as connection:
            log: list[str] = [row[0] for row in await connection.fetch(LOG)]
        while True:
            before = await self.server.last_sequence()
            if await self.server.last_id() == log[-1]:
                break
            await until(partial(self.is_further, before), "the relays go on")
        ids = [each.headers["Nats-Msg-Id"] for each in await self.server.messages()]
        place = {id: number for number, id in enumerate(log)}
        return StreamFigures(
            published=len(ids),
            skipped=len({*log} - {*ids}),
            duplicated=sum(count - 1 for count in Counter(ids).values()),
            misordered=sum(place[first] > place[second] for first, second in pairwise(ids)),
        )


@asynccontextmanager
async def relaying(module: str, folder: Path) -> AsyncGenerator[RelayGround]:
    """Run several relays at once."""
    async with fresh_ground() as ground:
        # The service writes what every deployment begins with.
        deployment = ground.deployment()
        await deployment.service()
        # Subjects name the facility of an object, which the directory has after the lists.
        projecting = asyncio.create_task(deployment.supervisor.run([deployment.projector()]))
        with nats_server() as server:
            await server.create_stream("beamkeep.>", window_seconds=WINDOW_SECONDS)
            log = folder / "relays.log"
            relays = [RelayProcess(ground, server, module, log) for _ in range(RELAYS)]
            try:
                yield RelayGround(ground, server, relays)
            finally:
                for relay in relays:
                    relay.close()
                deployment.supervisor.stop()
                await projecting
                await deployment.close()


async def test_every_event_is_on_the_bus_once_while_relays_and_the_bus_are_killed(
    report: Report, tmp_path: Path
):
    events, count = asked("RELAY_EVENTS", EVENTS), asked("RELAY_KILLS", KILLS)
    random, victims = dice(seed(), "nemesis"), cycle(VICTIMS)
    kills = Counter[str]()
    async with relaying("tests.faults.relay_worker", tmp_path) as at:
        for _ in rounds("RELAY_KILLS", KILLS, 5, 60):
            victim, relay = next(victims), random.choice(at.relays)
            kills[victim] += 1
            if victim == "paused relay":
                await at.pause_one(relay, events // count)
                continue
            before = await at.server.last_sequence()
            writing = asyncio.create_task(at.write(events // count))
            await until(partial(at.is_further, before), "a relay publishes")
            await asyncio.sleep(random.uniform(0, 0.1))
            if victim == "relay":
                await asyncio.to_thread(relay.kill)
            else:
                await asyncio.to_thread(at.server.kill)
                await asyncio.to_thread(at.server.resume)
            await writing
        figures = await at.judged()
    faults = {f"{victim}_faults".replace(" ", "_"): number for victim, number in kills.items()}
    report("T17", faults | asdict(figures))
    assert figures.published > 0
    assert figures.skipped == figures.duplicated == figures.misordered == 0


async def test_the_relay_test_fails_without_the_expected_last_sequence(
    report: Report, tmp_path: Path
):
    async with relaying("tests.faults.careless_relay_worker", tmp_path) as at:
        await until(partial(at.is_further, 0), "a relay publishes")
        # A relay that is paused while it starts again knows the end of the stream.
        for relay in [*at.relays] * 3:
            await at.pause_one(relay, 1_000)
        figures = await at.judged()
    report("T17 without the expected last sequence", asdict(figures))
    assert figures.duplicated > 0
