"""What a command and a get cost on a stream of many events, against those on a short one."""

import time
from collections.abc import Sequence
from functools import partial
from itertools import cycle
from typing import Any
from uuid import UUID

from uuid_utils.compat import uuid7

from beamkeep.runtime.admission import Request
from beamkeep.runtime.session import SNAPSHOT_EVERY
from beamkeep.runtime.store import READ_AT_ONCE

from .append import REASON
from .counts import count, undisturbed
from .loading import load_visits, visit_ids
from .measure import Quad, Step, Steps, against_itself, spread
from .rig import Rig, Seam, caller, operation, principal, question

MOST = 1.5
SHORT, SHORT_STREAMS = 100, 200
LONG, QUICK_LONG, SMALLEST_LONG = 1_000_000, 20_000, READ_AT_ONCE + 2
COUNTED, CHANGES = 130, 13
METHOD = (
    "hold_visit and resume_visit by turns (`command`), or get_visit (`get`), at 1 connection, on"
    " one visit of {:,} events against 200 visits of 100 events and more by turns: processor time,"
    " client and server together, of the long one as a part of the short ones'; `wall` is that of"
    " the time it takes. Before each slice of gets come a few commands, so that there are now few"
    " and now many events after the snapshot."
    " `first_read` is one get of the long visit before there is a snapshot of it."
    " `statements` and `transaction_ids` are counted over 130 commands on each, two"
    " snapshots among them."
)


async def measure(rig: Rig) -> dict[str, Any]:
    """Compare commands and gets on the long stream with those on short ones."""
    events = rig.pick(LONG, QUICK_LONG, SMALLEST_LONG)
    streams = rig.pick(SHORT_STREAMS, SHORT_STREAMS, 2)
    async with rig.database("long_stream") as database:
        me = await principal(database)
        await load_visits(database.owner, me, 0, 1, events)
        await load_visits(database.owner, me, 1, streams, SHORT)
        await database.settle()
        seam = database.seam(1)
        long = await visit_ids(database.owner, 0, 1)
        short = await visit_ids(database.owner, 1, streams)
        since = time.perf_counter()
        await _get(seam, long)()
        first_read = time.perf_counter() - since
        parts: dict[str, Any] = {}
        held = set(long + short)
        for name, step in (("command", partial(_command, held)), ("get", _get)):
            on_short, on_long = (
                Moving([step(seam, ids)], _command(held, seam, ids)) for ids in (short, long)
            )
            parts[name] = _judged(await rig.meter.compare(on_short, on_long, rig.plan))
            alike = await rig.meter.compare(on_short, on_short, rig.plan.alike())
            parts[name] |= against_itself(alike)
        async with undisturbed(database):
            seam = database.seam(1)
            for _ in range(2 * SNAPSHOT_EVERY):
                await _command(held, seam, long)()
            counted = {
                name: await count(database, _command(held, seam, ids), COUNTED)
                for name, ids in (("short", short[:1]), ("long", long))
            }
    same = all(
        counted["short"][each] == counted["long"][each]
        for each in ("statements", "transaction_ids")
    )
    return {
        **parts,
        "counted": counted,
        "first_read": {"seconds": round(first_read, 2), "events": events},
        "gate": MOST,
        "counts_hold": same,
        "reached": same and all(part["reached"] for part in parts.values()),
        "method": METHOD.format(events),
    }


class Moving(Steps):
    """Repeats a step on streams that are somewhat longer with each slice."""

    def __init__(self, steps: Sequence[Step], change: Step) -> None:
        super().__init__(steps)
        self._change = change

    async def prepare(self) -> None:
        """Change a few of the streams."""
        for _ in range(CHANGES):
            await self._change()


def _judged(quads: Sequence[Quad]) -> dict[str, Any]:
    cost = spread([quad.ours.cpu / quad.bare.cpu for quad in quads])
    wall = spread([quad.bare.rate / quad.ours.rate for quad in quads])
    return {**cost, "wall": wall, "gate": MOST, "reached": cost["ratio"] <= MOST}


def _command(held: set[UUID], seam: Seam, ids: Sequence[UUID]) -> Step:
    """Hold the next visit, or resume it if it is held."""
    turns, execute = cycle(ids), seam.service.dispatcher.execute

    async def step() -> None:
        id, arguments = next(turns), dict[str, str]()
        name = "resume_visit" if id in held else "hold_visit"
        if name == "hold_visit":
            arguments["reason"] = REASON
        request = Request(caller(), arguments | {"visit_id": str(id)}, idempotency_key=str(uuid7()))
        await execute(operation(name), request)
        held.symmetric_difference_update({id})

    return step


def _get(seam: Seam, ids: Sequence[UUID]) -> Step:
    turns, ask = cycle(ids), seam.service.queries.ask

    async def step() -> None:
        request = Request(caller(), {"visit_id": str(next(turns))})
        assert (await ask(question("get_visit"), request)).version

    return step
