"""What a board and a status cost on PostgreSQL: a beamline with a thousand assets."""

import json
from collections.abc import AsyncGenerator
from statistics import quantiles
from time import perf_counter
from typing import Any

import pytest
from tests.support.examples.assets import BEAMLINE
from tests.support.examples.board import a_beamline_in_use
from tests.support.examples.caution import register_caution
from tests.support.examples.enclosure import a_permitted_enclosure
from tests.support.examples.equipment import a_group

from beamkeep.feed.tail import WHOLE_LOG
from beamkeep.testing.cluster import Cluster
from beamkeep.testing.database import Database
from beamkeep.testing.postgres import Deployed, connected, postgres_service
from beamkeep.testing.service import AdminClient, call

pytestmark = [pytest.mark.anyio, pytest.mark.postgres]

ASSETS, FAILING, BEAMLINES = 1_000, 20, 12
MOST_STATEMENTS = 40
STATEMENTS = """
SELECT calls::int, left(regexp_replace(query, '\\s+', ' ', 'g'), 120) FROM pg_stat_statements s
  JOIN pg_roles r ON r.oid = s.userid JOIN pg_database d ON d.oid = s.dbid
 WHERE r.rolname = 'bk_app' AND d.datname = $1 ORDER BY calls DESC
"""


@pytest.fixture
async def deployed(database: Database) -> AsyncGenerator[Deployed]:
    async with postgres_service(database) as deployed:
        yield deployed


async def a_large_beamline(deployed: Deployed) -> str:
    """A beamline with a thousand assets in hutches, of which some fail."""
    do = AdminClient(deployed.service, deployed.store)
    root, kind = await a_beamline_in_use(do), {"family_ids": [await a_group(do)]}
    hutches = [await a_permitted_enclosure(do) for _ in range(3)]
    for number in range(ASSETS):
        part = {"name": f"Stage {number}", "tier": "Device", "parent_id": root}
        where = {"located_in_enclosure_id": hutches[number % 3]} if number % 10 == 0 else {}
        made = await do("register_asset", part | kind | where)
        if number % (ASSETS // FAILING) == 0:
            await do("fault_asset", {**made, "reason": "It drifts"})
            told = {**await register_caution(do), "propagate_to_children": False}
            target = {"kind": "Asset", "id": made["asset_id"]}
            await do("register_caution", told | {"target": target})
    for number in range(BEAMLINES):
        await do("register_asset", BEAMLINE | kind | {"name": f"Beamline {number}"})
    await deployed.projector.catch_up([WHOLE_LOG])
    return root


async def test_a_board_takes_at_most_forty_statements_whatever_stands_on_the_beamline(
    cluster: Cluster, deployed: Deployed, database: Database
):
    asked = {"asset_id": await a_large_beamline(deployed)}
    async with connected(Database(cluster, "postgres"), "postgres") as counting:

        async def cost(name: str, arguments: dict[str, Any]) -> tuple[int, dict[str, Any]]:
            await call(deployed.service, name, arguments)
            await counting.execute("SELECT pg_stat_statements_reset()")
            answer = await call(deployed.service, name, arguments)
            counted = await counting.fetch(STATEMENTS, database.name)
            for calls, query in counted:
                print(f"{calls:3} {query}")
            return sum(calls for calls, _ in counted), json.loads(answer.body)

        statements, board = await cost("get_board", asked)
        print(f"a board with {ASSETS} assets: {statements} statements")
        assert (len(board["assets"]), len(board["enclosures"])) == (FAILING, 3)
        assert len(board["cautions"]) == FAILING
        assert statements <= MOST_STATEMENTS
        statements, status = await cost("get_status", {})
        print(f"a status of {len(status['items'])} beamlines: {statements} statements")
        assert len(status["items"]) > BEAMLINES
        assert statements <= MOST_STATEMENTS


@pytest.mark.faults
@pytest.mark.timed
async def test_a_board_is_composed_in_less_than_200_ms(deployed: Deployed):
    asked = {"asset_id": await a_large_beamline(deployed)}
    for name, arguments in (("get_board", asked), ("get_status", {})):
        seconds: list[float] = []
        for _ in range(40):
            began = perf_counter()
            await call(deployed.service, name, arguments)
            seconds.append(perf_counter() - began)
        p95 = quantiles(seconds, n=20)[-1]
        print(f"{name}: median {sorted(seconds)[20] * 1e3:.0f} ms, p95 {p95 * 1e3:.0f} ms")
        assert p95 < 0.2
