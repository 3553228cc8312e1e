"""Fresh PostgreSQL databases for tests, all in one throwaway cluster, and the service on them."""

import asyncio
import shutil
import subprocess
from collections.abc import AsyncGenerator, Generator, Sequence
from contextlib import asynccontextmanager, contextmanager
from itertools import count, pairwise
from pathlib import Path
from typing import NamedTuple

import asyncpg
import psycopg

from beamkeep.adapters.postgres.connections import Connections
from beamkeep.adapters.postgres.directory import SEARCHING, PostgresDirectory
from beamkeep.adapters.postgres.event_log import PostgresEventLog
from beamkeep.adapters.postgres.event_store import PostgresEventStore
from beamkeep.adapters.postgres.lineage import PostgresLineage
from beamkeep.adapters.postgres.listing import PostgresLists
from beamkeep.adapters.postgres.migrate import migrate
from beamkeep.adapters.postgres.observations import PostgresObservations
from beamkeep.adapters.postgres.projections import PostgresProjections
from beamkeep.adapters.postgres.tail import PostgresTail
from beamkeep.contexts.catalogue import CATALOGUE
from beamkeep.deployment.service import compose
from beamkeep.feed.tail import WHOLE_LOG
from beamkeep.kernel import replace
from beamkeep.parts.agents.postgres_records import PostgresAgentRecords
from beamkeep.parts.custody.postgres import PostgresCustody
from beamkeep.parts.wiring import IDLE
from beamkeep.runtime import Service
from beamkeep.runtime.codec import Codec
from beamkeep.workers.projector import Projector

from .cluster import Cluster
from .database import Database
from .installation import FACILITY_CODE, FACTS, READERS
from .service import prepared_service
from .witness import FollowingWitness

MIGRATED, ARRANGED, PREPARED = "migrated", "arranged", "prepared"
# Nothing but the tests takes transaction ids, so that they can be counted.
QUIET = {"autovacuum": "off", "max_connections": "200", "recovery_init_sync_method": "syncfs"}
NUMBERS = count(1)
ROOM = 8 * 2**30

# What only the owner of the tables can do, and much quicker than another database.
EMPTY = """
DO $$
DECLARE
  each regclass;
BEGIN
  FOR each IN SELECT inhrelid::regclass FROM pg_inherits
               WHERE inhparent = 'bk.events'::regclass LOOP
    EXECUTE format('ALTER TABLE %s DISABLE TRIGGER events_no_change', each);
    EXECUTE format('DELETE FROM %s', each);
    EXECUTE format('ALTER TABLE %s ENABLE ALWAYS TRIGGER events_no_change', each);
  END LOOP;
  FOR each IN SELECT oid::regclass FROM pg_class
               WHERE relkind = 'r' AND NOT relispartition
                 AND (relnamespace = 'proj'::regnamespace OR relnamespace = 'bk'::regnamespace
                      AND relname NOT IN ('deployment', 'projections', 'bookmarks')) LOOP
    EXECUTE format('DELETE FROM %s', each);
  END LOOP;
END $$
"""


class Deployed(NamedTuple):
    """A service on a database that is prepared like a fresh deployment."""

    service: Service
    store: PostgresEventStore
    lists: PostgresLists
    tail: PostgresTail
    projections: PostgresProjections
    projector: Projector
    event_log: PostgresEventLog
    directory: PostgresDirectory


@contextmanager
def postgres_cluster(**settings: str) -> Generator[Cluster]:
    """Provide a cluster with templates for `fresh_database`; it counts statements if it can."""
    if (library := _library("pg_stat_statements")).exists():
        settings |= {"shared_preload_libraries": library.stem}
    with Cluster.start(_roomy_memory(), **(QUIET | settings)) as cluster:
        asyncio.run(migrate(cluster.create_database(MIGRATED)))
        for before, template in pairwise((MIGRATED, ARRANGED, PREPARED)):
            cluster.create_database(template, before)
            asyncio.run(_visit(Database(cluster, template), seeds=template == PREPARED))
        if "shared_preload_libraries" in settings:
            with psycopg.connect(cluster.url(), autocommit=True) as connection:
                connection.execute("CREATE EXTENSION pg_stat_statements")
        yield cluster


def fresh_database(cluster: Cluster, template: str = MIGRATED) -> Database:
    """Return a new database, which is removed with the cluster."""
    name = f"fresh_{next(NUMBERS)}"
    cluster.create_database(name, template)
    return Database(cluster, name)


def emptied(database: Database) -> Database:
    """Return the same database without anything that was written to it."""
    database.ask(EMPTY)
    return database


@asynccontextmanager
async def postgres_service(
    database: Database, shards: Sequence[int] = (WHOLE_LOG,), seeds: bool = True
) -> AsyncGenerator[Deployed]:
    """Provide a service on a fresh database, with an administrator and without a projector."""
    # No verdict of a functional test rests on how fast the machine answers.
    commands = database.connections(statement_timeout="60000")
    projecting = Connections(database.url("bk_projector"), 4, **IDLE)
    store = PostgresEventStore(commands, database.url())
    lists, projections = PostgresLists(commands), PostgresProjections(projecting, FACILITY_CODE)
    await projections.arrange(CATALOGUE.views, shards)
    cursor_key = await store.cursor_key()
    event_log = PostgresEventLog(commands)
    searching = Connections(database.url(), 2, **IDLE, **SEARCHING)
    directory = PostgresDirectory(searching)
    service = (
        await prepared_service(
            store,
            lists,
            cursor_key,
            event_log=event_log,
            directory=directory,
            readers=replace(
                READERS,
                lineage=PostgresLineage(commands),
                custody=PostgresCustody(commands),
                agent_records=PostgresAgentRecords(commands),
                observations=PostgresObservations(commands),
                witness=FollowingWitness(database, commands),
            ),
        )
        if seeds
        else compose(
            store,
            lists,
            cursor_key,
            facts=FACTS,
            readers=READERS,
            event_log=event_log,
            directory=directory,
        )
    )
    codec, tail = Codec(CATALOGUE.aggregates.values()), PostgresTail(projecting)
    projector = Projector(CATALOGUE.views, codec, tail, projections=projections)
    try:
        yield Deployed(
            service,
            store,
            lists,
            tail=tail,
            projections=projections,
            projector=projector,
            event_log=event_log,
            directory=directory,
        )
    finally:
        await commands.close()
        await searching.close()
        await projecting.close()


@asynccontextmanager
async def connected(
    database: Database, user: str = "bk_app", **settings: str
) -> AsyncGenerator[asyncpg.Connection]:
    """Provide one connection."""
    connection = await asyncpg.connect(database.url(user), server_settings=settings)
    try:
        yield connection
    finally:
        connection.terminate()


async def waiting_for_a_table(connection: asyncpg.Connection, number: int = 1) -> bool:
    """Return whether this many connections to the database wait for a table lock."""
    return await connection.fetchval(
        """SELECT count(*) = $1 FROM pg_locks l JOIN pg_database d ON d.oid = l.database
            WHERE locktype = 'relation' AND NOT granted AND datname = current_database()""",
        number,
    )


def _roomy_memory() -> Path | None:
    """Return a directory in memory if it has room for a large log."""
    memory = Path("/dev/shm")  # noqa: S108
    return memory if memory.is_dir() and shutil.disk_usage(memory).free > ROOM else None


async def _visit(database: Database, seeds: bool) -> None:
    async with postgres_service(database, seeds=seeds):
        pass


def _library(name: str) -> Path:
    asked = subprocess.run(["pg_config", "--pkglibdir"], capture_output=True, text=True, check=True)
    return Path(asked.stdout.strip(), f"{name}.so")
