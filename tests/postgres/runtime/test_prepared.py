"""A pooled connection prepares each statement once, and again when a migration changed it."""

import asyncpg
import pytest

from beamkeep.adapters.postgres.connections import Connections
from beamkeep.adapters.postgres.prepared import MOST_STATEMENTS
from beamkeep.testing.database import Database

pytestmark = [pytest.mark.postgres, pytest.mark.anyio]

PREPARED = "SELECT count(*)::int AS n FROM pg_prepared_statements WHERE statement LIKE '%number%'"


@pytest.fixture
def connections(database: Database) -> Connections:
    return Connections(database.url("postgres"), 1)


async def test_a_statement_is_prepared_once(connections: Connections):
    for number in range(3):
        ((found,),) = await connections.fetch("SELECT $1::int AS number", number)
        assert found == number
    ((prepared,),) = await connections.fetch(PREPARED)
    # The statement that counts has the word too.
    assert prepared == 2
    await connections.close()


async def test_a_statement_whose_columns_change_is_prepared_again(connections: Connections):
    await connections.fetch("CREATE TABLE public.changed AS SELECT 1 AS number")
    assert [*await connections.fetch("SELECT * FROM public.changed")] == [(1,)]
    await connections.fetch("ALTER TABLE public.changed ADD word text DEFAULT 'new'")
    for _ in range(2):
        assert [*await connections.fetch("SELECT * FROM public.changed")] == [(1, "new")]
    await connections.close()


async def test_a_statement_whose_columns_change_fails_within_a_transaction(
    connections: Connections,
):
    await connections.fetch("CREATE TABLE public.moved AS SELECT 1 AS number")
    await connections.fetch("SELECT * FROM public.moved")
    async with connections.connection() as connection:
        await connection.execute("BEGIN")
        await connection.execute("ALTER TABLE public.moved ADD word text")
        with pytest.raises(asyncpg.InvalidCachedStatementError):
            await connection.fetch("SELECT * FROM public.moved")
        await connection.execute("ROLLBACK")
    assert [*await connections.fetch("SELECT * FROM public.moved")] == [(1,)]
    await connections.close()


async def test_the_statements_of_a_connection_are_bounded(connections: Connections):
    for number in range(MOST_STATEMENTS + 20):
        await connections.fetch(f"SELECT {number} AS number")
    ((prepared,),) = await connections.fetch(PREPARED)
    assert prepared <= MOST_STATEMENTS + 1
    await connections.close()
