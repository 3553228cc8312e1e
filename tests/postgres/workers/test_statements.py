"""What a walk costs: the statements of each step, counted by the database."""

from datetime import timedelta
from uuid import uuid4

import psycopg
import pytest
from tests.postgres.workers.conftest import MakeBench
from tests.support.conducting import ConductorBench, setpoint

from beamkeep.testing.database import Database
from beamkeep.workers.leases import CONDUCT, Holding

pytestmark = [pytest.mark.postgres, pytest.mark.anyio]

CALLS = """
SELECT COALESCE(sum(calls), 0)::bigint FROM pg_stat_statements s
  JOIN pg_database d ON d.oid = s.dbid WHERE d.datname = %s
"""


@pytest.fixture
def place(database: Database) -> Database:
    return database


def statements(database: Database) -> int:
    """Return how many statements the database has executed."""
    with psycopg.connect(database.cluster.url(), autocommit=True) as watch:
        if watch.execute("SHOW shared_preload_libraries").fetchone() != ("pg_stat_statements",):
            pytest.skip("this PostgreSQL cannot count statements")
        (count,) = watch.execute(CALLS, [database.name]).fetchone() or (0,)
        return count


async def walked(bench: ConductorBench, count: int, database: Database) -> int:
    """Walk so many setpoints, and return how many statements that took."""
    ids = await bench.accepted([setpoint(f"bl:x{n}", n) for n in range(count)])
    before = statements(database)
    (work,) = await bench.queue.claim(CONDUCT, uuid4(), timedelta(seconds=600), 1)
    await bench.walker().walk(Holding(work, 0.0, lambda _: True))
    took = statements(database) - before
    assert (await bench.conduct(*ids))["completed_count"] == count
    return took


async def test_a_setpoint_takes_three_statements_and_the_four_of_its_fence(
    bench: MakeBench, place: Database
):
    made = await bench()
    await walked(made, 1, place)
    few, many = await walked(made, 5, place), await walked(made, 55, place)
    # Permission, the two rows, and the fence: begin, a time limit, the question, commit.
    assert many - few == 7 * 50
    # The claim, what is known of the conduct and its addresses, its end, and nothing else.
    assert few - 7 * 5 == 13
