"""What clients wrote and read, at which moments, while the database is killed: one history."""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from random import Random
from typing import Any, NamedTuple
from uuid import UUID, uuid4

import msgspec
import pytest
from msgspec.structs import asdict

from beamkeep.adapters.postgres.connections import Connections
from beamkeep.contexts.access.actor import actors
from beamkeep.contexts.access.profile import DEVELOPER
from beamkeep.contexts.catalogue import CATALOGUE
from beamkeep.contexts.equipment.asset import assets
from beamkeep.contexts.equipment.mount import mounts
from beamkeep.deployment.composition import Deployment
from beamkeep.kernel import NotFound, Question, Refusal, SurfaceKind
from beamkeep.runtime import Service
from beamkeep.runtime.admission import Caller, Request
from beamkeep.runtime.queries import Found
from beamkeep.runtime.store import (
    LoadedStream,
    Position,
    StoredEvent,
    StoreUnavailableError,
    Stream,
)
from beamkeep.testing.log import LoggedEvent
from beamkeep.testing.seeds import dice, seed
from tests.faults.auditor import audit_history, read_log
from tests.faults.conftest import Report
from tests.faults.ground import Ground, fresh_ground
from tests.faults.history import Fact, Read, Write, audit_reads, fact, writes_of
from tests.faults.report import asked
from tests.faults.workload import Attempt, Client, End, Step, made

pytestmark = [pytest.mark.faults, pytest.mark.anyio]

CLIENTS = 8
STREAMS = {"mount": 60, "asset": 100, "actor": 40}
READS, OWN, RECENT, REPEATED = 0.4, 0.5, 0.5, 0.5
"""How often a client reads, reads what it has just written, looks at the few streams that all
look at, and repeats what may have been written."""
FEW, PAGE = 4, 100
AGGREGATES = {"mount": mounts, "asset": assets, "actor": actors}

WRONG = (
    *("lost", "doubled", "torn", "misnumbered", "written_though_refused", "unaccounted", "holes"),
    *("non_prefix", "partial", "stale", "backward", "overtaken"),
)

type Reads = Callable[[Stream], Awaitable[Sequence[Read]]]


class Timed(Client):
    """Also remembers when each attempt began."""

    def __init__(self, service: Service) -> None:
        super().__init__(service)
        self.begun: dict[UUID, float] = {}

    async def attempt(self, key: str, step: Step, idempotent: bool = True) -> Attempt:
        """Try one request once."""
        begun = time.monotonic()
        attempt = await super().attempt(key, step, idempotent)
        self.begun[attempt.correlation_id] = begun
        return attempt


class Floor:
    """The streams that are written and read: mounts, the assets put in them, and actors."""

    def __init__(self) -> None:
        self.root = self.family_id = ""
        self.ids: dict[str, list[str]] = {noun: [] for noun in STREAMS}
        self.installed: dict[str, str] = {}
        """Which asset is believed to be in a mount."""

    async def furnish(self, client: Client) -> None:
        """Make as many streams of each kind as there shall be."""
        self.family_id = await client.succeed("define_family", name="Group", affordances=[])
        where = {"name": "Hall", "tier": "Device", "facility_code": "local"}
        of = {"family_ids": [self.family_id]}
        self.root = await client.succeed("register_asset", **where, **of)
        for noun, count in STREAMS.items():
            step = self._creation(noun)
            made = [client.succeed(step.name, **step.arguments) for _ in range(count)]
            self.ids[noun] = list(await asyncio.gather(*made))

    def stream(self, dice: Random) -> Stream:
        """Any stream, often one of the few that are looked at most."""
        noun = dice.choices(list(STREAMS), list(STREAMS.values()))[0]
        return AGGREGATES[noun].name, UUID(self._one(noun, dice))

    def choose(self, dice: Random) -> Step:
        """The next command."""
        match dice.choices(("create", "profile", "condition", "install"), (2, 3, 3, 6))[0]:
            case "create":
                return self._creation(dice.choice(list(STREAMS)))
            case "profile":
                who = self._one("actor", dice)
                return Step("update_actor_profile", {"actor_id": who, "phone": str(dice.random())})
            case "condition":
                name = dice.choice(("degrade_asset", "fault_asset", "restore_asset"))
                return Step(name, {"asset_id": self._one("asset", dice), "reason": "Worn"})
            case _:
                mount_id = self._one("mount", dice)
                if mount_id in self.installed:
                    return Step("uninstall_asset", {"mount_id": mount_id, "reason": "Broken"})
                asset_id = self._one("asset", dice)
                return Step("install_asset", {"mount_id": mount_id, "asset_id": asset_id})

    def learn(self, step: Step, attempt: Attempt, dice: Random) -> None:
        """Remember what a command made or moved; what is new takes the place of something old."""
        mount_id = step.arguments.get("mount_id", "")
        # Also where it was refused or is not known: the next command finds out.
        if step.name == "install_asset":
            self.installed[mount_id] = step.arguments["asset_id"]
        elif mount_id:
            self.installed.pop(mount_id, None)
        elif step.name.startswith("register_") and attempt.answered:
            ids = self.ids[step.name.removeprefix("register_")]
            ids[dice.randrange(len(ids))] = made(step, attempt.answered)

    def _creation(self, noun: str) -> Step:
        match noun:
            case "mount":
                return Step("register_mount", {"slot_code": "A1"})
            case "asset":
                under = {"name": "Part", "tier": "Device", "parent_id": self.root}
                return Step("register_asset", {**under, "family_ids": [self.family_id]})
            case _:
                return Step("register_actor", {"name": "Grace"})

    def _one(self, noun: str, dice: Random) -> str:
        ids = self.ids[noun]
        return dice.choice(ids[:FEW] if dice.random() < RECENT else ids)


class Reader:
    """Reads streams through the service, in every way there is."""

    def __init__(self, deployment: Deployment, service: Service, floor: Floor, dice: Random):
        self._store, self._service = deployment.store, service
        self._floor, self._dice = floor, dice

    async def __call__(self, stream: Stream) -> Sequence[Read]:
        """What is told of one stream, perhaps of another one too."""
        match self._dice.choices(("state", "history", "together"), (5, 2, 3))[0]:
            case "state":
                return [await self._state(stream)]
            case "history":
                return [await self._history(stream)]
            case _:
                return await self._together(stream)

    async def _state(self, stream: Stream) -> Read:
        begun = time.monotonic()
        try:
            found = await self._ask("get_{}", stream)
        except NotFound:
            return Read(stream, 0, begun, time.monotonic(), ())
        told: dict[str, Any] = msgspec.json.decode(found.body)
        assert found.version is not None
        return Read(stream, found.version, begun, time.monotonic(), told)

    async def _history(self, stream: Stream) -> Read:
        begun, more = time.monotonic(), dict[str, Any]()
        told: list[Fact] = []
        try:
            while True:
                found = await self._ask("get_{}_history", stream, limit=PAGE, **more)
                page: dict[str, Any] = msgspec.json.decode(found.body)
                told += [(e["version"], e["event_type"], e["payload"]) for e in page["items"]]
                if page["next_cursor"] is None:
                    break
                more = {"cursor": page["next_cursor"]}
        except NotFound:
            pass
        return Read(stream, len(told), begun, time.monotonic(), told)

    async def _together(self, stream: Stream) -> Sequence[Read]:
        """As a rule reads several streams: in one statement."""
        streams = {stream, *self._beside(stream)}
        begun = time.monotonic()
        found = await self._store.load([*streams])
        ended, snapshot = time.monotonic(), object()
        told = {
            s: [fact(StoredEvent(*event[:4])) for event in found.get(s, LoadedStream()).events]
            for s in streams
        }
        return [Read(s, len(t), begun, ended, t, snapshot) for s, t in told.items()]

    def _beside(self, stream: Stream) -> list[Stream]:
        """The other side of a mount and its asset, where one is known."""
        id, pairs = str(stream[1]), self._floor.installed
        if stream[0] == mounts.name:
            return [(assets.name, UUID(pairs[id]))] if id in pairs else []
        return [(mounts.name, UUID(mount)) for mount, asset in pairs.items() if asset == id][:1]

    async def _ask(self, name: str, stream: Stream, **more: Any) -> Found:
        kind, id = stream
        of = CATALOGUE.aggregates[kind]
        question = CATALOGUE.named[name.format(of.noun)]
        assert isinstance(question, Question)
        caller = Caller(uuid4(), principal_id=DEVELOPER, transport=SurfaceKind.HTTP)
        return await self._service.queries.ask(
            question, Request(caller, {of.id_field: str(id), **more})
        )


class ListReader:
    """Takes what a list shows for the truth."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    async def __call__(self, stream: Stream) -> Sequence[Read]:
        """The version that a list has of one stream."""
        view = next(view for view in CATALOGUE.views if view.aggregate.name == stream[0])
        begun = time.monotonic()
        rows = await self._connections.read(
            f"SELECT version FROM proj.{view.name} WHERE id = $1", stream[1]
        )
        return [Read(stream, rows[0][0] if rows else 0, begun, time.monotonic())]


class Party:
    """One client, who writes and reads by turns."""

    def __init__(self, client: Timed, floor: Floor, read: Reads, dice: Random) -> None:
        self._client, self._floor, self._read, self._dice = client, floor, read, dice
        self.reads: list[Read] = []
        self.unanswered: Counter[str] = Counter()

    async def run(self, stop: asyncio.Event) -> None:
        """Go on until told to stop."""
        while not stop.is_set():
            if self._dice.random() < READS:
                await self._look(self._floor.stream(self._dice))
            else:
                await self._write()

    async def _look(self, stream: Stream) -> None:
        try:
            self.reads += await self._read(stream)
        except Refusal as refused:
            self.unanswered[type(refused).__name__] += 1

    async def _write(self) -> None:
        key, step = str(uuid4()), self._floor.choose(self._dice)
        attempt = await self._client.attempt(key, step)
        if attempt.end is End.UNKNOWN and self._dice.random() < REPEATED:
            attempt = await self._client.attempt(key, step)
        self._floor.learn(step, attempt, self._dice)
        if self._dice.random() < OWN:
            for stream in written(step, attempt):
                await self._look(stream)


def written(step: Step, attempt: Attempt) -> list[Stream]:
    """The streams that a command writes, as far as its client knows."""
    ids = {noun: step.arguments.get(of.id_field) for noun, of in AGGREGATES.items()}
    if step.name.startswith("register_") and attempt.answered:
        ids[step.name.removeprefix("register_")] = made(step, attempt.answered)
    return [(AGGREGATES[noun].name, UUID(id)) for noun, id in ids.items() if id]


class Outcome(NamedTuple):
    """The history of a run, and the log it has to agree with."""

    client: Timed
    reads: Sequence[Read]
    log: Sequence[LoggedEvent]
    figures: dict[str, Any]


@pytest.fixture(scope="module")
async def ground() -> AsyncGenerator[Ground]:
    async with fresh_ground() as ground:
        yield ground


async def test_reads_and_writes_are_one_history_though_the_database_is_killed(
    ground: Ground, report: Report
):
    kills, seconds = 0, asked("HISTORY_SECONDS", 25)
    async with deployed(ground) as (deployment, service):

        async def nemesis() -> None:
            nonlocal kills
            over, chance = time.monotonic() + seconds, dice(seed(), "nemesis")
            while (pause := chance.uniform(2, 6)) < over - time.monotonic():
                await asyncio.sleep(pause)
                await asyncio.to_thread(ground.cluster.kill)
                await asyncio.to_thread(ground.cluster.resume)
                kills += 1
            await asyncio.sleep(max(0, over - time.monotonic()))

        def reader(floor: Floor, number: int) -> Reads:
            return Reader(deployment, service, floor, dice(seed(), "reader", number))

        outcome = await run(nemesis, ground, service, reader)
    figures = outcome.figures
    report("T6", {"kills": kills, **figures})
    assert not [a.refusal for a in outcome.client.history if a.end is End.LEAKED]
    assert figures["unanswered_reads"].keys() <= {StoreUnavailableError.__name__}
    assert figures["at_once"] > 0
    assert figures["states"] > 0
    assert {name: figures[name] for name in WRONG if figures[name]} == {}


async def test_a_reader_that_takes_a_list_for_the_truth_is_found_out(
    ground: Ground, report: Report
):
    async with deployed(ground) as (deployment, service):
        connections = Connections(ground.app_url, 8)

        async def nemesis() -> None:
            await asyncio.sleep(2)

        def reader(floor: Floor, number: int) -> Reads:
            return ListReader(connections)

        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(deployment.supervisor.run([deployment.projector()]))
            outcome = await run(nemesis, ground, service, reader)
            deployment.supervisor.stop()
        await connections.close()
    figures = outcome.figures
    report("T6 a list for the truth", figures)
    assert figures["stale"] > 0
    assert figures["lost"] == figures["overtaken"] == 0


A, B = ("Mount", UUID(int=1)), ("Asset", UUID(int=2))
FIRST, BOTH, LAST = UUID(int=3), UUID(int=4), UUID(int=5)
IN_TIME = {FIRST: Write(0, 1), BOTH: Write(2, 3), LAST: Write(4, 5)}
"""Of four events: the first of A, a second one written at once with the first of B, a third."""


def event(tx: int, stream: Stream, version: int, correlation_id: UUID) -> LoggedEvent:
    said = StoredEvent(version, "Happened", 1, f'{{"tx":{tx}}}')
    return LoggedEvent(Position(tx, version), stream, DEVELOPER, correlation_id, said)


SMALL_LOG = [
    event(1, A, 1, FIRST),
    event(2, A, 2, BOTH),
    event(2, B, 1, BOTH),
    event(3, A, 3, LAST),
]


@pytest.mark.parametrize(
    ("wrong", "reads", "writes"),
    [
        ("non_prefix", [Read(A, 1, 0, 1, [(1, "Happened", {"tx": 2})])], IN_TIME),
        ("non_prefix", [Read(A, 2, 2, 3, [(1, "Happened", {"tx": 1})])], IN_TIME),
        ("non_prefix", [Read(B, 2, 9, 9)], IN_TIME),
        ("partial", [Read(A, 2, 2, 2.5), Read(B, 0, 2.6, 2.7)], IN_TIME),
        ("partial", [Read(A, 1, 2, 3, None, "one"), Read(B, 1, 2, 3, None, "one")], IN_TIME),
        ("stale", [Read(A, 0, 1.5, 1.6)], IN_TIME),
        ("stale", [Read(B, 0, 3.5, 3.6)], IN_TIME),
        ("backward", [Read(A, 3, 4, 4.1), Read(A, 2, 4.2, 4.3)], IN_TIME),
        ("overtaken", [], IN_TIME | {BOTH: Write(6, 7)}),
    ],
)
def test_what_cannot_have_been_is_found(
    wrong: str, reads: Sequence[Read], writes: dict[UUID, Write]
):
    found = asdict(audit_reads(SMALL_LOG, reads, writes))
    assert {name for name in WRONG if found.get(name)} == {wrong}


def test_what_can_have_been_is_not_found_wrong():
    facts = [(n, "Happened", {"tx": n}) for n in (1, 2, 3)]
    reads = [
        Read(A, 0, 0, 2),
        Read(B, 0, 2, 2.4),
        Read(A, 2, 2, 2.5, facts[:2]),
        Read(B, 1, 2.3, 4.5, None, "one"),
        Read(A, 3, 2.3, 4.5, facts, "one"),
    ]
    found = asdict(audit_reads(SMALL_LOG, reads, IN_TIME))
    assert {name for name in WRONG if found.get(name)} == set()


@asynccontextmanager
async def deployed(ground: Ground) -> AsyncGenerator[tuple[Deployment, Service]]:
    """The service, on its database."""
    deployment = ground.deployment()
    yield deployment, await deployment.service()
    await deployment.close()


async def run(
    nemesis: Callable[[], Awaitable[None]],
    ground: Ground,
    service: Service,
    reader: Callable[[Floor, int], Reads],
) -> Outcome:
    """Let all clients write and read for as long as the nemesis is about, and audit it."""
    client, floor, stop = Timed(service), Floor(), asyncio.Event()
    before = len(await read_log(ground.admin_url))
    await floor.furnish(client)
    parties = [
        Party(client, floor, reader(floor, n), dice(seed(), "client", n)) for n in range(CLIENTS)
    ]
    async with asyncio.TaskGroup() as tasks:
        for party in parties:
            tasks.create_task(party.run(stop))
        await nemesis()
        stop.set()
    log = await read_log(ground.admin_url)
    reads = [read for party in parties for read in party.reads]
    unanswered = sum((party.unanswered for party in parties), Counter[str]())
    transactions = {event.position.tx for event in log[before:]}
    figures = {
        "streams": len({event.stream for event in log[before:]}),
        "events": len(log),
        "at_once": len(log) - before - len(transactions),
        "unanswered_reads": dict(unanswered),
        **asdict(audit_history(log, client.history, before)),
        **asdict(audit_reads(log, reads, writes_of(client.history, client.begun))),
    }
    return Outcome(client, reads, log, figures)
