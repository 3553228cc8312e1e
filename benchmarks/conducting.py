"""A walk of 100 setpoints against the same rows written bare, with the same puts."""

import json
import os
from collections.abc import Awaitable, Callable, Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import asyncpg

from beamkeep.adapters.postgres.projections import PostgresProjections
from beamkeep.adapters.postgres.work import PostgresWorkQueue
from beamkeep.contexts.catalogue import CATALOGUE
from beamkeep.contexts.seams.installation import Facts
from beamkeep.contexts.seams.routes import ControlRoute, Substrate
from beamkeep.deployment.service import compose
from beamkeep.feed.tail import shards
from beamkeep.parts.conducting.channels.routed import control_systems
from beamkeep.parts.conducting.effects import Effects
from beamkeep.parts.conducting.facts import ConductReader
from beamkeep.parts.conducting.walking import Walker
from beamkeep.runtime.admission import Request
from beamkeep.runtime.codec import Codec
from beamkeep.telemetry import Telemetry
from beamkeep.testing.ioc import Ioc, IocRecord, loopback_network
from beamkeep.workers.leases import CONDUCT, Holding

from .measure import against_itself, gated, throughput
from .rig import CURSOR_KEY, PATIENT, Database, Rig, caller, operation, seam_on

SETPOINTS, FEW_SETPOINTS = 100, 2
GATE, CHANNEL_ACCESS_GATE = 0.50, 0.77
METHOD = (
    "Claim and walk of a conduct of 100 setpoints that are confirmed at once by the simulator, one"
    " connection, against INSERT of the same 200 rows one by one into an identical table; the"
    " conduct is asked for before the time begins. A slice is one walk."
)
CHANNEL_ACCESS_METHOD = (
    "The same over Channel Access to a soft IOC on loopback, against the same INSERTs with"
    " aioca.caput and its callback between those of each setpoint. A walk may take 1.3 times as"
    " long, which is the ratio 0.77."
)
LEASE, WINDOW = timedelta(seconds=600), timedelta(seconds=300)

type Put = Callable[[str, float], Awaitable[object]]


async def measure(rig: Rig) -> dict[str, Any]:
    """Compare on the simulator."""

    async def nowhere(address: str, value: float) -> None:
        pass

    return await _measure(rig, Substrate.IN_MEMORY, nowhere, GATE, METHOD)


async def measure_channel_access(rig: Rig) -> dict[str, Any]:
    """Compare over Channel Access."""
    records = [IocRecord(address, "ao", 0.0) for address in addresses(rig)]
    with loopback_network() as network, Ioc(network.ports[0], *records):
        os.environ |= network.environment
        # libca reads its environment when it is loaded.
        import aioca  # noqa: PLC0415

        async def put(address: str, value: float) -> None:
            await aioca.caput(address, value, wait=True)

        gate, method = CHANNEL_ACCESS_GATE, CHANNEL_ACCESS_METHOD
        return await _measure(rig, Substrate.EPICS_CA, put, gate, method)


async def _measure(
    rig: Rig, substrate: Substrate, put: Put, gate: float, method: str
) -> dict[str, Any]:
    async with rig.database("conducting") as database:
        await database.owner.execute(
            "CREATE TABLE bare.procedure_activity (LIKE bk.procedure_activity INCLUDING ALL);"
            " GRANT INSERT ON bare.procedure_activity TO bk_app"
        )
        projections = PostgresProjections(database.pool(1, "bk_projector", **PATIENT))
        await projections.arrange(CATALOGUE.views, shards(1))
        ours = Walks(database, substrate, addresses(rig))
        await ours.prepare()
        await ours.run(0)
        rows = await database.owner.fetch("SELECT * FROM bk.procedure_activity ORDER BY sequence")
        assert len(rows) == 2 * len(addresses(rig))
        (connection,) = await database.bare(1)
        bare = BareRows(connection, rows, addresses(rig), put=put)
        figures = throughput(await rig.meter.compare(bare, ours, rig.plan))
        alike = await rig.meter.compare(bare, bare, rig.plan.alike())
        await ours.close()
        return gated(figures | against_itself(alike), gate, method)


def addresses(rig: Rig) -> list[str]:
    """Return the addresses that a walk writes."""
    return [f"BK:S{n}" for n in range(rig.pick(SETPOINTS, SETPOINTS, FEW_SETPOINTS))]


class Walks:
    """Our side: one walk in each slice."""

    pid = os.getpid()

    def __init__(self, database: Database, substrate: Substrate, addresses: Sequence[str]) -> None:
        connections, self._addresses = database.pool(1), addresses
        seam, self._queue = seam_on(connections, database.url()), PostgresWorkQueue(connections)
        routes = (
            ControlRoute("BK:", substrate=substrate, simulated=True, writable=True, inline=True),
        )
        facts = Facts(routes=routes)
        self._service = compose(seam.store, seam.lists, CURSOR_KEY, facts=facts)
        self._control, self._owner = control_systems(routes), uuid4()
        reader = ConductReader(
            service=self._service,
            store=seam.store,
            codec=Codec(CATALOGUE.aggregates.values()),
            routes=routes,
            takeover_window=WINDOW,
        )
        self._walker = Walker(
            service=self._service,
            reader=reader,
            queue=self._queue,
            effects=Effects(self._control, None, actions={}, routes=routes),
            advisors={},
            telemetry=Telemetry(),
        )

    async def prepare(self) -> None:
        """Ask for the conduct of a new procedure."""
        made = await self._ask("register_procedure", {"name": "Walk", "kind": "walk"})
        steps = [
            {"kind": "setpoint", "address": address, "value": float(n)}
            for n, address in enumerate(self._addresses)
        ]
        await self._ask("conduct_procedure", {**made, "steps": steps})

    async def run(self, seconds: float) -> int:
        """Claim the conduct and walk it, however long that takes."""
        (work,) = await self._queue.claim(CONDUCT, self._owner, LEASE, 1)
        await self._walker.walk(Holding(work, 0.0, lambda _: True))
        return len(self._addresses)

    async def close(self) -> None:
        """Close the control system."""
        await self._control.close()

    async def _ask(self, name: str, arguments: dict[str, Any]) -> Any:
        request = Request(caller(), arguments)
        answer = await self._service.dispatcher.execute(operation(name), request)
        return json.loads(answer.body or b"null")


class BareRows:
    """The bare side: the rows of one walk in each slice, and the put between those of a step."""

    pid = os.getpid()

    def __init__(
        self,
        connection: asyncpg.Connection,
        rows: Sequence[asyncpg.Record],
        addresses: Sequence[str],
        put: Put,
    ) -> None:
        first = dict(rows[0])
        self._columns = [name for name in first if name != "sequence"]
        self._rows, self._addresses, self._put = [dict(row) for row in rows], addresses, put
        self._connection, self._due = connection, list[list[Any]]()
        places = ", ".join(f"${n}" for n, _ in enumerate(self._columns, 1))
        self._insert = (
            f"INSERT INTO bare.procedure_activity ({', '.join(self._columns)}) VALUES ({places})"
        )

    async def prepare(self) -> None:
        """Make the rows of another procedure."""
        new: dict[str, UUID] = {"procedure_id": uuid4(), "conduct_id": uuid4()}
        self._due = [
            [{**row, **new, "activity_id": uuid4()}[name] for name in self._columns]
            for row in self._rows
        ]

    async def run(self, seconds: float) -> int:
        """Write them all."""
        execute, insert = self._connection.fetch, self._insert
        for n, address in enumerate(self._addresses):
            started, succeeded = self._due[2 * n : 2 * n + 2]
            await execute(insert, *started)
            await self._put(address, float(n))
            await execute(insert, *succeeded)
        return len(self._addresses)
