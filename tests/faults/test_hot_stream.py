"""Many writers on one stream: none of their changes is lost, and hardly one is told to repeat."""

import asyncio
import math
import time
from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Any
from uuid import uuid4

import pytest

from beamkeep.adapters.postgres.event_store import PostgresEventStore
from beamkeep.runtime.store import Stream
from tests.faults.auditor import audit_history, read_log
from tests.faults.conftest import Report
from tests.faults.ground import Ground, fresh_ground
from tests.faults.report import asked
from tests.faults.workload import Client, End, Step

pytestmark = [pytest.mark.faults, pytest.mark.anyio]

WRITERS, MOST_CONFLICTS = 16, 0.01
# A stream is read whole for every change: a longer one would measure that instead.
LONGEST = 200


@pytest.fixture(scope="module")
async def ground() -> AsyncGenerator[Ground]:
    async with fresh_ground() as ground:
        yield ground


@pytest.mark.parametrize("instances", [1, 2])
async def test_sixteen_writers_on_one_stream_lose_nothing_and_are_rarely_asked_to_retry(
    instances: int, ground: Ground, report: Report
):
    figures = await heat(ground, instances, asked("HOT_SECONDS", 5))
    report("T8" if instances == 1 else f"T8 on {instances} instances", figures)
    assert figures["conflicts_per_success"] <= MOST_CONFLICTS


async def test_the_hot_stream_finds_commands_that_are_only_optimistic(
    ground: Ground, report: Report, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(PostgresEventStore, "wait_turn", at_once)
    figures = await heat(ground, 1, 2)
    report("T8 optimistic only", figures)
    assert figures["conflicts_per_success"] > MOST_CONFLICTS


def at_once(store: PostgresEventStore, stream: Stream | None) -> AbstractAsyncContextManager[None]:
    """A turn that nobody waits for."""
    return nullcontext()


async def heat(ground: Ground, instances: int, seconds: int) -> dict[str, Any]:
    """All writers on one stream after the other, spread over so many instances of the service."""
    heat_id, latencies, first = uuid4(), list[float](), list[float]()
    deployments = [ground.deployment() for _ in range(instances)]
    clients = [Client(await deployment.service()) for deployment in deployments]
    before = len(await read_log(ground.admin_url))
    stream = HotStream(clients[0])
    writers = [clients[number % instances] for number in range(WRITERS)]

    async def write(client: Client, until: float) -> None:
        while time.monotonic() < until:
            number, actor_id = await stream.next_change()
            changes = Step("update_actor_profile", {"actor_id": actor_id, "phone": str(number)})
            began = time.monotonic()
            await client.attempt(f"{heat_id}-{number}", changes)
            # Those who find a stream cold fight over it; a hot stream is found cold once.
            timed = latencies if number % LONGEST >= WRITERS else first
            timed.append(time.monotonic() - began)

    # Connections are opened and statements prepared before anything is timed.
    await asyncio.gather(*(client.succeed("register_actor", name="Ada") for client in writers))
    async with asyncio.TaskGroup() as tasks:
        for client in writers:
            tasks.create_task(write(client, time.monotonic() + seconds))
    for deployment in deployments:
        await deployment.close()
    log = await read_log(ground.admin_url)
    history = [attempt for client in clients for attempt in client.history]
    audit = audit_history(log, history, before)
    conflicts = sum(a.refusal == "ConcurrencyError" for a in history)
    succeeded = audit.acknowledged - stream.streams - WRITERS
    assert succeeded > 0
    assert not [a.refusal for a in history if a.end is End.LEAKED]
    assert audit.lost == audit.holes == audit.misnumbered == audit.unaccounted == 0
    assert audit.written_though_refused == audit.doubled == 0
    return {
        "writers": WRITERS,
        "instances": instances,
        "streams": stream.streams,
        "succeeded": succeeded,
        "succeeded_per_second": round(succeeded / seconds, 1),
        "conflicts": conflicts,
        "conflicts_per_success": round(conflicts / succeeded, 4),
        "p50_ms": milliseconds(latencies, 0.5),
        "p99_ms": milliseconds(latencies, 0.99),
        "slowest_on_a_cold_stream_ms": milliseconds(first, 1),
        "unknown": audit.unknown,
        "lost": audit.lost,
    }


def milliseconds(seconds: list[float], part: float) -> float | None:
    """What this part of them is not above."""
    reached = sorted(seconds)[: math.ceil(len(seconds) * part)]
    return round(reached[-1] * 1000, 1) if reached else None


class HotStream:
    """The stream that all writers change now."""

    def __init__(self, client: Client) -> None:
        self._client, self._lock = client, asyncio.Lock()
        self._actor_id, self._changes, self.streams = "", 0, 0

    async def next_change(self) -> tuple[int, str]:
        """The number of the change and whose: another actor's when this one's stream is long."""
        async with self._lock:
            number = self._changes
            self._changes += 1
            if number % LONGEST == 0:
                self._actor_id = await self._client.succeed("register_actor", name="Grace")
                self.streams += 1
            return number, self._actor_id
