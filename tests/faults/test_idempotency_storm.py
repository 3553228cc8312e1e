"""Many attempts of the same requests at once, while connections die and answers are lost."""

import asyncio
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from beamkeep.adapters.postgres.connections import Connections
from beamkeep.adapters.postgres.event_store import PostgresEventStore
from beamkeep.app import compose
from beamkeep.kernel import replace
from beamkeep.runtime.dispatch import ConcurrencyError
from beamkeep.runtime.store import Append, EventStore, Position, StoreUnavailableError
from tests.faults.auditor import Logged, audit_history, read_log
from tests.faults.conftest import Report
from tests.faults.ground import Ground, connected, fresh_ground
from tests.faults.report import asked, dice, seed
from tests.faults.workload import Attempt, Client, End, Step, a_place, a_visit

pytestmark = [pytest.mark.faults, pytest.mark.anyio]

# Several blows at once often hit the same connection: this many end about one in twenty.
ATTEMPTS, AT_ONCE, STRUCK, THROWN_AWAY = 6, 8, 0.09, 0.2
WORTH_REPEATING = {e.__name__ for e in (ConcurrencyError, StoreUnavailableError)}

# Any connection of the service, one that is busy if there is one.
TERMINATE = """
SELECT pg_terminate_backend(pid)
  FROM (SELECT pid FROM pg_stat_activity
         WHERE usename = 'bk_app' ORDER BY state = 'active' DESC, random() LIMIT 1) AS one
"""
REMEMBER = """
INSERT INTO bk.idempotency (principal_id, surface_id, key, fingerprint, status, result)
VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING
"""

type Storage = Callable[[Connections, str], EventStore]


class ForgetfulStore(PostgresEventStore):
    """Acts first, and remembers the answer in a statement of its own."""

    def __init__(self, connections: Connections, url: str) -> None:
        super().__init__(connections, url)
        self._own = connections

    async def append(self, append: Append) -> Position:
        position = await super().append(replace(append, remember=None))
        if kept := append.remember:
            await self._own.read(
                REMEMBER,
                append.principal_id,
                append.surface_id,
                kept.key,
                kept.fingerprint,
                kept.status,
                kept.result.decode(),
            )
        return position


async def test_every_key_has_one_effect_and_one_answer(report: Report):
    figures, refusals = await storm(PostgresEventStore, asked("KEYS", 300))
    report("T5", figures)
    assert figures["keys_with_one_effect"] == figures["keys"]
    assert figures["leaked"] == figures["lost"] == figures["misnumbered"] == figures["holes"] == 0
    assert figures["written_though_refused"] == figures["torn"] == 0
    assert figures["keys_with_one_answer"] == figures["keys"], refusals


async def test_the_storm_catches_a_store_that_acts_and_then_remembers(report: Report):
    figures, _ = await storm(ForgetfulStore, 60)
    report("T5 act, then remember", figures)
    assert figures["keys_with_one_effect"] < figures["keys"]


async def storm(storage: Storage, keys: int) -> tuple[dict[str, Any], Counter[str]]:
    """All attempts of every key, some keys at once, and what came of them."""
    chosen, began = seed(), time.monotonic()
    async with fresh_ground() as ground:
        deployment = ground.deployment()
        await deployment.service()
        connections = Connections(ground.app_url, 16, statement_timeout="2000", lock_timeout="500")
        store = storage(connections, ground.app_url)
        client = Client(compose(store, deployment.lists, b"k" * 32))
        steps = await requests(client, keys)
        prepared = len(client.history)
        before = len(await read_log(ground.admin_url))
        nemesis = Nemesis(ground, dice(chosen, "nemesis"))
        at_once = asyncio.Semaphore(AT_ONCE)
        async with asyncio.TaskGroup() as tasks:
            for key, step in steps.items():
                tasks.create_task(press(key, step, client, nemesis, at_once))
        log = await read_log(ground.admin_url)
        await connections.close()
        await deployment.close()
    history = client.history[prepared:]
    audit = audit_history(log, history, before)
    given = answers(history)
    effects = effects_by_key(log, history)
    return {
        "seed": chosen,
        "seconds": round(time.monotonic() - began, 1),
        "keys": keys,
        "attempts": len(history),
        "replayed": sum(bool(a.answered and a.answered.replayed) for a in history),
        "unknown": audit.unknown,
        "terminated": nemesis.terminated,
        "thrown_away": nemesis.thrown_away,
        "keys_with_one_effect": sum(effects[key] == 1 for key in steps),
        "most_effects": max(effects.values()),
        "keys_with_one_answer": sum(len(given[key]) == 1 for key in steps),
        "lost": audit.lost,
        "torn": audit.torn,
        "misnumbered": audit.misnumbered,
        "written_though_refused": audit.written_though_refused,
        "holes": audit.holes,
        "leaked": audit.leaked,
    }, Counter(f"{a.name}: {a.refusal}" for a in history if a.refusal and final(a))


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


async def press(
    key: str, step: Step, client: Client, nemesis: Nemesis, at_once: asyncio.Semaphore
) -> None:
    """Make all attempts of one request together, each until it has an answer."""

    async def insist() -> None:
        while True:
            attempt, _ = await asyncio.gather(client.attempt(key, step), nemesis.strike())
            if final(attempt) and not nemesis.loses_the_answer():
                return

    async with at_once, asyncio.TaskGroup() as tasks:
        for _ in range(ATTEMPTS):
            tasks.create_task(insist())


def final(attempt: Attempt) -> bool:
    """Whether a client takes this for the answer."""
    return attempt.end is not End.UNKNOWN and attempt.refusal not in WORTH_REPEATING


async def requests(client: Client, keys: int) -> dict[str, Step]:
    """Creations, changes and commands that write two streams, by turns."""
    shared = [await client.succeed("register_actor", name="Grace") for _ in range(10)]
    steps: dict[str, Step] = {}
    for number in range(keys):
        key = f"key-{number}"
        match number % 3:
            case 0:
                login = {"issuer": "https://idp.test", "subject": key}
                steps[key] = Step("register_actor", {"name": "Grace", "identities": [login]})
            case 1:
                changes = {"actor_id": shared[number % len(shared)], "phone": key}
                steps[key] = Step("update_actor_profile", changes)
            case _:
                steps[key] = await a_handover(client)
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


def answers(history: list[Attempt]) -> dict[str, set[tuple[object, ...]]]:
    """The different answers that were given to each key."""
    given: dict[str, set[tuple[object, ...]]] = defaultdict(set)
    for attempt in history:
        if attempt.answered:
            given[attempt.key].add((attempt.answered.status, attempt.answered.body))
        elif final(attempt):
            given[attempt.key].add((attempt.refusal,))
    return given


def effects_by_key(log: list[Logged], history: list[Attempt]) -> Counter[str]:
    """How many attempts of each key wrote something."""
    written = {event.correlation_id for event in log}
    return Counter(a.key for a in history if a.correlation_id in written)
