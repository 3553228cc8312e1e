"""One seeded run of the whole service in memory: clients, workers, time, and what goes wrong."""

import asyncio
import random
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from functools import cache, partial
from hashlib import sha256
from random import Random
from typing import Any
from unittest.mock import patch
from uuid import UUID

import asyncpg
import msgspec

from beamkeep.adapters.postgres import event_store
from beamkeep.adapters.postgres.connections import Connections
from beamkeep.adapters.postgres.event_store import PostgresEventStore
from beamkeep.adapters.postgres.listing import PostgresLists
from beamkeep.adapters.postgres.projections import PostgresProjections
from beamkeep.adapters.postgres.tail import PostgresTail
from beamkeep.contexts.catalogue import CATALOGUE
from beamkeep.contexts.trust import seeded
from beamkeep.deployment.seeding import prepare
from beamkeep.deployment.service import compose
from beamkeep.feed.tail import WHOLE_LOG
from beamkeep.kernel import Operation, Question, Record, Refusal, SurfaceKind
from beamkeep.parts.wiring import IDLE
from beamkeep.runtime import session
from beamkeep.runtime.admission import Caller, Request
from beamkeep.runtime.codec import BrokenStreamError, Codec
from beamkeep.runtime.deciding import CommandResult
from beamkeep.runtime.dispatch import ConcurrencyError
from beamkeep.runtime.queries import Found
from beamkeep.runtime.store import (
    IdempotencyInFlightError,
    OutcomeUnknownError,
    StoreUnavailableError,
    Stream,
)
from beamkeep.telemetry import Telemetry
from beamkeep.testing.database import TIMEOUTS
from beamkeep.testing.installation import ISSUER
from beamkeep.testing.leases import GrantedLease
from beamkeep.testing.seeds import dice
from beamkeep.testing.service import ADMIN
from beamkeep.workers.projector import Projector
from beamkeep.workers.supervision import Loop, Supervisor
from tests.faults.seeded_loop import run_seeded
from tests.support.memory_postgres import MemoryPostgres, Weather

CODEC = Codec(CATALOGUE.aggregates.values())
EPOCH = datetime(2030, 1, 1, tzinfo=UTC)
OPERATORS = ("bob", "cyd", "dan")
SUBJECTS = ("eve", "fay")
"""Logins that several actors are bound to by turns."""
LONGEST, STEPS, PAGE = 900.0, 6, 7
WORTH_REPEATING = (
    OutcomeUnknownError,
    IdempotencyInFlightError,
    StoreUnavailableError,
    ConcurrencyError,
)
LATER = {
    "Planned": ("record_visit_arrival",) * 6 + ("cancel_visit", "void_visit"),
    "Arrived": ("start_visit",) + ("take_visit_surface_control",) * 3,
    "InProgress": ("hold_visit", "complete_visit", "take_visit_surface_control", "abort_visit"),
    "OnHold": ("resume_visit", "release_visit_surface_control", "complete_visit"),
}
LEADS_TO = {
    "record_visit_arrival": "Arrived",
    "start_visit": "InProgress",
    "hold_visit": "OnHold",
    "resume_visit": "InProgress",
}
WITH_REASON = {"hold_visit", "cancel_visit", "void_visit", "abort_visit", "revoke_grant"}

type Storage = Callable[[Connections, str], PostgresEventStore]
type Pool = Callable[..., Connections]


class End(StrEnum):
    """How an attempt ended, as far as its client knows."""

    ACKNOWLEDGED = "acknowledged"
    REFUSED = "refused"
    UNKNOWN = "unknown"
    LEAKED = "leaked"


class Variant(Record):
    """What the service is made of; each known-bad one differs in one thing."""

    store: Storage = PostgresEventStore
    pool: Pool = Connections
    unique_versions: bool = True


class Call(Record):
    """One request, which may be sent more than once."""

    subject: str
    name: str
    arguments: Mapping[str, Any]
    key: str | None = None
    if_match: str | None = None
    dry_run: bool = False


class Attempt(Record):
    """One try of a request, and what came of it."""

    call: Call
    correlation_id: UUID
    order: int
    """How many attempts had ended when it began."""
    began: int
    """How many transactions had committed when it began."""
    ended: float
    end: End
    answered: CommandResult | None
    refusal: str | None


class Look(Record):
    """One answer to a question: what it showed, and what it had to show at least."""

    name: str
    stream: Stream | None
    found: Found
    least: Mapping[Stream, int]


class Run(Record):
    """Everything a run leaves behind for its auditor."""

    database: MemoryPostgres
    beginning: int
    """How many events there were before it."""
    attempts: list[Attempt]
    looks: list[Look]
    broken: list[str]
    """What broke that must not."""
    lost: int
    """Exchanges with the database that were lost."""
    crashes: int
    seconds: float
    """Of its own time."""

    def digest(self) -> str:
        """A short name of everything that happened in it."""
        told: list[object] = [
            (a.correlation_id.hex, a.end, a.refusal, a.ended, a.answered and a.answered.body)
            for a in self.attempts
        ]
        told += [(look.name, look.found.body) for look in self.looks]
        told += [(e.place, e.event_id.hex, e.version, e.payload) for e in self.database.log()]
        told += [self.seconds, self.lost, self.crashes, self.broken]
        return sha256(repr(told).encode()).hexdigest()


class Ids:
    """Ids in the order of time, out of a seed."""

    def __init__(self, dice: Random, clock: Callable[[], datetime]) -> None:
        self._dice, self._clock, self._count = dice, clock, 0

    def __call__(self) -> UUID:
        self._count += 1
        milliseconds = int(self._clock().timestamp() * 1000)
        high = milliseconds << 16 | 7 << 12 | self._count & 0xFFF
        return UUID(int=high << 64 | 2 << 62 | self._dice.getrandbits(62))


class Furniture(Record):
    """A prepared database, and what there is in it."""

    database: MemoryPostgres
    consoles: tuple[tuple[str, str], ...]
    """Surfaces, each with a policy for those who visit it."""
    permits: tuple[str, ...]
    """Policies that change in the run; the first lets the operators in."""
    operators: tuple[str, ...]
    guests: tuple[str, ...]


@cache
def furniture() -> Furniture:
    """Made once: every run begins with a copy of it."""
    clock = lambda: EPOCH  # noqa: E731
    database = MemoryPostgres(clock)
    with patch.object(asyncpg, "connect", database.connect):
        return run_seeded(_furnish(database, clock), dice(0), LONGEST)


async def _furnish(database: MemoryPostgres, clock: Callable[[], datetime]) -> Furniture:
    new_id = Ids(dice(0, "furniture"), clock)
    connections = Connections("memory", 4, **IDLE, **TIMEOUTS)
    store, lists = PostgresEventStore(connections, "memory"), PostgresLists(connections)
    await prepare(store, lists, ADMIN, False, clock=clock, new_id=new_id)
    service = compose(store, lists, b"k" * 32, clock=clock, new_id=new_id)

    async def make(name: str, /, **arguments: Any) -> str:
        operation = CATALOGUE.named[name]
        assert isinstance(operation, Operation)
        caller = Caller(new_id(), identity=(ISSUER, "ada"), transport=SurfaceKind.HTTP)
        answered = await service.dispatcher.execute(operation, Request(caller, arguments))
        return str(answered.id)

    async def policy(surface_id: str, permitted: list[str], *commands: str) -> str:
        return await make(
            "define_policy",
            name="Users",
            conduit_id=str(seeded.ENTRY),
            surface_id=surface_id,
            permitted_principal_ids=permitted,
            permitted_commands=list(commands),
            object_scope="All",
        )

    operators = [
        await make("register_actor", name=n, identities=[{"issuer": ISSUER, "subject": n}])
        for n in OPERATORS
    ]
    guests = [await make("register_actor", name="Guest") for _ in range(2)]
    http = str(seeded.SURFACES[SurfaceKind.HTTP])
    permits = [await policy(http, operators, "*")]
    consoles: list[tuple[str, str]] = []
    for name in ("East", "West"):
        surface_id = await make(
            "define_surface", name=name, kind="HTTP", conduit_id=str(seeded.ENTRY)
        )
        users = await policy(surface_id, operators, "get_visit")
        consoles.append((surface_id, users))
        permits.append(users)
    database.arrange([view.name for view in CATALOGUE.views])
    return Furniture(database, tuple(consoles), tuple(permits), tuple(operators), tuple(guests))


SOUND = Variant()


def simulate(seed: int, variant: Variant = SOUND) -> Run:
    """One run, wholly in the hands of its seed."""
    state = random.getstate()
    # The pause before another try is drawn from the common dice.
    random.seed(seed)
    try:
        return run_seeded(Simulation(seed, variant).run(), dice(seed, "loop"), LONGEST)
    finally:
        random.setstate(state)


class WatchedProjector(Projector):
    """Tells of every stream it finds broken before it tries again."""

    broken: list[str]

    async def step(self, shard: int) -> int:
        try:
            return await super().step(shard)
        except BrokenStreamError as error:
            self.broken.append(f"projector: {error}")
            raise


class Simulation:
    """The service on a database in memory, its clients and its workers."""

    def __init__(self, seed: int, variant: Variant) -> None:
        self._dice = dice(seed, "world")
        made = furniture()
        self._furniture, self._variant = made, variant
        self._database = made.database.copy(self._clock)
        self._database.unique_versions = variant.unique_versions
        rate = self._dice.choice((0.0, 0.01, 0.03, 0.1))
        slow = self._dice.random() < 0.3
        self._stormy = rate > 0
        self._database.weather = Weather(dice(seed, "weather"), rate, slow)
        self._new_id = Ids(dice(seed, "ids"), self._clock)
        self._attempts: list[Attempt] = []
        self._looks: list[Look] = []
        self._broken: list[str] = []
        self._crashes = 0
        self._known: dict[Stream, int] = {}
        """The newest version of each stream that somebody was told of."""
        self._token: tuple[str, dict[Stream, int]] | None = None
        self._actors = list(made.guests)
        self._visits: dict[str, str] = {}
        self._calls: list[Call] = []
        self._calm = self._stopping = False
        self._snapshot_every = self._dice.choice((1, 2, 3))
        # Each run is mostly about one thing, so that its clients get in each other's way.
        drawn = {
            self._actor: (2, 3, 0, 4),
            self._login: (4, 0, 0, 9),
            self._profile: (3, 0, 0, 2),
            self._end: (1, 5, 0, 2),
            self._grant: (4, 9, 4, 0),
            self._zone: (1, 0, 0, 0),
            self._policy: (1, 1, 0, 0),
            self._visit: (14, 0, 13, 0),
        }
        theme = self._dice.randrange(4)
        self._drawn, self._weights = list(drawn), [weights[theme] for weights in drawn.values()]

    def _clock(self) -> datetime:
        return EPOCH + timedelta(seconds=asyncio.get_running_loop().time())

    async def run(self) -> Run:
        """Everybody at once; then the weather clears, and what was left open is asked again."""
        at_once = self._dice.choice((2, 3, 1000))
        with (
            patch.object(asyncpg, "connect", self._database.connect),
            patch.object(event_store, "READ_AT_ONCE", at_once),
            patch.object(session, "READ_AT_ONCE", at_once),
        ):
            beginning = len(self._database.log())
            await self._live()
        loop = asyncio.get_running_loop()
        return Run(
            self._database,
            beginning,
            self._attempts,
            self._looks,
            self._broken,
            self._database.weather.lost,
            self._crashes,
            loop.time(),
        )

    async def _live(self) -> None:
        commands = self._variant.pool("memory", 3, **IDLE, **TIMEOUTS)
        projecting = self._variant.pool("memory", 2, **IDLE)
        store = self._variant.store(commands, "memory")
        self._wake, self._supervisor = asyncio.Event(), Supervisor(Telemetry())
        lists = PostgresLists(commands)
        self._tail, self._projections = PostgresTail(projecting), PostgresProjections(projecting)
        self._service = compose(
            store,
            lists,
            b"k" * 32,
            clock=self._clock,
            new_id=self._new_id,
            snapshot_every=self._snapshot_every,
        )
        workers = asyncio.create_task(self._work())
        nemesis = asyncio.create_task(self._harass())
        async with asyncio.TaskGroup() as clients:
            for number, subject in enumerate((*OPERATORS, "ada")):
                clients.create_task(self._client(number, subject))
        self._calm = True
        nemesis.cancel()
        self._database.weather.clear()
        await self._settle()
        while self._database.working:
            await asyncio.wait(list(self._database.working))
        self._stopping = True
        self._supervisor.stop()
        await workers
        with suppress(BrokenStreamError):
            await self._projector().catch_up([WHOLE_LOG])

    # --- workers and faults ---

    def _projector(self) -> WatchedProjector:
        projector = WatchedProjector(
            CATALOGUE.views, CODEC, self._tail, projections=self._projections, page=PAGE
        )
        projector.broken = self._broken
        return projector

    async def _work(self) -> None:
        """Two projectors on the same lists, each now and then ended and begun anew."""
        async with asyncio.TaskGroup() as group:
            for _ in range(2):
                group.create_task(self._keep_projecting())

    async def _keep_projecting(self) -> None:
        while not self._stopping:
            life = None if self._calm or not self._stormy else self._dice.uniform(0, 2.0)
            with suppress(TimeoutError):
                async with asyncio.timeout(life):
                    turn = partial(self._projector().turn, GrantedLease())
                    await self._supervisor.run([Loop("projector", turn, wake=self._wake)])

    async def _harass(self) -> None:
        """The server goes down once in a while."""
        while self._stormy:
            await asyncio.sleep(self._dice.uniform(0.01, 4.0))
            if self._dice.random() < 0.3:
                self._crashes += 1
                self._database.crash(self._dice.choice((0.0, 0.1, 0.6)))

    # --- clients ---

    async def _client(self, number: int, subject: str) -> None:
        for step in range(STEPS):
            await self._database.weather.pause()
            if self._dice.random() < 0.25:
                await self._look(subject)
                continue
            call = self._choose(subject, f"{number}-{step}")
            self._calls.append(call)
            if call.key and self._dice.random() < 0.3:
                await asyncio.gather(self._insist(call), self._insist(call))
            else:
                await self._insist(call)

    async def _insist(self, call: Call) -> None:
        """Try, and perhaps again if nothing came of it."""
        for _ in range(3):
            again = await self._try(call) and call.key is not None
            if not again or self._dice.random() < 0.4:
                return

    async def _settle(self) -> None:
        """Ask again, of requests that have a key, until there is an answer."""
        answered = {id(a.call) for a in self._attempts if a.end is not End.UNKNOWN}
        for call in self._calls:
            open = id(call) not in answered
            if call.key and not call.dry_run and (open or self._dice.random() < 0.2):
                while await self._try(call):
                    pass

    async def _try(self, call: Call) -> bool:
        """One attempt; whether it is worth another."""
        operation = CATALOGUE.named[call.name]
        assert isinstance(operation, Operation)
        correlation_id = self._new_id()
        caller = Caller(correlation_id, identity=(ISSUER, call.subject), transport=SurfaceKind.HTTP)
        request = Request(caller, call.arguments, call.key, call.if_match, call.dry_run)
        order, began = len(self._attempts), self._database.commits
        answered, refusal, again = None, None, False
        hurried = not self._calm and self._stormy and self._dice.random() < 0.05
        try:
            async with asyncio.timeout(self._dice.random() if hurried else None):
                answered = await self._service.dispatcher.execute(operation, request)
            end = End.ACKNOWLEDGED
        except TimeoutError:
            end, again = End.UNKNOWN, True
        except OutcomeUnknownError:
            end, again = End.UNKNOWN, True
        except Refusal as refused:
            end, refusal = End.REFUSED, type(refused).__name__
            again = isinstance(refused, WORTH_REPEATING)
            if refused.status >= 500 and not again:
                end = End.LEAKED
        except Exception as error:
            end, refusal = End.LEAKED, repr(error)
        now = asyncio.get_running_loop().time()
        self._attempts.append(
            Attempt(call, correlation_id, order, began, now, end, answered, refusal)
        )
        if answered and not call.dry_run:
            self._learn(operation, call, answered)
        return again

    def _learn(self, operation: Operation, call: Call, answered: CommandResult) -> None:
        of = operation.aggregate
        if answered.id and answered.version and answered.token:
            stream = of.name, answered.id
            self._known[stream] = max(self._known.get(stream, 0), answered.version)
            self._token = str(answered.token), {stream: answered.version}
        made = str(msgspec.json.decode(answered.body)[of.id_field]) if answered.body else ""
        if call.name == "register_actor" and made not in self._actors:
            self._actors.append(made)
        elif call.name == "register_visit":
            self._visits.setdefault(made, "Planned")
        elif call.name in LEADS_TO:
            self._visits[call.arguments["visit_id"]] = LEADS_TO[call.name]

    async def _look(self, subject: str) -> None:
        """Ask a question."""
        name, stream, arguments = self._question()
        question = CATALOGUE.named[name]
        assert isinstance(question, Question)
        least = dict(self._known) if stream else {}
        if stream is None and self._token and self._dice.random() < 0.5:
            arguments["min_token"], least = self._token
        caller = Caller(self._new_id(), identity=(ISSUER, subject), transport=SurfaceKind.HTTP)
        try:
            found = await self._service.queries.ask(question, Request(caller, arguments))
        except Refusal:
            return
        except Exception as error:
            self._broken.append(f"{name}: {error!r}")
            return
        self._looks.append(Look(name, stream, found, least))

    def _question(self) -> tuple[str, Stream | None, dict[str, Any]]:
        dice = self._dice
        if self._visits and dice.random() < 0.6:
            id = dice.choice(list(self._visits))
            name = dice.choice(("get_visit", "get_visit_history"))
            return name, ("Visit", UUID(id)), {"visit_id": id}
        if dice.random() < 0.5:
            id = dice.choice(self._furniture.permits)
            name = dice.choice(("get_policy", "get_policy_history"))
            return name, ("Policy", UUID(id)), {"policy_id": id}
        return dice.choice(("list_visits", "list_policies")), None, {"limit": 100}

    def _choose(self, subject: str, key: str) -> Call:
        """The next request, made of things that are known to exist."""
        dice = self._dice
        if self._calls and dice.random() < 0.08:
            before = dice.choice(self._calls)
            if before.key and before.subject == subject:
                # The key of another request, for this one or for the same once more.
                key = before.key
                if dice.random() < 0.5:
                    return before
        name, arguments = dice.choices(self._drawn, self._weights)[0](dice)
        if name in WITH_REASON:
            arguments["reason"] = "Because"
        if_match = f'"{dice.randrange(1, 5)}"' if dice.random() < 0.08 else None
        keyed, dry = dice.random() < 0.7, dice.random() < 0.06
        return Call(subject, name, arguments, key if keyed else None, if_match, dry)

    def _actor(self, dice: Random) -> tuple[str, dict[str, Any]]:
        login = {"issuer": ISSUER, "subject": dice.choice(SUBJECTS)}
        logins = [login] if dice.random() < 0.5 else []
        return "register_actor", {"name": "Grace", "identities": logins}

    def _login(self, dice: Random) -> tuple[str, dict[str, Any]]:
        who = {"actor_id": dice.choice(self._actors[-5:])}
        verb = dice.choice(("bind", "bind", "unbind"))
        login = {"issuer": ISSUER, "subject": dice.choice(SUBJECTS)}
        return f"{verb}_actor_identity", who | login

    def _profile(self, dice: Random) -> tuple[str, dict[str, Any]]:
        who = dice.choice(self._actors[:3])
        return "update_actor_profile", {"actor_id": who, "phone": str(dice.random())}

    def _end(self, dice: Random) -> tuple[str, dict[str, Any]]:
        name = dice.choice(("deactivate_actor", "forget_actor"))
        who = dice.choice((*self._actors[-3:], *self._actors[-3:], self._furniture.operators[0]))
        return name, {"actor_id": who}

    def _grant(self, dice: Random) -> tuple[str, dict[str, Any]]:
        policy_id = dice.choice(self._furniture.permits)
        whom = dice.choice((*self._furniture.operators, *self._actors[-3:], *self._actors[-3:]))
        name = dice.choice(("add_grant", "add_grant", "revoke_grant"))
        return name, {"policy_id": policy_id, "permitted_principal_id": whom}

    def _zone(self, dice: Random) -> tuple[str, dict[str, Any]]:
        return "define_zone", {"name": "Hutch"}

    def _policy(self, dice: Random) -> tuple[str, dict[str, Any]]:
        surface_id, _ = dice.choice(self._furniture.consoles)
        return "define_policy", {
            "name": "More",
            "conduit_id": str(seeded.ENTRY),
            "surface_id": surface_id,
            "permitted_principal_ids": dice.sample(self._furniture.operators, 2),
            "permitted_commands": ["get_visit"],
            "object_scope": "Own",
        }

    def _visit(self, dice: Random) -> tuple[str, dict[str, Any]]:
        moves = [
            (id, name)
            for id, status in list(self._visits.items())[-5:]
            for name in LATER.get(status, ())
        ]
        if moves and dice.random() < 0.75:
            id, name = dice.choice(moves)
            return name, {"visit_id": id}
        surface_id, policy_id = dice.choice(self._furniture.consoles)
        return "register_visit", {
            "policy_id": policy_id,
            "parent_surface_id": surface_id,
            "type": "user",
            "planned_start_at": "2030-01-31T07:30:00Z",
            "planned_end_at": "2030-02-01T07:30:00Z",
            "parent_id": dice.choice((None, *list(self._visits)[-2:])),
        }
