"""What one command costs in a small deployment and in a large one."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID

from .append import Fresh, made, ours_step
from .loading import load_visits, visit_ids
from .measure import Plan, Quad, Steps, spread
from .picture import Line, Panel, picture
from .rig import Database, Rig, Size, principal

MOST = 1.3
# Few commands: a small log must stay small.
PLAN = Plan(8, 1, 0.25)
METHOD = (
    "One command as in `append`, at 1 connection, in a log of {} events against one of 2,200, and"
    " among 10,000 policies of other principals and 100 of the caller against 10: the ratio of"
    " processor time, client and server together; `wall` is that of the time it takes."
)
FULL_METHOD = (
    "One command as in `append`, at 1 connection, on visits spread over logs of {} events, and"
    " among {} policies of which the caller has one in a hundred: processor time, client and server"
    " together, by turns with the smallest, as a part of the smallest's. The first of each is the"
    " smallest against another like it, which is what noise makes of it."
)
FRESH, SMALL_STREAMS = 2_000, 10
EVENTS, POLICY_COUNTS = (10_000, 1_000_000, 10_000_000), (10, 1_000, 10_000)
FULL_PLAN, FULL_FRESH = Plan(20, 2, 0.25), 3_000
PIECES, STREAM_EVENTS, SEEDED_POLICIES = 20, 20, 4
# Two pieces of ten visits to be changed and one stream around them.
SMALLEST_EVENTS, SMALLEST_POLICY_COUNTS, FEW = (60,), (10,), 20
FURTHER = 1_000_000_000
"""The number of the first visit beyond all that were loaded."""
PICTURE = Path("build/growth.svg")
# Policies on the caller's own surface that permit other commands, and those of other principals.
POLICIES = """
INSERT INTO bk.policy_grant
SELECT gen_random_uuid(), CASE WHEN n <= $2 THEN $1 ELSE gen_random_uuid() END, g.conduit_id,
       g.surface_id, ARRAY['define_zone', 'define_conduit', 'get_zone', 'list_zones'], 'All'
  FROM generate_series(1, $3::int) AS n
 CROSS JOIN (SELECT conduit_id, surface_id FROM bk.policy_grant WHERE principal_id = $1 LIMIT 1) g
"""


async def measure(rig: Rig, events: Sequence[int] = EVENTS) -> dict[str, Any]:
    """Compare commands in logs and among policies of several sizes; if quick, of two."""
    match rig.size:
        case Size.FULL:
            return await _measure_sizes(rig, events, POLICY_COUNTS)
        case Size.QUICK:
            return await _measure_two(rig, 100_000, own=100, policies=10_000)
        case Size.SMALLEST:
            await _measure_sizes(rig, SMALLEST_EVENTS, SMALLEST_POLICY_COUNTS)
            return await _measure_two(rig, 100, own=1, policies=10)


async def _measure_two(rig: Rig, events: int, own: int, policies: int) -> dict[str, Any]:
    """A log of so many events and so many policies, each against few."""
    log = await _compare(rig, streams=events // 20, own=1, policies=6)
    among = await _compare(rig, streams=SMALL_STREAMS, own=own, policies=policies)
    return {
        "log": log,
        "policies": among,
        "gate": MOST,
        "reached": log["reached"] and among["reached"],
        "method": METHOD.format(f"{events:,}"),
    }


async def _fill(database: Database, streams: int, own: int, policies: int) -> None:
    me, fresh = await principal(database), _fresh_count(database.rig)
    await load_visits(database.owner, me, 0, fresh, 1)
    await load_visits(database.owner, me, fresh, streams, 20)
    await database.owner.execute(POLICIES, me, own, policies)
    await database.settle()


async def _compare(rig: Rig, streams: int, own: int, policies: int) -> dict[str, Any]:
    """One deployment of this size against a small one, both made for it."""
    async with rig.database("growth_small") as small, rig.database("growth_large") as large:
        await _fill(small, SMALL_STREAMS, own=1, policies=6)
        await _fill(large, streams, own, policies)
        sides: list[Steps] = []
        for each in (small, large):
            fresh = await _fresh(each, await visit_ids(each.owner, 0, _fresh_count(rig)))
            sides.append(Steps([ours_step(each.seam(1), fresh)]))
        plan = rig.pick(PLAN, PLAN, rig.plan)
        quads = await rig.meter.compare(sides[0], sides[1], plan)
    return _judged(quads)


def _judged(quads: Sequence[Quad]) -> dict[str, Any]:
    cost = spread([quad.ours.cpu / quad.bare.cpu for quad in quads])
    wall = spread([quad.bare.rate / quad.ours.rate for quad in quads])
    return {**cost, "wall": wall, "gate": MOST, "reached": cost["ratio"] < MOST}


async def _measure_sizes(
    rig: Rig, events: Sequence[int], policies: Sequence[int]
) -> dict[str, Any]:
    """Every size against the smallest of its kind, the other kind held at its smallest."""
    fewest = policies[0]
    by_events = [await _against_smallest(rig, events[0], fewest, n, fewest) for n in events]
    by_policies = [await _against_smallest(rig, events[0], fewest, events[0], n) for n in policies]
    found = {
        "log": by_events[-1] | {"sizes": dict(zip(map(str, events), by_events, strict=True))},
        "policies": by_policies[-1]
        | {"sizes": dict(zip(map(str, policies), by_policies, strict=True))},
        "gate": MOST,
        "reached": by_events[-1]["reached"] and by_policies[-1]["reached"],
        "method": FULL_METHOD.format(_listed(events), _listed(policies)),
    }
    made = drawn(found)
    if rig.size is Size.FULL:
        PICTURE.parent.mkdir(exist_ok=True)
        PICTURE.write_text(made)
    return found


async def _against_smallest(
    rig: Rig, few_events: int, few_policies: int, events: int, policies: int
) -> dict[str, Any]:
    async with rig.database("growth_small") as small, rig.database("growth_large") as large:
        sides = [
            await _spread_out(small, few_events, few_policies),
            await _spread_out(large, events, policies),
        ]
        bytes = await large.owner.fetchval("SELECT pg_database_size(current_database())")
        plan = rig.pick(FULL_PLAN, FULL_PLAN, rig.plan)
        quads = await rig.meter.compare(sides[0], sides[1], plan)
    micros = [1e6 * quad.ours.cpu for quad in quads]
    return _judged(quads) | {
        "cpu_us": round(sorted(micros)[len(micros) // 2]),
        "database_bytes": bytes,
    }


async def _spread_out(database: Database, events: int, policies: int) -> Steps:
    """Fill with so many events, and the visits to be changed at even distances among them."""
    me, rig = await principal(database), database.rig
    changed, pieces = rig.pick((FULL_FRESH, PIECES), (FULL_FRESH, PIECES), (FEW, 2))
    streams = max(0, events - changed) // STREAM_EVENTS // pieces
    fresh: list[UUID] = []
    first = 0
    for _ in range(pieces):
        await load_visits(database.owner, me, first, changed // pieces, 1)
        fresh += await visit_ids(database.owner, first, changed // pieces)
        first += changed // pieces
        await load_visits(database.owner, me, first, streams, STREAM_EVENTS)
        first += streams
    own, more = max(1, policies // 100), max(0, policies - SEEDED_POLICIES)
    await database.owner.execute(POLICIES, me, own, more)
    await database.settle()
    return Steps([ours_step(database.seam(1), await _fresh(database, fresh))])


def _fresh_count(rig: Rig) -> int:
    return rig.pick(FRESH, FRESH, FEW)


async def _fresh(database: Database, ids: Sequence[UUID]) -> Fresh:
    """These visits, and a few more at a time if they run out."""
    make = partial(made, database.owner, await principal(database), ("bk",))
    return Fresh(make, FURTHER, ids, at_once=100)


def drawn(found: dict[str, Any]) -> str:
    """Both comparisons side by side."""

    def panel(part: str, title: str, x_label: str) -> Panel:
        sizes: dict[str, dict[str, Any]] = found[part]["sizes"]
        points = [(float(size), each["ratio"]) for size, each in sizes.items()]
        line = Line("", points, [tuple(each["interval"]) for each in sizes.values()])
        lowest = min(0.8, *(low for low, _ in line.intervals))
        return Panel(title, [line], x_label, log_x=True, limit=MOST, bottom=lowest)

    return picture(
        "Processor time of one command, as a part of that in the smallest deployment",
        [
            panel("log", "by the events in the log", "events"),
            panel("policies", "by the policies", "policies"),
        ],
        "Points are medians, bars their intervals of 95 %; dashed: what is allowed.",
        columns=2,
    )


def _listed(sizes: Sequence[int]) -> str:
    return ", ".join(f"{size:,}" for size in sizes)
