"""Loading and folding a stream against a bare SELECT of the same rows."""

import random
from collections.abc import Mapping
from typing import Any
from uuid import UUID

import asyncpg

from beamkeep.contexts.trust.visit import visits
from beamkeep.runtime.store import READ_AT_ONCE

from .loading import load_visits, visit_ids
from .measure import Plan, Step, Steps, against_itself, gated, throughput
from .rig import Database, Rig, Seam, principal

GATE = 0.60
METHOD = (
    "EventStore.load and Codec.fold of a random one of {} visits of 20 events, at {} connection,"
    " against SELECT of the same rows by version; same driver and loop. Streams of more than {}"
    " events are read page by page, as the service reads a stream that has no snapshot."
)
CONNECTIONS = 1
GATED, SHAPES = 20, {1: 15_000, 20: 15_000, 200: 300, 5000: 6}
SMALLEST_SHAPES = {1: 2, 20: 2, 200: 1, READ_AT_ONCE + 1: 1}
"""Streams by the number of their events."""
SELECT = """
SELECT version, event_type, schema_version, payload::text FROM bk.events
 WHERE stream_type = $1 AND stream_id = $2 ORDER BY version
"""


async def measure(rig: Rig) -> dict[str, Any]:
    """Compare on streams of 20 events; in a full run also on shorter and longer ones."""
    async with rig.database("fold") as database:
        shapes = rig.pick(SHAPES, {GATED: SHAPES[GATED]}, SMALLEST_SHAPES)
        ids = await _load(database, shapes)
        plan, shorter = rig.plan, rig.plan.cut(8)
        found = {
            events: await _on(database, ids[events], events, plan if events == GATED else shorter)
            for events in shapes
        }
        connections = await database.bare(CONNECTIONS)
        bare = Steps([_bare(each, ids[GATED], GATED) for each in connections])
        alike = await rig.meter.compare(bare, bare, plan.alike())
        method = METHOD.format(shapes[GATED], CONNECTIONS, READ_AT_ONCE)
        return gated(found.pop(GATED) | against_itself(alike), GATE, method) | {
            f"of_{events}": figures for events, figures in found.items()
        }


async def _load(database: Database, shapes: Mapping[int, int]) -> dict[int, list[UUID]]:
    me, ids, first = await principal(database), dict[int, list[UUID]](), 0
    for events, streams in shapes.items():
        await load_visits(database.owner, me, first, streams, events)
        ids[events] = await visit_ids(database.owner, first, streams)
        first += streams
    await database.settle()
    return ids


async def _on(database: Database, ids: list[UUID], events: int, plan: Plan) -> dict[str, Any]:
    bare = Steps([_bare(each, ids, events) for each in await database.bare(CONNECTIONS)])
    seam = database.seam(CONNECTIONS)
    ours = Steps([_ours(seam, ids, events) for _ in range(CONNECTIONS)])
    return throughput(await database.rig.meter.compare(bare, ours, plan))


def _bare(connection: asyncpg.Connection, ids: list[UUID], events: int) -> Step:
    draw = random.Random(1)  # noqa: S311

    async def step() -> None:
        assert len(await connection.fetch(SELECT, "Visit", draw.choice(ids))) == events

    return step


def _ours(seam: Seam, ids: list[UUID], events: int) -> Step:
    draw = random.Random(1)  # noqa: S311

    async def step() -> None:
        stream = "Visit", draw.choice(ids)
        page = (await seam.store.load([stream]))[stream].events
        state, version = None, 0
        while page:
            state = seam.codec.fold(visits, page, state, version)
            version += len(page)
            if len(page) < READ_AT_ONCE:
                break
            page = await seam.store.later(stream, version, READ_AT_ONCE)
        assert state is not None
        assert version == events

    return step
