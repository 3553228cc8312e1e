"""One single-event command against one bare INSERT of the same row."""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any, NamedTuple
from uuid import UUID

import asyncpg
from uuid_utils.compat import uuid7

from beamkeep.contexts.trust import seeded
from beamkeep.kernel import SurfaceKind
from beamkeep.runtime.admission import Request

from .loading import load_visits, visit_ids
from .measure import Plan, Step, Steps, against_itself, gated, throughput
from .rig import INSERT, Database, Rig, Seam, caller, operation, principal

GATE = 0.40
METHOD = (
    "Dispatcher.execute of a change of one visit of 1 to 9 events, token identity and a fresh"
    " idempotency key each, at 4 connections, against INSERT of the same row into an identical"
    " table; same driver, loop and connections."
)
REASON = "The shutter of the hutch does not close."
COMMANDS = (
    "record_visit_arrival",
    "start_visit",
    *("hold_visit", "resume_visit") * 3,
    "hold_visit",
)
LONG_EVENTS = 20


class Stock(NamedTuple):
    """How many visits there are to change, and how many long ones around them."""

    fresh: int
    least: int
    """How many are there at least when a slice begins."""
    long: int


STOCK, SMALLEST_STOCK = Stock(10_000, 5_000, long=3_000), Stock(100, 20, long=10)
SURFACE = seeded.SURFACES[SurfaceKind.HTTP]


async def measure(rig: Rig) -> dict[str, Any]:
    """Compare at 4 connections; in a full run also at 1 and 8."""
    async with rig.database("append") as database:
        fresh = await load(database)
        plan = rig.plan
        figures = await _at(database, fresh, 4, plan)
        bare = Steps(await bare_steps(database, fresh, 4), fresh.stock)
        alike = await rig.meter.compare(bare, bare, plan.alike())
        return gated(figures | against_itself(alike), GATE, METHOD) | {
            f"at_{count}": await _at(database, fresh, count, plan.cut(10))
            for count in ((1, 8) if rig.extended else ())
        }


async def load(database: Database) -> "Fresh":
    """Load both logs alike: visits to be changed, and long ones around them."""
    me, schemas = await principal(database), ("bk", "bare")
    number, least, long = database.rig.pick(STOCK, STOCK, SMALLEST_STOCK)
    for schema in schemas:
        await load_visits(database.owner, me, 0, long, LONG_EVENTS, schema)
    make = partial(made, database.owner, me, schemas)
    fresh = Fresh(make, long, at_once=number, least=least)
    await fresh.stock()
    await database.settle()
    return fresh


async def made(
    owner: asyncpg.Connection, me: UUID, schemas: Sequence[str], first: int, number: int
) -> list[UUID]:
    """Register so many visits more."""
    for schema in schemas:
        await load_visits(owner, me, first, number, 1, schema)
    return await visit_ids(owner, first, number)


async def _at(database: Database, fresh: "Fresh", count: int, plan: Plan) -> dict[str, Any]:
    seam = database.seam(count)
    bare = Steps(await bare_steps(database, fresh, count), fresh.stock)
    ours = Steps([ours_step(seam, fresh) for _ in range(count)], fresh.stock)
    return throughput(await database.rig.meter.compare(bare, ours, plan))


class Fresh:
    """Visits that are only registered, each handed out once, and made as they are needed."""

    def __init__(
        self,
        make: Callable[[int, int], Awaitable[list[UUID]]],
        first: int,
        ids: Sequence[UUID] = (),
        *,
        at_once: int,
        least: int = 1,
    ) -> None:
        self._make, self._next, self._ids = make, first, deque(ids)
        self._at_once, self._least = at_once, least
        self._making = asyncio.Lock()

    async def stock(self, least: int | None = None) -> None:
        """See that there are enough of them, however many were used."""
        async with self._making:
            while len(self._ids) < (least or self._least):
                self._ids += await self._make(self._next, self._at_once)
                self._next += self._at_once

    async def changes(self) -> AsyncGenerator[tuple[UUID, int, str]]:
        """One change after another: the visit, its version after it, and the command."""
        while True:
            if not self._ids:
                # Within a slice, at the cost of its time: better than to end without a figure.
                await self.stock(1)
            id = self._ids.popleft()
            for version, name in enumerate(COMMANDS, 2):
                yield id, version, name


def ours_step(seam: Seam, fresh: Fresh) -> Step:
    """Carry out the next command on a visit of its own."""
    changes = fresh.changes()
    operations = {name: operation(name) for name in COMMANDS}
    execute = seam.service.dispatcher.execute

    async def step() -> None:
        id, version, name = await anext(changes)
        arguments = {"visit_id": str(id)}
        if name == "hold_visit":
            arguments["reason"] = REASON
        answered = await execute(
            operations[name], Request(caller(), arguments, idempotency_key=str(uuid7()))
        )
        assert answered.version == version

    return step


async def bare_steps(database: Database, fresh: Fresh, count: int) -> list[Step]:
    """Insert the rows the same commands would have written."""
    me = await principal(database)
    return [_bare_step(each, fresh, me) for each in await database.bare(count)]


def _bare_step(connection: asyncpg.Connection, fresh: Fresh, principal_id: UUID) -> Step:
    changes = fresh.changes()
    rows = {name: _row(name) for name in COMMANDS}
    fetch: Callable[..., Awaitable[object]] = connection.fetch

    async def step() -> None:
        id, version, name = await anext(changes)
        await fetch(
            INSERT,
            "Visit",
            id,
            version,
            uuid7(),
            *rows[name],
            name,
            principal_id,
            SURFACE,
            uuid7(),
            None,
            datetime.now(UTC),
        )

    return step


def _row(name: str) -> tuple[str, int, str]:
    """Type, form and payload of the event a command writes."""
    event_type = {
        "record_visit_arrival": "VisitArrived",
        "start_visit": "VisitStarted",
        "hold_visit": "VisitHeld",
        "resume_visit": "VisitResumed",
    }[name]
    reason = f',"reason":"{REASON}"' if name == "hold_visit" else ""
    about = f'"occurred_at":"2030-01-01T08:00:00.123456Z","visit_id":"{seeded.CLIENTS}"'
    return event_type, 1, f"{{{about}{reason}}}"
