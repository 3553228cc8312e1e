"""A crash gives ids of transactions again; who follows the log passes over no event."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from uuid_utils.compat import uuid7

from beamkeep.adapters.postgres.connections import Connections, OneConnection
from beamkeep.feed.tail import WHOLE_LOG
from beamkeep.parts.witness.keys import make_key, signing_key
from beamkeep.parts.witness.postgres import READING, PostgresWitness
from beamkeep.parts.witness.signing import Witness
from beamkeep.parts.witness.trees.leaves import Tree
from beamkeep.runtime.clock import now
from beamkeep.runtime.store import BEGINNING, StoreUnavailableError
from beamkeep.testing.appends import append, at, registered
from beamkeep.testing.database import Database
from beamkeep.testing.postgres import postgres_service
from beamkeep.testing.witness import NAME, ORIGIN, follow
from tests.faults.auditor import read_log
from tests.faults.ground import Ground, connected, fresh_ground
from tests.faults.test_witness import kept_notes, verified
from tests.postgres.witness.conftest import WRITE_EVENT

pytestmark = [pytest.mark.faults, pytest.mark.anyio]

SPENT, ATTEMPTS = 40, 20
HORIZON = "SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint"


@pytest.fixture
async def ground() -> AsyncGenerator[Ground]:
    async with fresh_ground() as ground:
        async with connected(ground.admin_url) as connection:
            # PostgreSQL writes ids down by itself after this time.
            await connection.execute("ALTER SYSTEM SET wal_writer_delay = '10s'")
            await connection.execute("SELECT pg_reload_conf()")
        yield ground


async def spend_ids(ground: Ground) -> int:
    """Have transactions that end and leave nothing; return the id before which all have ended."""
    async with connected(ground.admin_url) as connection:
        for _ in range(SPENT):
            await connection.execute("BEGIN; SELECT pg_current_xact_id(); ROLLBACK")
        return await connection.fetchval(HORIZON)


async def crash(ground: Ground) -> None:
    await asyncio.to_thread(ground.cluster.kill)
    await asyncio.to_thread(ground.cluster.resume)


async def last_transaction(ground: Ground) -> int:
    return (await read_log(ground.admin_url))[-1].position.tx


async def test_no_event_appears_below_a_watermark(ground: Ground):
    database = Database(ground.cluster, "beamkeep")
    async with postgres_service(database, seeds=False) as deployed:
        await deployed.store.append(append(at(1, registered(uuid7()))))
        for _ in range(ATTEMPTS):
            await deployed.projector.catch_up([WHOLE_LOG])
            horizon = await spend_ids(ground)
            watermarks = [
                (await deployed.tail.page(WHOLE_LOG, BEGINNING, 100, types)).watermark
                for types in (None, ["Actor"], ["Zone"])
            ]
            followed = await deployed.event_log.followed()
            await crash(ground)
            await deployed.store.append(append(at(1, registered(uuid7()))))
            tx = await last_transaction(ground)
            assert max(watermarks) <= tx
            assert followed.before.tx <= tx
            if tx < horizon:
                return
    raise AssertionError("no id was given again")


class CrashingWitness(PostgresWitness):
    """A store whose database crashes once between what was read and what is written."""

    def __init__(self, connections: Connections, ground: Ground) -> None:
        super().__init__(connections)
        self._ground, self.has_crashed = ground, False

    async def grow(self, *args: Any, **named: Any) -> bool:
        """Write what a tree became, after a crash and an event whose id was given again."""
        if not self.has_crashed:
            self.has_crashed = True
            await crash(self._ground)
            Database(self._ground.cluster, "beamkeep").ask(WRITE_EVENT, 1)
        return await super().grow(*args, **named)


async def test_a_witness_has_a_leaf_for_an_event_whose_id_was_given_again(
    ground: Ground, tmp_path: Path
):
    make_key(NAME, key_file := tmp_path / "key")
    key = signing_key(key_file)
    database = Database(ground.cluster, "beamkeep")
    url = database.url("bk_witness")
    for _ in range(ATTEMPTS):
        database.ask(WRITE_EVENT, 1)
        horizon = await spend_ids(ground)
        connection = OneConnection(url, **READING)
        witness = Witness(CrashingWitness(connection, ground), [key], ORIGIN, clock=now)
        with suppress(StoreUnavailableError):
            await witness.step(Tree.EVENTS)
        await connection.close()
        if await last_transaction(ground) < horizon:
            break
    else:
        raise AssertionError("no id was given again")
    connection = OneConnection(url, **READING)
    await follow(PostgresWitness(connection), key)
    await connection.close()
    ((size, events),) = database.ask(
        """SELECT size, (SELECT count(*) FROM bk.events)
             FROM bk.witness_tree WHERE tree = 'events'"""
    )
    assert size == events
    assert await verified(database, kept_notes(database), key.signer.key().text) == []
