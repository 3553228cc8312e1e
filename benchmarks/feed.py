"""The feed of one process: how late listeners get events, and what idle listeners cost."""

import asyncio
import os
import time
from collections import defaultdict
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from statistics import quantiles
from typing import Any, NamedTuple
from uuid import UUID

import httpx2
from uuid_utils.compat import uuid7

from beamkeep.adapters.postgres.event_store import PostgresEventStore
from beamkeep.adapters.postgres.log_notices import PostgresLogNotices
from beamkeep.contexts.trust import seeded
from beamkeep.contexts.trust.zone import ZoneDefined
from beamkeep.kernel import SurfaceKind
from beamkeep.runtime.store import Position
from beamkeep.testing.appends import append, at
from beamkeep.testing.calling import Rest
from beamkeep.testing.feed_listener import FeedListener
from beamkeep.testing.installation import ISSUER
from beamkeep.testing.server import Server, running_server
from beamkeep.testing.service import policy
from beamkeep.testing.waiting import until

from .rig import Rig

RATE, CONNECTIONS, PER_PRINCIPAL = 200, 4, 8
METHOD = (
    "100 listeners of one `beamkeep serve` while another process appends 200 events a second, one"
    " by one: the time from the answer to the append to the arrival at each listener, and the"
    " processor time of `serve`. Then 500 listeners while nothing happens: processor time of"
    " `serve`, and how much its resident memory has grown."
)


class Listeners(NamedTuple):
    """How many listeners there are under load and while nothing happens, and for how long."""

    busy: int
    idle: int
    seconds: int


FULL, QUICK, SMALLEST = (
    Listeners(100, 500, seconds=30),
    Listeners(100, 500, seconds=5),
    Listeners(2, PER_PRINCIPAL, seconds=1),
)


async def measure(rig: Rig) -> dict[str, Any]:
    """Measure the latency under load, then the cost of idle listeners."""
    listeners = rig.pick(FULL, QUICK, SMALLEST)
    seconds = listeners.seconds
    # All listeners have one address here, which may have 300 connections by default.
    most = {"limit_concurrency": "2000", "connections_per_address": "2000"}
    with running_server(rig.cluster, project_in_serve="false", **most) as server:
        async with httpx2.AsyncClient(base_url=server.url, timeout=30) as http:
            people = range(listeners.idle // PER_PRINCIPAL + 1)
            tokens = [await _enrolled(http, server, number) for number in people]
        alone = Usage(server.pid)
        await asyncio.sleep(seconds)
        alone_share = alone.share()
        before = alone.resident_mb()
        async with _listening(server, tokens, listeners.idle, _ignore):
            idle = Usage(server.pid)
            await asyncio.sleep(seconds)
            figures: dict[str, Any] = {
                "idle_core_percent_without_listeners": alone_share,
                "idle_core_percent": idle.share(),
                "idle_memory_mb": round(idle.resident_mb() - before, 1),
            }
        figures |= await _latency(server, tokens, listeners)
    return {"method": METHOD, "figures": figures}


class Usage:
    """What a process has used since now."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._began, self._ticks = time.monotonic(), self._used()

    def share(self) -> float:
        """Return the used share of a core in percent."""
        seconds = (self._used() - self._ticks) / os.sysconf("SC_CLK_TCK")
        return round(100 * seconds / (time.monotonic() - self._began), 1)

    def resident_mb(self) -> float:
        """Return the resident memory."""
        status = Path(f"/proc/{self._pid}/status").read_text()
        return int(status.partition("VmRSS:")[2].split()[0]) / 1024

    def _used(self) -> int:
        fields = Path(f"/proc/{self._pid}/stat").read_text().rpartition(")")[2].split()
        return int(fields[11]) + int(fields[12])


type Receive = Callable[[Position, bytes], None]


def _ignore(position: Position, data: bytes) -> None:
    """Do nothing with an event."""


async def _latency(server: Server, tokens: Sequence[str], listeners: Listeners) -> dict[str, Any]:
    arrived: defaultdict[Position, list[float]] = defaultdict(list)

    def receive(position: Position, data: bytes) -> None:
        arrived[position].append(time.perf_counter())

    async with _listening(server, tokens, listeners.busy, receive), _writing(server) as store:
        used, appended = Usage(server.pid), dict[Position, float]()
        began, at_once = time.perf_counter(), asyncio.Semaphore(CONNECTIONS)

        async def write() -> None:
            zone = ZoneDefined(datetime.now(UTC), uuid7(), "Experimental hall")
            async with at_once:
                position = await store.append(append(at(1, zone)))
            appended[position] = time.perf_counter()

        async with asyncio.TaskGroup() as writing:
            for number in range(listeners.seconds * RATE):
                await asyncio.sleep(began + number / RATE - time.perf_counter())
                writing.create_task(write())
        share, took = used.share(), time.perf_counter() - began
        await until(lambda: all(len(arrived[each]) == listeners.busy for each in appended))
    late = [1000 * (at - done) for each, done in appended.items() for at in arrived[each]]
    hundredths = quantiles(late, n=100)
    return {
        "events_per_second": round(len(appended) / took),
        "p50_ms": round(hundredths[49], 1),
        "p99_ms": round(hundredths[98], 1),
        "core_percent": share,
    }


@asynccontextmanager
async def _listening(
    server: Server, tokens: Sequence[str], count: int, receive: Receive
) -> AsyncGenerator[None]:
    """Connect so many listeners, up to eight for each token."""
    async with httpx2.AsyncClient(base_url=server.url) as http:
        headers = {"authorization": f"Bearer {server.admin}"}
        now = (await http.get("/events?after=now", headers=headers)).json()["next_cursor"]
    listeners = [
        FeedListener([server.url], tokens[number // PER_PRINCIPAL], now, receive)
        for number in range(count)
    ]
    async with asyncio.TaskGroup() as group:
        running = [group.create_task(listener.run()) for listener in listeners]
        await until(lambda: all(each.connected for each in listeners), "all are connected")
        yield
        for task in running:
            task.cancel()


@asynccontextmanager
async def _writing(server: Server) -> AsyncGenerator[PostgresEventStore]:
    """Provide a store whose appends are noticed, as in another process of the service."""
    notices = PostgresLogNotices(server.database.url())
    connections = server.database.connections(CONNECTIONS)
    store = PostgresEventStore(connections, server.database.url(), lambda _: notices.appended())

    async def notify() -> None:
        while True:
            await asyncio.sleep(await notices.turn())

    task = asyncio.create_task(notify())
    try:
        yield store
    finally:
        task.cancel()
        await asyncio.wait([task])
        await notices.close()
        await connections.close()


async def _enrolled(http: httpx2.AsyncClient, server: Server, number: int) -> str:
    """Register a person who may follow all events, and return a token."""
    send, subject = partial(Rest(http).send, server.admin), f"listener-{number}"
    person = {"name": subject, "identities": [{"issuer": ISSUER, "subject": subject}]}
    actor_id = UUID((await send("register_actor", person)).body["actor_id"])
    granted = policy("Follow", seeded.SURFACES[SurfaceKind.HTTP], actor_id, "list_events")
    if not (await send("define_policy", granted)).ok:
        raise RuntimeError("the policy was refused")
    return server.token(subject)
