"""Calls over HTTP against the bare statements beneath them."""

import asyncio
import random
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import asyncpg
from uuid_utils.compat import uuid7

from beamkeep.runtime.admission import Request

from .append import SURFACE
from .loading import load_visits
from .measure import Plan, Step, Steps, against_itself, gated, throughput
from .rig import INSERT, Database, Rig, Seam, caller, operation, principal
from .serving import Requests, Server, serving

GATE, CONNECTIONS, ZONES, VISITS = 0.10, 16, 1000, 10_000
AT_ONCE = 10
COMMAND = (
    "POST /zones at 16 connections with a bearer token and a fresh idempotency key each to one"
    " `beamkeep serve` with PROJECT_IN_SERVE=false and no `work` running, against INSERT of the"
    " same row at 16 connections; `without_key` sends no key, `projecting` lets `serve` keep the"
    " lists too. The client's time is that of the serving process."
)
GET = (
    "GET /zones/{id} of a random zone at 16 connections with a bearer token, against SELECT of its"
    " stream at 16 connections; no gate. The client's time is that of the serving process."
)
NAME = "Experimental hall, north side"
BODY = b'{"name":"%s"}' % NAME.encode()
SELECT = """
SELECT version, event_type, schema_version, payload::text FROM bk.events
 WHERE stream_type = $1 AND stream_id = $2 ORDER BY version
"""


async def measure_command(rig: Rig) -> dict[str, Any]:
    """Compare with a key; in a full run without one, and with the lists kept by the process."""
    async with rig.database("http_command") as database:
        await _load(database)
        plan, compare = _plan(rig), rig.meter.compare
        shorter, bare = plan.cut(8), Steps(await _inserting(database))
        async with serving(database) as server:
            keyed = await compare(bare, _posting(server, keyed=True), plan)
        alike = against_itself(await compare(bare, bare, plan.alike()))
        found = gated(throughput(keyed) | alike, GATE, COMMAND)
        if not rig.extended:
            return found
        async with serving(database) as server:
            plain = await compare(bare, _posting(server, keyed=False), shorter)
        async with serving(database, project=True) as server:
            projecting = await compare(bare, _posting(server, keyed=True), shorter)
        return found | {"without_key": throughput(plain), "projecting": throughput(projecting)}


async def measure_get(rig: Rig) -> dict[str, Any]:
    """Compare reads of one zone."""
    async with rig.database("http_get") as database:
        ids = await _zones(database.seam(4), rig.pick(ZONES, ZONES, AT_ONCE))
        await database.settle()
        bare = Steps([_selecting(each, ids) for each in await database.bare(CONNECTIONS)])
        draw = random.Random(1)  # noqa: S311
        async with serving(database) as server:
            requests = [server.request("GET", f"/zones/{id}") for id in ids]
            asking = Requests(server, CONNECTIONS, 200, lambda: draw.choice(requests))
            plan = _plan(rig).cut(8)
            figures = throughput(await rig.meter.compare(bare, asking, plan))
        return figures | {"gate": None, "reached": None, "method": GET}


def _plan(rig: Rig) -> Plan:
    """Slices long enough for a process of its own to get going."""
    return rig.pick(Plan(14, 2, 1.0), Plan(3, 1, 1.0), rig.plan)


async def _load(database: Database) -> None:
    me, visits = await principal(database), database.rig.pick(VISITS, VISITS, AT_ONCE)
    for schema in ("bk", "bare"):
        await load_visits(database.owner, me, 0, visits, 10, schema)
    await database.settle()


async def _zones(seam: Seam, number: int) -> list[UUID]:
    define = operation("define_zone")

    async def one() -> UUID:
        answered = await seam.service.dispatcher.execute(define, Request(caller(), {"name": NAME}))
        assert answered.id
        return answered.id

    return [
        id
        for _ in range(number // AT_ONCE)
        for id in await asyncio.gather(*(one() for _ in range(AT_ONCE)))
    ]


def _posting(server: Server, keyed: bool) -> Requests:
    plain = server.request("POST", "/zones", BODY)

    def next() -> bytes:
        return server.request("POST", "/zones", BODY, str(uuid7())) if keyed else plain

    return Requests(server, CONNECTIONS, 201, next)


async def _inserting(database: Database) -> list[Step]:
    me = await principal(database)
    return [_insert(each, me) for each in await database.bare(CONNECTIONS)]


def _insert(connection: asyncpg.Connection, principal_id: UUID) -> Step:
    async def step() -> None:
        id = uuid7()
        payload = (
            f'{{"occurred_at":"2030-01-01T08:00:00.123456Z","zone_id":"{id}","name":"{NAME}"}}'
        )
        about = "define_zone", principal_id, SURFACE, uuid7(), None, datetime.now(UTC)
        await connection.fetch(INSERT, "Zone", id, 1, uuid7(), "ZoneDefined", 1, payload, *about)

    return step


def _selecting(connection: asyncpg.Connection, ids: list[UUID]) -> Step:
    draw = random.Random(1)  # noqa: S311

    async def step() -> None:
        assert len(await connection.fetch(SELECT, "Zone", draw.choice(ids))) == 1

    return step
