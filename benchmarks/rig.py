"""The server, databases and connections that every path is measured on."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from enum import Enum
from typing import NamedTuple, Self
from uuid import UUID

import asyncpg
from uuid_utils.compat import uuid7

from beamkeep.adapters.postgres.connections import PLANNING, Connections
from beamkeep.adapters.postgres.event_store import PostgresEventStore
from beamkeep.adapters.postgres.listing import PostgresLists
from beamkeep.adapters.postgres.migrate import migrate, migrations
from beamkeep.contexts.catalogue import CATALOGUE
from beamkeep.contexts.trust.bootstrap import Administrator
from beamkeep.deployment.seeding import LOCAL_FACTS, prepare
from beamkeep.deployment.service import compose
from beamkeep.kernel import Operation, Question, SurfaceKind, replace
from beamkeep.runtime import Service
from beamkeep.runtime.admission import Caller
from beamkeep.runtime.codec import Codec
from beamkeep.testing.cluster import Cluster

from .measure import LEAST_TICKS, Meter, Plan

SERVER = {
    "shared_buffers": "1GB",
    "max_wal_size": "8GB",
    "checkpoint_timeout": "15min",
    "max_connections": "200",
    "shared_preload_libraries": "pg_stat_statements",
    # Counting costs a little on both sides of every comparison, so only `counts` turns it on.
    "pg_stat_statements.track": "none",
}
SMALL_SERVER = {"shared_buffers": "128MB", "max_wal_size": "256MB"}
"""For runs in which no time is judged."""
SHOWN = (
    "server_version",
    "fsync",
    "full_page_writes",
    "synchronous_commit",
    "data_checksums",
    "shared_buffers",
    "max_wal_size",
    "autovacuum",
)
ISSUER, SUBJECT = "https://idp.test", "ada"
ADMINISTRATOR = Administrator(ISSUER, SUBJECT, "Ada")
CURSOR_KEY = b"k" * 32
WAITS = {
    "idle_in_transaction_session_timeout": "5000",
    "statement_timeout": "2000",
    "lock_timeout": "500",
}
PATIENT = {"statement_timeout": "600000"}
"""For what the service sets no such limit, or what is to be known however long it takes."""


class Size(Enum):
    """How much is measured."""

    SMALLEST = "smallest"
    """All code of every path, on as few rows as it takes; no time is judged."""
    QUICK = "quick"
    """A few slices of what has a gate."""
    FULL = "full"
    """Everything, at the sizes that the documentation names."""


class Rig:
    """A throwaway cluster with a migrated database that others are copied from."""

    def __init__(self, cluster: Cluster, plan: Plan, size: Size) -> None:
        self.cluster, self.plan, self.size = cluster, plan, size
        self.meter = Meter(cluster.pid, self.pick(LEAST_TICKS, LEAST_TICKS, smallest=1))

    @property
    def extended(self) -> bool:
        """Whether paths also measure the parts that have no gate."""
        return self.size is not Size.QUICK

    def pick[T](self, full: T, quick: T, smallest: T) -> T:
        """Return the value for the size of this run."""
        return {Size.FULL: full, Size.QUICK: quick, Size.SMALLEST: smallest}[self.size]

    @classmethod
    async def on(cls, cluster: Cluster, plan: Plan, size: Size) -> Self:
        """Make the database that others are copied from."""
        url = cluster.create_database("template")
        await migrate(url)
        async with _connected(url) as connection:
            await connection.execute(_bare_log())
            await connection.execute("CREATE EXTENSION pg_stat_statements")
            await connection.execute("CREATE EXTENSION pg_walinspect")
        store = PostgresEventStore(Connections(url, 1), url)
        here = replace(LOCAL_FACTS, login_key=await store.cursor_key())
        lists = PostgresLists(Connections(url, 1))
        await prepare(store, lists, ADMINISTRATOR, False, facts=here)
        return cls(cluster, plan, size)

    async def settings(self) -> dict[str, str]:
        """What the server is set to."""
        async with _connected(self.cluster.url()) as connection:
            return {name: await connection.fetchval(f"SHOW {name}") for name in SHOWN}

    @asynccontextmanager
    async def database(self, name: str) -> AsyncGenerator["Database"]:
        """A database of its own for one path, dropped afterwards."""
        async with _connected(self.cluster.url()) as connection:
            await connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'template'"
            )
            await connection.execute(f"CREATE DATABASE {name} TEMPLATE template")
        url = self.cluster.url(name)
        try:
            # Privileges and settings of a database are not copied with its template.
            await migrate(url)
            async with _connected(url) as owner:
                database = Database(self, name, owner)
                try:
                    yield database
                finally:
                    await database.close()
        finally:
            # Also after a failure: another path may use the same name.
            async with _connected(self.cluster.url()) as connection:
                await connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


class Database:
    """One database, with what is needed to load it and to work on it."""

    def __init__(self, rig: Rig, name: str, owner: asyncpg.Connection) -> None:
        self.rig, self.name, self.owner = rig, name, owner
        self._opened: list[asyncpg.Connection] = []
        self._pools: list[Connections] = []

    def url(self, role: str = "bk_app") -> str:
        """Its address for a role."""
        return self.rig.cluster.url(self.name, role)

    async def settle(self) -> None:
        """Leave nothing for later: visibility, statistics and dirty pages."""
        await self.owner.execute("VACUUM (FREEZE, ANALYZE)")
        await self.owner.execute("CHECKPOINT")

    async def bare(
        self, count: int, role: str = "bk_app", **settings: str
    ) -> list[asyncpg.Connection]:
        """Plain connections, set as the service sets its own."""
        opened = [
            await asyncpg.connect(self.url(role), server_settings=PLANNING | WAITS | settings)
            for _ in range(count)
        ]
        self._opened += opened
        return opened

    def pool(self, count: int, role: str = "bk_app", **settings: str) -> Connections:
        """Connections as the service opens them."""
        pool = Connections(self.url(role), count, **(WAITS | settings))
        self._pools.append(pool)
        return pool

    def seam(self, count: int) -> "Seam":
        """The service on this database, with this many connections."""
        return seam_on(self.pool(count), self.url())

    async def close(self) -> None:
        """Close every connection but the owner's."""
        for connection in self._opened:
            await connection.close()
        for pool in self._pools:
            await pool.close()


class Seam(NamedTuple):
    """The service and the parts of it that a path calls by themselves."""

    service: Service
    store: PostgresEventStore
    lists: PostgresLists
    codec: Codec


def seam_on(connections: Connections, url: str) -> Seam:
    """The service on these connections."""
    store, lists = PostgresEventStore(connections, url), PostgresLists(connections)
    service = compose(store, lists, CURSOR_KEY)
    return Seam(service, store, lists, Codec(CATALOGUE.aggregates.values()))


def operation(name: str) -> Operation:
    """A command of the catalogue."""
    found = CATALOGUE.named[name]
    assert isinstance(found, Operation)
    return found


def question(name: str) -> Question:
    """A question of the catalogue."""
    found = CATALOGUE.named[name]
    assert isinstance(found, Question)
    return found


def caller(subject: str = SUBJECT) -> Caller:
    """The administrator or the agent, as a verified token names it."""
    return Caller(uuid7(), identity=(ISSUER, subject), transport=SurfaceKind.HTTP)


AGENT = "agent"
"""The login of the agent, for `caller`."""
LET_IN_AGENT = """
WITH agent AS (
  INSERT INTO bk.principal_standing (principal_id, kind, agent_kind, tools)
  VALUES (gen_random_uuid(), 'agent', 'Reader', ARRAY['get_visit', 'list_visits'])
  RETURNING principal_id),
login AS (
  INSERT INTO bk.actor_identity (issuer, subject, actor_id)
  SELECT $1, $2, principal_id FROM agent)
INSERT INTO bk.policy_grant (policy_id, principal_id, conduit_id, surface_id, permitted_commands,
                             object_scope)
SELECT gen_random_uuid(), a.principal_id, g.conduit_id, g.surface_id, g.permitted_commands,
       g.object_scope
  FROM agent a, bk.policy_grant g JOIN bk.actor_identity i ON i.actor_id = g.principal_id
 WHERE i.subject = $3
"""


async def let_in_agent(database: Database) -> None:
    """Let an agent call the questions about visits that the administrator may call."""
    await database.owner.execute(LET_IN_AGENT, ISSUER, AGENT, SUBJECT)


async def principal(database: Database) -> UUID:
    """The administrator's id."""
    return await database.owner.fetchval(
        "SELECT actor_id FROM bk.actor_identity WHERE subject = $1", SUBJECT
    )


@asynccontextmanager
async def _connected(url: str) -> AsyncGenerator[asyncpg.Connection]:
    connection = await asyncpg.connect(url)
    try:
        yield connection
    finally:
        await connection.close()


def _bare_log() -> str:
    """The log's own definition, in another schema: tables, indexes, triggers and all."""
    texts = migrations()
    (text,) = (text for name, text in texts.items() if name.endswith("_event_log"))
    (index,) = (text for name, text in texts.items() if name.endswith("_events_principal"))
    log = text.partition("-- ===== the log =====")[2].partition("-- ===== rows written")[0]
    log += index.partition("SET ROLE bk_owner;")[2].partition("RESET ROLE;")[0]
    return (
        "CREATE SCHEMA bare AUTHORIZATION bk_owner; SET ROLE bk_owner;"
        f"{log.replace('bk.', 'bare.')} RESET ROLE;"
        "GRANT USAGE ON SCHEMA bare TO bk_app; GRANT SELECT, INSERT ON bare.events TO bk_app;"
        "GRANT USAGE ON SEQUENCE bare.event_position TO bk_app;"
    )


INSERT = """
INSERT INTO bare.events (stream_type, stream_id, version, event_id, event_type, schema_version,
                         payload, command_name, principal_id, surface_id, correlation_id,
                         causation_id, occurred_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)
"""
"""One row into the log next to ours."""
