"""What one command costs in a small deployment and in a large one."""

from typing import Any

from .append import Fresh, ours_step
from .loading import load_visits, visit_ids
from .measure import Plan, Steps, spread
from .rig import Database, Rig, principal

MOST = 1.3
# Few enough commands for the visits there are: a small log must stay small.
PLAN = Plan(8, 1, 0.25)
METHOD = (
    "One command as in `append`, at 1 connection, in a log of {} events against one of 2,200, and"
    " among 10,000 policies of other principals and 100 of the caller against 10: the ratio of"
    " processor time, client and server together; `wall` is that of the time it takes."
)
FRESH, SMALL_STREAMS = 2_000, 10
# Policies on the caller's own surface that permit other commands, and those of other principals.
POLICIES = """
INSERT INTO bk.policy_grant
SELECT gen_random_uuid(), CASE WHEN n <= $2 THEN $1 ELSE gen_random_uuid() END, g.conduit_id,
       g.surface_id, ARRAY['define_zone', 'define_conduit', 'get_zone', 'list_zones'], 'All'
  FROM generate_series(1, $3::int) AS n
 CROSS JOIN (SELECT conduit_id, surface_id FROM bk.policy_grant WHERE principal_id = $1 LIMIT 1) g
"""


async def measure(rig: Rig) -> dict[str, Any]:
    """Compare commands in two logs and among two numbers of policies."""
    events = 1_000_000 if rig.full else 100_000
    log = await _compare(rig, streams=events // 20, own=1, policies=6)
    policies = await _compare(rig, streams=SMALL_STREAMS, own=100, policies=10_000)
    return {
        "log": log,
        "policies": policies,
        "gate": MOST,
        "reached": log["reached"] and policies["reached"],
        "method": METHOD.format(f"{events:,}"),
    }


async def _fill(database: Database, streams: int, own: int, policies: int) -> None:
    me = await principal(database)
    await load_visits(database.owner, me, 0, FRESH, 1)
    await load_visits(database.owner, me, FRESH, streams, 20)
    await database.owner.execute(POLICIES, me, own, policies)
    await database.settle()


async def _compare(rig: Rig, streams: int, own: int, policies: int) -> dict[str, Any]:
    """One deployment of this size against a small one, both made for it."""
    async with rig.database("growth_small") as small, rig.database("growth_large") as large:
        await _fill(small, SMALL_STREAMS, own=1, policies=6)
        await _fill(large, streams, own, policies)
        sides = [
            Steps([ours_step(each.seam(1), Fresh(await visit_ids(each.owner, 0, FRESH)))])
            for each in (small, large)
        ]
        quads = await rig.meter.compare(sides[0], sides[1], PLAN)
    cost = spread([quad.ours.cpu / quad.bare.cpu for quad in quads])
    wall = spread([quad.bare.rate / quad.ours.rate for quad in quads])
    return {**cost, "wall": wall, "gate": MOST, "reached": cost["ratio"] < MOST}
