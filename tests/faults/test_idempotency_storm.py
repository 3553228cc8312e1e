"""Many attempts of the same requests at once, while connections die and answers are lost."""

import asyncio
import time
from collections import Counter, defaultdict
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from contextvars import ContextVar
from random import Random
from typing import Any, NamedTuple
from uuid import UUID, uuid4

import httpx2
import pytest

from beamkeep.contexts.catalogue import CATALOGUE
from beamkeep.deployment.web import web
from beamkeep.runtime.codec import encode
from beamkeep.runtime.deciding import CommandResult
from beamkeep.runtime.dispatch import ConcurrencyError, IdempotencyConflictError
from beamkeep.runtime.queries import parse_position
from beamkeep.runtime.store import (
    IdempotencyInFlightError,
    OutcomeUnknownError,
    StoreUnavailableError,
)
from beamkeep.surfaces.http.refusals import DeadlineExceededError
from beamkeep.testing.calling import Calling, Mcp, Rest, SurfaceAnswer
from beamkeep.testing.log import LoggedEvent
from beamkeep.testing.seeds import dice, seed
from tests.faults.auditor import audit_history, read_log
from tests.faults.conftest import Report
from tests.faults.ground import Ground, connected, fresh_ground
from tests.faults.mutants import ForgetfulStore
from tests.faults.report import asked
from tests.faults.workload import Attempt, Client, End, Step, a_place, a_visit

pytestmark = [pytest.mark.faults, pytest.mark.anyio]

# Several blows at once often hit the same connection: this many end about one in twenty.
ATTEMPTS, AT_ONCE, STRUCK, THROWN_AWAY = 8, 8, 0.11, 0.2
UNDECIDED = (OutcomeUnknownError, IdempotencyInFlightError, DeadlineExceededError)
WORTH_REPEATING = {
    refusal.__name__ for refusal in (*UNDECIDED, ConcurrencyError, StoreUnavailableError)
}

# Any connection of the service, one that is busy if there is one.
TERMINATE = """
SELECT pg_terminate_backend(pid)
  FROM (SELECT pid FROM pg_stat_activity
         WHERE usename = 'bk_app' ORDER BY state = 'active' DESC, random() LIMIT 1) AS one
"""

CORRELATION: ContextVar[UUID] = ContextVar("correlation_id")

type Told = set[tuple[int, str | None, bytes]]
"""Different answers: status, name of the refusal, body."""


async def test_every_key_has_one_effect_and_one_answer(report: Report):
    figures = await storm(asked("KEYS", 240))
    report("T5", figures)
    keys = figures["keys"]
    assert figures["keys_with_one_effect"] == figures["keys_with_one_answer"] == keys
    assert figures["keys_refused_to_another_body"] == keys
    assert figures["leaked"] == figures["lost"] == figures["misnumbered"] == figures["holes"] == 0
    assert figures["written_though_refused"] == figures["torn"] == figures["unaccounted"] == 0


async def test_the_storm_catches_a_store_that_acts_and_then_remembers(
    report: Report, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("beamkeep.deployment.composition.PostgresEventStore", ForgetfulStore)
    figures = await storm(24)
    report("T5 act, then remember", figures)
    assert figures["keys_with_one_effect"] < figures["keys"]


class Keyed(NamedTuple):
    """One request with the key all its attempts bear, and another request that bears it too."""

    client: "SurfaceClient"
    key: str
    step: Step
    other: Step


async def storm(keys: int) -> dict[str, Any]:
    """All attempts of every key, some keys at once, and what came of them."""
    async with fresh_ground() as ground:
        deployment = ground.deployment()
        steps = await requests(Client(await deployment.service()), keys)
        await deployment.close()
        before = len(await read_log(ground.admin_url))
        nemesis = Nemesis(ground, dice(seed(), "nemesis"))
        at_once = asyncio.Semaphore(AT_ONCE)
        async with served(ground) as http, asyncio.TaskGroup() as tasks:
            clients = SurfaceClient(Rest(http)), SurfaceClient(Mcp(http))
            for number, (step, other) in enumerate(steps):
                # Both surfaces see the same keys: each is a key of its own on each of them.
                request = Keyed(clients[number % 2], f"key-{number // 2}", step, other)
                tasks.create_task(press(request, nemesis, at_once))
        log = await read_log(ground.admin_url)
    history = [attempt for client in clients for attempt in client.history]
    audit = audit_history(log, history, before)
    effects = effects_by_key(log, history)
    told = clients[0].told | clients[1].told
    told_others = clients[0].told_others | clients[1].told_others
    return {
        "keys": keys,
        "attempts": len(history),
        "by_rest": len(clients[0].history),
        "by_mcp": len(clients[1].history),
        "replayed": sum(bool(a.answered and a.answered.replayed) for a in history),
        "unknown": audit.unknown,
        "terminated": nemesis.terminated,
        "thrown_away": nemesis.thrown_away,
        "keys_with_one_effect": sum(effects[key] == 1 for key in told),
        "most_effects": max(effects.values()),
        "keys_with_one_answer": sum(map(accepted, told.values())),
        "keys_refused_to_another_body": sum(map(refused_as_used, told_others.values())),
        "lost": audit.lost,
        "torn": audit.torn,
        "misnumbered": audit.misnumbered,
        "written_though_refused": audit.written_though_refused,
        "unaccounted": audit.unaccounted,
        "holes": audit.holes,
        "leaked": audit.leaked,
    }


@asynccontextmanager
async def served(ground: Ground) -> AsyncGenerator[httpx2.AsyncClient]:
    """The whole service over HTTP without a network; every request bears its correlation id."""

    async def correlate(request: httpx2.Request) -> None:
        request.headers["x-correlation-id"] = str(CORRELATION.get())

    generous = {
        "per_principal_rate": 1e6,
        "per_principal_burst": 10**6,
        "concurrent_per_principal": 1000,
        "project_in_serve": False,
    }
    settings = ground.deployment().settings.model_copy(update=generous)
    async with (
        web(settings) as served,
        httpx2.AsyncClient(
            transport=httpx2.ASGITransport(served.application),
            base_url=settings.base_url,
            event_hooks={"request": [correlate]},
        ) as http,
    ):
        yield http


class SurfaceClient:
    """Calls the service on one of its surfaces, and writes down what came of it."""

    def __init__(self, calling: Calling) -> None:
        self._calling = calling
        self.history: list[Attempt] = []
        self.told: dict[str, Told] = defaultdict(set)
        """The different answers that were given to each key."""
        self.told_others: dict[str, Told] = defaultdict(set)
        """Those that were given to another request with a key that was used."""

    async def attempt(self, key: str, step: Step) -> tuple[Attempt, SurfaceAnswer]:
        """Try one request once."""
        correlation_id = uuid4()
        CORRELATION.set(correlation_id)
        answer = await self._calling.send(None, step.name, step.arguments, idempotency_key=key)
        refusal = None if answer.ok else str(answer.body["code"])
        attempt = Attempt(
            self.named(key),
            step.name,
            correlation_id,
            end_of(answer, refusal),
            time.monotonic(),
            answered(answer, step) if answer.ok else None,
            refusal,
        )
        self.history.append(attempt)
        return attempt, answer

    def named(self, key: str) -> str:
        """A key with its surface: the same text elsewhere is another key."""
        return f"{key} by {self._calling}"


def end_of(answer: SurfaceAnswer, refusal: str | None) -> End:
    """How an attempt ended, as far as its client knows."""
    if refusal is None:
        return End.ACKNOWLEDGED
    if refusal in {undecided.__name__ for undecided in UNDECIDED}:
        return End.UNKNOWN
    return End.LEAKED if answer.status == 500 else End.REFUSED


def answered(answer: SurfaceAnswer, step: Step) -> CommandResult:
    """The answer as the dispatcher gave it."""
    field = CATALOGUE.named[step.name].aggregate.id_field
    known: dict[str, Any] = {**step.arguments, **(answer.body or {})}
    return CommandResult(
        answer.status,
        encode(answer.body),
        UUID(known[field]),
        answer.version,
        parse_position(answer.position_token) if answer.position_token else None,
        answer.replayed,
    )


class Nemesis:
    """Ends connections and loses answers."""

    def __init__(self, ground: Ground, dice: Random) -> None:
        self._url, self._dice = ground.admin_url, dice
        self.terminated = self.thrown_away = 0

    async def strike(self) -> None:
        """Now and then, end a connection of the service."""
        if self._dice.random() < STRUCK:
            async with connected(self._url) as connection:
                self.terminated += bool(await connection.fetchval(TERMINATE))

    def loses_the_answer(self) -> bool:
        """Whether the client never gets to see its answer."""
        lost = self._dice.random() < THROWN_AWAY
        self.thrown_away += lost
        return lost


async def press(request: Keyed, nemesis: Nemesis, at_once: asyncio.Semaphore) -> None:
    """Make all attempts of one request together until each is answered; then use its key again."""
    client, key, step, other = request

    async def insist(step: Step, told: Told) -> None:
        lost = True
        while lost:
            sent = client.attempt(key, step)
            (attempt, answer), _ = await asyncio.gather(sent, nemesis.strike())
            if attempt.refusal not in WORTH_REPEATING:
                told.add((answer.status, attempt.refusal, encode(answer.body)))
                lost = nemesis.loses_the_answer()

    named = client.named(key)
    async with at_once:
        async with asyncio.TaskGroup() as tasks:
            for _ in range(ATTEMPTS):
                tasks.create_task(insist(step, client.told[named]))
        await insist(other, client.told_others[named])


async def requests(client: Client, keys: int) -> list[tuple[Step, Step]]:
    """Creations, changes and commands that write two streams, each with another for its key."""
    shared = [await client.succeed("register_actor", name="Grace") for _ in range(10)]
    steps: list[tuple[Step, Step]] = []
    for number in range(keys):
        named = {"name": f"Grace {number}"}
        match number // 2 % 4:
            case 0:
                steps.append((Step("define_zone", named), Step("define_zone", {"name": "Ada"})))
            case 1:
                logins = {"identities": [{"issuer": "https://idp.test", "subject": str(number)}]}
                step = Step("register_actor", named | logins)
                steps.append((step, Step("register_actor", named)))
            case 2:
                who = {"actor_id": shared[number % len(shared)]}
                step = Step("update_actor_profile", who | {"phone": str(number)})
                steps.append((step, Step("update_actor_profile", who | {"phone": "none"})))
            case _:
                step = await a_handover(client)
                steps.append((step, Step(step.name, {"visit_id": str(uuid4())})))
    return steps


async def a_handover(client: Client) -> Step:
    """A visit that takes control from the visit it is part of."""
    place = await a_place(client)
    whole = await client.succeed("register_visit", **a_visit(*place))
    await client.succeed("record_visit_arrival", visit_id=whole)
    await client.succeed("take_visit_surface_control", visit_id=whole)
    part = await client.succeed("register_visit", **a_visit(*place, parent_id=whole))
    await client.succeed("record_visit_arrival", visit_id=part)
    return Step("take_visit_surface_control", {"visit_id": part})


def accepted(told: Told) -> bool:
    """Whether there was one answer, and no refusal."""
    return [refusal for _, refusal, _ in told] == [None]


def refused_as_used(told: Told) -> bool:
    """Whether there was one answer: that the key was used for a different request."""
    return [answer[:2] for answer in told] == [(422, IdempotencyConflictError.__name__)]


def effects_by_key(log: list[LoggedEvent], history: list[Attempt]) -> Counter[str]:
    """How many attempts of each key wrote something."""
    written = {event.correlation_id for event in log}
    return Counter(a.key for a in history if a.correlation_id in written)
