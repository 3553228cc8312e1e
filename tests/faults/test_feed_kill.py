"""Services and the database are killed under load; every listener gets every event in order."""

import asyncio
from array import array
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from itertools import cycle
from random import Random
from typing import NamedTuple
from uuid import UUID

import asyncpg
import httpx2
import pytest
from benchmarks.loading import load_visits
from msgspec.structs import asdict

from beamkeep.adapters.postgres.connections import CONNECTION_ERRORS, UNAVAILABLE_ERRORS
from beamkeep.contexts.trust import seeded
from beamkeep.kernel import Record, SurfaceKind
from beamkeep.runtime.store import BEGINNING, Position
from beamkeep.testing.calling import Rest
from beamkeep.testing.cluster import Cluster
from beamkeep.testing.feed_listener import FeedListener
from beamkeep.testing.forking import Forked
from beamkeep.testing.installation import ISSUER
from beamkeep.testing.seeds import dice, seed
from beamkeep.testing.server import LocalDeployment, deployment, free_port
from beamkeep.testing.service import policy
from beamkeep.testing.waiting import until
from tests.faults.conftest import Report
from tests.faults.ground import connected
from tests.faults.report import ROOT, asked, rounds

pytestmark = [pytest.mark.faults, pytest.mark.anyio]

KILLS, VICTIMS = 8, ("service", "database", "service", "database", "service")
WRITERS, SERVICES, PER_PRINCIPAL = 6, 2, 6
VISIT_EVENTS, MOST_VISITS = 20, 25
HELD, LONGEST_HELD = 0.2, 1.0
"""The share of transactions that stay open for a while, and for how many seconds at most."""
DEADLINE, DAY = 60.0, 24 * 3600

LOG = """
SELECT e.transaction_id::text::bigint, e.position, o.principal_id
  FROM bk.events e
  JOIN bk.events o ON o.stream_type = e.stream_type AND o.stream_id = e.stream_id AND o.version = 1
 WHERE e.command_name = 'load_visit' ORDER BY e.transaction_id, e.position
"""


class Follower(NamedTuple):
    """Somebody who may see all events, or only those of objects of their own."""

    id: UUID
    token: str
    sees_all: bool


class Received:
    """The positions that one listener received."""

    def __init__(self, who: Follower) -> None:
        self.who, self.repeated = who, 0
        self._txs, self._positions = array("Q"), array("Q")
        self._late: list[Position] = []
        self.reached = Position(0, 0)

    def __call__(self, position: Position, data: bytes) -> None:
        if position <= self.reached:
            self._late.append(position)
            return
        self.reached = position
        self._txs.append(position.tx)
        self._positions.append(position.position)

    def compared(self, log: Sequence[tuple[Position, UUID]]) -> "FeedFigures":
        """Return what this listener lacks of the log, and what it should not have."""
        wanted = {place for place, owner in log if self.who.sees_all or owner == self.who.id}
        seen = {Position(*pair) for pair in zip(self._txs, self._positions, strict=True)}
        # An event that comes late is a repetition only if it was there before.
        misordered = {*self._late} - seen
        return FeedFigures(
            received=len(seen),
            repeated=len(self._late) - len(misordered),
            skipped=len(wanted - seen - misordered),
            misordered=len(misordered),
            leaked=len(seen - wanted),
        )


class FeedFigures(Record):
    """What listeners received."""

    received: int
    repeated: int
    """Events that a listener received again after it had continued."""
    skipped: int
    misordered: int
    leaked: int
    """Events that a listener must not see."""

    def __add__(self, other: "FeedFigures") -> "FeedFigures":
        pairs = zip(asdict(self).values(), asdict(other).values(), strict=True)
        return FeedFigures(*(mine + theirs for mine, theirs in pairs))


class ServeProcess:
    """`beamkeep serve` as a process that can be killed."""

    def __init__(self, made: LocalDeployment, module: str) -> None:
        self._made, self._module, self._port = made, module, free_port()
        self.url = f"http://127.0.0.1:{self._port}"
        self._process = self._start()

    async def kept_running(self) -> None:
        """Start the service again whenever it has ended, as a service manager does."""
        while True:
            await asyncio.to_thread(self._process.wait)
            self._process = self._start()

    def kill(self) -> None:
        """End the process without a chance to close anything."""
        self._process.kill()

    def close(self) -> None:
        """End the process for good."""
        self._process.kill()
        self._process.wait(DEADLINE)

    def _start(self) -> Forked:
        # The lists are no part of this, and the projector would take the processor.
        ports = dict.fromkeys(("port", "metrics_port"), str(self._port))
        own = {**ports, "project_in_serve": "false", "log_level": "error"}
        with self._made.log.open("ab") as log:
            return Forked(
                [self._module, "serve"],
                cwd=self._made.folder,
                env=self._made.environment(**own, pythonpath=str(ROOT)),
                stdout=log,
                stderr=log,
            )


class Load:
    """Writers of visits, which pause when they have written what is asked of them."""

    def __init__(self, url: str, owners: Sequence[Follower]) -> None:
        self._url, self._owners = url, owners
        self._next_visit = self.written = self.asked = self._writing = 0
        self._wake = asyncio.Event()

    async def write(self, more: int) -> None:
        """Write so many events, and return when no transaction is under way."""
        self.asked = self.written + more
        self._wake.set()
        await until(
            lambda: self.written >= self.asked and not self._writing, "the writers have written"
        )

    async def run(self, random: Random) -> None:
        """Write until cancelled, now and then in a transaction that stays open for a while."""
        while True:
            if self.written >= self.asked:
                self._wake.clear()
                await self._wake.wait()
            self._writing += 1
            try:
                connection = await asyncpg.connect(self._url, timeout=5)
                try:
                    while self.written < self.asked:
                        await self._transaction(connection, random)
                finally:
                    connection.terminate()
            except (*CONNECTION_ERRORS, *UNAVAILABLE_ERRORS):
                await asyncio.sleep(0.05)
            finally:
                self._writing -= 1

    async def _transaction(self, connection: asyncpg.Connection, random: Random) -> None:
        visits = random.randint(1, MOST_VISITS)
        # What a crash leaves undecided is not written again: the next visits are others.
        first, self._next_visit = self._next_visit, self._next_visit + visits
        async with connection.transaction():
            owner = random.choice(self._owners).id
            await load_visits(connection, owner, first, visits, VISIT_EVENTS)
            if random.random() < HELD:
                await connection.execute("SELECT pg_sleep($1)", random.uniform(0, LONGEST_HELD))
        self.written += visits * VISIT_EVENTS

    @asynccontextmanager
    async def uncommitted(self) -> AsyncGenerator[None]:
        """Write a visit of every owner, and commit them when the context ends."""
        async with connected(self._url) as connection, connection.transaction():
            await self._one_of_each(connection)
            yield

    async def write_one_of_each(self) -> None:
        """Write a last visit of every owner."""
        async with connected(self._url) as connection:
            await self._one_of_each(connection)

    async def _one_of_each(self, connection: asyncpg.Connection) -> None:
        for owner in self._owners:
            visit, self._next_visit = self._next_visit, self._next_visit + 1
            await load_visits(connection, owner.id, visit, 1, 1)


class FeedGround(NamedTuple):
    """A deployment with services, listeners and writers."""

    cluster: Cluster
    database_url: str
    services: Sequence[ServeProcess]
    listeners: Sequence[tuple[FeedListener, Received]]
    load: Load

    def everyone_listens(self) -> bool:
        """Return whether every listener is connected."""
        return all(listener.connected for listener, _ in self.listeners)

    def everyone_received(self) -> bool:
        """Return whether every listener has received an event."""
        return all(received.reached > BEGINNING for _, received in self.listeners)


@asynccontextmanager
async def following(module: str, count: int) -> AsyncGenerator[FeedGround]:
    """Run services, with listeners that all begin at one place."""
    with Cluster.start() as cluster, deployment(cluster, True) as made:
        services = [ServeProcess(made, module) for _ in range(SERVICES)]
        try:
            async with httpx2.AsyncClient(base_url=services[0].url, timeout=30) as http:
                await until(lambda: _answers(http), "the service answers")
                people = -(-count // PER_PRINCIPAL)
                followers = [await _enrolled(http, made, n) for n in range(max(2, people))]
                began = await http.get("/events?after=now", headers=_bearer(made.admin))
            listeners: list[tuple[FeedListener, Received]] = []
            for _, who in zip(range(count), cycle(followers), strict=False):
                urls, received = [each.url for each in services], Received(who)
                last_id = began.json()["next_cursor"]
                listeners.append((FeedListener(urls, who.token, last_id, received), received))
            load = Load(made.database.url(), followers)
            async with asyncio.TaskGroup() as group:
                running = [group.create_task(listener.run()) for listener, _ in listeners]
                running += [group.create_task(service.kept_running()) for service in services]
                running += [
                    group.create_task(load.run(dice(seed(), "writer", n))) for n in range(WRITERS)
                ]
                yield FeedGround(
                    cluster=cluster,
                    database_url=made.database.url("postgres"),
                    services=services,
                    listeners=listeners,
                    load=load,
                )
                for task in running:
                    task.cancel()
        finally:
            for service in services:
                service.close()


async def _answers(http: httpx2.AsyncClient) -> bool:
    try:
        return (await http.get("/health")).is_success
    except httpx2.TransportError:
        return False


async def _enrolled(http: httpx2.AsyncClient, made: LocalDeployment, number: int) -> Follower:
    """Register a person who may follow all events, or every second one only their own."""
    rest, subject, sees_all = Rest(http), f"follower-{number}", number % 2 == 0
    login = {"issuer": ISSUER, "subject": subject}
    person = {"name": subject, "identities": [login]}
    actor_id = (await rest.send(made.admin, "register_actor", person)).body["actor_id"]
    surface_id, scope = seeded.SURFACES[SurfaceKind.HTTP], "All" if sees_all else "Own"
    granted = policy("Follow", surface_id, actor_id, "list_events", scope=scope)
    assert (await rest.send(made.admin, "define_policy", granted)).ok
    return Follower(UUID(actor_id), made.token(subject, DAY), sees_all)


def _bearer(token: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"}


async def judged(ground: FeedGround) -> tuple[int, FeedFigures]:
    """Wait until every listener has the last event it may see, and compare all with the log."""
    await ground.load.write_one_of_each()
    async with connected(ground.database_url) as connection:
        rows = await connection.fetch(LOG)
    log = [(Position(tx, position), owner) for tx, position, owner in rows]
    for listener, received in ground.listeners:
        last = max(p for p, owner in log if received.who.sees_all or owner == received.who.id)
        while listener.reached < last:
            before = listener.reached
            await until(lambda each=listener, at=before: each.reached > at, "a listener goes on")
    figures = [received.compared(log) for _, received in ground.listeners]
    return len(log), sum(figures[1:], figures[0])


async def test_every_listener_gets_every_event_while_services_and_the_database_are_killed(
    report: Report,
):
    events, listeners = asked("FEED_EVENTS", 50_000), asked("FEED_LISTENERS", 8)
    random, kills = dice(seed(), "nemesis"), {"service": 0, "database": 0}
    async with following("beamkeep", listeners) as ground:
        victims, count = cycle(VICTIMS), asked("FEED_KILLS", KILLS)
        # By turns: those who listened to the one that was killed listen to the next victim.
        services = cycle(ground.services)
        for _ in rounds("FEED_KILLS", KILLS, 4, 50):
            writing = asyncio.create_task(ground.load.write(events // count))
            await asyncio.sleep(random.uniform(0, 1))
            victim = next(victims)
            kills[victim] += 1
            if victim == "service":
                next(services).kill()
            else:
                await asyncio.to_thread(ground.cluster.kill)
                await asyncio.to_thread(ground.cluster.resume)
            await writing
            await until(ground.everyone_listens, "every listener is connected")
        total, figures = await judged(ground)
        connections = sum(listener.connections for listener, _ in ground.listeners)
    report(
        "T16",
        {
            "events": total,
            "listeners": listeners,
            "service_kills": kills["service"],
            "database_kills": kills["database"],
            "connections": connections,
            **asdict(figures),
        },
    )
    assert figures.received > total
    assert connections > listeners
    assert figures.skipped == figures.misordered == figures.leaked == 0


async def test_the_feed_test_fails_on_a_follower_without_the_xmin_rule(report: Report):
    async with following("tests.faults.careless_server", 4) as ground:
        await until(ground.everyone_listens, "every listener is connected")
        async with ground.load.uncommitted():
            await ground.load.write(5_000)
            await until(ground.everyone_received, "every listener has passed the open transaction")
        total, figures = await judged(ground)
    report("T16 without the xmin rule", {"events": total, **asdict(figures)})
    assert figures.skipped > 0
